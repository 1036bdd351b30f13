"""Which lines of a tool result report an error, which sentences of a user constrain.

The lists in `signals.toml` are frozen: they change only with a reason that has nothing to do with
a score.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct

from foldaway.lab.scoring.session import Message, content_text, decode_arguments

_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_ERROR_SHAPES = re.compile(_LISTS["error_shapes"], re.IGNORECASE | re.VERBOSE)
_ANSI = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_LONGEST_LINE = 2_000
_LINES_A_RESULT = 5
"""Error lines of a result that count: the first ones name the cause."""
_KEPT_CHARS = 80
"""A line survives if its first 80 characters do, a user's sentence if its first 160 do."""

_FAILED = re.compile(
    r"\A\s{0,8}(?:<tool_use_error>|exit\ code:?\ [1-9]|error\b|\{\"error\""
    r"|apply_patch\ verification|aborted\ by\ user"
    r"|the\ user\ doesn't\ want|\[request\ interrupted|your\ proposed\ edit\ has\ introduced)"
    r"|^process\ exited\ with\ code\ [1-9]|^exit\ (?:code|status):?\ [1-9]|\"exit_code\":\s?[1-9]",
    re.IGNORECASE | re.MULTILINE,
)
_RUNNING = re.compile(r"^Process running with session ID (\d{1,12})", re.MULTILINE)
_HEAD_CHARS = 4_000
"""Of a result, in which it says how the call went."""
_SHOWS = re.compile(
    r"\s*(?:cat|sed -n|nl|head|tail|grep|rg|git (?:diff|show|log|blame|grep)|awk|less|jq|bat|find"
    r"|ls)\b"
)
"""Commands whose output is other text: an error word in it is not an error of theirs."""
_SHOWING_TOOLS = frozenset(_LISTS["showing_tools"].split())
_TRAILER = re.compile(r"\s*(?:2>&1|\|\s*(?:head|tail|grep|tee)\b[^|&;]*|>\s*/dev/null)\s*\Z")
_LEADER = re.compile(r"\A\s*cd\s+\S+\s*(?:&&|;)\s*")

_CUES = re.compile(_LISTS["cues"], re.IGNORECASE | re.VERBOSE)
_WRAPPED = re.compile(
    r"<(system-reminder|environment_context|subagent_notification|turn_aborted|user_instructions"
    r"|INSTRUCTIONS|local-command-[a-z]{3,12}|command-[a-z]{3,12})>.*?</\1>",
    re.DOTALL,
)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_NOT_THEIRS = ("This session is being continued from", "[Request interrupted", "Caveat: ")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")
_SENTENCE_CHARS = (8, 500)
_PAIR = re.compile(
    r"(?<![\w.])([A-Za-z_][\w-]{2,40})[\"']?\s?[:=]\s?[\"']?([\w$][\w.$%:/+-]{0,40})", re.ASCII
)
_LEAST_TIMES = 2
"""Results of one call that must give a name before its value can have changed."""


@dataclass(frozen=True)
class OpenError:
    """A line that reports an error which no later success of the same command settled."""

    line: str
    command: str


def to_line(text: str) -> str:
    """Return a text with every run of white space as one space, colors taken out."""
    return " ".join(without_colors(text).split())


