"""Compress one transcript once: a manual run, no state kept."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.compact import Compaction, Plan, Skipped, plan
from holdfast.compaction.index import FrozenLog
from holdfast.compaction.measure import message_tokens, tools_tokens
from holdfast.compaction.state import carried_in
from holdfast.compaction.tool_names import with_safe_names
from holdfast.compaction.work import CompactionInput, Options
from holdfast.dialects.load import dump, load, with_messages
from holdfast.dialects.profiles import profile_for
from holdfast.dialects.repair import repair_transcript
from holdfast.engine.run import (
    EngineSettings,
    Finished,
    finish_run,
    report_of,
    settings_for,
    work_on,
)
from holdfast.errors import InvalidSetting, UnknownReference
from holdfast.facts.frame import merged_summaries, recognize, without_summary
from holdfast.policy import Policy
from holdfast.ports import CachedPrefix, NativeCompactor, Redact, Summarizer, TokenCounter
from holdfast.report import Report
from holdfast.transcript import Message, Transcript, View, rewrite, whole
from holdfast.writing.cached_prompt import prefix_of
from holdfast.writing.failures import OnFailure
from holdfast.writing.native import Broker, NativeCompaction, native_of, write_through
from holdfast.writing.write import WriteContext, add_draft, context_at
from holdfast.writing.writers import DEFAULT_TIMEOUT, Writers, writers_of


class Compressed(Struct, frozen=True):
    """A transcript made smaller, what was done, and the way back.

    `messages` has the shape and dialect that was given; where nothing changed it is the very
    object that was given.
    """

    messages: Any
    report: Report
    transcript: Transcript
    originals: tuple[Message, ...]
    """The log: every message as it was given, in order."""

    def recall(self, reference: str) -> list[Any]:
        """Return the originals that a reference stands for, or raise `UnknownReference`."""
        for row in self.report.references:
            if row.ref == reference:
                return [message.wire for message in self.originals[row.start : row.stop]]
        raise UnknownReference(reference, len(self.report.references))


def compress(
    messages: Any,
    *,
    model: str = "",
    context_length: int | None = None,
    output_tokens: int = 0,
    target_tokens: int | None = None,
    focus: str = "",
    force: bool = False,
    policy: Policy | None = None,
    provider: str | None = None,
    dialect: str | None = None,
    keep_last: int | None = None,
    above: int | None = None,
    pinned: Iterable[int] = (),
    references: bool = True,
    counter: TokenCounter | None = None,
    redact: Redact | None = None,
    summarizer: Summarizer | Writers | str | None = None,
    fallback_summarizer: Summarizer | str | None = None,
    on_failure: OnFailure = "auto",
    summarizer_timeout: float = DEFAULT_TIMEOUT,
    native: NativeCompaction | NativeCompactor | str | None = None,
) -> Compressed:
    """Return `messages` made smaller by the policy's budgets, or unchanged with the reason.

    A run by hand acts also below the threshold; `pinned` are positions that stay as they are, and
    `force` is for engines that would wait. The list is repaired first where it breaks its
    provider's rules; raises `CannotRepair` where that is not possible. Nothing is mutated. What
    is written goes through `redact`: without one, secrets are hidden and personal data stays,
    because the agent goes on with it.

    With a `summarizer` (`openai:gpt-5-mini`, or an object with its methods) a model writes the
    prose, checked against the log; `on_failure` says what follows where it cannot. `native` is the
    leave to have the provider of the conversation compact it first.
    """
    writers = writers_of(
        summarizer, fallback_summarizer, on_failure=on_failure, timeout=summarizer_timeout
    )
    settings = settings_for(
        model=model, context_length=context_length, output_tokens=output_tokens,
        target_tokens=target_tokens, policy=policy, provider=provider, dialect=dialect,
        counter=counter, redact=redact,
    )  # fmt: skip
    given = load(messages, dialect=settings.dialect)
    profile = profile_for(given.dialect, provider)
    transcript, actions = repair_transcript(
        with_safe_names(given, settings.redact), profile.without("call-pending")
    )
    options = Options(
        keep_last=keep_last, above=above, focus=focus, references=references,
        pinned=frozenset(pinned),
    )  # fmt: skip
    work = _work(settings, transcript, options)
    todo = plan(work)
    if isinstance(todo, Skipped):
        finished = Finished(None, todo)
    else:
        broker = Broker(native=_permission(native, given), writers=writers)
        prefix = _prefix(given) if writers is not None and writers.reuse_prompt_cache else None
        finished = finish_run(todo, write_through(todo, broker, _moment(todo, force, prefix)))
    report = replace(
        add_draft(report_of(work, finished.done, transcript), finished.written),
        context_length_source=settings.window_source,
        repaired=tuple(action.what for action in actions),
    )
    return _compressed(messages, given, transcript, finished.done, report)


def _work(settings: EngineSettings, transcript: Transcript, options: Options) -> CompactionInput:
    """Return what a compaction of one list starts from."""
    head = settings.policy.protect_first
    known = recognize(transcript.messages, head=head)
    merged = merged_summaries(known, head=head)
    log = _log(known, merged)
    _check_places(options.above, options.pinned, len(log))
    view = _view(transcript.messages, log)
    readings = replace(settings.readings, references=options.references)
    return work_on(
        replace(settings, outside_tokens=_outside(transcript, settings.counter)), transcript,
        FrozenLog(log, view, readings, settings.target_tokens or 0),
        log=log, view=view, carried=carried_in(known, merged), options=options,
    )  # fmt: skip


def _check_places(above: int | None, pinned: frozenset[int], length: int) -> None:
    if above is not None and not 0 <= above <= length:
        raise InvalidSetting("above", above, f"a position from 0 to {length}")
    beyond = [at for at in sorted(pinned) if not 0 <= at < length]
    if beyond:
        raise InvalidSetting("pinned", beyond, f"positions from 0 to {length - 1}")


def _prefix(given: Transcript) -> CachedPrefix:
    """Return what the main model has read: what was given, as it was given."""
    messages = [message.wire for message in given.messages]
    return prefix_of(given.dialect, messages, given.frame.body or {})


def _permission(
    native: NativeCompaction | NativeCompactor | str | None, given: Transcript
) -> NativeCompaction | None:
    """Return the provider's own compaction with the system text and the tools of the request."""
    request = prefix_of(given.dialect, (), given.frame.body or {})
    if isinstance(native, NativeCompaction) and native.system is None and not native.tools:
        return replace(native, system=request.system, tools=request.tools)
    return native_of(native, system=request.system, tools=request.tools)


