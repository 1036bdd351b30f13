"""Who compacts a conversation: the ledger alone, or with a model, now or in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from msgspec.structs import replace

from holdfast.caching.economics import Verdict
from holdfast.caching.prices import TTL_SECONDS, Prices, Ttl
from holdfast.catalog.prices import Economy, economy_of
from holdfast.compaction.compact import Unchanged
from holdfast.compaction.trigger import Decision
from holdfast.compaction.work import Wish
from holdfast.engine.background import InTask, InThread
from holdfast.engine.conversation import Conversation
from holdfast.engine.economy import as_told, weighed
from holdfast.engine.run import Made, Run, begin, end, made_of
from holdfast.ports import CachedPrefix
from holdfast.report import Report
from holdfast.writing.cached_prompt import prefix_of
from holdfast.writing.native import Broker, NativeCompaction, awrite_through, write_through
from holdfast.writing.write import WriteContext, context_at
from holdfast.writing.writers import Writers

Clock = Callable[[], float]
_WORTH_ANOTHER = 0.05
"""So much of the threshold must have come since the last time that nothing was to prepare."""


class Author:
    """Runs the compactions of one conversation; at most one summary is under way at a time."""

    def __init__(
        self,
        here: Conversation,
        writers: Writers | None = None,
        *,
        native: NativeCompaction | None = None,
        background: bool = False,
        clock: Clock = time.time,
        prices: Prices | None = None,
        ttl: Ttl = "5m",
    ) -> None:
        self._here = here
        self._given_prices = prices
        self._ttl: Ttl = ttl
        self._economies: dict[str, Economy | None] = {}
        self._used_at = clock()
        self._retry_from = 0
        self._why = ""
        self._writers = writers
        self._broker = Broker(native=native, writers=writers)
        self._background = background and not self._broker.asks_nobody
        self._clock = clock
        self._preparing: InThread | InTask | None = None
        self._looked_at = 0
        if self._background and writers is not None:
            for writer in (writers.main, writers.other):
                # what an SDK needs to begin would hold up a turn later
                getattr(writer, "warm", _nothing)()

    # In the foreground

    def compact(self, wish: Wish, *, force: bool) -> Report:
        """Fold what is due, or take in what was prepared; waits only where it must."""
        preparing = self._usable(force=force)
        if preparing is not None:
            if not preparing.is_done and not self._must_wait():
                return self._busy()
            if isinstance(preparing, InThread):
                preparing.wait(self._patience())
            if (made := self._taken(preparing)) is not None:
                return self._shown(end(self._here, preparing.run, made), None)
        run = self._begun(wish, force=force)
        if isinstance(run, Report):
            return run
        verdict = None if force else self._weighed(run)
        if verdict is not None and verdict.answer == "wait":
            return self._deferred(run, verdict)
        written = write_through(run.todo, self._broker, self._moment(run, force))
        return self._shown(end(self._here, run, made_of(run, written)), verdict)

    async def acompact(self, wish: Wish, *, force: bool) -> Report:
        """Do what `compact` does, for hosts that await; cancelling it changes nothing."""
        preparing = self._usable(force=force)
        if preparing is not None:
            if not preparing.is_done and not self._must_wait():
                return self._busy()
            if isinstance(preparing, InTask):
                await asyncio.wait({preparing.task}, timeout=self._patience())
            else:
                await asyncio.to_thread(preparing.wait, self._patience())
            if (made := self._taken(preparing)) is not None:
                return self._shown(end(self._here, preparing.run, made), None)
        run = self._begun(wish, force=force)
        if isinstance(run, Report):
            return run
        verdict = None if force else self._weighed(run)
        if verdict is not None and verdict.answer == "wait":
            return self._deferred(run, verdict)
        written = await awrite_through(run.todo, self._broker, self._moment(run, force))
        return self._shown(end(self._here, run, made_of(run, written)), verdict)

    def used(self) -> None:
        """Note that the provider has just read the conversation: its cache is warm."""
        self._used_at = self._clock()

    # Whether it pays

    def _weighed(self, run: Run, due_at: int | None = None) -> Verdict | None:
        """Return what the sum says; None where prices are not known."""
        economy = self._economy()
        if economy is None:
            return None
        idle = self._clock() - self._used_at
        return weighed(
            self._here, run, economy, self._writers, idle, due_at=due_at,
            is_native=self._broker.native is not None,
        )  # fmt: skip

    def _economy(self) -> Economy | None:
        model = self._here.settings.model
        if model not in self._economies:
            self._economies[model] = economy_of(model, self._given_prices, self._ttl)
        return self._economies[model]

    def _deferred(self, run: Run, verdict: Verdict) -> Report:
        """Leave all as it is until the conversation has grown by something worth another look."""
        here = self._here
        self._retry_from = here.estimate() + here.settings.budget.tail_tokens // 2
        self._why = verdict.sentence
        stays = Unchanged("deferred", verdict.sentence, run.todo.tokens_before)
        return self._shown(here.reported(run.todo.work, stays, run.decision), verdict)

    def _shown(self, report: Report, verdict: Verdict | None) -> Report:
        if report.status == "compacted":
            self._retry_from = 0
        if verdict is None:
            return report
        self._here.last = replace(
            report, economics={**as_told(verdict), **(report.economics or {})}
        )
        return self._here.last

    # In the background

    def look(self) -> None:
        """Begin to prepare where pressure says so; called when something arrived."""
        if self._background and self._preparing is None and self._is_time():
            self.prepare()

    def prepare(self) -> bool:
        """Begin to write a summary in a thread; False where there is nothing to write."""
        run = self._to_prepare()
        if run is None or self._broker.asks_nobody:
            return False
        self._preparing = InThread(run, self._broker, self._moment(run, forced=False))
        return True

    def aprepare(self) -> bool:
        """Begin to write a summary in a task of the running loop."""
        run = self._to_prepare()
        if run is None or self._broker.asks_nobody:
            return False
        self._preparing = InTask(run, self._broker, self._moment(run, forced=False))
        return True

    @property
    def is_preparing(self) -> bool:
        """Whether a summary is under way or waits to be taken in."""
        return self._preparing is not None

    @property
    def is_prepared(self) -> bool:
        """Whether a summary waits to be taken in."""
        return self._preparing is not None and self._preparing.is_done

    def cancel(self) -> None:
        """Let go of what is being prepared; the conversation stays as it is."""
        if self._preparing is not None:
            self._preparing.cancel()
            self._preparing = None

    # Helpers, in order of use

    def _usable(self, *, force: bool) -> InThread | InTask | None:
        """Return what is being prepared; a run by hand, or a changed past, lets it go."""
        found = self._preparing
        if found is not None and (force or not found.run.still_holds(self._here)):
            self.cancel()
            return None
        return found

    def _must_wait(self) -> bool:
        return self._here.decide().urgency == "hard"

    def _patience(self) -> float:
        return self._broker.patience

    def _taken(self, preparing: InThread | InTask) -> Made | None:
        made = preparing.made()
        if self._preparing is preparing:
            self._preparing = None
        if made is None:
            preparing.cancel()
        return made

    def _busy(self) -> Report:
        here, decision = self._here, self._here.decide()
        stays = Unchanged(
            "already running", "a summary is being written in the background; there is room for "
            "the next turn", here.estimate(),
        )  # fmt: skip
        return here.reported(here.work(Wish()), stays, decision)

    def _begun(self, wish: Wish, *, force: bool) -> Run | Report:
        here, decision = self._here, self._here.decide()
        if not force and decision.urgency == "soft" and self._is_settled():
            stays = Unchanged("deferred", self._why, here.estimate())
            return here.reported(here.work(wish), stays, decision)
        return begin(here, wish, force=force, frozen=not self._broker.asks_nobody)

    def _is_settled(self) -> bool:
        """Return whether it was weighed, and nothing has come since that could change the sum."""
        is_warm = self._clock() - self._used_at < TTL_SECONDS[self._ttl]
        return is_warm and self._here.estimate() < self._retry_from

    def _moment(self, run: Run, forced: bool) -> WriteContext:
        return context_at(
            self._clock(), urgency=run.decision.urgency, forced=forced, prefix=self._prefix()
        )

    def _prefix(self) -> CachedPrefix | None:
        """Return what the main model has in its cache, where it is the one that writes."""
        if self._writers is None or not self._writers.reuse_prompt_cache:
            return None
        here = self._here
        return prefix_of(
            here.log.dialect, here.seen, self._writers.main_request, tools=here.settings.tools
        )

    def _is_time(self) -> bool:
        """Return whether pressure asks for a summary, and trying again is worth it."""
        here, decision = self._here, self._here.decide()
        if not decision.pressure or not _may_act(decision):
            return False
        if here.state.breaker.is_open(self._clock()):
            return False
        grown = here.estimate() - self._looked_at
        return abs(grown) >= _WORTH_ANOTHER * here.settings.budget.threshold_tokens

    def _to_prepare(self) -> Run | None:
        if self._preparing is not None:
            return None
        self._looked_at = self._here.estimate()
        last = self._here.last
        run = begin(self._here, Wish(), force=True, frozen=True)
        if isinstance(run, Report):
            self._here.last = last  # a look is no run
            return None
        verdict = self._weighed(run, due_at=self._here.settings.budget.pressure_tokens)
        return None if verdict is not None and verdict.answer == "wait" else run


def _nothing() -> None:
    """Stand for what a summariser need not have."""


def _may_act(decision: Decision) -> bool:
    return decision.due or decision.reason == "below threshold"
