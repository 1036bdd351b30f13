"""Values that changed: a view that shows only the old one misleads."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.lab.scoring.session import Message
from holdfast.lab.scoring.signals import answered, same_command

_PAIR = re.compile(
    r"(?<![\w.])([A-Za-z_][\w-]{2,40})[\"']?\s?[:=]\s?[\"']?([\w$][\w.$%:/+-]{0,40})", re.ASCII
)
_LEAST_TIMES = 2


class Changed(Struct, frozen=True):
    """A name whose value another result of the same call gave anew."""

    name: str
    old: frozenset[str]
    newest: str


def changed_values(messages: Sequence[Message]) -> list[Changed]:
    """Return the names whose value differs between results of one call, said once in each.

    A name that results of other calls have too may mean something else there, and is left out.
    """
    told: dict[tuple[str, str], list[str]] = defaultdict(list)
    callers: dict[str, set[str]] = defaultdict(set)
    for command, _, result in answered(messages):
        pairs = list(_pairs(result))
        often = Counter(name for name, _ in pairs)
        caller = same_command(command)
        for name, value in pairs:
            callers[name].add(caller)
            if often[name] == 1:
                told[caller, name].append(value)
    return [
        Changed(name, frozenset(values) - {values[-1]}, values[-1])
        for (_, name), values in told.items()
        if len(values) >= _LEAST_TIMES and len(callers[name]) == 1 and len(set(values)) > 1
    ]


def stale_share(view: str, changed: Sequence[Changed]) -> float | None:
    """Return of the changed names that a view gives a value, how many have only old ones."""
    if not changed:
        return None
    shown: dict[str, set[str]] = defaultdict(set)
    for name, value in _pairs(view):
        shown[name].add(value)
    rows = [
        row.newest not in shown[row.name]
        for row in changed
        if shown.get(row.name, set[str]()) & (row.old | {row.newest})
    ]
    return sum(rows) / len(rows) if rows else None


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for found in _PAIR.finditer(text):
        yield found.group(1), found.group(2).rstrip(".:,/")
