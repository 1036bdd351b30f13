"""Peers by name: installed if missing, asked, brought to a budget, stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway.errors import UnknownName
from foldaway.transcript import Payload
from peers.table import MODES, PEERS
from peers.worker import Answer, Failure, Reply, Request, Worker, interpreter

Count: TypeAlias = Callable[[Sequence[Payload]], int]
"""The tokens of messages as the lab counts them, system prompts left out."""

MOST_TRIES = 8
"""For each of the two rounds; eight halvings come to less than half a percent of the setting."""
_NEAR = 0.95
"""An answer with at least this share of the budget is near enough."""
_STEP = 0.02
"""A search between two settings that are this close, as a share, is over."""
_MISCOUNT = 4
"""How many of its own tokens a peer may count for one of ours."""
_WORKERS = Path(__file__).parent / "workers"


class Fitted(Struct, frozen=True):
    """The answer that came nearest, and its tokens."""

    answer: Answer
    tokens: int


def fit_to_budget(
    ask: Callable[[Request], Reply], request: Request, count: Count
) -> Fitted | Failure:
    """Return the largest answer within the budget, or the smallest if none is within it.

    A peer counts in tokens of its own, keeps whole messages, and has floors; so its setting is
    halved or doubled by what the last answer came to. If nothing fits, there is a second round
    with `pressed`. The first failure ends the search.
    """
    most = max(_MISCOUNT * count(request.messages), request.budget_tokens, 1)
    first = _round(ask, request, count, most)
    if isinstance(first, Failure) or first.tokens <= request.budget_tokens:
        return first
    second = _round(ask, replace(request, pressed=True), count, most)
    if isinstance(second, Failure):
        return second
    return min(first, second, key=lambda found: found.tokens)


def _round(
    ask: Callable[[Request], Reply], request: Request, count: Count, most: int
) -> Fitted | Failure:
    budget = request.budget_tokens
    low, high, setting = 0, most + 1, max(budget, 1)
    best: Fitted | None = None
    for _ in range(MOST_TRIES):
        outcome = ask(replace(request, budget_tokens=setting))
        if isinstance(outcome, Failure):
            return outcome
        tokens = count(outcome.messages)
        if best is None or _is_nearer(tokens, best.tokens, budget):
            best = Fitted(outcome, tokens)
        if tokens > budget:
            high = setting
        else:
            low = setting
        near = _NEAR * budget <= tokens <= budget
        if near or not outcome.moves or high - low <= _STEP * high:
            break
        setting = (low + high) // 2 if high <= most else min(2 * setting, most)
        if not low < setting < high:
            break
    assert best is not None
    return best


def _is_nearer(tokens: int, known: int, budget: int) -> bool:
    """Return whether a size is better than another: within the budget first, then the larger."""
    if tokens <= budget:
        return known > budget or tokens > known
    return tokens < known


class Peers:
    """The peers whose venvs are under one folder; one process for each peer, started when asked.

    It ends with this process. Not to be shared between threads or processes: each makes its own,
    after `install`.
    """

    def __init__(self, folder: Path) -> None:
        """Take the folder, in which each peer has one of its name."""
        self._folder = folder
        self._workers: dict[str, Worker | Failure] = {}

    def install(self, name: str, tell: Callable[[str], None] = lambda _: None) -> Failure | None:
        """Make the venv of a peer if it is missing; return why that was not possible."""
        peer = peer_of(name)
        made = interpreter(self._folder / peer, PEERS[peer].requirements, tell)
        return made if isinstance(made, Failure) else None

    def compress(self, name: str, request: Request, count: Count) -> Fitted | Failure:
        """Return what a peer, by its full name, leaves of a history within the request's budget.

        `count` says how large messages are; the mode of the request is set from the name.
        """
        peer, mode = peer_of(name), name.partition(":")[2]
        worker = self._worker(peer)
        if isinstance(worker, Failure):
            return worker
        return fit_to_budget(worker.ask, replace(request, mode=mode), count)

    def _worker(self, name: str) -> Worker | Failure:
        if name not in self._workers:
            made = interpreter(self._folder / name, PEERS[name].requirements)
            if not isinstance(made, Failure):
                made = Worker([str(made), str(_WORKERS / f"drive_{name}.py")])
            self._workers[name] = made
        return self._workers[name]


def peer_of(name: str) -> str:
    """Return the peer of a full name; raises `UnknownName`."""
    if name not in MODES:
        raise UnknownName("peer", name, tuple(MODES))
    return name.partition(":")[0]
