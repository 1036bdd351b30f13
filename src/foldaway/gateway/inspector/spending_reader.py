"""What the agents of this machine used, read in the background while the pages are shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from foldaway.caching import PriceList
from foldaway.gateway.inspector.background_work import BackgroundWork
from foldaway.stores import SessionFilter, Store
from foldaway.usage import (
    CountedAnswer,
    Judgement,
    Overview,
    OwnCompaction,
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


class Spending(Struct, frozen=True, kw_only=True):
    """All that was read."""

    sessions: Sequence[SpentSession]
    answers: Sequence[CountedAnswer]
    overview: Overview
    prices: PriceList
    judged: Sequence[Judgement]
    stored: StoreSurvey
    by_session: Mapping[tuple[str, str], UsageSum]
    """Of sessions of files; a store has the sums of its own."""
    by_day: Mapping[str, UsageSum]
    has_store: bool
    """Whether the requests of stored sessions are in it."""
    read_at: float = field(default_factory=time.monotonic)
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
        self._lock, self._wants_store = threading.Lock(), False
        self.progress = BackgroundWork()
        self.spending: Spending | None = None

    @property
    def whole(self) -> Spending | None:
        """What was read, if the store is in it."""
        return self.spending if self.spending and self.spending.has_store else None

    def start(self, *, with_store: bool = False) -> None:
        """Read in the background, if that was not begun yet or is some time ago.

        Only the overview needs every request of a store: a list has the sums that it keeps.
        """
        self._wants_store |= with_store
        found = self.whole if self._wants_store else self.spending
        is_old = not found or time.monotonic() - found.read_at > _FRESH_SECONDS
        needed = ("waiting", "ready", "failed") if is_old else ("waiting",)
        if self.progress.begin("reading", 0, needed.__contains__):
            threading.Thread(target=self.read, daemon=True).start()

    def files(self) -> list[SpentSession]:
        """Read the files now, and offer their sessions."""
        with self._lock:
            native = self._reader.read_files(self._places, lambda done, total: None)
        self._found(native)
        return native

    def read(self) -> None:
        """Read what is new; what was read before is kept in a cache."""
        with self._lock:
            is_whole = False
            try:
                self._read()
                is_whole = self.whole is not None
            except Exception:  # noqa: BLE001 the boundary: pages go on without these figures
                self.progress.set(step="failed")
            finally:
                self._reader.save(is_whole=is_whole)

    def _read(self) -> None:
        tell = self.progress.tell
        self.progress.set(step="reading", done=0, total=0)
        prices, counted = PriceList(), 0
        while self._store and (more := _count_used(self._store, prices)):
            tell(counted := counted + more, 0)
        native = self._reader.read_files(self._places, tell)
        self._found(native)
        self.progress.set(done=0, total=0)
        store = self._store if self._wants_store else None
        stored = self._reader.read_store(store, native, tell) if store else []
        answers = count_once(native, stored, prices)
        looked = survey(store, prices) if store else StoreSurvey()
        by_key = {one.key: one for one in (*native, *stored)}
        has_store = store is self._store
        is_first = self.spending is None or has_store > self.spending.has_store
        if is_first:
            self._keep(list(by_key.values()), answers, prices, [], looked, has_store=has_store)
        self.progress.set(step="replaying", done=0, total=0)
        judged = judge(
            [one for one in by_key.values() if not one.is_stored],
            self._reader,
            prices,
            _JUDGING_SECONDS,
            tell,
        )
        if judged or not is_first:
            self._keep(list(by_key.values()), answers, prices, judged, looked, has_store=has_store)
        if self._wants_store and not has_store:  # the overview was opened meanwhile
            self._read()
        self.progress.set(step="ready")

    def _keep(
        self,
        sessions: Sequence[SpentSession],
        answers: Sequence[CountedAnswer],
        prices: PriceList,
        judged: Sequence[Judgement],
        stored: StoreSurvey,
        *,
        has_store: bool,
    ) -> None:
        made = overview(
            sessions,
            answers,
            judged,
            prices,
            problems=len(self._reader.problems),
            is_stored=self._store is not None,
        )
        self.spending = Spending(
            sessions=sessions,
            answers=answers,
            overview=made,
            prices=prices,
            judged=judged,
            stored=stored,
            by_session=by_session(answers, {one.key for one in sessions if not one.is_stored}),
            by_day=by_day(answers),
            has_store=has_store,
        )


def _count_used(store: Store, prices: PriceList) -> int:
    """Count what sessions of a store used that were not counted yet; return of how many."""
    return 0 if store.read_only else store.count_used(prices.cost)


class StoreSurvey(Struct, frozen=True):
    """What the sessions of a store are."""

    keys: frozenset[tuple[str, str]] = frozenset()
    """Agent and id of each session that an agent knows by an id."""
    count: int = 0
    """All sessions; if there are more or fewer now, the rest is out of date."""
    compactions: tuple[OwnCompaction, ...] = ()
    """Without those that were undone."""


def survey(store: Store, prices: PriceList) -> StoreSurvey:
    """Look at all sessions of a store."""
    keys, count, found = set[tuple[str, str]](), 0, list[OwnCompaction]()
    for info in store.all_sessions(SessionFilter(kind="any")):
        count += 1
        if info.source_id:
            keys.add((info.source, info.source_id))
        found += OwnCompaction.of(store, [info], prices)
    return StoreSurvey(frozenset(keys), count, tuple(found))
