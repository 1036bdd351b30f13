"""The Gemini dialect: what it reads, what it writes, and the laws between the two."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway.dialects.gemini import DIALECT, decode, encode
from foldaway.dialects.loading import detect
from foldaway.errors import CannotEncode
from foldaway.transcript import (
    Media,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    survey,
)

PNG = "iVBORw0KGgo="

CONVERSATION: list[Any] = [
    {"parts": [{"text": "Look."}]},
    {"role": "user", "parts": [
        {"inlineData": {"mimeType": "image/png", "data": PNG, "displayName": "a.png"}},
        {"inline_data": {"mime_type": "audio/mp3", "data": PNG}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/v.mp4"},
         "videoMetadata": {"fps": 1}},
        {"fileData": {"fileUri": "https://example.org/p.pdf"}},
    ]},
    {"role": "model", "parts": [
        {"text": "Two cities.", "thought": True},
        {"functionCall": {"name": "weather", "args": {"city": "Oslo"}},
         "thoughtSignature": "c2lnQQ=="},
        {"functionCall": {"name": "weather", "args": {"city": "Rome"}}},
        {"function_call": {"name": "clock"}},
    ]},
    {"role": "user", "parts": [
        {"functionResponse": {"name": "clock", "response": {"now": "12:00"}}},
        {"functionResponse": {"name": "weather", "response": {"result": "rain"}}},
        {"function_response": {"name": "weather", "response": {"error": "no such city"},
                               "willContinue": False}},
    ]},
    {"role": "model", "parts": [
        {"functionCall": {"id": "fc_1", "name": "chart", "args": {}},
         "thought_signature": "c2lnQg"},
    ]},
    {"role": "function", "parts": [
        {"functionResponse": {"id": "fc_1", "name": "chart", "response": {"output": "see picture"},
                              "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]}},
    ]},
    {"role": "model", "parts": [
        {"executableCode": {"language": "PYTHON", "code": "1+1"}, "thoughtSignature": "c2lnQw=="},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s1"}},
        {"text": "", "thoughtSignature": "c2lnRA=="},
        {"thought": True, "thoughtSignature": "c2lnRQ=="},
        {"text": None, "thought": None, "function_call": None, "inline_data": None,
         "video_metadata": {"fps": 2}, "new_kind": {"a": 1}},
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
unknown_fields = st.dictionaries(st.sampled_from(["x_note", "partMetadata"]), json_values)


def record(**fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    fixed = {
        key: value if isinstance(value, st.SearchStrategy) else st.just(value)
        for key, value in fields.items()
    }
    own_fields = st.fixed_dictionaries(fixed)
    return st.builds(lambda extra, own: {**extra, **own}, unknown_fields, own_fields)


mimes = st.sampled_from(["image/png", "audio/wav", "video/mp4", "application/pdf"])
responses = st.one_of(
    json_objects,
    st.builds(
        lambda key, text: {key: text},
        st.sampled_from(["output", "result", "error"]),
        st.text(max_size=5),
    ),
    st.just({"error": {"code": 5}}),
)
data_parts = st.one_of(
    record(inlineData=record(mimeType=mimes, data=PNG)),
    record(inline_data=record(mime_type=mimes, data=PNG)),
    record(file_data=record(mime_type=mimes, file_uri="gs://b/x")),
    record(fileData=record(fileUri="gs://b/x")),
)
user_parts = st.one_of(
    record(text=st.text(max_size=9)),
    data_parts,
    record(functionResponse=record(name=words, response=responses)),
    record(functionResponse=record(name=words, id=words, response=responses,
                                   parts=st.lists(data_parts, max_size=2))),
    record(function_response=record(name=words, response=responses)),
)  # fmt: skip
model_parts = st.one_of(
    record(text=st.text(max_size=9), thoughtSignature=words),
    record(text=st.text(max_size=9), thought=True),
    record(text=st.text(max_size=9), thought=True, thought_signature=words),
    record(functionCall=record(name=words, args=json_objects), thoughtSignature=words),
    record(functionCall=record(name=words, id=words, args=json_objects)),
    record(function_call=record(name=words)),
    record(executableCode=json_objects),
)
valid_messages = st.one_of(
    record(parts=st.lists(user_parts, min_size=1, max_size=4)),
    record(role=st.sampled_from(["user", "function"]),
           parts=st.lists(user_parts, min_size=1, max_size=4)),
    record(role="model", parts=st.lists(model_parts, min_size=1, max_size=4)),
)  # fmt: skip


@st.composite
def damaged_messages(draw: st.DrawFn) -> Any:
    """A valid message in which one field, at any depth, is any JSON value, or gone."""
    message = copy.deepcopy(draw(valid_messages))
    holder, key = draw(st.sampled_from(list(_places(message))))
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


plain_ids = words.map(lambda text: f"f{text}")
bare_parts = st.one_of(
    st.builds(Text, st.text(max_size=9)),
    st.builds(Media, st.just("image"), st.just("image/png"), st.just(PNG)),
    st.builds(Media, st.just("video"), st.just("video/mp4"), url=st.just("gs://b/x")),
    st.builds(ToolCall, plain_ids, words, st.sampled_from(["{}", '{"a":[1,2.5,null]}']),
              signature=st.sampled_from(["", "c2ln"])),
    st.builds(ToolResult, plain_ids, st.lists(st.builds(Text, words), max_size=1).map(tuple),
              st.booleans(), words),
    st.builds(Thinking, st.text(max_size=9), st.sampled_from(["", "c2ln"])),
)  # fmt: skip


def test_every_kind_of_part_is_read_as_the_part_it_is() -> None:
    """Both spellings are read; a missing role is the user's; code and new kinds are opaque."""
    first, seen, called, answered, charted, chart, rest = decode(CONVERSATION)
    assert (first.role, parts_of(first)) == ("user", [Text("Look.")])
    assert parts_of(seen) == [
        Media("image", "image/png", PNG),
        Media("audio", "audio/mp3", PNG),
        Media("video", "video/mp4", url="gs://b/v.mp4"),
        Media("document", url="https://example.org/p.pdf"),
    ]
    assert called.role == "assistant"
    assert parts_of(called) == [
        Thinking("Two cities."),
        ToolCall("~2.1", "weather", '{"city":"Oslo"}', signature="c2lnQQ=="),
        ToolCall("~2.2", "weather", '{"city":"Rome"}'),
        ToolCall("~2.3", "clock"),
    ]
    assert parts_of(answered) == [
        ToolResult("~2.3", (Text('{"now":"12:00"}'),), name="clock"),
        ToolResult("~2.1", (Text("rain"),), name="weather"),
        ToolResult("~2.2", (Text("no such city"),), True, "weather"),
    ]
    assert parts_of(charted) == [ToolCall("fc_1", "chart", signature="c2lnQg")]
    assert (chart.role, parts_of(chart)) == (
        "user",
        [ToolResult("fc_1", (Text("see picture"), Media("image", "image/png", PNG)), name="chart")],
    )
    assert parts_of(rest) == [
        Opaque("executableCode"), Opaque("codeExecutionResult"), Opaque("toolCall"), Text(""),
        Thinking(signature="c2lnRQ=="), Opaque("new_kind"),
    ]  # fmt: skip
    assert all(not message.flaws for message in decode(CONVERSATION))


