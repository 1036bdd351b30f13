"""A few records out of many, chosen by chance that is always the same."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from hashlib import blake2b

from holdfast.trajectories.reading import Entry


def sample(entries: Iterable[Entry], number: int, seed: int) -> list[Entry]:
    """Return so many records in the order of the input, each as likely as any other.

    What is drawn depends on the seed, and on the name and line of each record: more records
    elsewhere change little. Only the sample is kept in memory.
    """
    drawn: list[tuple[int, int, Entry]] = []
    for at, entry in enumerate(entries):
        if entry.problem:
            continue
        place = f"{seed} {entry.line} {entry.source}".encode("utf-8", "surrogatepass")
        lot = -int.from_bytes(blake2b(place, digest_size=8).digest())
        if len(drawn) < number:
            heapq.heappush(drawn, (lot, -at, entry))
        elif drawn and lot > drawn[0][0]:
            heapq.heapreplace(drawn, (lot, -at, entry))
    return [entry for _, _, entry in sorted(drawn, key=lambda row: -row[1])]
