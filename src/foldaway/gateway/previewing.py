"""What compactions would do, to one size or to several: nothing is changed, no model is asked."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldaway.compaction import Options, ResultPolicy
from foldaway.engine import Compressor, Fate, PreviewedRun, unpack_view
from foldaway.gateway.actions import ApiContext, NotThere, compare_views
from foldaway.gateway.api_values import (
    BudgetPreview,
    BudgetsAnswer,
    BudgetsAsked,
    FateRange,
    PreviewAnswer,
    PreviewAsked,
)
from foldaway.sessions import SessionSettings, frame_of, internals, payloads, redactor_of
from foldaway.stores import SessionInfo, Store, StoredView
from foldaway.transcript import Folded, Kept, Transcript, View, render

_PER_CENT = 100


class _Bench(Struct, frozen=True):
    """A conversation that compactions are tried on."""

    info: SessionInfo
    engine: Compressor
    pinned: frozenset[int]


def preview_compaction(api: ApiContext, asked: PreviewAsked) -> PreviewAnswer:
    """Say what a compaction would do; nothing is changed and no model is asked."""
    bench = _bench(api, asked.id, asked.before)
    engine = bench.engine
    engine.keep_with(lambda step: None)
    old = Transcript(bench.info.dialect, tuple(render(engine.view, engine.log.messages)))
    report = engine.compact(
        force=asked.force,
        focus=asked.focus,
        keep_last=asked.keep_last,
        target_tokens=asked.target_tokens,
        pinned=bench.pinned,
    )
    new = Transcript(bench.info.dialect, tuple(render(engine.view, engine.log.messages)))
    comparison, written = compare_views(("now", "after"), old, new)
    return PreviewAnswer(
        session=bench.info.id, report=report, comparison=comparison, written=written
    )


def preview_budgets(api: ApiContext, asked: BudgetsAsked) -> BudgetsAnswer:
    """Say what compactions by hand to several sizes would do; the log is read once for all."""
    bench = _bench(api, asked.id, asked.before)
    engine = bench.engine
    now = engine.estimate()
    options = Options(focus=asked.focus, pinned=bench.pinned)
    found: list[BudgetPreview] = []
    for percent in sorted(set(asked.budgets)):
        target = max(now * percent // _PER_CENT, 1)
        done = engine.preview(replace(options, target_tokens=target))
        found.append(_budget(percent, target, done))
    return BudgetsAnswer(
        session=bench.info.id,
        messages=engine.length,
        tokens=now,
        messages_shown=len(engine.messages),
        budgets=found,
    )


def _bench(api: ApiContext, name: str, before: int | None) -> _Bench:
    """Return what compactions are tried on: a session now, or as it stood before one of its own."""
    writers = api.options.summarizer
    trial = writers and replace(writers, is_preview=True)
    if before is None:
        info = api.store.newest_leaf(api.find(name).id)
        engine = internals(api.open(info.id, trial)).engine
    else:
        info = api.find(name)
        made = api.store.view(info.id, before)
        if made is None:
            raise NotThere(f"session {info.id} has no view {before}")
        settings = SessionSettings(
            context_length=api.options.context_length, policy=api.options.policy, summarizer=trial
        )
        engine = _engine_before(api.store, info, made, settings)
    pins = (pin.position for pin in api.store.pins(info.id))
    return _Bench(info, engine, frozenset(at for at in pins if at < engine.length))


def _engine_before(
    store: Store, info: SessionInfo, made: StoredView, settings: SessionSettings
) -> Compressor:
    """Return a compressor on the log as long as it was when a view was made, with the view before.

    Whatever it does is its own: nothing is written to the store.
    """
    rows = store.read(info.id, 0, made.length)
    last = store.view(info.id, made.previous) if made.previous else None
    engine = settings.compressor(info.model, info.dialect)
    engine.hide_with(redactor_of(store))
    frame = frame_of(info)
    noted, counted = frame.get("arrival"), frame.get("counted", "")
    start = replace(engine.conversation.arriving, start=len(rows))
    engine.resume(
        payloads(rows),
        None if last is None else unpack_view(last.items, info.dialect),
        b"" if last is None else last.state,
        arriving=start if noted is None else msgspec.convert(noted, ResultPolicy),
        tokens=[row.tokens for row in rows] if counted == engine.counted_by else None,
    )
    engine.about.goal = info.goal
    return engine


def _budget(percent: int, target: int, done: PreviewedRun) -> BudgetPreview:
    return BudgetPreview(
        percent=percent,
        target_tokens=target,
        report=replace(done.report, references=()),
        fates=list(_ranges(done.view)),
        summary=done.summary,
    )


def _ranges(view: View) -> Iterator[FateRange]:
    """Yield what a view does with the log, neighbours with the same fate as one range."""
    start, fate = 0, None
    for item in view.items:
        here: Fate = (
            "kept"
            if isinstance(item, Kept)
            else "folded"
            if isinstance(item, Folded)
            else "rewritten"
        )
        if here != fate:
            if fate is not None:
                yield FateRange(start, item.start, fate)
            start, fate = item.start, here
    if fate is not None:
        yield FateRange(start, view.length, fate)
