"""Old tool results as one line each, through a table keyed by the family of the tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import msgspec

from holdfast.facts.digests import (
    browser,
    edit,
    listing,
    memory,
    notebook,
    other,
    process,
    question,
    read,
    search,
    shell,
    subagent,
    todo,
    web,
    write,
)
from holdfast.facts.digests.line import one_line
from holdfast.facts.tools import Family, family_of
from holdfast.transcript import ToolCall

Digest: TypeAlias = Callable[[str, Mapping[str, Any], str], str]
"""From the tool's name, its arguments and its output, the words that keep what matters."""

DIGESTS: Mapping[Family, Digest] = {
    "shell": shell.digest,
    "read": read.digest,
    "write": write.digest,
    "edit": edit.digest,
    "search": search.digest,
    "glob": listing.digest_glob,
    "list": listing.digest_list,
    "web_search": web.digest_search,
    "fetch": web.digest_fetch,
    "browser": browser.digest,
    "subagent": subagent.digest,
    "todo": todo.digest,
    "plan": todo.digest,
    "memory": memory.digest,
    "process": process.digest,
    "notebook": notebook.digest,
    "question": question.digest,
    "other": other.digest,
}

_NAME_CHARS = 64
_HANDS_ON = frozenset({"use_mcp_tool", "call_mcp_tool", "mcp_call"})


def digest_of(call: ToolCall | None, output: str) -> str:
    """Return one line for the output of a call: the tool, what was asked, what came of it.

    At most `line.LIMIT_CHARS` characters, without line breaks or control characters, the same for
    the same input. Never raises, whatever the arguments and the output are.
    """
    if call is None:
        return one_line(other.digest("tool", {}, output))
    return digest(call.name, given_to(call), output)


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return the line for a tool by its name, its arguments and its output."""
    if name in _HANDS_ON and isinstance(arguments.get("tool_name"), str):
        name, arguments = arguments["tool_name"], _inner(arguments.get("arguments"))
    return one_line(DIGESTS[family_of(name)](name[:_NAME_CHARS], arguments, output))


def given_to(call: ToolCall) -> Mapping[str, Any]:
    """Return the arguments of a call; of a tool that takes free text, that text as `input`."""
    return {"input": call.arguments} if call.kind == "custom" else arguments_of(call)


def arguments_of(call: ToolCall) -> Mapping[str, Any]:
    """Return the arguments of a call as an object, empty where they are none."""
    return _inner(call.arguments)


def _inner(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
