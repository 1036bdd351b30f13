"""What an answer used, read from the reports that agents write, each under its own names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foldaway._core import read_table
from foldaway.agents.importers.files import fields, seconds, text
from foldaway.agents.importers.imported import AnswerUsage
from foldaway.transcript import Payload

_NAMES = read_table("usage", dict[str, tuple[str, ...]], "foldaway.agents.importers")
"""The names of each figure in the reports of providers and agents; a dot leads into an object."""
_PLACES = {
    name: (figure, rank) for figure, names in _NAMES.items() for rank, name in enumerate(names)
}
_COSTS = ("cost", "cost.total", "actual_cost_usd", "estimated_cost_usd", "instance_cost")
_MOST_TOKENS = 10**12
"""A figure above is no count of tokens, and a store could not hold it."""


def usage_of(
    report: Any, *, model: str = "", time: Any = None, cost: Any = None, cached_apart: bool = False
) -> AnswerUsage | None:
    """Return what a report says; None if it has no figure above zero.

    `cached_apart`: the prompt does not count what was read from and written to the cache. Whether
    the output counts the reasoning is seen from the total, if there is one.
    """
    given = fields(report)
    if not given:
        return None
    figures = _figures(given)
    total = figures.pop("total_tokens")
    if cached_apart:
        figures["input_tokens"] += figures["cache_read_tokens"] + figures["cache_write_tokens"]
    spoken = figures["input_tokens"] + figures["output_tokens"]
    if total == spoken + figures["reasoning_tokens"]:
        figures["output_tokens"] += figures["reasoning_tokens"]
    if not any(figures.values()):
        return None
    paid = next((found for name in _COSTS if (found := _number(_at(given, name)))), None)
    return AnswerUsage(
        model=model or text(given.get("model")),
        time=seconds(time),
        cost=_number(cost) or paid,
        **figures,
    )


def convert_usage(report: Any) -> Payload | None:
    """Return a report of Pi or OpenCode under Anthropic's names, None if it has no figures."""
    found = usage_of(report, cached_apart=True)
    if found is None:
        return None
    cached = found.cache_read_tokens + found.cache_write_tokens
    return {
        "input_tokens": found.input_tokens - cached,
        "output_tokens": found.output_tokens,
        "cache_read_input_tokens": found.cache_read_tokens,
        "cache_creation_input_tokens": found.cache_write_tokens,
    }


def _figures(report: Mapping[str, Any]) -> dict[str, int]:
    """Return each figure by the first of its names that has one above zero; 0 without."""
    best: dict[str, tuple[int, int]] = dict.fromkeys(_NAMES, (len(_PLACES), 0))
    for name, value in _flat(report):
        if name in _PLACES and type(value) is int and 0 < value < _MOST_TOKENS:
            figure, rank = _PLACES[name]
            best[figure] = min(best[figure], (rank, value))
    return {figure: value for figure, (_, value) in best.items()}


def _flat(report: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in report.items():
        if type(value) is dict:
            yield from ((f"{name}.{inner}", one) for inner, one in fields(value).items())
        else:
            yield name, value


def _at(report: Mapping[str, Any], name: str) -> Any:
    head, _, rest = name.partition(".")
    found = report.get(head)
    return fields(found).get(rest) if rest else found


def _number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and 0 < value < _MOST_TOKENS else None
