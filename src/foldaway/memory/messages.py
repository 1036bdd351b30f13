"""Messages on their way to and from memory.

Memory is given the user's own words without secrets; a request gets what memory recalls. A command
or skill that a user calls is expanded before the model sees it: the text of the skill, marks around
the command, what a local command printed. None of that should be remembered as something that the
user said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from foldaway._core import Redact
from foldaway.dialects import dump_text, load, parse
from foldaway.errors import NotReadable
from foldaway.facts import recognize
from foldaway.transcript import is_ask

GONE = (
    "command-name",
    "command-message",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "bash-stdout",
    "bash-stderr",
    "system-reminder",
    "task-notification",
    "ide_opened_file",
    "ide_selection",
    "environment_context",
    "subagent_notification",
    "turn_aborted",
    "user_instructions",
    "INSTRUCTIONS",
    "permissions instructions",
)
"""Marks of Claude Code and Codex that go with what is between them."""
KEPT = ("command-args", "bash-input")
"""Marks around the user's own words."""

_MARK = re.compile(  # a set of characters first: that alone is looked for quickly
    rf"[<`~](?:(?<=<)(?P<name>{'|'.join(map(re.escape, (*GONE, *KEPT)))})>|(?<=`)``+|(?<=~)~~+)"
)
_MOST_INDENT = 40
"""Blanks before a mark at the beginning of a line; no template indents deeper."""
_NOTIFICATION = "task-notification"
_UNDER = re.compile(
    r"\s*(?:Read the output file to retrieve the result|Full transcript available at): [^\n]*"
)
"""A line that Claude Code writes under a notification."""
_WHOLE = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        # a skill of Claude Code
        r"\ABase directory for this skill: [^\n]*\n.*?(?:\n\n?ARGUMENTS: (?P<words>.*))?\Z",
        # its own summary of a session, and its word for a stopped answer
        r"\AThis session is being continued from a previous conversation that ran out of "
        r"context\..*",
        r"\A\[Request interrupted by user(?: for tool use)?\]\s*\Z",
        # a skill of Hermes
        r"\A\[(?:IMPORTANT|SYSTEM): The user has invoked the \"[^\"\n]*\" skill[^\]]*\]\s.*?"
        r"(?:\n\n?The user has provided the following instruction alongside the skill invocation: "
        r"(?P<words>.*?)(?:\n\n?\[Runtime note: [^\n]*\]\s*)?)?\Z",
        # what Codex makes of its command for a review, and its heading over a project's rules
        r"\AReview the code changes against the base branch '[^'\n]*'\. The merge base commit for "
        r"this comparison is [0-9a-f]+\.[^\n]*\s*\Z",
        r"\A# AGENTS\.md instructions for [^\n]*\n(?=\s*<INSTRUCTIONS>)",
        # what aider printed, as it is imported
        r"\A\[console\]\n.*",
    )
)
"""Whole messages; the group `words` is the user's."""
_TEXT_TYPES = {"openai-responses": "input_text"}
"""How a part of text is called if it is not `text`."""


def inject(messages: Sequence[object], block: str, *, dialect: str | None = None) -> list[object]:
    """Return a request's messages with a block at the end of what the user said last.

    Nothing before that message changes, nothing is mutated, and the same block gives the same
    bytes through all calls of a turn, so that the cache holds. Without a block, or if no user
    spoke, the messages are as they were. What is returned is for sending, never for keeping.
    """
    rows = list(messages)
    if not block:
        return rows
    transcript = load(rows, dialect=dialect)
    known = recognize(transcript.messages)  # a summary in the user's name is not the user's
    asks = [message.position for message in known if is_ask(message)]
    if asks:
        rows[asks[-1]] = _append_text(rows[asks[-1]], block, transcript.dialect)
    return rows


