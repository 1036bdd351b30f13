"""Messages of OpenCode: `{"info", "parts"}`; the part of a tool holds call and result."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldaway.agents.importers import (
    blocks,
    elements,
    fields,
    prompt_blocks,
    step_blocks,
    steps_in,
    text,
)
from foldaway.agents.plugins.pi import blocks_in, usage_figures
from foldaway.transcript import Payload

_SAID = {
    "compaction": "What did we do so far?",
    "subtask": "The following tool was executed by the user",
}
"""What OpenCode says for parts that have no words."""
_OWN_ID = "foldaway"


class OpenCodeForm:
    """An answer of one step is a message with its words and calls, and one with the results."""

    def messages_of(self, own: Payload) -> list[Payload]:
        """Return a message in Anthropic's form; none if OpenCode does not send it."""
        info, parts = fields(own.get("info")), elements(own.get("parts"))
        if info.get("role") != "assistant":
            content = prompt_blocks(parts)
            for part in parts:
                content += blocks.words(_SAID.get(text(fields(part).get("type")), ""))
            return [blocks.message("user", content)] if content else []
        error = text(fields(info.get("error")).get("name"))
        if error and error != "MessageAbortedError":
            return []
        found: list[Payload] = []
        for step in steps_in(parts):
            said, results = step_blocks(step)
            if said:
                found.append(blocks.message("assistant", said))
            if results:
                found.append(blocks.message("user", [result for _, result in results]))
        return found

    def built(
        self, messages: Sequence[Payload], own: Payload | None, listed: Sequence[Payload]
    ) -> list[Payload]:
        """Return messages as OpenCode writes them."""
        found: list[Payload] = []
        held = [fields(part) for part in elements(fields(own).get("parts"))]
        for message in messages:
            content, role = blocks_in(message), text(message.get("role"))
            results = {
                text(block.get("tool_use_id")): block for block in content
                if block.get("type") == "tool_result"
            }  # fmt: skip
            words = [block for block in content if block.get("type") != "tool_result"]
            if results and found:
                found[-1] = {**found[-1], "parts": _set_results(found[-1]["parts"], results)}
            if words:
                found.append(_message(role, words, own, held, listed))
        return found

    def usage_of(self, own: Payload) -> Payload | None:
        """Return what the provider counted for an answer."""
        info = fields(own.get("info"))
        return usage_figures(info.get("tokens")) if info.get("role") == "assistant" else None


def _message(
    role: str, content: Sequence[Payload], own: Payload | None, held: Sequence[Payload],
    listed: Sequence[Payload],
) -> Payload:  # fmt: skip
    info = fields(fields(own).get("info"))
    if info.get("role") != role:
        others = (fields(one.get("info")) for one in reversed(listed))
        like = next((one for one in others if one.get("role") == role), {})
        info = {**like, "id": f"{text(info.get('id')) or text(like.get('id'))}-{_OWN_ID}"}
    start = [{"type": "step-start"}] if role == "assistant" else []
    made = [*start, *(part for block in content for part in _parts(block, held))]
    ids = {"sessionID": info.get("sessionID"), "messageID": info.get("id")}
    parts = [{"id": f"prt_{_OWN_ID}_{at}", **ids, **part} for at, part in enumerate(made)]
    return {"info": info, "parts": parts}


def _parts(block: Payload, held: Sequence[Payload]) -> list[Payload]:
    """Return a block as parts; those that the agent's own message has are its own."""
    kind = block.get("type")
    if kind == "tool_use":
        own = [one for one in held if one.get("callID") == block.get("id")]
        return [
            {**one, "state": {**fields(one.get("state")), "input": block.get("input")}}
            for one in own
        ]  # fmt: skip
    for one in held:
        if one.get("type") != "tool" and prompt_blocks([one]) == [block]:
            return [one]
    if kind == "text":
        return [{"type": "text", "text": block.get("text"), "synthetic": True}]
    return []  # thinking and media are never written by us


def _set_results(parts: list[Any], results: dict[str, Payload]) -> list[Any]:
    """Return parts whose calls have other results."""
    return [
        {**part, "state": _state(fields(part.get("state")), results[part["callID"]])}
        if part.get("callID") in results else part
        for part in parts
    ]  # fmt: skip


def _state(state: Payload, result: Payload) -> Payload:
    content = blocks_in(result)
    said = "\n".join(text(one.get("text")) for one in content if one.get("type") == "text")
    if state.get("status") == "error":
        return {**state, "error": said}
    files = [one for one in elements(state.get("attachments")) if _is_in(one, content)]
    rest = {key: value for key, value in state.items() if key != "attachments"}
    return {**rest, "output": said, **({"attachments": files} if files else {})}


def _is_in(file: Any, content: Sequence[Payload]) -> bool:
    made = prompt_blocks([file])
    return bool(made) and all(one in content for one in made)
