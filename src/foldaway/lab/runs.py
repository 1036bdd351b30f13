"""A run of the lab: all sessions through all strategies, in a folder that can be resumed.

run.json        what was asked, and of which sessions
progress.jsonl  rows of finished sessions, as they came; gone when all are done
rows.jsonl      all rows, in the order of the sessions
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from foldaway._core import write_whole
from foldaway.errors import NotWritable
from foldaway.lab.measures import DEFAULT_PRICES
from foldaway.lab.results import RunManifest, ScoreRow
from foldaway.lab.scoring.needed import Elsewhere, common_knowledge
from foldaway.lab.scoring.score import CUTS
from foldaway.lab.scoring.session import LabSession
from foldaway.lab.scoring.shell import shell_parser
from foldaway.lab.scoring_rows import TrialTerms, session_rows
from foldaway.lab.strategies import RunSettings, choose_strategies, list_strategies

MANIFEST, PROGRESS, ROWS = "run.json", "progress.jsonl", "rows.jsonl"

Tell: TypeAlias = Callable[[int, int], None]
"""Told how many cuts are done, and of how many; a session has as many as `CUTS`."""
_LOOK_SECONDS = 1.0
"""How often the cuts of running workers are counted."""
MakeTerms: TypeAlias = Callable[[], TrialTerms]
"""Makes what is asked, in the process that works: peers and models cannot be sent to it."""


class _Finished(Struct, frozen=True):
    session: str
    rows: list[ScoreRow]


def terms_for(asked: RunSettings) -> TrialTerms:
    """Return what every session is put through."""
    return TrialTerms(
        strategies=choose_strategies(asked.strategies, list_strategies(asked)),
        budgets=asked.budgets, peer_budgets=asked.peer_budgets, main=asked.main,
        drifting=frozenset(asked.drifting),
        prices=asked.prices or DEFAULT_PRICES,
    )  # fmt: skip


def digest_of(sessions: Sequence[LabSession]) -> str:
    """Return a hash of all that the sessions say."""
    found = hashlib.sha256()
    for session in sessions:
        found.update(msgspec.json.encode(session))
    return found.hexdigest()[:16]


def run(
    folder: Path,
    sessions: Sequence[LabSession],
    manifest: RunManifest,
    make_terms: MakeTerms,
    *,
    known: Iterable[LabSession],
    jobs: int,
    tell: Tell,
) -> list[ScoreRow]:
    """Return the rows of all sessions; those that the folder has already are not made again.

    `known` are the sessions that say what is common knowledge: these and others beside them.
    Raises `NotWritable` where the folder holds another run. A stop at any time loses at most the
    sessions that are being worked on.
    """
    shell_parser()  # a missing extra is told before anything is written
    _claim(folder, manifest)
    done = _read_finished(folder / PROGRESS) if not (folder / ROWS).exists() else read_rows(folder)
    waiting = [session for session in sessions if session.id not in done]
    known_before, worked = len(done), multiprocessing.get_context("spawn").Value("q", 0)
    told = -1

    def tell_cuts() -> None:
        nonlocal told
        cuts = known_before * len(CUTS) + len(done) - known_before + worked.value
        if cuts != told:
            told = cuts
            tell(cuts, len(sessions) * len(CUTS))

    tell_cuts()
    if waiting:
        elsewhere = common_knowledge(known)
        with (folder / PROGRESS).open("ab") as progress:
            for finished in _run_sessions(waiting, elsewhere, make_terms, jobs, worked, tell_cuts):
                done[finished.session] = finished.rows
                progress.write(msgspec.json.encode(finished) + b"\n")
                progress.flush()
                tell_cuts()
    rows = [row for session in sessions for row in done[session.id]]
    write_whole(folder / ROWS, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    (folder / PROGRESS).unlink(missing_ok=True)
    return rows


def _claim(folder: Path, manifest: RunManifest) -> None:
    """Make the folder this run's, or find that it is."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / MANIFEST
    made = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    if not path.exists():
        write_whole(path, made + b"\n")
        return
    try:
        there = msgspec.json.decode(path.read_bytes(), type=RunManifest)
    except (OSError, msgspec.DecodeError):
        there = None
    if there != manifest:
        raise NotWritable(
            str(folder), "holds another run of the lab; give another folder, or delete this one"
        )


def _read_finished(path: Path) -> dict[str, list[ScoreRow]]:
    """Return the rows of sessions that were done; a torn last line is none."""
    found: dict[str, list[ScoreRow]] = {}
    if not path.exists():
        return found
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    for line in whole.splitlines():
        finished = msgspec.json.decode(line, type=_Finished)
        found[finished.session] = finished.rows
    return found


def read_rows(folder: Path) -> dict[str, list[ScoreRow]]:
    """Return the rows of a finished run by session, in their order."""
    found: dict[str, list[ScoreRow]] = {}
    for line in (folder / ROWS).read_bytes().splitlines():
        row = msgspec.json.decode(line, type=ScoreRow)
        found.setdefault(row.session, []).append(row)
    return found


_held: list[Any] = []
"""What a worker keeps for all its sessions: common knowledge, what is asked, whom to tell."""


def _begin(elsewhere: Elsewhere, make_terms: MakeTerms, tell: Callable[[], None]) -> None:
    _held[:] = [elsewhere, make_terms(), tell]


def _work(session: LabSession) -> _Finished:
    """Put one session through all; every cut is told but the last, which is told when the rows
    of the session are kept.
    """
    elsewhere, terms, tell = _held
    to_tell = iter([tell] * (len(CUTS) - 1))
    rows = session_rows(session, elsewhere, terms, lambda: next(to_tell, _do_nothing)())
    for untold in to_tell:
        untold()
    return _Finished(session.id, rows)


def _do_nothing() -> None:
    pass


def _add_one(worked: Any, then: Callable[[], None] = _do_nothing) -> None:
    with worked.get_lock():
        worked.value += 1
    then()


@contextmanager
def without_interrupts() -> Generator[None]:
    """Ignore Ctrl-C, and let processes that are started now ignore it: this one ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _run_sessions(
    sessions: Sequence[LabSession], elsewhere: Elsewhere, make_terms: MakeTerms, jobs: int,
    worked: Any, tell: Callable[[], None],
) -> Iterator[_Finished]:  # fmt: skip
    """Yield sessions as they are done, the largest begun first; `worked` counts their cuts."""
    order = sorted(sessions, key=lambda session: -session.tokens)
    if jobs == 1 or len(order) == 1:
        _begin(elsewhere, make_terms, partial(_add_one, worked, tell))
        yield from map(_work, order)
        return
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(
        min(jobs, len(order)), multiprocessing.get_context("spawn"), _begin,
        (elsewhere, make_terms, partial(_add_one, worked)),
    ) as pool:  # fmt: skip
        with without_interrupts():
            waiting: set[Future[_Finished]] = {pool.submit(_work, session) for session in order}
        try:
            while waiting:
                ready, waiting = wait(waiting, _LOOK_SECONDS, return_when=FIRST_COMPLETED)
                tell()
                yield from (future.result() for future in ready)
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()  # at once, not after the session that it is at
            if not isinstance(error, BrokenProcessPool):
                raise
            raise NotWritable(
                "the lab", "a worker died (out of memory?); run again to go on, with fewer --jobs"
            ) from None
