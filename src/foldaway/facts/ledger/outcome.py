"""How a call ended, as far as its result tells, what a command is known by, and what a runner puts
around what it printed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import JSONDecoder
from typing import Any, cast
from zlib import crc32

from msgspec import Struct

from foldaway._core import Regex
from foldaway.facts.effects.programs import PROGRAMS
from foldaway.facts.languages import WORDS
from foldaway.facts.ledger.lines import cut, whole_words
from foldaway.facts.tools import FAMILIES, Family
from foldaway.reduction import Signs, error_lines, exit_status, has_diagnostics

_LOOKS = Regex(
    "(?:"
    + "|".join(
        f"{program}(?:{'|'.join(words.split())})" for program, words in PROGRAMS.looks.items()
    )
    + r")(?![\w-])"
)
_ACTS = Regex(r"-delete|-exec|(?<![0-9&=-])>(?!\s*(?:/dev/null|&))|\btee\b")
"""What makes something else of a look."""
_QUOTED = Regex(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_JOINTS = Regex(r"&&|\|\||[;|\n]")
_SIGNS = "|;&\n"
_READ_CHARS = 2_000
"""Of a longer command line no more is read."""


def is_look(command: str) -> bool:
    """Return whether a command line looks at things and does nothing else."""
    start = command.lstrip()
    if not _LOOKS.match(start):
        return False
    bare = _unquoted(start)
    if _ACTS.search(bare):
        return False
    if not any(sign in bare for sign in _SIGNS):
        return True
    return all(_LOOKS.match(part) for part in _parts(bare))


def _parts(bare: str) -> list[str]:
    return [part for piece in _JOINTS.split(bare) if (part := piece.strip(" \t\r&(){}!"))]


def _unquoted(command: str) -> str:
    text = command[:_READ_CHARS]
    return _QUOTED.sub("''", text) if "'" in text or '"' in text else text


_MOST_ERRORS = 12
"""Lines that are kept of one failure."""
_ERROR_CHARS = 400
"""The most of one of them."""
_LOG_LINE = Regex(r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d")
"""A line with a time is what a program logged; it does not say that the program failed."""
_HEAD_CHARS = 400
"""Of the first line, where a refusal stands."""
_FRAME_CHARS = 1_000
"""Within so much the lines that a runner puts before the output end."""
_WHOLE_CHARS = 300
"""A refusal without an error line is identified by its start."""
_FAILURES = Signs(
    (
        "rror",
        "FAIL",
        "ailed",
        "xception",
        "atal",
        "anic",
        "not found",
        "enied",
        "o such",
        "Traceback",
        "ERR",
        "not ok ",
        "imed out",
        "borted",
        "ailure",
        "FATAL",
        "\nE  ",
        "✗",
        "✖",
        "✘",
        "✕",
        "❌",
        "\n×",
        "\n ×",
    )
)
_REJECTIONS = WORDS["rejections"]
_UNDONE = WORDS["undone"]
_REFUSALS = tuple(_UNDONE | WORDS["refusals"])
_COMPLAINTS = tuple(WORDS["complaints"])
_MISSES = ("no such file or directory", "[errno ")
_RUNNING = Regex(
    r"[Rr]unning (?:with session|in (?:the )?background(?: with)?) ID:? ?(\w[\w-]{0,63})"
)
_FRAMES = ("Chunk ID:", "Wall time:")
_OUTPUT = "\nOutput:\n"


class CallOutcome(Struct, frozen=True):
    """What a result tells of its call."""

    code: int | None
    failed: bool
    rejected: str
    """The first line where the user did not let it go ahead, otherwise ""."""
    looked: bool
    """It looked at something and can have done nothing else."""
    running: str
    """The id under which it goes on in the background, "" if it does not."""
    errors: tuple[str, ...]
    """The lines that tell what went wrong."""
    undone: bool = False
    """An editor says that it left the file as it was."""
    is_flagged: bool = False
    """The host says by its flag that the call failed."""


def outcome_of(
    family: Family, command: str, output: str, *, is_error: bool, by_status: bool = False
) -> CallOutcome:
    """Return how a call ended; `command` is "" if there is none.

    With `by_status` no lines are looked for.
    """
    traits = FAMILIES[family]
    code = exit_status(output)
    first = _first_line(output)
    start = first.lower()
    looked = is_look(command) if command else traits.looks
    refused = is_error or _is_refusal(start)
    is_rejected = is_error or (refused and not looked)  # what a look shows is somebody's text
    if not refused and traits.does == "act":
        refused = start.startswith(_COMPLAINTS) or any(words in start for words in _MISSES)
    failed = refused if code is None else code != 0
    errors: tuple[str, ...] = ()
    if not by_status and not looked:
        if traits.runs or failed:
            errors = _of_work(output, code, refused=refused)
            failed = failed or (traits.runs and bool(errors))
        if refused and not errors and output.strip():
            errors = (cut(output, _WHOLE_CHARS),)
    may_run = code is None and (command or family == "process")
    return CallOutcome(
        code,
        failed,
        first if is_rejected and any(words in start for words in _REJECTIONS) else "",
        looked,
        _running_in(output) if may_run else "",
        errors,
        undone=refused and any(words in start for words in _UNDONE),
        is_flagged=is_error,
    )


def _running_in(output: str) -> str:
    """Return the id under which a call goes on, "" if it does not."""
    found = _RUNNING.search(output[:_HEAD_CHARS])
    return found[1] if found else ""


def _of_work(output: str, code: int | None, *, refused: bool) -> tuple[str, ...]:
    """Return the lines that tell what went wrong; a status of 0 says that nothing did."""
    if code == 0 or not (code or refused or _has_sign(output)):
        return ()
    found = error_lines(output, _MOST_ERRORS, shown_chars=_ERROR_CHARS)
    if code is None and not refused and all(map(_LOG_LINE.search, found)):
        return ()
    return tuple(whole_words(line, _ERROR_CHARS) for line in found)


def _has_sign(output: str) -> bool:
    return _FAILURES.any_in(output) or has_diagnostics(output)


def _first_line(output: str) -> str:
    """Return the first line of what was printed, after the lines that a runner puts before it."""
    head = output[:_FRAME_CHARS]
    if head.startswith(_FRAMES):
        head = head.partition(_OUTPUT)[2] or head
    return head.lstrip().partition("\n")[0][:_HEAD_CHARS].rstrip()


def _is_refusal(start: str) -> bool:
    """Return whether a result begins by saying that nothing was done."""
    if start.startswith(("error", "<error", "aborted by user")):
        return True
    for words in _REFUSALS:  # noqa: SIM110 a generator costs more
        if words in start:
            return True
    return False


COMMAND_CHARS = 240
"""Of a command, in a fact."""
_TRAILER = Regex(r"(?<=\S)\s*(?:2>&1|>\s?/dev/null|\|\s?(?:head|tail|grep|tee)\b[^|&;\n\"']*)\Z")
"""What says how much of a command's output is wanted: the command is the same without it."""
_MOST_TRAILERS = 4
"""So many are taken off one command."""
_TRAILER_CHARS = 200
"""So many characters at the end of a command are searched for them."""


