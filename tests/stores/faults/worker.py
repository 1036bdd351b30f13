"""A process that works on a store until it is stopped, and says on its output what is done.

    python worker.py WHERE TENANT NAME SEED [SECONDS]

Each line is written after the call returned, so whatever stands there was acknowledged:
`append SESSION KEY`, `commit SESSION NUMBER TAG`, `undo SESSION NUMBER`, `rotate PARENT CHILD TAG`.
Others may work on the same sessions; a refusal is part of the work.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from foldaway.errors import Conflict, LeaseLost, NothingToUndo
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import (
    Lease,
    NewMessage,
    NewSession,
    NewView,
    SessionFilter,
    SessionInfo,
)

_PADDING = (0, 50, 900, 6000)


class Worker:
    """One worker; `name` makes its keys and tags different from all others."""

    def __init__(
        self, store: Store, name: str, seed: int, acknowledge: Callable[[str], None]
    ) -> None:
        self.store = store
        self.acknowledge = acknowledge
        self.name = name
        self.random = random.Random(seed)
        self.count = 0

    def step(self) -> None:
        """Do one thing to one session that is in use."""
        session = self._session()
        steps = (self._append, self._commit, self._undo, self._rotate, self._index)
        with suppress(Conflict, LeaseLost, NothingToUndo):  # somebody else was first
            self.random.choices(steps, (12, 4, 1, 2, 1))[0](session)

    def _say(self, *words: str) -> None:
        self.acknowledge(" ".join(words))

    def _session(self) -> SessionInfo:
        live = [
            info
            for info in self.store.sessions(SessionFilter(), most=30).sessions
            if info.ended is None
        ]
        if len(live) < 2:
            return self.store.create(NewSession(dialect="x", title="Work"))
        return self.random.choice(live)

    def _tag(self) -> str:
        self.count += 1
        return f"{self.name}n{self.count}z"

    def _append(self, session: SessionInfo) -> None:
        tags = [self._tag() for _ in range(self.random.choice((1, 1, 3)))]
        padding = "x" * self.random.choice(_PADDING)
        messages = [
            NewMessage(body=f'"{tag} {padding}"'.encode(), role="user", text=f"{tag} word", key=tag)
            for tag in tags
        ]
        self.store.append(session.id, messages)
        for tag in tags:
            self._say("append", session.id, tag)

    def _commit(self, session: SessionInfo) -> None:
        lease = self.store.acquire(session.id, self.name, 5.0)
        if isinstance(lease, Lease):
            view, tag = self._view(session)
            info = self.store.commit(session.id, view, expect=session.view, fence=lease.fence)
            self._say("commit", session.id, str(info.view), tag)
            self.store.release(lease)

    def _undo(self, session: SessionInfo) -> None:
        info = self.store.undo(session.id, expect=session.view)
        self._say("undo", session.id, str(info.view))

    def _rotate(self, session: SessionInfo) -> None:
        view, tag = self._view(session)
        child = self.store.rotate(session.id, NewSession(dialect="x"), view, expect=session.view)
        self._say("rotate", session.id, child.id, tag)

    def _index(self, session: SessionInfo) -> None:
        self.store.complete_index(20)

    def _view(self, session: SessionInfo) -> tuple[NewView, str]:
        tag = self._tag()
        length = self.random.randint(0, session.length)
        return NewView(items=b"items " + tag.encode(), length=length, state=tag.encode()), tag


def say(line: str) -> None:
    """Acknowledge, in one write."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Work for so many seconds, or until killed."""
    where, tenant, name, seed, *rest = sys.argv[1:]
    deadline = time.monotonic() + (float(rest[0]) if rest else 1e9)
    worker = Worker(open_store(where, tenant=tenant), name, int(seed), say)
    while time.monotonic() < deadline:
        worker.step()
    say("end")


if __name__ == "__main__":
    main()
