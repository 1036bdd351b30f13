"""Calls of tools and their results: commands, edits and files as what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from msgspec import Struct

from foldaway.dialects import dump_text
from foldaway.facts import ToolUse, read_arguments, use_of
from foldaway.gateway.inspector.code import code_block, edit_lines, indent, language_of, lines_block
from foldaway.gateway.inspector.safe_text import READ_CHARS, Excerpt, Rendering
from foldaway.reduction import detect_kind
from foldaway.sessions import TOOL_CHARS
from foldaway.transcript import ToolCall

_OPEN_CHARS: Final = 1_500
"""Of the arguments of a call that is open at first: about a screen of a phone."""
_ABOUT_CHARS: Final = 100
"""Of what a call is about, beside its name: a line of a page."""
_MOST_ROWS: Final = 50
"""Arguments of one call, or edits, that are shown; tools have fewer than 20."""
_LINE_CHARS: Final = 200
"""Of an argument that is shown beside its name; a longer one is a block."""

_Arguments = Mapping[str, Any]


def render_call(call: ToolCall, rendering: Rendering) -> str:
    """Return a call: its name, what it is about, and its arguments.

    It is open if it is short and its summary does not say it all.
    """
    arguments: _Arguments = {}
    about = ""
    if len(call.arguments) > READ_CHARS:
        body = _block(rendering.take(call.arguments), "json", rendering)
    elif call.kind == "custom":
        body = _free_text(call, rendering)
    else:
        shown = rendering.show(call.arguments)
        arguments = read_arguments(shown)
        use = ToolUse(call.name, arguments)
        about = _about(use)
        body = "".join(_arguments(use, rendering))
        if not arguments and shown.strip() not in ("", "{}"):
            body = _block(rendering.take(shown), "json", rendering)
    is_said = len(arguments) == 1 and len(about) <= _ABOUT_CHARS and about in arguments.values()
    state = " open" if len(call.arguments) <= _OPEN_CHARS and body and not is_said else ""
    name = f'<bdi class="tool">{rendering.label(call.name, TOOL_CHARS) or "unnamed tool"}</bdi>'
    said = f' <bdi class="about">{rendering.label(about, _ABOUT_CHARS)}</bdi>' if about else ""
    return f'<details class="call"{state}><summary>{name}{said}</summary>{body}</details>'


def about_call(call: ToolCall, rendering: Rendering) -> str:
    """Return what a call is about, as text that is not yet redacted as a line: its command, its
    path, or its first words; "" if it says none.
    """
    if call.kind == "custom" or len(call.arguments) > READ_CHARS:
        return ""
    return _about(ToolUse(call.name, read_arguments(rendering.show(call.arguments))))


def _about(use: ToolUse) -> str:
    if use.family == "shell" and (command := use.command):
        return command
    wanted = use.first("wanted")
    if wanted and use.traits.looks and use.family != "read":
        return wanted
    return use.path or wanted or use.first("urls", "asked")


def _free_text(call: ToolCall, rendering: Rendering) -> str:
    excerpt = rendering.take(call.arguments)
    return _block(excerpt, "diff" if _is_patch(excerpt.text) else "", rendering)


class _Found(Struct, frozen=True):
    """Arguments that are rendered as what they are; the others are rows."""

    blocks: str = ""
    keys: frozenset[str] = frozenset()


def _arguments(use: ToolUse, rendering: Rendering) -> Iterator[str]:
    for find in (_command, _edit, _patch, _contents):
        found = find(use, rendering)
        if found.keys:
            break
    else:
        found = _Found()
    rest = {key: value for key, value in use.arguments.items() if key not in found.keys}
    if rest:
        yield _rows(rest, rendering)
    yield found.blocks


def _command(use: ToolUse, rendering: Rendering) -> _Found:
    effects = use.traits.effects
    if effects not in ("command", "code"):
        return _Found()
    meaning = "commands" if effects == "command" else "code"
    text = use.command if effects == "command" else use.first("code")
    key = use.find(meaning)
    if not key or not text:
        return _Found()
    language = "bash" if effects == "command" else "python"
    return _Found(_block(rendering.take(text), language, rendering), frozenset((key,)))


def _edit(use: ToolUse, rendering: Rendering) -> _Found:
    """An edit by its old and its new text, or a list of them."""
    own = _old_and_new(use)
    if own:
        old, new = (_text(use.arguments[key]) for key in own)
        return _Found(_render_edit(old, new, rendering), frozenset(own))
    key = next((key for key in ("edits", "changes", "replacements") if key in use.arguments), "")
    rows = use.arguments.get(key)
    rows = cast("list[Any]", rows) if isinstance(rows, list) else []
    edits = [cast("_Arguments", row) for row in rows[:_MOST_ROWS] if isinstance(row, dict)]
    pairs = [_old_and_new(ToolUse(use.name, edit)) for edit in edits]
    if not edits or not all(pairs) or len(edits) != len(rows):
        return _Found()
    blocks: list[str] = []
    for edit, (old, new) in zip(edits, pairs, strict=True):
        rest = {key: value for key, value in edit.items() if key not in (old, new)}
        blocks.append(_rows(rest, rendering) if rest else "")
        blocks.append(_render_edit(_text(edit[old]), _text(edit[new]), rendering))
    return _Found("".join(blocks), frozenset((key,)))


def _old_and_new(use: ToolUse) -> tuple[str, ...]:
    """Return the names of the old and the new text of an edit, or nothing."""
    pair = (*use.find_texts("old_texts")[:1], *use.find_texts("new_texts")[:1])
    return pair if len(pair) == 2 else ()


def _render_edit(old: str, new: str, rendering: Rendering) -> str:
    before, after = rendering.take(old), rendering.take(new)
    block = lines_block(edit_lines(before.text, after.text), rendering)
    return block + rendering.rest(before.left_chars + after.left_chars)


def _patch(use: ToolUse, rendering: Rendering) -> _Found:
    for key in use.find_texts("patches"):
        if _is_patch(use.arguments[key]):
            block = _block(rendering.take(use.arguments[key]), "diff", rendering)
            return _Found(block, frozenset((key,)))
    return _Found()


def _contents(use: ToolUse, rendering: Rendering) -> _Found:
    """The text of a file that is written, in the colors of its language."""
    if use.traits.effects not in ("write", "edit"):
        return _Found()
    for key in use.find_texts("contents", "new_texts"):
        if value := use.arguments[key]:
            block = _block(rendering.take(value), language_of(use.path), rendering)
            return _Found(block, frozenset((key,)))
    return _Found()


def _is_patch(text: str) -> bool:
    return text.startswith("*** ") or "\n+++ " in text[:4_000] or "\n@@ " in text[:4_000]


def _rows(arguments: _Arguments, rendering: Rendering) -> str:
    """Return arguments by their names: short ones beside them, long ones and lists as blocks."""
    out: list[str] = []
    for key, value in list(arguments.items())[:_MOST_ROWS]:
        name = f"<dt>{rendering.label(key, TOOL_CHARS)}</dt>"
        excerpt = rendering.take(_text(value))
        is_text = isinstance(value, str)
        if "\n" in excerpt.text or len(excerpt.text) > _LINE_CHARS or excerpt.left_chars:
            block = _block(excerpt, "" if is_text else "json", rendering)
        else:
            block = f"<code>{rendering.mark_up(excerpt.text)}</code>"
        out.append(f"{name}<dd>{block}</dd>")
    over = len(arguments) - _MOST_ROWS
    more = rendering.ending(f"{over:,} more arguments") if over > 0 else ""
    return f'<dl class="arguments">{"".join(out)}</dl>{more}'


def _text(value: object) -> str:
    return value if isinstance(value, str) else dump_text(value)


def _block(excerpt: Excerpt, language: str, rendering: Rendering) -> str:
    text = indent(excerpt.text) if language == "json" else excerpt.text
    return code_block(text, language, rendering) + rendering.rest(excerpt.left_chars)


def render_output(excerpt: Excerpt, call: ToolCall | None, rendering: Rendering) -> str:
    """Return what a tool answered: diffs, JSON and files that were read as what they are, all else
    as it is written.
    """
    kind = detect_kind(excerpt.text) if excerpt.text.strip() else ""
    language = kind if kind in ("diff", "json") else _find_language(call)
    return _block(excerpt, language, rendering)


def _find_language(call: ToolCall | None) -> str:
    if call is None or len(call.arguments) > READ_CHARS:
        return ""
    use = use_of(call)
    return language_of(use.path) if use.family == "read" else ""


def size_of(text: str) -> str:
    """Return the size of a text in words of a person."""
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    return f"{len(text):,} characters, {lines:,} line{'' if lines == 1 else 's'}"
