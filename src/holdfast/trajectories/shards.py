"""The input in pieces by position: the same input is always cut in the same places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from msgspec import Struct

from holdfast.trajectories.reading import Entry


class Shard(Struct, frozen=True):
    """Neighbouring records; `digest` is of all that they say and of where they stood."""

    number: int
    entries: tuple[Entry, ...]
    digest: str

    @property
    def name(self) -> str:
        """How its files are called."""
        return f"part-{self.number:05d}"


def cut(entries: Iterable[Entry], *, most_records: int, most_bytes: int) -> Iterator[Shard]:
    """Yield the shards; each has at most so many records, and ends when it has so many bytes."""
    held: list[Entry] = []
    size = number = 0
    for entry in entries:
        held.append(entry)
        size += len(entry.data)
        if len(held) >= most_records or size >= most_bytes:
            yield _shard(number, held)
            held, size, number = [], 0, number + 1
    if held:
        yield _shard(number, held)


def _shard(number: int, entries: list[Entry]) -> Shard:
    digest = blake2b(digest_size=16)
    for entry in entries:
        place = f"{len(entry.data)} {entry.line} {entry.source} {entry.problem}\0"
        digest.update(place.encode("utf-8", "surrogatepass"))
        digest.update(entry.data)
    return Shard(number, tuple(entries), digest.hexdigest())
