"""What the agents of this machine used, read in the background while the pages are shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from foldaway.caching import PriceList
from foldaway.gateway.inspector.background_work import BackgroundWork
from foldaway.stores import SessionInfo, Store
from foldaway.usage import (
    AnswerTable,
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

_JUDGING_SECONDS = 30.0
"""How long sessions are replayed for what they would have cost otherwise; nobody waits for it."""


_FRESH_SECONDS = 60
"""How long what was read counts as new: looking for changes takes a second with many files."""


class Spending(Struct, frozen=True, kw_only=True):
    """All that was read."""

    native: Mapping[tuple[str, str], SpentSession]
    """The sessions of files."""
    answers: AnswerTable
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
        looked = StoreSurvey()
        stored = self._reader.read_store(store, native, tell, looked.add) if store else ()
        answers = count_once(native, stored, prices)
        if store:
            looked.weigh(store, prices)
        has_store = store is self._store
        is_first = self.spending is None or has_store > self.spending.has_store
        made = Spending(
            native={one.key: one for one in native},
            answers=answers,
            overview=self._overview(answers, (), prices),
            prices=prices,
            judged=(),
            stored=looked,
            by_session=by_session(answers, {one.key for one in native}),
            by_day=by_day(answers),
            has_store=has_store,
        )
        if is_first:
            self.spending = made
        self.progress.set(step="replaying", done=0, total=0)
        judged = judge(list(made.native.values()), self._reader, prices, _JUDGING_SECONDS, tell)
        if judged:
            whole = self._overview(answers, judged, prices)
            made = replace(made, overview=whole, judged=judged, memory={})
        self.spending = made
        if self._wants_store and not has_store:  # the overview was opened meanwhile
            self._read()
        self.progress.set(step="ready")

    def _overview(
        self, answers: AnswerTable, judged: Sequence[Judgement], prices: PriceList
    ) -> Overview:
        return overview(
            answers.sessions(silent=True),
            answers,
            judged,
            prices,
            problems=len(self._reader.problems),
            is_stored=self._store is not None,
        )


def _count_used(store: Store, prices: PriceList) -> int:
    """Count what sessions of a store used that were not counted yet; return of how many."""
    return 0 if store.read_only else store.count_used(prices.cost)


class StoreSurvey:
    """What the sessions of a store are."""

    def __init__(self) -> None:
        """Begin without any."""
        self.keys: set[tuple[str, str]] = set()
        """Agent and id of each session that an agent knows by an id."""
        self.count = 0
        """All sessions; if there are more or fewer now, the rest is out of date."""
        self.compactions: list[OwnCompaction] = []
        """Without those that were undone."""
        self._compacted: list[SessionInfo] = []

    def add(self, info: SessionInfo) -> None:
        """Look at a session."""
        self.count += 1
        if info.source_id:
            self.keys.add((info.source, info.source_id))
        if info.compactions:
            self._compacted.append(info)

    def weigh(self, store: Store, prices: PriceList) -> None:
        """Find what the compactions saved."""
        self.compactions += OwnCompaction.of(store, self._compacted, prices)
