"""The Anthropic dialect: what it reads, what it writes, and the laws between the two."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway.dialects.anthropic import DIALECT, decode, encode
from foldaway.dialects.loading import detect
from foldaway.errors import CannotEncode
from foldaway.transcript import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

PNG = "iVBORw0KGgo="
CACHED = {"cache_control": {"type": "ephemeral"}}

CONVERSATION: list[Any] = [
    {"role": "user", "content": "Look at the picture and the paper."},
    {"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "title": "Paper", "citations": {"enabled": True},
         "source": {"type": "base64", "media_type": "application/pdf", "data": PNG}},
        {"type": "document",
         "source": {"type": "text", "media_type": "text/plain", "data": "Zeile ä"}},
        {"type": "document",
         "source": {"type": "content", "content": [{"type": "text", "text": "a"}]}},
        {"type": "text", "text": "What do they say?", **CACHED},
    ]},
    {"id": "msg_1", "role": "assistant", "content": [
        {"type": "thinking", "thinking": "Two reads at once.", "signature": "sig=="},
        {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="},
        {"type": "text", "text": "I read both."},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a", "n": 1.5}},
        {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {},
         "caller": {"type": "direct"}},
    ]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "text a"},
        {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": True, **CACHED, "content": [
            {"type": "text", "text": "no such file"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        ]},
        {"type": "text", "text": "Go on."},
    ]},
    {"role": "system", "content": "The budget is now 3 calls."},
    {"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
         "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
            {"type": "web_search_result", "url": "https://example.org", "title": "t",
             "encrypted_content": "EqgfCioIARgB", "page_age": None},
        ]},
        {"type": "server_tool_use", "id": "srvtoolu_2", "name": "bash_code_execution",
         "input": {"command": "ls"}},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_2", "content":
            {"type": "bash_code_execution_tool_result_error", "error_code": "unavailable"}},
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask", "server_name": "s",
         "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False,
         "content": [{"type": "text", "text": "hello"}]},
        {"type": "text", "text": "Found.", "citations": [{"type": "web_search_result_location",
                                                          "encrypted_index": "Eo8B"}]},
    ]},
    {"role": "user", "content": [
        {"type": "compaction", "content": "Summary so far.", "signature": "c2ln"},
        {"type": "container_upload", "file_id": "file_2"},
        {"type": "search_result", "source": "s", "title": "t", "content": []},
        {"type": "tool_result", "tool_use_id": "toolu_9"},
        {"type": "tool_result", "tool_use_id": "toolu_8", "content": ""},
        {"type": "tool_result", "tool_use_id": "toolu_7", "content": [], "is_error": False},
    ]},
]  # fmt: skip


def parts_of(message: Message) -> list[Part]:
    """The parts by value: without the places and payloads that they came from."""
    return [bare(part) for part in message.parts]


def bare(part: Part) -> Part:
    plain = replace(part, at="", wire=None, intact=True)
    if isinstance(plain, ToolResult):
        return replace(plain, parts=tuple(bare(inner) for inner in plain.parts))
    return plain


def changed(part: Part) -> Part:
    """The part as if somebody had changed it to the value that it has."""
    new = replace(part, intact=False)
    if isinstance(new, ToolResult):
        return replace(new, parts=tuple(changed(inner) for inner in new.parts))
    return new


# Strategies: valid messages, any JSON, and values without a wire.

words = st.text(min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
json_objects = st.dictionaries(st.text(max_size=6), json_values, max_size=3)
unknown_names = st.sampled_from(["x_note", "cache_control", "caller"])
unknown_fields = st.dictionaries(unknown_names, json_values)


def block(**fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    fixed = {
        key: value if isinstance(value, st.SearchStrategy) else st.just(value)
        for key, value in fields.items()
    }
    own_fields = st.fixed_dictionaries(fixed)
    return st.builds(lambda extra, own: {**extra, **own}, unknown_fields, own_fields)


text_blocks = block(type="text", text=words)
sources = st.one_of(
    block(type="base64", media_type="image/png", data=PNG),
    block(type="url", url="https://example.org/x"),
    block(type="file", file_id=words),
)
media_blocks = block(type=st.sampled_from(["image", "document"]), source=sources)
inner_blocks = text_blocks | media_blocks | block(type="tool_reference", tool_name=words)
result_blocks = st.one_of(
    block(type="tool_result", tool_use_id=words),
    block(type="tool_result", tool_use_id=words, content=st.text(max_size=5)),
    block(
        type="tool_result", tool_use_id=words, is_error=st.booleans(),
        content=st.lists(inner_blocks, max_size=3),
    ),
)  # fmt: skip
assistant_blocks = st.one_of(
    text_blocks,
    block(type="thinking", thinking=st.text(max_size=9), signature=words),
    block(type="redacted_thinking", data=words),
    block(type="tool_use", id=words, name=words, input=json_objects),
    block(type="server_tool_use", id=words, name="web_search", input=json_objects),
    block(type="web_search_tool_result", tool_use_id=words, content=json_objects),
    block(type="mcp_tool_result", tool_use_id=words, content=st.lists(inner_blocks, max_size=2)),
    block(type="compaction", content=words),
)
user_blocks = result_blocks | text_blocks | media_blocks
valid_messages = st.one_of(
    block(role=st.sampled_from(["user", "assistant", "system"]), content=words),
    block(role="user", content=st.lists(user_blocks, min_size=1, max_size=4)),
    block(role="assistant", content=st.lists(assistant_blocks, min_size=1, max_size=5)),
)


@st.composite
def damaged_messages(draw: st.DrawFn) -> Any:
    """A valid message in which one field, at any depth, is any JSON value, or gone."""
    message = copy.deepcopy(draw(valid_messages))
    places = list(_places(message))
    holder, key = draw(st.sampled_from(places))
    if draw(st.booleans()) or isinstance(holder, list):
        holder[key] = draw(json_values)
    else:
        del holder[key]
    return message


def _places(value: Any) -> Any:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from _places(inner)


bare_parts = st.one_of(
    st.builds(Text, words),
    st.builds(Media, st.sampled_from(["image", "document"]), st.just("image/png"), st.just(PNG)),
    st.builds(Media, st.just("document"), st.just("text/plain"),
              words.map(lambda text: base64.b64encode(text.encode()).decode())),
    st.builds(Media, st.just("image"), url=st.just("https://example.org/x")),
    st.builds(ToolCall, words.map(lambda text: "t" + text), words,
              st.sampled_from(["{}", '{"a":[1,2.5,null]}'])),
    st.builds(ToolResult, words.map(lambda text: "t" + text),
              st.lists(st.builds(Text, words), max_size=3).map(tuple), st.booleans()),
    st.builds(Thinking, words, words),
    st.builds(Thinking, st.just(""), words, st.just(True)),
)  # fmt: skip


def test_every_kind_of_block_is_read_as_the_part_it_is() -> None:
    """Text, media, calls, results, thinking and server tools become parts; the rest is opaque."""
    first, seen, said, given_back, system, served, rest = decode(CONVERSATION)
    assert parts_of(first) == [Text("Look at the picture and the paper.")]
    plain = base64.b64encode("Zeile ä".encode()).decode()
    assert parts_of(seen) == [
        Media("image", "image/png", PNG),
        Media("image", url="https://example.org/a.png"),
        Media("image"),
        Media("document", "application/pdf", PNG),
        Media("document", "text/plain", plain),
        Media("document"),
        Text("What do they say?"),
    ]
    assert said.id == "msg_1"
    assert parts_of(said) == [
        Thinking("Two reads at once.", "sig=="),
        Thinking(signature="cmVkYWN0ZWQ=", redacted=True),
        Text("I read both."),
        ToolCall("toolu_1", "read", '{"path":"a","n":1.5}'),
        ToolCall("toolu_2", "read"),
    ]
    assert (given_back.role, system.role) == ("user", "system")
    assert parts_of(given_back) == [
        ToolResult("toolu_1", (Text("text a"),)),
        ToolResult("toolu_2", (Text("no such file"), Media("image", "image/png", PNG)), True),
        Text("Go on."),
    ]
    assert parts_of(served) == [
        ToolCall("srvtoolu_1", "web_search", '{"query":"q"}', "server"),
        ToolResult("srvtoolu_1", (Opaque("web_search_result"),), kind="server"),
        ToolCall("srvtoolu_2", "bash_code_execution", '{"command":"ls"}', "server"),
        ToolResult("srvtoolu_2", (Opaque("bash_code_execution_tool_result_error"),), True,
                   kind="server"),
        ToolCall("mcptoolu_1", "ask", "{}", "server"),
        ToolResult("mcptoolu_1", (Text("hello"),), kind="server"),
        Text("Found."),
    ]  # fmt: skip
    assert parts_of(rest)[:3] == [
        Opaque("compaction"), Opaque("container_upload"), Opaque("search_result"),
    ]  # fmt: skip
    assert all(not message.flaws for message in decode(CONVERSATION))


def test_parts_know_where_they_stood() -> None:
    """The path of a part leads to its payload inside the message."""
    result = decode(CONVERSATION)[3].parts[1]
    assert isinstance(result, ToolResult)
    assert (result.at, result.parts[1].at) == ("content[1]", "content[1].content[1]")
    assert decode(CONVERSATION)[0].parts[0].at == "content"


def test_an_untouched_message_is_encoded_as_its_own_payload() -> None:
    """What nobody changed is the very object that came in."""
    for wire, message in zip(CONVERSATION, decode(CONVERSATION), strict=True):
        assert encode(message) is wire


@each_row("wire", CONVERSATION)
def test_the_fixtures_are_written_anew_without_loss(wire: Any) -> None:
    """Encoding from parts loses nothing, whether the parts are intact or were changed."""
    message = decode([wire])[0]
    assert encode(message.rewritten()) == wire
    assert encode(message.with_parts(tuple(changed(part) for part in message.parts))) == wire


@given(st.lists(valid_messages, max_size=4))
@example([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "~"}]}])
def test_encoding_anew_loses_nothing(wires: list[Any]) -> None:
    """`encode(decode(x))` equals `x`, also from parts, with every unknown field."""
    before = copy.deepcopy(wires)
    messages = decode(wires)
    assert [message.flaws for message in messages] == [()] * len(wires)
    assert [encode(message) for message in messages] == before
    assert [encode(message.rewritten()) for message in messages] == before
    again = [message.with_parts(tuple(map(changed, message.parts))) for message in messages]
    assert [encode(message) for message in again] == before
    assert wires == before


@given(st.lists(json_values | damaged_messages(), max_size=3))
@example([{"role": ["user"], "content": {"type": ["text"]}}])
@example([{"role": "user", "content": [{"type": ["text"]}, {"type": "text", "text": "\ud800"}]}])
@example([{"role": "assistant", "content": [{"type": "tool_use", "input": {"a": "\ud800"}}]}])
def test_decoding_never_raises_and_changes_nothing(wires: list[Any]) -> None:
    """Every JSON value is read, one message an element, in order, and comes out as it went in."""
    before = copy.deepcopy(wires)
    messages = decode(wires)
    assert [message.position for message in messages] == list(range(len(wires)))
    assert wires == before
    assert [encode(message) for message in messages if message.wire is not None] == [
        wire for wire in before if wire is not None
    ]


@given(damaged_messages())
def test_encoding_anew_is_the_repair(wire: Any) -> None:
    """A message whose flaws are all mendable has none after it was encoded from its parts."""
    message = decode([wire])[0]
    assume(message.parts)
    assume(all(flaw.mendable for flaw in message.flaws))
    assume(not any(flaw.at.endswith("tool_use_id") for flaw in message.flaws))
    assert decode([encode(message.rewritten())])[0].flaws == ()


@given(st.lists(bare_parts, min_size=1, max_size=4))
def test_parts_without_a_payload_come_back_with_the_same_values(parts: list[Part]) -> None:
    """What is built by hand is written as legal blocks that are read as the same parts."""
    made = encode(Message("assistant", tuple(parts)))
    back = decode([made])[0]
    assert back.flaws == ()
    assert parts_of(back) == parts


def _blocks(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


FLAWED: list[tuple[Any, str, str]] = [
    ("hello", "message-object", ""),
    ({"role": "developer", "content": "a"}, "role-known", "role"),
    ({"content": "a"}, "role-known", "role"),
    ({"role": "user"}, "content-present", "content"),
    ({"role": "user", "content": ""}, "content-present", "content"),
    ({"role": "assistant", "content": " \n"}, "content-present", "content"),
    ({"role": "user", "content": []}, "content-present", "content"),
    ({"role": "user", "content": 7}, "content-shape", "content"),
    (_blocks("a"), "content-shape", "content[0]"),
    (_blocks({"type": "text", "text": "a"}, {"type": "text", "text": ""}),
     "content-present", "content[1].text"),
    (_blocks({"type": "text", "text": "\t"}), "content-present", "content[0].text"),
    (_blocks({"type": "text"}), "content-shape", "content[0].text"),
    (_blocks({"type": "tool_use", "id": "a", "name": "b", "input": None}),
     "arguments-object", "content[0].input"),
    (_blocks({"type": "tool_use", "id": "a", "name": "b", "input": "{}"}),
     "arguments-object", "content[0].input"),
    (_blocks({"type": "tool_use", "name": "b", "input": {}}), "id-present", "content[0].id"),
    (_blocks({"type": "tool_use", "id": "a", "input": {}}), "name-legal", "content[0].name"),
    (_blocks({"type": "tool_result", "content": "a"}), "id-present", "content[0].tool_use_id"),
    (_blocks({"type": "tool_result", "tool_use_id": "a", "content": 1}),
     "content-shape", "content[0].content"),
    (_blocks({"type": "tool_result", "tool_use_id": "a", "is_error": "no"}),
     "content-shape", "content[0].is_error"),
    (_blocks({"type": "image", "source": "x"}), "content-shape", "content[0].source"),
    (_blocks({"type": "thinking", "thinking": "a", "signature": 1}),
     "content-shape", "content[0].signature"),
]  # fmt: skip


@each_row(("wire", "rule", "at"), FLAWED)
def test_what_is_off_becomes_a_flaw_with_its_place(wire: Any, rule: str, at: str) -> None:
    """A payload of the wrong shape is noted under its rule, at its path."""
    assert (rule, at) in [(flaw.rule, flaw.at) for flaw in decode([wire])[0].flaws]


def test_a_text_without_words_is_left_out_when_written_anew() -> None:
    """An empty text block is no part, so that the message without it is legal."""
    message = decode([_blocks({"type": "text", "text": ""}, {"type": "text", "text": "a"})])[0]
    assert encode(message.rewritten())["content"] == [{"type": "text", "text": "a"}]


def test_input_that_is_no_object_is_kept_inside_one() -> None:
    """Repairing arguments loses nothing of what they were."""
    wire = {"role": "assistant", "content": [
        {"type": "tool_use", "id": "a", "name": "b", "input": [1]},
        {"type": "tool_use", "id": "c", "name": "b", "input": None},
    ]}  # fmt: skip
    made = encode(decode([wire])[0].rewritten())["content"]
    assert [block["input"] for block in made] == [{"value": [1]}, {}]


def test_a_changed_part_keeps_the_fields_that_nobody_knows() -> None:
    """A digest of a result keeps cache_control; a new text keeps its citations field."""
    message = decode(CONVERSATION)[3]
    first, second, text = message.parts
    assert isinstance(second, ToolResult)
    short = replace(second, parts=(Text("[image and 12 characters]"),), intact=False)
    wire = encode(message.with_parts((first, short, text)))
    assert wire["content"][1] == {
        "type": "tool_result", "tool_use_id": "toolu_2", "is_error": True, **CACHED,
        "content": "[image and 12 characters]",
    }  # fmt: skip
    assert wire["content"][0] is CONVERSATION[3]["content"][0]


@each_row(
    "part",
    [
        Thinking("unsigned"),
        Media("audio", "audio/wav", PNG),
        Media("image"),
        Opaque("refusal"),
        ToolCall("~3.0", "read"),
        ToolResult("~3.0"),
        ToolCall("a", "web_search", kind="server"),
        ToolResult("a", kind="server"),
        Media("document", "text/plain", "not base64!"),
    ],
)
def test_what_has_no_form_is_refused(part: Part) -> None:
    """A part that Anthropic cannot hold raises instead of being written as something else."""
    with pytest.raises(CannotEncode):
        encode(Message("assistant", (part, Text("a"))))


def test_a_message_of_unknown_role_is_refused_when_written_anew() -> None:
    """A role that nobody knows is not guessed."""
    with pytest.raises(CannotEncode):
        encode(decode([{"role": "wizard", "content": "a"}])[0].rewritten())


# The system prompt


@pytest.mark.parametrize(
    "system",
    ["Be terse.", [{"type": "text", "text": "a", **CACHED}, {"type": "text", "text": "b"}]],
)
def test_the_system_prompt_is_read_and_written(system: Any) -> None:
    """`system` as text or as blocks comes back as it was, also from its parts."""
    assert DIALECT.decode_system is not None
    assert DIALECT.encode_system is not None
    message = DIALECT.decode_system({"system": system})
    assert message is not None
    assert (message.role, message.flaws) == ("system", ())
    assert DIALECT.encode_system(message) is system
    assert DIALECT.encode_system(message.rewritten()) == system


def test_no_system_prompt_is_none_and_an_odd_one_is_flawed() -> None:
    """A body without `system` has none; one of the wrong type is noted at its path."""
    assert DIALECT.decode_system is not None
    assert DIALECT.decode_system({"messages": []}) is None
    odd = DIALECT.decode_system({"system": [{"type": "text", "text": ""}]})
    assert odd is not None
    assert [flaw.at for flaw in odd.flaws] == ["system[0].text", "system"]


# Detection


@each_row("wire", [
    _blocks({"type": "tool_result", "tool_use_id": "a"}),
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "b"}]},
    _blocks({"type": "image", "source": {"type": "url", "url": "u"}}),
    {"role": "assistant", "content": [{"type": "web_fetch_tool_result", "tool_use_id": "a"}]},
])  # fmt: skip
def test_blocks_that_only_anthropic_has_are_recognized(wire: Any) -> None:
    """A list with one mark of Anthropic is Anthropic's."""
    assert detect([{"role": "user", "content": "a"}, wire]).name == "anthropic"


@each_row("body", [
    {"anthropic_version": "bedrock-2023-05-31"},
    {"system": "a", "max_tokens": 10},
    {"tools": [{"name": "a", "input_schema": {}}]},
])  # fmt: skip
def test_request_bodies_of_anthropic_are_recognized(body: dict[str, Any]) -> None:
    """A plain list inside a body of Anthropic's is Anthropic's."""
    assert detect([{"role": "user", "content": "a"}], body).name == "anthropic"


def test_a_plain_list_is_left_to_chat() -> None:
    """Roles and text alone are no mark of Anthropic; marks of chat are not either."""
    plain: list[Any] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert detect(plain).name == "openai-chat"
    called: list[Any] = [*plain, {"role": "tool", "tool_call_id": "a", "content": "b"}]
    assert detect(called).name == "openai-chat"


@given(st.lists(json_values | damaged_messages(), max_size=3), json_objects)
def test_detection_never_raises(items: list[Any], body: dict[str, Any]) -> None:
    """Any data is looked at without an error."""
    assert DIALECT.likeness(items, body) in (0, 1, 3, 4)
