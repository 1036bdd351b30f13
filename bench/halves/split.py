"""The tuning and the test half: made once, before any score was seen, and kept in a file.

    python bench/halves/split.py     make bench/quality_split.json again

Sessions that know of each other stay together. Where sessions have a start date (the coding
agents), a project is cut at one date, the older part for tuning: the date that parts its sessions
most evenly. Elsewhere the unit is the task: groups of related sessions, largest first, go to the
half that has fewer sessions, tuning first.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from halves.sessions import FAMILIES, Recorded, find_data, project_of, read_family, swe_task

SPLIT_FILE = Path(__file__).resolve().parents[1] / "quality_split.json"

DATED = ("claude-code", "codex", "opencode")
_AIRLINE = ("tau-bench", "tau2")
_AIRLINE_USER = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")
_ID_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7")


def read_split() -> dict[str, str]:
    """Return the half of each session id."""
    halves = json.loads(SPLIT_FILE.read_text(encoding="utf-8"))["sessions"]
    return {name: half for half, names in halves.items() for name in names}


def make_split(sessions: Sequence[Recorded]) -> dict[str, str]:
    """Return the half of each session id, by the rule of this file."""
    halves: dict[str, str] = {}
    by_project: dict[str, list[Recorded]] = defaultdict(list)
    by_task: dict[str, list[Recorded]] = defaultdict(list)
    for session in sessions:
        if session.family in DATED:
            by_project[project_of(session)].append(session)
        else:
            family = "airline" if session.family in _AIRLINE else session.family
            by_task[family].append(session)
    for rows in by_project.values():
        halves |= _by_date(_groups(rows, _coding_links))
    for rows in by_task.values():
        halves |= _by_size(_groups(rows, _task_links))
    return halves


def apart_from_test(sessions: Sequence[Recorded], halves: dict[str, str]) -> list[Recorded]:
    """Return the sessions that nothing ties to one of the test half, shorter ones too.

    Of dated ones those that began before the first test session of their project.
    """
    first: dict[str, str] = {}
    for session in sessions:
        if session.family in DATED and halves.get(session.id) == "test":
            project = project_of(session)
            first[project] = min(first.get(project, "9"), started(session))
    return [
        session
        for group in _groups(sessions, _links)
        if all(halves.get(member.id) != "test" for member in group)
        for session in group
        if _began_before(session, first)
    ]


def _began_before(session: Recorded, first: dict[str, str]) -> bool:
    """Return whether a session began before the date of its project; those without one did."""
    known = first.get(project_of(session))
    return known is None or started(session) < known


def started(session: Recorded) -> str:
    """Return when a session began, as far as it says: by its id, else by its first checkpoint."""
    name = session.id.rpartition("/")[2]
    if found := _ID_DATE.match(name):
        return found.group()
    if found := _UUID7.match(name):
        seconds = int(found.group(1) + found.group(2), 16) / 1000
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    return str(session.meta["created_at"])


def _links(session: Recorded) -> Iterable[str]:
    if session.family in DATED:
        yield from _coding_links(session)
    else:
        kind = "airline" if session.family in _AIRLINE else session.family
        yield from (f"{kind} {link}" for link in _task_links(session))


def _coding_links(session: Recorded) -> Iterable[str]:
    """Yield what ties a coding session to others: its checkpoint, its parent, its own id."""
    yield "checkpoint " + session.source.rpartition("v1:")[2].rsplit("/", 2)[0]
    yield "session " + session.id.rpartition("/")[2]
    parent = str(session.meta.get("parent", ""))
    if parent and "REDACTED" not in parent:
        yield "session " + parent


def _task_links(session: Recorded) -> Iterable[str]:
    """Yield what ties a session to others: the task and, in the airline, the customer."""
    if session.family in _AIRLINE:
        told = json.dumps(session.messages[1:])
        yield f"{session.source} task {session.meta['task_id']}"
        yield from (name for name in _AIRLINE_USER.findall(told) if "_card_" not in name)
    elif session.family == "swe-agent":
        yield swe_task(session.id)
    else:
        yield re.split(r"[_/]", session.id)[-1]


def _groups(
    sessions: Sequence[Recorded], links: Callable[[Recorded], Iterable[str]]
) -> list[list[Recorded]]:
    """Return the sessions in groups that share a link, directly or through others."""
    groups: list[tuple[set[str], list[Recorded]]] = []
    for session in sessions:
        names, members = set(links(session)), [session]
        apart: list[tuple[set[str], list[Recorded]]] = []
        for group in groups:
            if group[0] & names:
                names |= group[0]
                members = [*group[1], *members]
            else:
                apart.append(group)
        groups = [*apart, (names, members)]
    return [members for _, members in groups]


def _by_date(groups: list[list[Recorded]]) -> dict[str, str]:
    rows = sorted(groups, key=lambda group: min(map(started, group)))
    total, seen, best, cut = sum(map(len, rows)), 0, float("inf"), 0
    for index, group in enumerate(rows):
        seen += len(group)
        if abs(total - 2 * seen) < best:
            best, cut = abs(total - 2 * seen), index + 1
    return {
        session.id: "tuning" if index < cut else "test"
        for index, group in enumerate(rows)
        for session in group
    }


def _by_size(groups: list[list[Recorded]]) -> dict[str, str]:
    def order(group: list[Recorded]) -> tuple[int, str]:
        name = min(session.id for session in group)
        return -len(group), hashlib.sha256(name.encode()).hexdigest()

    halves: dict[str, str] = {}
    sizes = {"tuning": 0, "test": 0}
    for group in sorted(groups, key=order):
        half = min(sizes, key=lambda name: sizes[name])
        sizes[half] += len(group)
        halves |= {session.id: half for session in group}
    return halves


def main() -> int:
    data = find_data()
    if data is None:
        print("skipped: no data; set FOLDAWAY_DATA or put it at ../shared/data")
        return 0
    sessions = [session for family in FAMILIES for session in read_family(data, family)]
    halves = make_split(sessions)
    rule = " ".join((__doc__ or "").split("\n\n", 2)[2].split())
    rows: dict[str, list[str]] = {"tuning": [], "test": []}
    for session in sessions:
        rows[halves[session.id]].append(session.id)
    SPLIT_FILE.write_text(json.dumps({"rule": rule, "sessions": rows}, indent=1) + "\n")
    counts = Counter((session.family, halves[session.id]) for session in sessions)
    for (family, half), count in sorted(counts.items()):
        print(f"{family:12} {half:6} {count:4}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
