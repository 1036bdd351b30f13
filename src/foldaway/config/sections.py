"""The settings that there are: their names, what each holds, and who may set it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields

from foldaway._core import Policy
from foldaway.dialects import Limits
from foldaway.errors import InvalidSetting

Kind: TypeAlias = Literal["bool", "int", "float", "str", "limits", "names"]
"""`limits` are whole numbers by name: a table in a file, `name=1,other=2` in a variable. `names`
are texts: an array in a file, `one,other` in a variable."""

Whose: TypeAlias = Literal["named", "own", "folder"]
State: TypeAlias = Literal["applied", "trusted", "restricted", "changed", "broken"]


class Ignored(Struct, frozen=True):
    """A setting of a folder's file that was not taken, and why."""

    key: str
    why: str


class SettingsFile(Struct, frozen=True):
    """A settings file that was found.

    `whose`: named by --config or FOLDAWAY_CONFIG, the user's own, or the current folder's.
    `state`: all of it applies; all of it, because the user trusts it; not all of it; not all of it
    any more, because it changed since it was trusted; none of it, because it cannot be read.
    """

    name: str
    whose: Whose
    state: State = "applied"
    ignored: tuple[Ignored, ...] = ()


class Settings(Struct, frozen=True, kw_only=True):
    """What a run goes by, and where that comes from."""

    policy: Policy = Policy()
    model: str = ""
    context_length: int | None = None
    output_tokens: int = 0
    engine: str = "compressor"
    """The name of the context engine, ours or one that another package registers."""
    summarizer: str = "none"
    """Who writes summaries: `none`, or a kind and a model such as `openai:gpt-5-mini`."""
    summarizer_url: str = ""
    summarizer_key_variable: str = ""
    """The variable with the key for that address; "" sends a vendor's key to that vendor alone."""
    fallback_summarizer: str = "main"
    """Who is asked once if it fails: `main`, the conversation's own model where the summarizer is
    asked, another one by its name, or `none`."""
    fallback_when_complex: bool = False
    """Whether the fallback is asked first if much was changed or is open."""
    reuse_prompt_cache: bool = False
    """Whether the summary request is appended to the main conversation, so that its cached prompt
    is reused; the summarizer must be the main model."""
    on_failure: Literal["auto", "ledger", "abort"] = "auto"
    summarizer_timeout: float = 120.0
    summarizer_context_length: int | None = None
    """What the summarizer can read, if that cannot be looked up."""
    cache_ttl: Literal["5m", "1h"] = "5m"
    sessions_mode: Literal["in-place", "rotate"] = "in-place"
    profile: str = "default"
    retention_days: int = 0
    """Sessions that nothing was added to for so long may be erased; 0 keeps them."""
    retention_mb: int = 0
    """The oldest sessions beyond this size may be erased; 0 keeps them."""
    retention_projects: Mapping[str, int] = {}
    """Days for the sessions of a folder and the folders inside it, in the place of the others."""
    store: str = ""
    """A file or a server; "" is a file in the data folder."""
    memory: str = ""
    """The name of the external memory, ours or one that another package registers; "" is none."""
    memory_template: str = ""
    """A pattern of what a host puts around the user's words; its group `words` is the user's."""
    memory_options: Mapping[str, Mapping[str, object]] = {}
    """By the name of a memory, its table `[memory.NAME]`; what it may hold, the memory knows."""
    rules_files: Sequence[str] = ()
    """TOML files with redaction rules of the user's own."""
    rules_without: Sequence[str] = ()
    """Names of redaction rules that do not run."""
    gateway_upstreams: Sequence[str] = ()
    """Where `foldaway serve` sends requests: addresses, each for all, for a wire (`chat=URL`) or
    for paths that begin alike (`/team=URL`)."""
    gateway_token_variable: str = ""
    """The variable with the token that clients of `foldaway serve` must send; "" asks for none."""
    gateway_answer_compactions: bool = False
    """Whether `foldaway serve` itself answers a client that compacts by itself."""
    gateway_budget: str = ""
    """What may be spent through gateways on the store, such as `5$/day`; "" is no limit."""
    limits: Limits = Limits()
    """How much of an input is read."""
    files: tuple[SettingsFile, ...] = ()
    """The settings files that were found; later ones count more."""
    origins: Mapping[str, str] = {}
    """Where each setting that was given comes from, by "section.key"."""
    warnings: tuple[str, ...] = ()
    """What was ignored, in sentences for the user: the command line prints them."""


