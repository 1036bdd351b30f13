"""The text as a reader sees it, and the literals in it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foldaway.redaction import Redactor
from foldaway.redaction.finder import finder_for
from foldaway.redaction.policy import RedactionPolicy
from foldaway.redaction.text import APART, ESCAPE, SIGNS, is_full_of_codes, to_reader_text

FINDER = finder_for(RedactionPolicy(key="test"))
CODES = (
    b"\x1b[0m", b"\x1b[31;1m", rb"\u001b[0m", rb"\\u001B[0m", rb"\x1b[1m", rb"\033[0m",
    rb"\\033[1m",
    rb"\\\033[1m", rb"\e[0m", b"\x1b]0;title\x07", b"\x1b(B", b"\xe2\x80\x8b", b"\xef\xbb\xbf",
    rb"\u200b", rb"\\ufeff", rb"\033", rb"\u001b", b"\x1b", b"\\", b"[redacted:key:0123]",
)  # fmt: skip
WORDS = (
    b"ghp_",
    b"gh",
    b"p_x",
    b"data",
    b"dog",
    b"curl -u a:b ",
    b"-----BEGIN ",
    b"BEARER ",
    b" a\n",
    b"[reda",
    b"cted:key:0123]",
)
PADDING = b"plain words " * (APART // 4)
TEXTS = st.lists(st.sampled_from((*CODES, *WORDS, *SIGNS, PADDING)), max_size=40).map(b"".join)


@given(TEXTS)
@example(b"\xc2\x85" + PADDING)
def test_literals_of_a_view_are_those_of_a_search_of_it(data: bytes) -> None:
    """Moving the literals of the original finds what a second search would, in its order."""
    hits, signs = FINDER.hits(data)
    view = to_reader_text(data, signs)
    assert FINDER.hits_in(view, hits) == FINDER.hits_in(view, None)


@given(TEXTS)
def test_what_a_reader_does_not_see_is_left_out_wherever_it_stands(data: bytes) -> None:
    """Looking at the signs alone leaves out what looking everywhere would."""
    everywhere = to_reader_text(data, range(len(data)))  # so many that all of it is searched
    assert to_reader_text(data, FINDER.hits(data)[1]) == everywhere


def test_a_placeholder_over_a_seam_is_one() -> None:
    """A code in the middle of a placeholder does not open it to the rules, nor one beside it."""
    for code in (b"[redac\x1b[0mted:key:0123]", b"[redacted:key:0123]\x1b[0m"):
        data = PADDING * 4 + code + PADDING * 4
        view = to_reader_text(data, FINDER.hits(data)[1])
        assert view.is_blanked
        assert view.data == PADDING * 4 + bytes(len("[redacted:key:0123]")) + PADDING * 4


@given(st.integers(0, 4 * APART), st.integers(0, 6))
def test_codes_are_too_many_by_their_share(size: int, count: int) -> None:
    """The count may end early; its answer is that of a full one."""
    data = (ESCAPE * count)[:size] + b"x" * (size - count)
    assert is_full_of_codes(data) == (data.count(ESCAPE) * APART > len(data))


def test_a_literal_over_a_seam_is_found() -> None:
    """A colour code in the middle of a literal hides it from nobody."""
    data = PADDING + b"gh\x1b[0mp_" + PADDING + b"ghp_"
    hits, signs = FINDER.hits(data)
    view = to_reader_text(data, signs)
    moved = FINDER.hits_in(view, hits)
    assert len(PADDING) in {start for _, start, _ in moved}
    assert moved == FINDER.hits_in(view, None)


@pytest.mark.parametrize("size", [50_000, pytest.param(200_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("piece", ["\x1b", "\x1b]", "\\\\e[", "\\033", "re_" * 90 + "\x1b[0m"])
def test_nothing_but_signs_costs_in_proportion(
    piece: str, size: int, assert_proportion: Callable[..., None]
) -> None:
    """Four times as many signs, or literals with a code among them, take about as much longer."""
    redactor = Redactor(RedactionPolicy(key="test"))
    text = piece * (size // len(piece))
    assert_proportion(partial(redactor, text), partial(redactor, text * 4), times=8, plus=0.02)
