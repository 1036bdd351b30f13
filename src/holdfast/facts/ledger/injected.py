"""What agents put between the user's words and into results, and what is left without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec
from msgspec import Struct

from holdfast.facts.ledger.lines import MOST_READ_CHARS
from holdfast.facts.tables import WORDS

_WHOLE = tuple(WORDS["injected"])
_BLOCKS = (
    ("<system-reminder>", "</system-reminder>"),
    ("<environment_context>", "</environment_context>"),
    ("<local-command-caveat>", "</local-command-caveat>"),
)
_NAME = ("<command-name>", "</command-name>")
_ARGUMENTS = ("<command-args>", "</command-args>")
_DIRECTORY = ("<cwd>", "</cwd>")
_SKILL = "Base directory for this skill:"
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

    Of a slash command it is what stands behind it, or its name where nothing does: both together
    stand nowhere in the message. Of words around a block it is the longest stretch.
    """
    words = max(_stretches(text), key=len).strip()
    if _NAME[0] in words[:400]:
        return _between(words, *_ARGUMENTS).strip() or _between(words, *_NAME).strip()
    return "" if words.startswith(_WHOLE) else words


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


def skill_told(text: str) -> str:
    """Return the line that tells where a skill lies whose text follows, "" where none does."""
    return text.partition("\n")[0].strip() if text.startswith(_SKILL) else ""


def report_told(text: str) -> AgentReport | None:
    """Return what a background agent, task or shell reported; None where none did."""
    if text[:1] != "<":
        return None
    for start, stop, teller in _REPORTS:
        if text.startswith(start):
            inner = text[len(start) : len(start) + MOST_READ_CHARS].partition(stop)[0].strip()
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
    """Return the working directory that an agent tells its model, "" where it tells none."""
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
