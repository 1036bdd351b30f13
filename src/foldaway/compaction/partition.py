"""Head, middle and tail: what stays as it is, and what is folded."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from msgspec import Struct

from foldaway.facts import Speaker, asks_back, goes_on, own_words, speaker_of
from foldaway.transcript import Groups, Message, Opaque, Part, Text, ToolCall, texts

_MOST_REQUESTS, _REQUEST_CHARS, _LOOKED_AT = 60, 600, 4_000
"""How many requests say what the work is about, what is read of each, and in how many messages they
are looked for; chosen: a topic is in the first words, and older requests are about others."""


class Partition(Struct, frozen=True):
    """The log from `head_stop` to `tail_start` is folded, except for the islands in between.

    Law: head, folded ranges, islands and tail together are the whole log, each position once.
    """

    head_stop: int
    tail_start: int
    islands: tuple[tuple[int, int], ...]
    tail_tokens: int

    def folds(self) -> list[tuple[int, int]]:
        """Return the ranges that are folded, in order."""
        found: list[tuple[int, int]] = []
        at = self.head_stop
        for start, stop in self.islands:
            if start > at:
                found.append((at, start))
            at = stop
        if self.tail_start > at:
            found.append((at, self.tail_start))
        return found

    def between(self) -> list[int]:
        """Return the positions of the islands, in order."""
        return [index for start, stop in self.islands for index in range(start, stop)]

    def kept(self, length: int) -> list[tuple[int, int]]:
        """Return the ranges of a log that are not folded, in order."""
        return [(0, self.head_stop), *self.islands, (self.tail_start, length)]


class Selection(Struct, frozen=True):
    """The partition, the messages in it that are cut, and the room for the summary."""

    partition: Partition
    rewritten: dict[int, Message]
    """What is kept and not shown as the log has it: cut, or as it was on arrival."""
    costs: dict[int, int]
    """The tokens of the rewritten messages, by position."""
    references: dict[int, str]
    """References that were made already, by position."""
    summary_tokens: int
    tokens_before: int
    floor_tokens: int
    shown: dict[str, int]
    """The tokens before, by category."""
    is_new: bool = True
    """Whether the folds hold more than what an earlier compaction wrote."""


def system_stop(log: Sequence[Message]) -> int:
    """Return where the system messages at the start of the log end."""
    for index, message in enumerate(log):
        if message.role not in ("system", "developer"):
            return index
    return len(log)


def head_stop(log: Sequence[Message], cuts: Sequence[int], *, first: int) -> int:
    """Return where the head ends: the system messages and `first` more, at an allowed cut."""
    stop = min(system_stop(log) + first, len(log))
    at = bisect_left(cuts, stop)
    return cuts[at] if at < len(cuts) else len(log)


class Anchors:
    """The positions of a log that stay, as it grows: a person's latest request, the instructions
    that the work on it follows, and the provider's own compaction blocks. The latest visible reply
    stays if there is room.
    """

    __slots__ = (
        "_answered",
        "_given",
        "_native",
        "_previous",
        "_reported",
        "ask",
        "by_person",
        "reply",
    )

    def __init__(self, log: Sequence[Message] = ()) -> None:
        self.ask = -1
        """The latest message of a person; if there is none, of the role user; -1 without any."""
        self.by_person = False
        self.reply = -1
        self._native: list[int] = []
        self._previous: Message | None = None
        self._answered: Message | None = None
        self._given = -1
        self._reported = False
        for at, message in enumerate(log):
            self.take(message, at)

    @property
    def instructions(self) -> int:
        """The text of the skill or command that the work follows; -1 if it follows none, or its
        task is reported done.
        """
        return -1 if self._reported else self._given

    def take(self, message: Message, at: int) -> None:
        """Add the next message of the log."""
        match speaker_of(message, self._previous):
            case "person":
                if self._reported or not _goes_on(message, self._answered):
                    self._given = -1
                self.ask, self.by_person, self._answered = at, True, None
                self._reported = False
            case "instructions":
                self._given, self._reported = at, False
                self.ask = self.ask if self.by_person else at
            case "host":
                self.ask = self.ask if self.by_person else at
            case None if message.role == "assistant":
                if _is_reply(message):
                    self.reply, self._answered = at, message
                    self._reported = not asks_back(texts(message))
                if ToolCall in map(type, message.parts):
                    self._reported = False
            case None:
                pass
        if Opaque in map(type, message.parts) and any(map(is_native, message.parts)):
            self._native.append(at)
        self._previous = message

    def positions(self, pinned: frozenset[int], length: int) -> tuple[int, ...]:
        """Return the positions in order, with those that are pinned."""
        wanted = {index for index in pinned if 0 <= index < length}
        wanted.update(at for at in (self.ask, *self._native) if at >= 0)
        return tuple(sorted(wanted))


def islands(
    wanted: Sequence[int], parts: Groups, *, least: int, before: int
) -> tuple[tuple[int, int], ...]:
    """Return the groups of the wanted positions between `least` and `before`, as ranges."""
    inside = [index for index in wanted if least <= index < before]
    found = {bisect_right(parts.starts, index) - 1 for index in inside}
    return tuple((parts[k].start, parts[k].stop) for k in sorted(found))


def is_native(part: Part) -> bool:
    """Return whether a part is an item of a provider's own compaction."""
    return type(part) is Opaque and part.kind.startswith("compaction")