def test_an_untouched_message_is_encoded_as_its_own_payload() -> None:
    """What nobody changed is the very object that came in."""
    for wire, message in zip(CONVERSATION, decode(CONVERSATION), strict=True):
        assert encode(message) is wire


def test_the_fixtures_are_written_anew_without_loss() -> None:
    """Encoding from parts loses nothing, whether the parts are intact or were changed."""
    for wire, message in zip(CONVERSATION, decode(CONVERSATION), strict=True):
        assert encode(message.rewritten()) == wire
        assert encode(message.with_parts(tuple(map(changed, message.parts)))) == wire


@given(st.lists(valid_messages, max_size=4))
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
@example([{"role": ["user"], "parts": {"text": "a"}}, {"role": {}, "parts": [[]]}])
@example([{"role": "model", "parts": [{"functionCall": {"name": "a", "args": {"b": "\ud800"}}}]}])
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
@example({"role": "model", "parts": [{"functionCall": {"name": "a", "id": 7}}]})
@example({"parts": [{"functionResponse": {"name": "a", "id": [], "response": None}}]})
def test_encoding_anew_is_the_repair(wire: Any) -> None:
    """A message whose flaws are all mendable has none after it was encoded from its parts."""
    message = decode([wire])[0]
    assume(message.parts)
    assume(all(flaw.mendable for flaw in message.flaws))
    assert decode([encode(message.rewritten())])[0].flaws == ()


