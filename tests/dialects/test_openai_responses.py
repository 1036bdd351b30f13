"""OpenAI Responses: items to messages and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway.dialects.openai_responses import (
    arrange,
    decode,
    decode_system,
    encode,
    encode_system,
    likeness,
)
from foldaway.errors import CannotEncode
from foldaway.transcript import (
    Media,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    groups,
    survey,
)

words = st.text(min_size=1, max_size=12)
ids = st.sampled_from(["call_1", "call_2", "call_3"])
blocks = st.one_of(
    st.builds(lambda t: {"type": "input_text", "text": t}, words),
    st.builds(lambda t: {"type": "output_text", "text": t, "annotations": []}, words),
    st.builds(lambda t: {"type": "input_image", "image_url": t, "detail": "high"}, words),
    st.just({"type": "input_image", "image_url": "data:image/png;base64,AAAA"}),
    st.builds(lambda t: {"type": "input_image", "file_id": t}, words),
    st.just({"type": "input_file", "filename": "a.pdf", "file_data": "AAAA"}),
    st.just({"type": "refusal", "refusal": "no"}),
    st.builds(lambda t: {"type": "hologram", "depth": t}, words),
)
content = st.one_of(words, st.lists(blocks, min_size=1, max_size=3))
roles = st.sampled_from(["user", "assistant", "system", "developer"])
chunks = st.fixed_dictionaries(
    {"stdout": words, "stderr": words, "outcome": st.just({"type": "exit", "exit_code": 1})}
)
items = st.one_of(
    st.fixed_dictionaries({"role": roles, "content": content}),
    st.fixed_dictionaries(
        {"type": st.just("message"), "role": roles, "content": content, "id": words, "phase": words}
    ),
    st.fixed_dictionaries(
        {"type": st.just("function_call"), "id": words, "call_id": ids, "name": words,
         "arguments": words, "status": words}
    ),
    st.fixed_dictionaries(
        {"type": st.just("function_call_output"), "call_id": ids, "output": content | st.just("")}
    ),
    st.fixed_dictionaries(
        {"type": st.just("custom_tool_call"), "call_id": ids, "name": words, "input": words}
    ),
    st.fixed_dictionaries(
        {"type": st.just("custom_tool_call_output"), "call_id": ids, "output": content}
    ),
    st.fixed_dictionaries(
        {"type": st.just("shell_call"), "call_id": ids,
         "action": st.just({"commands": ["ls"], "timeout_ms": 5})}
    ),
    st.fixed_dictionaries(
        {"type": st.just("shell_call_output"), "call_id": ids,
         "output": st.lists(chunks, max_size=2)}
    ),
    st.fixed_dictionaries(
        {"type": st.just("apply_patch_call"), "call_id": ids,
         "operation": st.just({"type": "delete_file", "path": "a"})}
    ),
    st.fixed_dictionaries(
        {"type": st.just("computer_call_output"), "call_id": ids,
         "output": st.just({"type": "computer_screenshot", "image_url": "https://x/y.png"})}
    ),
    st.fixed_dictionaries(
        {"type": st.just("reasoning"), "id": words, "encrypted_content": words | st.none(),
         "summary": st.lists(st.builds(lambda t: {"type": "summary_text", "text": t}, words))}
    ),
    st.fixed_dictionaries(
        {"type": st.just("mcp_approval_request"), "id": ids, "name": words, "arguments": words,
         "server_label": words}
    ),
    st.fixed_dictionaries(
        {"type": st.just("mcp_approval_response"), "approval_request_id": ids,
         "approve": st.booleans()}
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["web_search_call", "compaction", "item_reference", "new_item"]),
         "id": words, "encrypted_content": words}
    ),
)  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["type", "role", "content", "call_id", "output", "arguments", "summary", "action",
             "text", "input", "id", "name", "image_url"]
        ),
        inner
        | st.sampled_from(
            ["message", "function_call", "function_call_output", "reasoning", "shell_call",
             "shell_call_output", "computer_call_output", "custom_tool_call", "input_text",
             "input_image", "mcp_approval_request", "mcp_approval_response", "user"]
        ),
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip


def one(item: Any) -> Message:
    return decode([item])[0]


@given(st.lists(items, max_size=6))
def test_items_come_out_as_they_went_in(wires: list[Any]) -> None:
    """An intact message is its own payload object; a rewritten one without flaw equals it."""
    messages = decode(wires)
    assert len(messages) == len(wires)
    for message, wire in zip(messages, wires, strict=True):
        assert encode(message) is wire
        assert message.flaws == ()
        assert encode(message.rewritten()) == wire


@given(st.lists(json_values, max_size=4))
def test_decoding_never_raises_on_any_json(wires: list[Any]) -> None:
    """Every element becomes one message, whatever it is."""
    messages = decode(wires)
    assert [message.position for message in messages] == list(range(len(wires)))
    for message, wire in zip(messages, wires, strict=True):
        assert encode(message) is wire


@given(json_values)
@example({"type": "function_call"})
def test_a_mendable_element_can_be_written_anew_and_is_then_without_flaw(wire: Any) -> None:
    """Encoding anew is the repair: what is read again has none of the shape flaws left."""
    message = one(wire)
    if not message.flaws or any(not flaw.mendable for flaw in message.flaws):
        return
    again = one(encode(message.rewritten()))
    left = {flaw.rule for flaw in again.flaws}
    assert left <= {"content-present", "id-present"}


def test_calls_and_results_pair_by_call_id_and_not_by_item_id() -> None:
    """The item's own `id` is the message's; `call_id` is the call's."""
    messages = decode([
        {"type": "function_call", "id": "fc_9", "call_id": "call_1", "name": "ls",
         "arguments": "{}"},
        {"type": "function_call_output", "id": "fco_9", "call_id": "call_1", "output": "a"},
    ])  # fmt: skip
    assert messages[0].id == "fc_9"
    assert messages[0].role == "assistant"
    assert messages[1].role == "tool"
    assert survey(messages).call_of == [0]


