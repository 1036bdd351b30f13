"""Messages without their secrets, before anything is taken from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from foldaway._core import Redact
from foldaway.transcript import Message, Part, Text, ToolCall, ToolResult


def cleaned(message: Message, redact: Redact, *, calls: bool = True) -> Message:
    """Return the message with the secrets in its words hidden; the same object if there are
    none. Only for reading: what the model sees is not changed by it. Without `calls` those are
    left as they are, for a reader who does not look at them.
    """
    parts = tuple(
        part if not calls and type(part) is ToolCall else _part(part, redact)
        for part in message.parts
    )
    if all(new is old for new, old in zip(parts, message.parts, strict=True)):
        return message
    return replace(message, parts=parts)


def words_looked_at(
    message: Message, calls: Mapping[str, ToolCall], *, outputs: bool = True
) -> list[str]:
    """Return all that `cleaned` looks at of a message, but not its calls, and the names and
    arguments of the calls that it answers; without `outputs` not what those gave.
    """
    found: list[str] = []
    for part in message.parts:
        if type(part) is ToolResult and part.call_id in calls:
            call = calls[part.call_id]
            found += (call.name, call.arguments)
        if type(part) is not ToolCall and (outputs or type(part) is not ToolResult):
            found.extend(_words(part))
    return found


def _words(part: Part) -> Iterator[str]:
    match part:
        case Text(text=text):
            yield text
        case ToolCall(arguments=arguments):
            yield arguments
        case ToolResult(parts=inner):
            for one in inner:
                yield from _words(one)
        case _:
            pass


def cleaned_call(call: ToolCall, redact: Redact) -> ToolCall:
    """Return the call with the secrets in its name and its arguments hidden."""
    name, arguments = redact(call.name), redact(call.arguments)
    if name == call.name and arguments == call.arguments:
        return call
    return replace(call, name=name, arguments=arguments)


def cleaned_result(result: ToolResult, redact: Redact) -> ToolResult:
    """Return the result with the secrets in its words hidden; the same object if none are."""
    made = tuple(_part(one, redact) for one in result.parts)
    same = all(new is old for new, old in zip(made, result.parts, strict=True))
    return result if same else replace(result, parts=made)


def _part(part: Part, redact: Redact) -> Part:
    match part:
        case Text(text=text):
            clean = redact(text)
            return part if clean == text else replace(part, text=clean)
        case ToolCall():
            return cleaned_call(part, redact)
        case ToolResult():
            return cleaned_result(part, redact)
        case _:
            return part
