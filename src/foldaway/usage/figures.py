"""Answers counted once, with their price, added up by day, week or month and by any key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from foldaway.caching import PriceList
from foldaway.usage.numbers import money
from foldaway.usage.record import SpentAnswer, SpentSession

Period: TypeAlias = Literal["day", "week", "month", "all"]
Key: TypeAlias = Literal["agent", "project", "session", "model"]
_SAME_ANSWER_SECONDS = 600
"""A gateway and the agent behind it write the same answer down within minutes."""
_PAUSE_SECONDS = 300
"""How long providers keep a prefix by default."""


def cost_of(one: SpentAnswer, prices: PriceList) -> float | None:
    """Return what an answer costs, by the one rule of the price list."""
    return prices.cost(
        one.model, one.prompt_tokens, one.output_tokens, read_tokens=one.read_tokens,
        written_tokens=one.written_tokens, hour_tokens=one.hour_tokens, recorded=one.cost,
        is_total=one.is_total,
    )  # fmt: skip


class CountedAnswer(Struct, frozen=True):
    """An answer that counts, its session and its cost."""

    session: SpentSession
    root: SpentSession
    """The session that a person began: for a subagent the one that called it."""
    answer: SpentAnswer
    cost: float | None

    @property
    def time(self) -> float | None:
        """When it was written; the start of its session if the file does not say."""
        return self.answer.time or self.session.started


class UsageRow(Struct, frozen=True, kw_only=True):
    """Answers added up; `input_tokens` are those that neither came from nor went to the cache."""

    period: str | UnsetType = UNSET
    """The day, the Monday of the week, or the month; "" if the files do not say."""
    agent: str | UnsetType = UNSET
    project: str | UnsetType = UNSET
    session: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    requests: int = 0
    sessions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    total_tokens: int = 0
    cost: float = 0.0
    unpriced_requests: int = 0
    """Requests whose price nobody knows; they are not in the cost."""
    compactions: int = 0
    """Answers that follow a compaction of the agent."""
    models: tuple[str, ...] = ()


def count_once(
    native: Sequence[SpentSession], stored: Sequence[SpentSession], prices: PriceList
) -> list[CountedAnswer]:
    """Return every answer once, the oldest session first.

    Copies in resumed and forked files are left out, and so is what a gateway wrote down of an
    answer that the agent has in its own file.
    """
    order = sorted(native, key=lambda one: one.started or 0.0)
    late = sorted(stored, key=lambda one: one.started or 0.0)
    by_key = {one.key: one for one in (*late, *order)}
    seen: set[bytes] = set()
    found: list[CountedAnswer] = []
    times: defaultdict[tuple[int, ...], list[float]] = defaultdict(list)
    for at, session in enumerate((*order, *late)):
        root, parent = root_of(session, by_key), by_key.get((session.agent, session.parent_id))
        for answer in session.answers[_repeated(session, parent) :]:
            if answer.mark in seen:
                continue
            seen.add(answer.mark)
            when = answer.time or 0.0
            if at < len(order):
                times[answer.figures].append(when)
            elif _was_recorded(times.get(answer.figures, []), when):
                continue
            found.append(CountedAnswer(session, root, answer, cost_of(answer, prices)))
    return found


def root_of(
    session: SpentSession, by_key: Mapping[tuple[str, str], SpentSession]
) -> SpentSession:  # fmt: skip
    """Return the session that a subagent worked for in the end; the session itself for others."""
    seen = {session.key}
    while session.is_subagent:
        parent = by_key.get((session.agent, session.parent_id))
        if parent is None or parent.key in seen:
            break
        seen.add(parent.key)
        session = parent
    return session


def _repeated(session: SpentSession, parent: SpentSession | None) -> int:
    """Return how many answers at its start a fork took over from its parent."""
    if parent is None or parent is session or session.is_subagent:
        return 0
    same = 0
    for own, given in zip(session.answers, parent.answers, strict=False):
        if (own.model, own.figures) != (given.model, given.figures):
            break
        same += 1
    return same


def _was_recorded(times: list[float], time: float) -> bool:
    for at, other in enumerate(times):
        if abs(other - time) <= _SAME_ANSWER_SECONDS:
            del times[at]
            return True
    return False


def add_up(rows: Iterable[CountedAnswer], period: Period, by: Key | None = None) -> list[UsageRow]:
    """Return the sums by period and key: periods in order, keys with the dearest first."""
    groups: defaultdict[tuple[str, Hashable], list[CountedAnswer]] = defaultdict(list)
    for row in rows:
        groups[period_of(row.time, period), key_of(row, by)].append(row)
    found = [sum_of(groups[where], period, by, where[0]) for where in groups]
    return sorted(found, key=lambda row: (str(row.period), -row.cost, -row.total_tokens))


def key_of(row: CountedAnswer, by: Key | None) -> Hashable:
    """Return what an answer is added up under."""
    root = row.root
    keys: dict[str, Hashable] = {
        "agent": root.agent, "project": root.project, "model": row.answer.model,
        "session": root.key,
    }  # fmt: skip
    return keys[by] if by else ""


def period_of(time: float | None, period: Period) -> str:
    """Return the day, the Monday of the week, or the month of a moment, in local time."""
    if period == "all" or time is None:
        return ""
    try:
        day = datetime.fromtimestamp(time)
    except (OverflowError, OSError, ValueError):
        return ""
    if period == "week":
        day -= timedelta(days=day.weekday())
    return day.strftime("%Y-%m" if period == "month" else "%Y-%m-%d")


def sum_of(
    rows: Sequence[CountedAnswer], period: Period = "all", by: Key | None = None, when: str = ""
) -> UsageRow:  # fmt: skip
    """Return the sum of answers, named by their period and their key, which they share."""
    read = sum(row.answer.read_tokens for row in rows)
    written = sum(row.answer.written_tokens for row in rows)
    prompt = sum(row.answer.prompt_tokens for row in rows)
    output = sum(row.answer.output_tokens for row in rows)
    named: dict[str, str] = {}
    if by == "session":
        root = rows[0].root
        named = {"session": root.source_id, "title": root.title, "agent": root.agent,
                 "project": root.project}  # fmt: skip
    elif by:
        named = {by: str(key_of(rows[0], by))}
    return UsageRow(
        period=UNSET if period == "all" else when, **named, requests=len(rows),
        sessions=len({row.root.key for row in rows}),
        input_tokens=max(prompt - read - written, 0), output_tokens=output,
        cache_write_tokens=written, cache_read_tokens=read, total_tokens=prompt + output,
        cost=round(sum(row.cost or 0.0 for row in rows), 6),
        unpriced_requests=sum(row.cost is None for row in rows),
        compactions=sum(row.answer.follows_compaction for row in rows),
        models=tuple(sorted({row.answer.model for row in rows if row.answer.model})),
    )  # fmt: skip


def dollars(row: UsageRow) -> str:
    """Return the cost of a row; `?` if no price is known, `+` if some are not."""
    if row.requests == row.unpriced_requests:
        return "?" if row.requests else ""
    return money(row.cost) + ("+" if row.unpriced_requests else "")


class CacheFigures(Struct, frozen=True, kw_only=True):
    """How well the prompts were cached. A miss reads less than the request before it did, of the
    same session and model, although its prompt was long enough to read more.
    """

    prompt_tokens: int = 0
    read_tokens: int = 0
    misses: int = 0
    missed_tokens: int = 0
    missed_cost: float = 0.0
    after_pause: int = 0
    """Misses after five minutes or more of silence."""
    after_compaction: int = 0

    @property
    def hit_rate(self) -> float:
        """The share of the prompts that came out of the cache."""
        return self.read_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


def cache_figures(rows: Iterable[CountedAnswer], prices: PriceList) -> CacheFigures:
    """Return how well prompts were cached, session by session."""
    prompt = read = misses = missed = pauses = compactions = 0
    cost, last = 0.0, dict[tuple[int, str], SpentAnswer]()
    for row in rows:
        one, key = row.answer, (id(row.session), row.answer.model)
        prompt, read = prompt + one.prompt_tokens, read + one.read_tokens
        if one.is_total:
            continue
        before, last[key] = last.get(key), one
        lost = min(before.read_tokens, one.prompt_tokens) - one.read_tokens if before else 0
        if before is None or lost <= 0:
            continue
        misses, missed = misses + 1, missed + lost
        cost += _cost_of_miss(one.model, lost, prices)
        compactions += one.follows_compaction
        is_late = before.time and one.time and one.time - before.time >= _PAUSE_SECONDS
        pauses += bool(is_late and not one.follows_compaction)
    return CacheFigures(
        prompt_tokens=prompt, read_tokens=read, misses=misses, missed_tokens=missed,
        missed_cost=round(cost, 6), after_pause=pauses, after_compaction=compactions,
    )  # fmt: skip


def _cost_of_miss(model: str, tokens: int, prices: PriceList) -> float:
    """Return what it costs to send tokens again instead of reading them from the cache."""
    known = prices.of(model)
    return tokens * max(known.cache_write_5m - known.cache_read, 0) / 1e6 if known else 0.0