@given(st.lists(bare_parts, min_size=1, max_size=4))
def test_parts_without_a_payload_come_back_with_the_same_values(parts: list[Part]) -> None:
    """What is built by hand is written as legal parts that are read as the same values."""
    back = decode([encode(Message("assistant", tuple(parts)))])[0]
    assert back.flaws == ()
    assert parts_of(back) == parts


# Calls and responses without ids


def test_parallel_calls_without_ids_pair_by_name_and_order() -> None:
    """Every response finds its call, and no positional id goes on the wire."""
    messages = decode(CONVERSATION)
    assert -1 not in survey(messages).answer_of
    for message in messages:
        again = message.with_parts(tuple(map(changed, message.parts)))
        assert "~" not in repr(encode(again))


def test_a_response_waits_for_the_turn_before_it_only() -> None:
    """A call that was never answered takes no response of a later turn."""
    call = {"role": "model", "parts": [{"functionCall": {"name": "a"}}]}
    answer = {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {}}}]}
    index = survey(decode([call, {"role": "user", "parts": [{"text": "no"}]}, call, answer]))
    assert index.answer_of == [-1, 0]


def test_a_response_to_nothing_pairs_with_nothing() -> None:
    """An orphan gets an id of its own place, or keeps the id that it has."""
    loose = {"parts": [{"functionResponse": {"name": "a", "response": {}}}]}
    named = {"parts": [{"functionResponse": {"id": "x", "name": "a", "response": {}}}]}
    found = [result.call_id for _, result in survey(decode([loose, named])).results]
    assert found == ["~0.0", "x"]


def test_a_response_with_an_id_answers_a_call_that_has_none() -> None:
    """Clients that make ids of their own for responses still pair, and keep those ids."""
    messages = decode([
        {"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "x", "name": "a", "response": {"output": "b"}}},
        ]},
    ])  # fmt: skip
    assert survey(messages).answer_of == [0]
    result = messages[1].parts[0]
    wire = encode(messages[1].with_parts((changed(result),)))
    assert wire["parts"][0]["functionResponse"]["id"] == "x"


@each_row(("response", "digest", "expected"), [
    ({"result": "long"}, "short", {"result": "short"}),
    ({"error": "long"}, "short", {"error": "short"}),
    ({"a": 1, "b": 2}, "short", {"output": "short"}),
    ({"a": 1, "b": 2}, '{"a":1}', {"a": 1}),
    ({"output": "x"}, '{"a":1}', {"output": '{"a":1}'}),
    ({}, "short", {"output": "short"}),
])  # fmt: skip
def test_a_changed_response_keeps_the_key_it_had(
    response: dict[str, Any], digest: str, expected: dict[str, Any]
) -> None:
    """New words stand under the old key; an object of many keys gives way to an object."""
    wire = {"parts": [{"functionResponse": {"name": "a", "response": response, "scheduling": "S"}}]}
    result = decode([wire])[0].parts[0]
    assert isinstance(result, ToolResult)
    short = replace(result, parts=(Text(digest),), intact=False)
    made = encode(decode([wire])[0].with_parts((short,)))
    assert made["parts"][0]["functionResponse"] == {
        "name": "a", "response": expected, "scheduling": "S",
    }  # fmt: skip


def test_a_signature_goes_with_its_call_or_not_at_all() -> None:
    """A call without its signature is written without one; a changed call keeps it in place."""
    message = decode(CONVERSATION)[2]
    call = message.parts[1]
    assert isinstance(call, ToolCall)
    shrunk = replace(call, arguments='{"city":"…"}', intact=False)
    kept = encode(message.with_parts((shrunk,)))["parts"][0]
    assert kept["thoughtSignature"] == "c2lnQQ=="
    unsigned = replace(call, signature="", intact=False)
    assert "thoughtSignature" not in encode(message.with_parts((unsigned,)))["parts"][0]


# Flaws and refusals


def _model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


