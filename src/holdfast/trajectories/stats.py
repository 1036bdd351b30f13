"""What a set of records is like, before anything is done with it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.dialects.jsontext import parse
from holdfast.dialects.load import load_parsed
from holdfast.errors import HoldfastError
from holdfast.ports import TokenCounter
from holdfast.trajectories.artifacts import is_compacted
from holdfast.trajectories.measure import outside_tokens, turn_tokens
from holdfast.trajectories.readable import refuse_unreadable
from holdfast.trajectories.reading import Entry

QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)


class Spread(Struct, frozen=True):
    """The sum of a figure, and its values at `QUANTILES`."""

    total: int
    at: tuple[int, ...]


class Stats(Struct, frozen=True, kw_only=True):
    """Figures over all records; those that cannot be read are only counted."""

    records: int
    unreadable: int
    reasons: dict[str, int]
    """Why, most first, without the places."""
    dialects: dict[str, int]
    compacted: int
    """Records that hold generated text."""
    turns: Spread
    tokens: Spread
    over: dict[int, int]
    """How many are over each target."""
    counter: str
    estimated: bool


def stats_of(
    entries: Iterable[Entry], counter: TokenCounter, targets: Sequence[int], max_turns: int
) -> Stats:
    """Return the figures; of each record only its two counts are kept in memory."""
    turns, tokens = array("Q"), array("Q")
    dialects, reasons = Counter[str](), Counter[str]()
    compacted = 0
    for entry in entries:
        try:
            if entry.problem:
                reasons[entry.problem] += 1
                continue
            transcript = load_parsed(parse(entry.data))
            refuse_unreadable(transcript, max_turns)
        except HoldfastError as error:
            reasons[getattr(error, "what", str(error))] += 1
            continue
        dialects[transcript.dialect] += 1
        compacted += is_compacted(transcript)
        turns.append(len(transcript.messages))
        tokens.append(outside_tokens(transcript, counter) + sum(
            turn_tokens(message, transcript.dialect, counter) for message in transcript.messages
        ))  # fmt: skip
    return Stats(
        records=len(turns), unreadable=reasons.total(), reasons=dict(reasons.most_common()),
        dialects=dict(dialects.most_common()), compacted=compacted, turns=_spread(turns),
        tokens=_spread(tokens), over={one: sum(size > one for size in tokens) for one in targets},
        counter=counter.name, estimated=counter.is_estimate,
    )  # fmt: skip


def _spread(values: array[int]) -> Spread:
    ordered = sorted(values)
    last = len(ordered) - 1
    return Spread(sum(ordered), tuple(ordered[round(q * last)] for q in QUANTILES if ordered))
