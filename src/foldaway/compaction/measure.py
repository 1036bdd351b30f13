"""The tokens of messages and tool definitions, by one counter, each message once."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import cast

import msgspec

from foldaway._core import Category, MediaCounter, TokenCounter
from foldaway.facts import carried_summary, without_summary
from foldaway.transcript import (
    IMAGE_TOKENS,
    MESSAGE_OVERHEAD_TOKENS,
    TABLES,
    TOOL_CALL_OVERHEAD_TOKENS,
    Estimator,
    Folded,
    Kept,
    Media,
    Message,
    Opaque,
    Part,
    Payload,
    Rewritten,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    View,
    texts,
)

_FEW = 400
"""A stretch of so few messages is measured one by one: the sample would be too small."""
_BULK_CHARS = 1_000_000
"""How much text is measured at once; bounds the memory that joining takes."""
_SEALED_CHARS_PER_TOKEN = 5.4
"""Base64 of encrypted reasoning: 4 characters hold 3 bytes, and a token is about 4 bytes."""


_ESTIMATE = zlib.crc32(
    repr(
        (
            TABLES,
            IMAGE_TOKENS,
            MESSAGE_OVERHEAD_TOKENS,
            TOOL_CALL_OVERHEAD_TOKENS,
            _SEALED_CHARS_PER_TOKEN,
        )
    ).encode()
)
"""Changes with every number that an estimate is made of."""


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
    stashed = cast("Payload", message.wire).get(_STASHED) if isinstance(message.wire, dict) else ()
    if stashed:
        total += _count_images(stashed) * _part_tokens(Media("image"), counter)
    return total


_STASHED = "_anthropic_content_blocks"
"""Where Hermes keeps the blocks of a message that it sends to Anthropic, images among them."""


def _count_images(blocks: object) -> int:
    """Return how many images there are among blocks, those in results included."""
    if not isinstance(blocks, list):
        return 0
    found = 0
    for block in cast("list[object]", blocks):
        if isinstance(block, dict):
            fields = cast("Payload", block)
            is_image = fields.get("type") in ("image", "image_url", "input_image")
            found += 1 if is_image else _count_images(fields.get("content"))
    return found


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
            return counter.count_media(part) if isinstance(counter, MediaCounter) else IMAGE_TOKENS
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
                bulk.setdefault(name, []).append(message)
            else:
                totals[name] = totals.get(name, 0) + self[index]
        for name, messages in bulk.items():
            totals[name] = totals.get(name, 0) + _bulk_tokens(messages, self._counter)


def _bulk_tokens(messages: Sequence[Message], counter: TokenCounter) -> int:
    """Return the tokens of messages measured together: their texts as one, the rest flat."""
    total = MESSAGE_OVERHEAD_TOKENS * len(messages)
    found: list[str] = []
    chars = 0
    for message in messages:
        known = len(found)
        for part in message.parts:
            if type(part) is Text:
                found.append(part.text)
            else:
                total += _take_texts(part, found, counter)
        for text in found[known:]:
            chars += len(text)
        if chars > _BULK_CHARS:
            total += counter.count("\n".join(found))
            found, chars = [], 0
    return total + counter.count("\n".join(found))


def _take_texts(part: Part, found: list[str], counter: TokenCounter) -> int:
    """Add the texts of a part; return the tokens of what is not text."""
    if type(part) is Text:
        found.append(part.text)
        return 0
    if type(part) is ToolCall:
        found += (part.name, part.arguments)
        return TOOL_CALL_OVERHEAD_TOKENS
    if type(part) is ToolResult:
        total = 0
        for inner in part.parts:
            total += _take_texts(inner, found, counter)
        return total
    return _part_tokens(part, counter)


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


_SYSTEM = "system prompt"
_SECTIONS = {"rules": "rules files", "skills": "skills", "memory": "memory", "agents": "subagents"}
_SECTION = re.compile(
    r"^(?:(?P<rules>.{0,80}(?:CLAUDE|AGENTS|GEMINI|\.cursorrules|RULES)\.?(?:md)?\b.{0,80}:?$)"
    r"|(?P<skills>(?:<available_skills>|<skills>|\#{1,3} (?:Available )?[Ss]kills\b))"
    r"|(?P<memory>(?:<memory|\#{1,3} (?:Persistent |User )?[Mm]emory\b|.{0,40}MEMORY\.md\b))"
    r"|(?P<agents>(?:<available_agents>|\#{1,3} (?:Available )?(?:[Ss]ub)?[Aa]gents\b)))",
    re.MULTILINE,
)
"""Marks of the sections that agents put into their system prompts."""


def by_category(
    view: View,
    log: Sequence[Message],
    costs: Costs,
    rewritten: Mapping[int, int],
    counter: TokenCounter,
) -> dict[str, int]:
    """Return the tokens of what a view shows, by category.

    `rewritten` are the tokens of rewritten messages by position, as far as they are known.
    """
    totals: dict[str, int] = {}
    for item in view.items:
        match item:
            case Kept(start=start, stop=stop):
                costs.add_to(totals, start, stop, category)
            case Rewritten(start=start, message=message):
                tokens = rewritten.get(start)
                tokens = message_tokens(message, counter) if tokens is None else tokens
                _add(totals, message, tokens, carried_tokens(message, counter))
            case Folded(messages=messages):
                for message in messages:
                    _add(totals, message, message_tokens(message, counter))
    return totals


def carried_tokens(message: Message, counter: TokenCounter) -> int:
    """Return the tokens of the summary that was merged into a message, 0 if there is none."""
    if message.origin == "summary" or carried_summary(message) is None:
        return 0
    own = message_tokens(without_summary(message), counter)
    return max(message_tokens(message, counter) - own, 0)


def compared(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[Category, ...]:
    """Return both sides of every category."""
    return tuple(
        Category(name, before.get(name, 0), after.get(name, 0)) for name in {**before, **after}
    )


def fixed_categories(transcript: Transcript, counter: TokenCounter) -> tuple[Category, ...]:
    """Return the tokens of what is not part of the messages, by category."""
    found: dict[str, int] = {}
    if transcript.system is not None:
        total = message_tokens(transcript.system, counter)
        found.update(system_shares("\n".join(texts(transcript.system)), total))
    for tool in transcript.tools:
        kind = _tool_kind(tool)
        found[kind] = found.get(kind, 0) + tools_tokens([tool], counter)
    return tuple(Category(name, tokens, tokens) for name, tokens in found.items() if tokens)


def with_sections(
    categories: Iterable[Category], log: Sequence[Message], counter: TokenCounter
) -> tuple[Category, ...]:
    """Return the categories, each once, with the sections of system prompts apart that are the
    first messages of the list; those are never folded.
    """
    before: dict[str, int] = {}
    after: dict[str, int] = {}
    for one in categories:
        before[one.name] = before.get(one.name, 0) + one.tokens_before
        after[one.name] = after.get(one.name, 0) + one.tokens_after
    for message in takewhile(lambda message: category(message) == _SYSTEM, log):
        shares = system_shares("\n".join(texts(message)), message_tokens(message, counter))
        for name, tokens in shares.items():
            for found in (before, after):
                found[_SYSTEM] -= tokens
                found[name] = found.get(name, 0) + tokens
    return compared(before, after)


def system_shares(text: str, tokens: int) -> dict[str, int]:
    """Return the tokens of a system prompt by what it holds: rules files, skills, memory, the rest.

    A section begins at a mark that agents put before it and ends at the next one; its tokens are
    its share of the characters.
    """
    marks = [(match.start(), _SECTIONS[str(match.lastgroup)]) for match in _SECTION.finditer(text)]
    if not marks:
        return {_SYSTEM: tokens}
    chars: dict[str, int] = {_SYSTEM: marks[0][0]}
    for (start, name), (stop, _) in zip(marks, [*marks[1:], (len(text), "")], strict=True):
        chars[name] = chars.get(name, 0) + stop - start
    shares = {name: tokens * count // max(len(text), 1) for name, count in chars.items()}
    shares[_SYSTEM] += tokens - sum(shares.values())
    return shares


def _tool_kind(tool: Payload) -> str:
    inner = tool.get("function")
    name = str((inner if isinstance(inner, dict) else tool).get("name", "")).lower()  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    if name.startswith("mcp__") or tool.get("type") == "mcp":
        return "MCP tools"
    if name in ("task", "agent", "delegate_task", "spawn_agent", "dispatch_agent"):
        return "subagents"
    if name == "skill":
        return "skills"
    return "tools"


def _add(found: dict[str, int], message: Message, tokens: int, carried: int = 0) -> None:
    for name, more in ((category(message), tokens - carried), ("summary", carried)):
        if more:
            found[name] = found.get(name, 0) + more


def category(message: Message) -> str:
    """Return the category that a message counts under."""
    if message.origin == "summary":
        return "summary"
    if message.role == "user" and ToolResult in map(type, message.parts):
        return "tool results"
    return _BY_ROLE.get(message.role, "other")


_BY_ROLE = {
    "system": _SYSTEM,
    "developer": _SYSTEM,
    "tool": "tool results",
    "assistant": "agent",
    "user": "user",
}
