"""Tool results for people: bounded Markdown that says what was asked and what came of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final, cast

import msgspec

from foldaway._core import Regex
from foldaway.reduction.excerpt import Lines
from foldaway.reduction.fit import REDUCERS
from foldaway.reduction.json_values import HIDDEN, PRIORITY_KEYS
from foldaway.reduction.kinds import body_start, detect_kind
from foldaway.reduction.lines import plain
from foldaway.reduction.listings import read_matches
from foldaway.reduction.ranking import reduce_log
from foldaway.reduction.reduced import ReductionRequest, clip_line, gap, plural
from foldaway.reduction.signals import error_lines, exit_status, failing_tests, test_counts

MOST_CHARS: Final = 4_000
"""About how long the rendering of one result may be."""

_COMMANDS = ("command", "cmd", "script", "input")
_PATHS = ("file_path", "path", "filePath", "filename", "file", "target_file", "notebook_path")
_TASKS = ("description", "task", "prompt")
_WORKERS = ("subagent_type", "agent", "agent_type")
_SECRET = Regex(r"passw|secret|api_?key|token$|authorization|credential|private_?key", re.I)
_NAMED_VALUE = Regex(
    r"((?:passw(?:or)?d|secret|api[_-]?key|(?:access|auth|refresh)[_-]?token)[\w-]{0,20}[\"'`]{0,2}"
    r" {0,3}[:=] {0,3}[\"'`]{0,2})(?=[\w+/=.-]{0,80}\d)[\w+/=.-]{8,}(?![\w(\[])",
    re.I,
)
"""A name of a secret in a text and its value, which has a digit and is no call."""
_SHOWN_MATCHES = 10
_SHOWN_ERRORS = 5
_DEEPEST = 3
_ITEMS = 8
_VALUE_CHARS = 160
_INLINE_CHARS = 120


def render_result(
    name: str, arguments: Mapping[str, object], output: str, *, most_chars: int = MOST_CHARS
) -> str:
    """Return the result of a tool call as Markdown for people, at most about `most_chars` long.

    Values under names such as `api_key` are not shown, in a text neither. What is left out is said.
    """
    return _NAMED_VALUE.sub(rf"\1{HIDDEN}", _render(name, arguments, output, most_chars))


def _render(name: str, arguments: Mapping[str, object], output: str, most_chars: int) -> str:
    title = f"**{_flatten(name) or 'tool'}**"
    value = _json_of(output)
    if failure := _failure_of(value):
        return _page([f"{title} failed: {_quote_inline(failure)}", *bullets(value)], most_chars)
    if command := _first(arguments, _COMMANDS):
        return _process(title, command, output, most_chars)
    if _first(arguments, _WORKERS):
        return _subagent(title, arguments, output, most_chars)
    if value is not None:
        return _page([f"{title}{_show_arguments(arguments)}", *bullets(value)], most_chars)
    if detect_kind(output) == "search":
        return _search(title, arguments, output)
    path = _first(arguments, _PATHS)
    return _file(title, path, arguments, output, most_chars)


def fenced(text: str, language: str = "") -> str:
    """Return a text as a code block that nothing in the text can close."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    word = language if re.fullmatch(r"[\w+#.-]{0,20}", language) else ""
    return f"{fence}{word}\n{text}\n{fence}"


def code(text: str) -> str:
    """Return a short text as inline code that no backtick in it can close."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    marks = "`" * (longest + 1)
    pad = " " if longest or not text.strip() else ""
    return f"{marks}{pad}{text}{pad}{marks}"


def bullets(value: object, depth: int = 0) -> list[str]:
    """Return a nested value as bullets: a few levels, a few items of each, the rest counted."""
    pad = "  " * depth
    if not isinstance(value, (dict, list)):
        return [f"{pad}- {_quote_inline(value)}"]
    entries, noun = _entries(cast("dict[str, object] | list[object]", value))
    lines: list[str] = []
    for name, item in entries[:_ITEMS]:
        label = f"{pad}- {_flatten(name)}: " if name else f"{pad}- "
        if name and _SECRET.search(name):
            lines.append(f"{label}{HIDDEN}")
        elif not isinstance(item, (dict, list)) or not item:
            lines.append(f"{label}{_quote_inline(cast('object', item))}")
        elif depth + 1 >= _DEEPEST:
            inner, of = _entries(cast("dict[str, object] | list[object]", item))
            lines.append(f"{label}{plural(len(inner), of)}")
        else:
            lines.append(label.rstrip())
            lines.extend(bullets(cast("object", item), depth + 1))
    if len(entries) > _ITEMS:
        lines.append(f"{pad}- {gap(len(entries) - _ITEMS, noun)}")
    return lines


def _entries(value: dict[str, object] | list[object]) -> tuple[list[tuple[str, object]], str]:
    """Return what is in a value, fields that matter first, and what one is called."""
    if isinstance(value, list):
        return [("", item) for item in value], "item"
    ranked = sorted(value, key=lambda name: name not in PRIORITY_KEYS)
    return [(name, value[name]) for name in ranked], "field"


def _process(title: str, command: str, output: str, most_chars: int) -> str:
    code_ = exit_status(output)
    ended = "" if code_ is None else f": exit {code_}"
    parts = [f"{title} {code(_flatten(clip_line(command, _INLINE_CHARS)))}{ended}"]
    counts = test_counts(output)
    if counts is not None:
        parts.append(f"- {counts.passed:,} passed, {counts.failed:,} failed")
    parts += [f"- failing: {code(name)}" for name in failing_tests(output, _SHOWN_ERRORS)]
    if code_ != 0:
        shown = error_lines(output, _SHOWN_ERRORS)
        parts += [f"- {code(clip_line(line, _VALUE_CHARS))}" for line in shown]
    body = plain(output[body_start(output) :]).strip("\n")
    if body.strip():
        parts.append(fenced(_shorten(body, most_chars)))
    return "\n".join(parts)


def _subagent(title: str, arguments: Mapping[str, object], output: str, most_chars: int) -> str:
    who, task = _first(arguments, _WORKERS), _first(arguments, _TASKS)
    errors = error_lines(output, 1)
    status = "failed" if output[:40].lower().startswith(("error", "<error")) else "finished"
    parts = [f"{title} {code(_flatten(who))} {status}: {_flatten(clip_line(task, _INLINE_CHARS))}"]
    if status == "failed" and errors:
        parts.append(f"- {code(clip_line(errors[0], _VALUE_CHARS))}")
    parts.append(fenced(_shorten(plain(output).strip("\n"), most_chars), "markdown"))
    return "\n".join(parts)


def _search(title: str, arguments: Mapping[str, object], output: str) -> str:
    texts = plain(output[body_start(output) :]).split("\n")
    files = read_matches(Lines(texts, range(len(texts)), len(texts)))
    total = sum(count for _, count, _ in files)
    found = f"{plural(total, 'match')} in {plural(len(files), 'file')}"
    parts = [f"{title}{_show_arguments(arguments)}: {found}"]
    shown = [(path, match) for path, _, matches in files for match in matches[:2]]
    there = sum(len(matches) for _, _, matches in files)
    parts += [
        f"- {code(path)} {code(clip_line(match, _VALUE_CHARS))}"
        for path, match in shown[:_SHOWN_MATCHES]
    ]
    missing = there - min(len(shown), _SHOWN_MATCHES)
    if missing:
        parts.append(f"- {gap(missing, 'match')}; narrow the search")
    return "\n".join(parts)


def _file(
    title: str, path: str, arguments: Mapping[str, object], output: str, most_chars: int
) -> str:
    text = plain(output).strip("\n")
    size = plural(text.count("\n") + 1, "line") if text else "no output"
    what = f" {code(path)}" if path else _show_arguments(arguments)
    parts = [f"{title}{what}: {size}"]
    if text.strip():
        parts.append(fenced(_shorten(text, most_chars), path.rpartition(".")[2] if path else ""))
    return "\n".join(parts)


def _page(lines: list[str], most_chars: int) -> str:
    """Return as many lines as fit on a page, and how many do not."""
    for at, end in enumerate(accumulate(len(line) + 1 for line in lines)):
        if end > most_chars and at:
            return "\n".join([*lines[:at], f"- {gap(len(lines) - at)}"])
    return "\n".join(lines)


def _shorten(text: str, most_chars: int) -> str:
    if len(text) <= most_chars:
        return text
    ask = ReductionRequest(most_chars, None)
    render = REDUCERS[detect_kind(text)](text, ask) or reduce_log(text, ask)
    return render(most_chars).text


def _json_of(output: str) -> object:
    head = output[:200].lstrip()[:1]
    if head not in ("{", "["):
        return None
    try:
        return cast("object", msgspec.json.decode(output))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _failure_of(value: object) -> str:
    """Return what a structured result says of its failure, "" if it did not fail."""
    fields = _fields(value)
    for name in ("error", "errors", "exception"):
        found = fields.get(name)
        if found not in (None, "", [], {}, False, 0):
            inner = _fields(found).get("message", found)
            return inner if isinstance(inner, str) else msgspec.json.encode(inner).decode()
    if fields.get("success") is False or fields.get("ok") is False:
        return str(fields.get("message", "no reason is given"))
    return ""


def _fields(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _show_arguments(arguments: Mapping[str, object]) -> str:
    """Return the short arguments of a call."""
    shown = [
        f"{_flatten(name)}={_flatten(clip_line(str(value), 40))}"
        for name, value in arguments.items()
        if isinstance(value, (str, int, float, bool)) and not _SECRET.search(name)
    ][:3]
    return f" {code(', '.join(shown))}" if shown else ""


def _first(arguments: Mapping[str, object], names: Sequence[str]) -> str:
    for name in names:
        found = arguments.get(name)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list) and found:
            return " ".join(str(word) for word in cast("list[object]", found))
    return ""


def _quote_inline(value: object) -> str:
    match value:
        case str():
            return code(_flatten(clip_line(value, _VALUE_CHARS))) if value else "(empty)"
        case None | bool() | int() | float():
            return msgspec.json.encode(value).decode()
        case _:
            return code(_flatten(clip_line(str(value), _VALUE_CHARS)))


def _flatten(text: str) -> str:
    """Return a text on one line, without what a terminal would act on."""
    shown = " ".join(plain(text[:4_000]).split())
    return "".join(char if char.isprintable() else "�" for char in shown)
