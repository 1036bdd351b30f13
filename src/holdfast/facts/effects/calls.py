"""Tool calls under their many names: which tool does what to which file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, cast

from msgspec import structs

from holdfast.facts.effects.effect import Action, Effect, effects_of_patch, place
from holdfast.facts.effects.run import effects_of_argv, effects_of_command
from holdfast.facts.effects.scripts import effects_of_script
from holdfast.facts.tools import ACTIONS, ARGUMENTS, FAMILIES, family_of, own_name

_BACKGROUND = frozenset(ARGUMENTS["background"])
SOURCES = ARGUMENTS["sources"]
_TARGETS = ARGUMENTS["targets"]
_PATHS = ARGUMENTS["paths"]
_PATCHES = ARGUMENTS["patches"]
_MAX_PATHS = 1_000
"""Of one call; chosen, it bounds the time."""


def text_of(arguments: Mapping[str, Any], *keys: str) -> str:
    """Return the first text among these arguments, empty where there is none."""
    for key in keys:
        value = arguments.get(key)
        if value is None:  # most are
            continue
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def path_of(arguments: Mapping[str, Any]) -> str:
    """Return the path that a call is about."""
    for key in _PATHS:
        value = arguments.get(key)
        if value is not None and isinstance(value, str) and value.strip():
            return value.strip().removeprefix("file://")
    return ""


def paths_of(arguments: Mapping[str, Any]) -> list[str]:
    """Return all paths that a call names, in a list of texts or of objects too."""
    if path := path_of(arguments):
        return [path]
    found: list[str] = []
    for key in ARGUMENTS["path_lists"]:
        value = arguments.get(key)
        for entry in cast("list[object]", value)[:_MAX_PATHS] if isinstance(value, list) else ():
            if isinstance(entry, str) and entry:
                found.append(entry)
            elif isinstance(entry, dict) and (path := path_of(cast("dict[str, Any]", entry))):
                found.append(path)
    return found


def list_of(arguments: Mapping[str, Any], *keys: str) -> list[Mapping[str, Any]]:
    """Return the objects of the first list among these arguments."""
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, list):
            entries = cast("list[object]", value)[:_MAX_PATHS]
            return [cast("dict[str, Any]", entry) for entry in entries if isinstance(entry, dict)]
    return []


def lines_of(arguments: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the lines that a call is about: a range, a start and an end, an offset and a limit.

    A last line of 0 is the end of the file. An offset counts from 1; tools that count from 0
    cannot be told from those, and give lines that are one too low.
    """
    for key in ARGUMENTS["ranges"]:
        value = arguments.get(key)
        if isinstance(value, list):
            numbers = [_number(entry) for entry in cast("list[object]", value)]
            if len(numbers) == 2 and numbers[0] is not None and numbers[1] is not None:
                return _span(numbers[0], numbers[1])
    start, end = _first(arguments, ARGUMENTS["starts"]), _first(arguments, ARGUMENTS["ends"])
    if end is not None:
        return _span(start or 1, end)
    if start is not None:
        return None if "line_number" in arguments else _span(start, 0)
    offset, limit = _first(arguments, ("offset",)), _first(arguments, ("limit",))
    if offset is None and limit is None:
        return None
    first = max(offset or 1, 1)
    return (first, first + limit - 1) if limit and limit > 0 else _span(first, 0)


def line_count(text: str) -> int:
    """Return how many lines a text has, at least one."""
    return text.count("\n") + (not text.endswith("\n")) or 1


def _span(first: int, last: int) -> tuple[int, int] | None:
    first = max(first, 1)
    if last <= 0:
        return (first, 0) if first > 1 else None
    return first, max(first, last)


def _first(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        if (number := _number(arguments.get(key))) is not None:
            return number
    return None


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 10**9 else None
    if isinstance(value, float):
        return int(value) if abs(value) < 10**9 else None
    if isinstance(value, str) and len(value) < 10 and value.isascii() and value.isdigit():
        return int(value)
    return None


Arguments: TypeAlias = Mapping[str, Any]
_Reader: TypeAlias = Callable[[Arguments], Iterable[Effect]]
_MAX_DETAIL_CHARS = 500
"""Of a detail, as in `run.py`; chosen."""
_SEPARATORS = str.maketrans("", "", "_- ")


def effects_of_call(name: str, arguments: Mapping[str, Any], cwd: str = "") -> tuple[Effect, ...]:
    """Return what a tool call does to files, from its name and arguments alone.

    Paths stay as they are written, as `effects_of_command` says; where `cwd` is given, relative
    ones are joined with it, or with the directory that the call itself asks to run in. A tool
    that is not known has no effects. Never raises, whatever the arguments hold.
    """
    effects = FAMILIES[family_of(name)].effects
    if effects == "none":
        return ()
    key = _listed_as(name)
    if effects == "command":
        return () if key in ACTIONS["remote_shell"] else _of_shell(arguments, cwd)
    reader = _BY_NAME.get(key) or _BY_FAMILY.get(effects)
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
    flags = _BACKGROUND.intersection(arguments)
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
    elif patch := effects_of_patch(text_of(arguments, *_PATCHES)):
        yield from patch
    elif "replacement_text" in arguments or ("search" in arguments and "replace" in arguments):
        yield Effect("change", lines=lines_of(arguments))


def _patch(arguments: Arguments) -> Iterator[Effect]:
    found = effects_of_patch(text_of(arguments, *_PATCHES))
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
    source = text_of(arguments, *SOURCES)
    if source:
        yield Effect("rename", source, to=text_of(arguments, *_TARGETS))


def _copy(arguments: Arguments) -> Iterator[Effect]:
    if target := text_of(arguments, *_TARGETS):
        yield Effect("write", target)


def _code(arguments: Arguments) -> Iterator[Effect]:
    yield from effects_of_script(text_of(arguments, "code", "script", "input", "source"))


def _chdir(arguments: Arguments) -> Iterator[Effect]:
    if path := text_of(arguments, "folder", "path", "directory"):
        yield Effect("chdir", path)


def _stop(arguments: Arguments) -> Iterator[Effect]:
    yield Effect("stop", detail=text_of(arguments, *ARGUMENTS["processes"]))


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
_BY_ACTION: Mapping[str, _Reader] = {
    "read": _read,
    "write": _whole("write"),
    "create": _whole("create"),
    "append": _whole("append"),
    "delete": _whole("delete"),
    "mkdir": _whole("mkdir"),
    "edit": _edit,
    "insert": _insert,
    "patch": _patch,
    "editor": _editor,
    "move": _move,
    "copy": _copy,
    "stop": _stop,
    "chdir": _chdir,
}
_BY_NAME: Mapping[str, _Reader] = {
    name: reader for action, reader in _BY_ACTION.items() for name in ACTIONS[action]
}
_BY_FAMILY: Mapping[str, _Reader] = {
    "read": _read,
    "write": _whole("write"),
    "edit": _any_edit,
    "code": _code,
}
"""By what a family does to files, for tools that are not in `_BY_NAME`."""