FLAWED: list[tuple[Any, str, str]] = [
    (None, "message-object", ""),
    ({"role": "assistant", "parts": [{"text": "a"}]}, "role-known", "role"),
    ({"role": "system", "parts": [{"text": "a"}]}, "role-known", "role"),
    ({"role": "user"}, "content-present", "parts"),
    (_model(), "content-present", "parts"),
    (_model({"text": "a"}, {}), "content-present", "parts[1]"),
    ({"role": "user", "parts": "a"}, "content-shape", "parts"),
    (_model("a"), "content-shape", "parts[0]"),
    (_model({"text": 1}), "content-shape", "parts[0].text"),
    (_model({"functionCall": {"args": {}}}), "name-legal", "parts[0].functionCall.name"),
    (_model({"functionCall": {"name": "a", "args": "{}"}}),
     "arguments-object", "parts[0].functionCall.args"),
    (_model({"function_call": []}), "content-shape", "parts[0].function_call"),
    (_model({"functionCall": {"name": "a", "id": 1}}), "id-present", "parts[0].functionCall.id"),
    (_model({"functionResponse": {"name": "a"}}),
     "content-shape", "parts[0].functionResponse.response"),
    (_model({"functionResponse": {"response": {}}}),
     "name-legal", "parts[0].functionResponse.name"),
    (_model({"inlineData": "a"}), "content-shape", "parts[0].inlineData"),
]  # fmt: skip


@each_row(("wire", "rule", "at"), FLAWED)
def test_what_is_off_becomes_a_flaw_with_its_place(wire: Any, rule: str, at: str) -> None:
    """A payload of the wrong shape is noted under its rule, at its path."""
    assert (rule, at) in [(flaw.rule, flaw.at) for flaw in decode([wire])[0].flaws]


def test_the_assistant_of_other_providers_is_the_model() -> None:
    """A role that means the model is read as one and written as `model`."""
    message = decode([{"role": "assistant", "parts": [{"text": "a"}]}])[0]
    assert message.role == "assistant"
    assert encode(message.rewritten()) == {"role": "model", "parts": [{"text": "a"}]}


@each_row("message", [
    Message("system", (Text("a"),)),
    Message("unknown", (Text("a"),)),
    Message("assistant", (Thinking(signature="a", redacted=True),)),
    Message("assistant", (ToolCall("a", "b", kind="server"),)),
    Message("user", (ToolResult("a", kind="server"),)),
    Message("user", (Media("image"),)),
    Message("user", (Opaque("compaction"),)),
])  # fmt: skip
def test_what_has_no_form_is_refused(message: Message) -> None:
    """A message that contents cannot hold raises instead of being written as something else."""
    with pytest.raises(CannotEncode):
        encode(message)


# The system prompt and detection


@pytest.mark.parametrize("key", ["systemInstruction", "system_instruction"])
def test_the_system_prompt_is_read_and_written(key: str) -> None:
    """Both spellings are read; the prompt comes back as it was, also from its parts."""
    assert DIALECT.decode_system is not None
    assert DIALECT.encode_system is not None
    wire = {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}
    message = DIALECT.decode_system({key: wire})
    assert message is not None
    assert (message.role, message.flaws) == ("system", ())
    assert parts_of(message) == [Text("a"), Text("b")]
    assert message.parts[1].at == f"{key}.parts[1]"
    assert DIALECT.encode_system(message) is wire
    assert DIALECT.encode_system(message.rewritten()) == wire


def test_a_prompt_that_is_a_string_is_mended_into_parts() -> None:
    """A bare string is noted and written as an object with parts; none is None."""
    assert DIALECT.decode_system is not None
    assert DIALECT.encode_system is not None
    assert DIALECT.decode_system({"contents": []}) is None
    message = DIALECT.decode_system({"systemInstruction": "a"})
    assert message is not None
    assert [flaw.rule for flaw in message.flaws] == ["content-shape"]
    assert DIALECT.encode_system(message.rewritten()) == {"parts": [{"text": "a"}]}


def test_contents_are_recognized_by_their_parts() -> None:
    """Lists of parts are Gemini's; typed parts of other libraries and plain lists are not."""
    assert detect([{"role": "user", "parts": [{"text": "a"}]}]).name == "gemini"
    assert detect([{"parts": [{"text": "a"}]}], {"generationConfig": {}}).name == "gemini"
    typed = [{"role": "user", "parts": [{"type": "text", "text": "a"}]}]
    assert DIALECT.likeness(typed, {}) == 0
    assert DIALECT.likeness([{"role": "user", "content": "a"}], {}) == 0


@given(st.lists(json_values | damaged_messages(), max_size=3), json_objects)
def test_detection_never_raises(items: list[Any], body: dict[str, Any]) -> None:
    """Any data is looked at without an error."""
    assert DIALECT.likeness(items, body) in (0, 3, 4)
