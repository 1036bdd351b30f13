"""ShareGPT: turns to messages and back."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway.dialects.sharegpt import arrange, decode, encode, likeness
from foldaway.errors import CannotEncode
from foldaway.transcript import Media, Message, Text, Thinking, ToolCall, ToolResult, survey

DATA = Path(os.environ.get("FOLDAWAY_DATA", Path(__file__).parents[3] / "shared" / "data"))

pieces = st.sampled_from([
    "words", " ", "\n", "\n\n", "<think>\nhm\n</think>", "<think>", "</think>",
    "<thinking>x</thinking>", "<REASONING_SCRATCHPAD>y</REASONING_SCRATCHPAD>",
    '<tool_call>\n{"name": "ls", "arguments": {"a": 1.0}}\n</tool_call>',
    "<tool_call>{'name': 'ls', 'arguments': {'a': None}}</tool_call>",
    '<tool_call>{"id": "c1", "name": "ls"}</tool_call>',
    "<tool_call>{broken</tool_call>", "<tool_call>", "</tool_call>",
    "<tool_response>\nplain\n</tool_response>",
    '<tool_response>{"tool_call_id": "c1", "name": "ls", "content": {"x": 1}}</tool_response>',
    "<tool_response>", "</tool_response>", '{"name": "ls", "arguments": "{}"}',
    '[{"name": "a", "arguments": {}}, {"name": "b"}]', "é\ud800",
])  # fmt: skip
speakers = st.sampled_from(
    ["system", "human", "user", "gpt", "chatgpt", "tool", "observation", "function_call",
     "function_response"]
)  # fmt: skip
values = st.lists(pieces, min_size=1, max_size=6).map("".join)
turns = st.fixed_dictionaries({"from": speakers, "value": values}, optional={"weight": st.just(1)})
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | values,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["from", "value", "id"]), inner | speakers, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(turns, max_size=6))
def test_turns_come_out_as_they_went_in(wires: list[Any]) -> None:
    """The text of a turn that is written anew is the same, byte for byte."""
    messages = decode(wires)
    for message, wire in zip(messages, wires, strict=True):
        assert encode(message) is wire
        assert encode(message.rewritten()) == wire


@given(st.lists(json_values, max_size=4))
def test_decoding_never_raises_on_any_json(wires: list[Any]) -> None:
    """Every element becomes one message, whatever it is."""
    messages = decode(wires)
    assert [message.position for message in messages] == list(range(len(wires)))
    for message, wire in zip(messages, wires, strict=True):
        assert encode(message) is wire


@given(st.lists(turns, max_size=8))
def test_every_call_has_an_id_and_no_two_have_the_same_positional_one(wires: list[Any]) -> None:
    """Positional ids are made from the place of the call, so they never clash."""
    calls = [call.id for _, call in survey(decode(wires)).calls]
    assert all(calls)
    positional = [call for call in calls if call.startswith("~")]
    assert len(positional) == len(set(positional))


def test_thoughts_words_and_calls_of_one_turn_are_read_in_order() -> None:
    """Line breaks beside the tags belong to the tags."""
    value = (
        "<think>\nhm\n</think>\n\nLet me look.\n"
        '<tool_call>\n{"name": "ls", "arguments": {"n": 1.50}}\n</tool_call>\n'
        "<tool_call>{'name': 'cat', 'arguments': {'all': True}}</tool_call>"
    )
    message = decode([{"from": "gpt", "value": value}])[0]
    thought, text, first, second = message.parts
    assert isinstance(thought, Thinking)
    assert thought.text == "hm"
    assert isinstance(text, Text)
    assert text.text == "Let me look."
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert (first.id, first.name, first.arguments) == ("~0.2", "ls", '{"n": 1.50}')
    assert (second.name, second.arguments) == ("cat", '{"all":true}')


@each_row(
    "value",
    [
        "<tool_call>{broken</tool_call>",
        '<tool_call>{"arguments": {}}</tool_call>',
        "<tool_call>{'name': 1j}</tool_call>",
        "talk about <tool_call> tags",
        "first words, then <think>no thought</think>",
    ],
)
def test_a_tag_that_does_not_parse_stays_text(value: str) -> None:
    """What is no call is what somebody wrote."""
    message = decode([{"from": "gpt", "value": value}])[0]
    assert message.parts == (Text(value, "value"),)
    assert message.flaws == ()


def test_results_answer_waiting_calls_in_order() -> None:
    """Without ids the first result belongs to the first call."""
    messages = decode([
        {"from": "gpt", "value": '<tool_call>{"name": "a"}</tool_call><tool_call>{"name": "b"}'
                                 "</tool_call>"},
        {"from": "tool", "value": "<tool_response>1</tool_response><tool_response>2"
                                  "</tool_response>"},
        {"from": "function_call", "value": '{"name": "c", "arguments": {"x": 1}}'},
        {"from": "observation", "value": "3"},
    ])  # fmt: skip
    index = survey(messages)
    assert [call.name for _, call in index.calls] == ["a", "b", "c"]
    assert index.call_of == [0, 1, 2]
    assert [result.call_id for _, result in index.results] == ["~0.0", "~0.1", "~2.0"]


def test_a_result_that_names_its_call_gives_the_pair_its_id() -> None:
    """Hermes writes the id on the response only; a call that says its own is found by it."""
    messages = decode([
        {"from": "gpt", "value": '<tool_call>{"name": "a"}</tool_call>'
                                 '<tool_call>{"id": "x2", "name": "b"}</tool_call>'},
        {"from": "tool", "value":
            '<tool_response>{"tool_call_id": "x2", "name": "b", "content": "B"}</tool_response>'
            '<tool_response>{"tool_call_id": "x1", "name": "a", "content": "A"}</tool_response>'},
    ])  # fmt: skip
    index = survey(messages)
    assert [call.id for _, call in index.calls] == ["x1", "x2"]
    assert index.call_of == [1, 0]


def test_a_call_that_got_no_result_takes_none_from_a_later_turn() -> None:
    """After a user's turn nothing waits any more."""
    messages = decode([
        {"from": "gpt", "value": '<tool_call>{"name": "a"}</tool_call>'},
        {"from": "human", "value": "stop"},
        {"from": "gpt", "value": '<tool_call>{"name": "b"}</tool_call>'},
        {"from": "tool", "value": "<tool_response>r</tool_response>"},
    ])  # fmt: skip
    assert survey(messages).call_of == [1]


