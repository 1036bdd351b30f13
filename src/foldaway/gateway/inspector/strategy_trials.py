"""Strategies tried on one session: what each keeps by the lab's measure, and what it would cost.

It takes half a minute for a million tokens, so it runs in a thread, one session at a time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway._core import log_event
from foldaway.agents.importers import ImportedSession
from foldaway.errors import FoldawayError
from foldaway.lab import SessionTrial, needed_for_trials, try_session
from foldaway.sessions import transcript_of
from foldaway.stores import SessionInfo, Store
from foldaway.usage import count_stored_session

_REMEMBERED = 8
"""Sessions whose trials are remembered; each is a few kilobytes."""

Step: TypeAlias = Literal["new", "waiting", "measuring", "replaying", "ready", "failed"]


class TrialState(Struct, frozen=True, kw_only=True):
    """How far a trial is."""

    step: Step = "new"
    done: int = 0
    total: int = 0
    said: str = ""
    """Why it failed."""


class Trials:
    """Trials by session; a new one waits for the one that runs."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock, self._turn = threading.Lock(), threading.Lock()
        self._states: OrderedDict[tuple[str, int], TrialState] = OrderedDict()
        self._results: dict[tuple[str, int], SessionTrial] = {}

    def state(self, info: SessionInfo) -> TrialState:
        """Return how far the trial of a session is; a session that grew is a new one."""
        return self._states.get(_key(info), TrialState())

    def result(self, info: SessionInfo) -> SessionTrial | None:
        """Return what came of it, None if it is not done."""
        return self._results.get(_key(info))

    def start(self, store: Store, info: SessionInfo, window_tokens: int | None) -> TrialState:
        """Begin, unless it was begun; what failed is tried again."""
        if missing := needed_for_trials():
            return TrialState(step="failed", said=missing)
        key = _key(info)
        with self._lock:
            if self._states.get(key, TrialState()).step not in ("new", "failed"):
                return self._states[key]
            self._states[key] = TrialState(step="waiting")
            while len(self._states) > _REMEMBERED:
                old, _ = self._states.popitem(last=False)
                self._results.pop(old, None)
        threading.Thread(
            target=self._run, args=(key, store, info, window_tokens), daemon=True
        ).start()
        return self._states[key]

    def _run(
        self, key: tuple[str, int], store: Store, info: SessionInfo, window_tokens: int | None
    ) -> None:
        def tell(step: Step, done: int = 0, total: int = 0, why: str = "") -> None:
            with self._lock:
                self._states[key] = TrialState(step=step, done=done, total=total, said=why)

        with self._turn:
            try:
                spent = count_stored_session(store, info, store.usage(info.id))
                session = _import_stored(store, info)
                found = try_session(session, spent.system_tokens, window_tokens, tell)
                with self._lock:
                    self._results[key] = found
                tell("ready")
            except FoldawayError as error:
                tell("failed", why=str(error))
            except Exception as error:  # noqa: BLE001 the boundary: the page says that it failed
                log_event("inspector.failed", fault=type(error).__name__)
                tell("failed", why="An error of the inspector. Nothing was changed.")


def _key(info: SessionInfo) -> tuple[str, int]:
    return info.id, info.length


def _import_stored(store: Store, info: SessionInfo) -> ImportedSession:
    """Return a session of a store as the lab reads those of files."""
    transcript = transcript_of(store, info)
    models = [turn.model for turn in store.usage(info.id) if turn.model]
    written = [at for at, one in enumerate(transcript.messages) if one.origin == "summary"]
    return ImportedSession(
        source_id=info.id,
        agent=info.source,
        path=info.id,  # pyright: ignore[reportArgumentType]
        transcript=transcript,
        entry_ids=(),
        times=(),
        summaries=tuple(written),
        model=models[-1] if models else info.model,
        cwd=info.cwd,
    )
