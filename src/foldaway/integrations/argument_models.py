"""The arguments of our tools as models of Pydantic, for frameworks that take no JSON schema."""

# Pydantic comes with the frameworks; it is not installed when this is checked.
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from pydantic import Field, create_model

from foldaway.integrations.host_sessions import HostTool

_TYPES = {"string": str, "integer": int, "boolean": bool}


def arguments_model(tool: HostTool) -> Any:
    """Return a model of the arguments of a tool; those that may be left out are None by default."""
    wanted = tool.parameters.get("required", ())
    fields: Any = {}
    for name, one in tool.parameters["properties"].items():
        kind, said = _TYPES[one["type"]], one.get("description")
        is_wanted = name in wanted
        fields[name] = (
            kind if is_wanted else kind | None,
            Field(default=... if is_wanted else None, description=said),
        )
    return create_model(f"{tool.name}_arguments", **fields)
