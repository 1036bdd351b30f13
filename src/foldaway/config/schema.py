"""The settings file described for editors (JSON Schema) and for people (a file to fill in)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, get_args, get_origin

from msgspec.structs import fields

from foldaway._core import Policy
from foldaway.config.sections import ONE_OF, SECTIONS, TABLES, Kind, Settings, describe
from foldaway.config.settings import value_of

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
