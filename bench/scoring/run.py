"""All sessions of a half through all strategies, in as many processes as asked for."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from scoring.elsewhere import common, file_names, known_in
from scoring.needed import Elsewhere, prepare
from scoring.score import COUNTS, RATES, Score, cases_of, score
from scoring.sessions import FAMILIES, Session, read_family
from scoring.split import read_split
from scoring.stats import mean
from scoring.strategies import FIRST, STRATEGIES

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Row:
    """The scores of one session under one strategy at one budget, its cuts averaged."""

    session: str
    family: str
    strategy: str
    budget: float
    used: float
    worst_used: float
    rates: dict[str, float | None]
    counts: dict[str, int]
    missed: dict[str, list[str]]
    cases: int


def chosen_sessions(data: Path, half: str, families: Sequence[str], limit: int) -> list[Session]:
    """Return the sessions of a half, at most `limit` of each family."""
    halves = read_split()
    found: list[Session] = []
    for family in FAMILIES:
        if families and family.name not in families:
            continue
        rows = [row for row in read_family(data, family) if halves.get(row.id) == half]
        found.extend(rows[:limit] if limit else rows)
    return found


def learn_common(data: Path, jobs: int) -> Elsewhere:
    """Return what more than one project knows, from all sessions of both halves."""
    names = file_names(data)
    return common(in_parallel(partial(known_in, data), names, jobs, "projects"))


def score_all(
    sessions: Sequence[Session], budgets: Sequence[float], elsewhere: Elsewhere, jobs: int
) -> list[Row]:
    """Return a row for each session, strategy and budget; largest sessions start first."""
    order = sorted(sessions, key=lambda session: -session.tokens)
    work = partial(session_rows, budgets=tuple(budgets), elsewhere=elsewhere)
    return [row for rows in in_parallel(work, order, jobs, "sessions") for row in rows]


def session_rows(session: Session, budgets: Sequence[float], elsewhere: Elsewhere) -> list[Row]:
    """Return the rows of one session.

    Where Holdfast goes over its budget, the others get as many tokens as it took.
    """
    scores: dict[tuple[str, float], list[Score]] = {}
    for case in cases_of(prepare(session), elsewhere):
        for budget in budgets:
            asked = room = int(case.tokens * budget)
            for name, strategy in STRATEGIES.items():
                shown = strategy(case.messages, room)
                room = max(room, shown.tokens) if name == FIRST else room
                scores.setdefault((name, budget), []).append(score(case, shown, asked))
    return [_row(session, name, budget, rows) for (name, budget), rows in scores.items()]


def _row(session: Session, strategy: str, budget: float, rows: list[Score]) -> Row:
    missed: dict[str, list[str]] = {}
    for made in rows:
        for kind, lines in made.missed.items():
            missed[kind] = list(dict.fromkeys([*missed.get(kind, []), *lines]))[:40]
    return Row(
        session=session.id,
        family=session.family,
        strategy=strategy,
        budget=budget,
        used=mean([made.used for made in rows]) or 0.0,
        worst_used=max(made.used for made in rows),
        rates={name: mean([made.rates[name] for made in rows]) for name in RATES},
        counts={name: sum(made.counts[name] for made in rows) for name in COUNTS},
        missed=missed,
        cases=len(rows),
    )


_work: Callable[[Any], Any] | None = None


def _call(item: Any) -> Any:
    assert _work is not None
    return _work(item)


def in_parallel(work: Callable[[T], R], items: Sequence[T], jobs: int, what: str) -> list[R]:
    """Return the work done on each item, in order; progress goes to standard error.

    Workers are forked after `work` is known, so that large values in it are not sent to them.
    """
    global _work
    _work = work
    begun, found = time.perf_counter(), list[R]()
    if jobs > 1 and len(items) > 1:
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            results: Iterable[R] = pool.imap(_call, items, chunksize=1)
            for result in results:
                found.append(result)
                _progress(what, len(found), len(items), begun)
    else:
        for item in items:
            found.append(work(item))
            _progress(what, len(found), len(items), begun)
    return found


def _progress(what: str, done: int, total: int, begun: float) -> None:
    """Tell how far it is: on a terminal all the time, elsewhere a few times."""
    line = f"{what}: {done}/{total}, {time.perf_counter() - begun:.0f} s"
    if sys.stderr.isatty():
        print(f"\r{line} ", end="\n" if done == total else "", file=sys.stderr, flush=True)
    elif done * 4 // total > (done - 1) * 4 // total:
        print(line, file=sys.stderr, flush=True)
