"""Mends that cost too much, lost something or said something else than they did."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw
from tests.testing.rows import each_row

from foldaway import check, load, repair
from foldaway.dialects.dialect import FreshIds
from foldaway.dialects.jsontext import dump_bytes, parse

USER = {"role": "user", "content": "go"}


def calling(arguments: str, call_id: str = "a") -> list[dict[str, Any]]:
    function = {"name": "write", "arguments": arguments}
    call = {"id": call_id, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": "ok"},
    ]


def growth(make: Callable[[int], list[Any]], size: int) -> float:
    """Return how many times longer the repair of a list of four times the size takes."""

    def best(messages: list[Any]) -> float:
        runs: list[float] = []
        for _ in range(3):
            start = time.process_time()
            repair(messages, provider="openai-chat")
            runs.append(time.process_time() - start)
        return min(runs)

    return best(make(4 * size)) / best(make(size))


@pytest.mark.slow
@pytest.mark.parametrize("piece", ['\\"a', "x", "\\\\", ',"b": '])
def test_arguments_that_are_cut_off_are_mended_in_linear_time(piece: str) -> None:
    """A truncated write of half a megabyte, quotes and all, is read once: four times the text
    takes about four times as long, not sixteen."""

    def cut(characters: int) -> list[Any]:
        return [USER, *calling('{"x": "' + piece * (characters // len(piece)))]

    assert growth(cut, 120_000) < 11


@pytest.mark.parametrize(
    ("given", "mended"),
    [
        ('{"a": [1, 2,], }', {"a": [1, 2]}),
        ('{"a": ",]", "b": "\\\\",}', {"a": ",]", "b": "\\"}),
        ("{'a': 'b,}'}", {"a": "b,}"}),
        ('{"a": "cut \\"off,]', {"value": '{"a": "cut \\"off,]'}),
    ],
)
def test_only_commas_outside_of_texts_are_trailing(given: str, mended: Any) -> None:
    """What stands in quotes stays as it is, also where the last quote is missing."""
    done = repair([USER, *calling(given)], provider="openai-chat").messages
    assert json.loads(done[1]["tool_calls"][0]["function"]["arguments"]) == mended


@pytest.mark.soak
def test_many_calls_of_one_id_are_renamed_in_linear_time() -> None:
    """Four times the calls that share an id take about four times as long, not sixteen."""

    def sharing(calls: int) -> list[Any]:
        return [USER, *(each for _ in range(calls) for each in calling("{}", "same"))]

    assert growth(sharing, 1_500) < 11


def test_fresh_ids_are_new_each_time() -> None:
    """No id is given twice, and none that is taken."""
    fresh = FreshIds(["a", "a_2", "call_1"])
    assert [fresh.make("a"), fresh.make("a"), fresh.make("b")] == ["a_3", "a_4", "b"]
    assert [fresh.make("b"), fresh.number("call"), fresh.number("call")] == [
        "b_2", "call_2", "call_3",
    ]  # fmt: skip


def test_a_second_result_is_said_to_be_one() -> None:
    """The call is there, so that "no call before it" would be false; what goes is named."""
    again = {"role": "tool", "tool_call_id": "a", "content": "once more"}
    messages = [USER, *calling("{}"), again]
    (found,) = check(messages, provider="openai-chat")
    assert (found.index, found.message) == (3, "the call 'a' has its result already")
    (action,) = repair(messages, provider="openai-chat").actions
    assert action.what == (
        "dropped a further result for 'a' with its text (9 characters): "
        "the call has its result already"
    )


def test_an_item_that_is_only_named_may_be_any_call_or_result() -> None:
    """Where the provider holds items that the list does not show, nothing is dropped or added."""
    reference = {"type": "item_reference", "id": "fc_1"}
    output = {"type": "function_call_output", "call_id": "c9", "output": "x"}
    call = {"type": "function_call", "call_id": "c8", "name": "ls", "arguments": "{}"}
    asked = {"type": "message", "role": "user", "content": "go"}
    assert check([asked, reference, output], provider="openai-responses") == []
    assert check([asked, call, reference, asked], provider="openai-responses") == []
    assert check([asked, output], provider="openai-responses") != []


def test_a_mended_role_is_named_before_and_after() -> None:
    """The note says what it was and what it is."""
    (action,) = repair([{"role": "human", "content": "hi"}], provider="openai-chat").actions
    assert action.what == "role 'human' is now 'user'"
    wrong = [{"role": "assistant", "parts": [{"text": "hi"}]}]
    contents = [{"role": "user", "parts": [{"text": "a"}]}, *wrong]
    (action,) = repair(contents, provider="gemini").actions
    assert action.what == "role 'assistant' is now 'model'"


UNCLEAN = [
    ("openai-chat", [{**USER, "name": "a\ud800"}], "$[0].name", [{**USER, "name": "a\ufffd"}]),
    ("openai-chat", [{**USER, "meta": {"k": ["\0x"]}}], "$[0].meta",
     [{**USER, "meta": {"k": ["x"]}}]),
    ("openai-chat", [{**USER, "k\ud800": 1}], "$[0]", [{**USER, "k\ufffd": 1}]),
    ("anthropic", [{"role": "user", "content": [{"type": "text", "text": "a", "x": "\0"}]}],
     "$[0].content[0]", [{"role": "user", "content": [{"type": "text", "text": "a", "x": ""}]}]),
    ("anthropic", {"model": "claude-x", "system": "a\0b\ud800", "messages": [USER]}, "$.system",
     {"model": "claude-x", "system": "ab\ufffd", "messages": [USER]}),
    ("openai-chat",
     {"model": "m", "tools": [{"type": "function", "function": {"name": "f", "description": "\0"}}],
      "messages": [USER]}, "$.tools",
     {"model": "m", "tools": [{"type": "function", "function": {"name": "f", "description": ""}}],
      "messages": [USER]}),
    ("gemini", {"contents": [{"role": "user", "parts": [{"text": "a"}]}],
                "systemInstruction": {"parts": [{"text": "\ud800"}]}}, "$.systemInstruction",
     {"contents": [{"role": "user", "parts": [{"text": "a"}]}],
      "systemInstruction": {"parts": [{"text": "\ufffd"}]}}),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "given", "path", "mended"), UNCLEAN)
def test_text_that_cannot_be_sent_is_found_wherever_it_stands(
    provider: str, given: Any, path: str, mended: Any
) -> None:
    """Names, unknown fields, system prompt and tools are sent too."""
    found = check(given, provider=provider)
    assert [(each.rule, each.path) for each in found] == [("text-clean", path)]
    done = repair(given, provider=provider)
    assert done.messages == mended
    assert [action.rule for action in done.actions] == ["text-clean"]
    assert repair(done.messages, provider=provider).messages is done.messages


def test_words_that_look_like_an_escape_are_clean() -> None:
    """A backslash and what follows it are text like any other."""
    said = {"role": "user", "content": "\\u0000 and \\ud800", "note": "\\\\u0000"}
    assert check([said], provider="openai-chat") == []


def test_slices_beside_a_lone_surrogate_can_be_written() -> None:
    """A body of slices is written also where one of its values cannot be encoded."""
    body = {"a": "\ud800", "b": Raw(b"[1,  2]"), "c": {"d": 1}}
    assert dump_bytes(body) == b'{"a":"\\ud800","b":[1,  2],"c":{"d":1}}'
    assert parse(dump_bytes(body)) == {"a": "\ud800", "b": [1, 2], "c": {"d": 1}}


TEXT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
CALLED = [*TEXT, *calling("{}")]
DETECTED = [
    ({"model": "gpt-5", "input": "hi"}, "openai-responses"),
    ({"model": "gpt-5", "input": TEXT}, "openai-responses"),
    ({"model": "gpt-5", "messages": TEXT}, "openai-chat"),
    ({"model": "claude-opus-4-6", "max_tokens": 9, "messages": TEXT}, "anthropic"),
    ({"model": "us.anthropic.claude-opus-4-6", "messages": TEXT}, "anthropic"),
    ({"model": "anthropic/claude-opus-4-6", "messages": TEXT}, "openai-chat"),
    ({"model": "claude-opus-4-6", "messages": CALLED}, "openai-chat"),
    ({"model": "claude-x", "messages": [{"role": "system", "content": "s"}, *TEXT]}, "openai-chat"),
    ({"model": "gemini-3-pro", "contents": [{"role": "user", "parts": []}]}, "gemini"),
    ({"model": "gemini-3-pro", "messages": TEXT}, "openai-chat"),
]


@each_row(("body", "dialect"), DETECTED)
def test_the_model_of_a_request_says_whose_dialect_it_is(body: Any, dialect: str) -> None:
    """Where the messages alone could be anyone's, the request decides; marks of calls are more."""
    assert load(body).dialect == dialect
