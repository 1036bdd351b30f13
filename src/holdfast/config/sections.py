"""The settings that there are: their names, what each holds, and who may set it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields

from holdfast.dialects.limits import Limits
from holdfast.errors import InvalidSetting
from holdfast.policy import Policy

Kind: TypeAlias = Literal["bool", "int", "float", "str", "limits", "names"]
"""`limits` are whole numbers by name: a table in a file, `name=1,other=2` in a variable. `names`
are texts: an array in a file, `one,other` in a variable."""

_KINDS: Mapping[str, Kind] = {
    "bool": "bool", "int": "int", "float": "float", "arrival": "str", "arrival_tools": "limits",
}  # fmt: skip
"""What a field of the policy holds, by its type, or by its name where the type has none."""

SECTIONS: Mapping[str, Mapping[str, Kind]] = {
    "compression": {
        field.name: _KINDS.get(field.name) or _KINDS[field.type.__name__]
        for field in fields(Policy)
    },
    "model": {"name": "str", "context_length": "int", "output_tokens": "int"},
    "engine": {"name": "str"},
    "summarizer": {
        "model": "str",
        "url": "str",
        "key_variable": "str",
        "fallback": "str",
        "fallback_when_complex": "bool",
        "reuse_prompt_cache": "bool",
        "on_failure": "str",
        "timeout": "float",
        "context_length": "int",
    },
    "caching": {"ttl": "str"},
    "sessions": {
        "mode": "str",
        "profile": "str",
        "retention_days": "int",
        "retention_mb": "int",
        "store": "str",
    },
    "memory": {"external": "str", "template": "str"},
    "redaction": {"rules_files": "names", "without": "names"},
    "input": {field.name: "int" for field in fields(Limits)},
}
"""The sections of a settings file, their keys, and what each key holds."""
RENAMED: Mapping[str, str] = {"summarizer.rides_prefix": "summarizer.reuse_prompt_cache"}
"""Settings that had another name, which is still accepted."""

TABLES = frozenset({"memory"})
"""Sections that hold tables of others: the options of an external memory, under its name."""

FOLDER_MAY_SET = frozenset({
    # numbers and switches name no address, command, file or package
    *(f"compression.{key}" for key, kind in SECTIONS["compression"].items() if kind != "str"),
    "compression.arrival",
    "model.name",
    "model.context_length",
    "model.output_tokens",
    "caching.ttl",
    "sessions.mode",
})  # fmt: skip
"""What the holdfast.toml of a folder may set. Everything else, new settings too, is the user's own:
whoever wrote the folder is not the user."""

_ONE_OF: Mapping[str, tuple[str, ...]] = {
    "summarizer.on_failure": ("auto", "ledger", "abort"),
    "caching.ttl": ("5m", "1h"),
    "sessions.mode": ("in-place", "rotate"),
}
_LEAST: Mapping[str, float] = {
    "model.context_length": 1, "model.output_tokens": 0, "summarizer.timeout": 0.001,
    "summarizer.context_length": 1, "sessions.retention_days": 0, "sessions.retention_mb": 0,
    **{f"input.{field.name}": 1 for field in fields(Limits)},
}  # fmt: skip
_Whole: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""The whole numbers of TOML; Python would read more, and fail when it multiplies them."""
_TYPES: Mapping[Kind, Any] = {
    "bool": bool,
    "int": _Whole,
    "float": _Whole | float,
    "str": str,
    "limits": dict[str, _Whole],
    "names": list[str],
}
_FILES = frozenset({"redaction.rules_files"})
"""Settings that name files. A relative name would be one of the current folder's."""
_PATTERNS = frozenset({"memory.template"})
"""Settings that are regular expressions."""

_MEANING: Mapping[Kind, str] = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "limits": "whole numbers by name",
    "names": "a list of texts",
}
_YES_NO = {
    "true": True, "1": True, "yes": True, "on": True,
    "false": False, "0": False, "no": False, "off": False,
}  # fmt: skip


class Given(Struct, frozen=True):
    """A value, and where it was given: what an error names."""

    value: Any
    origin: str


def find_setting(section: str, key: str) -> str:
    """Return the name that a key of a section has today; "" if there is no such setting."""
    name = RENAMED.get(f"{section}.{key}", f"{section}.{key}")
    return name if name.partition(".")[2] in SECTIONS[section] else ""


def parse_text(section: str, key: str, text: str, origin: str) -> Given:
    """Return the value that a variable holds, or raise `InvalidSetting`."""
    try:
        return Given(_parse(SECTIONS[section][key], text), origin)
    except (KeyError, ValueError):
        raise InvalidSetting(origin, text, _describe(section, key)) from None


def check_type(section: str, key: str, value: object, origin: str) -> Given:
    """Return a value of a file if it is of the right type, or raise `InvalidSetting`."""
    try:
        msgspec.convert(value, _TYPES[SECTIONS[section][key]])
    except msgspec.ValidationError:
        raise InvalidSetting(origin, value, _describe(section, key)) from None
    return Given(value, origin)


def check_range(name: str, given: Given) -> None:
    """Raise `InvalidSetting` if a value of the right type is out of its range.

    `name` is "section.key"; the options of an external memory have no range here.
    """
    section, _, key = name.partition(".")
    value = given.value
    if section == "compression":
        try:
            Policy(**{key: value})
        except InvalidSetting as error:
            raise InvalidSetting(given.origin, error.value, error.wanted) from None
    if name in _LEAST and not value >= _LEAST[name]:
        raise InvalidSetting(given.origin, value, f"at least {_LEAST[name]:g}")
    if name in _ONE_OF and value not in _ONE_OF[name]:
        raise InvalidSetting(given.origin, value, f"one of {', '.join(_ONE_OF[name])}")
    if name in _FILES and not all(re.match(r"~/|/|[A-Za-z]:[\\/]", file) for file in value):
        raise InvalidSetting(given.origin, value, "absolute names of files, such as ~/rules.toml")
    if name in _PATTERNS:
        try:
            re.compile(value)
        except re.error as error:
            raise InvalidSetting(given.origin, value, f"a regular expression ({error})") from None


def _parse(kind: Kind, text: str) -> Any:
    match kind:
        case "bool":
            return _YES_NO[text.strip().lower()]
        case "int":
            return int(text)
        case "float":
            return float(text)
        case "str":
            return text
        case "limits":
            pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
            return {name.strip(): int(number) for name, _, number in pairs}
        case "names":
            return [name.strip() for name in text.split(",") if name.strip()]


def _describe(section: str, key: str) -> str:
    kind = SECTIONS[section][key]
    range_ = _range(section, key) if kind in ("int", "float") else ""
    return f"{_MEANING[kind]}{' ' if range_ else ''}{range_}"


def _range(section: str, key: str) -> str:
    """Return the allowed range of a number, as the policy itself words it."""
    if (least := _LEAST.get(f"{section}.{key}")) is not None:
        return f"of at least {least:g}"
    absurd: dict[str, Any] = {key: -(10**12)}
    try:
        Policy(**absurd)
    except InvalidSetting as error:
        return error.wanted.replace("at least", "of at least")
    return ""
