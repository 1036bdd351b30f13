"""Where the context goes, by category."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from holdfast.compaction.measure import Costs, message_tokens, tools_tokens
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
    texts,
)

_SYSTEM = "system prompt"
_SECTIONS = {"rules": "rules files", "skills": "skills", "memory": "memory", "agents": "subagents"}
_SECTION = re.compile(
    r"^(?:(?P<rules>.{0,80}(?:CLAUDE|AGENTS|GEMINI|\.cursorrules|RULES)\.?(?:md)?\b.{0,80}:?$)"
    r"|(?P<skills>(?:<available_skills>|<skills>|\#{1,3} (?:Available )?[Ss]kills\b))"
    r"|(?P<memory>(?:<memory|\#{1,3} (?:Persistent |User )?[Mm]emory\b|.{0,40}MEMORY\.md\b))"
    r"|(?P<agents>(?:<available_agents>|\#{1,3} (?:Available )?(?:[Ss]ub)?[Aa]gents\b)))",
    re.MULTILINE,
)
"""Marks of the sections that agents put into their system prompts."""


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


def with_sections(
    categories: Iterable[Category], log: Sequence[Message], counter: TokenCounter
) -> tuple[Category, ...]:
    """Return the categories, each once, with the sections of system prompts apart that are the
    first messages of the list; those are never folded.
    """
    before: dict[str, int] = {}
    after: dict[str, int] = {}
    for one in categories:
        before[one.name] = before.get(one.name, 0) + one.tokens_before
        after[one.name] = after.get(one.name, 0) + one.tokens_after
    for message in takewhile(lambda message: category(message) == _SYSTEM, log):
        shares = system_shares("\n".join(texts(message)), message_tokens(message, counter))
        for name, tokens in shares.items():
            for found in (before, after):
                found[_SYSTEM] -= tokens
                found[name] = found.get(name, 0) + tokens
    return compared(before, after)


def _fixed(transcript: Transcript, counter: TokenCounter) -> dict[str, int]:
    found: dict[str, int] = {}
    if transcript.system is not None:
        total = message_tokens(transcript.system, counter)
        found.update(system_shares("\n".join(texts(transcript.system)), total))
    for tool in transcript.tools:
        kind = _tool_kind(tool)
        found[kind] = found.get(kind, 0) + tools_tokens([tool], counter)
    return found


def system_shares(text: str, tokens: int) -> dict[str, int]:
    """Return the tokens of a system prompt by what it holds: rules files, skills, memory, the rest.

    A section begins at a mark that agents put before it and ends at the next one; its tokens are
    its share of the characters.
    """
    marks = [(match.start(), _SECTIONS[str(match.lastgroup)]) for match in _SECTION.finditer(text)]
    if not marks:
        return {_SYSTEM: tokens}
    chars: dict[str, int] = {_SYSTEM: marks[0][0]}
    for (start, name), (stop, _) in zip(marks, [*marks[1:], (len(text), "")], strict=True):
        chars[name] = chars.get(name, 0) + stop - start
    shares = {name: tokens * count // max(len(text), 1) for name, count in chars.items()}
    shares[_SYSTEM] += tokens - sum(shares.values())
    return shares


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
    if message.role == "user" and ToolResult in map(type, message.parts):
        return "tool results"
    return _BY_ROLE.get(message.role, "other")


_BY_ROLE = {
    "system": _SYSTEM,
    "developer": _SYSTEM,
    "tool": "tool results",
    "assistant": "agent",
    "user": "user",
}
