"""Requests added up by session and by day, each looked at once."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from foldaway.usage import CountedAnswer, UsageRow, dollars, period_of

_QUARTER_SECONDS = 900
"""Midnight of every zone is at a quarter of an hour, so a quarter has one day."""


class AnswerSums(Struct):
    """What some requests used together."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    compactions: int = 0

    @property
    def dollars(self) -> str:
        """What they cost; `?` if no price is known, `+` if some are not."""
        return dollars(
            UsageRow(requests=self.requests, cost=self.cost, unpriced_requests=self.unpriced)
        )

    def add(self, row: CountedAnswer) -> None:
        """Count one more request."""
        answer = row.answer
        self.requests += 1
        self.tokens += answer.prompt_tokens + answer.output_tokens
        if row.cost is None:
            self.unpriced += 1
        else:
            self.cost += row.cost
        if answer.follows_compaction:
            self.compactions += 1

    def join(self, other: AnswerSums) -> None:
        """Add what others used."""
        self.requests += other.requests
        self.tokens += other.tokens
        self.cost += other.cost
        self.unpriced += other.unpriced
        self.compactions += other.compactions


def by_session(rows: Iterable[CountedAnswer]) -> dict[tuple[str, str], AnswerSums]:
    """Return what each session used, with its subagents; what a subagent used is there twice."""
    own: dict[int, AnswerSums] = {}
    sessions: dict[int, CountedAnswer] = {}
    for row in rows:
        at = id(row.session)
        if at not in own:
            own[at], sessions[at] = AnswerSums(), row
        own[at].add(row)
    found: dict[tuple[str, str], AnswerSums] = {}
    for at, sums in own.items():
        row = sessions[at]
        for key in {row.root.key, row.session.key}:
            found.setdefault(key, AnswerSums()).join(sums)
    return found


def by_day(rows: Iterable[CountedAnswer]) -> dict[str, AnswerSums]:
    """Return what was used each day, in local time; under "" what has no date."""
    quarters: dict[int | None, AnswerSums] = {}
    for row in rows:
        time = row.time
        at = None if time is None else int(time // _QUARTER_SECONDS)
        sums = quarters.get(at)
        if sums is None:
            sums = quarters[at] = AnswerSums()
        sums.add(row)
    found: dict[str, AnswerSums] = {}
    for at, sums in quarters.items():
        day = period_of(None if at is None else float(at * _QUARTER_SECONDS), "day")
        found.setdefault(day, AnswerSums()).join(sums)
    return found
