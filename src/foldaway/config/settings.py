"""Settings from files, the environment and the command line to one value; and their description."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Literal, cast, get_args, get_origin

from msgspec.structs import fields

from foldaway._core import Policy, log_event
from foldaway.config.files import read_files
from foldaway.config.sections import (
    FIELDS,
    FORMER,
    ONE_OF,
    RENAMED,
    SECTIONS,
    TABLES,
    Given,
    Kind,
    Settings,
    SettingsFile,
    check_range,
    describe,
    former_setting,
    parse_text,
)
from foldaway.dialects import Limits

PREFIX = "FOLDAWAY_"
OTHER_VARIABLES = frozenset(
    PREFIX + name
    for name in (
        "AGENTS",
        "CONFIG",
        "DATA",
        "DEBUG",
        "FUZZ_SECONDS",
        "HOME",
        "LOG_LEVEL",
        "SESSION",
        "SOAK",
        "STREAM_MB",
        "TEST_POSTGRES",
    )
)
"""Variables of ours that are no settings."""

_SHORT = {"PROFILE": ("sessions", "profile"), "STORE": ("sessions", "store")}
"""Variables whose short names people expect, and what they set."""

_GOES_WITH: Mapping[str, str] = {
    "model.name": "model.context_length",
    "summarizer.url": "summarizer.key_variable",
    "summarizer.model": "summarizer.key_variable",
}
"""What was given for one model or address, and must not be used for another."""


def read_settings(
    file: str | None = None,
    *,
    flags: Mapping[str, tuple[str, object]] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings: the command line over the environment over the files over the defaults.

    The file is `file`, else the one that FOLDAWAY_CONFIG names. If neither is given, it is
    foldaway/config.toml in the user's configuration folder, and over it the foldaway.toml of the
    current folder, of which only what a folder may set counts (`FOLDER_MAY_SET`). What is ignored
    is in `warnings`. `flags` maps "section.key" to the flag and its value. Raises `InvalidSetting`
    with the key, where it was given and what it may be, and `NotReadable` for a file that cannot
    be read, but not because of a folder's file that the user does not trust.
    """
    surroundings = os.environ if environment is None else environment
    read = read_files(file or surroundings.get(f"{PREFIX}CONFIG", ""), surroundings)
    variables, unknown = _from_environment(surroundings)
    given_flags = {key: Given(value, flag) for key, (flag, value) in (flags or {}).items()}
    given: dict[str, Given] = {}
    for layer in (*(one.given for one in read), variables, given_flags):
        for key, dependent in _GOES_WITH.items():
            if key in layer and _is_another(key, given, layer):
                given.pop(dependent, None)
        given.update(layer)
    warnings = [warning for one in read for warning in one.warnings] + unknown
    if warnings:
        log_event("settings.ignored", settings=len(warnings))
    return _settings(given, tuple(one.file for one in read), tuple(warnings))


def _is_another(key: str, given: Mapping[str, Given], layer: Mapping[str, Given]) -> bool:
    """Return whether a layer names another model or address; another model of the same vendor can
    use the same key.
    """
    if key != "summarizer.model":
        return True
    kinds = [str(one[key].value).partition(":")[0] for one in (given, layer) if key in one]
    return len(set(kinds)) > 1


def value_of(settings: Settings, name: str) -> object:
    """Return the value in effect of a setting by its name, "section.key"."""
    section, _, key = name.partition(".")
    if section == "compression":
        return getattr(settings.policy, key)
    if section == "input":
        return getattr(settings.limits, key)
    return getattr(settings, FIELDS[name]) if name in FIELDS else settings.memory_options[key]


def list_settings(settings: Settings) -> list[tuple[str, object, str]]:
    """Return every setting with its value and its origin, which is "" for a default."""
    names = [f"{section}.{key}" for section, keys in SECTIONS.items() for key in keys]
    names += [name for name in settings.origins if name not in names]
    return [(name, value_of(settings, name), settings.origins.get(name, "")) for name in names]


