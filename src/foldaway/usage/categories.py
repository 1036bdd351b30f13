"""What a prompt consists of: one table of its kinds, with all the names that each has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from foldaway.transcript import Media, Part, Thinking, ToolCall, ToolResult

Kind: TypeAlias = Literal[
    "unrecorded", "system", "tools", "rules", "summary", "user", "agent", "results"
]
SYSTEM: Final = "system prompt and tools"
EARLIER: Final = "earlier messages"
SUMMARIES: Final = "summaries of compactions"
CALLS, THINKING, FILES = "tool calls", "thinking", "images and files"
_AGENT, _USER, _RESULTS = "the agent's words", "your words", " results"


class ContextKind(Struct, frozen=True):
    """One kind of content, and what it is called in each place."""

    name: Kind
    title: str
    """On pages."""
    in_reports: tuple[str, ...] = ()
    """The categories of `compaction.category` and `fixed_categories`, which reports have."""
    in_prompts: tuple[str, ...] = ()
    """The finer names of `name_in_prompts`, which `foldaway` shows; results have that of a tool."""
    roles: tuple[str, ...] = ()


_TABLE: Final[tuple[ContextKind, ...]] = (
    ContextKind("unrecorded", "not recorded by the agent"),
    ContextKind(
        "system", "system prompt", ("system prompt", "skills"), (SYSTEM,), ("system", "developer")
    ),
    ContextKind("tools", "tool definitions", ("tools", "MCP tools", "subagents")),
    ContextKind("rules", "rules files", ("rules files", "memory")),
    ContextKind("summary", "summary", ("summary",), (SUMMARIES,)),
    ContextKind("user", "your words", ("user", "other"), (_USER, FILES), ("user",)),
    ContextKind(
        "agent",
        "the agent's words and calls",
        ("agent",),
        (_AGENT, CALLS, THINKING, EARLIER),
        ("assistant",),
    ),
    ContextKind("results", "tool results", ("tool results",), (), ("tool",)),
)
"""`unrecorded` is what the provider counted and no record holds: system prompt and tools of an
agent that does not write them down, or what came before a session that is a part."""
KINDS: Final[tuple[Kind, ...]] = tuple(row.name for row in _TABLE)
KIND_NAMES: Final[Mapping[str, str]] = {**{row.name: row.title for row in _TABLE}, "free": "free"}
"""What pages call the kinds; `free` is the rest of a window."""
_OF_REPORT: Mapping[str, Kind] = {name: row.name for row in _TABLE for name in row.in_reports}
_OF_PROMPT: Mapping[str, Kind] = {name: row.name for row in _TABLE for name in row.in_prompts}
_OF_ROLE: Mapping[str, Kind] = {role: row.name for row in _TABLE for role in row.roles}


def kind_in_report(category: str, otherwise: Kind = "user") -> Kind:
    """Return the kind of a category of a compaction's report."""
    return _OF_REPORT.get(category, otherwise)


def kind_in_prompts(name: str) -> Kind:
    """Return the kind of something that prompts held, by what `foldaway` calls it."""
    return _OF_PROMPT.get(name) or ("results" if name.endswith(_RESULTS) else "agent")


def kind_of_role(role: str, *, has_tools: bool, is_generated: bool) -> Kind:
    """Return the kind that a message of a log counts under, as far as its outline tells."""
    if is_generated:
        return "summary"
    return "results" if has_tools and role == "user" else _OF_ROLE.get(role, "user")


def name_in_prompts(role: str, part: Part, tool: str = "") -> str:
    """Return what `foldaway` calls a part of a message; `tool` is the one whose result it is."""
    match part:
        case ToolResult():
            return f"{tool or 'tool'}{_RESULTS}"
        case ToolCall():
            return CALLS
        case Thinking():
            return THINKING
        case Media():
            return FILES
        case _ if role in ("system", "developer"):
            return SYSTEM
        case _:
            return _AGENT if role == "assistant" else _USER
