"""Figures of a view that need more than the judge: search, prices, the rules of providers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from foldaway.caching import Bill, Prices
from foldaway.dialects import check, convert, load
from foldaway.errors import FoldawayError
from foldaway.lab.scoring.score import CutCase
from foldaway.lab.scoring.session import (
    JudgedView,
    Message,
    agent_text,
    is_system,
    render,
    render_all,
    without_system,
)
from foldaway.search import Wanted, parse_query
from foldaway.sessions import new_message, tool_names
from foldaway.stores import NewSession, open_store
from foldaway.transcript import estimate_text

FIRST_HITS = 5
"""A fact is within reach if one of this many hits has it: an agent reads the first ones."""
DEFAULT_PRICES = Prices(
    input=3.0,
    output=15.0,
    cache_read=0.3,
    cache_write_5m=3.75,
    cache_write_1h=6.0,
    min_cached_tokens=0,
    source="the usual ratios: cache reads 0.1, writes 1.25, output 5 × input",
)
PROVIDERS: Mapping[str, str] = {
    "openai-chat": "openai-chat",
    "strict": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}
"""The providers whose rules are asked, and the dialect that each speaks."""
_OPEN = "call-pending"
"""The last call may be open: the agent is at work."""


class Archive:
    """A session in a store that grows from cut to cut; what is later is not in it yet."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="foldaway-lab-")
        self._store = open_store(f"{self._folder.name}/lab.db")
        self._session = self._store.create(NewSession(dialect="openai-chat", started=0.0)).id
        self._length = 0
        self._known: dict[str, list[str]] = {}

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()
        self._folder.cleanup()

    def grow(self, messages: Sequence[Message]) -> None:
        """Hold these messages, which begin with those that are held already."""
        if len(messages) <= self._length:
            return
        self._known.clear()
        transcript = load(list(messages), dialect="openai-chat")
        names = tool_names(transcript.messages)
        self._store.append(
            self._session,
            [
                new_message(message, 0, names=names, time=float(at))
                for at, message in enumerate(transcript.messages)
                if at >= self._length
            ],
        )
        self._length = len(messages)

    def find(self, query: str) -> list[str]:
        """Return the texts of the first five hits."""
        if query not in self._known:
            wanted = Wanted(query=parse_query(query))
            hits = self._store.match(wanted, most=FIRST_HITS)
            self._known[query] = [hit.text for hit in hits]
        return self._known[query]


def cost_ratio(shown: JudgedView, case: CutCase, prices: Prices = DEFAULT_PRICES) -> float | None:
    """Return the price of all later calls after a compaction, over the price without one.

    Without one, all that was said is in the cache. After one, only what the view begins with as
    the history did is, and the rest is written into it first. Above 1 it cost more than it saved;
    None if no call follows.
    """
    sizes = [(agent_text(message), _size(message)) for message in case.later]
    outside = sum(map(_size, filter(is_system, case.messages)))
    same = len(render_all(without_system(_read_same_start(shown.messages, case.messages))))
    cached = outside + int(shown.tokens * same / max(len(shown.text), 1))
    with_it = _bill_agent_calls(cached, outside + shown.tokens, sizes, prices)
    without = outside + case.tokens
    base = _bill_agent_calls(without, without, sizes, prices)
    return with_it.usd / base.usd if base.usd else None


def _read_same_start(view: Sequence[Message], history: Sequence[Message]) -> Iterator[Message]:
    """Yield the messages with which a view begins as the history does."""
    for one, other in zip(view, history, strict=False):
        if one != other:
            return
        yield one


def _size(message: Message) -> int:
    return estimate_text(render(message))


def _bill_agent_calls(
    cached_tokens: int, prompt_tokens: int, later: Sequence[tuple[bool, int]], prices: Prices
) -> Bill:
    """Return the bill of the calls that wrote the agent's messages; a run of them is one call."""
    total, was_agent = Bill(), False
    for is_agent, tokens in later:
        if is_agent and not was_agent:
            total += prices.bill(prompt_tokens, cached_tokens)
            cached_tokens = prompt_tokens
        if is_agent:
            total += Bill(output_tokens=tokens, output_usd=tokens * prices.output / 1e6)
        prompt_tokens += tokens
        was_agent = is_agent
    return total


ViewFor: TypeAlias = Callable[[Any, str], Any]
"""Takes the messages in a provider's dialect and its name; gives its view for this provider."""


def find_broken_rules(messages: Sequence[Message]) -> dict[str, frozenset[str]]:
    """Return for each provider the rules that a history breaks before anybody touched it."""
    return {
        provider: frozenset(_broken_rules(_convert_to(messages, dialect), provider))
        for provider, dialect in PROVIDERS.items()
    }


def count_violations(
    view: Sequence[Message], before: Mapping[str, frozenset[str]]
) -> dict[str, int]:
    """Return for each provider how often a view breaks rules that the history kept.

    What cannot be put in a provider's words at all counts as one.
    """
    return {
        provider: sum(
            rule not in before[provider]
            for rule in _broken_rules(_convert_to(view, dialect), provider)
        )
        for provider, dialect in PROVIDERS.items()
    }


def count_provider_violations(make: ViewFor, messages: Sequence[Message]) -> dict[str, int]:
    """Return for each provider how often the view that was made for it breaks its rules."""
    found: dict[str, int] = {}
    for provider, dialect in PROVIDERS.items():
        given = _convert_to(messages, dialect)
        try:
            view = make(given, provider)
        except FoldawayError:
            view = None
        found[provider] = len(_broken_rules(view, provider))
    return found


def _convert_to(messages: Sequence[Message], dialect: str) -> Any:
    try:
        return convert(list(messages), dialect, dialect="openai-chat").messages
    except FoldawayError:
        return None


def _broken_rules(view: Any, provider: str) -> list[str]:
    if view is None:
        return ["unreadable"]
    try:
        return [row.rule for row in check(view, provider=provider) if row.rule != _OPEN]
    except FoldawayError:
        return ["unreadable"]
