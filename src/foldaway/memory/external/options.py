"""What external memories share: reading of options, tools for the model, what is sent to them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from foldaway.dialects import clean_value
from foldaway.errors import InvalidSetting

T = TypeVar("T", bound=msgspec.Struct)

QUERY_CHARS = 4_000
"""Of a question: embedding models refuse more than they can read."""
TEXT_CHARS = 32_000
"""Of one side of a turn."""
ANSWER_CHARS = 16_000
"""Of what comes back; the manager cuts to its own limit after that."""


def read_options(name: str, options: Mapping[str, object], kind: type[T]) -> T:
    """Return the table `[memory.NAME]` as a value.

    Raises `InvalidSetting` with the key and what it may be, never with the value: options hold
    keys of services.
    """
    known = [field.name for field in msgspec.structs.fields(kind)]
    for key in options:
        if key not in known:
            raise InvalidSetting.unknown(f"memory.{name}.{key}", known)
    try:
        return msgspec.convert(dict(options), kind)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        wanted = what.removeprefix("Expected ").partition(",")[0].strip("`")
        setting = f"memory.{name}{place.rstrip('`')}"
        raise InvalidSetting(setting, None, wanted, message=f"{setting} must be {wanted}") from None


def check_url(setting: str, url: str) -> None:
    """Raise `InvalidSetting` if an address is given that is not one; it may hold a key."""
    if url and not url.startswith(("http://", "https://")):
        said = f"{setting} must be an address with http:// or https://"
        raise InvalidSetting(setting, None, "an address with http:// or https://", message=said)


def clean_text(text: str, most: int) -> str:
    """Return the beginning of a text, without what UTF-8 and databases refuse."""
    return clean_value(text[:most]).strip()


def silence_logger(name: str) -> None:
    """Keep a package's log still, unless the host chose a level for it.

    Packages log what they cannot read or store, and with it what people said.
    """
    logger = logging.getLogger(name)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL + 1)
