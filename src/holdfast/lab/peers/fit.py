"""A peer brought to a budget: asked with its own setting until what it gives comes to the size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from holdfast.lab.peers.protocol import Answer, Failure, Outcome, Request
from holdfast.transcript import Payload

Count: TypeAlias = Callable[[Sequence[Payload]], int]
"""The tokens of messages as the lab counts them, system prompts left out."""

MOST_TRIES = 8
"""For each of the two rounds; eight halvings come to less than half a percent of the setting."""
_NEAR = 0.95
_STEP = 0.02
_MISCOUNT = 4
"""How many of its own tokens a peer may count for one of ours."""


class Fitted(Struct, frozen=True):
    """The answer that came nearest, its tokens, and how often the peer was asked."""

    answer: Answer
    tokens: int
    tries: int


def fitted(ask: Callable[[Request], Outcome], request: Request, count: Count) -> Fitted | Failure:
    """Return the largest answer within the budget, or the smallest where none is within it.

    A peer counts in tokens of its own, keeps whole messages, and has floors; so its setting is
    halved or doubled by what the last answer came to. Where nothing fits, there is a second round
    with `pressed`. The first failure ends the search.
    """
    most = max(_MISCOUNT * count(request.messages), request.budget_tokens, 1)
    first = _round(ask, request, count, most)
    if isinstance(first, Failure) or first.tokens <= request.budget_tokens:
        return first
    second = _round(ask, replace(request, pressed=True), count, most)
    if isinstance(second, Failure):
        return second
    best = min(first, second, key=lambda found: found.tokens)
    return replace(best, tries=first.tries + second.tries)


def _round(
    ask: Callable[[Request], Outcome], request: Request, count: Count, most: int
) -> Fitted | Failure:
    budget = request.budget_tokens
    low, high, setting = 0, most + 1, max(budget, 1)
    best: tuple[Answer, int] | None = None
    tries = 0
    while tries < MOST_TRIES and low < setting < high:
        outcome = ask(replace(request, budget_tokens=setting))
        if isinstance(outcome, Failure):
            return outcome
        tries += 1
        tokens = count(outcome.messages)
        if best is None or _nearer(tokens, best[1], budget):
            best = outcome, tokens
        if tokens > budget:
            high = setting
        else:
            low = setting
        near = _NEAR * budget <= tokens <= budget
        if near or not outcome.moves or high - low <= _STEP * high:
            break
        setting = (low + high) // 2 if high <= most else min(2 * setting, most)
    assert best is not None
    return Fitted(best[0], best[1], tries)


def _nearer(tokens: int, known: int, budget: int) -> bool:
    """Return whether a size is better than another: within the budget first, then the larger."""
    if tokens <= budget:
        return known > budget or tokens > known
    return tokens < known