@each_row(
    ("call", "answer", "arguments"),
    [
        (
            {"type": "local_shell_call", "id": "x", "call_id": "c", "action": {"command": ["ls"]}},
            {"type": "local_shell_call_output", "id": "c", "output": "a"},
            '{"command":["ls"]}',
        ),
        (
            {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
            {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "a"}]},
            '{"commands":["ls"]}',
        ),
        (
            {"type": "computer_call", "call_id": "c", "actions": [{"type": "wait"}]},
            {"type": "computer_call_output", "call_id": "c",
             "output": {"type": "computer_screenshot", "image_url": "https://x/y.png"}},
            '[{"type":"wait"}]',
        ),
        (
            {"type": "apply_patch_call", "call_id": "c", "operation": {"path": "a"}},
            {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "a"},
            '{"path":"a"}',
        ),
        (
            {"type": "mcp_approval_request", "id": "c", "name": "n", "arguments": "{}"},
            {"type": "mcp_approval_response", "approval_request_id": "c", "approve": True},
            "{}",
        ),
    ],
)  # fmt: skip
def test_hosted_calls_pair_with_their_outputs(call: Any, answer: Any, arguments: str) -> None:
    """What the client runs is a call of kind hosted, its action the arguments, with its result."""
    messages = decode([call, answer])
    part = messages[0].parts[0]
    assert isinstance(part, ToolCall)
    assert (part.kind, part.id, part.arguments) == ("hosted", "c", arguments)
    assert survey(messages).call_of == [0]
    result = messages[1].parts[0]
    assert isinstance(result, ToolResult)
    assert result.is_error is (answer.get("status") == "failed")
    assert messages[0].flaws == messages[1].flaws == ()


def test_a_changed_shell_result_keeps_its_outcome() -> None:
    """A digest replaces what a command printed; how it ended stays on the wire."""
    wire = {
        "type": "shell_call_output", "call_id": "c", "max_output_length": 9,
        "output": [{"stdout": "long", "stderr": "", "outcome": {"type": "timeout"}}],
    }  # fmt: skip
    message = one(wire)
    result = message.parts[0]
    assert isinstance(result, ToolResult)
    text = replace(result.parts[0], text="short", intact=False)
    changed = message.with_parts((replace(result, parts=(text,), intact=False),))
    assert encode(changed) == {
        **wire, "output": [{"stdout": "short", "stderr": "", "outcome": {"type": "timeout"}}]
    }  # fmt: skip


def test_a_changed_call_keeps_the_unknown_fields_of_its_item() -> None:
    """Only what changed is written anew."""
    message = one({"type": "function_call", "id": "fc", "call_id": "c", "name": "n",
                   "arguments": '{"a":1}', "namespace": "mcp"})  # fmt: skip
    part = replace(message.parts[0], arguments="{}", intact=False)
    assert encode(message.with_parts((part,))) == {
        "type": "function_call", "id": "fc", "call_id": "c", "name": "n", "arguments": "{}",
        "namespace": "mcp",
    }  # fmt: skip


