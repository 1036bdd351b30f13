"""Edits that mends share. Messages that are not touched come back as the same objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from holdfast.dialects.rule import Case
from holdfast.transcript import Message, Part, Text, ToolCall, ToolResult

STUB = "[no result was recorded for this call]"
START = "[the start of this conversation is missing]"
BRIDGE = "[no reply was recorded here]"


class Edits:
    """Parts to be replaced or dropped, gathered first and then applied in one pass."""

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        """Start with none."""
        self._changes: dict[int, dict[int, Part | None]] = {}

    def put(self, at: int, old: Part, new: Part) -> None:
        """Put `new` in the place of `old` in message `at`."""
        self._changes.setdefault(at, {})[id(old)] = new

    def drop(self, at: int, old: Part) -> None:
        """Take `old` out of message `at`."""
        self._changes.setdefault(at, {})[id(old)] = None

    def now(self, at: int, old: Part) -> Part | None:
        """Return what stands for `old` so far."""
        return self._changes.get(at, {}).get(id(old), old)

    def applied(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages with the edits; one of which nothing is left is gone."""
        done: list[Message] = []
        for index, message in enumerate(messages):
            changes = self._changes.get(index)
            if changes is None:
                done.append(message)
                continue
            parts = [changes.get(id(part), part) for part in message.parts]
            left = tuple(part for part in parts if part is not None)
            if left:
                done.append(changed(message, left))
        return tuple(done)


def changed(message: Message, parts: tuple[Part, ...]) -> Message:
    """Return the message with other parts; its flaws stay until their own rule mends them."""
    return replace(message, parts=parts, intact=False)


def inserted(
    messages: Sequence[Message], after: Mapping[int, Sequence[Message]]
) -> tuple[Message, ...]:
    """Return the messages with new ones after those at the keys of `after`; -1 is the start."""
    done: list[Message] = list(after.get(-1, ()))
    for index, message in enumerate(messages):
        done.append(message)
        done.extend(after.get(index, ()))
    return tuple(done)


def stub_for(call: ToolCall) -> ToolResult:
    """Return the explicit result of a call that has none; a hosted one can only have failed."""
    failed = call.kind == "hosted"
    return ToolResult(call.id, (Text(STUB),), failed, name=call.name, kind=call.kind)


def renamed(case: Case, ids: Mapping[int, str]) -> Edits:
    """Return the edits that give calls (by ordinal) other ids, and their results the same."""
    edits = Edits()
    for ordinal, new in ids.items():
        at, call = case.index.calls[ordinal]
        edits.put(at, call, replace(call, id=new, intact=False))
        answer = case.index.answer_of[ordinal]
        if answer >= 0:
            result_at, result = case.index.results[answer]
            edits.put(result_at, result, replace(result, call_id=new, intact=False))
    return edits
