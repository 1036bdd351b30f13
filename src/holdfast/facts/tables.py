"""Reads the tables beside this file: words, tools, formatters."""

from __future__ import annotations

import pkgutil
import tomllib
from collections.abc import Mapping
from typing import TypeVar

import msgspec

Table = TypeVar("Table")


def read_table(name: str, kind: type[Table]) -> Table:
    """Return the TOML file of this name (`tools`, `languages/en`) as a value of this type."""
    data = pkgutil.get_data("holdfast.facts", f"{name}.toml")
    assert data is not None  # only a loader that cannot read files says None
    return msgspec.convert(tomllib.loads(data.decode()), kind)


def phrases_in(text: str) -> tuple[str, ...]:
    """Return the phrases of a list; `|` or a line break stands between two."""
    return tuple([phrase for phrase in text.replace("\n", "|").split("|") if phrase])


WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(phrases_in(text)) for name, text in read_table("words", dict[str, str]).items()
}
"""The lists of `words.toml`."""