def test_reasoning_is_thinking_bound_by_its_encrypted_content_to_the_item_that_follows() -> None:
    """A reasoning item and the item that it led to are one group."""
    messages = decode([
        {"type": "reasoning", "id": "rs", "encrypted_content": "xyz",
         "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "t"}]},
        {"type": "reasoning", "id": "rs2", "encrypted_content": "xyz", "summary": []},
    ])  # fmt: skip
    assert messages[0].parts == (Thinking("a\n\nb", "xyz", False, "", messages[0].wire),)
    assert messages[2].parts == (Thinking("", "xyz", True, "", messages[2].wire),)
    assert [len(group) for group in groups(messages)] == [2, 1]


@each_row("kind", ["web_search_call", "compaction", "mcp_list_tools", "tomorrow"])
def test_items_that_the_model_has_no_word_for_are_opaque(kind: str) -> None:
    """Anything unknown is carried through under its own type."""
    wire = {"type": kind, "id": "x", "status": "completed"}
    assert one(wire).parts == (Opaque(kind, "", wire),)


def test_a_reference_without_a_type_is_an_item_reference() -> None:
    """The API lets `type` be left out of a reference; only the id stands there."""
    assert one({"id": "msg_1"}).parts == (Opaque("item_reference", "", {"id": "msg_1"}),)


@each_row(
    ("wire", "rule", "at"),
    [
        (3, "message-object", ""),
        ({"content": "x"}, "role-known", "role"),
        ({"role": "human", "content": "x"}, "role-known", "role"),
        ({"role": "user", "content": ""}, "content-present", "content"),
        ({"role": "user", "content": 7}, "content-shape", "content"),
        ({"role": "user", "content": [7]}, "content-shape", "content[0]"),
        ({"type": 1, "role": "user", "content": "x"}, "content-shape", "type"),
        ({"type": "function_call", "name": "n", "arguments": "{}"}, "id-present", "call_id"),
        ({"type": "function_call", "call_id": "c", "arguments": "{}"}, "name-legal", "name"),
        ({"type": "function_call", "call_id": "c", "name": "n"}, "arguments-object", "arguments"),
        ({"type": "function_call_output", "output": "x"}, "id-present", "call_id"),
        ({"type": "shell_call", "call_id": "c"}, "arguments-object", "action"),
    ],
)
def test_what_is_off_becomes_a_flaw_with_its_place(wire: Any, rule: str, at: str) -> None:
    """A wrong shape is noted under the name of its rule and read on."""
    assert [(flaw.rule, flaw.at) for flaw in one(wire).flaws] == [(rule, at)]


def test_a_call_beside_words_has_no_form_as_one_item() -> None:
    """An item is one thing; what would need two is refused, not dropped."""
    with pytest.raises(CannotEncode, match="ToolCall beside other parts"):
        encode(Message("assistant", (Text("a"), ToolCall("c", "n"))))


def test_foreign_messages_are_split_into_items_in_order() -> None:
    """Words, calls and results become items of their own; reasoning of others is left out."""
    arranged = arrange([
        Message("assistant", (Thinking("t"), Text("a"), ToolCall("c", "n"), Text("b"))),
        Message("user", (ToolResult("c", (Text("r"),)), Media("image", url="u"), Text("q"))),
    ])  # fmt: skip
    assert [encode(message) for message in arranged] == [
        {"type": "message", "role": "assistant", "content": "a"},
        {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
        {"type": "message", "role": "assistant", "content": "b"},
        {"type": "function_call_output", "call_id": "c", "output": "r"},
        {"type": "message", "role": "user", "content": [
            {"type": "input_image", "image_url": "u"}, {"type": "input_text", "text": "q"}]},
    ]  # fmt: skip


def test_instructions_are_the_system_prompt() -> None:
    """They come out as they went in, and from several texts as one."""
    assert decode_system({"input": []}) is None
    system = decode_system({"instructions": "be brief"})
    assert system is not None
    assert system.parts == (Text("be brief"),)
    assert encode_system(system) == "be brief"
    assert encode_system(Message("system", (Text("a"), Text("b")))) == "a\n\nb"


def test_the_dialect_is_known_by_its_items() -> None:
    """Typed items, its blocks, or the field that they stand in; a plain chat list is not it."""
    plain = [{"role": "user", "content": "x"}]
    assert likeness(plain, {}) == 0
    assert likeness(plain, {"input": plain}) == 2
    assert likeness([{"type": "message", "role": "user", "content": "x"}], {}) == 3
    assert likeness([{"role": "user", "content": [{"type": "input_text", "text": "x"}]}], {}) == 3
    assert likeness([{"type": "reasoning", "summary": []}], {}) == 4
    assert likeness([7, {"type": ["x"]}], {}) == 0
