"""Which files of agents are being written to, and the session that each was used for last."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from foldaway.agents.importers import SUBAGENT_FILE, ImportedSession, files_in, sessions_in
from foldaway.errors import NotReadable
from foldaway.usage.prompts import spent
from foldaway.usage.record import SpentSession


def newest_files(places: Iterable[Path]) -> list[Path]:
    """Return the files of agents in these places, the one that was written to last first; those of
    subagents only if there are no others.
    """
    paths = [path for place in places for path in files_in(place) if path.is_file()]
    mains = [path for path in paths if not path.name.startswith(SUBAGENT_FILE)]
    return sorted(mains or paths, key=written_at, reverse=True)


def written_at(path: Path) -> float:
    """Return when a file was written, or the log of a database beside it; 0 if it is not there."""
    times = [0.0]
    for one in (path, Path(f"{path}-wal")):
        with suppress(OSError):
            times.append(one.stat().st_mtime)
    return max(times)


def last_session(path: Path) -> SpentSession | None:
    """Return the session of a file that was used last; a subagent only if there is no other.

    Raises `NotReadable` for a file that is half written.
    """
    found: list[ImportedSession] = []
    for one in sessions_in(path):
        if isinstance(one, NotReadable):
            raise one
        found.append(one)
    mains = [one for one in found if one.lineage is None or one.lineage.relation != "sidechain"]
    last = max(mains or found, key=lambda one: one.ended or 0.0, default=None)
    return None if last is None else spent(last)
