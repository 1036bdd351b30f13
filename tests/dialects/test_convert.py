"""Conversion between dialects: what comes along comes back, what does not is listed."""

from __future__ import annotations

import copy
import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway.dialects.conversion import convert, convert_transcript, with_real_ids
from foldaway.dialects.loading import load
from foldaway.dialects.loss import first_difference
from foldaway.errors import NotReadable, UnknownName
from foldaway.transcript import (
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    bare,
    bare_message,
    survey,
)

DATA = Path(os.environ.get("FOLDAWAY_DATA", Path(__file__).parents[3] / "shared" / "data"))
DIALECTS = ("openai-chat", "openai-responses", "anthropic", "gemini", "sharegpt")
OTHERS = DIALECTS[1:]
KINDS = ("user", "system", "developer", "assistant", "calls", "blocks")

words = st.sampled_from(
    ["hello", "a\n", "\n\nb", " ", "<think>x</think>", "</tool_call>", "<tool_call>{}</tool_call>",
     "</tool_response>", "é", "{}"]
)  # fmt: skip
arguments = st.sampled_from(['{"a": 1.0}', "{}", '{"b":[null,"</tool_call>"]}', "", "[1]", "no"])


@st.composite
def chat_lists(draw: st.DrawFn) -> list[Any]:
    """Chat lists with turns of any kind: calls answered in and out of order, or not at all."""
    found: list[Any] = []
    for turn in range(draw(st.integers(1, 4))):
        match kind := draw(st.sampled_from(KINDS)):
            case "calls":
                found += draw(_call_turns(turn))
            case "blocks":
                found.append({"role": "user", "content": [
                    {"type": "text", "text": draw(words)},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                ]})  # fmt: skip
            case _:
                found.append({"role": kind, "content": draw(words)})
    return found


@st.composite
def _call_turns(draw: st.DrawFn, turn: int) -> list[Any]:
    count = draw(st.integers(1, 3))
    calls = [
        {"id": f"c{turn}_{at}", "type": "function",
         "function": {"name": "ls", "arguments": draw(arguments)}}
        for at in range(count)
    ]  # fmt: skip
    message: dict[str, Any] = {"role": "assistant", "content": draw(st.none() | words)}
    if draw(st.booleans()):
        message["reasoning_content"] = draw(words)
    message["tool_calls"] = calls
    answered = draw(st.permutations(calls))[: draw(st.integers(0, count))]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": draw(words)} for call in answered
    ]
    return [message, *results]


json_values = st.recursive(
    st.none() | st.booleans() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "tool_calls", "type", "text", "id", "from", "value"]
            ),
            inner | st.sampled_from(["user", "assistant", "tool", "text", "gpt", "message"]),
            max_size=4,
        )
    ),
    max_leaves=10,
)


def conversation(transcript: Transcript) -> list[Message]:
    system = [] if transcript.system is None else [transcript.system]
    return [*system, *transcript.messages]


def wires_of(parts: Any) -> Iterator[Any]:
    for part in parts:
        yield part.wire
        if isinstance(part, ToolResult):
            yield from wires_of(part.parts)


@pytest.mark.parametrize("to", OTHERS)
@given(messages=chat_lists())
def test_what_is_called_lossless_comes_back_the_same(to: str, messages: list[Any]) -> None:
    """There and back is the same conversation, wherever no loss was listed."""
    there = convert(messages, to)
    if there.lossless:
        back = convert(there.messages, "openai-chat", dialect=to)
        assert first_difference(
            conversation(load(messages)), conversation(back.transcript)
        ) is None  # fmt: skip


@given(source=st.sampled_from(OTHERS), to=st.sampled_from(DIALECTS), messages=chat_lists())
def test_lossless_holds_from_every_dialect_to_every_other(
    source: str, to: str, messages: list[Any]
) -> None:
    """The claim is as true for lists that began in another dialect."""
    first = convert(messages, source)
    if not first.transcript.messages:
        return
    there = convert(first.messages, to, dialect=source)
    if there.lossless:
        back = convert(there.messages, source, dialect=to)
        assert first_difference(
            conversation(first.transcript), conversation(back.transcript)
        ) is None  # fmt: skip


