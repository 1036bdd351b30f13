"""An engine with memory beside it, for hosts that know engines and no sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.adapters.contract import ContextEngine
from holdfast.adapters.hermes import HermesEngine
from holdfast.memory.manager import MemoryManager
from holdfast.memory.provider import Switch


class RememberingEngine(ContextEngine):
    """Does what its engine does, and lets memory hear of it.

    Memory is asked before messages are folded and told when a session begins, is reset or ends;
    its tools stand beside those of the engine. What a host puts into requests it asks the manager
    for: `memory.prefetch`, `memory.sync`.
    """

    def __init__(self, engine: ContextEngine, memory: MemoryManager) -> None:
        """Take an engine and the memory that is to go with it."""
        self.engine, self.memory = engine, memory
        self._session_id = ""

    def __getattribute__(self, name: str) -> Any:
        """Give the engine's own figures as they are now."""
        if name in _FIGURES:
            return getattr(object.__getattribute__(self, "engine"), name)
        return object.__getattribute__(self, name)

    @property
    def name(self) -> str:
        """The engine's own name: whoever shows it need not know of memory."""
        return self.engine.name

    def update_from_response(self, usage: Mapping[str, Any]) -> None:
        """Pass on what the provider reported."""
        self.engine.update_from_response(usage)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Return what the engine says."""
        return self.engine.should_compress(prompt_tokens)

    def should_compress_preflight(self, messages: Sequence[Any]) -> bool:
        """Return what the engine says."""
        return self.engine.should_compress_preflight(messages)

    def has_content_to_compress(self, messages: Sequence[Any]) -> bool:
        """Return what the engine says."""
        return self.engine.has_content_to_compress(messages)

    def compress(
        self,
        messages: Sequence[Any],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        force: bool = False,
    ) -> list[Any]:
        """Let memory take what matters, then compress; a writing model is shown what it says."""
        said = self.memory.before_compaction(messages)
        if isinstance(self.engine, HermesEngine):
            self.engine.remembered = said
        return self.engine.compress(messages, current_tokens, focus_topic, force=force)

    def on_session_start(self, session_id: str, **details: Any) -> None:
        """Tell both that a session begins; `parent_id` names the one that it goes on from."""
        parent = str(details.get("parent_id") or self._session_id)
        self.engine.on_session_start(session_id, **details)
        if parent and parent != session_id:
            self.memory.session_switched(Switch(session_id=session_id, parent_id=parent))
        self._session_id = session_id

    def on_session_end(self, session_id: str, messages: Sequence[Any]) -> None:
        """Tell both that a session is over."""
        self.memory.session_ended(session_id, messages)
        self.engine.on_session_end(session_id, messages)
        self._session_id = ""

    def on_session_reset(self) -> None:
        """Tell both that the session starts with nothing."""
        self.engine.on_session_reset()
        self.memory.session_switched(Switch(session_id=self._session_id, reset=True))

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools of the engine, then those of memory."""
        return [*self.engine.get_tool_schemas(), *self.memory.tools()]

    def handle_tool_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Answer a call of either."""
        if any(tool["name"] == name for tool in self.memory.tools()):
            return self.memory.call(name, arguments)
        return self.engine.handle_tool_call(name, arguments)

    def get_status(self) -> dict[str, Any]:
        """Return what the engine shows, and how memory does."""
        return {**self.engine.get_status(), "memory": self.memory.status()}

    def update_model(self, model: str, context_length: int, **details: Any) -> None:
        """Pass on another model."""
        self.engine.update_model(model, context_length, **details)


_FIGURES = frozenset({
    "last_prompt_tokens", "last_completion_tokens", "last_total_tokens", "threshold_tokens",
    "context_length", "compression_count",
})  # fmt: skip
