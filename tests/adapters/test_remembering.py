"""An engine with memory beside it keeps the engines' contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.adapters.hermes import HermesEngine
from holdfast.adapters.remembering import RememberingEngine
from holdfast.memory.manager import MemoryManager
from holdfast.memory.provider import MemoryProvider, Switch


class Listening(MemoryProvider):
    """Writes down what it hears."""

    name = "listening"

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def before_compaction(self, messages: Sequence[Any]) -> str:
        self.heard.append(len(messages))
        return "fond of otters"

    def session_switched(self, switch: Switch) -> None:
        self.heard.append(switch)

    def session_ended(self, session_id: str, messages: Sequence[Any]) -> None:
        self.heard.append(session_id)

    def tools(self) -> Sequence[Mapping[str, Any]]:
        return ({"name": "note", "description": "", "parameters": {}},)

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        return "noted"


def test_memory_hears_of_compactions_and_sessions_and_the_rest_is_the_engines() -> None:
    """Figures, verdicts and results are those of the engine alone."""
    rows = [
        {"role": role, "content": f"{role} {at} " + "words of some length " * 120}
        for at in range(20)
        for role in ("user", "assistant")
    ]
    alone = HermesEngine(context_length=16_000)
    plain = alone.compress(list(rows), force=True)
    listening = Listening()
    memory = MemoryManager(listening)
    engine = RememberingEngine(HermesEngine(context_length=16_000), memory)
    engine.on_session_start("s1")
    assert engine.should_compress_preflight(rows) == alone.should_compress_preflight(rows)
    assert engine.compress(list(rows), force=True) == plain
    assert engine.compression_count == alone.compression_count == 1
    assert engine.context_length == 16_000
    assert engine.threshold_tokens == alone.threshold_tokens
    assert engine.handle_tool_call("note", {}) == "noted"
    assert "no tool" in engine.handle_tool_call("other", {})
    names = [tool["name"] for tool in engine.get_tool_schemas()]
    assert names[-1] == "note"
    assert "holdfast_recall" in names
    assert engine.get_status()["memory"]["listening"]["failures"] == 0
    engine.on_session_start("s2")
    engine.on_session_reset()
    engine.on_session_end("s2", rows)
    memory.close()
    assert listening.heard == [
        len(rows), Switch(session_id="s2", parent_id="s1"), Switch(session_id="s2", reset=True),
        "s2",
    ]  # fmt: skip
