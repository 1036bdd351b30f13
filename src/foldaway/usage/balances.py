"""What each compaction cost and saved, by what providers counted; and what all of them saved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self, cast

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Report
from foldaway.caching import TTL_SECONDS, PriceList, usd, window_of
from foldaway.errors import UnknownSession
from foldaway.sessions import ViewRow, name_in_words
from foldaway.stores import SessionInfo, Store, StoredView, TurnUsage
from foldaway.usage.sums import money


class Spared(Struct, frozen=True):
    """By how much each prompt was smaller since a compaction, and how that is known."""

    tokens: int
    is_measured: bool
    """Whether the provider counted both prompts; otherwise it is an estimate."""


class StepBalance(Struct, frozen=True, kw_only=True):
    """What a compaction cost and saved, in dollars by today's list prices.

    Only requests that were sent with it count, until the next compaction: after that one nobody
    knows what would have been sent.
    """

    requests: int = 0
    """Sent with it."""
    compared: int = 0
    """Of those, the ones before the first that would not have fit the window without it."""
    tokens_less: int = 0
    """That each prompt was smaller by."""
    is_measured: bool = False
    """Whether `tokens_less` follows from what the provider counted."""
    written_again: int = 0
    """Tokens of the first prompt that did not come out of the cache."""
    usd: float | None = None
    """What the compared requests cost; None if the prices are not known."""
    usd_otherwise: float | None = None
    """What they would have cost without it: estimated."""
    usd_summary: float = 0.0
    """What the call cost that wrote the summary, as the report has it; estimated, if it was not the
    provider's own compaction."""
    break_even: int | None = None
    """By which of the requests it had paid; None if by none of them."""
    not_fitting: int = 0
    """Requests that would have exceeded the window."""
    window_tokens: int = 0
    window_source: Literal["given", "model", "assumed"] = "assumed"
    expected: dict[str, Any] | None = None
    """The sum that was made before it: `report.economics`."""
    said: str = ""
    """All this in a paragraph."""

    @classmethod
    def of_view(
        cls,
        turns: Sequence[TurnUsage],
        info: SessionInfo,
        made: StoredView,
        prices: PriceList,
        *,
        window: int | None = None,
        spared: int = 0,
    ) -> StepBalance:
        """Return what a compaction of ours cost and saved; without a report, `spared` tokens."""
        first = next((at for at, one in enumerate(turns) if one.view == made.number), len(turns))
        return balance(
            turns[first - 1] if 0 < first < len(turns) else None,
            [one for one in turns[first:] if one.view == made.number],
            Spared(spared, is_measured=False),
            prices,
            model=info.model,
            window=window,
            report=made.told,
        )

    @classmethod
    def of_agent(
        cls,
        before: TurnUsage | None,
        later: Sequence[TurnUsage],
        info: SessionInfo,
        prices: PriceList,
        *,
        tokens_less: int,
        is_measured: bool,
        window: int | None,
    ) -> StepBalance:
        """Return what a compaction of the agent itself cost and saved."""
        spared = Spared(tokens_less, is_measured)
        return balance(before, later, spared, prices, model=info.model, window=window)

    @property
    def usd_saved(self) -> float | None:
        """What it saved in all; less than nothing if it cost more."""
        if self.usd is None or self.usd_otherwise is None:
            return None
        return self.usd_otherwise - self.usd - self.usd_summary


def spared_by(report: Report) -> Spared:
    """Return what a compaction of ours spares, in tokens as the provider counts if it did."""
    less = max(report.tokens_before - report.tokens_after, 0)
    if report.prompt_tokens_source != "measured" or not report.tokens_before:
        return Spared(less, is_measured=False)
    return Spared(round(less * report.prompt_tokens / report.tokens_before), is_measured=True)


