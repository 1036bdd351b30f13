"""What the rest of a session costs from a view on, beside going on with everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.caching.prices import Bill, Prices, bill
from holdfast.lab.scoring.render import agent_text, is_system, render, render_all, spoken
from holdfast.lab.scoring.score import Case
from holdfast.lab.scoring.session import Message
from holdfast.lab.scoring.shown import Shown
from holdfast.tokens.estimate import estimate_text

DEFAULT_PRICES = Prices(
    input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0,
    min_cached_tokens=0, source="the usual ratios: cache reads 0.1, writes 1.25, output 5 × input",
)  # fmt: skip


def cost_ratio(shown: Shown, case: Case, prices: Prices = DEFAULT_PRICES) -> float | None:
    """Return the price of all later calls after a compaction, over the price without one.

    Without one, all that was said is in the cache. After one, only what the view begins with as
    the history did is, and the rest is written into it first. Above 1 it cost more than it saved;
    None where no call follows.
    """
    sizes = [(agent_text(message), _size(message)) for message in case.later]
    outside = sum(map(_size, filter(is_system, case.messages)))
    same = len(render_all(spoken(_same_start(shown.messages, case.messages))))
    cached = outside + int(shown.tokens * same / max(len(shown.text), 1))
    with_it = _rest(cached, outside + shown.tokens, sizes, prices)
    without = outside + case.tokens
    base = _rest(without, without, sizes, prices)
    return with_it.usd / base.usd if base.usd else None


def _same_start(view: Sequence[Message], history: Sequence[Message]) -> Iterator[Message]:
    """Yield the messages with which a view begins as the history does."""
    for one, other in zip(view, history, strict=False):
        if one != other:
            return
        yield one


def _size(message: Message) -> int:
    return estimate_text(render(message))


def _rest(
    cached_tokens: int, prompt_tokens: int, later: Sequence[tuple[bool, int]], prices: Prices
) -> Bill:
    """Return the bill of the calls that wrote the agent's messages; a run of them is one call."""
    total, was_agent = Bill(), False
    for is_agent, tokens in later:
        if is_agent and not was_agent:
            total += bill(prices, prompt_tokens, cached_tokens)
            cached_tokens = prompt_tokens
        if is_agent:
            total += Bill(output_tokens=tokens, output_usd=tokens * prices.output / 1e6)
        prompt_tokens += tokens
        was_agent = is_agent
    return total
