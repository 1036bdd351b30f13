"""The tokens of messages and tool definitions, by one counter, each message once."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import cast

import msgspec

from holdfast.ports import TokenCounter
from holdfast.tokens.estimate import (
    IMAGE_TOKENS,
    MESSAGE_OVERHEAD_TOKENS,
    TABLES,
    TOOL_CALL_OVERHEAD_TOKENS,
    estimate_text,
)
from holdfast.transcript import (
    Media,
    Message,
    Opaque,
    Part,
    Payload,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

_FEW = 400
"""A stretch of so few messages is measured one by one: the sample would be too small."""
_BULK_CHARS = 1_000_000
"""How much text is measured at once; bounds the memory that joining takes."""
_SEALED_CHARS_PER_TOKEN = 5.4
"""Base64 of encrypted reasoning: 4 characters hold 3 bytes, and a token is about 4 bytes."""


_ESTIMATE = zlib.crc32(repr((
    TABLES, IMAGE_TOKENS, MESSAGE_OVERHEAD_TOKENS, TOOL_CALL_OVERHEAD_TOKENS,
    _SEALED_CHARS_PER_TOKEN,
)).encode())  # fmt: skip
"""Changes with every number that an estimate is made of."""


class Estimator:
    """The default counter: our own estimate, no vocabulary needed."""

    name = "estimate"
    is_estimate = True

    def count(self, text: str) -> int:
        """Return the estimated tokens of `text`."""
        return estimate_text(text)


def counted_by(counter: TokenCounter) -> str:
    """Return under what name the tokens of messages are kept: another one if they would differ."""
    if type(counter) is not Estimator:
        return counter.name
    return f"{counter.name} {_ESTIMATE}"


def message_tokens(message: Message, counter: TokenCounter) -> int:
    """Return the tokens of one message with its envelope. Media count flat, never by their data."""
    total = MESSAGE_OVERHEAD_TOKENS
    count = counter.count
    for part in message.parts:
        total += count(part.text) if isinstance(part, Text) else _part_tokens(part, counter)
    return total


def _part_tokens(part: Part, counter: TokenCounter) -> int:
    match part:
        case Text(text=text):
            return counter.count(text)
        case ToolCall(name=name, arguments=arguments):
            return TOOL_CALL_OVERHEAD_TOKENS + counter.count(f"{name} {arguments}")
        case ToolResult(parts=parts):
            return sum(_part_tokens(inner, counter) for inner in parts)
        case Thinking(text=text, signature=signature, redacted=redacted):
            sealed = len(signature) if redacted or not text else 0
            return counter.count(text) + int(sealed / _SEALED_CHARS_PER_TOKEN)
        case Media():
            return IMAGE_TOKENS
        case Opaque(kind=kind, wire=wire):
            sealed = 0
            if kind.startswith("compaction") and isinstance(wire, dict):
                wire, sealed = _unsealed(cast("Payload", wire))
            return counter.count(_as_text(wire)) + int(sealed / _SEALED_CHARS_PER_TOKEN)


def _unsealed(wire: Payload) -> tuple[Payload, int]:
    """Return what can be read of a provider's compaction, and how much of it cannot."""
    sealed = wire.get("encrypted_content")
    rest = {name: wire[name] for name in wire if name not in ("encrypted_content", "signature")}
    return rest, len(sealed) if isinstance(sealed, str) else 0


def text_length(message: Message) -> int:
    """Return the characters of a message's words, arguments and results."""
    total = 0
    for part in message.parts:
        match part:
            case Text(text=text):
                total += len(text)
            case ToolCall(arguments=arguments):
                total += len(arguments)
            case ToolResult(parts=parts):
                total += sum(len(inner.text) for inner in parts if isinstance(inner, Text))
            case _:
                pass
    return total


