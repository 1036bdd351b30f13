"""Answers with their price, added up by day, week or month and by any key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from sys import intern
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from foldaway.caching import PriceList, RequestUsage, Ttl
from foldaway.usage.counting import CountedAnswer
from foldaway.usage.record import SpentAnswer, SpentSession

_UNITS = ((1e9, "B"), (1e6, "M"), (1e3, "k"))


def full(number: int) -> str:
    """Return a number with all its digits."""
    return f"{number:,}"


def short(number: float) -> str:
    """Return a number in at most five characters: 950, 1.2k, 34k, 5.6M."""
    for size, unit in _UNITS:
        if number >= size * 0.9995:
            value = number / size
            digits = 1 if value < 9.95 or (value < 99.95 and unit != "k") else 0
            return f"{value:.{digits}f}{unit}"
    return f"{number:.0f}"


def money(amount: float) -> str:
    """Return dollars in cents; what is less than one is said so."""
    return "<$0.01" if 0 < amount < 0.005 else f"${amount:,.2f}"


def short_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return folders by their last part, with as many more as tell them apart."""
    waiting, depth, names = set(paths), 1, dict[str, str]()
    while waiting:
        ends: dict[str, list[str]] = {}
        for path in waiting:
            parts = [part for part in path.replace("\\", "/").split("/") if part]
            ends.setdefault("/".join(parts[-depth:]) or "unknown", []).append(path)
        for end, same in ends.items():
            if len(same) == 1 or depth > max(path.count("/") for path in same):
                names |= dict.fromkeys(same, end)
        waiting -= names.keys()
        depth += 1
    return names


Period: TypeAlias = Literal["day", "week", "month", "all"]
Key: TypeAlias = Literal["agent", "project", "session", "model"]
_PAUSE_SECONDS = 300
"""How long providers keep a prefix by default."""


_QUARTER_SECONDS = 900
"""Midnight of every zone is at a quarter of an hour, so a quarter has one day."""


class UsageSum(Struct):
    """What some requests used together: everything that adds up requests does it here."""

    requests: int = 0
    input_tokens: int = 0
    """The whole prompts, cached parts included."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    """Requests whose price nobody knows; they are not in the cost."""
    compactions: int = 0
    """Requests that follow a compaction."""

    def add(self, one: RequestUsage, cost: float | None, *, is_compacted: bool = False) -> None:
        """Count one more request."""
        self.requests += 1
        self.input_tokens += one.input_tokens
        self.output_tokens += one.output_tokens
        self.cache_read_tokens += one.cache_read_tokens
        self.cache_write_tokens += one.cache_write_tokens
        self.cost += cost or 0.0
        self.unpriced += cost is None
        self.compactions += is_compacted

    def join(self, other: UsageSum) -> None:
        """Add what others used."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def tokens(self) -> int:
        """All that was sent and answered."""
        return self.input_tokens + self.output_tokens

    @property
    def hit_rate(self) -> float:
        """The share of the prompts that came out of the cache."""
        return self.cache_read_tokens / self.input_tokens if self.input_tokens else 0.0

    @property
    def known_cost(self) -> float | None:
        """The cost; None if no price is known."""
        return self.cost if self.requests > self.unpriced else None

    @property
    def dollars(self) -> str:
        """The cost for people; `?` if no price is known, `+` if some are not."""
        return _dollars(self.requests, self.unpriced, self.cost)


def _dollars(requests: int, unpriced: int, cost: float) -> str:
    if requests == unpriced:
        return "?" if requests else ""
    return money(cost) + ("+" if unpriced else "")


class UsageRow(Struct, frozen=True, kw_only=True):
    """Answers added up; `input_tokens` are those that neither came from nor went to the cache."""

    period: str | UnsetType = UNSET
    """The day, the Monday of the week, or the month; "" if the files do not say."""
    agent: str | UnsetType = UNSET
    project: str | UnsetType = UNSET
    session: str | UnsetType = UNSET
    """The id that the agent gave."""
    stored: str | UnsetType = UNSET
    """The id in the store; "" if it is not there."""
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

    @property
    def dollars(self) -> str:
        """The cost for people; `?` if no price is known, `+` if some are not."""
        return _dollars(self.requests, self.unpriced_requests, self.cost)

    def key(self, by: Key | None) -> str:
        """Return what it is the sum of."""
        value = getattr(self, by) if by else ""
        return "" if isinstance(value, UnsetType) else str(value)


class _Group(Struct):
    """Answers that are added up together, without the answers."""

    first: CountedAnswer
    whole: UsageSum
    roots: set[int]
    models: set[str]
    alone: int = 0
    """Roots that are not in the set, because their answers come in a row."""
    last: SpentSession | None = None


def add_up(rows: Iterable[CountedAnswer], period: Period, by: Key | None = None) -> list[UsageRow]:
    """Return the sums by period and key: periods in order, keys with the dearest first."""
    (found,) = add_up_each(rows, [(period, by)])
    return found


