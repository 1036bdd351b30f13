"""Settings from a TOML file and the environment to values."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import fields

from holdfast.dialects.limits import Limits
from holdfast.errors import InvalidSetting, NotReadable
from holdfast.policy import Policy

FILE_NAME = "holdfast.toml"
PREFIX = "HOLDFAST_"
OTHER_VARIABLES = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "CONFIG",
        "DATA",
        "DEBUG",
        "FUZZ_SECONDS",
        "HOME",
        "SOAK",
        "STREAM_MB",
        "TEST_POSTGRES",
    )
)
"""Variables of ours that are no settings."""

Kind: TypeAlias = Literal["bool", "int", "float", "str", "limits"]
"""`limits` are whole numbers by name: a table in a file, `name=1,other=2` in a variable."""

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
        "fallback": "str",
        "fallback_when_complex": "bool",
        "rides_prefix": "bool",
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
    "input": {field.name: "int" for field in fields(Limits)},
}
"""The sections of a settings file, their keys, and what each key holds."""

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

_TABLES = frozenset({"memory"})
"""Sections that hold tables of others: the options of an external memory, under its name."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

_SHORT = {"PROFILE": ("sessions", "profile"), "STORE": ("sessions", "store")}
"""Variables whose short names people expect, and what they set."""

_MEANING: Mapping[Kind, str] = {
    "bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text",
    "limits": "whole numbers by name",
}  # fmt: skip
_YES_NO = {
    "true": True, "1": True, "yes": True, "on": True,
    "false": False, "0": False, "no": False, "off": False,
}  # fmt: skip


class Settings(Struct, frozen=True, kw_only=True):
    """What a run goes by; `file` is the settings file that was read, "" where there was none."""

    policy: Policy = Policy()
    model: str = ""
    context_length: int | None = None
    output_tokens: int = 0
    engine: str = "compressor"
    """The name of the context engine, ours or one that another package registers."""
    summarizer: str = "none"
    """Who writes summaries: `none`, or a kind and a model such as `openai:gpt-5-mini`."""
    summarizer_url: str = ""
    fallback_summarizer: str = "none"
    fallback_when_complex: bool = False
    """Whether the fallback is asked first where much was changed or is open."""
    rides_prefix: bool = False
    """Whether the summarizer is the main model, and is asked after the conversation itself, which
    it has in its cache."""
    on_failure: Literal["auto", "ledger", "abort"] = "auto"
    summarizer_timeout: float = 120.0
    summarizer_context_length: int | None = None
    """What the summarizer can read, where that cannot be looked up."""
    cache_ttl: Literal["5m", "1h"] = "5m"
    sessions_mode: Literal["in-place", "rotate"] = "in-place"
    profile: str = "default"
    retention_days: int = 0
    """Sessions that nothing was added to for so long may be erased; 0 keeps them."""
    retention_mb: int = 0
    """The oldest sessions beyond this size may be erased; 0 keeps them."""
    store: str = ""
    """A file or a server; "" is a file in the data folder."""
    memory: str = ""
    """The name of the external memory, ours or one that another package registers; "" is none."""
    memory_template: str = ""
    """A pattern of what a host puts around the user's words; its group `words` is the user's."""
    memory_options: Mapping[str, Mapping[str, Any]] = {}
    """By the name of a memory, its table `[memory.NAME]`; what it may hold, the memory knows."""
    limits: Limits = Limits()
    """How much of an input is read."""
    file: str = ""


class _Given(Struct, frozen=True):
    """A value, and where it was given: what an error names."""

    value: Any
    origin: str