def test_a_changed_result_leaves_its_neighbours_as_they_were() -> None:
    """Only the segment that changed is written anew."""
    value = "<tool_response>\nlong\n</tool_response>\n<tool_response>two</tool_response>"
    message = decode([{"from": "tool", "value": value}])[0]
    first, second = message.parts
    short = replace(first, parts=(Text("short"),), intact=False)
    assert encode(message.with_parts((short, second))) == {
        "from": "tool",
        "value": "<tool_response>\nshort\n</tool_response>\n<tool_response>two</tool_response>",
    }


@each_row(
    ("wire", "rule"),
    [
        ([], "message-object"),
        ({"value": "x"}, "role-known"),
        ({"from": "critic", "value": "x"}, "role-known"),
        ({"from": "human", "value": ""}, "content-present"),
        ({"from": "human"}, "content-present"),
        ({"from": "human", "value": 3}, "content-shape"),
    ],
)
def test_what_is_off_becomes_a_flaw(wire: Any, rule: str) -> None:
    """A wrong shape is noted under the name of its rule."""
    assert [flaw.rule for flaw in decode([wire])[0].flaws] == [rule]


def test_foreign_messages_become_turns_with_ids_only_where_they_are_needed() -> None:
    """Results of a run share a turn; a call says its id only if no result gives it back."""
    asked = [
        Message("assistant", (Thinking("hm"), Text("a"), ToolCall("c1", "ls", '{"x":1.0}'))),
        Message("tool", (ToolResult("c1", (Text("</tool_response>"),), name="ls"),)),
    ]
    wires = [encode(message) for message in arrange(asked)]
    assert wires == [
        {"from": "gpt", "value": "<think>\nhm\n</think>\na\n<tool_call>\n"
                                 '{"name":"ls","arguments":{"x":1.0}}\n</tool_call>'},
        {"from": "tool", "value": '<tool_response>\n{"tool_call_id":"c1","name":"ls",'
                                  '"content":"<\\/tool_response>"}\n</tool_response>'},
    ]  # fmt: skip
    result = decode(wires)[1].parts[0]
    assert isinstance(result, ToolResult)
    assert [part.text for part in result.parts if isinstance(part, Text)] == ["</tool_response>"]
    pending = [encode(message) for message in arrange(asked[:1])]
    assert '{"id":"c1","name":"ls"' in pending[0]["value"]
    assert survey(decode(pending)).calls[0][1].id == "c1"


def test_media_and_signed_thinking_have_no_form() -> None:
    """They are refused, not dropped."""
    for part in (Media("image", url="u"), Thinking("t", "signature")):
        with pytest.raises(CannotEncode):
            encode(Message("assistant", (part,)))


def test_the_dialect_is_known_by_from_and_value() -> None:
    """Both keys, in one turn, suffice."""
    assert likeness([{"from": "human", "value": "x"}], {}) == 4
    assert likeness([{"role": "user", "content": "x"}, 3], {}) == 0


@pytest.mark.shared
@pytest.mark.skipif(not (DATA / "native").is_dir(), reason="no shared data: set FOLDAWAY_DATA")
def test_real_files_come_out_as_they_went_in_and_every_call_has_its_result() -> None:
    """Glaive and Hermes files, untouched originals."""
    seen = 0
    for path in sorted((DATA / "native").glob("sharegpt*/*.gz")):
        text = gzip.decompress(path.read_bytes()).decode()
        whole = path.name.endswith(".json.gz")
        records = json.loads(text) if whole else [json.loads(row) for row in text.splitlines()]
        for record in records:
            messages = decode(record.get("conversations", []))
            index = survey(messages)
            assert -1 not in index.call_of
            assert -1 not in index.answer_of
            for message in messages:
                assert message.flaws == ()
                assert encode(message.rewritten()) == message.wire
            seen += len(messages)
    assert seen > 2_000
