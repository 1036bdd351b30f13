"""Tool calls under their many names: which tool does what to which file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, cast

from msgspec import structs

from holdfast.facts.effects import tool_names as names
from holdfast.facts.effects.arguments import (
    line_count,
    lines_of,
    list_of,
    path_of,
    paths_of,
    text_of,
)
from holdfast.facts.effects.effect import Action, Effect
from holdfast.facts.effects.patches import effects_of_patch
from holdfast.facts.effects.paths import place
from holdfast.facts.effects.run import effects_of_argv, effects_of_command
from holdfast.facts.effects.scripts import effects_of_script
from holdfast.facts.tools import Family, family_of, own_name

Arguments: TypeAlias = Mapping[str, Any]
_Reader: TypeAlias = Callable[[Arguments], Iterable[Effect]]
_MAX_DETAIL_CHARS = 500
_SEPARATORS = str.maketrans("", "", "_- ")
_WITHOUT_FILES: frozenset[Family] = frozenset(
    ("search", "glob", "list", "web_search", "fetch", "browser", "subagent", "todo", "plan",
     "question")
)  # fmt: skip


def effects_of_call(name: str, arguments: Mapping[str, Any], cwd: str = "") -> tuple[Effect, ...]:
    """Return what a tool call does to files, from its name and arguments alone.

    Paths stay as they are written, as `effects_of_command` says; where `cwd` is given, relative
    ones are joined with it, or with the directory that the call itself asks to run in. A tool
    that is not known has no effects. Never raises, whatever the arguments hold.
    """
    family = family_of(name)
    if family in _WITHOUT_FILES:
        return ()
    key = _listed_as(name)
    if family == "shell":
        return () if key in names.REMOTE_SHELLS else _of_shell(arguments, cwd)
    reader = _BY_NAME.get(key) or _BY_FAMILY.get(family)
    if reader is None:
        return ()
    found = tuple(reader(arguments))
    if not cwd:
        return found
    return tuple(
        structs.replace(
            effect,
            path=place(cwd, effect.path) if effect.path else "",
            to=place(cwd, effect.to) if effect.to else "",
        )
        for effect in found
    )


@lru_cache(2048)
def _listed_as(name: str) -> str:
    """Return the name of a tool as the tables below have it."""
    return own_name(name).translate(_SEPARATORS).lower()


def _of_shell(arguments: Arguments, cwd: str) -> tuple[Effect, ...]:
    if cwd and (asked := text_of(arguments, "workdir", "cwd", "directory", "dir_path")):
        cwd = place(cwd, asked)
    words = _words(arguments)
    if not words:
        return ()
    found = effects_of_command(words[0], cwd) if len(words) == 1 else effects_of_argv(words, cwd)
    flags = names.BACKGROUND.intersection(arguments)
    if flags and any(arguments[flag] is True for flag in flags):
        detail = " ".join(words).strip()[:_MAX_DETAIL_CHARS]
        found = (*found, Effect("start", detail=detail))
    return found


def _words(arguments: Arguments) -> list[str]:
    """Return a command as one text, or as the words of a list."""
    for key in ("command", "cmd", "script", "commands", "code", "input"):
        value = arguments.get(key)
        if isinstance(value, str):
            return [value]
        if isinstance(value, list):
            words = [word for word in cast("list[object]", value) if isinstance(word, str)]
            return ["\n".join(words)] if key == "commands" else words
    return []


def _read(arguments: Arguments) -> Iterator[Effect]:
    lines = lines_of(arguments)
    yield from (Effect("read", path, lines=lines) for path in paths_of(arguments))


def _whole(action: Action) -> _Reader:
    def read(arguments: Arguments) -> Iterator[Effect]:
        yield from (Effect(action, path) for path in paths_of(arguments))

    return read


def _edit(arguments: Arguments) -> Iterator[Effect]:
    """An edit: by path, by a list of edits that have paths of their own, or as a patch."""
    edits = list_of(arguments, "edits", "changes", "files")
    own = [path for edit in edits for path in paths_of(edit)]
    if own and not path_of(arguments):
        yield from (Effect("change", path) for path in dict.fromkeys(own))
        return
    paths = paths_of(arguments)
    if not paths:
        yield from _patch(arguments)
        return
    lines = lines_of(arguments)
    yield from (Effect("change", path, lines=lines) for path in paths)


def _any_edit(arguments: Arguments) -> Iterator[Effect]:
    """An edit, or SWE-agent's, which names no file: it is the one that is open."""
    if paths_of(arguments) or list_of(arguments, "edits", "changes", "files"):
        yield from _edit(arguments)
    elif patch := effects_of_patch(text_of(arguments, *names.PATCHES)):
        yield from patch
    elif "replacement_text" in arguments or ("search" in arguments and "replace" in arguments):
        yield Effect("change", lines=lines_of(arguments))


