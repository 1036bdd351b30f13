"""Entries of a file, and the file again."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.memory.files.entries import entries_of, parse, render, rewrite, strip_line_ends
from foldaway.memory.files.history import to_bytes, to_text

LINES = st.sampled_from([
    "", "  ", "- one", "* two", "+ three", " - four", "1. first", "12) second", "plain words",
    "  indented", "\tby a tab", "    deep", "# Heading", "### Heading ###", "#no heading", "-",
    "Title", "=====", "---", "***", "- - -", "```", "```python", "  ```", "~~~", "~~~~",
    "<!-- note -->", "<!--", "-->", "<!-- -->", "- ```", "- # no heading", "é ü 漢字", "\r",
    "a\rb", "- [ ] todo", "> quote", "| a | b |", "\x00", "\u2028x", "\x0bx", "- ", "*bold*",
    "- same", "- same", "<recalled-memory>", "\ufeffx", "-- x", "==", "--",
])  # fmt: skip
NEWLINES = st.sampled_from(["\n", "\r\n", "\n\n"])
FILES = st.lists(st.tuples(LINES, NEWLINES), max_size=14).map(
    lambda lines: "".join(line + end for line, end in lines)
)
FILES = st.tuples(st.sampled_from(["", "\ufeff"]), FILES, LINES | st.just("")).map("".join)
TEXTS = FILES | st.text(max_size=60)
CONTENTS = (TEXTS | st.lists(LINES, max_size=6).map("\n".join)).map(strip_line_ends).filter(bool)


def texts(text: str) -> list[str]:
    return [entry.text for entry in entries_of(text)]


@given(st.binary(max_size=80) | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_reading_and_writing_again_changes_no_byte(data: bytes) -> None:
    """Whatever a person or a program put there."""
    assert to_bytes(render(parse(to_text(data)))) == data


@given(TEXTS)
def test_entries_have_something_to_say_and_ids_of_their_own(text: str) -> None:
    """An id names one entry of the file."""
    found = entries_of(text)
    assert all(entry.text.strip() for entry in found)
    assert len({entry.id for entry in found}) == len(found)
    assert all(block.raw for block in parse(text))


@given(TEXTS, CONTENTS)
def test_an_entry_that_is_added_is_read_again_as_it_is(text: str, content: str) -> None:
    """At the end, and every other one is what it was."""
    new = rewrite(text, {}, [content])
    assert texts(new) == [*texts(text), content]
    assert new.startswith(text)


@given(TEXTS.filter(lambda text: bool(texts(text))), st.none() | CONTENTS, st.data())
def test_a_change_of_one_entry_leaves_the_others(
    text: str, content: str | None, data: st.DataObject
) -> None:
    """Replaced or taken out, whatever stands around it."""
    blocks = parse(text)
    numbers = [number for number, block in enumerate(blocks) if block.entry is not None]
    chosen = data.draw(st.integers(0, len(numbers) - 1))
    new = rewrite(text, {numbers[chosen]: content})
    before = texts(text)
    between = [content] if content is not None else []
    assert texts(new) == [*before[:chosen], *between, *before[chosen + 1 :]]


@given(TEXTS)
def test_tidying_twice_is_tidying_once(text: str) -> None:
    """So an entry keeps its id."""
    assert strip_line_ends(strip_line_ends(text)) == strip_line_ends(text)


@each_row(
    ("text", "expected"),
    [
        ("# Memory\n\n- a\n- b\n  more of b\n\n  and more\n", ["a", "b\nmore of b\n\nand more"]),
        ("one\ntwo\n\nthree", ["one\ntwo", "three"]),
        ("- a\r\n- b\r\n", ["a", "b"]),
        ("Build:\n```\nmake\n\n# no heading\n- no item\n```\n\nNext",
         ["Build:\n```\nmake\n\n# no heading\n- no item\n```", "Next"]),
        ("```\nnever closed\n\n- an item", ["```\nnever closed", "an item"]),
        ("Title\n=====\ntext", ["text"]),
        ("- a\n  - nested\n- b", ["a\n- nested", "b"]),
        ("1. first\n2. second\n", ["1. first", "2. second"]),
        ("- a\nlazy\n", ["a\nlazy"]),
        ("---\n- a\n***\n", ["a"]),
        ("\ufeff- a", ["a"]),
        ("<!-- of mine -->\n- a", ["a"]),
        ("", []),
    ],
)  # fmt: skip
def test_what_an_entry_is(text: str, expected: list[str]) -> None:
    """Judged by hand."""
    assert texts(text) == expected


def test_an_id_is_that_of_the_text_wherever_it_stands() -> None:
    """Moving an entry, or another bullet, does not change it; a second one gets a number."""
    (one,) = entries_of("- likes tea\n")
    ids = [entry.id for entry in entries_of("# x\n\n* likes tea\n\nother\n\nlikes tea\n")]
    assert ids[0] == one.id
    assert ids[2] == f"{one.id}-2"


def test_the_manner_of_a_file_is_kept() -> None:
    """Line ends, bullets, a missing end of the last line, one blank line between paragraphs."""
    assert rewrite("* a\r\n* b", {1: "c\nd"}) == "* a\r\n* c\r\n  d"
    assert rewrite("one\n\ntwo\n\nthree\n", {2: None}) == "one\n\nthree\n"
    assert rewrite("words\n", {}, ["new"]) == "words\n\n- new\n"
    assert rewrite("# Memory\n", {}, ["new"]) == "# Memory\n- new\n"
    assert rewrite("", {}, ["new"]) == "- new\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["```a\n", "`" * 9 + "\n", "- a\n\n", "<!--\n", "-", "#", " ", "\n", "~~~\n",
              "a\n==\n", "- a\n\n\n\n\n\n\n", "<!-- -->"],
)  # fmt: skip
def test_reading_is_linear(piece: str) -> None:
    """Eight times the text takes about eight times as long, for what looks like structure."""

    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        begin = time.process_time()
        parse(text)
        return time.process_time() - begin

    assert seconds(80_000) < 30 * max(seconds(10_000), 0.01)
