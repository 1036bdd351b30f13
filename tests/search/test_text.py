"""What of a message is found."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row
from tests.testing.strategies import logs

from foldaway.search import text as text_module
from foldaway.search.text import MOST_CHARS, clean, extract_searchable, shorten_text
from foldaway.transcript import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult


def of(*parts: Part) -> str:
    """Return the text of a message of these parts."""
    return extract_searchable(Message("assistant", parts)).text


def test_a_call_is_found_by_its_name_and_values() -> None:
    """Not by the syntax of JSON, nor by the names of its arguments."""
    found = extract_searchable(
        Message(
            "assistant", (ToolCall("c1", "grep", '{"pattern": "a\\"b", "n": [3, {"x": "é"}]}'),)
        )
    )
    assert found.text == 'grep\na"b\n3\né'
    assert found.tools == ("grep",)


@each_row("arguments", ["*** Begin Patch", '{"torn": "val', "", "[" * 10_000])
def test_arguments_that_are_no_json_are_text(arguments: str) -> None:
    """A custom call is found by what it holds."""
    assert of(ToolCall("c1", "apply", arguments)) == f"apply\n{arguments}".strip()


def test_words_reasoning_and_results_are_found() -> None:
    """So are the parts of a result, and its tool is named."""
    message = Message(
        "tool", (Text("a"), Thinking("b"), ToolResult("c", (Text("d"),), name="Bash"))
    )
    assert extract_searchable(message).text == "a\nb\nd"
    assert extract_searchable(message).tools == ("Bash",)


def test_media_and_signatures_are_not_found() -> None:
    """Neither base64 nor what binds reasoning is text; where an image lies is."""
    run = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" * 20
    text = of(
        Media("image", data=run), Media("image", url="data:image/png;base64," + run),
        Media("image", url="https://a.example/cat.png"), Thinking("seen", signature=run),
        Opaque("x", wire={"a": run}), Text(f"before {run} after"),
    )  # fmt: skip
    assert text == "https://a.example/cat.png\nseen\nbefore   after"


def test_long_names_are_no_base64() -> None:
    """A path or a rule of dashes is kept, however long."""
    path = "/".join(["Directory9"] * 40)
    assert of(Text(path)) == path
    assert of(Text("-" * 500)) == "-" * 500


@given(
    st.text(st.characters()) | st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape"))
)
def test_clean_text_can_be_stored(text: str) -> None:
    """No NUL, no lone surrogate, no terminal code; cleaning twice is cleaning once."""
    found = clean(text)
    assert "\x00" not in found
    assert "\x1b" not in found
    found.encode()
    assert clean(found) == found


def test_terminal_codes_do_not_hide_words() -> None:
    """A coloured word is found as the word."""
    assert clean("\x1b[31merror\x1b[0m: \x1b]0;title\x07no") == "error: no"


@given(logs())
def test_every_word_of_the_speakers_is_there(log: Sequence[Message]) -> None:
    """What stands in a text part stands in the text that is indexed."""
    for message in log:
        found = extract_searchable(message).text
        for part in message.parts:
            if isinstance(part, Text) and len(part.text) < 200:
                assert clean(part.text) in found


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    """It is bounded, and a message at the bound is whole."""
    assert shorten_text("x" * MOST_CHARS) == "x" * MOST_CHARS
    text = shorten_text("begin " + "x" * 1_000_000 + " end")
    assert len(text) == MOST_CHARS
    assert text.startswith("begin ")
    assert text.endswith(" end")


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["\x1b[", "\x1b]", "A1b", "\ud800", "\x00", "\n", "=", "a/"])
def test_it_is_linear(piece: str) -> None:
    """Five MB of anything take a second or two at most."""
    start = time.process_time()
    of(Text(piece * (5_000_000 // len(piece))))
    assert time.process_time() - start < 3


@given(
    st.text()
    | st.text("aZ09+/-_=", min_size=190, max_size=230)
    | st.text("a\x00\t\n\x7f\ud800é\ue000\uf8ff\uf900\U000f0000\U0010ffff")
)
def test_the_quick_looks_agree_with_the_patterns(text: str) -> None:
    """What is passed over holds nothing that the pattern would have found."""
    long = text + "aB3/" * 49 + text
    for one in (text, long):
        plain = text_module._SURROGATE.sub("\ufffd", text_module._ESCAPE.sub("", one))
        assert clean(one) == text_module._CONTROL.sub(" ", plain)
        assert text_module._has_run(one) == bool(text_module._BASE64.search(one))