def test_a_custom_call_and_its_result_stay_custom_through_chat() -> None:
    """A chat tool message does not say of which kind it is; its call does."""
    items = [
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "done"},
    ]
    chat = convert(items, "openai-chat")
    assert chat.lossless
    assert convert(chat.messages, "openai-responses").messages == items


@pytest.mark.parametrize("to", OTHERS)
@given(messages=chat_lists())
def test_nothing_is_dropped_silently(to: str, messages: list[Any]) -> None:
    """Where the words differ from those that were given, a loss says so."""
    there = convert(messages, to)
    given_, found = conversation(load(messages)), conversation(there.transcript)
    if first_difference(given_, found) is not None:
        assert not there.lossless


@pytest.mark.parametrize("to", DIALECTS)
@given(messages=st.lists(json_values, min_size=1, max_size=4))
def test_conversion_never_fails_on_a_list_and_never_mutates_it(
    to: str, messages: list[Any]
) -> None:
    """Whatever the elements are, there is an answer, and the input stays as it was."""
    before = copy.deepcopy(messages)
    for source in DIALECTS:
        convert(messages, to, dialect=source)
    assert messages == before


@pytest.mark.parametrize("to", OTHERS)
@given(messages=chat_lists())
def test_the_value_is_what_the_transcript_says(to: str, messages: list[Any]) -> None:
    """Reading the converted value gives the converted transcript."""
    there = convert(messages, to)
    if there.transcript.messages:
        assert load(there.messages, dialect=to) == there.transcript


def test_a_list_stays_a_list_unless_its_system_prompt_has_no_place_there() -> None:
    """Anthropic and Gemini hold the leading system messages in a field of the request."""
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    assert convert(messages[1:], "anthropic").messages[0]["role"] == "user"
    assert isinstance(convert(messages, "openai-responses").messages, list)
    assert set(convert(messages, "anthropic").messages) == {"system", "messages"}
    assert set(convert(messages, "gemini").messages) == {"systemInstruction", "contents"}
    assert all(convert(messages, to).lossless for to in OTHERS)


def test_instructions_become_a_system_message_and_the_other_way_round() -> None:
    """A system prompt outside the list stays outside where the other dialect has such a field."""
    body = {"model": "m", "instructions": "be brief", "input": [{"role": "user", "content": "q"}]}
    chat = convert(body, "openai-chat")
    assert chat.lossless
    assert chat.messages == {"model": "m", "messages": [
        {"role": "system", "content": "be brief"}, {"role": "user", "content": "q"}]}  # fmt: skip
    anthropic = convert(body, "anthropic").messages
    there = convert(anthropic, "openai-responses", dialect="anthropic").messages
    assert there["instructions"] == "be brief"


def test_a_system_prompt_alone_is_no_conversation_elsewhere() -> None:
    """A list that is empty after the conversion cannot be read back, so that is a loss."""
    there = convert([{"role": "system", "content": "s"}], "anthropic")
    assert there.messages["messages"] == []
    assert [loss.what for loss in there.losses] == ["no message is left for the list of anthropic"]


def test_the_same_dialect_is_given_back_as_it_is() -> None:
    """Nothing to convert, nothing to lose: the very elements."""
    messages = [{"role": "user", "content": "q", "odd": 1}]
    same = convert(messages, "openai-chat")
    assert same.lossless
    assert same.messages[0] is messages[0]


