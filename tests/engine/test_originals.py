"""The originals file: bytes come back, generations add up, undo knows what it may do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.engine.originals import (
    Placed,
    add_generation,
    join_generations,
    read_originals,
    recall,
    search,
    undo,
    write_originals,
)
from foldaway.errors import CannotUndo, NotReadable, UnknownReference

ODD = b'[ {"role":"user","content":"h\\u00e9 one"},\n  {"content": "two" ,"role":"assistant"} ]\n'
SMALL = b'[{"role":"user","content":"short"}]'
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def chat(*texts: str) -> bytes:
    return json.dumps([{"role": "user", "content": text} for text in texts]).encode()


@given(st.lists(TEXTS, min_size=1, max_size=6), st.data())
def test_what_was_folded_comes_back_byte_for_byte(texts: list[str], data: st.DataObject) -> None:
    """Whatever the text and however it is written, recall gives the slice of the source."""
    spaced = data.draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " : ")]))
    items = [{"role": "user", "content": text} for text in texts]
    wanted = [json.dumps(item, separators=spaced) for item in items]
    source = f"[{spaced[0].join(wanted)}]".encode()
    start = data.draw(st.integers(0, len(texts) - 1))
    stop = data.draw(st.integers(start + 1, len(texts)))
    made = add_generation(
        (), source, "openai-chat", SMALL, [Placed("fa-1", 0, start, stop, "fold")]
    )
    again = read_originals(write_originals(made))
    assert again == made
    assert recall("fa-1", again) == [piece.encode() for piece in wanted[start:stop]]


@each_row(
    "source",
    [
        ODD,
        b'{"role":"user","content":"one"}\n\n{"role":"assistant", "content":"two"}\n',
        b'{"model":"m", "messages": [{"role":"user","content":"one"}, {"role":"user"}]}',
        b'\xef\xbb\xbf[{"role":"user","content":"one"},{"role":"user","content":"\\ud800"}]',
    ],
)
def test_every_layout_gives_its_own_bytes(source: bytes) -> None:
    """Lists, lines, request bodies, byte order marks, lone surrogates."""
    made = add_generation((), source, "openai-chat", SMALL, [Placed("fa-1", 0, 0, 2)])
    (first, second) = recall("fa-1", made)
    assert first in source
    assert second in source
    assert json.loads(first)["role"] == "user"
    assert made[0].source.encode() == source


def test_the_newest_generation_that_knows_a_reference_answers() -> None:
    """Earlier references keep resolving; a reference given out twice is the newer one."""
    one = add_generation((), chat("a", "b"), "openai-chat", SMALL, [Placed("fa-1", 0, 0, 1)])
    two = add_generation(one, chat("c", "d"), "openai-chat", SMALL, [Placed("fa-2", 0, 1, 2)])
    assert [generation.generation for generation in two] == [1, 2]
    assert json.loads(recall("fa-1", two)[0])["content"] == "a"
    assert json.loads(recall("fa-2", two)[0])["content"] == "d"


def test_the_same_text_compressed_again_is_kept_once() -> None:
    """The file does not grow by repeating a run; both runs' references resolve."""
    one = add_generation((), chat("a", "b"), "openai-chat", SMALL, [Placed("fa-1", 0, 0, 1)])
    two = add_generation(one, chat("a", "b"), "openai-chat", chat("x"), [Placed("fa-2", 0, 1, 2)])
    assert len(two) == 1
    assert recall("fa-1", two) != recall("fa-2", two)


def test_joining_keeps_every_generation_once() -> None:
    """Two files of one lineage have their common part once."""
    one = add_generation((), chat("a"), "openai-chat", SMALL, [])
    two = add_generation(one, chat("b"), "openai-chat", SMALL, [])
    assert [generation.source for generation in join_generations(one, two)] == [
        generation.source for generation in two
    ]


def test_an_unknown_reference_is_a_terminal_error() -> None:
    """It says how many there are, and that trying again cannot help."""
    made = add_generation((), chat("a"), "openai-chat", SMALL, [Placed("fa-1", 0, 0, 1)])
    with pytest.raises(UnknownReference, match="trying again cannot help"):
        recall("fa-2", made)


def test_search_finds_only_what_was_dropped() -> None:
    """Kept messages are in the output anyway; a hit names its narrowest reference."""
    rows = [Placed("fa-wide", 0, 0, 2, "fold"), Placed("fa-1", 0, 1, 2)]
    made = add_generation((), chat("Apple", "apple pie", "apple kept"), "openai-chat", SMALL, rows)
    hits = search("APPLE", made, 10)
    assert [(hit.position, hit.ref) for hit in hits] == [(1, "fa-1"), (0, "fa-wide")]
    assert search("pear", made, 10) == []
    assert len(search("apple", made, 1)) == 1


def test_undo_gives_the_very_bytes() -> None:
    """An output that nobody touched is taken back byte for byte."""
    made = add_generation((), ODD, "openai-chat", SMALL, [])
    undone = undo(made, SMALL)
    assert (undone.text, undone.generations, undone.appended) == (ODD, (), 0)


def test_undo_keeps_what_was_appended() -> None:
    """New messages after the compression stay, also where the file was spaced anew."""
    made = add_generation((), ODD, "openai-chat", SMALL, [])
    grown = json.dumps(
        [*json.loads(SMALL), {"role": "assistant", "content": "new"}], indent=2
    ).encode()
    undone = undo(made, grown)
    assert undone.appended == 1
    assert json.loads(undone.text) == [
        *json.loads(ODD), {"role": "assistant", "content": "new"},
    ]  # fmt: skip
    assert undone.text.startswith(ODD[:40])


@each_row(
    "edited",
    [
        chat("other"), chat("new first", "short"), b'{"messages":[{"role":"user","content":"x"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"short"}]}',
    ],
)  # fmt: skip
def test_undo_refuses_what_was_edited(edited: bytes) -> None:
    """Anything but appending could lose an edit."""
    made = add_generation((), ODD, "openai-chat", SMALL, [])
    with pytest.raises(CannotUndo, match="edited after the compaction"):
        undo(made, edited)


def test_undo_of_what_is_undone_already_finishes_the_work() -> None:
    """After a crash between the two files the same command ends it."""
    made = add_generation((), ODD, "openai-chat", SMALL, [])
    assert undo(made, ODD).text == ODD


@each_row(
    "data",
    [b"", b"{}\n", b"no json\n", b'{"foldaway":"other"}', b'[{"role":"user","content":"x"}]',
     b'{"foldaway":"originals","version":1}', b"\xff\xfe"],
)  # fmt: skip
def test_what_is_no_originals_file_is_refused(data: bytes) -> None:
    """With the line, and which file to name instead."""
    with pytest.raises(NotReadable, match="name the file that compress wrote"):
        read_originals(data)


def test_a_newer_version_is_refused() -> None:
    """A file of tomorrow is not guessed at."""
    (one,) = add_generation((), ODD, "openai-chat", SMALL, [])
    line = write_originals([one]).replace(b'"version":1', b'"version":2')
    with pytest.raises(NotReadable, match="use a newer Foldaway"):
        read_originals(line)
