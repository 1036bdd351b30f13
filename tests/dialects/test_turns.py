"""Foreign messages as turns, for the dialects that hold results in user messages."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from foldaway.dialects.anthropic import arrange as for_anthropic
from foldaway.dialects.anthropic import decode as decode_anthropic
from foldaway.dialects.anthropic import encode as encode_anthropic
from foldaway.dialects.gemini import arrange as for_gemini
from foldaway.dialects.gemini import decode as decode_gemini
from foldaway.dialects.gemini import encode as encode_gemini
from foldaway.dialects.openai_chat import decode as decode_chat
from foldaway.transcript import Media, Message, Part, Text, Thinking, ToolCall, ToolResult, survey

words = st.text(min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
bare_parts = st.one_of(
    st.builds(Text, words),
    st.builds(Media, st.just("image"), url=st.just("https://example.org/x")),
    st.builds(ToolCall, st.sampled_from(["a", "b", "~1.0"]), words),
    st.builds(ToolResult, st.sampled_from(["a", "b", "~1.0"])),
    st.builds(Thinking, words, st.sampled_from(["", "sig"])),
)
CHAT = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": "Both.", "reasoning_content": "hm", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"n":1}'}},
        {"id": "b", "type": "function", "function": {"name": "list", "arguments": "{}"}},
    ]},
    {"role": "tool", "tool_call_id": "b", "content": "two"},
    {"role": "tool", "tool_call_id": "a", "content": "one"},
    {"role": "user", "content": "and?"},
    {"role": "assistant", "content": "done"},
]  # fmt: skip


def list_of(message: Message) -> list[Part]:
    return list(message.parts)


def test_results_are_gathered_before_the_words_that_follow() -> None:
    """Tool messages and the user's next words become one user message, results first."""
    arranged = for_anthropic([
        Message("developer", (Text("rules"),)),
        Message("user", (Text("go"),)),
        Message("assistant", (Thinking("hm"), ToolCall("a", "read"))),
        Message("assistant", (Thinking("hm", "sig"), ToolCall("b", "read"))),
        Message("tool", (ToolResult("a", (Text("1"),)),)),
        Message("user", (Text("wait"),)),
        Message("tool", (ToolResult("b", (Text("2"),)),)),
        Message("assistant", (Text("done"),)),
    ])  # fmt: skip
    assert [message.role for message in arranged] == [
        "system", "user", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert list_of(arranged[2]) == [ToolCall("a", "read"), ToolCall("b", "read")]
    assert list_of(arranged[3]) == [
        ToolResult("a", (Text("1"),), name="read"),
        ToolResult("b", (Text("2"),), name="read"),
        Text("wait"),
    ]


def test_positional_ids_become_real_ones_on_both_sides() -> None:
    """Calls without ids get distinct ids that no other call has, and their results the same."""
    arranged = for_anthropic([
        Message("assistant", (ToolCall("call_1", "x"), ToolCall("~0.1", "read"))),
        Message("user", (ToolResult("call_1"), ToolResult("~0.1"))),
        Message("assistant", (ToolCall("~0.1", "read"),)),
        Message("user", (ToolResult("~0.1"),)),
    ])  # fmt: skip
    ids = [part.id for message in arranged for part in message.parts if isinstance(part, ToolCall)]
    answers = [
        part.call_id for message in arranged for part in message.parts
        if isinstance(part, ToolResult)
    ]  # fmt: skip
    assert ids == answers
    assert len(set(ids)) == 3
    assert not any(own_id.startswith("~") for own_id in ids)


def test_custom_calls_become_function_calls_with_their_text_as_input() -> None:
    """Free text goes under `input`; a hosted call with an object keeps it."""
    arranged = for_anthropic([
        Message("assistant", (
            ToolCall("a", "apply_patch", "*** Begin", "custom"),
            ToolCall("b", "shell", '{"command":["ls"]}', "hosted"),
        )),
        Message("tool", (ToolResult("a", kind="custom"),)),
    ])  # fmt: skip
    assert list_of(arranged[0]) == [
        ToolCall("a", "apply_patch", '{"input":"*** Begin"}'),
        ToolCall("b", "shell", '{"command":["ls"]}'),
    ]
    assert list_of(arranged[1]) == [ToolResult("a", name="apply_patch")]


def test_words_of_different_origin_are_not_merged() -> None:
    """A generated message never becomes part of a real one of the user."""
    arranged = for_anthropic([
        Message("user", (Text("summary"),), origin="summary"),
        Message("user", (Text("go on"),)),
    ])  # fmt: skip
    assert [(message.origin, list_of(message)) for message in arranged] == [
        ("summary", [Text("summary")]),
        ("real", [Text("go on")]),
    ]


def test_an_assistant_message_of_thinking_alone_is_left_out() -> None:
    """Dropping foreign thinking leaves no empty message behind."""
    arranged = for_anthropic([
        Message("user", (Text("go"),)),
        Message("assistant", (Thinking("hm", "enc"),)),
    ])  # fmt: skip
    assert [message.role for message in arranged] == ["user"]


@given(st.lists(st.builds(
    Message, st.sampled_from(["system", "user", "assistant", "tool"]),
    st.lists(bare_parts, max_size=3).map(tuple),
), max_size=6))  # fmt: skip
def test_arranged_turns_alternate_and_keep_every_part(messages: list[Message]) -> None:
    """No two neighbours share a side, and nothing but thinking is lost."""
    arranged = for_anthropic(messages)
    sides = [message.role for message in arranged if message.role != "system"]
    assert not any(a.role == b.role != "system" for a, b in pairwise(arranged))
    assert set(sides) <= {"user", "assistant"}

    def count(some: list[Message]) -> int:
        return sum(not isinstance(part, Thinking) for message in some for part in message.parts)

    assert count(arranged) == count(messages)


def test_a_chat_list_becomes_anthropic_wire() -> None:
    """A whole list of another provider is arranged, written and read back with its pairs."""
    system, *turns = for_anthropic(decode_chat(CHAT))
    assert system.role == "system"
    wire = [encode_anthropic(message) for message in turns]
    assert wire == [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "Both."},
            {"type": "tool_use", "id": "a", "name": "read", "input": {"n": 1}},
            {"type": "tool_use", "id": "b", "name": "list", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "b", "content": "two"},
            {"type": "tool_result", "tool_use_id": "a", "content": "one"},
            {"type": "text", "text": "and?"},
        ]},
        {"role": "assistant", "content": "done"},
    ]  # fmt: skip
    assert -1 not in survey(decode_anthropic(wire)).answer_of


