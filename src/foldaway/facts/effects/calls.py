"""Tool calls under their many names: which tool does what to which file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, cast

from msgspec import Struct

from foldaway.facts.effects.effect import Action, Effect, effects_of_patch, effects_of_script
from foldaway.facts.effects.run import effects_of_argv, effects_of_command
from foldaway.facts.tools import (
    ACTIONS,
    ARGUMENTS,
    FAMILIES,
    Family,
    Traits,
    command_of,
    family_of,
    first_of,
    own_name,
    read_arguments,
)
from foldaway.transcript import ToolCall

_BACKGROUND = frozenset(ARGUMENTS["background"])
SOURCES = ARGUMENTS["sources"]
_TARGETS = ARGUMENTS["targets"]
_PATHS = ARGUMENTS["paths"]
_PATCHES = ARGUMENTS["patches"]
_WRITTEN = ARGUMENTS["written"]
_MAX_PATHS = 1_000
"""Of one call; chosen, it bounds the time."""


class ToolUse(Struct, frozen=True):
    """A tool by its name in any spelling, and the arguments that it is given, by what they mean.

    The meanings are those of `[arguments]` in `tools.toml`.
    """

    name: str
    arguments: Mapping[str, Any] = {}

    @property
    def family(self) -> Family:
        """The kind of tool."""
        return family_of(self.name)

    @property
    def traits(self) -> Traits:
        """What tools of its kind do."""
        return FAMILIES[self.family]

    @property
    def path(self) -> str:
        """The path that it is about, "" if there is none."""
        return path_of(self.arguments)

    @property
    def command(self) -> str:
        """The command line that it runs; of `bash -lc LINE` as a list, the line."""
        return command_of(self.arguments)

    def first(self, *meanings: str) -> str:
        """Return the first argument with one of these meanings, as text, otherwise ""."""
        return first_of(self.arguments, *(name for one in meanings for name in ARGUMENTS[one]))

    def find(self, *meanings: str) -> str:
        """Return the name of the first argument with one of these meanings, "" if none is given."""
        names = (name for one in meanings for name in ARGUMENTS[one])
        return next((name for name in names if self.arguments.get(name)), "")

    def find_texts(self, *meanings: str) -> list[str]:
        """Return the names of the arguments with one of these meanings that are texts."""
        names = (name for one in meanings for name in ARGUMENTS[one])
        return [name for name in names if isinstance(self.arguments.get(name), str)]

    def effects(self) -> tuple[Effect, ...]:
        """Return what it does to files."""
        return effects_of_call(self.name, self.arguments)


def use_of(call: ToolCall) -> ToolUse:
    """Return a call as the use of a tool; of one that takes free text, that is its `input`."""
    if call.kind == "custom":
        return ToolUse(call.name, {"input": call.arguments})
    return ToolUse(call.name, read_arguments(call.arguments))


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


Arguments: TypeAlias = Mapping[str, Any]
_Reader: TypeAlias = Callable[[Arguments], Iterable[Effect]]
_MAX_DETAIL_CHARS = 500
"""Of a detail, as in `run.py`; chosen."""
_SEPARATORS = str.maketrans("", "", "_- ")


def effects_of_call(name: str, arguments: Mapping[str, Any]) -> tuple[Effect, ...]:
    """Return what a tool call does to files, from its name and arguments alone.

    Paths stay as they are written, as `effects_of_command` says. A tool that is not known has
    the effect that an argument names (`output_path`), if one does. Never raises, whatever the
    arguments hold.
    """
    effects = FAMILIES[family_of(name)].effects
    if effects == "none":
        return ()
    key = _listed_as(name)
    if effects == "command":
        return () if key in ACTIONS["remote_shell"] else _of_shell(arguments)
    reader = _BY_NAME.get(key) or _BY_FAMILY.get(effects)
    return tuple(reader(arguments)) if reader is not None else ()


@lru_cache(2048)
def _listed_as(name: str) -> str:
    """Return the name of a tool as the tables below have it."""
    return own_name(name).translate(_SEPARATORS).lower()


def _of_shell(arguments: Arguments) -> tuple[Effect, ...]:
    words = _words(arguments)
    if not words:
        return ()
    found = effects_of_command(words[0]) if len(words) == 1 else effects_of_argv(words)
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
    yield from (Effect("change", path) for path in paths) if paths else _patch(arguments)


def _any_edit(arguments: Arguments) -> Iterator[Effect]:
    """An edit, or SWE-agent's, which names no file: it is the one that is open."""
    if paths_of(arguments) or list_of(arguments, "edits", "changes", "files"):
        yield from _edit(arguments)
    elif patch := effects_of_patch(first_of(arguments, *_PATCHES)):
        yield from patch
    elif "replacement_text" in arguments or ("search" in arguments and "replace" in arguments):
        yield Effect("change")


def _patch(arguments: Arguments) -> Iterator[Effect]:
    found = effects_of_patch(first_of(arguments, *_PATCHES))
    if found:
        yield from found
    elif path := path_of(arguments):
        yield Effect("change", path)


def _insert(arguments: Arguments) -> Iterator[Effect]:
    yield from (Effect("change", path) for path in paths_of(arguments) or ("",))


def _editor(arguments: Arguments) -> Iterator[Effect]:
    """`str_replace_editor` and its like: the argument `command` says what is done."""
    command = first_of(arguments, "command", "action", "operation")
    if not command:
        command = "create" if "file_text" in arguments else "str_replace"
    reader = _EDITOR_COMMANDS.get(command)
    yield from reader(arguments) if reader else ()


def _move(arguments: Arguments) -> Iterator[Effect]:
    source = first_of(arguments, *SOURCES)
    if source:
        yield Effect("rename", source, to=first_of(arguments, *_TARGETS))


def _copy(arguments: Arguments) -> Iterator[Effect]:
    if target := first_of(arguments, *_TARGETS):
        yield Effect("write", target)


def _code(arguments: Arguments) -> Iterator[Effect]:
    yield from effects_of_script(first_of(arguments, "code", "script", "input", "source"))


def _chdir(arguments: Arguments) -> Iterator[Effect]:
    if path := first_of(arguments, "folder", "path", "directory"):
        yield Effect("chdir", path)


def _written(arguments: Arguments) -> Iterator[Effect]:
    """A tool that nobody knows, which says where its output goes."""
    if path := first_of(arguments, *_WRITTEN):
        yield Effect("write", path)


def _stop(arguments: Arguments) -> Iterator[Effect]:
    yield Effect("stop", detail=first_of(arguments, *ARGUMENTS["processes"]))


_EDITOR_COMMANDS: Mapping[str, _Reader] = {
    "view": _whole("read"),
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
    "read": _whole("read"),
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
    "read": _whole("read"),
    "write": _whole("write"),
    "edit": _any_edit,
    "code": _code,
    "by name": _written,
}
"""By what a family does to files, for tools that are not in `_BY_NAME`."""
