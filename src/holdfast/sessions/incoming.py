"""Messages as hosts hand them over: payloads, JSON, and the objects of providers' clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from holdfast.dialects.jsontext import parse
from holdfast.dialects.load import plain
from holdfast.dialects.registry import detect, dialect_named
from holdfast.dialects.shape import kind_of
from holdfast.errors import NotReadable
from holdfast.transcript import Payload

_SHOWN_CHARS = 60
"""Of a value that is refused, in the sentence that says so; chosen."""


def messages_of(given: Any) -> list[Any]:
    """Return the messages in one value; raise `NotReadable` for what is none.

    A whole response of a provider holds the messages that it answered with.
    """
    value = _value(given)
    if not isinstance(value, dict):
        raise _no_message(given)
    body = cast("dict[str, Any]", value)
    for answered in _RESPONSES:
        found = answered(body)
        if found is not None:
            return found
    return [plain(body)]


def _value(given: Any) -> Any:
    if isinstance(given, bytes):
        return parse(given)
    if isinstance(given, Mapping):
        mapping = cast("Mapping[str, Any]", given)
        return mapping if isinstance(mapping, dict) else dict(mapping)
    dumped = getattr(given, "model_dump", None)
    if callable(dumped):
        return cast("Callable[..., Any]", dumped)(mode="json", exclude_unset=True)
    return given


def _of_chat(body: dict[str, Any]) -> list[Any] | None:
    return None if "role" in body else _first_of(body.get("choices"), "message")


def _first_of(listed: Any, field: str) -> list[Any] | None:
    """Return what the first of a provider's answers holds, None if there is none."""
    answers = cast("list[Any]", listed) if isinstance(listed, list) else []
    if not answers or not isinstance(answers[0], dict):
        return None
    found = cast("dict[str, Any]", answers[0]).get(field)
    return [found] if isinstance(found, dict) else None


def _of_responses(body: dict[str, Any]) -> list[Any] | None:
    output = body.get("output")
    is_response = body.get("object") == "response" and isinstance(output, list)
    return list(cast("list[Any]", output)) if is_response else None


def _of_anthropic(body: dict[str, Any]) -> list[Any] | None:
    if body.get("type") != "message" or "usage" not in body or "role" not in body:
        return None
    return [{"role": body["role"], "content": body.get("content")}]


def _of_gemini(body: dict[str, Any]) -> list[Any] | None:
    return _first_of(body.get("candidates"), "content")


_RESPONSES = (_of_chat, _of_responses, _of_anthropic, _of_gemini)


def refuse_others(payloads: Sequence[Any], dialect: str) -> None:
    """Raise `NotReadable` for a payload that no message of a wire format can be."""
    decode = dialect_named(dialect).decode
    for payload in payloads:
        (message,) = decode([payload], 0)
        if message.role == "unknown" and not {"role", "type"} & set(payload):
            raise _no_message(payload)


def shown_dialect(messages: Sequence[Any], frame: Payload | None = None) -> str:
    """Return the wire format that messages show by marks of their own, "" if they could be any."""
    found = detect(messages, frame)
    return found.name if found.likeness(messages, frame or {}) > 1 else ""


def _no_message(value: Any) -> NotReadable:
    shown = repr(value)
    if len(shown) > _SHOWN_CHARS:
        shown = f"{shown[:_SHOWN_CHARS]}…"
    return NotReadable(
        f"is {kind_of(value)} and no message: {shown}",
        remedy="give messages as mappings with a role, as JSON, or as your client returns them",
    )
