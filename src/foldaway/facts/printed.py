"""What a runner or a host puts around what a command printed."""

from __future__ import annotations

from collections.abc import Mapping
from json import JSONDecoder
from typing import Any, cast

from msgspec import Struct

_READ_WHOLE_CHARS = 100_000
"""A longer result is not decoded; chosen, it bounds the time."""
_TEXTS = ("output", "stdout", "stderr", "error", "traceback")
_STATUS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_JSON = JSONDecoder()
_LOOKED_AT_CHARS = 2_000
"""Of a result, where the words of the user are; chosen."""
_SAID = "the user said:"


def without_wrapper(output: str) -> str:
    """Return a command's result as lines: if it is an object of JSON, what was printed, then what
    the host added after the object, and the exit status.
    """
    wrapped = _wrapped(output)
    if wrapped is None:
        return output
    ended = () if wrapped.status is None else (f"exit code: {wrapped.status}",)
    return "\n".join((wrapped.body, *wrapped.added, *ended))


class _Wrapped(Struct, frozen=True):
    body: str
    status: int | None
    added: tuple[str, ...]


def _wrapped(output: str) -> _Wrapped | None:
    """Return what a JSON object with `output` or `stdout` holds; a host may add a note after it."""
    if output[:1] != "{" or len(output) > _READ_WHOLE_CHARS:
        return None
    try:
        value, end = _JSON.raw_decode(output)
    except (ValueError, RecursionError):
        return None
    found = cast("dict[str, Any]", value)
    if "output" not in found and "stdout" not in found:
        return None
    texts = [text for key in _TEXTS if isinstance(text := found.get(key), str) and text]
    note = output[end:].strip()
    return _Wrapped("\n".join(texts), _status_in(found), (note,) if note else ())


def _status_in(fields: Mapping[str, Any]) -> int | None:
    for key in _STATUS:
        found = fields.get(key)
        if isinstance(found, int):
            return int(found)
    inner = fields.get("metadata")
    return _status_in(cast("dict[str, Any]", inner)) if isinstance(inner, dict) else None


def refusal_in(output: str) -> str:
    """Return what the user said when they rejected a call, "" if they said nothing."""
    at = output.find(_SAID, 0, _LOOKED_AT_CHARS)
    words = output[at + len(_SAID) :][:_LOOKED_AT_CHARS].split() if at >= 0 else ()
    return " ".join(words)