def test_items_of_one_turn_become_one_chat_message() -> None:
    """Chat wants parallel calls in one message, with the words before them."""
    chat = convert(
        [
            {"type": "message", "role": "assistant", "content": "look"},
            {"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
            {"type": "function_call", "call_id": "b", "name": "ls", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "b", "output": "2"},
            {"type": "function_call_output", "call_id": "a", "output": "1"},
        ],
        "openai-chat",
    )
    assert chat.lossless
    assert [message["role"] for message in chat.messages] == ["assistant", "tool", "tool"]
    assert [call["id"] for call in chat.messages[0]["tool_calls"]] == ["a", "b"]


def test_positional_ids_become_real_ones_for_call_and_result() -> None:
    """A dialect with ids gets them, the same on both sides, none twice."""
    turns = [
        {"from": "gpt", "value": '<tool_call>{"name": "a"}</tool_call><tool_call>{"name": "a"}'
                                 "</tool_call>"},
        {"from": "tool", "value": "<tool_response>1</tool_response><tool_response>2"
                                  "</tool_response>"},
    ]  # fmt: skip
    for to in ("openai-chat", "openai-responses", "anthropic"):
        there = convert(turns, to)
        index = survey(there.transcript.messages)
        ids = [call.id for _, call in index.calls]
        assert there.lossless
        assert len(set(ids)) == 2
        assert all(own.startswith("call_") for own in ids)
        assert index.call_of == [0, 1]


def test_real_ids_never_clash_with_those_that_are_there() -> None:
    """A made id steps aside for one that is taken; a lone result gets its own."""
    messages = [
        Message("assistant", (ToolCall("call_1_0", "a"), ToolCall("~1.0", "a"))),
        Message("tool", (ToolResult("~1.0"), ToolResult("~9"))),
    ]
    named = survey(with_real_ids(messages))
    assert [call.id for _, call in named.calls] == ["call_1_0", "call_1_0_2"]
    assert [result.call_id for _, result in named.results] == ["call_1_0_2", "call_9"]


@each_row(
    ("item", "to", "path", "says"),
    [
        ({"role": "assistant", "content": "x", "reasoning_content": "t"}, "anthropic",
         "$[1].reasoning_content", "reasoning"),
        ({"role": "assistant", "content": "x", "refusal": "no"}, "openai-responses",
         "$[1].refusal", "refusal"),
        ({"role": "user", "content": "x", "name": "ann"}, "anthropic", "$[1].name", "'name'"),
        ({"role": "user", "content": [{"type": "text", "text": "x",
                                       "cache_control": {"type": "ephemeral"}}]},
         "openai-responses", "$[1].content[0].cache_control", "cache_control"),
        ({"role": "user", "content": [{"type": "input_audio", "input_audio":
                                       {"data": "AA", "format": "wav"}}]},
         "anthropic", "$[1].content[0]", "audio"),
        ({"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]},
         "openai-responses", "$[1].content[0]", "only its provider holds"),
        ({"role": "developer", "content": "x"}, "anthropic", "$[1].role", "developer"),
        ({"role": "critic", "content": "x"}, "openai-responses", "$[1].role", "critic"),
        ({"role": "assistant", "content": ""}, "openai-responses", "$[1].content", "no content"),
        ({"role": "user", "content": [{"type": "text", "text": "a"},
                                      {"type": "text", "text": "b"}]},
         "sharegpt", "$[1]", "become one"),
        ({"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function":
                                               {"name": "n", "arguments": "no"}}]},
         "anthropic", "$[1].tool_calls[0]", "no JSON object"),
        ({"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom":
                                               {"name": "n", "input": "x"}}]},
         "anthropic", "$[1].tool_calls[0]", "custom call"),
        ({"role": "assistant", "content": "<tool_call>{\"name\": \"a\"}</tool_call>"},
         "sharegpt", "$[1]", "stands where the text was"),
    ],
)  # fmt: skip
def test_each_thing_without_an_equal_is_listed_with_its_place(
    item: Any, to: str, path: str, says: str
) -> None:
    """One plain sentence and the JSON path of what was given."""
    there = convert([{"role": "user", "content": "q"}, item], to, dialect="openai-chat")
    found = [loss for loss in there.losses if loss.path == path]
    assert any(says in loss.what for loss in found), there.losses
    assert all(loss.index == 1 for loss in there.losses)


def test_items_of_the_provider_are_listed() -> None:
    """Encrypted reasoning, compaction, server tools, hosted calls and item ids have no equal."""
    there = convert(
        [
            {"type": "message", "role": "user", "content": "q", "id": "msg_1"},
            {"type": "reasoning", "summary": [], "encrypted_content": "x"},
            {"type": "compaction", "encrypted_content": "x"},
            {"type": "web_search_call", "id": "ws"},
            {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
            {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "a"}]},
        ],
        "openai-chat",
    )
    assert [loss.index for loss in there.losses] == [0, 1, 2, 3, 4, 5]
    assert [message["role"] for message in there.messages] == ["user", "assistant", "tool"]