def balance(
    before: TurnUsage | None,
    later: Sequence[TurnUsage],
    spared: Spared,
    prices: PriceList,
    *,
    model: str = "",
    window: int | None = None,
    report: Report | None = None,
) -> StepBalance:
    """Return what a compaction cost and saved.

    `before` is the last request without it, `later` are those that were sent with it. A `report`
    says what it spared better than `spared`. `model` is that of the session, for requests that
    name none.
    """
    economics = None if report is None else report.economics
    spared = spared if report is None else spared_by(report)
    if not later:
        words = "No request was sent with it, as far as the records say: it cost and saved nothing."
        return StepBalance(expected=economics, said=words)
    named = [replace(one, model=one.model or model) for one in later]
    tokens, source = window_of(named[0].model, window)
    first = named[0]
    others = [
        _otherwise(one, named[at - 1] if at else before, spared.tokens, is_first=not at)
        for at, one in enumerate(named)
    ]
    misfits = [one.input_tokens > tokens for one in others]
    compared = misfits.index(True) if any(misfits) else len(named)
    summary = _summary_usd(economics)
    was = [_cost(one, prices) for one in named[:compared]]
    would = [_cost(one, prices) for one in others[:compared]]
    is_known = compared > 0 and None not in was and None not in would
    pairs = [(a or 0.0, b or 0.0) for a, b in zip(was, would, strict=True)]
    made = StepBalance(
        requests=len(named),
        compared=compared,
        tokens_less=spared.tokens,
        is_measured=spared.is_measured,
        written_again=max(first.input_tokens - first.cache_read_tokens, 0),
        usd=sum(a for a, _ in pairs) if is_known else None,
        usd_otherwise=sum(b for _, b in pairs) if is_known else None,
        usd_summary=summary,
        break_even=_break_even(pairs, summary) if is_known else None,
        not_fitting=sum(misfits),
        window_tokens=tokens,
        window_source=source,
        expected=economics,
    )
    return replace(made, said=_describe(made))


def _otherwise(one: TurnUsage, last: TurnUsage | None, less: int, *, is_first: bool) -> TurnUsage:
    """Return a request as it would have been with the folded messages in its prompt.

    They would have come out of the cache each time, unless that was cold for the request. The
    first one would have read all that was sent before it.
    """
    prompt, read, written = one.input_tokens + less, one.cache_read_tokens, one.cache_write_tokens
    if is_first and last is not None and _is_warm(one, last):
        read = min(max(last.input_tokens, read), prompt)
        written = prompt - read if one.cache_write_tokens or last.cache_write_tokens else 0
    elif read:
        read += less
    elif written:
        written += less
    hour = (
        one.cache_hour_tokens * written // one.cache_write_tokens if one.cache_write_tokens else 0
    )
    return replace(
        one,
        input_tokens=prompt,
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_hour_tokens=hour,
        cost=None,
    )


def _is_warm(one: TurnUsage, last: TurnUsage) -> bool:
    """Return whether the cache still had the request before; it is thought so without times."""
    if not last.cache_read_tokens and not last.cache_write_tokens:
        return False
    if one.time is None or last.time is None:
        return True
    ttl = "1h" if last.cache_hour_tokens else "5m"
    return one.time - last.time < TTL_SECONDS[ttl]


def _cost(one: TurnUsage, prices: PriceList) -> float | None:
    return prices.cost(replace(one, cost=None))


def _summary_usd(economics: dict[str, Any] | None) -> float:
    """Return what the call cost that wrote the summary: the provider's own compaction, or the sum
    that was made before it.
    """
    known = economics or {}
    for name, field in (("native_call", "usd"), ("sum", "summary_call")):
        figures = cast("dict[str, Any] | None", known.get(name))
        if figures:
            return float(figures.get(field) or 0.0)
    return 0.0


def _break_even(pairs: Sequence[tuple[float, float]], price: float) -> int | None:
    """Return by which request the saving had reached the price and stayed there."""
    total, found = -price, None
    for number, (was, would) in enumerate(pairs, 1):
        total += would - was
        found = (found or number) if total >= 0 else None
    return found


def _describe(made: StepBalance) -> str:
    """Return the figures in a paragraph, with what is estimated."""
    many = "1 request was" if made.requests == 1 else f"{made.requests:,} requests were"
    parts = [
        f"{many} sent with it, until the next compaction or the end, each with about "
        f"{made.tokens_less:,} tokens less. {made.written_again:,} tokens of the first one did not "
        f"come out of the cache."
    ]
    parts += [*_describe_money(made), *_describe_window(made)]
    how = "by the provider's count" if made.is_measured else "by our own count"
    parts.append(
        f"Estimated: the tokens less ({how}), and that the folded messages would have come out of "
        f"the cache each time. Prices are today's list prices."
    )
    return " ".join(parts)


