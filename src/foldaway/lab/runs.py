"""A run of the lab: all sessions through all strategies, in a folder that can be resumed.

run.json        what was asked, and of which sessions
progress.jsonl  rows of finished sessions, as they came; gone when all are done
rows.jsonl      all rows, in the order of the sessions
"""

from __future__ import annotations

import hashlib
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from foldaway._core import __version__, write_whole
from foldaway.caching import Prices
from foldaway.errors import NotReadable
from foldaway.lab.measures import DEFAULT_PRICES
from foldaway.lab.output import write_results
from foldaway.lab.reading import read_sessions
from foldaway.lab.results import (
    BASE,
    MAIN_SHARE,
    OURS,
    WITH_MODEL,
    RunManifest,
    ScoreRow,
    WrittenRun,
)
from foldaway.lab.run_folder import claim_folder, read_progress, run_in_processes
from foldaway.lab.scoring.needed import Elsewhere, common_knowledge
from foldaway.lab.scoring.score import CUTS
from foldaway.lab.scoring.session import LabSession
from foldaway.lab.scoring.shell import shell_parser
from foldaway.lab.scoring_rows import TrialTerms, session_rows
from foldaway.lab.strategies import PLAIN, Strategy, choose_strategies, use_foldaway
from foldaway.summarizers import writers_of

PROGRESS, ROWS = "progress.jsonl", "rows.jsonl"

Tell: TypeAlias = Callable[[int, int], None]
"""Told how many cuts are done, and of how many; a session has as many as `CUTS`."""
MakeTerms: TypeAlias = Callable[[], TrialTerms]
"""Makes what is asked, in the process that works: peers and models cannot be sent to it."""


MakePeers: TypeAlias = Callable[[], Sequence[Strategy]]
"""Makes strategies that are other tools; also called in the process that works."""
DRIFTING = (OURS, BASE, "masking", "keep-tail", "random-lines")
"""Strategies that are also tried in 1, 2, 4 and 8 compactions."""


class RunSettings(Struct, frozen=True, kw_only=True):
    """What a run is asked: which sessions, which strategies, and in how many tokens."""

    budgets: tuple[float, ...]
    """Shares of the tokens before a cut."""
    strategies: tuple[str, ...] = ()
    """Names; empty: all that there are."""
    only: frozenset[str] | None = None
    """Ids of sessions; None: all."""
    min_tokens: int = 0
    """Shorter sessions are left out."""
    limit: int | None = None
    """The largest number of sessions of a family, evenly spread; None: all."""
    has_drift: bool = True
    """Whether the last cut is also reached in 1, 2, 4 and 8 compactions."""
    model: str = ""
    prices: Prices | None = None
    summarizer: str = ""
    summarizer_url: str = ""
    summarizer_key_variable: str = ""
    peers: MakePeers | None = None
    peer_budgets: tuple[float, ...] = ()

    @property
    def main(self) -> float:
        """The budget that the tables show: the one next to 20 %."""
        return min(self.budgets, key=lambda share: abs(share - MAIN_SHARE))

    def list_strategies(self) -> tuple[Strategy, ...]:
        """Return every strategy that the settings make possible, ours first."""
        found = list(PLAIN)
        if self.summarizer:
            writer = writers_of(
                self.summarizer,
                url=self.summarizer_url,
                key_variable=self.summarizer_key_variable,
                on_failure="ledger",
            )
            with_model = use_foldaway(writer)
            found.insert(1, Strategy(WITH_MODEL, "ours", f"with {self.summarizer}", with_model))
        return (*found, *(self.peers() if self.peers else ()))

    def choose(self) -> Mapping[str, Strategy]:
        """Return the strategies that are tried, by name; raises `UnknownName`."""
        return choose_strategies(self.strategies, self.list_strategies())

    def read_sample(self, paths: Sequence[Path]) -> LabSample:
        """Return the sessions of files and folders that a run is about, each id once.

        Raises `UnknownName` if a strategy does not exist, before anything is read.
        """
        self.choose()
        known: dict[str, LabSession] = {}
        problems: list[str] = []
        for one in read_sessions(paths):
            if isinstance(one, NotReadable):
                problems.append(str(one))
            else:
                known.setdefault(one.id, one)
        asked = [one for one in known.values() if self.only is None or one.id in self.only]
        rows = [one for one in asked if one.tokens >= self.min_tokens]
        return LabSample(
            settings=self,
            sessions=spread(rows, self.limit) if self.limit else rows,
            known=list(known.values()),
            problems=problems,
            too_short=len(asked) - len(rows),
        )