def _append_text(message: object, block: str, dialect: str) -> dict[str, object]:
    """Return a user's message with one more text at its end."""
    found = dict(cast("dict[str, object]", message))
    if dialect == "gemini":
        parts = cast("Sequence[object]", found.get("parts", ()))
        found["parts"] = [*parts, {"text": block}]
    elif dialect == "sharegpt":
        found["value"] = f"{found.get('value', '')}\n\n{block}"
    elif isinstance(content := found.get("content"), list):
        part = {"type": _TEXT_TYPES.get(dialect, "text"), "text": block}
        found["content"] = [*cast("list[object]", content), part]
    else:
        found["content"] = f"{content or ''}\n\n{block}"
    return found


def redact_value(value: object, redact: Redact) -> Any:
    """Return a JSON value without secrets; every list and object is there, with all it held.

    It is read as a whole, for names of fields tell secrets. Where a quote that is never closed
    made a secret of what stands after it, it is read piece by piece.
    """
    hidden = _redact_whole(value, redact)
    if _is_like(value, hidden):
        return hidden
    if isinstance(value, list):
        return [redact_value(one, redact) for one in cast("list[object]", value)]
    if not isinstance(value, dict):
        return redact(value) if isinstance(value, str) else value
    fields = cast("dict[str, object]", value)
    if len(fields) == 1:
        return {redact(key): redact_value(one, redact) for key, one in fields.items()}
    pieces = [redact_value({key: one}, redact) for key, one in fields.items()]
    return {key: one for piece in pieces for key, one in piece.items()}


def _redact_whole(value: object, redact: Redact) -> object:
    try:
        return parse(redact(dump_text(value)).encode())
    except NotReadable:
        return None


def _is_like(one: object, two: object) -> bool:
    """Return whether two values have their lists, objects and fields at the same places."""
    if isinstance(one, dict) and isinstance(two, dict):
        own, others = cast("dict[str, object]", one), cast("dict[str, object]", two)
        return list(own) == list(others) and _is_like(list(own.values()), list(others.values()))
    if isinstance(one, list) and isinstance(two, list):
        mine, other = cast("list[object]", one), cast("list[object]", two)
        return len(mine) == len(other) and all(map(_is_like, mine, other))
    return not isinstance(one, (dict, list)) and not isinstance(two, (dict, list))


def extract_user_words(text: str, more: Sequence[re.Pattern[str]] = ()) -> str:
    """Return what the user wrote in a message; empty if all of it is an agent's.

    A message without any template comes back as it is, letter for letter, also one that only
    speaks of the marks: within a line or in fenced code. `more` are patterns of the host's own,
    looked for first: what one matches goes, its group `words`, if it has one, stays.
    """
    found = text
    for pattern in more:
        found = pattern.sub(_words, found)
    for pattern in _WHOLE:
        if whole := pattern.match(found):
            found = _words(whole) + found[whole.end() :]
    found = _remove_marks(found)
    return found if found == text else found.strip()


def _words(found: re.Match[str]) -> str:
    return found.groupdict().get("words") or ""


def _remove_marks(text: str) -> str:
    """Return a text without marked stretches; a mark that is never closed stays. Linear."""
    kept: list[str] = []
    at = past = 0
    unclosed: set[str] = set()
    for found in _MARK.finditer(text):
        name, opens = found["name"], found.group()
        if found.start() < past or opens in unclosed:
            continue
        if not (0 < at == found.start() or _is_line_start(text, found.start())):
            continue
        closes = f"</{name}>" if name else f"\n{opens}"
        stop = text.find(closes, found.end())
        if stop < 0:
            unclosed.add(opens)
            continue
        past = stop + len(closes)
        if not name:  # in fenced code marks are shown, not meant
            continue
        kept.append(text[at : found.start()])
        if name in KEPT:
            kept.append(text[found.end() : stop])
        elif name == _NOTIFICATION and (more := _UNDER.match(text, past)):
            past = more.end()
        at = past
    kept.append(text[at:])
    return "".join(kept)


def _is_line_start(text: str, at: int) -> bool:
    """Return whether only blanks stand before a place: elsewhere a mark is only spoken of."""
    before = text[max(at - _MOST_INDENT, 0) : at]
    _, newline, line = before.rpartition("\n")
    return not line.strip() and (bool(newline) or at <= _MOST_INDENT)
