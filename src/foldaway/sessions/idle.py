"""Sessions that nobody uses now: compacted while no cache is lost, ended with what they taught, let
go by a policy.

The first two are for a job that runs now and then; several processes may run it at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import wait
from pathlib import Path
from typing import Literal, TypeAlias, Unpack

from msgspec import Struct
from msgspec.structs import asdict, replace

from foldaway._core import Policy, Report, SettingsStruct, budget_for
from foldaway.caching import TTL_SECONDS, window_of
from foldaway.compaction import Options
from foldaway.engine import Decision, model_of
from foldaway.memory import MemoryManager
from foldaway.sessions.hiding import redactor_of
from foldaway.sessions.leasing import holder_name, leased
from foldaway.sessions.library import Project
from foldaway.sessions.place import GivenSettings, SessionSettings
from foldaway.sessions.rows import frame_of
from foldaway.sessions.session import Session, internals
from foldaway.stores import Held, SessionFilter, SessionInfo, Store

ExpiryReason: TypeAlias = Literal["age", "project", "size"]
"""Older than all may be, older than its project may be, or more than there may be."""

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


EXPIRED = "expired"
EXPIRING = "expiring"
"""Why a session ended whose memory is being told: it stays so if the process dies at that moment,
and memory is not told again."""
_DAY_SECONDS = 86_400
_WITHIN_DAYS = 7.0
"""Sessions that were not used for longer are not likely to be used again: to make them smaller is
not worth a summary; chosen."""


class Tended(Struct, frozen=True, kw_only=True):
    """A session that nobody used, and what was done with it."""

    session: SessionInfo
    outcome: Literal["would compact", "compacted", "unchanged", "would end", "ended", "failed"]
    detail: str = ""
    report: Report | None = None


def compact_idle(
    store: Store,
    *,
    idle_seconds: float | None = None,
    within_days: float = _WITHIN_DAYS,
    dry_run: bool = False,
    clock: Callable[[], float] = time.time,
    **settings: Unpack[GivenSettings],
) -> tuple[Tended, ...]:
    """Compact sessions that will soon be due and that no provider has in its cache any more.

    Model, window and policy are those that each session was last used with, unless `settings` have
    them; these are the keywords of `Session`.
    `idle_seconds` is by default how long the provider of the model keeps a cached prompt; sessions
    that were not used within `within_days` are left as they are, and so are those that a branch or
    a rotation replaced, and those that were only imported. With known prices, a compaction that
    does not pay is left out. With `dry_run` nothing changes.
    """
    given = SessionSettings(**settings)  # refuses what is no setting, also if nothing is due
    now = clock()
    wanted = SessionFilter(since=now - within_days * _DAY_SECONDS)
    found: list[Tended] = []
    for info in _find_unused(store, wanted, now):
        chosen = given.completed_by(info, clock)
        ttl = TTL_SECONDS[model_of(chosen.model).cache_ttl]
        latest = now - (ttl if idle_seconds is None else idle_seconds)
        if info.updated > latest or not _is_worth_reading(info, chosen):
            continue
        session = Session.open(store, info.id, **asdict(chosen))
        engine = internals(session).engine
        if not engine.decide().is_for_a_pause:
            continue
        verdict = engine.weigh_by_hand(Options())
        if verdict is not None and verdict.answer == "wait":
            found.append(Tended(session=info, outcome="unchanged", detail=verdict.sentence))
        elif dry_run:
            found.append(Tended(session=info, outcome="would compact"))
        else:
            report = session.compact(force=_if_still_unused(store, info.id, latest))
            found.append(
                Tended(
                    session=session.info,
                    report=report,
                    detail=report.detail,
                    outcome="compacted" if report.status == "compacted" else "unchanged",
                )
            )
    return tuple(found)


def expire(
    store: Store,
    *,
    idle_days: float,
    memory: MemoryManager | None = None,
    reason: str = EXPIRED,
    dry_run: bool = False,
    clock: Callable[[], float] = time.time,
) -> tuple[Tended, ...]:
    """End sessions that were not used for so long; memory hears of each one last time.

    What a branch or a rotation replaced, and what was only imported, is left as it is. A session
    whose memory cannot take it stays open and is tried again the next time. One that is
    used again after it ended expires again. With `dry_run` nothing changes.
    """
    latest = clock() - idle_days * _DAY_SECONDS
    if memory is not None:
        memory.hide_with(redactor_of(store))
    found: list[Tended] = []
    for info in _find_unused(store, SessionFilter(until=latest), latest):
        if dry_run:
            found.append(Tended(session=info, outcome="would end"))
            continue
        with leased(store, info.id, holder_name()) as lease:
            if isinstance(lease, Held) or not _is_unused(store.session(info.id), latest):
                continue
            found.append(_end(store, info, memory, reason))
    return tuple(found)


def _end(store: Store, info: SessionInfo, memory: MemoryManager | None, reason: str) -> Tended:
    store.end(info.id, EXPIRING)
    late = ""
    if memory is not None:
        messages = internals(Session.open(store, info.id)).engine.messages
        told = memory.session_ended(info.id, messages)
        done = wait(told, timeout=memory.limits.close_seconds)
        errors = [type(one.exception()).__name__ for one in done.done if one.exception()]
        if errors:
            store.reopen(info.id)
            why = f"a memory provider failed: {errors[0]}"
            return Tended(session=store.session(info.id), outcome="failed", detail=why)
        late = "memory has not finished yet" if done.not_done else ""
    store.end(info.id, reason)
    return Tended(session=store.session(info.id), outcome="ended", detail=late)


def _find_unused(store: Store, wanted: SessionFilter, latest: float) -> Iterator[SessionInfo]:
    """Yield sessions of people that are open and were last used before a moment. The key of one
    that was replaced leads elsewhere, and one that was only imported is used by its agent.
    """
    for info in store.all_sessions(wanted):
        frame = frame_of(info)
        if _is_unused(info, latest) and "arrival" in frame and not frame.get("replaced_by"):
            yield info


def _is_unused(info: SessionInfo, latest: float) -> bool:
    is_open = info.ended is None or (info.updated > info.ended and info.end_reason != "compression")
    return is_open and info.updated <= latest and info.length > 0


def _is_worth_reading(info: SessionInfo, given: SessionSettings) -> bool:
    """Return whether it is worth reading the log: an estimate is not wrong by half."""
    model = model_of(given.model)
    length = given.context_length or model.context_length
    window, _ = window_of(model.name or info.model, length)
    budget = budget_for(given.policy or Policy(), window)
    return 2 * info.tokens >= budget.pressure_tokens


def _if_still_unused(store: Store, session_id: str, latest: float) -> Callable[[Decision], bool]:
    return lambda decision: (
        decision.is_for_a_pause and _is_unused(store.newest_leaf(session_id), latest)
    )
