"""The default engine behind the contract: a `Session` under Hermes' method names."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from foldaway._core import Budget, PluginKind, Reason, Report, log_event
from foldaway.agents.engines.contract import ContextEngine
from foldaway.compaction import Options, Skipped, plan
from foldaway.engine import (
    TOOLS,
    Compressor,
    Model,
    answer_tokens_of,
    figures_of,
    model_of,
    prompt_tokens_of,
)
from foldaway.errors import FoldawayError
from foldaway.sessions import Followed, Hooks, Session, SessionOptions, call_hook, internals
from foldaway.stores import SessionInfo, Store, open_store
from foldaway.transcript import Payload

_IN_VAIN: frozenset[Reason] = frozenset(
    ("cannot", "cooldown", "ineffective", "nothing to compact", "not smaller")
)
"""Reasons for which the same list would not become smaller the next time either."""


class PromptCounts:
    """Counts of a host that reports usage at every turn, and hands its list over when it is to be
    compacted.

    So a report is about messages that are not known yet: it corrects no estimates. How much of it
    is outside the messages (system prompt, tools) is a difference, taken when the list is known.
    """

    def __init__(self) -> None:
        self.prompt_tokens = 0
        """What the provider counted last."""
        self.is_awaited = False
        """Whether a compaction was made that the provider has not counted yet."""
        self.in_vain_at = 0
        """The size of a list that could not be made smaller, 0 if the last one could."""
        self._counted: Literal["", "list", "result"] = ""
        """What the last count was of: a list that is handed over later, or our last result."""
        self._outside_tokens = 0
        self._rough_tokens, self._rough_error = 0, 0

    def take(self, prompt_tokens: int, engine: Compressor) -> None:
        """Take what the provider counted for the last call."""
        engine.note_use()
        if self._counted == "result":
            self._note_outside(prompt_tokens - engine.log.shown.tokens, engine)
        self._counted = "list"
        if self._rough_tokens:
            self._rough_error = self._rough_tokens - prompt_tokens
        self.prompt_tokens = prompt_tokens

    def _note_outside(self, tokens: int, engine: Compressor) -> None:
        self._outside_tokens = max(tokens, 0)
        engine.take_outside(self._outside_tokens)

    def correct(self, said: int | None) -> int | None:
        """Return a host's figure for the next prompt. If it is an estimate of its own, it is as
        wrong as the last one, which the provider has counted since.
        """
        if said is None or said == self.prompt_tokens:
            return said
        return max(said - self._rough_error, 0)

    def is_doubtful(self, rough_tokens: int, threshold_tokens: int) -> bool:
        """Return whether an estimate is over the threshold, and the provider's count is not, or
        has yet to come.
        """
        self._rough_tokens = rough_tokens
        if rough_tokens < threshold_tokens:
            return False
        tokens = self.correct(rough_tokens) or 0
        return self.is_awaited or (bool(self.prompt_tokens) and tokens < threshold_tokens)

    def measure(self, said: int | None, engine: Compressor) -> int | None:
        """Return the tokens of the list that was handed over: what the provider counted last, and
        what came since the answer to that. What it counted beside the messages is outside of them.
        """
        said = self.correct(said)
        if self._counted != "list":
            self._note_outside(self._outside_tokens, engine)
            return said
        log, at = engine.log, engine.length
        answers = (one for one in range(at - 1, -1, -1) if log.messages[one].role == "assistant")
        newer = sum(log.tokens[next(answers, at) :])
        self._note_outside(self.prompt_tokens - (log.shown.tokens - newer), engine)
        return max(said or 0, self.prompt_tokens + newer)

    def note_run(self, report: Report, *, is_sent: bool) -> None:
        """Note what a compaction came to, and whether its result is sent from now on."""
        self.in_vain_at = report.prompt_tokens if report.reason in _IN_VAIN else 0
        if is_sent:
            self._counted = "result"

    def is_in_vain(self, tokens: int, budget: Budget) -> bool:
        """Return whether the last compaction was in vain, and little has come since."""
        enough = self.in_vain_at + budget.tail_tokens
        return self.in_vain_at > 0 and tokens < min(enough, budget.effective_window)


class HermesEngine(ContextEngine):
    """A session for hosts that call engines: it follows their list and keeps the figures that they
    read. A deep copy works on the same session, once that has begun.
    """

    def __init__(
        self,
        *,
        store: Store | str | os.PathLike[str] | None = None,
        key: str = "",
        model: str | Model = "",
        output_tokens: int = 0,
        **settings: Any,
    ) -> None:
        """Make one with the keywords of a `Session`; `output_tokens` as hosts give it."""
        if store is None or isinstance(store, (str, os.PathLike)):
            store = open_store(store or ":memory:")
        self._store = store
        self._key, self._memory_context = key, ""
        given = model_of(model)
        given = replace(given, output_tokens=output_tokens or given.output_tokens)
        self._settings: dict[str, Any] = {**settings, "model": given}
        self._counts = PromptCounts()
        self._last_run: Followed | None = None
        self._work_on(key)

    def __deepcopy__(self, memo: dict[int, object]) -> HermesEngine:
        """Return another handle: hosts copy an engine for each of their agents."""
        made = copy.copy(self)
        made._counts = copy.copy(self._counts)
        made._work_on(*self._name)
        return made

    def _work_on(self, key: str, session_id: str = "", **changed: Any) -> None:
        """Open a session, perhaps with other settings; the figures of hosts are its own."""
        settings = {**self._settings, **changed}
        hooks = replace(settings.get("hooks", Hooks()), before_compaction=self._before_compaction)
        given = {**settings, "hooks": hooks}
        session = (
            Session.open(self._store, session_id, **given)
            if session_id
            else Session(self._store, key, **given)
        )
        internals(session).place.key = key
        engine = internals(session).engine
        self.session, self._settings = session, settings
        self.show_window(engine.settings.budget, engine.settings.policy)
        self.compression_count = engine.state.count

    @property
    def _name(self) -> tuple[str, str]:
        """The key and the id that open the session again; no id before its first message."""
        session = self.session
        return session.key, session.id if internals(session).engine.length else ""

    @property
    def _options(self) -> SessionOptions:
        return self._settings.get("options", SessionOptions())

    def _before_compaction(self, info: SessionInfo) -> str:
        """Return what the model that writes a summary is shown beside the messages."""
        hooks: Hooks = self._settings.get("hooks", Hooks())
        said = (call_hook(hooks.before_compaction, info), self._memory_context)
        return "\n\n".join(text for text in said if isinstance(text, str) and text)

    @property
    def name(self) -> str:
        """Its name among engines."""
        return "compressor"

    @property
    def last_real_prompt_tokens(self) -> int:
        """What the provider counted last; Hermes writes an estimate into `last_prompt_tokens`."""
        return self._counts.prompt_tokens

    @property
    def awaiting_real_usage_after_compression(self) -> bool:
        """Set by Hermes after a compaction, until the provider counts again."""
        return self._counts.is_awaited

    @awaiting_real_usage_after_compression.setter
    def awaiting_real_usage_after_compression(self, value: bool) -> None:
        self._counts.is_awaited = value

    def update_from_response(self, usage: object) -> None:
        """Take what the provider reported for the last call: `Session.used` under the name that
        hosts have for it.
        """
        self._counts.is_awaited = False
        figures = figures_of(usage)
        if (prompt := prompt_tokens_of(figures)) > 0:
            self.session.used(figures, corrects=False)
            self._counts.take(prompt, internals(self.session).engine)
            self.show_usage(prompt, answer_tokens_of(figures))

    def should_defer_preflight_to_real_usage(self, rough_tokens: int) -> bool:
        """Return whether a host's estimate is over the threshold, and the provider's count is not;
        or if a compaction has just been made that nobody has counted yet.
        """
        return self._counts.is_doubtful(rough_tokens, self.threshold_tokens)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Return whether an automatic compaction is due, and pays if the prices are known."""
        tokens = self._counts.correct(prompt_tokens)
        if tokens is not None and self._counts.in_vain_at:
            # the log does not know what came since then
            return tokens >= self.threshold_tokens and not self._is_in_vain(tokens)
        decision = internals(self.session).engine.weigh(tokens)
        return decision.due and decision.acts

    def _automatic_compression_blocked(self) -> bool:
        """Return whether a compaction was in vain, and little has come since; Hermes asks."""
        return self._is_in_vain(max(self.last_prompt_tokens, 0))

    def _is_in_vain(self, tokens: int) -> bool:
        return self._counts.is_in_vain(tokens, internals(self.session).engine.settings.budget)

    def should_compress_preflight(self, messages: Sequence[Payload]) -> bool:
        """Return whether `messages` are over the threshold by estimate."""
        return self._take(messages) and self.should_compress()

    def has_content_to_compress(self, messages: Sequence[Payload]) -> bool:
        """Return whether a run by hand would fold anything."""
        if not self._take(messages):
            return False
        return not isinstance(plan(internals(self.session).engine.work_with(Options())), Skipped)

    def _take(self, messages: Sequence[Payload]) -> bool:
        """Keep what is new in the host's list; False if it is empty."""
        if messages:
            self.session.follow(messages, when="never")
        return bool(messages)

    def compress(
        self,
        messages: Sequence[Payload],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        force: bool = False,
        memory_context: str = "",
    ) -> list[Payload]:
        """Return the host's list made smaller; the same messages if nothing is due."""
        if not messages:
            return []
        self._memory_context = memory_context
        self._take(messages)
        followed = self.session.follow(
            messages,
            usage=self._counts.measure(current_tokens or None, internals(self.session).engine),
            focus=focus_topic or "",
            force=force or bool(focus_topic),
            when="due",
        )
        return self._finish_run(followed)

    def _finish_run(self, followed: Followed) -> list[Payload]:
        """Return what to send, and note what hosts read of the run."""
        self._last_run = followed
        if not followed.error:
            self.compression_count = followed.report.compaction_count
        self._counts.note_run(followed.report, is_sent=self._last_compression_made_progress)
        own = {id(message) for message in followed.given}
        return [one if id(one) in own else _without_sidecars(one) for one in followed.messages]

    # Hermes reads these after a compaction.

    @property
    def _last_compress_aborted(self) -> bool:
        return self._last_run is not None and self._last_run.report.reason == "aborted"

    @property
    def _last_compression_made_progress(self) -> bool:
        run = self._last_run
        return run is not None and run.report.status == "compacted" and run.is_changed

    @property
    def _last_summary_error(self) -> str | None:
        run = self._last_run
        return None if run is None else run.error or run.report.summary_source.failure or None

    def on_session_start(self, session_id: str, **details: object) -> None:
        """Open the session of the host's id; after a compaction it goes on under a new one."""
        if details.get("boundary_reason") == "compression":
            try:
                self._rotate(str(details.get("old_session_id") or self._key), session_id)
            except (FoldawayError, OSError) as error:
                if self._options.on_error != "pass":
                    raise
                log_event("session.passed", error=type(error).__name__)
        else:
            super().on_session_reset()
            self._counts = PromptCounts()
            self._work_on(session_id)
        self._key = session_id

    def _rotate(self, before: str, key: str) -> None:
        if self._key != before and (self._key or not internals(self.session).engine.length):
            self._work_on(before)
        self.session.switch(key=key)

    def on_session_end(self, session_id: str, messages: Sequence[Payload]) -> None:
        """Keep what has not been handed over yet; the session can be opened again."""
        if session_id == self._key:
            self._take(messages)

    def on_session_reset(self) -> None:
        """Begin with nothing; the session before is kept under its key."""
        super().on_session_reset()
        self._counts = PromptCounts()
        self._work_on("")
        self._key = ""

    def get_tool_schemas(self) -> list[Payload]:
        """Return the recall and search tools; constant."""
        return [dict(tool) for tool in TOOLS]

    def handle_tool_call(self, name: str, args: Mapping[str, object], **details: object) -> str:
        """Answer a tool, as JSON; a wrong reference gets a sentence, never an error."""
        return self.session.call(name, args, as_json=True)

    def update_model(self, model: str, context_length: int, **details: object) -> None:
        """Take another model: the next check already uses its window."""
        was: Model = self._settings["model"]
        given = was if model == was.name else Model(model, cache_ttl=was.cache_ttl)
        output_tokens = details.get("output_tokens")
        reserved = output_tokens if isinstance(output_tokens, int) else was.output_tokens
        given = replace(given, output_tokens=reserved)
        self._work_on(*self._name, model=given, context_length=context_length)

    def get_status(self) -> Payload:
        """Return what a status line shows."""
        engine = internals(self.session).engine
        decision = engine.decide()
        return {
            **super().get_status(),
            "prompt_tokens": decision.prompt_tokens,
            "prompt_tokens_source": decision.source,
            "pressure": decision.pressure,
            "urgency": decision.urgency,
            "reason": decision.reason,
            "summarizer": engine.summarizer_name,
            "notes": engine.notes,
        }


def _without_sidecars(message: Mapping[str, object]) -> Payload:
    """Return a message that we changed without the host's notes on the one that it was: Hermes
    sends `api_content` in the place of the content.
    """
    return {
        name: value
        for name, value in message.items()
        if name != "api_content" and not name.startswith("_")
    }


GROUP = "foldaway.engines"
_ENGINES = PluginKind(
    group="foldaway.engines",
    word="engine",
    setting="engine.name",
    ours={"compressor": HermesEngine},
)


def engine_named(name: str, **settings: Any) -> ContextEngine:
    """Return a new engine by its name.

    Raises `UnknownName` with the ones there are, and `InvalidSetting` for a package that fails or
    makes something else.
    """
    if name == "compressor":
        return HermesEngine(**settings)
    return _ENGINES.make(name, ContextEngine, **settings)


def engine_names() -> tuple[str, ...]:
    """Return the names of the engines there are, ours first; none is loaded."""
    return _ENGINES.names()
