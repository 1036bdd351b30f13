"""Groups: the smallest units that a cut may separate."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.transcript.message import Message, Text, Thinking
from holdfast.transcript.survey import Survey, survey


class Group(Struct, frozen=True, gc=False):
    """Messages `start` up to `stop` (exclusive), which stay together.

    `pending` says that a call in it has no result yet and the log ends with it.
    """

    start: int
    stop: int
    pending: bool = False

    def __len__(self) -> int:
        return self.stop - self.start


def groups(messages: Sequence[Message], index: Survey | None = None) -> tuple[Group, ...]:
    """Return the groups of a log, in order, each message in exactly one.

    A call stays with its result however far away it stands, parallel calls stay together, and a
    message that holds only reasoning stays with the one that it led to. A call that never got a
    result binds nothing, so that one orphan cannot make a whole log uncuttable.
    """
    index = index or survey(messages)
    reach = _reach(messages, index)
    unanswered = {at for at, ordinal in _answers(index) if ordinal < 0}
    found: list[Group] = []
    total = len(messages)
    start = 0
    while start < total:
        stop = start + 1
        at = start
        while at < stop:
            furthest = reach.get(at)
            if furthest is not None and furthest >= stop:
                stop = furthest + 1
            at += 1
        pending = stop == total and any(at in unanswered for at in range(start, stop))
        found.append(Group(start, stop, pending) if pending else Group(start, stop))
        start = stop
    return tuple(found)


def _reach(messages: Sequence[Message], index: Survey) -> dict[int, int]:
    """Return, for the messages that bind later ones, the furthest message that they bind."""
    reach: dict[int, int] = {}
    for at, ordinal in _answers(index):
        if ordinal >= 0:
            result_at = index.results[ordinal][0]
            if result_at > reach.get(at, at):
                reach[at] = result_at
    last = len(messages) - 1
    for at, _ in index.thinking:
        if at < last and _only_reasons(messages[at]):
            reach[at] = max(reach.get(at, at), at + 1)
    return reach


def _answers(index: Survey) -> list[tuple[int, int]]:
    return [(at, ordinal) for (at, _), ordinal in zip(index.calls, index.answer_of, strict=True)]


def _only_reasons(message: Message) -> bool:
    return all(
        isinstance(part, Thinking) or (isinstance(part, Text) and not part.text.strip())
        for part in message.parts
    )
