"""What a value of a foreign file can be taken for; never raises."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from holdfast.dialects.jsontext import parse
from holdfast.errors import NotReadable
from holdfast.transcript import Payload

_LATEST_SECONDS = 1e11
"""The year 5138; a larger number counts milliseconds."""


def text(value: Any) -> str:
    """Return a text, "" for anything else."""
    return value if type(value) is str else ""


def identifier(value: Any) -> str:
    """Return an id: a text, or a whole number as text."""
    return str(value) if type(value) is int else text(value)


def fields(value: Any) -> Payload:
    """Return an object, an empty one for anything else."""
    return value if type(value) is dict else {}


def elements(value: Any) -> list[Any]:
    """Return a list, an empty one for anything else."""
    return value if type(value) is list else []


def parsed(value: Any) -> Any:
    """Return what a JSON text says; None where it is no text or no JSON."""
    if type(value) is not str:
        return None
    try:
        return parse(value.encode("utf-8", "surrogatepass"))
    except NotReadable:
        return None


def seconds(value: Any) -> float | None:
    """Return seconds since 1970 from a number (seconds or milliseconds) or an ISO time.

    A time without a zone is taken for UTC.
    """
    if type(value) in (int, float):
        found = float(value) if abs(value) < 1e300 else math.nan
        found = found / 1000 if found > _LATEST_SECONDS else found
        return found if 0 < found < _LATEST_SECONDS else None
    if type(value) is not str or not 10 <= len(value) <= 40:
        return None
    try:
        when = datetime.fromisoformat(value)
        when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        return when.timestamp()
    except (ValueError, OverflowError):
        return None
