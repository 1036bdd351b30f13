"""One look at everything that the agents of a machine used, kept and lost."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldaway.caching import PriceList
from foldaway.usage.counting import CountedAnswer
from foldaway.usage.reading import Judgement
from foldaway.usage.record import PromptFigures, SpentSession
from foldaway.usage.sums import CacheFigures, UsageRow, add_up_each, cache_figures

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
    sessions: Iterable[SpentSession],
    rows: Iterable[CountedAnswer],
    judged: Sequence[Judgement],
    prices: PriceList,
    *,
    problems: int = 0,
    is_stored: bool = False,
) -> Overview:
    """Return the whole picture; `is_stored` tells whether sessions were imported before."""
    found = add_up_each(
        rows,
        [("all", None), ("all", "agent"), ("week", None), ("all", "project"), ("all", "model")],
    )
    (whole, *_), agents, weeks, projects, models = found if found[0] else ([UsageRow()], *found[1:])
    silent, prompts = _look_at(sessions)
    agents = _with_silent(agents, silent)
    first, last, dearest = _look_over(rows)
    return Overview(
        total=replace(whole, sessions=sum(row.sessions for row in agents)),
        first=first,
        last=last,
        weeks=weeks,
        agents=agents,
        projects=projects,
        models=models,
        prompts=prompt_shares(prompts.shares),
        cache=cache_figures(rows, prices),
        read_again=prompts.read_again,
        read_again_tokens=prompts.read_again_tokens,
        read_after_compaction=prompts.read_after,
        read_after_compaction_tokens=prompts.read_after_tokens,
        judged_compactions=sum(one.compactions for one in judged),
        files_used_later=sum(one.used_later for one in judged),
        files_named=sum(one.named for one in judged),
        replayed=replayed_sessions(rows, judged),
        commands=_commands_for(dearest, whole.requests, is_stored=is_stored),
        not_read=problems,
    )


def replayed_sessions(
    rows: Iterable[CountedAnswer], judged: Sequence[Judgement]
) -> list[ReplayedSession]:
    """Return the sessions that were replayed and have a bill, the dearest first.

    A replay has estimated tokens, a cache that stays warm and today's prices, so its dollars are
    not those of the bill. Only the quotient of two replays is used.
    """
    paid = {(one.agent, one.source_id): 0.0 for one in judged}
    for row in rows if paid else ():
        if row.session.key in paid:
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


def _look_over(rows: Iterable[CountedAnswer]) -> tuple[float | None, float | None, str]:
    """Return the first and the last moment, and the file of the dearest session of a file."""
    first = last = None
    costs: Counter[str] = Counter()
    for row in rows:
        time = row.time
        if time is not None:
            first = time if first is None else min(first, time)
            last = time if last is None else max(last, time)
        if not row.session.is_stored:
            costs[row.session.path] += round(1e6 * (row.cost or 0)) + row.answer.input_tokens
    return first, last, next((path for path, _ in costs.most_common(1)), "")


def _look_at(sessions: Iterable[SpentSession]) -> tuple[Counter[str], PromptFigures]:
    """Return how many sessions of each agent a person began, and what all prompts held."""
    begun: dict[tuple[str, str], str | None] = {}
    tokens, sums = Counter[str](), [0, 0, 0, 0]
    for one in sessions:
        own = one.prompts
        figures = own.read_again, own.read_again_tokens, own.read_after, own.read_after_tokens
        sums = [a + b for a, b in zip(sums, figures, strict=True)]
        tokens.update(own.shares)
        begun[one.key] = one.parent_id if one.is_subagent else None
    counts = Counter(
        agent
        for (agent, name), parent in begun.items()
        if parent is None or parent == name or (agent, parent) not in begun
    )
    again, again_tokens, after, after_tokens = sums
    return counts, PromptFigures(
        shares=tokens,
        read_again=again,
        read_again_tokens=again_tokens,
        read_after=after,
        read_after_tokens=after_tokens,
    )


def _with_silent(found: list[UsageRow], counts: Counter[str]) -> list[UsageRow]:
    """Return the agents with all their sessions, also those that say nothing about usage."""
    rows = [replace(row, sessions=counts.pop(str(row.agent), 0)) for row in found]
    return [*rows, *(UsageRow(agent=name, sessions=count) for name, count in counts.items())]


def prompt_shares(shares: Mapping[str, int]) -> list[PromptShare]:
    """Return what the prompts held, the largest first; `Read` and `read` are one tool."""
    tokens: Counter[str] = Counter()
    names: dict[str, str] = {}
    for name, count in shares.items():
        tokens[names.setdefault(name.casefold(), name)] += count
    whole = sum(tokens.values())
    named = tokens.most_common(SHOWN_SHARES)
    rest = whole - sum(count for _, count in named)
    rows = [*named, *([("everything else", rest)] if rest else [])]
    return [PromptShare(name, count, round(count / whole, 4)) for name, count in rows if whole]


def _commands_for(dearest: str, requests: int, *, is_stored: bool) -> list[str]:
    """Return three commands that go on from here."""
    rest = dearest.removeprefix(os.path.expanduser("~/"))
    path = f"~/{shlex.quote(rest)}" if rest != dearest else shlex.quote(dearest)
    first = "foldaway usage --by session" if requests > 1 else "foldaway usage"
    look = f"foldaway inspect {path}" if dearest else "foldaway sessions list"
    find = 'foldaway search "error"' if is_stored else "foldaway import"
    return [first, look, find]