def _describe_money(made: StepBalance) -> list[str]:
    if not made.compared:
        return []
    saved, was, would = made.usd_saved, made.usd, made.usd_otherwise
    if saved is None or was is None or would is None:
        return ["What that is in money is not known: the model has no list price here."]
    which = "It" if made.requests == 1 else "They"
    if made.compared < made.requests:
        which = "The first" if made.compared == 1 else f"The first {made.compared:,}"
    for_summary = f" after {usd(made.usd_summary)} for the summary" if made.usd_summary else ""
    paid = f"It had paid by request {made.break_even:,}." if made.break_even else "It has not paid."
    return [
        f"{which} cost {usd(was)}; with the folded messages {usd(would)}, so it "
        f"{'saved' if saved >= 0 else 'cost'} {usd(abs(saved))}{for_summary}. {paid}"
    ]


def _describe_window(made: StepBalance) -> list[str]:
    if not made.not_fitting:
        return []
    assumed = "assumed " if made.window_source == "assumed" else ""
    many = "All" if made.not_fitting == made.requests else f"{made.not_fitting:,}"
    left = ", so the money is compared only up to the first of them" if made.compared else ""
    return [
        f"{many} would not have fit the {assumed}window of {made.window_tokens:,} tokens without "
        f"it{left}."
    ]


class SavedSum(Struct, frozen=True):
    """What compactions saved together: whatever shows a sum of it has it from here."""

    compactions: int = 0
    known: int = 0
    """Those that requests with a known price followed; the others are not in the sum."""
    dollars: float = 0.0
    """By estimate; less than nothing if they have not paid yet."""

    @property
    def said(self) -> str:
        """The sum in words; "" if nothing is known."""
        if not self.known:
            return ""
        return f"{'saved' if self.dollars >= 0 else 'cost'} about {money(abs(self.dollars))}"


class OwnCompaction(Struct, frozen=True):
    """One compaction of ours, of a session of an agent in a project."""

    session: str
    """The id of the session."""
    number: int
    """Of the view that it made."""
    title: str
    agent: str
    project: str
    model: str
    time: float
    tokens_before: int
    tokens_after: int
    saved: float | None
    """Dollars, by estimate; None if no request followed, or one has no price."""

    @classmethod
    def of(cls, store: Store, infos: Iterable[SessionInfo], prices: PriceList) -> list[Self]:
        """Return the compactions of sessions without those that were undone."""
        found: list[Self] = []
        for info in infos:
            if not info.compactions:
                continue
            views, turns = store.views(info.id, lean=True), store.usage(info.id)
            for row, view in zip(ViewRow.list_of(views, info.view), views, strict=True):
                if row.tokens_before and not row.undone:
                    one = cls(
                        info.id,
                        row.number,
                        name_in_words(info),
                        info.source or "foldaway",
                        info.cwd,
                        info.model,
                        row.created,
                        row.tokens_before,
                        row.tokens_after,
                        StepBalance.of_view(turns, info, view, prices).usd_saved,
                    )
                    found.append(one)
        return found

    @classmethod
    def of_agent(cls, store: Store, agent: str, name: str, prices: PriceList) -> list[Self]:
        """Return those of the conversation that an agent has under a name of its own."""
        keys = (
            ()
            if not name
            else (name, *(f"{wire}:{name}" for wire in ("messages", "responses", "chat", "gemini")))
        )
        known = next((one for key in keys if (one := store.by_source(agent, key))), None)
        return [] if known is None else cls.of_conversation(store, known.id, prices)

    @classmethod
    def of_conversation(cls, store: Store, name: str, prices: PriceList) -> list[Self]:
        """Return those of all sessions of a conversation; none if the store does not know it."""
        try:
            family = store.lineage(store.find(name).root_id)
        except UnknownSession:
            return []
        return cls.of(store, family, prices)

    @staticmethod
    def add_up(some: Iterable[OwnCompaction]) -> SavedSum:
        """Return what compactions saved; each counts whole at the time when it was made."""
        costs = [one.saved for one in some]
        known = [one for one in costs if one is not None]
        return SavedSum(len(costs), len(known), sum(known))
