"""Reads tables that are data: TOML files beside the modules that use them."""

from __future__ import annotations

import pkgutil
import tomllib
from typing import TypeVar

import msgspec

Table = TypeVar("Table")


def read_table(name: str, kind: type[Table], package: str) -> Table:
    """Return a TOML file of a package (`tools`, `languages/en`) as a value of this type."""
    data = pkgutil.get_data(package, f"{name}.toml")
    assert data is not None  # only a loader that cannot read files says None
    return msgspec.convert(tomllib.loads(data.decode()), kind)


def read_words(name: str, package: str) -> dict[str, frozenset[str]]:
    """Return the lists of phrases in a TOML file."""
    table = read_table(name, dict[str, str], package)
    return {key: frozenset(phrases_in(text)) for key, text in table.items()}


def phrases_in(text: str) -> tuple[str, ...]:
    """Return the phrases of a list; `|` or a line break stands between two."""
    return tuple([phrase for phrase in text.replace("\n", "|").split("|") if phrase])