def test_failure_of_a_result_is_kept_or_listed() -> None:
    """Anthropic and ShareGPT can say it, chat and Responses cannot."""
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "n",
                                           "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c",
                                      "content": "no", "is_error": True}]},
    ]  # fmt: skip
    for to, holds in (("openai-chat", False), ("openai-responses", False), ("sharegpt", True)):
        there = convert(messages, to, dialect="anthropic")
        assert there.lossless is holds
        result = survey(there.transcript.messages).results[0][1]
        assert result.is_error is holds


def test_an_image_in_a_result_moves_behind_the_results_for_chat() -> None:
    """Tool messages hold text only; the image follows all results of the run, and is listed."""
    there = convert(
        [
            {"type": "function_call", "call_id": "a", "name": "shot", "arguments": "{}"},
            {"type": "function_call", "call_id": "b", "name": "shot", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": [
                {"type": "input_text", "text": "t"},
                {"type": "input_image", "image_url": "https://x/y.png"}]},
            {"type": "function_call_output", "call_id": "b", "output": "r"},
        ],
        "openai-chat",
    )  # fmt: skip
    assert [message["role"] for message in there.messages] == ["assistant", "tool", "tool", "user"]
    assert [loss.path for loss in there.losses] == ["$[2].output[1]"]


def test_reasoning_goes_to_sharegpt_and_back() -> None:
    """Unsigned reasoning of a chat message is the thought of a turn."""
    messages = [{"role": "user", "content": "q"},
                {"role": "assistant", "reasoning_content": "hm", "content": "a"}]  # fmt: skip
    there = convert(messages, "sharegpt")
    assert there.lossless
    assert convert(there.messages, "openai-chat").messages == messages


def test_tools_and_settings_are_translated_and_the_rest_is_listed() -> None:
    """Name, description and schema; limits, sampling and tool choice under their other names."""
    schema = {"type": "object", "properties": {"p": {"type": "string"}}}
    chat = {
        "model": "m", "max_completion_tokens": 9, "temperature": 0.5, "stop": "x", "seed": 1,
        "tool_choice": {"type": "function", "function": {"name": "ls"}},
        "tools": [
            {"type": "function",
             "function": {"name": "ls", "description": "list", "parameters": schema}},
        ],
        "messages": [{"role": "user", "content": "q"}],
    }  # fmt: skip
    anthropic = convert(chat, "anthropic")
    assert anthropic.messages == {
        "model": "m", "max_tokens": 9, "temperature": 0.5, "stop_sequences": ["x"],
        "tool_choice": {"type": "tool", "name": "ls"},
        "tools": [{"name": "ls", "description": "list", "input_schema": schema}],
        "messages": anthropic.messages["messages"],
    }  # fmt: skip
    assert [loss.path for loss in anthropic.losses] == ["$.seed"]
    gemini = convert(chat, "gemini")
    assert gemini.messages["generationConfig"] == {
        "maxOutputTokens": 9, "temperature": 0.5, "stopSequences": ["x"]
    }  # fmt: skip
    assert {loss.path for loss in gemini.losses} == {"$.seed", "$.model"}
    for there in (anthropic, gemini, convert(chat, "openai-responses")):
        back = convert(there.messages, "openai-chat", dialect=there.transcript.dialect)
        assert back.messages["tools"] == chat["tools"]
        assert back.messages["tool_choice"] == chat["tool_choice"]


def test_tools_of_the_provider_are_listed() -> None:
    """A web search of one provider is not a tool of another."""
    body = {"model": "m", "input": [{"role": "user", "content": "q"}],
            "tools": [{"type": "web_search"}]}  # fmt: skip
    there = convert(body, "openai-chat")
    assert "tools" not in there.messages
    assert [loss.path for loss in there.losses] == ["$.tools[0]"]