class LabSample(Struct, frozen=True, kw_only=True):
    """The sessions of a run, as they were read from files."""

    settings: RunSettings
    sessions: list[LabSession]
    """Those that are measured."""
    known: list[LabSession]
    """All that were read: they say what is common knowledge."""
    problems: list[str]
    """Files and lines that could not be read."""
    too_short: int
    """How many of those that were asked for are too short."""

    def measure(self, folder: Path, *, jobs: int, tell: Tell) -> WrittenRun:
        """Put all sessions through all strategies, and write the folder of the run.

        Raises `NotWritable` if the folder holds another run.
        """
        asked = self.settings
        tried = asked.choose()
        manifest = RunManifest(
            version=__version__,
            strategies=tuple(tried),
            budgets=asked.budgets,
            peer_budgets=asked.peer_budgets,
            main=asked.main,
            drifting=DRIFTING if asked.has_drift else (),
            asked={"model": asked.model, "summarizer": asked.summarizer},
            sessions=tuple(session.id for session in self.sessions),
            digest=digest_of(self.known),
            peers={name: one.what for name, one in tried.items() if one.kind == "peer"},
        )
        rows = run(
            folder,
            self.sessions,
            manifest,
            partial(_terms_for, asked),
            known=self.known,
            jobs=jobs,
            tell=tell,
        )
        return write_results(folder, manifest, rows, self.problems)


def spread(sessions: Sequence[LabSession], most: int) -> list[LabSession]:
    """Return at most `most` sessions of each family, evenly spread over their order."""
    totals = Counter(session.family for session in sessions)
    seen: Counter[str] = Counter()
    kept: list[LabSession] = []
    for session in sessions:
        total, at = totals[session.family], seen[session.family]
        seen[session.family] += 1
        if total <= most or at * most // total != (at - 1) * most // total or at == 0:
            kept.append(session)
    return kept


def _terms_for(asked: RunSettings) -> TrialTerms:
    return TrialTerms(
        strategies=asked.choose(),
        budgets=asked.budgets,
        peer_budgets=asked.peer_budgets,
        main=asked.main,
        drifting=frozenset(DRIFTING if asked.has_drift else ()),
        prices=asked.prices or DEFAULT_PRICES,
    )


class _Finished(Struct, frozen=True):
    session: str
    rows: list[ScoreRow]


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
    claim_folder(folder, manifest)
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


def _read_finished(path: Path) -> dict[str, list[ScoreRow]]:
    """Return the rows of sessions that were done."""
    lines = [msgspec.json.decode(line, type=_Finished) for line in read_progress(path)]
    return {finished.session: finished.rows for finished in lines}


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


def _run_sessions(
    sessions: Sequence[LabSession],
    elsewhere: Elsewhere,
    make_terms: MakeTerms,
    jobs: int,
    worked: Any,
    tell: Callable[[], None],
) -> Iterator[_Finished]:
    """Yield sessions as they are done, the largest begun first; `worked` counts their cuts."""
    order = sorted(sessions, key=lambda session: -session.tokens)
    if min(jobs, len(order)) == 1:
        _begin(elsewhere, make_terms, partial(_add_one, worked, tell))
        yield from map(_work, order)
        return
    begin = partial(_begin, elsewhere, make_terms, partial(_add_one, worked))
    yield from run_in_processes(_work, order, jobs, begin, tell)
