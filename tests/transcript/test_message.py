"""Messages: what changes when a part changes, and what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row
from tests.testing.strategies import logs

from foldaway.testing import assistant, call, media, result, talk, user
from foldaway.transcript import Flaw, Message, Opaque, Text, Thinking, ToolResult, is_ask, texts


@each_row("field", ["role", "parts", "wire", "intact"])
def test_a_message_cannot_be_changed_in_place(field: str) -> None:
    """Values are frozen: whoever wants another message makes one."""
    with pytest.raises(AttributeError):
        setattr(user("hello"), field, None)


def test_other_parts_make_a_changed_message_with_the_same_payload() -> None:
    """`with_parts` marks the message as changed, keeps payload, place and id, forgets its bytes
    and flaws."""
    wire = {"role": "user", "content": "hello", "x": 1}
    flaw = Flaw("content-shape", "content", "is off", "mend it")
    old = Message("user", (Text("hello"),), 4, "id1", "real", wire, True, (flaw,))
    new = old.with_parts((Text("bye"),))
    assert new.wire is wire
    assert (new.position, new.id, new.role, new.origin) == (4, "id1", "user", "real")
    assert (new.parts, new.intact, new.flaws) == ((Text("bye"),), False, ())
    assert old.intact
    assert old.parts == (Text("hello"),)


def test_a_rewritten_message_keeps_its_parts() -> None:
    """`rewritten` only asks for a new encoding; the parts are the same object."""
    old = Message("user", (Text("hello"),), 0, wire={})
    new = old.rewritten()
    assert new.parts is old.parts
    assert new.intact is False


@given(logs())
def test_only_a_real_message_of_the_user_with_words_or_media_is_an_ask(
    log: tuple[Message, ...],
) -> None:
    """Results, thinking and unknown blocks in a user message are not something the user said."""
    for message in log:
        said = [part for part in message.parts if type(part).__name__ in ("Text", "Media")]
        assert is_ask(message) == (message.role == "user" and bool(said))


@given(st.sampled_from(["digest", "duplicate", "summary", "stub", "note", "placeholder"]))
def test_a_generated_message_is_never_an_ask(origin: str) -> None:
    """Whatever Foldaway wrote into the user's role is not taken for the user's."""
    made = Message("user", (Text("go on"),), origin=origin)  # pyright: ignore[reportArgumentType]
    assert made.is_generated
    assert not is_ask(made)


def test_texts_are_the_words_of_the_speaker_alone() -> None:
    """What a tool answered, what was called and what was thought are not the speaker's words."""
    inner = ToolResult("c", (Text("from the tool"),))
    parts = (Thinking("hm"), Text("one"), inner, Opaque("x"), Text("two"))
    assert texts(Message("user", parts)) == ["one", "two"]


@pytest.mark.parametrize(
    ("message", "label"),
    [(Message("user", (), 7, "msg_1"), "msg_1"), (Message("user", (), 7), "m7")],
)
def test_the_label_is_the_wire_id_or_the_place(message: Message, label: str) -> None:
    """People can point at every message, also where the wire has no ids."""
    assert message.label == label


def test_a_media_message_is_an_ask() -> None:
    """A picture without words is something the user sent."""
    log = talk(user(media()), assistant(call("look")), result("seen")).messages
    assert [is_ask(message) for message in log] == [True, False, False]
