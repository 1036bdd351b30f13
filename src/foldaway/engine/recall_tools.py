"""Originals by reference, and search over what was folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from foldaway._core import Reference, TokenCounter, read_table
from foldaway.dialects import dialect_named, dump_text
from foldaway.errors import FoldawayError, UnknownReference
from foldaway.transcript import Message, Text, ToolCall, ToolResult

_SNIPPET_CHARS = 160
"""Of a place that a search found; chosen, two lines."""
_MOST_PLACES = 10
"""Of an answer to a search; chosen."""
ANSWER_SHARE = 10
"""A tenth of the window is the most that one answer takes; chosen, so that originals do not fill it
again."""
MOST_ANSWER_TOKENS = 8_000
"""The most that one answer takes in a large window; chosen, a model reads on by the page."""
_CHARS_PER_TOKEN = 4
"""Where a page is cut first, before its tokens are counted; the usual figure for English."""

*_TOOLS, COMPACT = read_table("tools", dict[str, list[dict[str, Any]]], "foldaway.engine")["tools"]
TOOLS: tuple[dict[str, Any], ...] = tuple(_TOOLS)
"""Of every engine; `COMPACT` is for sessions, which compact before they send."""


_ENDPOINTS = {"chat": "openai-chat", "responses": "openai-responses", "messages": "anthropic"}
"""What the wire formats are called by the addresses that requests go to."""


def tools_in(dialect: str, tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return tools as the requests of a wire format declare them; raises `UnknownName`."""
    match dialect_named(_ENDPOINTS.get(dialect, dialect)).name:
        case "openai-chat":
            return [{"type": "function", "function": dict(tool)} for tool in tools]
        case "openai-responses":
            return [{"type": "function", **tool} for tool in tools]
        case "anthropic":
            return [
                {
                    "name": tool["name"],
                    "description": tool["description"],
                    "input_schema": tool["parameters"],
                }
                for tool in tools
            ]
        case "gemini":
            return [{"functionDeclarations": [dict(tool) for tool in tools]}]
        case _:
            return [dict(tool) for tool in tools]


def recall(reference: str, references: Sequence[Reference], log: Sequence[Message]) -> list[Any]:
    """Return the payloads that `reference` stands for, or raise `UnknownReference`."""
    for row in references:
        if row.ref == reference:
            return [message.wire for message in log[row.start : row.stop]]
    raise UnknownReference(reference, len(references))


def look_for(text: str, log: Sequence[Message], most: int) -> list[tuple[int, str]]:
    """Return places with a snippet each: the newest that hold `text` as it stands, then the best.

    Letter case is no matter. The best are those that have its words, ranked as in a store; so a
    question is answered too.
    """
    # needed only when the model searches
    from foldaway.search import ScannedText, extract_searchable, parse_query, scan, snippet

    exact = find(text, log, most)
    if len(exact) >= most or not text.strip():
        return exact
    held = [
        ScannedText(message.position, message.role, extract_searchable(message).text)
        for message in log
    ]
    terms = parse_query(text).terms
    known = {position for position, _ in exact}
    ranked = [
        (match.position, snippet(match.text, terms, _SNIPPET_CHARS, keeps_lines=True).text)
        for match in scan(held, text, most)
        if match.position not in known
    ]
    return [*exact, *ranked][:most]


def find(text: str, log: Sequence[Message], most: int) -> list[tuple[int, str]]:
    """Return the newest places that hold `text`, letter case aside, with a snippet each."""
    wanted = text.casefold()
    found: list[tuple[int, str]] = []
    if not wanted:
        return found
    for message in reversed(log):
        for piece in _pieces(message):
            at = piece.casefold().find(wanted)
            if at >= 0:
                start = max(at - _SNIPPET_CHARS // 2, 0)
                found.append((message.position, piece[start : start + _SNIPPET_CHARS]))
                break
        if len(found) >= most:
            break
    return found


def answer_tool(
    name: str,
    arguments: Mapping[str, Any],
    recalled: Callable[[str], list[Any]],
    dropped: Sequence[Message],
    page: AnswerPage,
    search: Callable[[str], Sequence[str]] | None = None,
) -> str:
    """Return the answer to one of the tools; what cannot be found is said in a sentence.

    `search` finds lines elsewhere, if what was dropped has nothing.
    """
    if name == "foldaway_recall":
        ref = str(arguments.get("ref") or "")
        if not ref:
            return "no ref was given; call it again with ref, such as fa-0123456789"
        try:
            return page.of(dump_text(recalled(ref)), ref, arguments)
        except FoldawayError as error:
            return str(error)
    if name == "foldaway_search":
        text = str(arguments.get("text") or "")
        if not text.strip():
            return "no text was given; call it again with text, the words to look for"
        rows = look_for(text, dropped, _MOST_PLACES)
        lines = [f"message {position}: {snippet}" for position, snippet in rows]
        if not lines and search is not None:
            lines += search(text)
        return "\n".join(lines) or "nothing that was folded or shortened has that text or its words"
    return f"no tool {name!r}; call one of the tools of this request"


class AnswerPage(Struct, frozen=True):
    """How much one answer may hold."""

    tokens: int
    counter: TokenCounter

    def of(self, text: str, ref: str, arguments: Mapping[str, Any]) -> str:
        """Return the part of a text that a model asked for, and how to go on."""
        start = min(max(_number(arguments, "offset"), 0), len(text))
        chars = max(_number(arguments, "limit"), 0) or len(text)
        found = text[start : start + min(chars, self.tokens * _CHARS_PER_TOKEN)]
        while len(found) > 1 and self.counter.count(found) > self.tokens:
            found = found[: len(found) * 3 // 4]
        stop = start + len(found)
        if start == 0 and stop == len(text):
            return text
        more = f"; recall {ref} with offset={stop} for more" if stop < len(text) else ""
        return f"{found}\n[characters {start:,} to {stop:,} of {len(text):,}{more}]"


def _number(arguments: Mapping[str, Any], name: str) -> int:
    """Return a number that a model gave, 0 if it is none."""
    try:
        return int(arguments.get(name) or 0)
    except (TypeError, ValueError):
        return 0


def _pieces(message: Message) -> list[str]:
    found: list[str] = []
    for part in message.parts:
        match part:
            case Text(text=text):
                found.append(text)
            case ToolCall(arguments=arguments):
                found.append(arguments)
            case ToolResult(parts=parts):
                found.extend(inner.text for inner in parts if isinstance(inner, Text))
            case _:
                pass
    return found
