"""The default engine behind the contract: a `Compressor` under Hermes' method names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from holdfast.adapters.contract import ContextEngine
from holdfast.compaction.compact import Skipped, plan
from holdfast.compaction.work import Options
from holdfast.engine.compressor import Compressor
from holdfast.engine.meter import answer_tokens_of, figures_of, prompt_tokens_of
from holdfast.engine.run import Model, model_of


class HermesEngine(Compressor, ContextEngine):
    """A compressor for hosts that call engines: it follows their list and keeps the figures that
    they read.
    """

    def __init__(self, *, model: str | Model = "", output_tokens: int = 0, **settings: Any) -> None:
        """Make one with the settings of a `Compressor`; `output_tokens` as hosts give it."""
        model = model_of(model)
        reserved = output_tokens or model.output_tokens
        super().__init__(model=replace(model, output_tokens=reserved), **settings)
        self._take_window()

    def _take_window(self) -> None:
        budget = self.settings.budget
        self.context_length, self.threshold_tokens = budget.context_length, budget.threshold_tokens

    @property
    def name(self) -> str:
        """Its name among engines."""
        return "compressor"

    def update_from_response(self, usage: object) -> None:
        """Take the provider's count, a mapping or the object of its client: it corrects the
        estimates from now on.
        """
        figures = figures_of(usage)
        prompt = prompt_tokens_of(figures)
        if prompt > 0:
            self.report_usage(prompt)
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
        self.follow(messages)
        self.prepare_if_due()
        return self.decide().due

    def has_content_to_compress(self, messages: Sequence[Any]) -> bool:
        """Return whether a run by hand would fold anything."""
        if not messages:
            return False
        self.follow(messages)
        return not isinstance(plan(self.work_with(Options())), Skipped)

    def compress(
        self,
        messages: Sequence[Any],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        force: bool = False,
    ) -> list[Any]:
        """Return the host's list made smaller; the same messages if nothing is due."""
        if not messages:
            return []
        self._follow(messages, current_tokens)
        report = self.compact(focus=focus_topic or "", force=force or bool(focus_topic))
        return self._shown(messages, report.status)

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
        self._follow(messages, current_tokens)
        report = await self.acompact(focus=focus_topic or "", force=force or bool(focus_topic))
        return self._shown(messages, report.status)

    def _follow(self, messages: Sequence[Any], current_tokens: int | None) -> None:
        self.follow(messages)
        if current_tokens:
            self.report_usage(current_tokens, corrects=False)

    def _shown(self, messages: Sequence[Any], status: str) -> list[Any]:
        self.compression_count = self.state.count
        return list(messages) if status == "unchanged" else self.messages

    def on_session_reset(self) -> None:
        """Forget the session; the calibration belongs to the model and stays."""
        ContextEngine.on_session_reset(self)
        self.reset()

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the recall and search tools; constant."""
        return self.tools

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Answer the recall and search tools; a wrong reference gets a sentence, never an error."""
        return self.answer_tool(name, arguments)

    def update_model(self, model: str, context_length: int, **details: Any) -> None:
        """Take another model: the next check already uses its window."""
        output_tokens = details.get("output_tokens")
        self.use_model(model, context_length, None if output_tokens is None else int(output_tokens))
        self._take_window()

    def get_status(self) -> dict[str, Any]:
        """Return what a status line shows."""
        decision = self.decide()
        return {
            **ContextEngine.get_status(self),
            "compression_count": self.state.count,
            "prompt_tokens": decision.prompt_tokens,
            "prompt_tokens_source": decision.source,
            "usage": decision.prompt_tokens / self.context_length,
            "pressure": decision.pressure,
            "urgency": decision.urgency,
            "reason": decision.reason,
            "summarizer": self.summarizer_name,
            "notes": self.notes,
        }
