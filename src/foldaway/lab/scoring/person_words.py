"""Which words of a log are a person's, and which of the role user a host put in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from foldaway.lab.scoring.session import Message, calls_of, content_text, text_parts
from foldaway.lab.scoring.signals import to_line
from foldaway.lab.scoring.words import WORDS, pattern

_BLOCK = re.compile(
    rf"<(?P<tag>{''.join(WORDS['persons']['blocks'].split())})(?:\s[^>]{{0,200}})?>.*?(?:</(?P=tag)>|\Z)".replace(
        "permissions\\instructions", "permissions\\ instructions"
    ),
    re.DOTALL | re.IGNORECASE,
)
_OPENING = re.compile(rf"\s*(?:{WORDS['persons']['openings']})", re.IGNORECASE | re.VERBOSE)
_ENDING = re.compile(rf"(?:{WORDS['persons']['endings']})\s*\Z", re.VERBOSE)
_MARK = pattern("persons", "request_marks")
_COMMAND = re.compile(r"<command-name>\s*(/?[\w:.-]{1,80})\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_LOCAL = frozenset(WORDS["persons"]["local_commands"].split())
_RULES_FILE = re.compile(r"(?:AGENTS|CLAUDE|GEMINI|CONVENTIONS)(?:\.local)?\.md$|\.cursorrules$")
_RULES_TEXT = re.compile(r"\s*# AGENTS\.md instructions|<(?:user_instructions|INSTRUCTIONS)>")


class Said(Struct, frozen=True):
    """What a person said, and in which message of the log."""

    at: int
    text: str


def extract_person_words(messages: Sequence[Message]) -> list[Said]:
    """Return what persons said, in order; messages that a host wrote whole are left out."""
    found: list[Said] = []
    for at, message in enumerate(messages):
        if message["role"] != "user" or _is_body(messages, at):
            continue
        text = "\n".join(filter(None, map(person_words, text_parts(message))))
        if text and not (found and _ENDING.search(text)):  # the task itself may end with a prompt
            found.append(Said(at, text))
    return found


def person_words(text: str) -> str:
    """Return what a person wrote in a text of the role user, without what a host put around it.

    A command such as `/review` is what the person asked for; its arguments are their words.
    """
    if command := _COMMAND.search(text):
        name = command.group(1).lstrip("/")
        arguments = _ARGUMENTS.search(text)
        words = arguments.group(1).strip() if arguments else ""
        return "" if name in _LOCAL else words or f"/{name}"
    if (mark := _MARK.search(text)) is not None:
        text = text[mark.end() :]
    rest = _BLOCK.sub("\n", text) if "<" in text else text
    words = rest.strip()
    if not words or _OPENING.match(words):
        return ""
    return "" if all(map(_is_local, filter(None, words.split("\n")))) else words


def _is_local(line: str) -> bool:
    return line.startswith("/") and line[1:].split()[:1] != [] and line[1:].split()[0] in _LOCAL


def _is_body(messages: Sequence[Message], at: int) -> bool:
    """Return whether a message is the text of a command or skill that was called just before."""
    if at == 0:
        return False
    before = messages[at - 1]
    if before["role"] == "user":
        found = _COMMAND.search(content_text(before))
        return bool(found) and found.group(1).lstrip("/") not in _LOCAL
    if before["role"] != "tool":
        return False
    return content_text(before).startswith("Launching skill") or before.get("name") == "Skill"


def rules_text(messages: Sequence[Message]) -> str:
    """Return what rules files and system prompts say, on one line."""
    found: list[str] = []
    reads: set[Any] = set()
    for message in messages:
        text = content_text(message)
        is_rules = message["role"] == "user" and _RULES_TEXT.search(text)
        if message["role"] in ("system", "developer") or is_rules:
            found.append(text)
        for call, (_, arguments) in zip(
            message.get("tool_calls") or (), calls_of(message), strict=True
        ):
            if re.search(_RULES_FILE.pattern.replace("$", r"\b"), arguments):
                reads.add(call.get("id"))
        if message["role"] == "tool" and message.get("tool_call_id") in reads:
            found.append(text)
    return to_line("\n".join(found))
