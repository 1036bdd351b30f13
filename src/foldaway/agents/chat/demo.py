"""A model with a script, for a first look without a key: it reads files and repairs a service."""

from __future__ import annotations

import asyncio
import itertools
import json
import uuid
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from foldaway._core import Policy, read_table
from foldaway.agents.chat.model import WIRES, ChatAnswer, ChatModel, Hear
from foldaway.agents.chat.tools import OwnTool
from foldaway.transcript import estimate_text

PIECE_CHARS, PIECE_SECONDS = 12, 0.012
"""The pace of the answers: some 250 tokens in a second, like a quick model."""


class _Step(Struct, frozen=True):
    ask: str
    file: str
    line: str
    answer: str


STORY = read_table("demo", dict[str, tuple[_Step, ...]], "foldaway.agents.chat")["steps"]


def _read_file(arguments: Mapping[str, Any]) -> str:
    lines = {step.file: step.line for step in STORY if step.file}
    line = lines.get(str(arguments.get("path")), "")
    return "\n".join(line.format(n=n) for n in range(40)) or "no such file"


class DemoModel(ChatModel):
    """Answers the questions of the story, each after a call; others with a sentence."""

    WINDOW = 8_000
    """Tokens: small enough that the story is compacted within a minute."""
    POLICY = Policy(floor_tokens=1_000, protect_last=2)
    """A compaction at half of the window; without the floor, which is for real windows."""
    ASKS = tuple(step.ask for step in STORY)
    """Pressing Enter on an empty line asks the next one."""
    TOOL: OwnTool = (
        {
            "name": "read_file",
            "description": "Return a file of the demo.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
        _read_file,
    )

    def __init__(self, name: str = "demo") -> None:
        self._be("demo", name, WIRES["openai"])
        self._sent = ""

    async def connect(self) -> None:
        """Do nothing: it is here."""

    async def close(self) -> None:
        """Do nothing."""

    def switch_to(self, name: str) -> ChatModel:
        """Return the same model, whatever it is called."""
        return DemoModel(name)

    async def answer(self, frame: Mapping[str, Any], messages: list[Any], hear: Hear) -> ChatAnswer:
        """Call a tool for a question, and answer after its result."""
        asked = [str(one["content"]) for one in messages if one["role"] == "user"][-1]
        step = max(STORY, key=lambda one: asked.rfind(one.ask))
        if step.ask in asked and messages[-1]["role"] == "user":
            return ChatAnswer(_call(step), self._usage(frame, messages))
        said = step.answer if step.ask in asked else "I only know my story; press Enter to go on."
        for at in range(0, len(said), PIECE_CHARS):
            hear(said[at : at + PIECE_CHARS])
            await asyncio.sleep(PIECE_SECONDS)
        message = {"role": "assistant", "content": said}
        return ChatAnswer(message, self._usage(frame, messages))

    def _usage(self, *sent: Any) -> dict[str, Any]:
        """Return what a provider would count; what begins like the request before is cached."""
        was, self._sent = self._sent, json.dumps(sent)
        pairs = zip(was, self._sent, strict=False)
        same = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
        tokens = estimate_text(self._sent)
        details = {"cached_tokens": min(tokens, estimate_text(self._sent[:same]))}
        return {"prompt_tokens": tokens, "completion_tokens": 50, "prompt_tokens_details": details}


def _call(step: _Step) -> dict[str, Any]:
    name, given = (
        ("read_file", {"path": step.file})
        if step.file
        else ("foldaway_search", {"text": "PoolTimeout"})
    )
    function = {"name": name, "arguments": json.dumps(given)}
    call = {"id": f"call_{uuid.uuid4().hex}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
