"""Answers counted once, with their price, added up by day, week or month and by any key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from foldaway.caching import PriceList, RequestUsage, Ttl
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
_SAME_ANSWER_SECONDS = 600
"""A gateway and the agent behind it write the same answer down within minutes."""
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


class CountedAnswer(Struct, frozen=True, gc=False):
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
            found.append(
                CountedAnswer(session, root, answer, prices.cost(answer, is_total=answer.is_total))
            )
    return found


def root_of(session: SpentSession, by_key: Mapping[tuple[str, str], SpentSession]) -> SpentSession:
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


class _Group(Struct):
    """Answers that are added up together, without the answers."""

    first: CountedAnswer
    whole: UsageSum
    roots: set[tuple[str, str]]
    models: set[str]


def add_up(rows: Iterable[CountedAnswer], period: Period, by: Key | None = None) -> list[UsageRow]:
    """Return the sums by period and key: periods in order, keys with the dearest first."""
    groups: dict[tuple[str, Hashable], _Group] = {}
    name = _namer_of(period)
    for row in rows:
        where = name(row.time), key_of(row, by)
        group = groups.get(where)
        if group is None:
            group = groups[where] = _Group(row, UsageSum(), set(), set())
        group.whole.add(row.answer, row.cost, is_compacted=row.answer.follows_compaction)
        group.roots.add(row.root.key)
        group.models.add(row.answer.model)
    found = [_row_of(groups[where], period, by, where[0]) for where in groups]
    return sorted(found, key=lambda row: (str(row.period), -row.cost, -row.total_tokens))


def _namer_of(period: Period) -> Callable[[float | None], str]:
    """Return what names the period of a moment; each quarter of an hour is looked up once."""
    names: dict[float | None, str] = {}

    def name(time: float | None) -> str:
        quarter = None if time is None else time // _QUARTER_SECONDS
        found = names.get(quarter)
        if found is None:
            found = names[quarter] = period_of(time, period)
        return found

    return name


def key_of(row: CountedAnswer, by: Key | None) -> Hashable:
    """Return what an answer is added up under."""
    root = row.root
    keys: dict[str, Hashable] = {
        "agent": root.agent,
        "project": root.project,
        "model": row.answer.model,
        "session": root.key,
    }
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
        sessions=len(group.roots),
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
    """Return how well prompts were cached, session by session."""
    misses = missed = pauses = compactions = 0
    cost, whole, last = 0.0, UsageSum(), dict[tuple[int, str], SpentAnswer]()
    for row in rows:
        one, key = row.answer, (id(row.session), row.answer.model)
        whole.add(one, None)
        if one.is_total:
            continue
        before, last[key] = last.get(key), one
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
