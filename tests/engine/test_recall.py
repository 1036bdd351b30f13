"""Originals by reference, and search over what was folded."""

from __future__ import annotations

import json

import pytest

from foldaway import load
from foldaway._core.report import Reference
from foldaway.dialects.jsontext import dump_text
from foldaway.engine.recall_tools import TOOLS, AnswerPage, answer_tool, find, recall, tools_in
from foldaway.errors import UnknownName, UnknownReference
from foldaway.sessions.session import Session
from foldaway.testing import assistant, call, result, talk, user
from foldaway.transcript import Estimator

WIRE = talk(
    user("Find the Needle."), assistant("On it.", call("grep", q="straße")), result("nothing here"),
    assistant("The needle is gone."),
).wire("openai-chat")  # fmt: skip
LOG = load(WIRE).messages
PAGE = AnswerPage(6_000, Estimator())
ROWS = (Reference("fa-0000000001", (0, 2), "fold"), Reference("fa-0000000002", (2, 3), "digest"))


def test_a_reference_gives_the_payloads_it_stands_for() -> None:
    """The very objects, in order."""
    assert [id(one) for one in recall("fa-0000000001", ROWS, LOG)] == [id(WIRE[0]), id(WIRE[1])]


def test_an_unknown_reference_is_a_terminal_error() -> None:
    """It says that trying again cannot help, and how many there are."""
    with pytest.raises(UnknownReference, match="trying again cannot help") as caught:
        recall("fa-ffffffffff", ROWS, LOG)
    assert caught.value.known == 2


def test_search_looks_into_words_calls_and_results_newest_first() -> None:
    """Letter case aside, in every script."""
    assert [at for at, _ in find("NEEDLE", LOG, 10)] == [3, 0]
    assert [at for at, _ in find("STRASSE", LOG, 10)] == [1]
    assert [at for at, _ in find("nothing here", LOG, 10)] == [2]
    assert find("", LOG, 10) == []
    assert len(find("e", LOG, 2)) == 2


def test_a_snippet_is_short_and_holds_the_text() -> None:
    """Also in a message of many characters."""
    log = load([{"role": "user", "content": "x" * 90_000 + " needle " + "y" * 90_000}]).messages
    [(at, snippet)] = find("needle", log, 5)
    assert at == 0
    assert "needle" in snippet
    assert len(snippet) <= 160


def test_the_recall_tool_answers_with_the_originals() -> None:
    """As JSON, without a character changed."""
    text = answer_tool(
        "foldaway_recall", {"ref": "fa-0000000001"}, lambda ref: recall(ref, ROWS, LOG), LOG, PAGE
    )
    assert json.loads(text) == WIRE[:2]


def test_the_recall_tool_says_what_it_left_out() -> None:
    """A very long original comes in pages; all of them together are the original."""
    log = load([{"role": "user", "content": "x" * 200_000}]).messages
    rows = (Reference("r", (0, 1), "fold"),)
    text = answer_tool(
        "foldaway_recall", {"ref": "r"}, lambda ref: recall(ref, rows, log), log, PAGE
    )
    assert PAGE.counter.count(text) < PAGE.tokens + 100
    whole, pages = dump_text(recall("r", rows, log)), ""
    while len(pages) < len(whole):
        asked = {"ref": "r", "offset": len(pages), "limit": 90_000}
        text = answer_tool("foldaway_recall", asked, lambda ref: recall(ref, rows, log), log, PAGE)
        pages += text.rpartition("\n[")[0]
    assert pages == whole


def test_originals_that_no_utf8_can_hold_are_answered() -> None:
    """A lone surrogate in an original does not make its recall fail."""
    log = load([{"role": "user", "content": "a \ud800 b"}]).messages
    rows = (Reference("r", (0, 1), "fold"),)
    text = answer_tool(
        "foldaway_recall", {"ref": "r"}, lambda ref: recall(ref, rows, log), log, PAGE
    )
    assert "a " in text


def test_the_schemas_are_plain_json() -> None:
    """Two tools with a required argument each."""
    assert [tool["name"] for tool in TOOLS] == ["foldaway_recall", "foldaway_search"]
    assert json.loads(json.dumps(TOOLS)) == list(TOOLS)
    assert all(tool["parameters"]["required"] for tool in TOOLS)


def test_tools_are_declared_in_every_wire_format_there_is_and_in_no_other() -> None:
    """The names of the endpoints are taken for the formats that they speak."""
    for name, dialect in (("chat", "openai-chat"), ("responses", "openai-responses"),
                          ("messages", "anthropic")):  # fmt: skip
        assert tools_in(name, TOOLS) == tools_in(dialect, TOOLS) != list(TOOLS)
    with pytest.raises(UnknownName, match="openai-chat"):
        tools_in("nonsense", TOOLS)


def test_an_unknown_tool_is_named_and_no_list_of_tools_is_too_short() -> None:
    """A session has more of them than the engine, and a chat more than a session."""
    assert Session().call("foo", {}) == "no tool 'foo'; call one of the tools of this request"


def test_a_recall_without_a_reference_may_be_called_again() -> None:
    """The sentence says with what."""
    for arguments in ({}, {"ref": ""}, {"ref": None}):
        said = Session().call("foldaway_recall", arguments)
        assert "with ref" in said
        assert "cannot help" not in said
