"""A summary that is written while the agent goes on."""

from __future__ import annotations

import asyncio
import threading

from holdfast.engine.run import Made, Run, made_of
from holdfast.writing.native import Broker, awrite_through, write_through
from holdfast.writing.write import WriteContext


class InThread:
    """Written in a thread of its own, which ends with the process."""

    def __init__(self, run: Run, broker: Broker, moment: WriteContext) -> None:
        self.run = run
        self._made: Made | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._write, args=(broker, moment), name="holdfast-summary", daemon=True
        )
        self._thread.start()

    def _write(self, broker: Broker, moment: WriteContext) -> None:
        try:
            self._made = made_of(self.run, write_through(self.run.todo, broker, moment))
        finally:
            self._ended.set()

    @property
    def is_done(self) -> bool:
        """Whether the thread has ended."""
        return self._ended.is_set()

    def made(self) -> Made | None:
        """Return what came of it; None where it was cancelled, or broke, or is not done."""
        return self._made if self._ended.is_set() else None

    def wait(self, timeout: float) -> bool:
        """Wait until it is done; False where that took longer."""
        return self._ended.wait(timeout)

    def cancel(self) -> None:
        """Let it go; a request that is under way ends by itself, and is not used."""
        self._made = None


async def _made_in_task(run: Run, broker: Broker, moment: WriteContext) -> Made:
    written = await awrite_through(run.todo, broker, moment)
    return await asyncio.to_thread(made_of, run, written)


class InTask:
    """Written in a task of the running event loop."""

    def __init__(self, run: Run, broker: Broker, moment: WriteContext) -> None:
        self.run = run
        self.task = asyncio.get_running_loop().create_task(_made_in_task(run, broker, moment))
        # a failure is taken up by `written`; a loop that closes first must not complain
        self.task.add_done_callback(lambda task: task.cancelled() or task.exception())

    @property
    def is_done(self) -> bool:
        """Whether the task has ended."""
        return self.task.done()

    def made(self) -> Made | None:
        """Return what came of it; None where it was cancelled, or broke, or is not done."""
        task = self.task
        if not task.done() or task.cancelled() or task.exception() is not None:
            return None
        return task.result()

    def cancel(self) -> None:
        """Cancel the request."""
        self.task.cancel()
