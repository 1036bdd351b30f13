"""How far work in the background is, for the pages that show it and wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

_GIVE_WAY_SECONDS = 0.25
"""How long work waits at most, before each of its pieces, while a page is made. It ends even if
somebody asks for pages all the time."""


class ProgressState(Struct, frozen=True, kw_only=True):
    """What the work does now, and how much of that is done."""

    step: str = "waiting"
    """`waiting` if it was not begun yet; `ready` or `failed` at the end."""
    done: int = 0
    total: int = 0


class BackgroundWork:
    """How far the work is: its thread says it, and any other reads it."""

    def __init__(self) -> None:
        """Begin with nothing begun."""
        self.state = ProgressState()
        self._changed, self._pages = threading.Condition(), 0

    def begin(self, step: str, total: int, is_due: Callable[[str], bool]) -> bool:
        """Begin the work if its present step asks for it; return whether it was begun."""
        with self._changed:
            if not is_due(self.state.step):
                return False
            self.state = ProgressState(step=step, total=total)
            return True

    def set(self, **changes: object) -> None:
        """Tell how far it is."""
        with self._changed:
            self.state = replace(self.state, **changes)
            self._changed.notify_all()

    def wait(self, known: str, seconds: float) -> ProgressState:
        """Return the state as soon as its step is another one than is known."""
        with self._changed:
            self._changed.wait_for(lambda: self.state.step != known, seconds)
            return self.state

    @contextmanager
    def give_way(self) -> Generator[None]:
        """Let the work wait while a page is made: both would take turns on one core."""
        with self._changed:
            self._pages += 1
        try:
            yield
        finally:
            with self._changed:
                self._pages -= 1
                self._changed.notify_all()

    def tell(self, done: int, total: int) -> None:
        """Tell how far it is before the next piece, and wait while pages are made."""
        self.set(done=done, total=total)
        with self._changed:
            self._changed.wait_for(lambda: not self._pages, _GIVE_WAY_SECONDS)
