"""One compaction, for every caller: what it starts from, how it ends, what is reported of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import (
    Budget,
    Policy,
    Reason,
    Redact,
    Report,
    SettingsStruct,
    SummaryNote,
    TokenCounter,
    __version__,
    budget_for,
    fit_budget,
    log_event,
    scale_budget,
)
from foldaway.caching import Prices, Ttl, window_of
from foldaway.compaction import (
    FOLD_MORE,
    Compaction,
    CompactionInput,
    CompactionState,
    LogIndex,
    Options,
    Plan,
    Skipped,
    finish,
    fixed_categories,
    with_sections,
)
from foldaway.dialects import dialect_for, drop_settings, profile_for, wire_rules
from foldaway.engine.trigger import Decision
from foldaway.errors import InvalidSetting
from foldaway.facts import LogReading
from foldaway.summarizers import Draft
from foldaway.transcript import (
    Estimator,
    Folded,
    Kept,
    Message,
    Payload,
    Rewritten,
    Transcript,
    View,
)

if TYPE_CHECKING:
    from foldaway.redaction import RedactionPolicy, Redactor

_NO_STATE = CompactionState()

STILL_BROKEN = "repair it before it is sent"
"""How the note ends on rules of the provider that were broken before and are still."""


class EngineSettings(Struct, frozen=True, kw_only=True):
    """What a conversation is kept by; replaced as a whole when the model changes."""

    model: str = ""
    context_length: int
    window_source: Literal["given", "model", "assumed"] = "given"
    output_tokens: int = 0
    target_tokens: int | None = None
    policy: Policy
    provider: str | None = None
    dialect: str | None = None
    counter: TokenCounter
    redact: Redact
    tools: tuple[Payload, ...] = ()
    drops_stale_thinking: bool = False
    outside_tokens: int = 0
    """What is outside the message list: tool definitions, and the system prompt of a request."""

    @property
    def budget(self) -> Budget:
        """The budgets of the policy for this window."""
        return budget_for(
            self.policy,
            self.context_length,
            output_tokens=self.output_tokens,
            target_tokens=self.target_tokens,
        )

    @property
    def readings(self) -> LogReading:
        """How messages are read."""
        return LogReading(self.counter, self.policy, self.redact)


class Model(SettingsStruct, frozen=True):
    """A model with its window, tokenizer or prices, where its name does not say them."""

    name: str = ""
    context_length: int | None = None
    """Its window; if it is not given, that of the name, or else 200,000 tokens."""
    output_tokens: int = 0
    """What every request reserves for the answer."""
    counter: TokenCounter | None = None
    """What counts its tokens; estimates if none is given (`foldaway.transcript.exact_counter`)."""
    prices: Prices | None = None
    """What it costs; if not given, looked up by the name with the extra `prices`."""
    cache_ttl: Ttl = "5m"
    """How long its provider keeps a cached prompt."""
    drops_stale_thinking: bool = False
    """Whether the account may ask the provider to drop thinking that is bound to messages that
    changed (`thinking.block_binding`, a beta of Anthropic)."""

    def __post_init__(self) -> None:
        """Refuse what no model has."""
        InvalidSetting.check_type("name", self.name, str, "a text")
        InvalidSetting.check_tokens("context_length", self.context_length)


def model_of(given: str | Model) -> Model:
    """Return a model that was given by its name or as a value."""
    if isinstance(given, str):
        return Model(given)
    InvalidSetting.check_type("model", given, Model, "a name, or a Model")
    return given


def make_redactor(policy: RedactionPolicy | None = None) -> Redactor:
    """Return a redactor that logs how much it hides; without a policy personal data stays."""
    from foldaway.redaction import RedactionPolicy, Redactor  # a host may bring its own

    return Redactor(policy or RedactionPolicy(personal=False), on_hidden=_log_hidden)


def _log_hidden(secrets: int, size: int) -> None:
    log_event("redaction.applied", secrets=secrets, bytes=size)


def settings_for(
    *,
    model: Model,
    context_length: int | None = None,
    target_tokens: int | None = None,
    policy: Policy | None = None,
    provider: str | None = None,
    redact: Redact | None = None,
) -> EngineSettings:
    """Return the settings for a window, a model whose window is known, or 200,000 tokens.

    Without a redactor secrets are hidden and personal data stays: the agent goes on with it.
    """
    if policy is not None:
        InvalidSetting.check_type("policy", policy, Policy)
    InvalidSetting.check_tokens("context_length", context_length)
    InvalidSetting.check_tokens("target_tokens", target_tokens)
    window, source = window_of(model.name, context_length or model.context_length)
    return EngineSettings(
        model=model.name,
        context_length=window,
        window_source=source,
        output_tokens=model.output_tokens,
        target_tokens=target_tokens,
        drops_stale_thinking=model.drops_stale_thinking,
        policy=policy or Policy(),
        provider=provider,
        dialect=dialect_for(provider, None),
        counter=model.counter or Estimator(),
        redact=redact or make_redactor(),
    )


def work_on(
    settings: EngineSettings,
    transcript: Transcript,
    index: LogIndex,
    *,
    log: Sequence[Message],
    view: View,
    state: CompactionState = _NO_STATE,
    carried: Iterable[str] = (),
    options: Options,
    ratio: float = 1.0,
    at_tokens: int | None = None,
) -> CompactionInput:
    """Return what a compaction starts from.

    `transcript` is the frame that the rules of the provider need; `carried` are summaries found in
    the log; `ratio` is how many tokens the provider counts for each that we estimate;
    `at_tokens` is the size at which it is made before the threshold.
    """
    if options.target_tokens is not None:
        settings = replace(settings, target_tokens=options.target_tokens)
    budget = settings.budget if at_tokens is None else fit_budget(settings.budget, at_tokens)
    return CompactionInput(
        log=log,
        index=index,
        view=view,
        state=state.with_carried([settings.redact(body) for body in carried]),
        policy=settings.policy,
        budget=scale_budget(budget, ratio),
        rules=wire_rules(
            transcript,
            profile_for(transcript.dialect, settings.provider),
            settings.model,
            drops_stale=settings.drops_stale_thinking,
        ),
        counter=settings.counter,
        redact=settings.redact,
        outside_tokens=settings.outside_tokens,
        options=options,
    )


class Run(Struct, frozen=True):
    """A compaction that was begun: its plan, and what it was begun on."""

    todo: Plan
    decision: Decision
    log: LogIndex
    state: CompactionState


class Finished(Struct, frozen=True):
    """How a run ended: what was written, and the next view or why there is none."""

    written: Draft | None
    done: Compaction | Skipped


def finish_run(todo: Plan, written: Draft | None = None) -> Finished:
    """Return how a plan ends; nothing changes yet, so this may happen beside the agent."""
    if written is not None and written.stops:
        return Finished(written, Skipped(written.stops, written.detail, todo.tokens_before))
    made = None if written is None else written.done
    done = made or finish(todo, None if written is None else written.prose)
    if written is not None and isinstance(done, Compaction):
        done = replace(done, state=with_pauses(done.state, written))
    return Finished(None if written is None else written.count_added(done), done)


def with_pauses(state: CompactionState, written: Draft) -> CompactionState:
    """Return the state with the pauses that follow the failures of the writers."""
    native = written.native_breaker
    return replace(
        state,
        breaker=written.breaker,
        first_breaker=written.first_breaker,
        native_breaker=state.native_breaker if native is None else native,
    )


# The report

_EVENTS: dict[Reason, str] = {
    "deferred": "compaction.deferred",
    "cooldown": "compaction.skipped",
    "ineffective": "compaction.skipped",
    "already running": "compaction.skipped",
    "cannot": "compaction.failed",
    "aborted": "compaction.failed",
}


def log_run(report: Report) -> Report:
    """Log what a run came to, and return its report."""
    event = "compaction.done"
    if report.status == "unchanged":
        event = _EVENTS.get(report.reason, "compaction.unchanged")
    log_event(
        event,
        reason=report.reason,
        urgency=report.urgency,
        tokens_before=report.tokens_before,
        tokens_after=report.tokens_after,
        threshold_tokens=report.threshold_tokens,
        context_length=report.context_length,
        messages_before=report.messages_before,
        messages_after=report.messages_after,
        folded=report.folded,
        rewritten=report.rewritten,
        summary=report.summary_source.source,
        count=report.compaction_count,
    )
    return report


def report_of(work: CompactionInput, done: Compaction | Skipped, transcript: Transcript) -> Report:
    """Return the report of one run; `transcript` gives the frame for the breakdown."""
    budget, before = work.budget, done.tokens_before
    shown = _messages_in(work.view)
    stays = Report(
        status="unchanged",
        tokens_before=before,
        tokens_after=before,
        prompt_tokens=before,
        counter=work.counter.name,
        context_length=budget.context_length,
        effective_window=budget.effective_window,
        threshold_tokens=budget.threshold_tokens,
        target_tokens=budget.target_tokens,
        floor_tokens=done.floor_tokens,
        fits_window=before <= budget.effective_window,
        messages_before=shown,
        messages_after=shown,
        kept=len(work.log),
        rewritten=0,
        folded=0,
        compaction_count=work.state.count,
        version=__version__,
    )
    if isinstance(done, Skipped):
        return replace(stays, reason=done.reason, detail=done.detail)
    kept, rewritten, folded = _counts(done.view)
    notes: list[str] = []
    if budget.target_tokens is not None and done.tokens_after > budget.target_tokens:
        notes.append(
            f"{budget.target_tokens:,} tokens were asked for and {done.tokens_after:,} are left: "
            f"the newest messages, anchors and the summary's frame need them"
        )
    if not folded:
        more = "" if budget.target_tokens else f"; {FOLD_MORE}"
        notes.append(f"messages were only shortened, none was folded{more}")
    if done.known_faults:
        notes.append(
            f"the list broke {', '.join(done.known_faults)} before the compaction, and still does: "
            f"{STILL_BROKEN}"
        )
    if done.state.stale_thinking:
        header = "".join(f"{name}: {value}" for name, value in drop_settings({}).headers.items())
        notes.append(
            f"the tool loop in progress keeps thinking that is bound to messages that changed: the "
            f"request must set thinking.block_binding and send the header {header}"
        )
    if done.tokens_after > budget.effective_window:
        notes.append(
            f"the result still exceeds the window of {budget.effective_window:,} tokens; "
            f"{done.floor_tokens:,} cannot be folded"
        )
    return replace(
        stays,
        status="compacted",
        tokens_after=done.tokens_after,
        fits_window=done.tokens_after <= budget.effective_window,
        messages_after=len(done.messages),
        boundary=done.boundary,
        kept=kept,
        rewritten=rewritten,
        folded=folded,
        compaction_count=done.state.count,
        recoverable=work.options.references,
        references=done.new_references,
        summary_source=SummaryNote(source="ledger" if folded else "none", confidence="medium"),
        summary_tokens=done.summary_tokens,
        notes=tuple(notes),
        categories=with_sections(
            (*fixed_categories(transcript, work.counter), *done.categories), work.log, work.counter
        ),
    )


def _messages_in(view: View) -> int:
    """Return how many messages a view shows."""
    kept, rewritten, _ = _counts(view)
    folded = (item for item in view.items if isinstance(item, Folded))
    return kept + rewritten + sum(len(item.messages) for item in folded)


def _counts(view: View) -> tuple[int, int, int]:
    kept = rewritten = folded = 0
    for item in view.items:
        match item:
            case Kept(start=start, stop=stop):
                kept += stop - start
            case Rewritten():
                rewritten += 1
            case Folded(start=start, stop=stop):
                folded += stop - start
    return kept, rewritten, folded
