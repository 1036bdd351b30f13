"""The options of an external memory, from a table of the settings to a value."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from holdfast.errors import InvalidSetting

T = TypeVar("T", bound=msgspec.Struct)


def read_options(name: str, options: Mapping[str, Any], kind: type[T]) -> T:
    """Return the table `[memory.NAME]` as a value.

    Raises `InvalidSetting` with the key and what it may be, never with the value: options hold
    keys of services.
    """
    known = [field.name for field in msgspec.structs.fields(kind)]
    for key in options:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise InvalidSetting(
                f"memory.{name}.{key}", "given", f"left out: there is no such setting; {hint}"
            )
    try:
        return msgspec.convert(dict(options), kind)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        raise InvalidSetting(
            f"memory.{name}{place.rstrip('`')}", "of another kind", _meaning(what)
        ) from None


def _meaning(said: str) -> str:
    """Return what msgspec wants, as a noun: `Expected `str`, got `int`` is about `str`."""
    return said.removeprefix("Expected ").partition(",")[0].strip("`")