def newest_request(log: Sequence[Message]) -> int:
    """Return the latest message of a person; if there is none, of the role user; -1 without any."""
    newest = -1
    for at in range(len(log) - 1, -1, -1):
        speaker = speaker_at(log, at)
        if speaker == "person":
            return at
        if speaker is not None and newest < 0:
            newest = at
    return newest


def speaker_at(log: Sequence[Message], at: int) -> Speaker | None:
    """Return who speaks at a position of a log, as `speaker_of` says."""
    return speaker_of(log[at], log[at - 1] if at else None)


def _goes_on(message: Message, reply: Message | None) -> bool:
    """Return whether a person goes on with the work at hand after a reply of the agent."""
    words = max(map(own_words, texts(message)), key=len, default="")
    return goes_on(words, asked=reply is not None and asks_back(texts(reply)))


def _is_reply(message: Message) -> bool:
    return (
        message.role == "assistant"
        and message.origin == "real"
        and any(isinstance(part, Text) and part.text.strip() for part in message.parts)
    )


def newest_requests(log: Sequence[Message]) -> tuple[str, ...]:
    """Return the words of a person's newest requests, the newest last."""
    found: list[str] = []
    for at in range(len(log) - 1, max(len(log) - _LOOKED_AT, 0) - 1, -1):
        if log[at].role == "user" and speaker_at(log, at) == "person":
            found.append("\n".join(map(own_words, texts(log[at])))[:_REQUEST_CHARS])
            if len(found) == _MOST_REQUESTS:
                break
    return tuple(found[::-1])


def nth_last_ask(log: Sequence[Message], n: int) -> int:
    """Return the position of a person's n-th newest message, -1 if there are fewer."""
    seen = 0
    for index in range(len(log) - 1, -1, -1):
        if speaker_at(log, index) == "person":
            seen += 1
            if seen == n:
                return index
    return -1


def snapped_back(cuts: Sequence[int], position: int) -> int:
    """Return the nearest allowed cut at or before `position`."""
    at = bisect_right(cuts, position) - 1
    return cuts[at] if at >= 0 else 0


def allowed_cuts(parts: Groups) -> list[int]:
    """Return the positions where a cut parts no call from its result and no reasoning from what it
    led to, in order; 0 is always among them. A call that waits for its result stays after the cut.
    """
    if not parts:
        return [0]
    last = parts[-1]
    stop = last.start if last.pending else parts.total
    return [cut for cut in (*parts.starts, parts.total) if cut <= stop]