FIELDS: Mapping[str, str] = {
    "model.name": "model",
    "model.context_length": "context_length",
    "model.output_tokens": "output_tokens",
    "engine.name": "engine",
    "summarizer.model": "summarizer",
    "summarizer.url": "summarizer_url",
    "summarizer.key_variable": "summarizer_key_variable",
    "summarizer.fallback": "fallback_summarizer",
    "summarizer.fallback_when_complex": "fallback_when_complex",
    "summarizer.reuse_prompt_cache": "reuse_prompt_cache",
    "summarizer.on_failure": "on_failure",
    "summarizer.timeout": "summarizer_timeout",
    "summarizer.context_length": "summarizer_context_length",
    "caching.ttl": "cache_ttl",
    "sessions.mode": "sessions_mode",
    "sessions.profile": "profile",
    "sessions.retention_days": "retention_days",
    "sessions.retention_mb": "retention_mb",
    "sessions.retention_projects": "retention_projects",
    "sessions.store": "store",
    "memory.external": "memory",
    "memory.template": "memory_template",
    "redaction.rules_files": "rules_files",
    "redaction.without": "rules_without",
    "gateway.upstreams": "gateway_upstreams",
    "gateway.token_variable": "gateway_token_variable",
    "gateway.answer_compactions": "gateway_answer_compactions",
    "gateway.budget": "gateway_budget",
}
"""The field of `Settings` for each key outside [compression] and [input]."""

_KINDS: Mapping[object, Kind] = {
    bool: "bool",
    int: "int",
    int | None: "int",
    float: "float",
    str: "str",
    Mapping[str, int]: "limits",
    Sequence[str]: "names",
}


def _kind_of(type_: object) -> Kind:
    """Return what a field holds, by its type; a choice among words is a text."""
    return "str" if get_origin(type_) is Literal else _KINDS[type_]


def _sections() -> dict[str, dict[str, Kind]]:
    types = {field.name: field.type for field in fields(Settings)}
    sections: dict[str, dict[str, Kind]] = {
        "compression": {field.name: _kind_of(field.type) for field in fields(Policy)}
    }
    for name, field in FIELDS.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, {})[key] = _kind_of(types[field])
    return {**sections, "input": {field.name: "int" for field in fields(Limits)}}


SECTIONS: Mapping[str, Mapping[str, Kind]] = _sections()
"""The sections of a settings file, their keys, and what each key holds."""
RENAMED: Mapping[str, str] = {"summarizer.rides_prefix": "summarizer.reuse_prompt_cache"}
"""Settings that had another name, which is still accepted."""
FORMER: Mapping[str, tuple[str, str]] = {
    "compression.summary_max_tokens": ("compression.summary_tokens", ""),
    "compression.arrival_tokens": ("compression.arrival_tools", ", where * is every tool"),
    **{
        f"compression.{key}": ("", "")
        for key in (
            "small_window",
            "pressure",
            "summary_ratio",
            "summary_min_tokens",
            "summary_window_share",
            "digest_from_chars",
            "argument_chars",
            "ineffective_saving",
            "ineffective_limit",
        )
    },
}
"""Settings that are refused today: the one that has their place, "" if none has, and how it differs
from them."""

TABLES = frozenset({"memory"})
"""Sections that hold tables of others: the options of an external memory, under its name."""

FOLDER_MAY_SET = frozenset(
    {
        # numbers and switches name no address, command, file or package
        *(f"compression.{key}" for key, kind in SECTIONS["compression"].items() if kind != "str"),
        "compression.arrival",
        "model.name",
        "model.context_length",
        "model.output_tokens",
        "caching.ttl",
        "sessions.mode",
    }
)
"""What the foldaway.toml of a folder may set. Everything else, new settings too, is the user's own:
anyone who wrote the folder is not the user."""

