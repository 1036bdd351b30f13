"""Where the context goes, by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.pipeline.measure import Costs, message_tokens, tools_tokens
from holdfast.ports import TokenCounter
from holdfast.report import Category
from holdfast.transcript import (
    Folded,
    Kept,
    Message,
    Payload,
    Rewritten,
    ToolResult,
    Transcript,
    View,
)


def by_category(
    view: View,
    log: Sequence[Message],
    costs: Costs,
    rewritten: Mapping[int, int],
    counter: TokenCounter,
) -> dict[str, int]:
    """Return the tokens of what a view shows, by category.

    `rewritten` are the tokens of rewritten messages by position, as far as they are known.
    """
    totals: dict[str, int] = {}
    for item in view.items:
        match item:
            case Kept(start=start, stop=stop):
                costs.add_to(totals, start, stop, category)
            case Rewritten(start=start, message=message):
                tokens = rewritten.get(start)
                _add(
                    totals, message, message_tokens(message, counter) if tokens is None else tokens
                )
            case Folded(messages=messages):
                for message in messages:
                    _add(totals, message, message_tokens(message, counter))
    return totals


def compared(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[Category, ...]:
    """Return both sides of every category."""
    return tuple(
        Category(name, before.get(name, 0), after.get(name, 0)) for name in {**before, **after}
    )


def fixed_categories(transcript: Transcript, counter: TokenCounter) -> tuple[Category, ...]:
    """Return the tokens of what stands outside the messages, by category."""
    found = _fixed(transcript, counter)
    return tuple(Category(name, tokens, tokens) for name, tokens in found.items() if tokens)


def _fixed(transcript: Transcript, counter: TokenCounter) -> dict[str, int]:
    found: dict[str, int] = {}
    if transcript.system is not None:
        found["system prompt"] = message_tokens(transcript.system, counter)
    for tool in transcript.tools:
        kind = _tool_kind(tool)
        found[kind] = found.get(kind, 0) + tools_tokens([tool], counter)
    return found


def _tool_kind(tool: Payload) -> str:
    inner = tool.get("function")
    name = str((inner if isinstance(inner, dict) else tool).get("name", "")).lower()  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    if name.startswith("mcp__") or tool.get("type") == "mcp":
        return "MCP tools"
    if name in ("task", "agent", "delegate_task", "spawn_agent", "dispatch_agent"):
        return "subagents"
    if name == "skill":
        return "skills"
    return "tools"


def _add(found: dict[str, int], message: Message, tokens: int) -> None:
    name = category(message)
    found[name] = found.get(name, 0) + tokens


def category(message: Message) -> str:
    """Return the category that a message counts under."""
    if message.origin == "summary":
        return "summary"
    match message.role:
        case "system" | "developer":
            return "system prompt"
        case "tool":
            return "tool results"
        case "assistant":
            return "agent"
        case "user":
            has_result = any(type(part) is ToolResult for part in message.parts)
            return "tool results" if has_result else "user"
        case _:
            return "other"
