"""What became of every message between two versions of a transcript."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Category
from foldaway.compaction import payload_bytes
from foldaway.engine.inspection import shares_of
from foldaway.engine.oneshot import Compressed
from foldaway.transcript import Estimator, Message, Text, ToolCall, ToolResult, Transcript

Fate: TypeAlias = Literal["kept", "rewritten", "folded", "added"]


class ViewDifference(Struct, frozen=True):
    """A fate for every message: before they are kept, rewritten or folded, after they are kept,
    rewritten or added.

    Law: as many are kept, and as many rewritten, on both sides.
    """

    before: tuple[Fate, ...]
    after: tuple[Fate, ...]

    def count(self, fate: Fate) -> int:
        """Return how many messages met a fate; those that were there before, or were added."""
        return (self.after if fate == "added" else self.before).count(fate)


class Comparison(Struct, frozen=True, kw_only=True):
    """Two transcripts: counts and tokens by category on both sides, a fate for each message."""

    before: str
    after: str
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    kept: int
    rewritten: int
    folded: int
    added: int
    categories: tuple[Category, ...]
    fates_before: tuple[Fate, ...]
    fates_after: tuple[Fate, ...]


def find_difference(done: Compressed, length: int) -> ViewDifference:
    """Return what a compression did with the `length` messages that it was given."""
    before: list[Fate] = ["folded"] * length
    after: list[Fate] = []
    for message in done.transcript.messages:
        at = source_position(message, done)
        fate: Fate = "added"
        if 0 <= at < length:
            fate = "kept" if message.intact else "rewritten"
            before[at] = fate
        after.append(fate)
    return ViewDifference(tuple(before), tuple(after))


def source_position(message: Message, done: Compressed) -> int:
    """Return where a message of the result stood in what was given, -1 for a generated one.

    A repair may have moved messages before they were compressed.
    """
    if not 0 <= message.position < len(done.originals):
        return -1
    return done.originals[message.position].position


def difference(before: Sequence[Message], after: Sequence[Message]) -> ViewDifference:
    """Return what became of every message of `before`, by comparing payloads in order.

    Kept messages have the same payload and the same order. A rewritten one is found by its id, its
    call ids, its last words, or by being the system prompt.
    """
    pairs = _same(_marks(before), _marks(after))
    fates_before: list[Fate] = ["folded"] * len(before)
    fates_after: list[Fate] = ["added"] * len(after)
    for old, new in pairs:
        fates_before[old] = fates_after[new] = "kept"
    gone: dict[tuple[str, ...], list[int]] = {}
    for index, message in enumerate(before):
        if fates_before[index] == "folded":
            for name in _names(message):
                gone.setdefault(name, []).append(index)
    for index, message in enumerate(after):
        if fates_after[index] == "added":
            old = _find_rewritten(message, gone, fates_before)
            if old >= 0:
                fates_before[old] = fates_after[index] = "rewritten"
    return ViewDifference(tuple(fates_before), tuple(fates_after))


def compare(
    names: tuple[str, str], sides: tuple[Transcript, Transcript], made: ViewDifference
) -> Comparison:
    """Return two transcripts beside each other, in numbers."""
    was, now = (
        {share.name: share.tokens for share in shares_of(side, Estimator())} for side in sides
    )
    return Comparison(
        before=names[0],
        after=names[1],
        messages_before=len(made.before),
        messages_after=len(made.after),
        tokens_before=sum(was.values()),
        tokens_after=sum(now.values()),
        kept=made.count("kept"),
        rewritten=made.count("rewritten"),
        folded=made.count("folded"),
        added=made.count("added"),
        categories=tuple(
            Category(name, was.get(name, 0), now.get(name, 0)) for name in {**was, **now}
        ),
        fates_before=made.before,
        fates_after=made.after,
    )


def _marks(messages: Sequence[Message]) -> list[bytes]:
    """Return a mark of what each message says; one that was changed still has its old payload."""
    told = (one if one.intact else replace(one, wire=None) for one in messages)
    return [hashlib.sha256(payload_bytes(message)).digest() for message in told]


def _same(before: list[bytes], after: list[bytes]) -> list[tuple[int, int]]:
    """Return pairs of equal messages in order: the common start, the common end, then the rest."""
    shorter = min(len(before), len(after))
    start = 0
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    pairs = [(at, at) for at in range(start)]
    places: dict[bytes, list[int]] = {}
    for at in range(start, len(before) - end):
        places.setdefault(before[at], []).append(at)
    least = start
    for at in range(start, len(after) - end):
        known = places.get(after[at], [])
        next_ = bisect_left(known, least)
        if next_ < len(known):
            pairs.append((known[next_], at))
            least = known[next_] + 1
    pairs.extend((len(before) - end + at, len(after) - end + at) for at in range(end))
    return pairs


def _names(message: Message) -> Iterator[tuple[str, ...]]:
    """Yield what a message is known by also after it was rewritten, the surest first."""
    if message.id:
        yield ("id", message.id)
    calls = [part.id for part in message.parts if isinstance(part, ToolCall)]
    results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
    if calls or results:
        yield ("calls", *calls, "results", *results)
    if message.role in ("system", "developer"):
        yield ("role", message.role)
    last = message.parts[-1] if message.parts else None
    if isinstance(last, Text) and last.text:
        yield ("words", message.role, last.text)


def _find_rewritten(
    message: Message, gone: dict[tuple[str, ...], list[int]], fates: Sequence[Fate]
) -> int:
    for name in _names(message):
        for index in gone.get(name, ()):
            if fates[index] == "folded":
                return index
    return -1