def add_up_each(
    rows: Iterable[CountedAnswer], wanted: Sequence[tuple[Period, Key | None]]
) -> list[list[UsageRow]]:
    """Return several of these sums; the answers are looked at once."""
    tables: list[tuple[Callable[[float | None], str], Key | None, dict[Any, _Group]]]
    tables = [(_namer_of(period), by, {}) for period, by in wanted]
    for row in rows:
        answer, cost, time = row.answer, row.cost, row.time
        for name, by, groups in tables:
            where = name(time), key_of(row, by)
            group = groups.get(where)
            if group is None:
                group = groups[where] = _Group(row, UsageSum(), set(), set())
            group.whole.add(answer, cost, is_compacted=answer.follows_compaction)
            if not row.is_alone:
                group.roots.add(id(row.root))
            elif group.last is not row.root:
                group.last, group.alone = row.root, group.alone + 1
            group.models.add(answer.model)
    return [
        sorted(
            (_row_of(group, period, by, where[0]) for where, group in groups.items()),
            key=lambda row: (str(row.period), -row.cost, -row.total_tokens),
        )
        for (period, _), (_, by, groups) in zip(wanted, tables, strict=True)
    ]


def _namer_of(period: Period) -> Callable[[float | None], str]:
    """Return what names the period of a moment; each quarter of an hour is looked up once."""
    if period == "all":
        return lambda time: ""
    names: dict[float | None, str] = {}

    def name(time: float | None) -> str:
        quarter = None if time is None else time // _QUARTER_SECONDS
        found = names.get(quarter)
        if found is None:
            found = names[quarter] = intern(period_of(time, period))
        return found

    return name


def key_of(row: CountedAnswer, by: Key | None) -> Hashable:
    """Return what an answer is added up under."""
    match by:
        case None:
            return ""
        case "model":
            return row.answer.model
        case "session":
            return row.root.key
        case "agent" | "project":
            return getattr(row.root, by)


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


def _row_of(group: _Group, period: Period, by: Key | None, when: str) -> UsageRow:
    """Return a group named by its period and its key, which its answers share."""
    whole, root = group.whole, group.first.root
    named: dict[str, str] = {}
    if by == "session":
        named = {
            "session": root.source_id,
            "title": root.title,
            "agent": root.agent,
            "project": root.project,
        }
    elif by:
        named = {by: str(key_of(group.first, by))}
    return UsageRow(
        period=UNSET if period == "all" else when,
        **named,
        requests=whole.requests,
        sessions=len(group.roots) + group.alone,
        input_tokens=max(
            whole.input_tokens - whole.cache_read_tokens - whole.cache_write_tokens, 0
        ),
        output_tokens=whole.output_tokens,
        cache_write_tokens=whole.cache_write_tokens,
        cache_read_tokens=whole.cache_read_tokens,
        total_tokens=whole.tokens,
        cost=round(whole.cost, 6),
        unpriced_requests=whole.unpriced,
        compactions=whole.compactions,
        models=tuple(sorted(group.models - {""})),
    )


def by_session(
    rows: Iterable[CountedAnswer], keys: Container[tuple[str, str]]
) -> dict[tuple[str, str], UsageSum]:
    """Return what each of some sessions used, with its subagents; what a subagent used is there
    twice.
    """
    found: defaultdict[tuple[str, str], UsageSum] = defaultdict(UsageSum)
    for row in rows:
        for key in {row.root.key, row.session.key}:
            if key in keys:
                found[key].add(row.answer, row.cost, is_compacted=row.answer.follows_compaction)
    return dict(found)


def by_day(rows: Iterable[CountedAnswer]) -> dict[str, UsageSum]:
    """Return what was used each day, in local time; under "" what has no date."""
    found: defaultdict[str, UsageSum] = defaultdict(UsageSum)
    name = _namer_of("day")
    for row in rows:
        day = found[name(row.time)]
        day.add(row.answer, row.cost, is_compacted=row.answer.follows_compaction)
    return dict(found)


class CacheFigures(Struct, frozen=True, kw_only=True):
    """How well the prompts were cached. A miss is a request with `missed_tokens` after another one
    of the same session and model.
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
    """Return how well prompts were cached; the answers of a session come in a row."""
    misses = missed = pauses = compactions = 0
    cost, whole, last, session = 0.0, UsageSum(), dict[str, SpentAnswer](), None
    for row in rows:
        one = row.answer
        if row.session is not session:
            session, last = row.session, {}
        whole.add(one, None)
        if one.is_total:
            continue
        before, last[one.model] = last.get(one.model), one
        lost = missed_tokens(before, one)
        if before is None or not lost:
            continue
        misses, missed = misses + 1, missed + lost
        cost += cost_of_miss(one.model, lost, prices)
        compactions += one.follows_compaction
        is_late = before.time and one.time and one.time - before.time >= _PAUSE_SECONDS
        pauses += bool(is_late and not one.follows_compaction)
    return CacheFigures(
        prompt_tokens=whole.input_tokens,
        read_tokens=whole.cache_read_tokens,
        misses=misses,
        missed_tokens=missed,
        missed_cost=round(cost, 6),
        after_pause=pauses,
        after_compaction=compactions,
    )


def missed_tokens(before: RequestUsage | None, one: RequestUsage) -> int:
    """Return how much less came out of the cache than for the request before, although the prompt
    was long enough for more.
    """
    if before is None:
        return 0
    return max(min(before.cache_read_tokens, one.input_tokens) - one.cache_read_tokens, 0)


def cost_of_miss(model: str, tokens: int, prices: PriceList, ttl: Ttl = "5m") -> float:
    """Return what it costs to send tokens again instead of reading them from the cache."""
    known = prices.of(model)
    if known is None:
        return 0.0
    written = known.cache_write_1h if ttl == "1h" else known.cache_write_5m
    return tokens * max(written - known.cache_read, 0) / 1e6
