"""Peers by name: installed where they are missing, asked, brought to a budget, stopped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from msgspec.structs import replace

from holdfast.errors import UnknownName
from holdfast.lab.peers.fit import Count, Fitted, fitted
from holdfast.lab.peers.install import interpreter
from holdfast.lab.peers.protocol import Failure, Request
from holdfast.lab.peers.table import MODES, PEERS
from holdfast.lab.peers.worker import Worker

_WORKERS = Path(__file__).parent / "workers"


class Peers:
    """The peers whose venvs are under one folder; one process for each peer, started when asked.

    Not to be shared between threads or processes: each makes its own, after `install`.
    """

    def __init__(self, folder: Path, *, timeout_seconds: float = 120.0) -> None:
        """Take the folder, in which each peer has one of its name."""
        self._folder = folder
        self._timeout_seconds = timeout_seconds
        self._workers: dict[str, Worker | Failure] = {}
        self._open = ExitStack()

    def __enter__(self) -> Peers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def install(self, name: str, tell: Callable[[str], None] = lambda _: None) -> Failure | None:
        """Make the venv of a peer where it is missing; return why that was not possible."""
        peer = PEERS[peer_of(name)]
        made = interpreter(self._folder / peer.name, peer.requirements, tell)
        return made if isinstance(made, Failure) else None

    def compress(self, name: str, request: Request, count: Count) -> Fitted | Failure:
        """Return what a peer, by its full name, leaves of a history within the request's budget.

        `count` says how large messages are; the mode of the request is set from the name.
        """
        peer, mode = peer_of(name), name.partition(":")[2]
        worker = self._worker(peer)
        if isinstance(worker, Failure):
            return worker
        return fitted(worker.ask, replace(request, mode=mode), count)

    def close(self) -> None:
        """Stop all workers."""
        self._open.close()
        self._workers.clear()

    def _worker(self, name: str) -> Worker | Failure:
        if name not in self._workers:
            made = interpreter(self._folder / name, PEERS[name].requirements)
            if not isinstance(made, Failure):
                command = [str(made), str(_WORKERS / f"drive_{name}.py")]
                worker = Worker(command, timeout_seconds=self._timeout_seconds)
                made = self._open.enter_context(worker)
            self._workers[name] = made
        return self._workers[name]


def peer_of(name: str) -> str:
    """Return the peer of a full name; raises `UnknownName`."""
    if name not in MODES:
        raise UnknownName("peer", name, MODES)
    return name.partition(":")[0]