def _from_environment(environment: Mapping[str, str]) -> tuple[dict[str, Given], list[str]]:
    """Return what variables say, and a warning for each that is no setting.

    The long form of a name wins over the short one.
    """
    names = {f"{PREFIX}{key.upper()}": ("compression", key) for key in SECTIONS["compression"]}
    names |= {f"{PREFIX}{name}": place for name, place in _SHORT.items()}
    names |= {
        _variable(f"{section}.{key}"): (section, key)
        for section, keys in SECTIONS.items()
        for key in keys
    }
    for old, new in RENAMED.items():
        section, _, key = new.partition(".")
        names[_variable(old)] = (section, key)
    former = {
        f"{PREFIX}{begin}{old.partition('.')[2]}".upper(): (new and _variable(new), differs)
        for old, (new, differs) in FORMER.items()
        for begin in ("", "compression_")
    }
    found: dict[str, Given] = {}
    warnings: list[str] = []
    for variable in sorted(environment, key=lambda name: (len(name), name)):
        if not variable.startswith(PREFIX) or variable in OTHER_VARIABLES:
            continue
        if variable in former:
            raise former_setting(variable, environment[variable], *former[variable])
        if variable not in names:
            near = get_close_matches(variable, [*names, f"{PREFIX}CONFIG", f"{PREFIX}HOME"], 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            warnings.append(f"{variable} is not a setting and is ignored{hint}")
            continue
        section, key = names[variable]
        found[f"{section}.{key}"] = parse_text(section, key, environment[variable], variable)
    return found, warnings


def _variable(name: str) -> str:
    """Return the long form of the variable of a setting."""
    return f"{PREFIX}{name.replace('.', '_')}".upper()


def _settings(
    given: Mapping[str, Given], files: tuple[SettingsFile, ...], warnings: tuple[str, ...]
) -> Settings:
    for key, one in given.items():
        check_range(key, one)
    policy, limits = (
        {
            key: given[f"{section}.{key}"].value
            for key in SECTIONS[section]
            if f"{section}.{key}" in given
        }
        for section in ("compression", "input")
    )
    values = {field: given[key].value for key, field in FIELDS.items() if key in given}
    tables = {
        key.partition(".")[2]: cast("Mapping[str, object]", one.value)
        for key, one in given.items()
        if key.partition(".")[0] in TABLES and isinstance(one.value, dict)
    }
    return Settings(
        policy=Policy(**policy),
        **values,
        memory_options=tables,
        limits=Limits(**limits),
        files=files,
        origins={key: one.origin for key, one in given.items()},
        warnings=warnings,
    )


_CHOICES = {
    **ONE_OF,
    **{
        f"compression.{field.name}": get_args(field.type)
        for field in fields(Policy)
        if get_origin(field.type) is Literal
    },
}
_TYPES: Mapping[Kind, dict[str, object]] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "str": {"type": "string"},
    "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
    "names": {"type": "array", "items": {"type": "string"}},
}
_HEADING = """\
# Settings of Foldaway. A line that begins with "# " and a name shows a default; remove the "# " to
# change it. `foldaway config check` says whether all is right, `foldaway config show` what is in
# effect, and where it comes from.
"""


def settings_schema() -> dict[str, object]:
    """Return the JSON Schema of a settings file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of Foldaway",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            section: {
                "type": "object",
                "additionalProperties": {"type": "object"} if section in TABLES else False,
                "properties": {key: _property(section, key) for key in keys},
            }
            for section, keys in SECTIONS.items()
        },
    }


def _property(section: str, key: str) -> dict[str, object]:
    name = f"{section}.{key}"
    default = value_of(Settings(), name)
    found = {**_TYPES[SECTIONS[section][key]], "description": describe(section, key)}
    if name in _CHOICES:
        found["enum"] = list(_CHOICES[name])
    return found if default is None else {**found, "default": default}


def sample_file() -> str:
    """Return a settings file in which nothing is set: every setting with its default."""
    parts = [_HEADING]
    for section, keys in SECTIONS.items():
        lines = [f"[{section}]"]
        for key in keys:
            default = value_of(Settings(), f"{section}.{key}")
            shown = "" if default is None else json.dumps(default)
            words = " or ".join(_CHOICES.get(f"{section}.{key}", ())) or describe(section, key)
            lines.append(f"# {key} = {shown}  # {words}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