def command_key(command: str) -> str:
    """Return what a command is known by when it comes again.

    A long one is cut, and a sum of the whole keeps it apart from others that begin alike.
    """
    line = command.strip()
    for _ in range(_MOST_TRAILERS):
        # only the end is looked at, so that a long line costs no more
        start = max(len(line) - _TRAILER_CHARS, 1)
        if line.find("|", start) < 0 and line.find(">", start) < 0:
            break
        found = _TRAILER.search(line, start)
        if found is None:
            break
        line = line[: found.start()]
    return cut_apart(line, COMMAND_CHARS)


def cut_apart(text: str, most: int) -> str:
    """Return `text` on one line, cut to `most` characters; others that begin alike differ."""
    shown = cut(text, most)
    if not shown.endswith("…"):
        return shown
    return f"{shown}#{crc32(text.encode('utf-8', 'surrogatepass')):08x}"


_READ_WHOLE_CHARS = 100_000
"""A longer result is not decoded; chosen, it bounds the time."""
_TEXTS = ("output", "stdout", "stderr", "error", "traceback")
_STATUS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")
_JSON = JSONDecoder()
_LOOKED_AT_CHARS = 2_000
"""Of a result, where the words of the user are; chosen."""
_SAID = "the user said:"


def without_wrapper(output: str) -> str:
    """Return a command's result as lines: if it is an object of JSON, what was printed, then what
    the host added after the object, and the exit status.
    """
    wrapped = _wrapped(output)
    if wrapped is None:
        return output
    ended = () if wrapped.status is None else (f"exit code: {wrapped.status}",)
    return "\n".join((wrapped.body, *wrapped.added, *ended))


class _Wrapped(Struct, frozen=True):
    body: str
    status: int | None
    added: tuple[str, ...]


def _wrapped(output: str) -> _Wrapped | None:
    """Return what a JSON object with `output` or `stdout` holds; a host may add a note after it."""
    if output[:1] != "{" or len(output) > _READ_WHOLE_CHARS:
        return None
    try:
        value, end = _JSON.raw_decode(output)
    except (ValueError, RecursionError):
        return None
    found = cast("dict[str, Any]", value)
    if "output" not in found and "stdout" not in found:
        return None
    texts = [text for key in _TEXTS if isinstance(text := found.get(key), str) and text]
    note = output[end:].strip()
    return _Wrapped("\n".join(texts), _status_in(found), (note,) if note else ())


def _status_in(fields: Mapping[str, Any]) -> int | None:
    for key in _STATUS:
        found = fields.get(key)
        if isinstance(found, int):
            return int(found)
    inner = fields.get("metadata")
    return _status_in(cast("dict[str, Any]", inner)) if isinstance(inner, dict) else None


def refusal_in(output: str) -> str:
    """Return what the user said when they rejected a call, "" if they said nothing."""
    at = output.find(_SAID, 0, _LOOKED_AT_CHARS)
    words = output[at + len(_SAID) :][:_LOOKED_AT_CHARS].split() if at >= 0 else ()
    return " ".join(words)
