"""One conversation: its log and view, what the provider counted, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.dialects.load import load
from holdfast.dialects.profiles import profile_for
from holdfast.dialects.registry import detect, dialect_named
from holdfast.dialects.repair import repair_transcript
from holdfast.dialects.wire_rules import wire_rules
from holdfast.engine.live_log import LiveLog, Standing
from holdfast.engine.recall import look_for, recall
from holdfast.engine.run import report_of
from holdfast.errors import NotReadable, UnknownReference
from holdfast.compaction.arrival import Arriving, arriving_by
from holdfast.compaction.compact import Outcome, Unchanged
from holdfast.compaction.index import Readings
from holdfast.facts.ledger import Around, Ledger, summarise
from holdfast.compaction.state import CompactionState, rehydrated
from holdfast.facts.summary import carried_over, merged
from holdfast.compaction.tool_names import with_safe_names
from holdfast.compaction.trigger import Decision, Moment, decide
from holdfast.compaction.work import Wish, Work
from holdfast.policy import Budget, Policy, budget_for, scaled
from holdfast.ports import Redact, TokenCounter
from holdfast.report import Reference, Report
from holdfast.tokens.calibrate import Calibration
from holdfast.transcript import Frame, Message, Payload, Rewritten, Transcript, View, render

_MILLION = 1_000_000
_CARRIED_CHARS = 40_000.0
"""How much of a ledger is carried over a restart: the largest summary."""


class ConversationSettings(Struct, frozen=True, kw_only=True):
    """What a conversation is kept by; replaced as a whole when the model changes."""

    model: str = ""
    context_length: int
    window_source: Literal["given", "model", "assumed"] = "given"
    output_tokens: int = 0
    policy: Policy
    provider: str | None = None
    dialect: str | None = None
    counter: TokenCounter
    redact: Redact
    tools: tuple[Payload, ...] = ()
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


class Step(Struct, frozen=True, kw_only=True):
    """A compaction that is about to be taken in, for whoever keeps the session."""

    view: View
    state: CompactionState
    snapshot: bytes
    report: Report


class Conversation:
    """The log of one session and the view on it; every step is whole, or leaves all as it was."""

    def __init__(self, settings: ConversationSettings) -> None:
        self.settings = settings
        self.keep: Callable[[Step], None] | None = None
        """Called before a compaction is taken in; where it raises, nothing changes."""
        self.goal = ""
        """What the session is for; every summary begins with it."""
        self.remembered = ""
        """What memory says to whoever writes the next summary."""
        self.arriving = arriving_by(settings.policy)
        """How results are shown from their arrival on."""
        self._calibration = Calibration()
        self._past: list[tuple[Sequence[Reference], Sequence[Message]]] = []
        self._begin()

    def _begin(self) -> None:
        self._log: LiveLog | None = None
        self.state = CompactionState()
        self._usage = Usage()
        self.seen: list[Any] = []
        """What the model should see now, in the dialect that was given."""
        self.last: Report | None = None
        self._undone: list[tuple[Standing, CompactionState]] = []
        self._tried: Report | None = None
        self._tried_at = 0

    def reset(self) -> None:
        """Forget the session; the calibration belongs to the model and stays."""
        self._past = []
        self.arriving = arriving_by(self.settings.policy)
        self._begin()

    # What arrives

    def append(self, *messages: Any, arrives: bool = True) -> None:
        """Take new messages at the end; costs the same at any length.

        What does not arrive now was sent before, and stays as it is.
        """
        if not messages:
            return
        log = self._log
        told = self.settings.dialect or _told_dialect(messages)
        if log is None or (told and told != log.dialect and not self.state.count):
            name = told or load(list(messages)).dialect
            past = [] if log is None else [message.wire for message in log.messages]
            log = LiveLog(name, self._readings(), self.arriving)
            seen = log.append([*past, *messages], arrives=arrives)
            self._log, self.seen = log, seen
        else:
            self.seen.extend(log.append(messages, arrives=arrives))

    def absorb(self, messages: Sequence[Any]) -> None:
        """Take the host's list: what is new is appended; another list starts a new log."""
        known = len(self.seen)
        if known and len(messages) >= known and list(messages[:known]) == self.seen:
            if len(messages) > known:
                self.append(*messages[known:], arrives=False)
            if self._usage.runs_ahead:
                self._usage = replace(self._usage, at_estimate=self.estimate(), runs_ahead=False)
            return
        self._replace_log(messages)

    def _replace_log(self, messages: Sequence[Any]) -> None:
        """Begin a log anew with another list; originals of the one before stay recallable."""
        settings = self.settings
        found = load(list(messages), dialect=settings.dialect)
        profile = profile_for(found.dialect, settings.provider)
        safe = with_safe_names(found, settings.redact)
        mended, _ = repair_transcript(safe, profile.without("call-pending"))
        encode = dialect_named(found.dialect).encode
        log = LiveLog(found.dialect, self._readings(), self.arriving)
        seen = [encode(message) for message in mended.messages]
        log.append(seen, arrives=False)
        past, state = self._log, self.state
        if past is not None and past.messages:
            given_out = past.arrivals.references(state.references)
            self._past.append(((*state.references, *given_out), past.messages))
            state = CompactionState()
        self._begin()
        self._log, self.state = log, state
        self.seen = list(messages) if mended is found else seen

    # What the provider counted

    def report_usage(self, prompt_tokens: int, *, corrects: bool = True) -> None:
        """Take the provider's count of a prompt; it corrects the estimates where it may.

        A host that hands its list over only now and then reports on messages that have not been
        seen yet: such a report runs ahead, and says nothing about the estimate.
        """
        if corrects and self.last is not None and not self._usage.confirmed:
            self.last = self.last.confirmed_by(prompt_tokens)
        was, length = self._usage, len(self.log.messages)
        same = was.confirmed and was.prompt_tokens > 0 and was.at_length == length
        self._usage = Usage(
            prompt_tokens=prompt_tokens,
            at_estimate=self.estimate(),
            at_length=length,
            runs_ahead=same and prompt_tokens > was.prompt_tokens,
        )
        if corrects and not self._usage.runs_ahead:
            self._calibration = self._calibration.observe(
                self.settings.model, self._usage.at_estimate, prompt_tokens
            )

    def prompt_tokens(self, given: int | None) -> tuple[int, Literal["measured", "estimated"]]:
        """Return the tokens of the next prompt, and whether the provider measured them."""
        if given is not None:
            return given, "measured"
        usage, estimate = self._usage, self.estimate()
        model = self.settings.model
        if usage.prompt_tokens and usage.confirmed:
            grown = self._calibration.apply(model, max(estimate - usage.at_estimate, 0))
            return usage.prompt_tokens + grown, "measured"
        return self._calibration.apply(model, estimate), "estimated"

    def cached_tokens(self) -> int:
        """Return how much of the next prompt the provider has read already, as far as is known."""
        usage = self._usage
        return usage.prompt_tokens if usage.confirmed and usage.prompt_tokens else self.estimate()

    def estimate(self) -> int:
        """Return our own estimate of what the model sees."""
        return self.settings.outside_tokens + (self._log.view_tokens if self._log else 0)

    # Whether a compaction is due, and what it works on

    def decide(self, prompt_tokens: int | None = None) -> Decision:
        """Return whether a compaction is due, and why; independent of the length of the log."""
        settings = self.settings
        tokens, source = self.prompt_tokens(prompt_tokens)
        moment = Moment(
            prompt_tokens=tokens, source=source, ineffective=self._strikes(tokens),
            floor_tokens=self._floor(),
            is_dense=self._is_dense(), unconfirmed=self._is_unconfirmed(),
        )  # fmt: skip
        return decide(moment, settings.policy, settings.budget)

    def work(self, wish: Wish, *, frozen: bool = False) -> Work:
        """Return what a compaction starts from; a frozen one does not see what arrives later."""
        log, settings = self.log, self.settings
        profile = profile_for(log.dialect, settings.provider)
        frame = Transcript(log.dialect, ())
        return Work(
            log=tuple(log.messages) if frozen else log.messages,
            index=log,
            view=log.view,
            state=rehydrated(
                self._with_arrivals(self.state), list(map(settings.redact, log.carried))
            ),
            policy=settings.policy,
            budget=scaled(settings.budget, self._ratio()),
            rules=wire_rules(frame, profile, settings.model),
            counter=settings.counter,
            redact=settings.redact,
            outside_tokens=settings.outside_tokens,
            wish=replace(wish, goal=self.goal, remembered=self.remembered),
        )

    # What a compaction made

    def adopt(self, done: Outcome, report: Report) -> None:
        """Take what a compaction made; everything that may fail comes before the first change.

        Messages that arrived since its work was frozen stand after it as they are.
        """
        log = self.log
        encode = dialect_named(log.dialect).encode
        newer = range(done.view.length, len(log.messages))
        made = log.grown(done.view)
        seen = [encode(message) for message in render(made.view, log.messages)]
        state = self._with_arrivals(done.state)
        shown = {one.name: one.tokens_after for one in done.categories}
        before = (log.standing(), self.state)
        if self.keep is not None:
            snapshot = self._snapshot(state)
            self.keep(Step(view=done.view, state=state, snapshot=snapshot, report=report))
        log.take_view(made, shown, newer)
        added = sum(made.tokens.get(at, log.tokens[at]) for at in newer)
        self._show(seen, state, done.tokens_after + added)
        self._undone.append(before)
        self._tried, self._tried_at = report, self.estimate()

    def _with_arrivals(self, state: CompactionState) -> CompactionState:
        """Return the state with the references that were given out since."""
        new = self.log.arrivals.references(state.references)
        return replace(state, references=(*state.references, *new)) if new else state

    def was_in_vain(self, report: Report, *, counts: bool) -> None:
        """Note a compaction that changed nothing; `counts` where it was due and could have."""
        if counts:
            self.state = replace(self.state, ineffective=self.state.ineffective + 1)
        self._tried, self._tried_at = report, self.estimate()

    def reported(self, work: Work, done: Outcome | Unchanged, decision: Decision) -> Report:
        """Return the report of a run, and keep it as the last one."""
        self.last = self.report_on(work, done, decision)
        return self.last

    def report_on(self, work: Work, done: Outcome | Unchanged, decision: Decision) -> Report:
        """Return the report of a run."""
        budget = self.settings.budget
        frame = Frame(body={"tools": list(self.settings.tools)})
        return replace(
            report_of(work, done, Transcript(self.log.dialect, (), frame)),
            context_length=budget.context_length,
            effective_window=budget.effective_window,
            threshold_tokens=budget.threshold_tokens,
            urgency=decision.urgency,
            prompt_tokens=decision.prompt_tokens,
            prompt_tokens_source=decision.source,
            context_length_source=self.settings.window_source,
        )

    def undo(self) -> bool:
        """Take back the last compaction and keep what came since; False where there is none."""
        if not self._undone:
            return False
        log = self.log
        was, state = self._undone[-1]
        made = log.grown(was.view)
        encode = dialect_named(log.dialect).encode
        seen = [encode(message) for message in render(made.view, log.messages)]
        self._undone.pop()
        log.take_view(made, was.shown, range(was.view.length, len(log.messages)))
        self._show(seen, replace(state, references=self.state.references), self.estimate())
        return True

    def _show(self, seen: list[Any], state: CompactionState, estimate: int) -> None:
        self.seen = seen
        self.state = state
        self._usage = Usage(at_estimate=estimate, confirmed=False)

    # The way back

    def recall(self, reference: str) -> list[Any]:
        """Return the originals that a reference stands for; raises `UnknownReference`."""
        log, state = self.log, self._with_arrivals(self.state)
        for references, messages in ((state.references, log.messages), *self._past):
            if any(row.ref == reference for row in references):
                return recall(reference, references, messages)
        raise UnknownReference(reference, len(state.references))

    def search(self, text: str, most: int) -> list[tuple[int, str]]:
        """Return positions and snippets of messages that are shown no more and hold `text`.

        Those that hold it as it stands come first, the newest of them, then those with its words.
        """
        return look_for(text, self.dropped(), most)

    def references(self) -> list[Reference]:
        """Return every reference that was given out."""
        past = (row for rows, _ in self._past for row in rows)
        return [*self._with_arrivals(self.state).references, *past]

    def dropped(self) -> list[Message]:
        """Return what was folded or rewritten, in order, also of a list that the host replaced."""
        log, folded_to = self.log, self.state.folded_to
        rewritten = [
            log.messages[item.start]
            for item in log.view.items
            if isinstance(item, Rewritten) and item.start >= folded_to and not log.is_whole(item)
        ]
        past = [message for _, messages in self._past for message in messages]
        return [*past, *log.messages[:folded_to], *rewritten]

    # What survives a restart

    def snapshot(self) -> bytes:
        """Return what survives a restart beside the transcript."""
        return self._snapshot(self.state)

    def _snapshot(self, state: CompactionState) -> bytes:
        return msgspec.json.encode(Snapshot(state=state, calibration=self._calibration))

    def resume(
        self, messages: Sequence[Any], view: View | None, snapshot: bytes,
        arriving: Arriving | None, tokens: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        """Go on with a log that was kept whole: its messages, the view on them, and a snapshot.

        `arriving` is how its results were shown on arrival, where that is not what the policy says;
        `tokens` are those of each message by the same counter, if they are known.

        Nothing is lost on the way: every reference resolves, and what the model sees is the same
        bytes. Messages that came after the view was made stand after it.
        """
        found = _unpacked(snapshot) if snapshot else None
        state = CompactionState() if found is None else found.state
        name = self.settings.dialect or load(list(messages)).dialect
        self.arriving = arriving or arriving_by(self.settings.policy)
        log = LiveLog(name, self._readings(), self.arriving)
        log.load(messages, view, tokens)
        encode = dialect_named(name).encode
        self._past = []
        self._begin()
        self._log, self.state = log, state
        self._calibration = self._calibration if found is None else found.calibration
        self.seen = [encode(message) for message in log.render()]

    def restore(self, data: bytes) -> None:
        """Take a snapshot; the transcript itself is appended by the host.

        The log begins anew then, so what the ledger knows is carried over as a summary of its own.
        Raises `NotReadable` for what is no snapshot, and changes nothing.
        """
        found = _unpacked(data)
        state = found.state
        carried = state.carried
        if not state.ledger.is_empty:
            known = carried_over(summarise(state.ledger, Around(_CARRIED_CHARS)))
            carried = known if carried is None else merged(carried, known)
        prose = None if state.prose is None else carried_over(state.prose)
        self._calibration = found.calibration
        self.state = replace(
            state,
            ledger=Ledger(),
            carried=carried,
            folded_to=0,
            ledgered=0,
            prose=prose,
            prose_to=0,
            references=(),
        )

    # Helpers

    @property
    def turns(self) -> int:
        """How often the model answered, as far as the log tells."""
        return self._log.turns if self._log else 0

    @property
    def log(self) -> LiveLog:
        """The log; an empty one where nothing has arrived yet."""
        if self._log is None:
            name = self.settings.dialect or "openai-chat"
            self._log = LiveLog(name, self._readings(), self.arriving)
        return self._log

    def _readings(self) -> Readings:
        settings = self.settings
        return Readings(settings.counter, settings.policy, settings.redact)

    def _ratio(self) -> float:
        """Return how many tokens the provider counts for each that we estimate."""
        return self._calibration.apply(self.settings.model, _MILLION) / _MILLION

    def _floor(self) -> int:
        log, least = self._log, self.settings.policy.min_tail
        return self.settings.outside_tokens + (log.floor_tokens(least) if log else 0)

    def _strikes(self, prompt_tokens: int) -> int:
        """Return how often compaction was in vain; new material is a reason to try again, and any
        is where the prompt does not fit the window.
        """
        budget, grown = self.settings.budget, self.estimate() - self._tried_at
        enough = budget.tail_tokens if prompt_tokens <= budget.effective_window else 1
        return self.state.ineffective if grown < enough else 0

    def _is_unconfirmed(self) -> bool:
        """Return whether only our own estimate says what the last compaction left."""
        grown = self.estimate() - self._usage.at_estimate
        return not self._usage.confirmed and grown < 0.1 * self.settings.budget.threshold_tokens

    def _is_dense(self) -> bool:
        report = self._tried  # the last one may be of a run that was not begun
        if report is None or not report.tokens_before:
            return False
        return report.floor_tokens + report.summary_tokens > 0.7 * report.tokens_before


def _told_dialect(messages: Sequence[Any]) -> str | None:
    """Return the dialect that messages show by marks of their own, None where they could be any."""
    found = detect(messages)
    return found.name if found.likeness(messages, {}) > 1 else None


def _unpacked(data: bytes) -> Snapshot:
    try:
        return msgspec.json.decode(data, type=Snapshot)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        remedy = "give the bytes that snapshot() returned"
        raise NotReadable(f"is no snapshot ({error})", remedy=remedy) from None
