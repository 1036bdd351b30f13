"""What of the log is asked about, in pieces that a summariser can read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from holdfast.compaction.compact import Plan
from holdfast.ports import TokenCounter
from holdfast.transcript import Folded

_OVERSHOOT = 1.2
_BETWEEN_TOKENS = 2
"""The empty line between two turns."""
_LEAST_CHARS = 200


class Chunk(Struct, frozen=True):
    """A stretch of the record that goes into one request."""

    record: str
    positions: tuple[int, ...]
    """The log positions of its turns, in order."""


class Packed(Struct, frozen=True):
    """All chunks, oldest first, and the positions that are left to the ledger, the oldest."""

    chunks: tuple[Chunk, ...] = ()
    left: tuple[int, ...] = ()


def new_positions(plan: Plan) -> list[int]:
    """Return the positions that a note has to tell of: real messages that are folded.

    Those that were folded before a model wrote of them are known to it.
    """
    partition, work = plan.choice.partition, plan.work
    assert partition is not None
    told: set[int] = set()
    if work.state.prose is not None:
        for item in work.view.items:
            if isinstance(item, Folded):
                told.update(range(item.start, min(item.stop, work.state.prose_to)))
    return [
        at
        for start, stop in partition.folds()
        for at in range(start, stop)
        if at not in told and not work.log[at].is_generated
    ]


def pack(
    positions: Sequence[int],
    turn_at: Callable[[int], str],
    counter: TokenCounter,
    *,
    room_tokens: int,
    most: int,
) -> Packed:
    """Return at most `most` chunks of at most `room_tokens`, the newest positions first served.

    Turns are made from the newest to the oldest, and only as many as fit. A turn that is longer
    than a whole chunk is cut. Positions without a turn are in no chunk and not left over.
    """
    chunks: list[Chunk] = []
    stop = len(positions)
    while stop > 0 and len(chunks) < most:
        rows = _filled(positions, stop, turn_at, counter, room_tokens)
        rows = _fitted(rows, counter, room_tokens)
        if not rows:
            stop = 0
            break
        stop = rows[-1].index
        rows.reverse()
        chunks.append(Chunk(_record(rows), tuple(positions[row.index] for row in rows)))
    chunks.reverse()
    return Packed(tuple(chunks), tuple(positions[:stop]))


class _Row(Struct, frozen=True, gc=False):
    index: int
    text: str
    tokens: int


def _filled(
    positions: Sequence[int],
    stop: int,
    turn_at: Callable[[int], str],
    counter: TokenCounter,
    room_tokens: int,
) -> list[_Row]:
    """Return turns from `stop` on towards the oldest until the room is full; at least one."""
    rows: list[_Row] = []
    spent = 0
    for index in range(stop - 1, -1, -1):
        text = turn_at(positions[index])
        if not text:
            continue
        tokens = counter.count(text) + _BETWEEN_TOKENS
        if rows and spent + tokens > room_tokens:
            break
        rows.append(_Row(index, text, tokens))
        spent += tokens
        if spent >= room_tokens:
            break
    return rows


def _fitted(rows: list[_Row], counter: TokenCounter, room_tokens: int) -> list[_Row]:
    """Return the newest of the rows that fit as one text: together they may count otherwise."""
    while len(rows) > 1 and (total := counter.count(_record(rows))) > room_tokens:
        excess = (total - room_tokens) * _OVERSHOOT
        while len(rows) > 1 and excess > 0:
            excess -= rows.pop().tokens
    if len(rows) == 1:
        row = rows[0]
        return [_Row(row.index, shortened(row.text, counter, room_tokens), row.tokens)]
    return rows


def shortened(text: str, counter: TokenCounter, most_tokens: int) -> str:
    """Return a text cut in its middle until it is within `most_tokens`."""
    tokens = counter.count(text)
    while tokens > most_tokens and len(text) > _LEAST_CHARS:
        keep = int(len(text) * min(most_tokens / tokens, 0.9)) - 40
        text = f"{text[: keep * 3 // 4]}\n[…]\n{text[len(text) - keep // 4 :]}"
        tokens = counter.count(text)
    return text


def _record(rows: Sequence[_Row]) -> str:
    return "\n\n".join([row.text for row in rows])
