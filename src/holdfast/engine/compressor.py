"""The default engine: a long-lived compressor for one session at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.dialects.load import load
from holdfast.dialects.profiles import dialect_for, profile_for
from holdfast.dialects.registry import detect, dialect_named
from holdfast.dialects.repair import repair_transcript
from holdfast.dialects.wire_rules import wire_rules
from holdfast.engine.contract import ContextEngine
from holdfast.engine.live_log import LiveLog, Standing
from holdfast.engine.recall import TOOLS, answer_tool, find, recall
from holdfast.engine.reporting import report_of
from holdfast.engine.windows import window_of
from holdfast.errors import UnknownReference
from holdfast.pipeline.compact import Outcome, Unchanged, finish, plan
from holdfast.pipeline.index import Readings
from holdfast.pipeline.ledger import Around, Ledger, summarise
from holdfast.pipeline.measure import Estimator, tools_tokens
from holdfast.pipeline.state import CompactionState, rehydrated
from holdfast.pipeline.summary import carried_over, merged
from holdfast.pipeline.trigger import Decision, Moment, decide
from holdfast.pipeline.work import Wish, Work
from holdfast.policy import Budget, Policy, budget_for, scaled
from holdfast.ports import Redact, TokenCounter
from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.report import Reference, Report
from holdfast.tokens.calibrate import Calibration
from holdfast.transcript import Message, Payload, Rewritten, Transcript, extend, render

_MILLION = 1_000_000
_CARRIED_CHARS = 40_000.0
"""How much of a ledger is carried over a restart: the largest summary."""


class Settings(Struct, frozen=True, kw_only=True):
    """What a compressor is made with; replaced as a whole when the model changes."""

    model: str = ""
    context_length: int
    window_source: Literal["given", "model", "assumed"] = "given"
    output_tokens: int = 0
    policy: Policy
    provider: str | None = None
    dialect: str | None = None
    counter: TokenCounter
    redact: Redact
    outside_tokens: int = 0
    """The tool definitions, which stand outside the message list."""

    @property
    def budget(self) -> Budget:
        """The budgets of the policy for this window."""
        return budget_for(self.policy, self.context_length, output_tokens=self.output_tokens)


class Usage(Struct, frozen=True, kw_only=True):
    """What the provider reported last, and how far the log reached then."""

    prompt_tokens: int = 0
    at_estimate: int = 0
    """Our own estimate of the same prompt."""
    at_length: int = 0
    """How many messages the log had."""
    confirmed: bool = True
    """Whether a report came since the last compaction."""
    runs_ahead: bool = False
    """Whether the report is about messages that the log does not hold yet."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """What survives a restart beside the transcript."""

    state: CompactionState
    calibration: Calibration


class Compressor(ContextEngine):
    """Keeps one conversation inside its window.

    Long-lived form: `append` what arrives, ask `decide`, call `compact`; each message is decoded,
    measured and read once. Contract form: `compress(messages)` takes the host's whole list.
    """

    def __init__(
        self,
        *,
        model: str = "",
        context_length: int | None = None,
        output_tokens: int = 0,
        policy: Policy | None = None,
        provider: str | None = None,
        dialect: str | None = None,
        counter: TokenCounter | None = None,
        redact: Redact | None = None,
        tools: Sequence[Payload] = (),
    ) -> None:
        """Make a compressor for a window, a model whose window is known, or 200,000 tokens."""
        window, source = window_of(model, context_length)
        counts = counter or Estimator()
        self._settings = Settings(
            model=model, context_length=window, window_source=source,
            output_tokens=output_tokens,
            policy=policy or Policy(), provider=provider,
            dialect=dialect_for(provider, dialect),
            counter=counts, redact=redact or Redactor(RedactionPolicy(personal=False)),
            outside_tokens=tools_tokens(tools, counts),
        )  # fmt: skip
        self.context_length = window
        self.threshold_tokens = self._settings.budget.threshold_tokens
        self._calibration = Calibration()
        self._past: list[tuple[Sequence[Reference], Sequence[Message]]] = []
        self._begin()

    def _begin(self) -> None:
        self._log: LiveLog | None = None
        self._state = CompactionState()
        self._usage = Usage()
        self._seen: list[Any] = []
        self._last: Report | None = None
        self._undone: list[tuple[Standing, CompactionState]] = []
        self._tried_at = 0

    @property
    def name(self) -> str:
        """Its name among engines."""
        return "compressor"

    # The long-lived form

    def append(self, *messages: Any) -> None:
        """Take new messages at the end of the conversation; costs the same at any length."""
        if not messages:
            return
        log = self._log
        told = self._settings.dialect or _told_dialect(messages)
        if log is None or (told and told != log.dialect and not self._state.count):
            name = told or load(list(messages)).dialect
            log = LiveLog(name, self._readings())
            log.append([*self._seen, *messages])
            self._log = log
        else:
            log.append(messages)
        self._seen.extend(messages)

    def decide(self, prompt_tokens: int | None = None) -> Decision:
        """Return whether a compaction is due, and why; independent of the length of the log."""
        settings = self._settings
        tokens, source = self._prompt_tokens(prompt_tokens)
        moment = Moment(
            prompt_tokens=tokens, source=source, ineffective=self._strikes(),
            floor_tokens=self._floor(),
            is_dense=self._is_dense(), unconfirmed=self._is_unconfirmed(),
        )  # fmt: skip
        return decide(moment, settings.policy, settings.budget)

    def compact(
        self,
        *,
        focus: str = "",
        force: bool = False,
        keep_last: int | None = None,
        pinned: Iterable[int] = (),
    ) -> Report:
        """Fold what is due and return what was done; without `force` only where it is due.

        `pinned` are log positions that stay as they are.
        """
        decision = self.decide()
        work = self._work(Wish(focus=focus, keep_last=keep_last, pinned=frozenset(pinned)))
        if not force and not decision.due:
            stays = Unchanged(decision.reason, decision.detail, self._estimate())
            return self._reported(work, stays, decision)
        todo = plan(work)
        done = todo if isinstance(todo, Unchanged) else finish(todo)
        if isinstance(done, Outcome):
            self._adopt(done)
        elif decision.due and done.reason != "cannot":
            self._state = replace(self._state, ineffective=self._state.ineffective + 1)
        self._tried_at = self._estimate()
        return self._reported(work, done, decision)

    @property
    def messages(self) -> list[Any]:
        """What the model should see now, in the dialect that was given."""
        return list(self._seen)

    @property
    def state(self) -> CompactionState:
        """What the next compaction starts from."""
        return self._state

    @property
    def last_report(self) -> Report | None:
        """What the last run did."""
        return self._last

    def recall(self, reference: str) -> list[Any]:
        """Return the originals that a reference stands for; raises `UnknownReference`."""
        for references, messages in ((self._state.references, self._live().messages), *self._past):
            if any(row.ref == reference for row in references):
                return recall(reference, references, messages)
        raise UnknownReference(reference, len(self._state.references))

    def search(self, text: str, most: int = 10) -> list[tuple[int, str]]:
        """Return positions and snippets of messages that hold `text` and are shown no more."""
        return find(text, self._dropped(), most)

    def undo(self) -> bool:
        """Take back the last compaction and keep what came since; False where there is none."""
        if not self._undone:
            return False
        log = self._live()
        was, state = self._undone[-1]
        view = extend(was.view, len(log.messages))
        encode = dialect_named(log.dialect).encode
        seen = [encode(message) for message in render(view, log.messages)]
        self._undone.pop()
        log.come_back(was)
        self._show(seen, replace(state, references=self._state.references), self._estimate())
        return True

    def snapshot(self) -> bytes:
        """Return what survives a restart beside the transcript."""
        return msgspec.json.encode(Snapshot(state=self._state, calibration=self._calibration))

    def restore(self, data: bytes) -> None:
        """Take a snapshot; the transcript itself is appended by the host.

        The log begins anew then, so what the ledger knows is carried over as a summary of its own.
        """
        found = msgspec.json.decode(data, type=Snapshot)
        state = found.state
        carried = state.carried
        if not state.ledger.is_empty:
            known = carried_over(summarise(state.ledger, Around(_CARRIED_CHARS)))
            carried = known if carried is None else merged(carried, known)
        self._calibration = found.calibration
        self._state = replace(
            state, ledger=Ledger(), carried=carried, folded_to=0, ledgered=0, references=()
        )

    # The contract of engines

    def update_from_response(self, usage: Mapping[str, Any]) -> None:
        """Take the provider's count: it corrects the estimates from now on."""
        prompt = _prompt_tokens_of(usage)
        if prompt <= 0:
            return
        if self._last is not None and not self._usage.confirmed:
            self._last = self._last.confirmed_by(prompt)
        reported = self._reported_usage(prompt)
        if not reported.runs_ahead:
            self._calibration = self._calibration.observe(
                self._settings.model, reported.at_estimate, prompt
            )
        self._usage = reported
        self.last_prompt_tokens = prompt
        self.last_completion_tokens = _first_int(
            usage, "completion_tokens", "output_tokens", "candidatesTokenCount"
        )
        self.last_total_tokens = prompt + self.last_completion_tokens

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Return whether an automatic compaction is due."""
        return self.decide(prompt_tokens).due

    def should_compress_preflight(self, messages: Sequence[Any]) -> bool:
        """Return whether `messages` are over the threshold by estimate."""
        if not messages:
            return False
        self._absorb(messages)
        return self.decide().due

    def has_content_to_compress(self, messages: Sequence[Any]) -> bool:
        """Return whether a run by hand would fold anything."""
        if not messages:
            return False
        self._absorb(messages)
        return not isinstance(plan(self._work(Wish())), Unchanged)

    def compress(
        self,
        messages: Sequence[Any],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        force: bool = False,
    ) -> list[Any]:
        """Return the host's list made smaller; the same messages where nothing is due."""
        if not messages:
            return []
        self._absorb(messages)
        if current_tokens:
            self._usage = self._reported_usage(current_tokens)
        report = self.compact(focus=focus_topic or "", force=force or bool(focus_topic))
        return list(messages) if report.status == "unchanged" else self.messages

    async def acompress(
        self,
        messages: Sequence[Any],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        force: bool = False,
    ) -> list[Any]:
        """Do what `compress` does, for hosts that await."""
        return self.compress(messages, current_tokens, focus_topic, force=force)

    def on_session_reset(self) -> None:
        """Forget the session; the calibration belongs to the model and stays."""
        super().on_session_reset()
        self._past = []
        self._begin()

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the recall and search tools; constant."""
        return [dict(tool) for tool in TOOLS]

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Answer the recall and search tools; a wrong reference gets a sentence, never an error."""
        references = [*self._state.references, *(row for rows, _ in self._past for row in rows)]
        return answer_tool(name, arguments, references, self.recall, self._dropped())

    def update_model(self, model: str, context_length: int, **details: Any) -> None:
        """Take another model: the next `decide` already uses its window."""
        output = details.get("output_tokens", self._settings.output_tokens)
        settings = replace(
            self._settings,
            model=model,
            context_length=context_length,
            window_source="given",
            output_tokens=int(output),
        )
        threshold = settings.budget.threshold_tokens
        self._settings = settings
        self.context_length = context_length
        self.threshold_tokens = threshold

    def get_status(self) -> dict[str, Any]:
        """Return what a status line shows, with the pressure and the reason to wait."""
        decision = self.decide()
        return {
            **super().get_status(),
            "prompt_tokens": decision.prompt_tokens,
            "prompt_tokens_source": decision.source,
            "pressure": decision.pressure,
            "urgency": decision.urgency,
            "reason": decision.reason,
        }

    # Helpers, in order of use

    def _reported_usage(self, prompt: int) -> Usage:
        """Return a report with what we know of the same prompt.

        A host that hands its list over only now and then reports on messages that have not been
        seen yet: such a report runs ahead, and says nothing about the estimate.
        """
        was, length = self._usage, len(self._live().messages)
        same = was.confirmed and was.prompt_tokens > 0 and was.at_length == length
        return Usage(
            prompt_tokens=prompt,
            at_estimate=self._estimate(),
            at_length=length,
            runs_ahead=same and prompt > was.prompt_tokens,
        )

    def _live(self) -> LiveLog:
        if self._log is None:
            self._log = LiveLog(self._settings.dialect or "openai-chat", self._readings())
        return self._log

    def _readings(self) -> Readings:
        settings = self._settings
        return Readings(settings.counter, settings.policy, settings.redact)

    def _prompt_tokens(self, given: int | None) -> tuple[int, Literal["measured", "estimated"]]:
        if given is not None:
            return given, "measured"
        usage, estimate = self._usage, self._estimate()
        model = self._settings.model
        if usage.prompt_tokens and usage.confirmed:
            grown = self._calibration.apply(model, max(estimate - usage.at_estimate, 0))
            return usage.prompt_tokens + grown, "measured"
        return self._calibration.apply(model, estimate), "estimated"

    def _estimate(self) -> int:
        return self._outside() + (self._log.view_tokens if self._log else 0)

    def _outside(self) -> int:
        return self._settings.outside_tokens

    def _dropped(self) -> list[Message]:
        """Return what was folded or rewritten, in order, also of a list that the host replaced."""
        log, folded_to = self._live(), self._state.folded_to
        rewritten = [
            log.messages[item.start]
            for item in log.view.items
            if isinstance(item, Rewritten) and item.start >= folded_to
        ]
        past = [message for _, messages in self._past for message in messages]
        return [*past, *log.messages[:folded_to], *rewritten]

    def _ratio(self) -> float:
        """Return how many tokens the provider counts for each that we estimate."""
        return self._calibration.apply(self._settings.model, _MILLION) / _MILLION

    def _floor(self) -> int:
        log, least = self._log, self._settings.policy.min_tail
        return self._outside() + (log.floor_tokens(least) if log else 0)

    def _strikes(self) -> int:
        """Return how often compaction was in vain; new material is a reason to try again."""
        grown = self._estimate() - self._tried_at
        return self._state.ineffective if grown < self._settings.budget.tail_tokens else 0

    def _is_unconfirmed(self) -> bool:
        """Return whether only our own estimate says what the last compaction left."""
        grown = self._estimate() - self._usage.at_estimate
        return not self._usage.confirmed and grown < 0.1 * self.threshold_tokens

    def _is_dense(self) -> bool:
        report = self._last
        if report is None or not report.tokens_before:
            return False
        return report.floor_tokens + report.summary_tokens > 0.7 * report.tokens_before

    def _work(self, wish: Wish) -> Work:
        log, settings = self._live(), self._settings
        profile = profile_for(log.dialect, settings.provider)
        frame = Transcript(log.dialect, ())
        return Work(
            log=log.messages,
            index=log,
            view=log.view,
            state=rehydrated(self._state, list(map(settings.redact, log.carried))),
            policy=settings.policy,
            budget=scaled(settings.budget, self._ratio()),
            rules=wire_rules(frame, profile, settings.model),
            counter=settings.counter,
            redact=settings.redact,
            outside_tokens=self._outside(),
            wish=wish,
        )

    def _adopt(self, done: Outcome) -> None:
        """Take what a compaction made; everything that may fail comes before the first change."""
        log = self._live()
        encode = dialect_named(log.dialect).encode
        seen = [encode(message) for message in done.messages]
        before = (log.standing(), self._state)
        log.replace_view(done.view, {one.name: one.tokens_after for one in done.categories})
        self._show(seen, done.state, done.tokens_after)
        self._undone.append(before)

    def _show(self, seen: list[Any], state: CompactionState, estimate: int) -> None:
        self._seen = seen
        self._state = state
        self._usage = Usage(at_estimate=estimate, confirmed=False)
        self.compression_count = state.count

    def _reported(self, work: Work, done: Outcome | Unchanged, decision: Decision) -> Report:
        budget = self._settings.budget
        report = replace(
            report_of(work, done, Transcript(self._live().dialect, ())),
            context_length=budget.context_length,
            effective_window=budget.effective_window,
            threshold_tokens=budget.threshold_tokens,
            urgency=decision.urgency,
            prompt_tokens=decision.prompt_tokens,
            prompt_tokens_source=decision.source,
            context_length_source=self._settings.window_source,
        )
        self._last = report
        return report

    def _absorb(self, messages: Sequence[Any]) -> None:
        """Take the host's list: what is new is appended; another list starts a new log."""
        known = len(self._seen)
        if known and len(messages) >= known and list(messages[:known]) == self._seen:
            if len(messages) > known:
                self.append(*messages[known:])
            if self._usage.runs_ahead:
                self._usage = replace(self._usage, at_estimate=self._estimate(), runs_ahead=False)
            return
        self._replace_log(messages)

    def _replace_log(self, messages: Sequence[Any]) -> None:
        """Begin a log anew with another list; originals of the one before stay recallable."""
        settings = self._settings
        found = load(list(messages), dialect=settings.dialect)
        profile = profile_for(found.dialect, settings.provider)
        mended, _ = repair_transcript(found, profile.without("call-pending"))
        encode = dialect_named(found.dialect).encode
        log = LiveLog(found.dialect, self._readings())
        seen = [encode(message) for message in mended.messages]
        log.append(seen)
        past, state = self._log, self._state
        if past is not None and past.messages:
            self._past.append((state.references, past.messages))
            state = CompactionState()
        self._begin()
        self._log, self._state = log, state
        self._seen = list(messages) if mended is found else seen


def _told_dialect(messages: Sequence[Any]) -> str | None:
    """Return the dialect that messages show by marks of their own, None where they could be any."""
    found = detect(messages)
    return found.name if found.likeness(messages, {}) > 1 else None


def _prompt_tokens_of(usage: Mapping[str, Any]) -> int:
    """Return the whole prompt of a usage report: Anthropic counts cached tokens apart."""
    if _first_int(usage, "prompt_tokens"):
        return _first_int(usage, "prompt_tokens")
    cached = _first_int(usage, "cache_read_input_tokens") + _first_int(
        usage, "cache_creation_input_tokens"
    )
    return _first_int(usage, "input_tokens", "promptTokenCount") + cached


def _first_int(usage: Mapping[str, Any], *names: str) -> int:
    for name in names:
        found = usage.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and found > 0:
            return found
    return 0
