"""Scripts inside commands: Python, JavaScript and the like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldaway._core import Regex
from foldaway.facts.effects.effect import Action, Effect
from foldaway.facts.tables import read_table

_MAX_CHARS = 200_000
"""Of a script; chosen, it bounds the time."""
_TEXT = r"[rb]?(?:'[^'\n\\]{1,400}'|\"[^\"\n\\]{1,400}\")"
_VALUE = rf"(?:{_TEXT}|[A-Za-z_]\w*)"
_NAME = r"[A-Za-z_]\w*"
_EVENT = Regex(
    rf"^[ \t]*(?P<name>{_NAME})[ \t]*=(?!=)[ \t]*"
    rf"(?:(?:(?:pathlib\.)?Path\([ \t]*)?(?P<literal>{_TEXT})[ \t]*\)?[ \t;]*(?=$|\#)"
    r"|[\[{](?P<many>[^\[\](){}]{1,4000})[\]}])?"
    rf"|\bfor[ \t]+(?P<each>{_NAME})(?:[ \t]*,[ \t]*{_NAME})?[ \t]+in[ \t]*"
    rf"(?:[\[(](?P<list>[^\[\]()]{{1,4000}})[\])]|(?P<over>{_NAME})(?:\.items\(\))?)[ \t]*:"
    rf"|(?<![\w.])(?:io\.|codecs\.)?open\(\s*(?P<opened>{_VALUE})\s*"
    r"(?:\)|,\s*(?:mode\s*=\s*)?['\"](?P<mode>[rwaxbt+]{1,4})['\"]"
    r"|,\s*(?:encoding|newline|errors)\b)"
    rf"|\b(?:pathlib\.)?Path\(\s*(?P<path>{_VALUE})\s*\)\.(?P<method>\w+)\("
    rf"|(?<![\w.)\]])(?P<object>{_NAME})"
    r"\.(?P<call>write_text|write_bytes|read_text|unlink|touch)\("
    rf"|\b(?:os|shutil)\.(?P<system>[a-z0-9]+)\(\s*(?P<first>{_VALUE})\s*"
    rf"(?:,\s*(?P<second>{_VALUE})\s*)?[,)]"
    rf"|\b(?:fs|fsp|promises)\.(?P<node>[a-zA-Z]+)\(\s*(?P<file>{_TEXT})\s*"
    rf"(?:,\s*(?P<target>{_TEXT}))?",
    re.M,
)
_LITERAL = Regex(_TEXT)
_KEY = Regex(rf"(?:^|,)\s*({_TEXT})\s*:")
_BY_NAME: dict[str, dict[str, Action]] = {
    kind: {name: action for action, names in table.items() for name in names.split()}
    for kind, table in read_table("scripts", dict[str, dict[Action, str]]).items()
}
_METHODS, _SYSTEM, _NODE = _BY_NAME["methods"], _BY_NAME["system"], _BY_NAME["node"]
_HINTS = ("open(", "Path(", "os.", "shutil.", "fs.", "write_text(")


def effects_of_script(code: str) -> tuple[Effect, ...]:
    """Return what code does to the files that it names literally, or by a name set to a literal.

    A bonus beside the shell: code can reach a file in many more ways, and those are not found.
    """
    if not any(hint in code for hint in _HINTS):
        return ()
    seen: set[str] = set()
    found: list[Effect] = []
    for effect in _effects(code[:_MAX_CHARS]):
        if effect.action == "read":
            seen.add(effect.path)
        rewritten = effect.action == "write" and effect.path in seen
        found.append(Effect("change", effect.path) if rewritten else effect)
    return tuple(dict.fromkeys(found))


def _effects(code: str) -> Iterator[Effect]:
    names: dict[str, list[str]] = {}
    many: dict[str, list[str]] = {}
    for found in _EVENT.finditer(code):
        if found["name"]:
            names.pop(found["name"], None)
            if found["literal"]:
                names[found["name"]] = [_text(found["literal"])]
            elif found["many"]:
                many[found["name"]] = _texts(found["many"])
        elif found["each"]:
            each = _texts(found["list"]) if found["list"] else many.get(found["over"], [])
            names[found["each"]] = each
        elif found["opened"]:
            action = _by_mode(found["mode"] or "r")
            yield from (Effect(action, path) for path in _known(found["opened"], names))
        elif found["path"] and (method := _METHODS.get(found["method"])):
            yield from (Effect(method, path) for path in _known(found["path"], names))
        elif found["object"]:
            method = _METHODS[found["call"]]
            yield from (Effect(method, path) for path in names.get(found["object"], ()))
        elif found["system"]:
            yield from _system(found, names)
        elif found["node"] and (action := _NODE.get(found["node"].removesuffix("Sync"))):
            target = _text(found["target"]) if found["target"] else ""
            if action == "rename":
                yield Effect(action, _text(found["file"]), to=target)
            else:
                yield Effect(action, _text(found["file"]))


def _system(found: re.Match[str], names: dict[str, list[str]]) -> Iterator[Effect]:
    action = _SYSTEM.get(found["system"])
    firsts = _known(found["first"], names)
    seconds = _known(found["second"], names) if found["second"] else []
    if action == "rename":
        if len(firsts) == 1:
            yield Effect("rename", firsts[0], to=seconds[0] if len(seconds) == 1 else "")
    elif action == "write":
        yield from (Effect("write", path) for path in seconds)
    elif action:
        yield from (Effect(action, path) for path in firsts)


def _known(value: str, names: dict[str, list[str]]) -> list[str]:
    return [_text(value)] if value[-1] in "'\"" else names.get(value, [])


def _text(literal: str) -> str:
    return literal.lstrip("rb")[1:-1]


def _texts(inner: str) -> list[str]:
    """Return the literals of a list, or the keys of a dict; nothing where there is more."""
    if keys := _KEY.findall(inner):
        return [_text(key) for key in keys]
    if _LITERAL.sub("", inner).replace(",", "").strip():
        return []
    return [_text(literal) for literal in _LITERAL.findall(inner)]


def _by_mode(mode: str) -> Action:
    if "w" in mode:
        return "write"
    if "x" in mode:
        return "create"
    if "a" in mode:
        return "append"
    return "change" if "+" in mode else "read"
