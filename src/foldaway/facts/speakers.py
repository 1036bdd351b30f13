"""Who speaks in a message of the role user: a person, or the host of an agent.

Hosts put skills, notices, reminders and the output of programs there. A person's newest request is
what the agent works on; a text of the host's is not, however new it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct

from foldaway.facts.languages import WORDS
from foldaway.transcript import Message, Text, ToolResult, is_ask, texts

Speaker: TypeAlias = Literal["person", "instructions", "host"]
"""Who wrote a text of the role user. Instructions are the body of a skill or of a slash command,
which the agent is to follow; everything else of the host's is information."""
_INSTRUCTIONS = tuple(WORDS["instructions"])
_HOST = (*WORDS["host_texts"], *_INSTRUCTIONS)
_SUMMARIES = tuple(WORDS["summary_texts"])
_NOT_OWN = (*_HOST, *_SUMMARIES)
_REPORT_CHARS = 24_000
"""Of a report no more is read, as of any other text (`MOST_READ_CHARS`)."""
_LAUNCHED = "Launching skill:"
"""The result of a call after which Claude Code gives the text of a skill."""
_CLOSERS = " *_)\"'”`\n"
_COMMAND = ("<command-name>", "<command-message>")
_SHORT_CHARS = 60
"""A person who writes no more than this answers or approves, and begins nothing new; chosen."""
_BLOCKS = (
    ("<system-reminder>", "</system-reminder>"),
    ("<environment_context>", "</environment_context>"),
    ("<local-command-caveat>", "</local-command-caveat>"),
    ("<environment_details>", "</environment_details>"),
    ("<current_datetime>", "</current_datetime>"),
)
_NAME = ("<command-name>", "</command-name>")
_ARGUMENTS = ("<command-args>", "</command-args>")
_DIRECTORY = ("<cwd>", "</cwd>")
_REPORTS = (
    ("<subagent_notification>", "</subagent_notification>", "subagent"),
    ("<task-notification>", "</task-notification>", "task"),
    ("<bash-stdout>", "</bash-stdout>", "user's shell"),
    ("<bash-stderr>", "</bash-stderr>", "user's shell"),
    ("<user_shell_command>", "</user_shell_command>", "user's shell"),
)


class AgentReport(Struct, frozen=True):
    """What somebody else than the user reported in a message of the user's, and who."""

    teller: str
    text: str


def own_words(text: str) -> str:
    """Return what the user wrote of a text, verbatim: "" where an agent wrote all of it.

    Of a slash command it is what follows it, or its name if nothing does: both together
    are nowhere in the message. Of words around a block it is the longest stretch.
    """
    words = max(_stretches(text), key=len).strip() if "<" in text else text.strip()
    if _NAME[0] in words[:400]:
        name = _between(words, *_NAME).strip()
        if name in WORDS["local_commands"]:
            return ""
        return _between(words, *_ARGUMENTS).strip() or name
    # the beginning of such a command too: it was sent before it was written out
    is_local = words[:1] == "/" and any(one.startswith(words) for one in WORDS["local_commands"])
    return "" if is_local or words.startswith(_NOT_OWN) else words


def speaker_of(message: Message, previous: Message | None) -> Speaker | None:
    """Return who speaks in a message, None if it is not of the role user or has no words."""
    if not is_ask(message):
        return None
    given = texts(message)
    if not any(map(own_words, given)):
        if any(text.startswith(_INSTRUCTIONS) for text in given):
            return "instructions"
        is_sent = any(text.startswith(_SUMMARIES) for text in given)  # by no compaction
        return "host" if any(text.strip() for text in given) and not is_sent else "person"
    return "instructions" if previous is not None and _announces(previous) else "person"


def _announces(message: Message) -> bool:
    """Return whether a host gives instructions right after a message: a slash command that is for
    the model, or a skill that is launched.
    """
    for part in message.parts:
        if type(part) is Text and part.text.lstrip().startswith(_COMMAND):
            return bool(own_words(part.text))
        if type(part) is ToolResult and any(
            type(inner) is Text and inner.text.startswith(_LAUNCHED) for inner in part.parts
        ):
            return True
    return False


def asks_back(words: Sequence[str]) -> bool:
    """Return whether what an agent wrote ends with a question."""
    last = next((text for text in reversed(words) if text.strip()), "")
    return last.rstrip(_CLOSERS).endswith(("?", "？", "؟"))


def goes_on(words: str, *, asked: bool) -> bool:
    """Return whether a person goes on with the work at hand: they answer a question of the agent,
    or say hardly anything.
    """
    return asked or len(words) <= _SHORT_CHARS


def without_blocks(text: str) -> str:
    """Return a text without the blocks that agents put into it; the same object without any."""
    if "<" not in text:
        return text
    for start, stop in _BLOCKS:
        if start in text:
            text = "".join(_kept(text, start, stop))
    return text


def _stretches(text: str) -> list[str]:
    """Return the stretches of a text between the blocks that agents put into it."""
    found = [text]
    for start, stop in _BLOCKS:
        if start in text:
            found = [piece for one in found for piece in _kept(one, start, stop)]
    return found


def report_told(text: str) -> AgentReport | None:
    """Return what a background agent, task or shell reported; None if none did."""
    if text[:1] != "<":
        return None
    for start, stop, teller in _REPORTS:
        if text.startswith(start):
            inner = text[len(start) : len(start) + _REPORT_CHARS].partition(stop)[0].strip()
            return AgentReport(teller, "\n".join(_strings(inner)))
    return None


def _strings(text: str) -> Iterator[str]:
    """Yield the texts of a report that is JSON; any other as it is."""
    if text[:1] == "{":
        try:
            yield from _leaves(msgspec.json.decode(text))
            return
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            pass
    yield text


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _leaves(inner)


def directory_told(text: str) -> str:
    """Return the working directory that an agent tells its model, "" if it tells none."""
    return _between(text, *_DIRECTORY).strip() if "<environment_context>" in text[:400] else ""


def _kept(text: str, start: str, stop: str) -> list[str]:
    kept: list[str] = []
    at = 0
    while (begin := text.find(start, at)) >= 0:
        end = text.find(stop, begin)
        if end < 0:
            break
        kept.append(text[at:begin])
        at = end + len(stop)
    kept.append(text[at:])
    return kept


def _between(text: str, start: str, stop: str) -> str:
    begin = text.find(start)
    end = text.find(stop, begin)
    return text[begin + len(start) : end] if 0 <= begin < end else ""
