"""Files of agents copied in the background, so that their words can be searched."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import log_event

CopyStep: TypeAlias = Literal["waiting", "copying", "ready", "failed"]


class CopyState(Struct, frozen=True, kw_only=True):
    """How far the copying is, in files."""

    step: CopyStep = "waiting"
    done: int = 0
    total: int = 0


class FileCopies:
    """Copies files one after the other in a thread of its own."""

    def __init__(self, copy: Callable[[str], None]) -> None:
        """Take what copies the sessions of one file."""
        self._copy, self._changed = copy, threading.Condition()
        self._is_closed = False
        self.state = CopyState()

    def start(self, paths: Sequence[str]) -> None:
        """Copy these files, unless copying is under way."""
        with self._changed:
            if self.state.step == "copying" or not paths:
                return
            self.state = CopyState(step="copying", total=len(paths))
        threading.Thread(target=self._run, args=(paths,), daemon=True).start()

    def wait(self, known: str, seconds: float) -> CopyState:
        """Return the state as soon as its step is another one than is known."""
        with self._changed:
            self._changed.wait_for(lambda: self.state.step != known, seconds)
            return self.state

    def close(self) -> None:
        """Stop after the file that is copied now."""
        self._is_closed = True

    def _run(self, paths: Sequence[str]) -> None:
        try:
            for at, path in enumerate(paths):
                if self._is_closed:
                    return
                self._copy(path)
                self._set(done=at + 1)
            self._set(step="ready")
        except Exception as error:  # noqa: BLE001 the boundary of a thread: the page says it
            self._set(step="failed")
            log_event("inspector.failed", fault=type(error).__name__)

    def _set(self, **changes: object) -> None:
        with self._changed:
            self.state = replace(self.state, **changes)
            self._changed.notify_all()
