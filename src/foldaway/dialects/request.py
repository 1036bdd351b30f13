"""The request around the messages: tool definitions and settings, from one dialect to another."""

# Wire values are `Any`, and so is whatever is taken out of one.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from foldaway.dialects.jsontext import dump_text, parse
from foldaway.dialects.loss import Losses
from foldaway.errors import NotReadable
from foldaway.transcript import Payload

Path: TypeAlias = tuple[str, ...]

_SAME = ("model", "temperature", "top_p", "stream")


def _settings(same: tuple[str, ...], **others: Path) -> dict[str, Path]:
    return {**{name: (name,) for name in same}, **others}


SETTINGS: Mapping[str, Mapping[str, Path]] = {
    "openai-chat": _settings(
        (*_SAME, "stop", "tool_choice", "parallel_tool_calls", "metadata", "service_tier"),
        max_tokens=("max_completion_tokens",),
    ),
    "openai-responses": _settings(
        (*_SAME, "tool_choice", "parallel_tool_calls", "metadata", "service_tier"),
        max_tokens=("max_output_tokens",),
    ),
    "anthropic": _settings(
        (*_SAME, "max_tokens", "top_k", "tool_choice"), stop=("stop_sequences",)
    ),
    "gemini": {
        "temperature": ("generationConfig", "temperature"),
        "top_p": ("generationConfig", "topP"),
        "top_k": ("generationConfig", "topK"),
        "max_tokens": ("generationConfig", "maxOutputTokens"),
        "stop": ("generationConfig", "stopSequences"),
        "tool_choice": ("toolConfig",),
    },
    "sharegpt": {"model": ("model",)},
}
"""By dialect, where the settings stand that others have too."""

_OLDER: Mapping[tuple[str, Path], str] = {("openai-chat", ("max_tokens",)): "max_tokens"}
_NESTED = frozenset({"generationConfig"})
_MODES: Mapping[str, tuple[str, str, str]] = {
    "openai-chat": ("auto", "none", "required"),
    "openai-responses": ("auto", "none", "required"),
    "anthropic": ("auto", "none", "any"),
    "gemini": ("AUTO", "NONE", "ANY"),
}


def is_request(body: Payload, source: str) -> bool:
    """Return whether `body` is meant for a provider, and no record of a session.

    A Gemini request names its model in the address, not in the body.
    """
    if source == "gemini":
        return any(path[0] in body for path in SETTINGS["gemini"].values())
    return source != "sharegpt" and isinstance(body.get("model"), str)


def request_fields(
    body: Payload, source: str, to: str, *, skip: frozenset[str], losses: Losses
) -> Payload:
    """Return the fields of a request in the other dialect's names; what has no equal is noted."""
    named = {path: name for name, path in SETTINGS[source].items()}
    fields: Payload = {}
    for path, value in _leaves(body, skip):
        name = named.get(path) or _OLDER.get((source, path))
        target = SETTINGS[to].get(name) if name else None
        written = _value(name, value, source, to) if name and target else None
        if target is None or written is None:
            if value is not None:
                what = f"the setting {path[-1]!r} has no counterpart in {to}"
                losses.add_setting(".".join(path), what)
            continue
        _put(fields, target, written)
    _carry_tools(body, source, to, fields, losses)
    return fields


def record_fields(
    body: Payload, source: str, to: str, *, skip: frozenset[str], losses: Losses
) -> Payload:
    """Return the fields of a record that is no request: all of them, with its tools translated."""
    fields = {key: value for key, value in body.items() if key not in skip and key != "tools"}
    _carry_tools(body, source, to, fields, losses)
    return fields


def _carry_tools(body: Payload, source: str, to: str, fields: Payload, losses: Losses) -> None:
    if "tools" in body:
        tools = write_tools(read_tools(body["tools"], source, losses), to, losses)
        if tools is not None:
            fields["tools"] = tools


def _leaves(body: Payload, skip: frozenset[str]) -> Iterator[tuple[Path, Any]]:
    for key, value in body.items():
        if key in skip or key == "tools":
            continue
        if key in _NESTED and type(value) is dict:
            for inner, leaf in value.items():
                yield (key, inner), leaf
        else:
            yield (key,), value


def _put(fields: Payload, path: Path, value: Any) -> None:
    for key in path[:-1]:
        fields = fields.setdefault(key, {})
    fields[path[-1]] = value


def _value(name: str, value: Any, source: str, to: str) -> Any:
    """Return a setting as the other dialect writes it; None if it cannot."""
    if name == "stop" and isinstance(value, str):
        return [value]
    if name == "tool_choice":
        choice = _read_choice(value, source)
        return None if choice is None else _write_choice(*choice, to)
    return value


def _read_choice(value: Any, source: str) -> tuple[int, str] | None:
    """Return the mode (auto, none, any) and the only tool that may be called, "" for all."""
    modes = _MODES[source]
    named = ""
    if source == "gemini":
        config = value.get("functionCallingConfig") if type(value) is dict else None
        if type(config) is not dict or set(value) != {"functionCallingConfig"}:
            return None
        only = config.get("allowedFunctionNames") or []
        if type(only) is not list or len(only) > 1:
            return None
        value, named = config.get("mode"), only[0] if only else ""
    elif type(value) is dict:
        inner = value.get("function") if source == "openai-chat" else value
        if value.get("type") in ("function", "tool") and type(inner) is dict:
            named, value = inner.get("name", ""), modes[2]
        elif source == "anthropic" and set(value) == {"type"}:
            value = value["type"]
    known = type(value) is str and value in modes and isinstance(named, str)
    return (modes.index(value), named) if known else None


def _write_choice(mode: int, name: str, to: str) -> Any:
    word = _MODES[to][mode]
    match to:
        case "gemini":
            only = {"allowedFunctionNames": [name]} if name else {}
            return {"functionCallingConfig": {"mode": word, **only}}
        case "anthropic":
            return {"type": "tool", "name": name} if name else {"type": word}
        case "openai-chat" if name:
            return {"type": "function", "function": {"name": name}}
        case "openai-responses" if name:
            return {"type": "function", "name": name}
        case _:
            return word


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
                losses.add_setting(
                    f"{path}.{key}", f"the field {key!r} of a tool has no counterpart"
                )
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
    schema = _lower_types(schema) if capitals else schema
    return Tool(
        wire["name"],
        description if isinstance(description, str) else "",
        schema,
        wire.get("strict") is True,
        custom,
        wire.get("format"),
        path,
    )


def _lower_types(schema: Any) -> Any:
    """Return a schema with JSON schema's names of types; Gemini also writes them in capitals."""
    if type(schema) is dict:
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _lower_types(value)
            for key, value in schema.items()
        }
    return [_lower_types(value) for value in schema] if type(schema) is list else schema


def write_tools(tools: Sequence[Tool], to: str, losses: Losses) -> Any:
    """Return the definitions in the shape of `to`; None if none is left."""
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
        return [
            {"functionDeclarations": [_definition(tool, "parametersJsonSchema") for tool in kept]}
        ]
    if to == "sharegpt":
        return dump_text([_definition(tool, "parameters") for tool in kept])
    return [_write_tool(tool, to) for tool in kept]


def _write_tool(tool: Tool, to: str) -> Payload:
    if tool.custom:
        inner: Payload = {"name": tool.name}
        if tool.description:
            inner["description"] = tool.description
        if tool.format is not None:
            inner["format"] = tool.format
        return (
            {"type": "custom", "custom": inner}
            if to == "openai-chat"
            else {"type": "custom", **inner}
        )
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
