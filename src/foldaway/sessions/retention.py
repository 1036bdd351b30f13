"""How long sessions are kept: which ones a policy lets go, and why."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import SettingsStruct
from foldaway.sessions.project import Project
from foldaway.stores import Store

ExpiryReason: TypeAlias = Literal["age", "project", "size"]
"""Older than all may be, older than its project may be, or more than there may be."""

_DAY_SECONDS = 86_400
_MB = 1_000_000
_WHY: Mapping[ExpiryReason, str] = {
    "age": "older than sessions are kept",
    "project": "older than its project is kept",
    "size": "among the oldest of too much",
}


class Retention(SettingsStruct, frozen=True):
    """What is kept; None keeps all. A lineage goes whole or not at all."""

    days: float | None = None
    """Without a new message for longer than this, a lineage goes."""
    megabytes: float | None = None
    """The oldest go until the rest takes about so much."""
    projects: Mapping[str, float] = {}
    """Days for the sessions of a folder and the folders inside it, in the place of `days`; the
    nearest folder counts, and of the folders of one lineage the one with the fewest days."""
    project: str = ""
    """Only the lineages of this folder and the folders inside it; "" is all."""

    @classmethod
    def of_limits(cls, days: float, megabytes: float, projects: Mapping[str, float]) -> Retention:
        """Return the policy of settings, in which 0 keeps all."""
        limits = {folder: limit or math.inf for folder, limit in projects.items()}
        return cls(days or None, megabytes or None, limits)


class Expiring(Struct, frozen=True, kw_only=True):
    """A lineage that a policy lets go."""

    sessions: tuple[str, ...]
    bytes: int
    """About what it takes on disk."""
    age_days: float
    """Since the last message."""
    why: ExpiryReason

    @property
    def sentence(self) -> str:
        """The same in words, without its sessions."""
        return f"{self.bytes / _MB:,.1f} MB, {self.age_days:,.0f} days old, {_WHY[self.why]}"


def find_expired(store: Store, policy: Retention, now: float | None = None) -> list[Expiring]:
    """Return what a policy lets go, the oldest first; `now` is in seconds since 1970."""
    moment = time.time() if now is None else now
    lineages = store.lineages()
    if policy.project:
        only = Project.at(Path(policy.project).expanduser())
        lineages = [one for one in lineages if only.pick(one.folders)]
    limits = {
        Project.at(Path(folder).expanduser()): days for folder, days in policy.projects.items()
    }
    going: list[Expiring] = []
    left: list[Expiring] = []
    for one in lineages:
        age = (moment - one.updated) / _DAY_SECONDS
        days, why = _limit(one.folders, limits, policy.days)
        found = Expiring(sessions=one.ids, bytes=one.bytes, age_days=age, why=why)
        (left if days is None or age <= days else going).append(found)
    if policy.megabytes is not None:
        size = sum(one.bytes for one in left)
        while left and size > policy.megabytes * _MB:
            oldest = left.pop(0)
            size -= oldest.bytes
            going.append(replace(oldest, why="size"))
    return sorted(going, key=lambda one: -one.age_days)


def _limit(
    folders: Iterable[str], limits: Mapping[Project, float], days: float | None
) -> tuple[float | None, ExpiryReason]:
    """Return how long a lineage of some folders is kept, and by what."""
    found: list[tuple[float, ExpiryReason]] = []
    for folder in folders:
        inside = [one for one in limits if one.pick([folder])]
        if inside:
            found.append((limits[max(inside, key=lambda one: len(one.root))], "project"))
        elif days is not None:
            found.append((days, "age"))
    return min(found, default=(None, "age"))
