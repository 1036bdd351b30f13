"""The default engine: a long-lived compressor for one session at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from holdfast.caching.prices import Prices, Ttl
from holdfast.catalog.windows import window_of
from holdfast.compaction.arrival import Arriving
from holdfast.compaction.compact import Unchanged, plan
from holdfast.compaction.measure import Estimator, counted_by, tools_tokens
from holdfast.compaction.media import without_older_media
from holdfast.compaction.state import CompactionState
from holdfast.compaction.trigger import Decision
from holdfast.compaction.work import Wish
from holdfast.dialects.profiles import dialect_for
from holdfast.engine.author import Author, Clock
from holdfast.adapters.contract import ContextEngine
from holdfast.engine.conversation import (
    Conversation,
    Settings,
    Step,
)
from holdfast.engine.lighten import lighten
from holdfast.engine.recall import TOOLS, answer_tool
from holdfast.engine.meter import answer_tokens_of, figures_of, prompt_tokens_of
from holdfast.policy import Policy
from holdfast.ports import MediaReducer, NativeCompactor, Redact, Summarizer, TokenCounter
from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.report import Reference, Report
from holdfast.transcript import Message, Payload, View
from holdfast.writing.failures import OnFailure
from holdfast.writing.native import NativeCompaction, native_of, without_native
from holdfast.writing.write import window_note
from holdfast.writing.writers import DEFAULT_TIMEOUT, Writers, writers_of


class Compressor(ContextEngine):
    """Keeps one conversation inside its window.

    Long-lived form: `append` what arrives, ask `decide`, call `compact`; each message is decoded,
    measured once. Contract form: `compress(messages)` takes the host's whole list.
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
        summarizer: Summarizer | Writers | str | None = None,
        fallback_summarizer: Summarizer | str | None = None,
        on_failure: OnFailure = "auto",
        summarizer_timeout: float = DEFAULT_TIMEOUT,
        native: NativeCompaction | NativeCompactor | str | None = None,
        background: bool = False,
        prices: Prices | None = None,
        cache_ttl: Ttl = "5m",
        clock: Clock = time.time,
    ) -> None:
        """Make a compressor for a window, a model whose window is known, or 200,000 tokens.

        With a `summarizer` a model writes the prose of summaries, in the `background` as soon as
        the pressure warning is due; `on_failure` says what follows where it cannot. Where prices
        are given, or known for the model (the extra `prices`), a compaction that would cost more
        than it saves is deferred as long as there is room. `native` is the permission to have the
        provider of this conversation compact it first.
        """
        window, source = window_of(model, context_length)
        counts = counter or Estimator()
        settings = Settings(
            model=model, context_length=window, window_source=source,
            output_tokens=output_tokens,
            policy=policy or Policy(), provider=provider,
            dialect=dialect_for(provider, dialect),
            counter=counts, redact=redact or Redactor(RedactionPolicy(personal=False)),
            tools=tuple(tools), outside_tokens=tools_tokens(tools, counts),
        )  # fmt: skip
        self.context_length = window
        self.threshold_tokens = settings.budget.threshold_tokens
        self._here = Conversation(settings)
        self._has_redactor = redact is not None
        self._writers = writers_of(
            summarizer, fallback_summarizer, on_failure=on_failure, timeout=summarizer_timeout
        )
        self._author = Author(
            self._here, self._writers,
            native=native_of(native, tools=settings.tools, prices=prices),
            background=background, clock=clock, prices=prices, ttl=cache_ttl,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """Its name among engines."""
        return "compressor"

    # The long-lived form

    def append(self, *messages: Any) -> None:
        """Take new messages at the end of the conversation; costs the same at any length."""
        turns = self._here.turns
        self._here.append(*messages)
        if self._here.turns != turns:
            self._author.used()
        self._author.look()

    def decide(self, prompt_tokens: int | None = None) -> Decision:
        """Return whether a compaction is due, and why; independent of the length of the log."""
        return self._here.decide(prompt_tokens)

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
        wish = Wish(focus=focus, keep_last=keep_last, pinned=frozenset(pinned))
        return self._counted(self._author.compact(wish, force=force))

    async def acompact(
        self,
        *,
        focus: str = "",
        force: bool = False,
        keep_last: int | None = None,
        pinned: Iterable[int] = (),
    ) -> Report:
        """Do what `compact` does, for hosts that await; cancelling it changes nothing."""
        wish = Wish(focus=focus, keep_last=keep_last, pinned=frozenset(pinned))
        return self._counted(await self._author.acompact(wish, force=force))

    def lighten(self, reducer: MediaReducer = without_older_media) -> Report:
        """Show older media as placeholders, for a request whose payload is too large."""
        return lighten(self._here, reducer)

    def prepare(self) -> bool:
        """Begin to write the next summary in the background, in a thread; `compact` takes it in.

        False where there is nothing to write, or a summary is under way already.
        """
        return self._author.prepare()

    def aprepare(self) -> bool:
        """Do what `prepare` does, in a task of the running event loop."""
        return self._author.aprepare()

    @property
    def is_preparing(self) -> bool:
        """Whether a summary is under way in the background, or waits for `compact`."""
        return self._author.is_preparing

    @property
    def is_prepared(self) -> bool:
        """Whether a summary was written in the background and waits for `compact`."""
        return self._author.is_prepared

    def cancel(self) -> None:
        """Let go of what is written in the background; nothing of it will be used."""
        self._author.cancel()

    def _counted(self, report: Report) -> Report:
        self.compression_count = self._here.state.count
        return report

    @property
    def messages(self) -> list[Any]:
        """What the model should see now, in the dialect that was given."""
        return list(self._here.seen)

    @property
    def portable_messages(self) -> list[Any]:
        """The same with our own summary in the place of what only its provider can read."""
        here = self._here
        return without_native(here.seen, here.state.native, here.log.dialect)

    @property
    def state(self) -> CompactionState:
        """What the next compaction starts from."""
        return self._here.state

    @property
    def last_report(self) -> Report | None:
        """What the last run did."""
        return self._here.last

    def recall(self, reference: str) -> list[Any]:
        """Return the originals that a reference stands for; raises `UnknownReference`."""
        return self._here.recall(reference)

    def search(self, text: str, most: int = 10) -> list[tuple[int, str]]:
        """Return positions and snippets of messages that hold `text` and are shown no more."""
        return self._here.search(text, most)

    def undo(self) -> bool:
        """Take back the last compaction and keep what came since; False where there is none."""
        undone = self._here.undo()
        self.compression_count = self._here.state.count
        return undone

    def snapshot(self) -> bytes:
        """Return what survives a restart beside the transcript."""
        return self._here.snapshot()

    def restore(self, data: bytes) -> None:
        """Take a snapshot; the transcript itself is appended by the host.

        The log begins anew then, so what the ledger knows is carried over as a summary of its own.
        """
        self._here.restore(data)

    # For whoever keeps the session

    @property
    def goal(self) -> str:
        """What the session is for; every summary of ours begins with it, letter for letter."""
        return self._here.goal

    @goal.setter
    def goal(self, text: str) -> None:
        self._here.goal = text

    @property
    def remembered(self) -> str:
        """What memory says to a model that writes the next summary; shown to it as data."""
        return self._here.remembered

    @remembered.setter
    def remembered(self, text: str) -> None:
        self._here.remembered = text

    def hide_with(self, redact: Redact) -> None:
        """Take the redactor of whoever keeps the conversation, before the first message is taken.

        One that the compressor was made with stays.
        """
        if not self._has_redactor:
            self._here.settings = replace(self._here.settings, redact=redact)

    def keep_with(self, keep: Callable[[Step], None]) -> None:
        """Have every compaction handed to `keep` before it is taken in.

        Where `keep` raises, nothing changes, and what it raised comes out of `compact`.
        """
        self._here.keep = keep

    def resume(
        self, messages: Sequence[Any], view: View | None = None, state: bytes = b"", *,
        arriving: Arriving | None = None, tokens: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        """Go on with a session that was kept: its whole log, the view on it and a snapshot.

        What the model sees is the same bytes, and every reference resolves. `arriving` is how its
        results were shown on arrival, by the policy where it is not given. `tokens` are those of
        each message as it came, if they are kept under the same `counted_by`.
        """
        self._author.cancel()
        self._here.resume(messages, view, state, arriving, tokens)
        self.compression_count = self._here.state.count

    @property
    def counted_by(self) -> str:
        """Under what name the tokens of messages are kept."""
        return counted_by(self._here.settings.counter)

    @property
    def view(self) -> View:
        """The view on the log as it stands."""
        return self._here.log.view

    @property
    def length(self) -> int:
        """How many messages the log has."""
        return len(self._here.log.messages)

    def arrived(self, start: int) -> list[tuple[Message, int]]:
        """Return the messages of the log from a position on, each with its tokens as it came."""
        log = self._here.log
        return [(log.messages[at], log.given_tokens(at)) for at in range(start, len(log.tokens))]

    def given_out(self, start: int) -> Sequence[Reference]:
        """Return the references of results that are shown otherwise since their arrival, after the
        first `start` of them.
        """
        return self._here.log.arrivals.references_from(start)

    @property
    def arriving(self) -> Arriving:
        """How results are shown from their arrival on."""
        return self._here.arriving

    @property
    def dialect(self) -> str:
        """The dialect of the conversation."""
        return self._here.log.dialect

    # The contract of engines

    def update_from_response(self, usage: object) -> None:
        """Take the provider's count, a mapping or the object of its client: it corrects the
        estimates from now on.
        """
        figures = figures_of(usage)
        prompt = prompt_tokens_of(figures)
        if prompt <= 0:
            return
        self._here.report_usage(prompt)
        self._author.used()
        self.last_prompt_tokens = prompt
        self.last_completion_tokens = answer_tokens_of(figures)
        self.last_total_tokens = prompt + self.last_completion_tokens

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Return whether an automatic compaction is due."""
        return self.decide(prompt_tokens).due

    def should_compress_preflight(self, messages: Sequence[Any]) -> bool:
        """Return whether `messages` are over the threshold by estimate."""
        if not messages:
            return False
        self._here.absorb(messages)
        self._author.look()
        return self.decide().due

    def has_content_to_compress(self, messages: Sequence[Any]) -> bool:
        """Return whether a run by hand would fold anything."""
        if not messages:
            return False
        self._here.absorb(messages)
        return not isinstance(plan(self._here.work(Wish())), Unchanged)

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
        self._take(messages, current_tokens)
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
        if not messages:
            return []
        self._take(messages, current_tokens)
        report = await self.acompact(focus=focus_topic or "", force=force or bool(focus_topic))
        return list(messages) if report.status == "unchanged" else self.messages

    def _take(self, messages: Sequence[Any], current_tokens: int | None) -> None:
        self._here.absorb(messages)
        if current_tokens:
            self._here.report_usage(current_tokens, corrects=False)

    def on_session_reset(self) -> None:
        """Forget the session; the calibration belongs to the model and stays."""
        super().on_session_reset()
        self._author.cancel()
        self._here.reset()

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the recall and search tools; constant."""
        return [dict(tool) for tool in TOOLS]

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Answer the recall and search tools; a wrong reference gets a sentence, never an error."""
        here = self._here
        return answer_tool(name, arguments, here.references(), here.recall, here.dropped())

    def update_model(self, model: str, context_length: int, **details: Any) -> None:
        """Take another model: the next `decide` already uses its window."""
        was = self._here.settings
        settings = replace(
            was,
            model=model,
            context_length=context_length,
            window_source="given",
            output_tokens=int(details.get("output_tokens", was.output_tokens)),
        )
        threshold = settings.budget.threshold_tokens
        self._here.settings = settings
        self.context_length = context_length
        self.threshold_tokens = threshold

    def get_status(self) -> dict[str, Any]:
        """Return what a status line shows."""
        decision = self.decide()
        return {
            **super().get_status(),
            "prompt_tokens": decision.prompt_tokens,
            "prompt_tokens_source": decision.source,
            "usage": decision.prompt_tokens / self.context_length,
            "pressure": decision.pressure,
            "urgency": decision.urgency,
            "reason": decision.reason,
            "summarizer": "none" if self._writers is None else self._writers.main.name,
            "notes": self._notes(),
        }

    def _notes(self) -> list[str]:
        """Return what there is to say of the summariser before it is asked."""
        if self._writers is None:
            return []
        return window_note(self._writers.main, self._here.settings.budget)
