"""Reads the tables beside this file: words, tools, formatters."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

Table = TypeVar("Table")
_HERE = Path(__file__).parent


def read_table(name: str, kind: type[Table]) -> Table:
    """Return the TOML file of this name (`tools`, `languages/en`) as a value of this type."""
    return msgspec.convert(tomllib.loads((_HERE / f"{name}.toml").read_text("utf-8")), kind)


def phrases_in(text: str) -> tuple[str, ...]:
    """Return the phrases of a list; `|` or a line break stands between two."""
    return tuple([phrase for phrase in text.replace("\n", "|").split("|") if phrase])


WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(phrases_in(text)) for name, text in read_table("words", dict[str, str]).items()
}
"""The lists of `words.toml`."""
