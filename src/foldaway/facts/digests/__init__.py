"""Old tool results as one line each, through a table keyed by the family of the tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from foldaway.facts.digests.agent import (
    digest_memory,
    digest_question,
    digest_subagent,
    digest_todo,
)
from foldaway.facts.digests.fields import digest_other
from foldaway.facts.digests.files import (
    digest_edit,
    digest_glob,
    digest_list,
    digest_read,
    digest_search,
    digest_write,
)
from foldaway.facts.digests.line import one_line
from foldaway.facts.digests.runs import digest_notebook, digest_process, digest_shell
from foldaway.facts.digests.web import digest_browser, digest_fetch, digest_web_search
from foldaway.facts.tools import Family, arguments_given, family_of, read_arguments
from foldaway.transcript import ToolCall

Digest: TypeAlias = Callable[[str, Mapping[str, Any], str], str]
"""From the tool's name, its arguments and its output, the words that keep what matters."""

DIGESTS: Mapping[Family, Digest] = {
    "shell": digest_shell,
    "read": digest_read,
    "write": digest_write,
    "edit": digest_edit,
    "search": digest_search,
    "glob": digest_glob,
    "list": digest_list,
    "web_search": digest_web_search,
    "fetch": digest_fetch,
    "browser": digest_browser,
    "subagent": digest_subagent,
    "todo": digest_todo,
    "plan": digest_todo,
    "memory": digest_memory,
    "process": digest_process,
    "notebook": digest_notebook,
    "question": digest_question,
    "other": digest_other,
}

_NAME_CHARS = 64
"""Of the name of a tool; providers allow 64."""
_HANDS_ON = frozenset({"use_mcp_tool", "call_mcp_tool", "mcp_call"})


def digest_of(call: ToolCall | None, output: str) -> str:
    """Return one line for the output of a call: the tool, what was asked, what came of it.

    At most `line.LIMIT_CHARS` characters, without line breaks or control characters, the same for
    the same input. Never raises, whatever the arguments and the output are.
    """
    if call is None:
        return one_line(digest_other("tool", {}, output))
    return digest(call.name, arguments_given(call), output)


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return the line for a tool by its name, its arguments and its output."""
    if name in _HANDS_ON and isinstance(arguments.get("tool_name"), str):
        name, arguments = arguments["tool_name"], read_arguments(arguments.get("arguments"))
    return one_line(DIGESTS[family_of(name)](name[:_NAME_CHARS], arguments, output))