def without_colors(text: str) -> str:
    """Return a text without the codes that color it."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def error_lines(text: str) -> list[str]:
    """Return the lines of a text that have one of the shapes, in order."""
    return [
        line
        for line in text.split("\n")
        if len(line) <= _LONGEST_LINE and _ERROR_SHAPES.search(_ANSI.sub("", line))
    ]


def has_failed(result: str) -> bool:
    """Return whether a tool result says of itself that the call did not do its work."""
    return bool(_FAILED.search(result[:_HEAD_CHARS]))


def open_errors(messages: Sequence[Message]) -> list[OpenError]:
    """Return the error lines of tool results, first five of each, without the settled ones.

    The last run of a command counts: its success settles what it said before, and its new
    errors stand in place of the old.
    """
    rows: dict[str, list[str]] = {}
    for command, tool, result in answered_calls(messages):
        key = normalize_command(command)
        shows = is_showing(tool) or bool(_SHOWS.match(key.partition(" ")[2]))
        lines = error_lines(result_line(result) if shows else result)
        if lines:
            rows[key] = lines[:_LINES_A_RESULT]
        elif not has_failed(result) and not _RUNNING.search(result[:_HEAD_CHARS]):
            rows.pop(key, None)
    seen: dict[str, str] = {}
    for key, lines in rows.items():
        for line in lines:
            seen.setdefault(to_line(line), key)
    return [OpenError(line, key) for line, key in seen.items() if line]


def is_showing(tool: str) -> bool:
    """Return whether a tool shows other text, such as a file."""
    return tool.lower() in _SHOWING_TOOLS


def error_survives(flat_view: str, error: OpenError) -> bool:
    """Return whether the beginning of an error line stands in a view on one line."""
    return error.line[:_KEPT_CHARS] in flat_view


def answered_calls(messages: Sequence[Message]) -> list[tuple[str, str, str]]:
    """Return call, tool name and result of each answered call, in the order of the results.

    What is heard from a process that runs on belongs to the command that started it.
    """
    open_calls: dict[str, tuple[str, str]] = {}
    running: dict[str, str] = {}
    found: list[tuple[str, str, str]] = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            name = str(call["function"].get("name", ""))
            values = decode_arguments(str(call["function"].get("arguments") or ""))
            command = running.get(str(values.get("session_id"))) or _command(name, values)
            open_calls[str(call.get("id"))] = (name, command)
        if message["role"] == "tool":
            name, command = open_calls.pop(str(message.get("tool_call_id")), ("", ""))
            result = content_text(message)
            if started := _RUNNING.search(result[:_HEAD_CHARS]):
                running[started.group(1)] = command
            found.append((command, name, result))
    return found


def _command(name: str, values: dict[str, Any]) -> str:
    for key in ("command", "cmd", "file_path", "filePath", "path", "query"):
        if isinstance(values.get(key), str):
            return f"{name} {values[key]}"
    return f"{name} {json.dumps(values, sort_keys=True)}"


def normalize_command(command: str) -> str:
    """Return a command without what only steers where it runs and where its output goes."""
    name, _, line = command.partition(" ")
    line, was = _LEADER.sub("", to_line(line)), ""
    while line != was:
        line, was = _TRAILER.sub("", line), line
    return f"{name} {line}"


def result_line(text: str) -> str:
    """Return the first line of what a tool said, after the header that Codex puts before it."""
    _, mark, output = text[:_HEAD_CHARS].partition("\nOutput:\n")
    lines = (output if mark else text).split("\n")
    return next((line for line in lines if line.strip()), "")


def constraints(messages: Sequence[Message]) -> list[str]:
    """Return the sentences of real user messages that hold a cue word, each on one line."""
    found: dict[str, None] = {}
    for message in messages:
        if message["role"] != "user":
            continue
        text = _FENCE.sub("\n", _WRAPPED.sub("\n", content_text(message)))
        if text.lstrip().startswith(_NOT_THEIRS):
            continue
        for line in text.split("\n"):
            for sentence in _SENTENCE_END.split(line):
                words = to_line(sentence)
                if _SENTENCE_CHARS[0] <= len(words) <= _SENTENCE_CHARS[1] and _CUES.search(words):
                    found[words] = None
    return list(found)


def constraint_survives(flat_view: str, sentence: str) -> bool:
    """Return whether the user's words still stand in a view on one line."""
    return sentence[: 2 * _KEPT_CHARS] in flat_view


class Changed(Struct, frozen=True):
    """A name whose value another result of the same call changed."""

    name: str
    old: frozenset[str]
    newest: str


def find_changed_values(messages: Sequence[Message]) -> list[Changed]:
    """Return the names whose value differs between results of one call, said once in each.

    A name that results of other calls have too may mean something else there, and is left out.
    """
    told: dict[tuple[str, str], list[str]] = defaultdict(list)
    callers: dict[str, set[str]] = defaultdict(set)
    for command, _, result in answered_calls(messages):
        pairs = list(_pairs(result))
        often = Counter(name for name, _ in pairs)
        caller = normalize_command(command)
        for name, value in pairs:
            callers[name].add(caller)
            if often[name] == 1:
                told[caller, name].append(value)
    return [
        Changed(name, frozenset(values) - {values[-1]}, values[-1])
        for (_, name), values in told.items()
        if len(values) >= _LEAST_TIMES and len(callers[name]) == 1 and len(set(values)) > 1
    ]


def compute_stale_share(view: str, changed: Sequence[Changed]) -> float | None:
    """Return of the changed names that a view gives a value, how many have only old ones."""
    if not changed:
        return None
    shown: dict[str, set[str]] = defaultdict(set)
    for name, value in _pairs(view):
        shown[name].add(value)
    rows = [
        row.newest not in shown[row.name]
        for row in changed
        if shown.get(row.name, set[str]()) & (row.old | {row.newest})
    ]
    return sum(rows) / len(rows) if rows else None


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for found in _PAIR.finditer(text):
        yield found.group(1), found.group(2).rstrip(".:,/")
