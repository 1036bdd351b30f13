"""One transcript, no state kept: compressed once by hand, or as a record for somebody else."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import (
    CachedPrefix,
    Policy,
    Redact,
    Regex,
    Report,
    Summarizer,
    TokenCounter,
    log_event,
)
from foldaway.compaction import (
    Compaction,
    CompactionInput,
    CompactionState,
    FrozenLog,
    Options,
    Plan,
    Skipped,
    carried_in,
    finish,
    message_tokens,
    plan,
    record,
    system_stop,
    tools_tokens,
)
from foldaway.dialects import drop_settings, dump, load, profile_for, repair_transcript
from foldaway.engine.run import (
    EngineSettings,
    Finished,
    Model,
    finish_run,
    log_run,
    model_of,
    report_of,
    settings_for,
    work_on,
)
from foldaway.errors import InvalidSetting, UnknownReference
from foldaway.facts import handed_over, merged_summaries, recognize, without_summary
from foldaway.summarizers import (
    WriteContext,
    Writers,
    draft_steps,
    prefix_of,
    run_calls,
    writers_of,
)
from foldaway.transcript import Message, ToolCall, ToolResult, Transcript, View, rewrite, whole_view

_NO_STATE = CompactionState()
_LEGAL_NAME = Regex(r"[A-Za-z0-9_-]*")


class Compressed(Struct, frozen=True):
    """A transcript made smaller, what was done, and the way back.

    `messages` has the shape and dialect that was given; if nothing changed it is the very
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
    model: str | Model = "",
    context_length: int | None = None,
    target_tokens: int | None = None,
    policy: Policy | None = None,
    provider: str | None = None,
    summarizer: Summarizer | Writers | str | None = None,
    redact: Redact | None = None,
    options: Options | None = None,
) -> Compressed:
    """Return `messages` made smaller by the policy's budgets, or unchanged with the reason.

    It also acts below the threshold. The list is repaired first if it breaks the rules of its
    provider (a provider's name or that of a wire format; found if it is not given); raises
    `CannotRepair` if that is not possible. Nothing is mutated. `options` is what this run is asked
    for beyond the policy: a focus, exchanges or positions to keep.

    With a `summarizer` (`openai:gpt-5-mini`, an object with its methods, or `Writers` with a
    fallback and what follows a failure) a model writes the prose, checked against the log. What
    is written goes through `redact`: without one, secrets are hidden and personal data stays,
    because the agent goes on with it.
    """
    options, writers = Options() if options is None else options, writers_of(summarizer)
    InvalidSetting.check_type("options", options, Options)
    settings = settings_for(
        model=model_of(model),
        context_length=context_length,
        target_tokens=target_tokens,
        policy=policy,
        provider=provider,
        redact=redact,
    )
    given = load(messages, dialect=settings.dialect)
    profile = profile_for(given.dialect, provider)
    transcript, actions = repair_transcript(
        _with_safe_names(given, settings.redact), profile.without("call-pending")
    )
    if actions:
        log_event("repair.done", repairs=len(actions), dialect=given.dialect)
    work = work_of(settings, transcript, options)
    work = replace(work, writer=writers.writer)
    todo = plan(work)
    if isinstance(todo, Skipped):
        finished = Finished(None, todo)
    else:
        request = prefix_of(given.dialect, (), given.frame.body or {})
        writers = writers.for_model(settings.model)
        writers = writers.with_request(system=request.system, tools=request.tools)
        prefix = _prefix(given) if writers.cached_request is not None else None
        moment = _moment(todo, options.force, prefix)
        finished = finish_run(todo, run_calls(draft_steps(todo, writers, moment)))
    report = report_of(work, finished.done, transcript)
    if finished.written is not None:
        report = finished.written.add_to(report)
    report = replace(
        report,
        context_length_source=settings.window_source,
        repaired=tuple(action.what for action in actions),
    )
    return _finish(messages, given, transcript, finished.done, log_run(report))


def work_of(
    settings: EngineSettings,
    transcript: Transcript,
    options: Options,
    state: CompactionState = _NO_STATE,
) -> CompactionInput:
    """Return what a compaction of one list starts from."""
    head = settings.policy.protect_first
    known = recognize(transcript.messages, head=head)
    merged = merged_summaries(known, head=head)
    log = _log(known, merged)
    _check_places(options.above, options.pinned, len(log))
    view = _view(transcript.messages, log)
    return work_on(
        replace(settings, outside_tokens=_outside(transcript, settings.counter)),
        transcript,
        FrozenLog(log, view, settings.readings, settings.target_tokens or 0),
        log=log,
        view=view,
        state=state,
        carried=carried_in(known, merged),
        options=options,
    )


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


def _moment(todo: Plan, forced: bool, prefix: CachedPrefix | None) -> WriteContext:
    now, budget = time.time(), todo.work.budget
    is_hard = todo.tokens_before >= budget.hard_tokens
    urgency = "hard" if is_hard else "soft"
    return WriteContext(now=now, urgency=urgency, forced=forced, prefix=prefix)


