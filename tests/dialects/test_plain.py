"""Values from Python: what stands for an object or a list, what is refused, how deep it may be."""

from __future__ import annotations

from collections import OrderedDict, UserDict
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Any

import pytest
from tests.testing.rows import each_row

import foldaway
from foldaway import check, convert, load, repair
from foldaway.dialects.loading import DEEPEST, plain
from foldaway.errors import CannotRepair, FoldawayError, NotReadable, WrongDialect

USER = {"role": "user", "content": "Which tests fail?"}
CALL = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "none"}
ORPHAN = {"role": "tool", "tool_call_id": "q", "content": "orphan"}
DOORS: list[Callable[[Any], object]] = [
    check, repair, load, lambda value: convert(value, "anthropic"),
]  # fmt: skip


class Speaker(StrEnum):
    """A role as many clients write it."""

    USER = "user"


def test_tuples_and_mappings_are_lists_and_objects() -> None:
    """Nothing is dropped because of the type of its container; what is plain is the same object."""
    speech = OrderedDict(role="assistant", content=None, tool_calls=(UserDict(CALL),))
    mended = repair((USER, speech, RESULT, ORPHAN), provider="openai-chat")
    plainly = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert mended.messages == [USER, plainly, RESULT]
    assert mended.messages[0] is USER
    assert check({"model": "m", "messages": (USER,)}) == []
    assert check([{"role": Speaker.USER, "content": ("a", "b")}])[0].rule == "content-shape"


def test_what_is_plain_already_is_the_same_object() -> None:
    """A list as a parser gives it is not copied."""
    value = [USER, {"a": [1, 2.5, None, True, {"b": []}]}]
    assert plain(value) is value
    mixed = [USER, (1,)]
    assert plain(mixed)[0] is USER


@each_row("odd", [object(), b"bytes", {1: 2}, float("nan"), float("-inf"), {1, 2}])
@each_row("door", DOORS)
def test_what_json_cannot_say_is_refused_before_anything_is_done(
    door: Callable[[Any], object], odd: Any
) -> None:
    """Other objects, keys that are no text and NaN are `NotReadable`, never dropped or guessed."""
    with pytest.raises(NotReadable):
        door([{"role": "user", "content": "a", "extra": [odd]}])


def loop() -> dict[str, Any]:
    message: dict[str, Any] = {"role": "user", "content": "a"}
    message["again"] = [message, message]
    return message


def nest(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@each_row("door", DOORS)
@each_row("depth", [400, DEEPEST - 10, DEEPEST, 5_000])
@each_row("said", ["a", "\ud800"])
def test_a_deep_value_is_handled_or_refused(
    door: Callable[[Any], object], depth: int, said: str
) -> None:
    """However deep, nothing but a `FoldawayError` comes out."""
    blocks = [{"type": "text", "text": said}, {"type": "tool_use", "id": "a", "input": nest(depth)}]
    for message in ({"role": "user", "content": nest(depth)}, {"role": "user", "content": blocks}):
        expected = CannotRepair if depth <= 400 else FoldawayError
        with suppress(expected):
            door([message, {"role": "user", "content": said, "extra": nest(depth)}])


@each_row("door", DOORS)
def test_a_message_that_contains_itself_is_refused(door: Callable[[Any], object]) -> None:
    """A loop is a value that is nested too deeply."""
    with pytest.raises(NotReadable, match="nested too deeply"):
        door([loop()])


@pytest.mark.parametrize("door", [check, repair])
def test_a_provider_and_a_dialect_that_contradict_each_other_are_refused(
    door: Callable[..., object],
) -> None:
    """Rules of one provider say nothing about the wire format of another."""
    with pytest.raises(WrongDialect, match="speaks 'anthropic', not 'gemini'"):
        door([USER], provider="anthropic", dialect="gemini")
    assert door([USER], provider="strict", dialect="openai-chat") is not None


def test_the_names_that_come_later_are_there_when_asked_for() -> None:
    """Every public name can be had from the package itself."""
    assert foldaway.convert is convert
    assert {"compress", "Session", "Policy"} <= set(dir(foldaway))
    with pytest.raises(AttributeError):
        _ = foldaway.nothing_of_the_kind  # pyright: ignore[reportAttributeAccessIssue]
