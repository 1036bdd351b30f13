"""A request that is too heavy rather than too long: older media go, and come back by reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from foldaway._core import MediaReducer, Reference
from foldaway.compaction import (
    Compaction,
    CompactionInput,
    Skipped,
    category,
    compared,
    keeps_stale,
    message_tokens,
    reference_of,
    stays_from,
    strip_thinking,
)
from foldaway.engine.live_log import GrowingLog
from foldaway.facts import carried_summary
from foldaway.transcript import Message, render, rewrite


def drop_old_media(
    log: GrowingLog, work: CompactionInput, before: int, reducer: MediaReducer
) -> Compaction | Skipped:
    """Return the view with what the reducer makes of what the model sees, or why it stays.

    Only messages that no step has changed are taken from it, and each keeps its reference. Nothing
    changes if nothing becomes lighter, or if a rule of the provider would break. `before` is what
    the model sees now, in tokens.
    """
    shown = log.shown.render()
    bases = [_base(log, message) for message in shown]
    seen = [was if base is None else base for was, base in zip(shown, bases, strict=True)]
    lighter = {
        was.position: now
        for was, base, now in zip(seen, bases, reducer(seen), strict=True)
        if now is not was and base is not None
    }
    if lighter and work.rules.strips_thinking:
        start = stays_from(work)
        bound = [was for was in shown if was.position < start]
        lighter.update(_unbound(log.messages, bound, lighter))
    return _with_lighter(log, work, before, lighter)


def _base(log: GrowingLog, message: Message) -> Message | None:
    """Return what a message may become lighter from; None if a step wrote it.

    A result that is shown otherwise since its arrival counts without its marker: nothing would set
    that again if the copy above it goes.
    """
    at = message.position
    if at >= 0 and log.messages[at] is message:
        return message
    if message.origin != "arrival" or carried_summary(message) is not None:
        return None
    form = log.find_form(at)
    return log.messages[at] if form is None else replace(form.message, origin="real")


def _unbound(
    log: Sequence[Message], shown: Sequence[Message], lighter: Mapping[int, Message]
) -> dict[int, Message]:
    """Return the messages whose thinking is bound to what is about to change, without it."""
    found: dict[int, Message] = {}
    for was in shown:
        if was.position >= 0 and log[was.position] is was:
            message = lighter.get(was.position, was)
            stripped = strip_thinking(message)
            if stripped is not message and stripped.parts:
                found[was.position] = stripped
    return found


def _with_lighter(
    log: GrowingLog, work: CompactionInput, before: int, lighter: Mapping[int, Message]
) -> Compaction | Skipped:
    if not lighter:
        return Skipped("nothing to compact", "nothing of it is shown as it came", before)
    references = tuple(
        Reference(reference_of(log.messages[at]), (at, at + 1), "placeholder")
        for at in sorted(lighter)
    )
    view = log.view
    for row in references:
        view = rewrite(view, row.start, lighter[row.start], row.ref)
    messages = tuple(render(view, log.messages))
    known = {(found.rule, found.index) for found in work.rules.check(log.shown.render())}
    broken = [each for each in work.rules.check(messages) if (each.rule, each.index) not in known]
    if broken:
        return Skipped("cannot", f"it would break {broken[0].rule!r}", before)
    shown = log.count_shown()
    after = dict(shown)
    for was in log.shown.render():
        if was.position in lighter:
            now = lighter[was.position]
            saved = message_tokens(was, work.counter) - message_tokens(now, work.counter)
            after[category(was)] -= saved
    tokens_after = before - sum(shown.values()) + sum(after.values())
    if tokens_after >= before:
        return Skipped("not smaller", f"{tokens_after:,} tokens after, {before:,} before", before)
    references_now = (*work.state.references, *references)
    stale = work.state.stale_thinking or keeps_stale(work, messages)
    state = replace(work.state, references=references_now, stale_thinking=stale)
    return Compaction(
        view=view,
        state=state,
        messages=messages,
        tokens_before=before,
        tokens_after=tokens_after,
        summary_tokens=0,
        new_references=references,
        boundary=(0, 0),
        floor_tokens=0,
        categories=compared(shown, after),
        known_faults=(),
    )
