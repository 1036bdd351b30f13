"""Messages apart from the types of a framework, on the way to a wire format and back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from foldaway import check
from foldaway.integrations.host_messages import HostCall, HostMessage, MessageForm, PartTypes


@dataclass
class Words:
    said: str


@dataclass
class Asks:
    tool_call_id: str
    tool_name: str
    given: Any


@dataclass
class Thinks:
    thought: str
    signature: str


@dataclass
class Picture:
    name: str


@dataclass
class Note:
    """A message of a framework that has typed parts."""

    role: str
    parts: list[Any] = field(default_factory=list)
    call_id: str = ""


PARTS = PartTypes(
    Words, "said", Asks, "given", Thinks,
    lambda one: {"type": "thinking", "thinking": one.thought, "signature": one.signature}, replace,
)  # fmt: skip


def read(own: Note) -> HostMessage:
    return PARTS.read(own.role, own.parts, own.call_id)


def write(said: HostMessage, own: Note | None) -> Note:
    own = own or Note(said.role)
    return replace(own, parts=PARTS.written(said, own.parts))


ASK = Note("user", [Words("go"), Picture("a.png")])
ANSWER = Note(
    "assistant",
    [Thinks("so", "s"), Words("on it"), Asks("c1", "read", '{"path": "a.py"}'), Words("now")],
)
RESULT = Note("tool", [Words("its text")], "c1")


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_messages_are_valid_and_come_back(dialect: str) -> None:
    """Parts keep their places and types; the texts of a message are one."""
    form = MessageForm(dialect, read, write)
    payloads = [form.messages_of(one)[0] for one in (ASK, ANSWER, RESULT)]
    assert check(payloads, dialect=dialect) == []
    assert form.built(payloads[:1], ASK, []) == [ASK]
    thinks, words, asks, _ = ANSWER.parts
    whole = [thinks, Words("on it\n\nnow"), replace(asks, given={"path": "a.py"})]
    assert form.built(payloads[1:2], ANSWER, []) == [Note("assistant", whole)]
    assert form.built(payloads[2:], RESULT, []) == [RESULT]
    assert words.said == "on it"


def test_thinking_that_is_no_longer_sent_goes() -> None:
    """Only if the wire format has it; in another one it is the framework's own affair."""
    said = {"role": "assistant", "content": [{"type": "text", "text": "on it"}]}
    own = Note("assistant", ANSWER.parts[:2])
    (found,) = MessageForm("anthropic", read, write).built([said], own, [])
    assert found.parts == [Words("on it")]
    said = {"role": "assistant", "content": "on it"}
    (found,) = MessageForm("openai-chat", read, write).built([said], own, [])
    assert found == own


def test_thinking_without_a_signature_is_not_sent() -> None:
    """No provider takes it back."""
    assert read(Note("assistant", [Thinks("so", "")])).thoughts == []


def test_a_text_that_was_added_to_a_result_is_a_message_of_its_own() -> None:
    """A summary may be put there, and must not get lost."""
    form = MessageForm("anthropic", read, write)
    (payload,) = form.messages_of(RESULT)
    payload["content"].append({"type": "text", "text": "a summary"})
    assert form.built([payload], RESULT, []) == [RESULT, Note("user", [Words("a summary")])]


def test_a_new_message_has_one_text() -> None:
    """A summary stands for messages that are not there any more."""
    form = MessageForm("openai-chat", read, write)
    said = {"role": "user", "content": "a summary"}
    assert form.built([said], None, []) == [Note("user", [Words("a summary")])]


def test_a_call_whose_arguments_are_no_object_is_followed() -> None:
    """A model may write anything."""
    said = read(Note("assistant", [Asks("c1", "read", "{broken")]))
    assert said.calls == [HostCall("c1", "read", {"text": "{broken"})]
