"""The user's own words in a message that an agent filled with its templates.

A command or skill that a user calls is expanded before the model sees it: the text of the skill,
marks around the command, what a local command printed. None of that should be remembered as
something that the user said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

GONE = (
    "command-name", "command-message", "local-command-caveat", "local-command-stdout",
    "local-command-stderr", "bash-stdout", "bash-stderr", "system-reminder", "task-notification",
    "ide_opened_file", "ide_selection", "environment_context", "subagent_notification",
    "turn_aborted", "user_instructions", "INSTRUCTIONS", "permissions instructions",
)  # fmt: skip
"""Marks of Claude Code and Codex that go with what is between them."""
KEPT = ("command-args", "bash-input")
"""Marks between which the user's words stand."""

_MARK = re.compile(  # a set of characters first: that alone is looked for quickly
    rf"[<`~](?:(?<=<)(?P<name>{'|'.join(map(re.escape, (*GONE, *KEPT)))})>|(?<=`)``+|(?<=~)~~+)"
)
_MOST_INDENT = 40
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
    )
)
"""Whole messages; the group `words` is the user's."""


def users_words(text: str, more: Sequence[re.Pattern[str]] = ()) -> str:
    """Return what the user wrote in a message; empty where all of it is an agent's.

    A message without any template comes back as it is, letter for letter, also one that only
    speaks of the marks: within a line or in fenced code. `more` are patterns of the host's own,
    looked for first: what one matches goes, its group `words`, where it has one, stays.
    """
    found = text
    for pattern in more:
        found = pattern.sub(_words, found)
    for pattern in _WHOLE:
        if whole := pattern.match(found):
            found = _words(whole) + found[whole.end() :]
    found = _without_marks(found)
    return found if found == text else found.strip()


def _words(found: re.Match[str]) -> str:
    return found.groupdict().get("words") or ""


def _without_marks(text: str) -> str:
    """Return a text without marked stretches; a mark that is never closed stays. Linear."""
    kept: list[str] = []
    at = past = 0
    unclosed: set[str] = set()
    for found in _MARK.finditer(text):
        name, opens = found["name"], found.group()
        if found.start() < past or opens in unclosed:
            continue
        if not (0 < at == found.start() or _begins_line(text, found.start())):
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


def _begins_line(text: str, at: int) -> bool:
    """Return whether only blanks stand before a place: elsewhere a mark is only spoken of."""
    before = text[max(at - _MOST_INDENT, 0) : at]
    _, newline, line = before.rpartition("\n")
    return not line.strip() and (bool(newline) or at <= _MOST_INDENT)
