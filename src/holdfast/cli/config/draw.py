"""How settings files and values are shown to people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from holdfast.cli.doctor import without_password
from holdfast.config.files import State, Whose

WHOSE: Mapping[Whose, str] = {
    "named": "named by you",
    "own": "your own",
    "folder": "of this folder",
}
STATES: Mapping[State, str] = {
    "applied": "all of it applies",
    "trusted": "all of it applies, because you trust it",
    "restricted": "applies in part",
    "changed": "applies in part: it has changed since you trusted it",
    "broken": "ignored: it cannot be read",
}


def without_secrets(value: Any) -> Any:
    """Return a setting as it is shown: no password of an address, no value of a memory's option."""
    if isinstance(value, str):
        return without_password(value)
    if isinstance(value, dict) and not all(
        isinstance(one, int) for one in cast("dict[str, Any]", value).values()
    ):
        return dict.fromkeys(sorted(cast("dict[str, Any]", value)), "…")
    return value


def as_text(value: Any) -> str:
    """Return a value of TOML as a file has it, nearly; a date is a text."""
    return printable(json.dumps(value, default=str, ensure_ascii=False))


def printable(text: str) -> str:
    """Return all of a text, without control characters; nothing of it is cut off."""
    return "".join(char if char.isprintable() else "�" for char in text)
