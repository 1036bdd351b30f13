"""What a set of records is like, and a few of them, before anything is done."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import ClassVar

from msgspec import Struct

from foldaway.dialects import load_parsed, parse
from foldaway.errors import FoldawayError
from foldaway.trajectories.counting import counter_for, record_tokens
from foldaway.trajectories.reading import RawRecord, RecordSource, join_lines, read_records
from foldaway.trajectories.record import is_compacted, refuse_unreadable

_MOST_TURNS = 100_000
"""A record with more turns is reported as not readable."""


class Spread(Struct, frozen=True):
    """The sum of a figure, and its values at `Stats.QUANTILES`."""

    total: int
    at: tuple[int, ...]


class Stats(Struct, frozen=True, kw_only=True):
    """Figures over all records; those that cannot be read are only counted."""

    QUANTILES: ClassVar = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
    records: int
    unreadable: int
    reasons: dict[str, int]
    """Why, most first, without the places."""
    dialects: dict[str, int]
    compacted: int
    """Records that contain generated text."""
    turns: Spread
    tokens: Spread
    over: dict[int, int]
    """How many are over each target."""
    counter: str
    estimated: bool


def measure_records(
    sources: Sequence[RecordSource], tokenizer: str, targets: Sequence[int]
) -> Stats:
    """Return the figures of all records, and how many are over each target.

    `tokenizer` is who counts, as `BatchSettings` has it. Of each record only its two counts are
    kept in memory.
    """
    counter = counter_for(tokenizer)
    turns, tokens = array("Q"), array("Q")
    dialects, reasons = Counter[str](), Counter[str]()
    compacted = 0
    for record in read_records(sources):
        try:
            if record.problem:
                reasons[record.problem] += 1
                continue
            transcript = load_parsed(parse(record.data))
            refuse_unreadable(transcript, _MOST_TURNS)
        except FoldawayError as error:
            reasons[getattr(error, "what", str(error))] += 1
            continue
        dialects[transcript.dialect] += 1
        compacted += is_compacted(transcript)
        turns.append(len(transcript.messages))
        tokens.append(record_tokens(transcript, counter))
    return Stats(
        records=len(turns),
        unreadable=reasons.total(),
        reasons=dict(reasons.most_common()),
        dialects=dict(dialects.most_common()),
        compacted=compacted,
        turns=_spread(turns),
        tokens=_spread(tokens),
        over={one: sum(size > one for size in tokens) for one in targets},
        counter=counter.name,
        estimated=counter.is_estimate,
    )


def _spread(values: array[int]) -> Spread:
    ordered = sorted(values)
    last = len(ordered) - 1
    return Spread(sum(ordered), tuple(ordered[round(q * last)] for q in Stats.QUANTILES if ordered))


def sample_lines(sources: Sequence[RecordSource], number: int, seed: int) -> bytes:
    """Return a few records as JSON lines, the same ones every time."""
    drawn = sample(read_records(sources), number, seed)
    return b"".join(join_lines(one.data) + b"\n" for one in drawn)


def sample(records: Iterable[RawRecord], number: int, seed: int) -> list[RawRecord]:
    """Return `number` records in the order of the input, each as likely as any other.

    What is drawn depends on the seed, and on the name and line of each record: more records
    elsewhere change little. Only the sample is kept in memory.
    """
    readable = ((at, record) for at, record in enumerate(records) if not record.problem)
    drawn = heapq.nsmallest(number, readable, key=lambda one: (_draw_lot(one[1], seed), one[0]))
    return [record for _, record in sorted(drawn, key=lambda one: one[0])]


def _draw_lot(record: RawRecord, seed: int) -> bytes:
    place = f"{seed} {record.line} {record.source}".encode("utf-8", "surrogatepass")
    return blake2b(place, digest_size=8).digest()