ONE_OF: Mapping[str, tuple[str, ...]] = {
    name: get_args(field.type)
    for name, one in FIELDS.items()
    for field in fields(Settings)
    if field.name == one and get_origin(field.type) is Literal
}
"""The words that a setting may be, if it is a choice among words."""
_LEAST: Mapping[str, float] = {
    "model.context_length": 1,
    "model.output_tokens": 0,
    "summarizer.timeout": 0.001,
    "summarizer.context_length": 1,
    "sessions.retention_days": 0,
    "sessions.retention_mb": 0,
    **{f"input.{field.name}": 1 for field in fields(Limits)},
}
_Whole: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""The whole numbers of TOML; Python would read more, and fail when it multiplies them."""
_FILES = frozenset({"redaction.rules_files"})
"""Settings that name files. A relative name would be one of the current folder's."""
_FOLDERS = frozenset({"sessions.retention_projects"})
"""Settings that have a number for folders."""
_ABSOLUTE = re.compile(r"~/|/|[A-Za-z]:[\\/]")
_PATTERNS = frozenset({"memory.template"})
"""Settings that are regular expressions."""

_YES_NO = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _limits(text: str) -> dict[str, int]:
    pairs = [part.partition("=") for part in _split(text)]
    return {name.strip(): int(number) for name, _, number in pairs}


_VALUES: Mapping[Kind, tuple[str, Any, Callable[[str], Any]]] = {
    "bool": ("true or false", bool, lambda text: _YES_NO[text.strip().lower()]),
    "int": ("a whole number", _Whole, int),
    "float": ("a number", _Whole | float, float),
    "str": ("a text", str, str),
    "limits": ("whole numbers by name", dict[str, _Whole], _limits),
    "names": ("a list of texts", list[str], _split),
}
"""What a setting is in words, its type in a file, and how it is read from a variable."""


class Given(Struct, frozen=True):
    """A value, and where it was given: what an error names."""

    value: Any
    origin: str


def find_setting(section: str, key: str) -> str:
    """Return the name that a key of a section has today; "" if there is no such setting."""
    name = RENAMED.get(f"{section}.{key}", f"{section}.{key}")
    return name if name.partition(".")[2] in SECTIONS[section] else ""


def unknown_setting(section: str, key: str, value: object, where: str) -> InvalidSetting:
    """Return the error for a key of a file that is not a setting: what to write if it was one."""
    name = f"{section}.{key}"
    if name in FORMER:
        return former_setting(f"{where}: {name}", value, *FORMER[name])
    return InvalidSetting.unknown(name, tuple(SECTIONS[section]), value=value, where=where)


def former_setting(origin: str, value: object, new: str, differs: str) -> InvalidSetting:
    """Return the error for a setting that was `origin` and is `new` today, "" if it is gone."""
    what = f"is now {new}{differs}" if new else "is no longer a setting; delete it"
    return InvalidSetting(origin, value, "left out", message=f"{origin} {what}")


def parse_text(section: str, key: str, text: str, origin: str) -> Given:
    """Return the value that a variable holds, or raise `InvalidSetting`."""
    try:
        return Given(_VALUES[SECTIONS[section][key]][2](text), origin)
    except (KeyError, ValueError):
        raise InvalidSetting(origin, text, describe(section, key)) from None


def check_type(section: str, key: str, value: object, origin: str) -> Given:
    """Return a value of a file if it is of the right type, or raise `InvalidSetting`."""
    try:
        msgspec.convert(value, _VALUES[SECTIONS[section][key]][1])
    except msgspec.ValidationError:
        raise InvalidSetting(origin, value, describe(section, key)) from None
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
    if name in ONE_OF and value not in ONE_OF[name]:
        raise InvalidSetting(given.origin, value, f"one of {', '.join(ONE_OF[name])}")
    if name in _FOLDERS and not all(_ABSOLUTE.match(one) and value[one] >= 0 for one in value):
        raise InvalidSetting(given.origin, value, "days of at least 0 by absolute names of folders")
    if name in _FILES and not all(_ABSOLUTE.match(file) for file in value):
        raise InvalidSetting(given.origin, value, "absolute names of files, such as ~/rules.toml")
    if name == "gateway.budget" and value:
        from foldaway.usage import SpendingLimit  # few have one

        SpendingLimit.parse(value, given.origin)
    if name in _PATTERNS:
        try:
            re.compile(value)
        except re.error as error:
            raise InvalidSetting(given.origin, value, f"a regular expression ({error})") from None


def describe(section: str, key: str) -> str:
    """Return what a setting may be, in words."""
    kind = SECTIONS[section][key]
    range_ = _range(section, key) if kind in ("int", "float") else ""
    return f"{_VALUES[kind][0]}{' ' if range_ else ''}{range_}"


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
