"""Groups, the smallest units that a cut may separate; and where calls, results and media are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

from msgspec import Struct

from foldaway.transcript.message import Media, Message, Text, Thinking, ToolCall, ToolResult


class Group(Struct, frozen=True, gc=False):
    """Messages `start` up to `stop` (exclusive), which stay together.

    `pending` says that a call in it has no result yet and the log ends with it.
    """

    start: int
    stop: int
    pending: bool = False

    def __len__(self) -> int:
        return self.stop - self.start


class Groups(Sequence[Group]):
    """The groups of a log that grows, in order, each message in exactly one.

    A call stays with its result however far away it stands, parallel calls stay together, and a
    message that holds only reasoning stays with the one that it led to. A call that never got a
    result binds nothing, so that one orphan cannot make a whole log uncuttable. A result answers
    the nearest earlier call with its id that has no answer yet. Taking a message costs the same
    however long the log is.
    """

    __slots__ = ("_binds_next", "_open", "_waiting", "starts", "total")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.starts: list[int] = []
        """Where each group starts."""
        self.total = 0
        """How many messages there are."""
        self._open: dict[str, list[int]] = {}
        self._waiting: dict[int, int] = {}
        """How many calls wait for their results, by position, in order."""
        self._binds_next = False
        self._take_all(messages)

    def take(self, message: Message) -> None:
        """Add the next message of the log."""
        self._take_all((message,))

    def _take_all(self, messages: Iterable[Message]) -> None:
        starts, opened, waiting = self.starts, self._open, self._waiting
        binds_next, at = self._binds_next, self.total
        for message in messages:
            bound = at - 1 if binds_next else at
            thinks = False
            for part in message.parts:
                if type(part) is ToolCall:
                    opened.setdefault(part.id, []).append(at)
                    waiting[at] = waiting.get(at, 0) + 1
                elif type(part) is ToolResult:
                    bound = min(bound, self._find_answered(part.call_id, at))
                elif type(part) is Thinking:
                    thinks = True
            binds_next = thinks and _has_only_reasoning(message)
            if bound == at:
                starts.append(at)
            else:
                while starts[-1] > bound:
                    starts.pop()
            at += 1
        self._binds_next, self.total = binds_next, at

    def _find_answered(self, call_id: str, at: int) -> int:
        """Return where the call stands that a result answers; `at` if there is none."""
        waiting = self._open.get(call_id)
        if not waiting:
            return at
        called_at = waiting.pop()
        left = self._waiting[called_at] - 1
        if left:
            self._waiting[called_at] = left
        else:
            del self._waiting[called_at]
        return called_at

    def _is_pending(self) -> bool:
        return bool(self._waiting) and next(reversed(self._waiting)) >= self.starts[-1]

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, index: int) -> Group: ...
    @overload
    def __getitem__(self, index: slice) -> list[Group]: ...
    def __getitem__(self, index: int | slice) -> Group | list[Group]:
        starts = self.starts
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(starts)))]
        last = len(starts) - 1
        at = index + last + 1 if index < 0 else index
        if at == last:
            return Group(starts[at], self.total, self._is_pending())
        if not 0 <= at < last:
            raise IndexError(index)
        return Group(starts[at], starts[at + 1])


def groups(messages: Iterable[Message]) -> Groups:
    """Return the groups of a log."""
    return Groups(messages)


def _has_only_reasoning(message: Message) -> bool:
    return all(
        isinstance(part, Thinking) or (isinstance(part, Text) and not part.text.strip())
        for part in message.parts
    )


class Survey(Struct, frozen=True, gc=False):
    """An index over messages. Entries are `(message index, part)`, in order.

    `answer_of[k]` is the ordinal in `results` of the answer to `calls[k]`, or -1;
    `call_of[k]` is the ordinal in `calls` of the call that `results[k]` answers, or -1.
    A result answers the nearest earlier call with its id that has no answer yet.
    """

    messages: Sequence[Message]
    calls: list[tuple[int, ToolCall]]
    results: list[tuple[int, ToolResult]]
    thinking: list[tuple[int, Thinking]]
    media: list[tuple[int, Media]]
    flawed: list[int]
    generated: list[int]
    answer_of: list[int]
    call_of: list[int]


def survey(messages: Sequence[Message]) -> Survey:
    """Return the index of `messages`; linear in the number of parts."""
    calls: list[tuple[int, ToolCall]] = []
    results: list[tuple[int, ToolResult]] = []
    thinking: list[tuple[int, Thinking]] = []
    media: list[tuple[int, Media]] = []
    flawed: list[int] = []
    generated: list[int] = []
    answer_of: list[int] = []
    call_of: list[int] = []
    open_calls: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        if message.flaws:
            flawed.append(index)
        if message.origin != "real":
            generated.append(index)
        for part in message.parts:
            kind = type(part)
            if kind is ToolCall:
                assert isinstance(part, ToolCall)
                open_calls.setdefault(part.id, []).append(len(calls))
                calls.append((index, part))
                answer_of.append(-1)
            elif kind is ToolResult:
                assert isinstance(part, ToolResult)
                waiting = open_calls.get(part.call_id)
                if waiting:
                    ordinal = waiting.pop()
                    answer_of[ordinal] = len(results)
                    call_of.append(ordinal)
                else:
                    call_of.append(-1)
                results.append((index, part))
            elif kind is Thinking:
                assert isinstance(part, Thinking)
                thinking.append((index, part))
            elif kind is Media:
                assert isinstance(part, Media)
                media.append((index, part))
    return Survey(messages, calls, results, thinking, media, flawed, generated, answer_of, call_of)