def _moment(todo: Plan, forced: bool, prefix: CachedPrefix | None) -> WriteContext:
    now, budget = time.time(), todo.work.budget
    is_hard = todo.tokens_before >= budget.hard_tokens
    return context_at(now, urgency="hard" if is_hard else "soft", forced=forced, prefix=prefix)


def _compressed(
    messages: Any,
    given: Transcript,
    transcript: Transcript,
    done: Compaction | Skipped,
    report: Report,
) -> Compressed:
    """Return the result in the frame that was given; the very object where nothing changed."""
    if report.context_length_source == "assumed":
        note = f"no window is known for the model: {report.context_length:,} tokens are assumed"
        report = replace(report, notes=(*report.notes, note))
    if isinstance(done, Skipped):
        value = messages if transcript is given else dump(transcript)
        return Compressed(value, report, transcript, given.messages)
    result = with_messages(transcript, done.messages)
    return Compressed(dump(result), report, result, transcript.messages)


def _log(messages: Sequence[Message], merged: Mapping[int, str]) -> tuple[Message, ...]:
    """Return the messages at their positions, without summaries merged into real ones."""
    found: list[Message] = []
    for at, message in enumerate(messages):
        if at in merged:
            message = without_summary(message)
        found.append(message if message.position == at else replace(message, position=at))
    return tuple(found)


def _view(given: Sequence[Message], log: Sequence[Message]) -> View:
    """Return the view that shows what was given, also where the log leaves a summary out."""
    view = whole(len(log))
    for index, message in enumerate(log):
        if message.parts is not given[index].parts:
            view = rewrite(view, index, given[index])
    return view


def _outside(transcript: Transcript, counter: TokenCounter) -> int:
    system = message_tokens(transcript.system, counter) if transcript.system else 0
    return system + tools_tokens(transcript.tools, counter)
