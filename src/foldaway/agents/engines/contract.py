"""The contract that every context engine keeps, so that hosts can exchange them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from foldaway._core import Budget, Policy
from foldaway.dialects import dump_text
from foldaway.transcript import Payload


class WindowFigures:
    """What hosts read of a window; they may also write it."""

    context_length: int = 0
    threshold_tokens: int = 0
    threshold_percent: float = 0.5
    """The threshold as a share of the window."""
    protect_first_n: int = 3
    protect_last_n: int = 20

    def show_window(self, budget: Budget, policy: Policy) -> None:
        """Show what a policy means for a window."""
        self.context_length, self.threshold_tokens = budget.context_length, budget.threshold_tokens
        self.threshold_percent = budget.threshold_tokens / budget.context_length
        self.protect_first_n, self.protect_last_n = policy.protect_first, policy.protect_last


class ContextEngine(WindowFigures, ABC):
    """Decides when a conversation is too long and makes it shorter.

    Hosts call `update_from_response` after every model call, `should_compress` before the next,
    and `compress` if that says so. They read the figures below, and may write them: -1 as
    `last_prompt_tokens` says that a compaction came after the last count. Found by the entry-point
    group `foldaway.engines`.
    """

    last_prompt_tokens: int = 0
    last_completion_tokens: int = 0
    last_total_tokens: int = 0
    compression_count: int = 0

    @property
    @abstractmethod
    def name(self) -> str:
        """A short identifier."""

    @abstractmethod
    def update_from_response(self, usage: Mapping[str, object]) -> None:
        """Take the usage that the provider reported for the last call."""

    @abstractmethod
    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Return whether a compaction is due before the next call."""

    @abstractmethod
    def compress(
        self,
        messages: Sequence[Payload],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        force: bool = False,
        memory_context: str = "",
    ) -> list[Payload]:
        """Return a valid list that is not longer; the same messages if nothing is due.

        `current_tokens` is the provider's count of these messages, `memory_context` what the
        host's memory says to a model that writes the summary.
        """

    def should_compress_preflight(self, messages: Sequence[Payload]) -> bool:
        """Return whether `messages` look too long before any usage was reported."""
        del messages
        return False

    def has_content_to_compress(self, messages: Sequence[Payload]) -> bool:
        """Return whether there is anything that a run by hand could fold."""
        del messages
        return True

    def on_session_start(self, session_id: str, **details: object) -> None:
        """Prepare for a session; nothing of another one may be left.

        With `boundary_reason="compression"` it is the one of `old_session_id`, which goes on after
        a compaction: then everything stays.
        """
        del session_id
        if details.get("boundary_reason") != "compression":
            self.on_session_reset()

    def on_session_end(self, session_id: str, messages: Sequence[Payload]) -> None:
        """Let go of a session; hosts also call it at a compaction."""
        del session_id, messages

    def on_session_reset(self) -> None:
        """Forget everything that belongs to the session."""
        self.show_usage(0, 0)
        self.compression_count = 0

    def show_usage(self, prompt_tokens: int, answer_tokens: int) -> None:
        """Show what the provider counted for the last call."""
        self.last_prompt_tokens, self.last_completion_tokens = prompt_tokens, answer_tokens
        self.last_total_tokens = prompt_tokens + answer_tokens

    def get_tool_schemas(self) -> list[Payload]:
        """Return the tools that the engine offers; constant, so that prompts stay cached."""
        return []

    def handle_tool_call(self, name: str, args: Mapping[str, object], **details: object) -> str:
        """Answer a call of one of the engine's tools, as JSON."""
        del args, details
        return dump_text({"error": f"there is no tool {name!r}"})

    def get_status(self) -> Payload:
        """Return what a status line shows."""
        used, window = max(self.last_prompt_tokens, 0), self.context_length
        return {
            "name": self.name,
            "last_prompt_tokens": used,
            "threshold_tokens": self.threshold_tokens,
            "context_length": window,
            "usage_percent": min(100 * used / window, 100) if window else 0,
            "compression_count": self.compression_count,
        }

    def update_model(self, model: str, context_length: int, **details: object) -> None:
        """Take another model with its window; the next check already uses it."""
        del model, details
        self.context_length = context_length