class Costs:
    """The tokens of a log by position, each message measured at most once, and only if asked for.

    A long stretch that nobody asked for one by one is measured as one text, which an estimating
    counter does through a sample; an exact counter measures every message.
    """

    __slots__ = ("_counter", "_known", "_log")

    def __init__(
        self, log: Sequence[Message], counter: TokenCounter, known: Sequence[int] | None = None
    ) -> None:
        """Take the log; `known` are its tokens where they were measured on arrival."""
        self._log = log
        self._counter = counter
        self._known: dict[int, int] | Sequence[int] = {} if known is None else known

    def __getitem__(self, index: int) -> int:
        """Return the tokens of the message at `index`."""
        known = self._known
        if not isinstance(known, dict):
            return known[index]
        found = known.get(index)
        if found is None:
            found = known[index] = message_tokens(self._log[index], self._counter)
        return found

    @property
    def is_sampled(self) -> bool:
        """Whether long stretches were measured as one text."""
        return isinstance(self._known, dict) and self._counter.is_estimate

    def span(self, start: int, stop: int) -> int:
        """Return the tokens of the messages from `start` up to `stop`, each for itself."""
        if not isinstance(self._known, dict):
            return sum(self._known[start:stop])
        return sum(self[index] for index in range(start, stop))

    def add_to(
        self, totals: dict[str, int], start: int, stop: int, category: Callable[[Message], str]
    ) -> None:
        """Add the tokens of a stretch to the totals of the categories of its messages."""
        log, known = self._log, self._known
        bulk: dict[str, list[Message]] = {}
        in_bulk = isinstance(known, dict) and self._counter.is_estimate and stop - start > _FEW
        for index in range(start, stop):
            message = log[index]
            name = category(message)
            if in_bulk and index not in known:
                if name in bulk:
                    bulk[name].append(message)
                else:
                    bulk[name] = [message]
            else:
                totals[name] = totals.get(name, 0) + self[index]
        for name, messages in bulk.items():
            totals[name] = totals.get(name, 0) + _Bulk().tokens(messages, self._counter)


class _Bulk:
    """Messages that are measured together: their texts as one, the rest flat."""

    __slots__ = ("_chars", "_flat", "_texts", "_total")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._chars = 0
        self._flat = 0
        self._total = 0

    def tokens(self, messages: Sequence[Message], counter: TokenCounter) -> int:
        """Return the tokens of messages."""
        self._flat = MESSAGE_OVERHEAD_TOKENS * len(messages)
        texts = self._texts
        for message in messages:
            for part in message.parts:
                inner: Part = part
                if type(part) is ToolResult and len(part.parts) == 1:
                    inner = part.parts[0]
                if type(inner) is Text:
                    texts.append(inner.text)
                    self._chars += len(inner.text)
                elif type(inner) is ToolCall:
                    self._flat += TOOL_CALL_OVERHEAD_TOKENS
                    texts += (inner.name, inner.arguments)
                    self._chars += len(inner.name) + len(inner.arguments)
                else:
                    self._part(part, counter)
            if self._chars > _BULK_CHARS:
                self._flush(counter)
        self._flush(counter)
        return self._total + self._flat

    def _part(self, part: Part, counter: TokenCounter) -> None:
        match part:
            case Text(text=text):
                self._text(text)
            case ToolResult(parts=parts):
                for inner in parts:
                    self._part(inner, counter)
            case ToolCall(name=name, arguments=arguments):
                self._flat += TOOL_CALL_OVERHEAD_TOKENS
                self._text(name)
                self._text(arguments)
            case _:
                self._flat += _part_tokens(part, counter)

    def _text(self, text: str) -> None:
        self._texts.append(text)
        self._chars += len(text)

    def _flush(self, counter: TokenCounter) -> None:
        self._total += counter.count("\n".join(self._texts))
        self._texts.clear()
        self._chars = 0


def tools_tokens(tools: Sequence[Payload], counter: TokenCounter) -> int:
    """Return the tokens of the tool definitions."""
    return counter.count(_as_text(list(tools))) if tools else 0


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return repr(value)