def test_fields_of_a_session_record_come_along() -> None:
    """A record that is no request keeps what stands around its messages."""
    record = {"id": "s", "licence": "MIT", "meta": {"a": 1},
              "messages": [{"role": "user", "content": "q"}]}  # fmt: skip
    there = convert(record, "openai-responses")
    assert there.lossless
    assert there.messages == {"id": "s", "licence": "MIT", "meta": {"a": 1}, "input": [
        {"type": "message", "role": "user", "content": "q"}]}  # fmt: skip


def test_a_field_of_a_record_that_is_in_the_way_is_listed() -> None:
    """The message list wins over a field that happens to have its name."""
    record = {"input": "task", "messages": [{"role": "user", "content": "q"}]}
    there = convert(record, "openai-responses")
    assert [loss.path for loss in there.losses] == ["$.input"]
    assert isinstance(there.messages["input"], list)


def test_generated_messages_stay_marked_as_generated() -> None:
    """A summary is never taken for a user's message after a conversion."""
    transcript = load([{"role": "user", "content": "q"}, {"role": "user", "content": "s"}])
    first, second = transcript.messages
    marked = replace(transcript, messages=(first, replace(second, origin="summary")))
    there = convert_transcript(marked, "openai-responses")
    assert [message.origin for message in there.transcript.messages] == ["real", "summary"]


@given(messages=chat_lists())
def test_converted_messages_hold_no_foreign_payload(messages: list[Any]) -> None:
    """Bare parts have no wire, and only the other dialect's keys reach the other's wire."""
    for message in load(messages).messages:
        assert all(wire is None for wire in wires_of(bare_message(message).parts))
    for item in convert([{**message, "x": 1} for message in messages], "openai-responses").messages:
        assert "x" not in item


def test_bare_parts_say_the_same() -> None:
    """Only payload and place go; an opaque part keeps its kind."""
    assert bare(Text("t", "content", {"a": 1}, False)) == Text("t")
    assert bare(Opaque("k", "x", {"a": 1})) == Opaque("k")
    assert bare(Thinking("t", "s", True, "x", {})) == Thinking("t", "s", True)


def test_an_unknown_dialect_is_named() -> None:
    """The error lists those that exist; a list without messages is not readable."""
    with pytest.raises(UnknownName, match="openai-responses"):
        convert([{"role": "user", "content": "q"}], "smoke-signals")
    with pytest.raises(NotReadable):
        convert([], "anthropic")


@pytest.mark.shared
@pytest.mark.skipif(not (DATA / "native").is_dir(), reason="no shared data: set FOLDAWAY_DATA")
def test_real_sharegpt_files_convert_to_chat_without_loss() -> None:
    """Glaive and Hermes records: calls, results, thoughts, tools and the fields around them."""
    for path in sorted((DATA / "native").glob("sharegpt*/*.gz")):
        text = gzip.decompress(path.read_bytes()).decode()
        whole = path.name.endswith(".json.gz")
        records = json.loads(text) if whole else [json.loads(row) for row in text.splitlines()]
        for record in records:
            if "conversations" in record:
                assert convert(record, "openai-chat").losses == ()


@pytest.mark.shared
@pytest.mark.skipif(not (DATA / "sessions").is_dir(), reason="no shared data: set FOLDAWAY_DATA")
@pytest.mark.parametrize("every", [21, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("to", ["openai-responses", "anthropic"])
def test_real_sessions_convert_and_only_their_reasoning_is_lost(to: str, every: int) -> None:
    """Sessions convert, in the soak all; those without reasoning come back the same."""
    counted: Counter[str] = Counter()
    for path in sorted((DATA / "sessions").glob("*.jsonl.gz")):
        for line in gzip.decompress(path.read_bytes()).splitlines()[::every]:
            record = json.loads(line)
            there = convert(record, to)
            reasons = any("reasoning_content" in message for message in record["messages"])
            assert there.lossless is not reasons, (record["id"], there.losses[:3])
            counted["lossless" if there.lossless else "lossy"] += 1
    assert counted["lossless"] > 1_000 // every
    assert counted["lossy"] > 100 // every
