"""Tasks from a seed, the families in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from foldaway.lab.play import desk, investigation, repository
from foldaway.lab.play.task import Task

FAMILIES: Mapping[str, Callable[[int, int], Task]] = {
    "desk": desk.make,
    "investigation": investigation.make,
    "repository": repository.make,
}
"""What makes a task of a family from a seed and a number."""


def draw_tasks(count: int, seed: int) -> list[Task]:
    """Return tasks of all families in turn; the same seed gives the same ones."""
    makers = list(FAMILIES.values())
    return [makers[at % len(makers)](seed, at // len(makers)) for at in range(count)]
