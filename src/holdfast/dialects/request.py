"""The request around the messages: tool definitions and settings, from one dialect to another."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from holdfast.dialects.loss import Losses
from holdfast.dialects.tools import read_tools, write_tools
from holdfast.transcript import Payload

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
                what = f"the setting {path[-1]!r} has no equal in {to}"
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
    """Return a setting as the other dialect writes it; None where it cannot."""
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
