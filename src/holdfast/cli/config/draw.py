"""How settings files and values are shown to people."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from holdfast.config.files import State, Whose

_SECRETS = re.compile(r"(?<=://)[^@/\s]*@|\?.*$")
"""Who logs in at an address, and its parameters, which may hold a password."""
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
    if not isinstance(value, dict):
        return value
    table = cast("dict[str, Any]", value)
    if all(isinstance(one, int) for one in table.values()):  # limits by tool
        return table
    return dict.fromkeys(sorted(table), "…")


def without_password(address: str) -> str:
    """Return an address without who logs in and without parameters."""
    return _SECRETS.sub("", address) if "://" in address else address


def as_text(value: Any) -> str:
    """Return a value of TOML as a file has it, nearly; a date is a text."""
    return printable(json.dumps(value, default=str, ensure_ascii=False))


def printable(text: str) -> str:
    """Return all of a text, without control characters; nothing of it is cut off."""
    return "".join(char if char.isprintable() else "�" for char in text)