def test_a_chat_list_becomes_gemini_wire() -> None:
    """Responses carry the name of their call, and unsigned thoughts come first."""
    turns = for_gemini(decode_chat(CHAT))[1:]
    wire = [encode_gemini(message) for message in turns]
    assert wire == [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [
            {"text": "hm", "thought": True},
            {"text": "Both."},
            {"functionCall": {"id": "a", "name": "read", "args": {"n": 1}}},
            {"functionCall": {"id": "b", "name": "list", "args": {}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "b", "name": "list", "response": {"output": "two"}}},
            {"functionResponse": {"id": "a", "name": "read", "response": {"output": "one"}}},
            {"text": "and?"},
        ]},
        {"role": "model", "parts": [{"text": "done"}]},
    ]  # fmt: skip
    assert -1 not in survey(decode_gemini(wire)).answer_of


def test_gemini_keeps_thoughts_that_nobody_signed() -> None:
    """Signed and redacted thinking is removed whole; it is never altered."""
    arranged = for_gemini([
        Message("assistant", (Text("a"), Thinking("free"), Thinking("bound", "sig"))),
        Message("assistant", (Thinking(signature="x", redacted=True), Thinking("more"))),
    ])  # fmt: skip
    assert [list_of(message) for message in arranged] == [
        [Thinking("free"), Thinking("more"), Text("a")]
    ]
