"""The line that a digest is: how texts, paths and counts are shown in it, and failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from foldaway.facts.tables import WORDS
from foldaway.facts.tools import ARGUMENTS
from foldaway.regex import Regex

LIMIT_CHARS = 300
"""No digest is longer. It is what stays of a result, so it has to be worth its place."""

_UNSAFE = Regex("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_ANSI = Regex(r"\x1b\[[0-9;:?]{0,64}[ -/]{0,4}[@-~]?")
_LOOK_AHEAD = 4
"""Blanks are folded before a text is cut; so many times the room is looked at, not the whole."""
_PATHS = ARGUMENTS["shown_paths"]
_MOST_PATHS = 50
"""Of a list in arguments; chosen, a digest names fewer."""
_WORD_CHARS = 10_000
"""Of one word of a command given as a list; chosen, it bounds the time."""


def one_line(text: str, most: int = LIMIT_CHARS) -> str:
    """Return `text` on one line of at most `most` characters.

    Nothing in it can break the line, colour it, turn its direction or fail to be encoded.
    """
    flat = text if text.isprintable() else _flat(text)
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def clip(text: str, most: int = 120) -> str:
    """Return the start of `text` on one line, blanks folded, in at most `most` characters."""
    if len(text) <= most and text.isprintable() and "  " not in text:
        return text
    piece = text[: most * _LOOK_AHEAD]
    flat = _flat(piece)
    if len(flat) <= most and len(piece) == len(text):
        return flat
    return f"{flat[: most - 1]}…"


def _flat(text: str) -> str:
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    folded = " ".join(text.split())
    return folded if folded.isprintable() else _UNSAFE.sub("\ufffd", folded)


def words_of(value: Any, most: int = 80) -> str:
    """Return a scalar as one would write it, cut; "" for anything that has parts."""
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[: most - 1]}…"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)[:most] if isinstance(value, (int, float)) else ""


def first_of(arguments: Mapping[str, Any], *names: str) -> str:
    """Return the first argument among `names` that is a non-empty string, otherwise "".

    A list of words counts as the line that they make.
    """
    for name in names:
        found = arguments.get(name)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list) and found:
            return " ".join(words_of(word, _WORD_CHARS) for word in cast("list[Any]", found))
    return ""


def paths_of(arguments: Mapping[str, Any]) -> list[str]:
    """Return the paths that the arguments name, under whatever key; few of very many."""
    for name in _PATHS:
        found = arguments.get(name)
        if isinstance(found, str) and found:
            return [found]
        if isinstance(found, list):
            named = [_path_in(entry) for entry in cast("list[Any]", found)[:_MOST_PATHS]]
            paths = [path for path in named if path]
            if paths:
                return paths
    return []


def _path_in(entry: Any) -> str:
    if isinstance(entry, dict):
        return first_of(cast("dict[str, Any]", entry), *_PATHS[:5])
    return entry if isinstance(entry, str) else ""


def path_of(arguments: Mapping[str, Any]) -> str:
    """Return the path that the arguments name, cut; "" where they name none."""
    paths = paths_of(arguments)
    if len(paths) > 1:
        shown = ", ".join(shorten(path, 60) for path in paths[:3])
        return f"{len(paths)} files ({shown}{', …' if len(paths) > 3 else ''})"
    return shorten(paths[0]) if paths else ""


def shorten(path: str, most: int = 120) -> str:
    """Return a path that is too long from its end: the name says more than the root."""
    return path if len(path) <= most else f"…{path[-(most - 1) :]}"


def whole_number(arguments: Mapping[str, Any], *names: str) -> int | None:
    """Return the first argument among `names` that is a whole number, also one in quotes."""
    for name in names:
        found = arguments.get(name)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
        if isinstance(found, str) and found.isdecimal() and len(found) < 10:
            return int(found)
    return None


def size_of(output: str) -> str:
    """Return how much there was."""
    lines = output.count("\n") + (not output.endswith("\n"))
    return f"{len(output):,} characters" if lines <= 1 else f"{lines:,} lines"


def plural(count: int, one: str, many: str = "") -> str:
    """Return e.g. "1 file", "3 files"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def first_line(text: str, most: int = 100) -> str:
    """Return the first line that has a letter or digit in it, cut; only the start is looked at."""
    for line in text[:2_000].splitlines():
        if any(char.isalnum() for char in line[:200]):
            return clip(line.strip(), most)
    return ""


def last_line(text: str, most: int = 100) -> str:
    """Return the last line that has a letter or digit in it, cut; only the end is looked at."""
    for line in reversed(text[-2_000:].splitlines()):
        if any(char.isalnum() for char in line[:200]):
            return clip(line.strip(), most)
    return ""


_FAILED, _REJECTED = tuple(WORDS["failed"]), tuple(WORDS["rejected"])
_RAISED = Regex(r"[\w.]{1,60}(?:Error|Exception): \S")
_HEAD_CHARS = 80
"""Of a result: a tool says in its first words that it failed; chosen."""
_LOOKED_AT_CHARS = 2_000
"""Of a result, where the words of a failure or of the user are; chosen."""
_TAGS = Regex(r"</?[a-z_]{1,30}>")
_SAID = "the user said:"


def failure_in(output: str, most: int = 140) -> str:
    """Return how a tool worded its failure at the start of its output, "" where it did not fail.

    Content that only mentions failures further down, such as a file, is none.
    """
    head = output[:_HEAD_CHARS].lstrip()
    start = head.lower()
    if start.startswith(_FAILED) or (": " in head and _RAISED.match(head)):
        return first_line(strip_tags(output), most).rstrip(":")
    if not start.startswith(_REJECTED):
        return ""
    said = refusal_in(output, most)
    return f"rejected by the user: {said}" if said else "rejected by the user"


def refusal_in(output: str, most: int) -> str:
    """Return what the user said when they rejected a call, "" if they said nothing."""
    at = output.find(_SAID, 0, _LOOKED_AT_CHARS)
    return clip(output[at + len(_SAID) :].strip(), most) if at >= 0 else ""


def strip_tags(output: str) -> str:
    """Return the start of an output without the tags that some agents put around it."""
    return _TAGS.sub(" ", output[:_LOOKED_AT_CHARS]).strip()
