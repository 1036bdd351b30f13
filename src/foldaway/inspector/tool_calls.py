"""Calls of tools and their results: commands, edits and files as what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from msgspec import Struct

from foldaway.dialects import dump_text
from foldaway.facts import (
    ARGUMENTS,
    FAMILIES,
    command_of,
    family_of,
    first_of,
    list_of,
    path_of,
    read_arguments,
)
from foldaway.inspector.code import code_block, edit_lines, indent, language_of, lines_block
from foldaway.inspector.texts import READ_CHARS, Excerpt, Rendering
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
        about = _about(call.name, arguments)
        body = "".join(_arguments(call.name, arguments, rendering))
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
    return _about(call.name, read_arguments(rendering.show(call.arguments)))


def _about(name: str, arguments: _Arguments) -> str:
    if family_of(name) == "shell" and (command := command_of(arguments)):
        return command
    wanted = first_of(arguments, *ARGUMENTS["wanted"])
    if wanted and FAMILIES[family_of(name)].looks and family_of(name) != "read":
        return wanted
    others = (*ARGUMENTS["urls"], *ARGUMENTS["asked"])
    return path_of(arguments) or wanted or first_of(arguments, *others)


def _free_text(call: ToolCall, rendering: Rendering) -> str:
    excerpt = rendering.take(call.arguments)
    return _block(excerpt, "diff" if _is_patch(excerpt.text) else "", rendering)


class _Found(Struct, frozen=True):
    """Arguments that are rendered as what they are; the others are rows."""

    blocks: str = ""
    keys: frozenset[str] = frozenset()


def _arguments(name: str, arguments: _Arguments, rendering: Rendering) -> Iterator[str]:
    for find in (_command, _edit, _patch, _contents):
        found = find(name, arguments, rendering)
        if found.keys:
            break
    else:
        found = _Found()
    rest = {key: value for key, value in arguments.items() if key not in found.keys}
    if rest:
        yield _rows(rest, rendering)
    yield found.blocks


def _command(name: str, arguments: _Arguments, rendering: Rendering) -> _Found:
    effects = FAMILIES[family_of(name)].effects
    keys = {"command": ARGUMENTS["commands"], "code": ARGUMENTS["code"]}.get(effects, ())
    key = next((key for key in keys if arguments.get(key)), "")
    text = command_of(arguments) if effects == "command" else first_of(arguments, key)
    if not key or not text:
        return _Found()
    language = "bash" if effects == "command" else "python"
    return _Found(_block(rendering.take(text), language, rendering), frozenset((key,)))


def _edit(name: str, arguments: _Arguments, rendering: Rendering) -> _Found:
    """An edit by its old and its new text, or a list of them."""
    own = _old_and_new(arguments)
    if own:
        old, new = (_text(arguments[key]) for key in own)
        return _Found(_render_edit(old, new, rendering), frozenset(own))
    edits = list_of(arguments, "edits", "changes", "replacements")[:_MOST_ROWS]
    pairs = [_old_and_new(edit) for edit in edits]
    key = next((key for key in ("edits", "changes", "replacements") if key in arguments), "")
    if not edits or not all(pairs) or len(edits) != len(cast("list[Any]", arguments[key])):
        return _Found()
    blocks: list[str] = []
    for edit, (old, new) in zip(edits, pairs, strict=True):
        rest = {key: value for key, value in edit.items() if key not in (old, new)}
        blocks.append(_rows(rest, rendering) if rest else "")
        blocks.append(_render_edit(_text(edit[old]), _text(edit[new]), rendering))
    return _Found("".join(blocks), frozenset((key,)))


def _old_and_new(arguments: _Arguments) -> tuple[str, ...]:
    """Return the names of the old and the new text of an edit, or nothing."""
    pair: list[str] = []
    for names in (ARGUMENTS["old_texts"], ARGUMENTS["new_texts"]):
        pair += [key for key in names if isinstance(arguments.get(key), str)][:1]
    return tuple(pair) if len(pair) == 2 else ()


def _render_edit(old: str, new: str, rendering: Rendering) -> str:
    before, after = rendering.take(old), rendering.take(new)
    block = lines_block(edit_lines(before.text, after.text), rendering)
    return block + rendering.rest(before.left_chars + after.left_chars)


def _patch(name: str, arguments: _Arguments, rendering: Rendering) -> _Found:
    for key in ARGUMENTS["patches"]:
        value = arguments.get(key)
        if isinstance(value, str) and _is_patch(value):
            return _Found(_block(rendering.take(value), "diff", rendering), frozenset((key,)))
    return _Found()


def _contents(name: str, arguments: _Arguments, rendering: Rendering) -> _Found:
    """The text of a file that is written, in the colors of its language."""
    if FAMILIES[family_of(name)].effects not in ("write", "edit"):
        return _Found()
    for key in (*ARGUMENTS["contents"], *ARGUMENTS["new_texts"]):
        value = arguments.get(key)
        if isinstance(value, str) and value:
            language = language_of(path_of(arguments))
            return _Found(_block(rendering.take(value), language, rendering), frozenset((key,)))
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
    if call is None or family_of(call.name) != "read" or len(call.arguments) > READ_CHARS:
        return ""
    return language_of(path_of(read_arguments(call.arguments)))


def size_of(text: str) -> str:
    """Return the size of a text in words of a person."""
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    return f"{len(text):,} characters, {lines:,} line{'' if lines == 1 else 's'}"
