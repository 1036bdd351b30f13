"""What fills a window: names of its messages, a sentence about the largest, and rectangles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.transcript import Message, Text, ToolCall, ToolResult
from foldaway.usage import WindowPiece, describe_largest, group_pieces, piece_of, squarify

CALL = ToolCall("c", "read_file", '{"path": "src/a.py"}')
WRITE = ToolCall("w", "write_file", '{"path": "src/a.py", "content": "' + "x" * 500 + '"}')


def test_a_result_is_about_the_file_that_its_call_read() -> None:
    """A large call is about the file that it writes; words are about none."""
    result = Message("tool", (ToolResult("c", (Text("code"),)),), 1)
    found = piece_of(1, "results", 9, result, {"c": CALL})
    assert (found.path, found.tool, found.is_read, found.is_foldable) == (
        "src/a.py", "read_file", True, True,
    )  # fmt: skip
    assert piece_of(1, "results", 9, result, {}).path == ""
    written = piece_of(2, "agent", 9, Message("assistant", (Text("so"), WRITE), 2), {})
    assert (written.path, written.is_read, written.is_foldable) == ("src/a.py", False, False)
    assert piece_of(3, "agent", 9, Message("assistant", (CALL,), 3), {}).path == ""
    assert piece_of(4, "user", 9, Message("user", (), 4), {}).path == ""


def piece(at: int, tokens: int, path: str = "", kind: str = "results") -> WindowPiece:
    """Return a result."""
    return WindowPiece(at, kind, tokens, "read", path, bool(path), True)  # pyright: ignore[reportArgumentType]


def test_pieces_of_one_file_are_one_tile_and_small_ones_are_together() -> None:
    """What is pinned cannot be folded; nothing is lost."""
    pieces = [piece(0, 50, "a"), piece(1, 30, "b"), piece(2, 40, "a"), piece(3, 5, "c")]
    first, second, rest = group_pieces(pieces, "file", 2, pinned={2})
    assert (first.name, first.tokens, first.positions, first.folds) == ("a", 90, [0, 2], [0])
    assert (second.name, rest.name, rest.tokens) == ("b", "smaller ones: tool results", 5)
    assert [tile.positions for tile in group_pieces(pieces, "tool", 9)] == [[0, 1, 2, 3]]
    assert len(group_pieces(pieces, "message", 9)) == 4


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ([], "No message is in the window"),
        ([piece(0, 30, "a"), piece(1, 9), piece(2, 61, kind="user")],
         "This one message is 61% of your window"),
        ([WindowPiece(None, "system", 40), *(piece(at, 20, "a") for at in range(3))],
         "These three reads are 60% of your window"),
        ([WindowPiece(None, "system", 60), piece(1, 20, "a"), piece(2, 20)],
         "These two results are 40% of your window"),
        ([WindowPiece(None, "system", 94), piece(0, 2), piece(1, 2), piece(2, 2)],
         "Nothing stands out: the largest messages are 6% of your window"),
    ],
)  # fmt: skip
def test_a_sentence_says_what_takes_most(pieces: list[WindowPiece], said: str) -> None:
    """One message that takes a quarter by itself is named alone."""
    assert describe_largest(pieces)[0] == said


@given(st.lists(st.integers(1, 10_000), max_size=60), st.integers(1, 2_000), st.integers(1, 2_000))
def test_rectangles_fill_the_picture_in_proportion(
    sizes: list[int], width: int, height: int
) -> None:
    """Each has the area of its share, all are inside, and no two overlap."""
    sizes = sorted(sizes, reverse=True)
    found = squarify(sizes, width, height)
    assert len(found) == len(sizes)
    for one, size in zip(found, sizes, strict=True):
        area = width * height * size / sum(sizes)
        assert one.width * one.height == pytest.approx(area, rel=1e-6)
        assert one.x >= -1e-6
        assert one.x + one.width <= width * (1 + 1e-6)
        assert one.y >= -1e-6
        assert one.y + one.height <= height * (1 + 1e-6)
    for at, one in enumerate(found):
        for other in found[at + 1 :]:
            across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert min(across, down) <= 1e-6 * max(width, height)
