"""Old tool results as one line each, through a table keyed by tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from holdfast.pipeline.digests import files, generic, search, shell
from holdfast.transcript import ToolCall

Digest: TypeAlias = Callable[[str, Mapping[str, Any], str], str]
"""From the tool's name, its arguments and its output, one line that keeps what matters."""

DIGESTS: Mapping[str, Digest] = {
    **dict.fromkeys(shell.TOOLS, shell.digest),
    **dict.fromkeys(files.READ_TOOLS, files.digest_read),
    **dict.fromkeys(files.WRITE_TOOLS, files.digest_write),
    **dict.fromkeys(files.EDIT_TOOLS, files.digest_edit),
    **dict.fromkeys(search.TOOLS, search.digest),
}


def digest_of(call: ToolCall | None, output: str) -> str:
    """Return one line for the output of a call: the tool, what was asked, what came of it."""
    if call is None:
        return generic.digest("tool", {}, output)
    name = call.name.rpartition("__")[2].lower()
    return DIGESTS.get(name, generic.digest)(call.name, arguments_of(call), output)


def arguments_of(call: ToolCall) -> Mapping[str, Any]:
    """Return the arguments of a call as an object, empty where they are none."""
    try:
        found = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]
