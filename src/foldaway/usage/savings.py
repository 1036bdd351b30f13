"""What compactions cost, saved and lost, by what was recorded and by a replay."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Report
from foldaway.agents.importers import ImportedSession
from foldaway.caching import TTL_SECONDS, PriceList, usd, window_of
from foldaway.lab import own_losses, replay_session
from foldaway.sessions import transcript_of
from foldaway.stores import SessionInfo, Store, TurnUsage
from foldaway.usage.reading import Judgement, Tell, UsageReader, count_stored_session, read_again
from foldaway.usage.record import SpentSession
from foldaway.usage.requests import recorded_usage

JUDGED_SESSIONS = 6
"""The largest recent sessions that are replayed."""
COMPACTED_SESSIONS = 3
"""Sessions with compactions of the agent that are looked at in any case."""
OVERFLOWS = 0.1
"""The share of prompts that may exceed the window by the estimate; with more of them the agent
dropped messages without a word, and what the session cost cannot be simulated."""
_RECENT_SECONDS = 60 * 86_400
MOST_PROMPTS = 3_000
"""Requests of a session that is replayed; a longer one would take the time of all."""


def judge(
    sessions: Sequence[SpentSession],
    reader: UsageReader,
    prices: PriceList,
    seconds: float,
    tell: Tell,
) -> list[Judgement]:
    """Return what was found in the largest recent sessions, as far as the time allows.

    What was found before costs no time. The first one is looked at in any case.
    """
    stop = time.monotonic() + seconds
    found: list[Judgement] = []
    chosen = _largest(sessions)
    for at, session in enumerate(chosen):
        tell(at, len(chosen))
        known = reader.judgement(session)
        if known is None and (not found or time.monotonic() < stop):
            read = read_again(session)
            if read is not None:
                known = judge_session(session, read, prices)
                reader.keep(session, known)
        if known is not None:
            found.append(known)
    return found


def _largest(sessions: Iterable[SpentSession]) -> list[SpentSession]:
    """Return the sessions that sent the most tokens, those of the last weeks of use first, and
    two that were compacted, if there are any.
    """
    used = [one for one in sessions if 0 < len(one.answers) <= MOST_PROMPTS]
    newest = max((one.started or 0.0 for one in used), default=0.0)

    def rank(one: SpentSession) -> tuple[bool, int]:
        is_old = (one.started or 0.0) < newest - _RECENT_SECONDS
        return is_old, -sum(answer.input_tokens for answer in one.answers)

    order = sorted(used, key=rank)
    compacted = [one for one in order if one.compactions][:COMPACTED_SESSIONS]
    return list({id(one): one for one in (*order[:JUDGED_SESSIONS], *compacted)}.values())


def judge_session(session: SpentSession, found: ImportedSession, prices: PriceList) -> Judgement:
    """Return what one session lost in its own compactions, and what it would cost with Foldaway."""
    compactions, used_later, named = own_losses(found)
    was, would = _costs(session, found, prices)
    return Judgement(
        agent=session.agent,
        source_id=session.source_id,
        usd_as_it_was=was,
        usd_with_foldaway=would,
        used_later=used_later,
        named=named,
        compactions=compactions,
    )


def _costs(session: SpentSession, found: ImportedSession, prices: PriceList) -> tuple[float, float]:
    """Return what the calls of a session cost as it was, and behind the gateway as it is without
    settings; both simulated.
    """
    replays = replay_session(
        found.transcript, found.model, found.summaries, session.system_tokens, prices
    )
    if replays is None:
        return 0.0, 0.0
    was, would = replays
    is_real = was.overflows <= OVERFLOWS * was.calls
    return (was.usd, would.usd) if is_real else (0.0, 0.0)


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


_RECORDED = 0.9
"""Share of the answers whose requests must be recorded, or what was paid is called a part; chosen:
a retry or a torn line loses a few."""


class Otherwise(Struct, frozen=True, kw_only=True):
    """What a session cost, and would have cost, in dollars."""

    requests: int = 0
    """That are recorded with what the provider counted."""
    answers: int = 0
    """That the log shows, and that were replayed."""
    compactions: int = 0
    """That were made, by Foldaway or the agent."""
    usd_paid: float | None = None
    """By what the provider counted; None if that or the price is not known."""
    usd_without: float | None = None
    """Without any compaction: each prompt has the whole log before it."""
    not_fitting: int = 0
    """Of these prompts, those that would not have fit the window."""
    usd_with_foldaway: float | None = None
    """Behind a gateway without settings."""
    anchor: Literal["", "as it was", "foldaway"] = ""
    """These two are the bill times what a replay changes, compared with a replay of this; "" if
    they are the dollars of a replay.
    """
    foldaway_compactions: int = 0
    """That it would have made."""
    window_tokens: int = 0
    said: str = ""
    """All this in a paragraph."""
    why_none: str = ""
    """Why nothing was replayed, in a sentence."""


def otherwise(store: Store, info: SessionInfo, prices: PriceList) -> Otherwise:
    """Return what a session would have cost in other ways; it is replayed, which takes seconds."""
    rows = store.outline(info.id)
    turns = recorded_usage(store, info)
    written = {row.position for row in rows if row.generated}
    model = info.model or next((one.model for one in turns if one.model), "")
    own = sum(at - 1 not in written for at in written)
    costs = [prices.cost(replace(one, model=one.model or model)) for one in turns]
    paid = None if not costs or None in costs else sum(one or 0.0 for one in costs)
    made = Otherwise(
        requests=len(turns),
        compactions=own + info.compactions,
        usd_paid=paid,
        window_tokens=window_of(model, None)[0],
    )
    why = ""
    if sum(row.role == "assistant" for row in rows) > MOST_PROMPTS:
        why = f"It has more than {MOST_PROMPTS:,} answers; a replay would take minutes."
    elif prices.of(model) is None:
        why = f"The prices of {model!r} are not known." if model else "Its model is not known."
    if why:
        return replace(made, why_none=why, said=why)
    spent = count_stored_session(store, info, turns)
    log = transcript_of(store, info, what="log")
    messages = tuple(one for one in log.messages if one.position not in written)
    found = replay_session(replace(log, messages=messages), model, (), spent.system_tokens, prices)
    assert found is not None  # its prices are known
    without, ours = found
    was = ours if info.compactions else without
    if own and not info.compactions:
        stops = sorted(at for at in written if at - 1 not in written)
        was, _ = replay_session(log, model, stops, spent.system_tokens, prices) or found
    is_whole = len(turns) >= without.calls * _RECORDED and was.overflows <= OVERFLOWS * was.calls
    scale = paid / was.usd if paid and was.usd > 0 and is_whole else None
    return _describe_otherwise(
        replace(
            made,
            answers=without.calls,
            usd_without=without.usd * (scale or 1),
            not_fitting=without.overflows,
            usd_with_foldaway=ours.usd * (scale or 1),
            anchor=("foldaway" if info.compactions else "as it was") if scale else "",
            foldaway_compactions=ours.compactions,
        )
    )


_ANCHORS = {
    "as it was": "Both are the bill times what a replay changes, with the same answers and a cache "
    "that stays warm.",
    "foldaway": "Both are the bill times what a replay changes; its own compactions count as those "
    "of Foldaway without settings.",
    "": "A replay has the same answers, our own count of tokens, a cache that stays warm and "
    "today's list prices, so compare these two with each other and not with what was paid.",
}


def _describe_otherwise(made: Otherwise) -> Otherwise:
    """Return the same with its paragraph."""
    parts: list[str] = []
    if made.usd_paid is not None:
        times = "once" if made.compactions == 1 else f"{made.compactions:,} times"
        how = f"compacted {times}" if made.compactions else "without a compaction"
        parts.append(f"Its {made.requests:,} requests cost {usd(made.usd_paid)}, {how}.")
        if made.requests < made.answers * _RECORDED:
            parts.append(
                f"The log has {made.answers:,} answers, so that is only a part: do not compare it "
                f"with what follows."
            )
    if made.usd_without is not None and made.usd_with_foldaway is not None:
        same = "the same costs" if not made.compactions else "it costs without any compaction"
        misfits = (
            f", but {made.not_fitting:,} prompts do not fit the window of "
            f"{made.window_tokens:,} tokens"
            if made.not_fitting
            else ""
        )
        many = made.foldaway_compactions
        parts.append(
            f"Replayed from the log, {same} {usd(made.usd_without)}{misfits}; behind Foldaway as "
            f"it is without settings {usd(made.usd_with_foldaway)}, with {many:,} "
            f"{'compaction' if many == 1 else 'compactions'}. {_ANCHORS[made.anchor]}"
        )
    return replace(made, said=" ".join(parts))
