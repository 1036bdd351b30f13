"""What a command printed and how it stands, out of whatever form a tool gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from holdfast.facts.digests.fields import object_in
from holdfast.reduction.signals import exit_status

_HEADS = ("Chunk ID:", "Command:", "Exit code:", "Wall time:")
_OUTPUT = "\nOutput:\n"
_INLINE = "\nOutput: "
_NO_ERROR = "\nError: (none)\n"
_CODE = re.compile(r"\nExit Code: (-?\d{1,10})\b")
_HEAD_CHARS = 4_000
_STATUS_CHARS = 400
_TEXTS = ("output", "stdout", "stderr", "error", "traceback")
_STATUS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_RUNNING = re.compile(
    r"(?:[Pp]rocess running with session ID|running in (?:the )?background(?: with)? ID:?|"
    r"<status>running</status>|still running)\W{0,3}(\w{0,40})"
)


class Printed(Struct, frozen=True):
    """What a command printed, without what the tool says around it."""

    body: str
    status: int | None
    """The exit status; None where the tool gives none."""
    running: str | None = None
    """The name under which it still runs, "" where it has none; None where it has ended."""


def printed(output: str) -> Printed:
    """Return the body and the state of a command's result.

    Forms that are known: a head of lines before `Output:`, a JSON object with `output` or
    `stdout`, and words at the start or end of the text itself.
    """
    if output[:1] == "{":
        found = object_in(output)
        if found is not None and ("output" in found or "stdout" in found):
            texts = [text for key in _TEXTS if isinstance(text := found.get(key), str) and text]
            return Printed("\n".join(texts), _status_in(found))
    if output.startswith(_HEADS):
        at = output.find(_OUTPUT, 0, _HEAD_CHARS)
        if at >= 0:
            head = output[max(0, at - _STATUS_CHARS) : at]
            status = exit_status(head)
            return Printed(output[at + len(_OUTPUT) :], status, _running(head, status))
        at = output.find(_INLINE, 0, _HEAD_CHARS)
        found = _CODE.search(output[-_STATUS_CHARS:])
        if at >= 0 and found:
            body = output[at + len(_INLINE) :].replace(_NO_ERROR, "\n", 1)
            return Printed(body, int(found[1]))
    status = _status(output)
    return Printed(output, status, _running(output, status))


def _status(text: str) -> int | None:
    """Return the exit status; the closer look is spared where nothing reads like one."""
    ends = text if len(text) <= 2 * _STATUS_CHARS else text[:_STATUS_CHARS] + text[-_STATUS_CHARS:]
    if "xit" not in ends and "eturn" not in ends:
        return None
    return exit_status(text) if "ode" in ends or "tatus" in ends or "xited" in ends else None


def _running(text: str, status: int | None) -> str | None:
    if status is not None:
        return None
    for piece in (text[:_STATUS_CHARS], text[-_STATUS_CHARS:]):
        found = _RUNNING.search(piece) if "unning" in piece else None
        if found:
            return found[1]
    return None


def _status_in(fields: Mapping[str, Any]) -> int | None:
    for key in _STATUS:
        found = fields.get(key)
        if isinstance(found, int):
            return int(found)
    inner = fields.get("metadata")
    return _status_in(cast("dict[str, Any]", inner)) if isinstance(inner, dict) else None
