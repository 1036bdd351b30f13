"""The examples of the rules: texts that must be found, and near misses that must stay.

They are `examples/*.toml`, one table for each rule under its name. Only tests and
`foldaway redact --explain` read them. A secret is written «so», and `⟨alnum 36⟩` is a made-up
value of that alphabet and length: so no example was ever issued, and no scanner of a host takes
this repository for a leak. `⟨⟩` is nothing, and parts a value for the same reason.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from msgspec import Struct

from foldaway._core import Regex

STRUCTURES = ("fields", "wrapped", "chosen", "manifests")
"""The tables of `examples/fields.toml`, whose examples are found by their structure."""


class Examples(Struct, frozen=True):
    """The examples of one rule."""

    true: tuple[tuple[str, ...], ...]
    """Texts that must be found, cut at the value: text, value, text (, value, text …)."""
    false: tuple[str, ...]
    """Texts that must stay as they are; the near misses of this shape."""


@cache
def load_examples() -> Mapping[str, Examples]:
    """Return the examples by the names of their rules, and those of `STRUCTURES`."""
    return {
        name: Examples(
            tuple(tuple(map(_fill, _VALUE.split(text))) for text in table["true"]),
            tuple(map(_fill, table["false"])),
        )
        for file in _FOLDER.iterdir()
        if file.name.endswith(".toml")
        for name, table in tomllib.loads(file.read_text("utf-8")).items()
    }


def draw(alphabet: str, length: int) -> str:
    """Return a made-up text of one of the alphabets."""
    return _ALPHABETS[alphabet][:length]


def _fill(text: str) -> str:
    return _DRAWN.sub(lambda found: draw(found[1], int(found[2])) if found[1] else "", text)


_VALUE = Regex("[«»]")
_DRAWN = Regex(r"⟨(?:(\w+) (\d+))?⟩")
UUID = "7c1f09e3-b8a4-4d25-9e0c-73f1a5b8d426"
"""A made-up UUID."""

_FOLDER = files("foldaway.redaction").joinpath("examples")
_LETTERS, _HEX, _URL_SAFE = _FOLDER.joinpath("alphabets.txt").read_text("ascii").split()
"""Drawn once from a seeded generator; a value is a slice."""
_ALPHABETS: Mapping[str, str] = {
    "alnum": _LETTERS,
    "lower": _LETTERS.lower(),
    "upper": _LETTERS.upper(),
    "base32": re.sub("[0189]", "", _LETTERS.upper()),
    "hex": _HEX,
    "HEX": _HEX.upper(),
    "digits": re.sub("[a-f]", "", _HEX),
    "url_safe": _URL_SAFE,
}
