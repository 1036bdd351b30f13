"""What the agents of this machine used, read in the background while the pages are shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from foldaway.caching import PriceList
from foldaway.sessions import name_in_words, view_rows
from foldaway.stores import SessionFilter, SessionInfo, Store
from foldaway.usage import (
    CountedAnswer,
    Judgement,
    Overview,
    SpentSession,
    UsageReader,
    UsageSum,
    by_day,
    by_session,
    count_once,
    judge,
    overview,
)

_JUDGING_SECONDS = 8.0
"""How long sessions are replayed for what they would have cost otherwise, as in `foldaway`."""


_FRESH_SECONDS = 60
"""How long what was read counts as new: looking for changes takes a second with many files."""

_GIVE_WAY_SECONDS = 0.25
"""How long the reading waits at most, before each file or session, while a page is made. It ends
even if somebody asks for pages all the time."""


class SpendingState(Struct, frozen=True, kw_only=True):
    """How far the reading is."""

    done: int = 0
    total: int = 0
    """Bytes of files, sessions of a store, or sessions to be replayed."""
    step: str = "reading"
    """`reading`, `replaying`, `ready` or `failed`."""


class Spending(Struct, frozen=True, kw_only=True):
    """All that was read."""

    sessions: Sequence[SpentSession]
    answers: Sequence[CountedAnswer]
    overview: Overview
    prices: PriceList
    judged: Sequence[Judgement]
    stored: StoreSurvey
    by_session: Mapping[tuple[str, str], UsageSum]
    by_day: Mapping[str, UsageSum]
    memory: dict[Any, Any] = field(default_factory=dict)
    """What was made of it, by what was asked; gone with it when all is read again."""


class SpendingReader:
    """Reads once in a thread of its own, and again if it is asked to."""

    def __init__(
        self,
        store: Store | None,
        places: Sequence[Path],
        *,
        cache_folder: Path,
        version: str,
        found: Callable[[Sequence[SpentSession]], None],
    ) -> None:
        """Take where to read; `found` is told the sessions of files as soon as they are known."""
        self._store, self._places, self._found = store, tuple(places), found
        self._reader = UsageReader(cache_folder, version)
        self._lock, self._changed = threading.Lock(), threading.Condition()
        self._is_started, self._finished = False, 0.0
        self._pages = 0
        self.state = SpendingState()
        self.spending: Spending | None = None

    def start(self) -> None:
        """Read in the background, if that was not begun yet or is some time ago."""
        with self._changed:
            is_old = time.monotonic() - self._finished > _FRESH_SECONDS
            is_needed = not self._is_started or (self.state.step in ("ready", "failed") and is_old)
            self._is_started = True
            if is_needed:
                self.state = SpendingState()
        if is_needed:
            threading.Thread(target=self.read, daemon=True).start()

    @contextmanager
    def give_way(self) -> Generator[None]:
        """Let the reading wait while a page is made: both would take turns on one core."""
        with self._changed:
            self._pages += 1
        try:
            yield
        finally:
            with self._changed:
                self._pages -= 1
                self._changed.notify_all()

    def files(self) -> list[SpentSession]:
        """Read the files now, and offer their sessions."""
        with self._lock:
            native = self._reader.read_files(self._places, lambda done, total: None)
        self._found(native)
        return native

    def wait(self, known: str, seconds: float) -> SpendingState:
        """Return the state as soon as its step is another one than is known."""
        with self._changed:
            self._changed.wait_for(lambda: self.state.step != known, seconds)
            return self.state

    def read(self) -> None:
        """Read what is new; what was read before is kept in a cache."""
        with self._lock:
            is_whole = False
            try:
                self._read()
                is_whole = True
            except Exception:  # noqa: BLE001 the boundary: pages go on without these figures
                self._set(step="failed")
            finally:
                self._reader.save(is_whole=is_whole)

    def _read(self) -> None:
        self._set(step="reading", done=0, total=0)
        native = self._reader.read_files(self._places, self._tell)
        self._found(native)
        self._set(done=0, total=0)
        stored = self._reader.read_store(self._store, native, self._tell) if self._store else []
        prices = PriceList()
        answers = count_once(native, stored, prices)
        looked = survey(self._store) if self._store else StoreSurvey()
        by_key = {one.key: one for one in (*native, *stored)}
        if self.spending is None:
            self._keep(list(by_key.values()), answers, prices, [], looked)
        self._set(step="replaying", done=0, total=0)
        judged = judge(
            [one for one in by_key.values() if "#" not in one.path], self._reader, prices,
            _JUDGING_SECONDS, self._tell,
        )  # fmt: skip
        self._keep(list(by_key.values()), answers, prices, judged, looked)
        self._finished = time.monotonic()
        self._set(step="ready")

    def _keep(
        self,
        sessions: Sequence[SpentSession],
        answers: Sequence[CountedAnswer],
        prices: PriceList,
        judged: Sequence[Judgement],
        stored: StoreSurvey,
    ) -> None:
        made = overview(
            sessions, answers, judged, prices,
            problems=len(self._reader.problems), is_stored=self._store is not None,
        )  # fmt: skip
        self.spending = Spending(
            sessions=sessions, answers=answers, overview=made, prices=prices, judged=judged,
            stored=stored, by_session=by_session(answers), by_day=by_day(answers),
        )  # fmt: skip

    def _tell(self, done: int, total: int) -> None:
        self._set(done=done, total=total)
        with self._changed:
            self._changed.wait_for(lambda: not self._pages, _GIVE_WAY_SECONDS)

    def _set(self, **changes: object) -> None:
        with self._changed:
            self.state = replace(self.state, **changes)
            self._changed.notify_all()


_SESSIONS_AT_ONCE = 500
"""Sessions of one page of a store: few queries, little memory."""


class OwnCompaction(Struct, frozen=True):
    """One compaction, of a session of an agent in a project."""

    session: str
    """The id of the session."""
    number: int
    """Of the view that it made."""
    title: str
    agent: str
    project: str
    model: str
    time: float
    tokens_before: int
    tokens_after: int


class StoreSurvey(Struct, frozen=True):
    """What the sessions of a store are."""

    keys: frozenset[tuple[str, str]] = frozenset()
    """Agent and id of each session that an agent knows by an id."""
    count: int = 0
    """All sessions; if there are more or fewer now, the rest is out of date."""
    compactions: tuple[OwnCompaction, ...] = ()
    """Without those that were undone."""


def survey(store: Store) -> StoreSurvey:
    """Look at all sessions of a store."""
    keys: set[tuple[str, str]] = set()
    count, found = 0, list[OwnCompaction]()
    for info in _sessions(store):
        count += 1
        if info.source_id:
            keys.add((info.source, info.source_id))
        if info.compactions:
            found += _compactions(store, info)
    return StoreSurvey(frozenset(keys), count, tuple(found))


def _compactions(store: Store, info: SessionInfo) -> Iterator[OwnCompaction]:
    for row in view_rows(store.views(info.id), info.view):
        if row.tokens_before and not row.undone:
            yield OwnCompaction(
                info.id, row.number, name_in_words(info), info.source or "foldaway",
                info.cwd, info.model, row.created, row.tokens_before, row.tokens_after,
            )  # fmt: skip


def _sessions(store: Store) -> Iterator[SessionInfo]:
    after, is_last = "", False
    while not is_last:
        page = store.sessions(SessionFilter(kind="any"), most=_SESSIONS_AT_ONCE, after=after)
        yield from page.sessions
        after, is_last = page.next, not page.next