def read_settings(
    file: str | None = None,
    *,
    flags: Mapping[str, tuple[str, object]] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings: the command line over the environment over the file over the defaults.

    The file is `file`, else the one that HOLDFAST_CONFIG names, else holdfast.toml here, else
    holdfast/config.toml in the configuration folder of the user. `flags` maps "section.key" to
    the flag and its value. Raises `InvalidSetting` with the key, where it was given and what it
    may be, and `NotReadable` for a file that was named and cannot be read.
    """
    surroundings = os.environ if environment is None else environment
    found = settings_file(file, surroundings)
    layers = [
        dict(_from_file(found, surroundings)) if found else {},
        _from_environment(surroundings),
    ]
    layers.append({key: _Given(value, flag) for key, (flag, value) in (flags or {}).items()})
    given: dict[str, _Given] = {}
    for layer in layers:
        if "model.name" in layer:  # a window that was given for another model
            given.pop("model.context_length", None)
        given.update(layer)
    return _settings(given, found)


def settings_file(file: str | None, environment: Mapping[str, str]) -> str:
    """Return the name of the settings file, "" where there is none; it is not opened."""
    named = file or environment.get(f"{PREFIX}CONFIG", "")
    if named:
        return named
    home = environment.get("HOME") or os.path.expanduser("~")
    folder = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    for name in (FILE_NAME, os.path.join(folder, "holdfast", "config.toml")):
        if os.path.isfile(name):
            return name
    return ""


def _from_file(name: str, environment: Mapping[str, str]) -> Iterator[tuple[str, _Given]]:
    for section, held in _parsed(name).items():
        if section not in SECTIONS:
            raise InvalidSetting(
                f"{name}: [{section}]", held, f"left out: there is no such section; "
                f"known: {', '.join(f'[{known}]' for known in SECTIONS)}",
            )  # fmt: skip
        if not isinstance(held, dict):
            raise InvalidSetting(f"{name}: {section}", held, f"a section: [{section}]")
        for key, value in cast("dict[str, Any]", held).items():
            origin = f"{name}: {section}.{key}"
            if section in _TABLES and isinstance(value, dict):
                table = _filled(value, origin, environment)
                yield f"{section}.{key}", _Given(table, origin)
                continue
            if key not in SECTIONS[section]:
                raise _unknown(origin, value, key, SECTIONS[section])
            yield f"{section}.{key}", _Given(_checked(section, key, value, origin), origin)


def _filled(value: Any, origin: str, environment: Mapping[str, str]) -> Any:
    """Return options in which `${NAME}` is that variable: keys need not stand in a file."""
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {key: _filled(one, f"{origin}.{key}", environment) for key, one in table.items()}
    if isinstance(value, list):
        return [_filled(one, origin, environment) for one in cast("list[Any]", value)]
    if not isinstance(value, str):
        return value
    for name in _VARIABLE.findall(value):
        if name not in environment:
            raise InvalidSetting(origin, value, f"without ${{{name}}}, or {name} must be set")
    return _VARIABLE.sub(lambda found: environment[found.group(1)], value)


def _parsed(name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotReadable("does not exist", where=name, remedy="check the name") from None
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "not UTF-8"
        raise NotReadable(
            f"cannot be read ({said})", where=name, remedy="check the settings file"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise NotReadable(
            f"is not TOML: {error}", where=name, remedy="mend the settings file"
        ) from None


def _from_environment(environment: Mapping[str, str]) -> dict[str, _Given]:
    """Return what variables say; the long form of a name wins over the short one."""
    names = {f"{PREFIX}{key.upper()}": ("compression", key) for key in SECTIONS["compression"]}
    names |= {f"{PREFIX}{name}": place for name, place in _SHORT.items()}
    names |= {
        f"{PREFIX}{section}_{key}".upper(): (section, key)
        for section, keys in SECTIONS.items()
        for key in keys
    }
    found: dict[str, _Given] = {}
    for variable in sorted(environment, key=lambda name: (len(name), name)):
        if not variable.startswith(PREFIX) or variable in OTHER_VARIABLES:
            continue
        text = environment[variable]
        if variable not in names:
            raise _unknown(variable, text, variable, names)
        section, key = names[variable]
        value = _from_text(section, key, text, variable)
        found[f"{section}.{key}"] = _Given(value, variable)
    return found


def _from_text(section: str, key: str, text: str, variable: str) -> Any:
    try:
        match SECTIONS[section][key]:
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
    except (KeyError, ValueError):
        raise InvalidSetting(variable, text, _wanted(section, key)) from None


def _checked(section: str, key: str, value: object, origin: str) -> Any:
    match SECTIONS[section][key]:
        case "bool":
            fits = isinstance(value, bool)
        case "int":
            fits = isinstance(value, int) and not isinstance(value, bool)
        case "float":
            fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        case "str":
            fits = isinstance(value, str)
        case "limits":
            fits = _is_limits(value)
    if not fits:
        raise InvalidSetting(origin, value, _wanted(section, key))
    return value


def _is_limits(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    return all(type(number) is int for number in cast("dict[str, Any]", value).values())


def _wanted(section: str, key: str) -> str:
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


def _unknown(origin: str, value: object, name: str, known: Mapping[str, object]) -> InvalidSetting:
    near = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known)}"
    return InvalidSetting(origin, value, f"left out: there is no such setting{hint}")


def _settings(given: Mapping[str, _Given], file: str) -> Settings:
    chosen = {
        key: given[f"compression.{key}"]
        for key in SECTIONS["compression"]
        if f"compression.{key}" in given
    }
    try:
        policy = Policy(**{key: one.value for key, one in chosen.items()})
    except InvalidSetting as error:
        raise InvalidSetting(chosen[error.name].origin, error.value, error.wanted) from None
    for key, least in _LEAST.items():
        one = given.get(key)
        if one is not None and not one.value >= least:
            raise InvalidSetting(one.origin, one.value, f"at least {least:g}")
    for key, known in _ONE_OF.items():
        one = given.get(key)
        if one is not None and one.value not in known:
            raise InvalidSetting(one.origin, one.value, f"one of {', '.join(known)}")
    return Settings(
        policy=policy,
        model=_value(given, "model.name", ""),
        context_length=_value(given, "model.context_length", None),
        output_tokens=_value(given, "model.output_tokens", 0),
        engine=_value(given, "engine.name", "compressor"),
        summarizer=_value(given, "summarizer.model", "none"),
        summarizer_url=_value(given, "summarizer.url", ""),
        fallback_summarizer=_value(given, "summarizer.fallback", "none"),
        fallback_when_complex=_value(given, "summarizer.fallback_when_complex", False),
        rides_prefix=_value(given, "summarizer.rides_prefix", False),
        on_failure=_value(given, "summarizer.on_failure", "auto"),
        summarizer_timeout=float(_value(given, "summarizer.timeout", 120.0)),
        summarizer_context_length=_value(given, "summarizer.context_length", None),
        cache_ttl=_value(given, "caching.ttl", "5m"),
        sessions_mode=_value(given, "sessions.mode", "in-place"),
        profile=_value(given, "sessions.profile", "default"),
        retention_days=_value(given, "sessions.retention_days", 0),
        retention_mb=_value(given, "sessions.retention_mb", 0),
        store=_value(given, "sessions.store", ""),
        memory=_value(given, "memory.external", ""),
        memory_template=_pattern(given, "memory.template"),
        memory_options=_tables(given, "memory"),
        limits=Limits(
            **{
                key: given[f"input.{key}"].value
                for key in SECTIONS["input"]
                if f"input.{key}" in given
            }
        ),
        file=file,
    )


def _tables(given: Mapping[str, _Given], section: str) -> dict[str, Mapping[str, Any]]:
    return {
        key.removeprefix(f"{section}."): cast("Mapping[str, Any]", one.value)
        for key, one in given.items()
        if key.startswith(f"{section}.") and isinstance(one.value, dict)
    }


def _pattern(given: Mapping[str, _Given], key: str) -> str:
    """Return a regular expression that can be read, or raise; "" where there is none."""
    text = str(_value(given, key, ""))
    try:
        re.compile(text)
    except re.error as error:
        raise InvalidSetting(given[key].origin, text, f"a regular expression ({error})") from None
    return text


def _value(given: Mapping[str, _Given], key: str, otherwise: Any) -> Any:
    found = given.get(key)
    return otherwise if found is None else found.value
