"""Tool definitions: name, description and JSON schema, in each dialect's shape."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from holdfast.dialects.jsontext import dump_text, parse
from holdfast.dialects.loss import Losses
from holdfast.errors import NotReadable
from holdfast.transcript import Payload

_SCHEMA_KEYS = ("parameters", "parametersJsonSchema", "input_schema")
_KNOWN = frozenset({"type", "name", "description", "strict", "format", *_SCHEMA_KEYS})


class Tool(Struct, frozen=True):
    """A tool that the client runs. `format` is set for one that takes free text."""

    name: str
    description: str = ""
    schema: Any = None
    strict: bool = False
    custom: bool = False
    format: Any = None
    path: str = ""


def read_tools(tools: Any, source: str, losses: Losses) -> list[Tool]:
    """Return the definitions; the provider's own tools and unknown fields are noted as lost."""
    if isinstance(tools, str):
        try:
            tools = parse(tools.encode())
        except (NotReadable, UnicodeEncodeError):
            tools = None
    if not isinstance(tools, list):
        losses.add_setting("tools", "the tools are not a list of definitions")
        return []
    found: list[Tool] = []
    for path, wire, kind in _definitions(tools, source):
        if type(wire) is not dict or not isinstance(wire.get("name"), str):
            losses.add_setting(path, "the definition names no tool of the client")
            continue
        if kind not in (None, "function", "custom"):
            losses.add_setting(path, f"the tool {kind!r} belongs to its provider")
            continue
        for key in wire:
            odd = key == "description" and not isinstance(wire[key], str)
            if wire[key] and (odd or key not in _KNOWN):
                losses.add_setting(f"{path}.{key}", f"the field {key!r} of a tool has no equal")
        custom = kind == "custom" and source != "anthropic"
        found.append(_tool(wire, path, custom=custom, capitals=source == "gemini"))
    return found


def _definitions(tools: Sequence[Any], source: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path, the object with the name, and the type of each definition."""
    for index, tool in enumerate(tools):
        path = f"tools[{index}]"
        if type(tool) is not dict:
            yield path, tool, None
        elif source == "gemini":
            yield from _declarations(tool, path)
        elif source in ("openai-chat", "sharegpt") and tool.get("type") in ("function", "custom"):
            kind = tool["type"]
            inner = tool.get(kind)
            if type(inner) is dict:
                others = {key: tool[key] for key in tool if key not in ("type", kind)}
                inner = {**others, **inner}
            yield f"{path}.{kind}", inner, kind
        else:
            yield path, tool, tool.get("type")


def _declarations(tool: Payload, path: str) -> Iterator[tuple[str, Any, Any]]:
    for key, value in tool.items():
        if key in ("functionDeclarations", "function_declarations") and type(value) is list:
            for index, declaration in enumerate(value):
                yield f"{path}.{key}[{index}]", declaration, None
        else:
            yield f"{path}.{key}", {"name": key}, key


def _tool(wire: Payload, path: str, *, custom: bool, capitals: bool) -> Tool:
    description = wire.get("description")
    schema = next((wire[key] for key in _SCHEMA_KEYS if wire.get(key) is not None), None)
    schema = _lowered(schema) if capitals else schema
    return Tool(
        wire["name"], description if isinstance(description, str) else "", schema,
        wire.get("strict") is True, custom, wire.get("format"), path,
    )  # fmt: skip


def _lowered(schema: Any) -> Any:
    """Return a schema with JSON schema's names of types; Gemini also writes them in capitals."""
    if type(schema) is dict:
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _lowered(value)
            for key, value in schema.items()
        }
    return [_lowered(value) for value in schema] if type(schema) is list else schema


def write_tools(tools: Sequence[Tool], to: str, losses: Losses) -> Any:
    """Return the definitions in the shape of `to`; None where none is left."""
    free_text = to in ("openai-chat", "openai-responses")
    kept: list[Tool] = []
    for tool in tools:
        if tool.custom and not free_text:
            losses.add_setting(tool.path, f"{to} has no tools that take free text")
            continue
        if tool.strict and to in ("gemini", "sharegpt"):
            losses.add_setting(f"{tool.path}.strict", f"{to} has no strict schemas")
        kept.append(tool)
    if not kept:
        return None
    if to == "gemini":
        return [{"functionDeclarations": [_definition(tool, "parametersJsonSchema")
                                          for tool in kept]}]  # fmt: skip
    if to == "sharegpt":
        return dump_text([_definition(tool, "parameters") for tool in kept])
    return [_written(tool, to) for tool in kept]


def _written(tool: Tool, to: str) -> Payload:
    if tool.custom:
        inner: Payload = {"name": tool.name}
        if tool.description:
            inner["description"] = tool.description
        if tool.format is not None:
            inner["format"] = tool.format
        return {"type": "custom", "custom": inner} if to == "openai-chat" else {
            "type": "custom", **inner
        }  # fmt: skip
    if to == "anthropic":
        strict: Payload = {"strict": True} if tool.strict else {}
        schema = {"type": "object", "properties": {}} if tool.schema is None else tool.schema
        return {**_definition(tool, ""), "input_schema": schema, **strict}
    if to == "openai-chat":
        strict = {"strict": True} if tool.strict else {}
        return {"type": "function", "function": {**_definition(tool, "parameters"), **strict}}
    return {"type": "function", **_definition(tool, "parameters"), "strict": tool.strict}


def _definition(tool: Tool, schema_key: str) -> Payload:
    fields: Payload = {"name": tool.name}
    if tool.description:
        fields["description"] = tool.description
    if schema_key and tool.schema is not None:
        fields[schema_key] = tool.schema
    return fields