def _finish(
    messages: Any,
    given: Transcript,
    transcript: Transcript,
    done: Compaction | Skipped,
    report: Report,
) -> Compressed:
    """Return the result in the frame that was given; the same object if nothing changed."""
    if report.context_length_source == "assumed":
        note = f"no window is known for the model: {report.context_length:,} tokens are assumed"
        report = replace(report, notes=(*report.notes, note))
    if isinstance(done, Skipped):
        value = messages if transcript is given else dump(transcript)
        return Compressed(value, report, transcript, given.messages)
    result = transcript.with_messages(done.messages)
    if done.state.stale_thinking and result.frame.body is not None:
        body = {**result.frame.body, **drop_settings(result.frame.body).fields}
        result = replace(result, frame=replace(result.frame, body=body))
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
    view = whole_view(len(log))
    for index, message in enumerate(log):
        if message.parts is not given[index].parts:
            view = rewrite(view, index, given[index])
    return view


def _outside(transcript: Transcript, counter: TokenCounter) -> int:
    system = message_tokens(transcript.system, counter) if transcript.system else 0
    return system + tools_tokens(transcript.tools, counter)


def _with_safe_names(transcript: Transcript, hide: Redact) -> Transcript:
    """Return the transcript without the secrets in names that no provider takes.

    A model may call a tool by an invalid name (`export TOKEN=…`). A repair puts `_` in place of
    the signs that give such a secret away, so it has to be hidden before. Names that providers
    take stay; a transcript without others comes back as the same object.
    """
    names = {
        part.name
        for message in transcript.messages
        for part in message.parts
        if type(part) is ToolCall
    }
    illegal = [name for name in names if _LEGAL_NAME.fullmatch(name) is None]
    hidden = {name: safe for name in illegal if (safe := hide(name)) != name}
    if not hidden:
        return transcript
    return replace(
        transcript, messages=tuple(_renamed(message, hidden) for message in transcript.messages)
    )


def _renamed(message: Message, names: dict[str, str]) -> Message:
    parts = tuple(
        replace(part, name=names[part.name], intact=False)
        if isinstance(part, ToolCall | ToolResult) and part.name in names
        else part
        for part in message.parts
    )
    return message if parts == message.parts else replace(message, parts=parts, intact=False)


BRIEF_TOKENS = 2_000
"""Of a brief, if no size is given: what a summary gets however little is folded."""
_HANDOFF = (
    "Record of an earlier session, made from its log: background, not a request. What it quotes "
    "was said in that session, and files may have changed since."
)
_WAIT = (
    "Tell me in a few lines what was done, what is still open and what you would do next. Then "
    "wait for me."
)


class Brief(Struct, frozen=True):
    """What is known of a conversation, in one text without secrets."""

    text: str
    """Markdown; [mN] is the message at position N of the log. "" if nothing is known."""
    tokens: int
    """An estimate."""
    messages: int
    """How many messages it tells of."""


def brief_of(
    transcript: Transcript,
    *,
    tokens: int = BRIEF_TOKENS,
    focus: str = "",
    goal: str = "",
    delegated: tuple[str, ...] = (),
    redact: Redact | None = None,
    state: CompactionState = _NO_STATE,
    for_person: bool = False,
) -> Brief:
    """Return the record of a whole transcript in at most `tokens`, by an estimate.

    `focus` is a topic whose facts come first, `goal` is kept letter for letter, `delegated` is what
    subagents have, and `state` is what earlier compactions know. One `for_person` is short and has
    fewer headings. No model is asked and nothing is changed.
    """
    settings = settings_for(model=Model(), redact=redact)
    options = Options(focus=focus, goal=goal, delegated=delegated, references=False)
    work = work_of(settings, transcript, options, state)
    text = record(work, len(work.log), tokens, for_person=for_person) if work.log else ""
    return Brief(text, work.counter.count(text), len(work.log))


def trial_compaction(
    transcript: Transcript,
    *,
    tokens: int,
    focus: str = "",
    goal: str = "",
    pinned: frozenset[int] = frozenset(),
    redact: Redact | None = None,
    state: CompactionState = _NO_STATE,
) -> Compaction | Skipped:
    """Return what a compaction to `tokens`, without the system prompt, would come to.

    Positions are those of the transcript: it is not repaired, and no references are given out.
    """
    messages = transcript.messages
    settings = settings_for(model=Model(), redact=redact)
    prompt = sum(message_tokens(one, settings.counter) for one in messages[: system_stop(messages)])
    options = Options(focus=focus, goal=goal, pinned=pinned, references=False)
    work = work_of(
        replace(settings, target_tokens=tokens + prompt),
        Transcript(transcript.dialect, messages),
        options,
        state,
    )
    todo = plan(work)
    return todo if isinstance(todo, Skipped) else finish(todo)


def handoff_prompt(text: str) -> str:
    """Return a record as the first prompt of a new session; the agent reports and waits.

    A later compaction of that session recognizes the record and carries it on.
    """
    return f"{handed_over(text, _HANDOFF)}{_WAIT}"
