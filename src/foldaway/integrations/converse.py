"""Messages of Bedrock's Converse, which Strands uses for every provider, as Anthropic's."""

# Blocks are `Any`, and so is whatever is taken out of one.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, to_builtins

from foldaway.dialects import dump_text
from foldaway.transcript import Payload

__all__ = ["ConverseForm"]


class ConverseForm(Struct, frozen=True):
    """Messages of Converse as Anthropic's; blocks that those do not have stay as they are."""

    is_split: bool = False
    """Whether results and other blocks that were added to them become two messages: Strands sent
    OpenAI the text first until release 1.61, and a text must not come between calls and results."""

    def messages_of(self, own: Any) -> list[Payload]:
        """Return a message in the wire format."""
        return [{"role": own["role"], "content": [_block(one) for one in own["content"]]}]

    def built(self, messages: Sequence[Payload], own: Any, listed: Sequence[Any]) -> list[Any]:
        """Return messages of the wire format as Converse's; blocks that stayed are the host's."""
        known = [(_block(one), one) for one in own["content"]] if own else []
        made: list[Any] = []
        for one in messages:
            blocks = _blocks(one["content"], known)
            results = [block for block in blocks if "toolResult" in block]
            others = [block for block in blocks if "toolResult" not in block]
            parts = [results, others] if self.is_split and results else [blocks]
            made += [
                {**(own or {}), "role": one["role"], "content": part} for part in parts if part
            ]
        return made


def _block(own: Any) -> Payload:
    kind, value = next(iter(own.items()))
    read: Callable[[Any], Payload] | None = _READ.get(kind)
    return read(value) if read else {"type": kind, kind: to_builtins(value)}


def _result(own: Any) -> Payload:
    content = [_block(one) for one in own["content"]]
    failed = {"is_error": True} if own["status"] == "error" else {}
    return {"type": "tool_result", "tool_use_id": own["toolUseId"], "content": content, **failed}


def _write_thinking(own: Any) -> Payload:
    said = own.get("reasoningText") or {}
    if "redactedContent" in own:
        return {"type": "redacted_thinking", "data": to_builtins(own["redactedContent"])}
    return {
        "type": "thinking",
        "thinking": said.get("text", ""),
        "signature": said.get("signature", ""),
    }


def _image(own: Any) -> Payload:
    source = {
        "type": "base64",
        "media_type": f"image/{own['format']}",
        "data": to_builtins(own["source"].get("bytes", b"")),
    }
    return {"type": "image", "source": source}


_READ: dict[str, Callable[[Any], Payload]] = {
    "text": lambda own: {"type": "text", "text": own},
    "json": lambda own: {"type": "text", "text": dump_text(own)},
    "image": _image,
    "toolUse": lambda own: {
        "type": "tool_use",
        "id": own["toolUseId"],
        "name": own["name"],
        "input": own["input"],
    },
    "toolResult": _result,
    "reasoningContent": _write_thinking,
}


def _blocks(content: Any, known: Sequence[tuple[Payload, Any]]) -> list[Any]:
    if isinstance(content, str):
        return [{"text": content}]
    return [_restore_own(one, known) for one in content]


def _restore_own(block: Payload, known: Sequence[tuple[Payload, Any]]) -> Any:
    """Return a block as Converse has it, the host's own if it is the same."""
    same = next((own for made, own in known if made == block), None)
    if same is not None:
        return same
    match block:
        case {"type": "tool_use"}:
            return {
                "toolUse": {
                    "toolUseId": block["id"],
                    "name": block["name"],
                    "input": block["input"],
                }
            }
        case {"type": "tool_result", "tool_use_id": called}:
            results = [one["toolResult"] for _, one in known if "toolResult" in one]
            own = next((one for one in results if one["toolUseId"] == called), {})
            inner = [(_block(one), one) for one in own.get("content", ())]
            status = "error" if block.get("is_error") else "success"
            return {
                "toolResult": {
                    "toolUseId": called,
                    "status": status,
                    "content": _blocks(block["content"], inner),
                }
            }
        case _:
            return {"text": block["text"]}
