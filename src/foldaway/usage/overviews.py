"""One look at everything that the agents of a machine used, kept and lost."""

from __future__ import annotations

import os
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldaway.caching import PriceList
from foldaway.usage.reading import Judgement
from foldaway.usage.record import SpentSession
from foldaway.usage.sums import (
    CacheFigures,
    CountedAnswer,
    UsageRow,
    add_up,
    cache_figures,
    root_of,
)

SHOWN_SHARES = 8
"""Kinds of content that are named; the rest is one row."""


class PromptShare(Struct, frozen=True):
    """A kind of content, and what share of all prompts it was."""

    name: str
    tokens: int
    """Estimated, counted each time it was sent."""
    share: float


class ReplayedSession(Struct, frozen=True, kw_only=True):
    """A session that was replayed, in dollars: the bill times what Foldaway changes in a replay."""

    agent: str
    source_id: str
    paid: float
    """By what the agent recorded: the baseline."""
    replayed: float
    replayed_with_foldaway: float
    expected: float
    """What it would have cost with Foldaway."""


class Overview(Struct, frozen=True, kw_only=True):
    """Everything that `foldaway` shows."""

    total: UsageRow
    first: float | None
    last: float | None
    weeks: list[UsageRow]
    agents: list[UsageRow]
    projects: list[UsageRow]
    models: list[UsageRow]
    prompts: list[PromptShare]
    read_again: int
    """Files that were read again, unchanged, while they were still in the prompt."""
    read_again_tokens: int
    read_after_compaction: int
    """Files that were read again because a compaction had dropped them."""
    read_after_compaction_tokens: int
    cache: CacheFigures
    judged_compactions: int
    """Compactions of the agents of which it is known what they dropped."""
    files_used_later: int
    files_named: int
    """Of the files that the agents used after a compaction, those that its summary names."""
    replayed: list[ReplayedSession]
    """The largest recent sessions, the dearest first, if they have a bill."""
    commands: list[str]
    not_read: int
    """Files that could not be read."""

    @property
    def paid(self) -> float:
        """What the sessions that were replayed cost, by what the agents recorded."""
        return sum(one.paid for one in self.replayed)

    @property
    def expected(self) -> float:
        """What they would have cost with Foldaway."""
        return sum(one.expected for one in self.replayed)


def overview(
    sessions: Sequence[SpentSession],
    rows: Sequence[CountedAnswer],
    judged: Sequence[Judgement],
    prices: PriceList,
    *,
    problems: int = 0,
    is_stored: bool = False,
) -> Overview:
    """Return the whole picture; `is_stored` tells whether sessions were imported before."""
    times = [row.time for row in rows if row.time is not None]
    prompts = [one.prompts for one in sessions]
    return Overview(
        total=next(iter(add_up(rows, "all")), UsageRow()),
        first=min(times, default=None),
        last=max(times, default=None),
        weeks=add_up(rows, "week"),
        agents=_with_silent(add_up(rows, "all", "agent"), sessions),
        projects=add_up(rows, "all", "project"),
        models=add_up(rows, "all", "model"),
        prompts=prompt_shares(sessions),
        cache=cache_figures(rows, prices),
        read_again=sum(one.read_again for one in prompts),
        read_again_tokens=sum(one.read_again_tokens for one in prompts),
        read_after_compaction=sum(one.read_after for one in prompts),
        read_after_compaction_tokens=sum(one.read_after_tokens for one in prompts),
        judged_compactions=sum(one.compactions for one in judged),
        files_used_later=sum(one.used_later for one in judged),
        files_named=sum(one.named for one in judged),
        replayed=replayed_sessions(rows, judged),
        commands=commands_for(rows, is_stored=is_stored),
        not_read=problems,
    )


def replayed_sessions(
    rows: Iterable[CountedAnswer], judged: Iterable[Judgement]
) -> list[ReplayedSession]:
    """Return the sessions that were replayed and have a bill, the dearest first.

    A replay has estimated tokens, a cache that stays warm and today's prices, so its dollars are
    not those of the bill. Only the quotient of two replays is used.
    """
    paid: defaultdict[tuple[str, str], float] = defaultdict(float)
    for row in rows:
        paid[row.session.key] += row.cost or 0.0
    found = [
        ReplayedSession(
            agent=one.agent,
            source_id=one.source_id,
            paid=round(bill, 6),
            replayed=one.usd_as_it_was,
            replayed_with_foldaway=one.usd_with_foldaway,
            expected=round(bill * one.usd_with_foldaway / one.usd_as_it_was, 6),
        )
        for one in judged
        if one.usd_as_it_was > 0 and (bill := paid[one.agent, one.source_id]) > 0
    ]
    return sorted(found, key=lambda one: -one.paid)


def _with_silent(found: list[UsageRow], sessions: Iterable[SpentSession]) -> list[UsageRow]:
    """Return the agents with all their sessions, also those that say nothing about usage."""
    by_key = {one.key: one for one in sessions}
    counts = Counter(one.agent for one in by_key.values() if root_of(one, by_key) is one)
    rows = [replace(row, sessions=counts.pop(str(row.agent), 0)) for row in found]
    return [*rows, *(UsageRow(agent=name, sessions=count) for name, count in counts.items())]


def prompt_shares(sessions: Iterable[SpentSession]) -> list[PromptShare]:
    """Return what the prompts held, the largest first; `Read` and `read` are one tool."""
    tokens: Counter[str] = Counter()
    names: dict[str, str] = {}
    for one in sessions:
        for name, count in one.prompts.shares.items():
            tokens[names.setdefault(name.casefold(), name)] += count
    whole = sum(tokens.values())
    named = tokens.most_common(SHOWN_SHARES)
    rest = whole - sum(count for _, count in named)
    rows = [*named, *([("everything else", rest)] if rest else [])]
    return [PromptShare(name, count, round(count / whole, 4)) for name, count in rows if whole]


def commands_for(rows: Sequence[CountedAnswer], *, is_stored: bool) -> list[str]:
    """Return three commands that go on from here."""
    costs: Counter[str] = Counter()
    for row in rows:
        costs[row.session.path] += round(1e6 * (row.cost or 0)) + row.answer.input_tokens
    dearest = next((path for path, _ in costs.most_common() if "#" not in path), "")
    rest = dearest.removeprefix(os.path.expanduser("~/"))
    path = f"~/{shlex.quote(rest)}" if rest != dearest else shlex.quote(dearest)
    first = "foldaway usage --by session" if len(rows) > 1 else "foldaway usage"
    look = f"foldaway inspect {path}" if dearest else "foldaway sessions list"
    find = 'foldaway search "error"' if is_stored else "foldaway import"
    return [first, look, find]
