"""Which record of a shard is begun, in a file: it outlives the process that did the record.

For engines whose processes are not ours. `-` begins an attempt, and every record that is begun
has a line; so the last line of an attempt that did not finish is where its process died.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from holdfast.errors import NotWritable
from holdfast.trajectories.files import DRAFT, GO_ON
from holdfast.trajectories.pool import DEATHS
from holdfast.trajectories.work import STATE, Tell

_NOT_BEGUN = -1


class Attempt(Struct, frozen=True):
    """One try at a shard."""

    poison: dict[int, str]
    """Records on which too many processes died, with the reason."""
    tell: Tell
    """To be told which record is begun."""


@contextmanager
def attempted(folder: Path, name: str) -> Generator[Attempt]:
    """Note a try at the shard of that name; what is noted goes when the block ends, well or not.

    Only a process that is killed leaves its note. Raises `NotWritable` where so many died before
    they began, and `OSError` where nothing can be noted.
    """
    path = folder / STATE / f".{name}.attempt{DRAFT}"
    deaths = _deaths(path)
    if deaths[_NOT_BEGUN] >= DEATHS:
        path.unlink(missing_ok=True)
        raise NotWritable(str(folder), "processes die before they begin", remedy=GO_ON)
    poison = {at: f"{DEATHS} processes died on it" for at, n in deaths.items() if n >= DEATHS}
    with path.open("ab", buffering=0) as file:

        def tell(at: int) -> None:
            file.write(b"%d\n" % at)

        try:
            file.write(b"-\n")
            yield Attempt(poison, tell)
        finally:
            path.unlink(missing_ok=True)


def _deaths(path: Path) -> Counter[int]:
    """Return how many attempts ended at each record."""
    try:
        _, *attempts = path.read_bytes().split(b"-")
    except FileNotFoundError:
        return Counter()
    return Counter(int(begun[-1]) if (begun := one.split()) else _NOT_BEGUN for one in attempts)