def _patch(arguments: Arguments) -> Iterator[Effect]:
    found = effects_of_patch(text_of(arguments, *names.PATCHES))
    if found:
        yield from found
    elif path := path_of(arguments):
        yield Effect("change", path)


def _insert(arguments: Arguments) -> Iterator[Effect]:
    at = arguments.get("insert_line", arguments.get("line"))
    text = text_of(arguments, "new_str", "insert_text", "text", "content")
    lines = None
    if isinstance(at, int) and not isinstance(at, bool) and at >= 0:
        lines = (at + 1, at + line_count(text))
    yield from (Effect("change", path, lines=lines) for path in paths_of(arguments) or ("",))


def _editor(arguments: Arguments) -> Iterator[Effect]:
    """`str_replace_editor` and its like: the argument `command` says what is done."""
    command = text_of(arguments, "command", "action", "operation")
    if not command:
        command = "create" if "file_text" in arguments else "str_replace"
    reader = _EDITOR_COMMANDS.get(command)
    yield from reader(arguments) if reader else ()


def _move(arguments: Arguments) -> Iterator[Effect]:
    source = text_of(arguments, *names.SOURCES)
    if source:
        yield Effect("rename", source, to=text_of(arguments, *names.TARGETS))


def _copy(arguments: Arguments) -> Iterator[Effect]:
    if target := text_of(arguments, *names.TARGETS):
        yield Effect("write", target)


def _code(arguments: Arguments) -> Iterator[Effect]:
    yield from effects_of_script(text_of(arguments, "code", "script", "input", "source"))


def _chdir(arguments: Arguments) -> Iterator[Effect]:
    if path := text_of(arguments, "folder", "path", "directory"):
        yield Effect("chdir", path)


def _stop(arguments: Arguments) -> Iterator[Effect]:
    yield Effect("stop", detail=text_of(arguments, *names.PROCESSES))


_EDITOR_COMMANDS: Mapping[str, _Reader] = {
    "view": _read,
    "create": _whole("create"),
    "write": _whole("write"),
    "str_replace": _edit,
    "replace": _edit,
    "edit": _edit,
    "undo_edit": _whole("change"),
    "insert": _insert,
    "delete": _whole("delete"),
    "rename": _move,
}
_BY_NAME: Mapping[str, _Reader] = {
    **dict.fromkeys(names.READ, _read),
    **dict.fromkeys(names.WRITE, _whole("write")),
    **dict.fromkeys(names.CREATE, _whole("create")),
    **dict.fromkeys(names.APPEND, _whole("append")),
    **dict.fromkeys(names.DELETE, _whole("delete")),
    **dict.fromkeys(names.MAKE_DIRECTORY, _whole("mkdir")),
    **dict.fromkeys(names.EDIT, _edit),
    **dict.fromkeys(names.INSERT, _insert),
    **dict.fromkeys(names.PATCH, _patch),
    **dict.fromkeys(names.EDITOR, _editor),
    **dict.fromkeys(names.MOVE, _move),
    **dict.fromkeys(names.COPY, _copy),
    **dict.fromkeys(names.STOP, _stop),
    **dict.fromkeys(names.CHANGE_DIRECTORY, _chdir),
}
"""Tools that do something else than most of their family."""

_BY_FAMILY: Mapping[Family, _Reader] = {
    "read": _read,
    "write": _whole("write"),
    "edit": _any_edit,
    "notebook": _code,
}
