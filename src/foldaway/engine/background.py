"""A summary that is written while the agent goes on."""

from __future__ import annotations

import asyncio
import threading

from foldaway.engine.run import Finished, Run, finish_run
from foldaway.engine.timing import Clock, Current
from foldaway.engine.trigger import Background, Decision
from foldaway.summarizers import WriteContext, Writers, draft_steps, run_calls

_WORTH_ANOTHER = 0.05
"""A share of the prompt: so much must have come before a summary is prepared again."""


class InThread:
    """Draft in a thread of its own, which ends with the process."""

    def __init__(self, run: Run, writers: Writers, moment: WriteContext) -> None:
        self.run = run
        self._finished: Finished | None = None
        self._ended = threading.Event()
        thread = threading.Thread(
            target=self._write, args=(writers, moment), name="foldaway-summary", daemon=True
        )
        thread.start()

    def _write(self, writers: Writers, moment: WriteContext) -> None:
        try:
            written = run_calls(draft_steps(self.run.todo, writers, moment))
            self._finished = finish_run(self.run.todo, written)
        finally:
            self._ended.set()

    @property
    def is_done(self) -> bool:
        """Whether the thread has ended."""
        return self._ended.is_set()

    @property
    def result(self) -> Finished | None:
        """What came of it; None if it was canceled, or broke, or is not done."""
        return self._finished if self._ended.is_set() else None

    def wait(self, timeout: float) -> None:
        """Wait until it is done, at most so long."""
        self._ended.wait(timeout)

    async def await_done(self, timeout: float) -> None:
        """Do what `wait` does, for hosts that await."""
        await asyncio.to_thread(self._ended.wait, timeout)

    def cancel(self) -> None:
        """Let it go; a request that is under way ends by itself, and is not used."""
        self._finished = None


class Preparation:
    """The summary of one conversation that is written in the background, if there is one."""

    def __init__(self, is_wanted: bool, clock: Clock) -> None:
        self.is_wanted, self.clock = is_wanted, clock
        self.task: InThread | None = None
        self._looked_at = 0

    @property
    def state(self) -> Background:
        """Whether it is being written, or waits to be used."""
        if self.task is None:
            return ""
        return "ready" if self.task.is_done else "being written"

    def is_time(self, decision: Decision, now: Current) -> bool:
        """Return whether pressure asks for a summary, and trying again is worth it."""
        if not decision.may_prepare or now.state.breaker.is_open(self.clock()):
            return False
        least = min(now.settings.budget.threshold_tokens, decision.prompt_tokens)
        return abs(now.estimate - self._looked_at) >= _WORTH_ANOTHER * least

    def note_look(self, estimate: int) -> None:
        """Note the size at which it was tried."""
        self._looked_at = estimate

    def take(self, task: InThread) -> Finished | None:
        """Let go of a task and return what came of it; a result that is late is not used."""
        finished = task.result
        if self.task is task:
            self.task = None
        if finished is None:
            task.cancel()
        return finished

    def cancel(self) -> None:
        """Let go of what is being written."""
        if self.task is not None:
            self.task.cancel()
            self.task = None
