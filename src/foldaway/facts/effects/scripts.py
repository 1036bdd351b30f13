"""Scripts inside commands: Python and JavaScript, as far as they name files literally."""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldaway._core import Regex, read_table
from foldaway.facts.effects.effect import Action, Effect

_MAX_CHARS = 200_000
"""Of a script; chosen, it bounds the time."""
_TEXT = r"[rb]?(?:'[^'\n\\]{1,400}'|\"[^\"\n\\]{1,400}\")"
_NAME = r"[A-Za-z_]\w*"
_VALUE = rf"(?:{_TEXT}|{_NAME})"
_EVENT = Regex(
    rf"^[ \t]*(?P<name>{_NAME})[ \t]*=(?!=)[ \t]*"
    rf"(?:(?:(?:pathlib\.)?Path\([ \t]*)?(?P<literal>{_TEXT})[ \t]*\)?[ \t;]*(?=$|\#))?"
    rf"|\bfor[ \t]+(?P<each>{_NAME})\b"
    rf"|(?<![\w.])open\(\s*(?P<opened>{_VALUE})\s*"
    r"(?:\)|,\s*(?:mode\s*=\s*)?['\"](?P<mode>[rwaxbt+]{1,4})['\"]|,\s*(?:encoding|newline)\b)"
    rf"|(?:\bPath\(\s*(?P<path>{_VALUE})\s*\)|(?<![\w.)\]])(?P<object>{_NAME}))\.(?P<method>"
    r"write_text|write_bytes|read_text|unlink|touch)\("
    rf"|\b(?:os|shutil|fs|fsp)\.(?P<system>[a-zA-Z0-9]+)\(\s*(?P<first>{_VALUE})\s*"
    rf"(?:,\s*(?P<second>{_VALUE})\s*)?[,)]",
    re.M,
)
_ACTIONS: dict[str, Action] = {
    name: action
    for action, names in read_table("scripts", dict[Action, str], "foldaway.facts").items()
    for name in names.split()
}
_HINTS = ("open(", "Path(", "os.", "shutil.", "fs.", "write_text(")
_MODES: tuple[tuple[str, Action], ...] = (
    ("w", "write"),
    ("x", "create"),
    ("a", "append"),
    ("+", "change"),
    ("", "read"),
)


def effects_of_script(code: str) -> tuple[Effect, ...]:
    """Return what code does to the files that it names literally, or by a name set to a literal.

    A bonus beside the shell: code can reach a file in many more ways, and those are not found.
    """
    if not any(hint in code for hint in _HINTS):
        return ()
    seen: set[str] = set()
    found: dict[Effect, None] = {}
    for effect in _effects(code[:_MAX_CHARS]):
        if effect.action == "read":
            seen.add(effect.path)
        rewritten = effect.action == "write" and effect.path in seen
        found[Effect("change", effect.path) if rewritten else effect] = None
    return tuple(found)


def _effects(code: str) -> Iterator[Effect]:
    names: dict[str, str] = {}

    def known(value: str | None) -> str:
        if value and value[-1] in "'\"":
            return value.lstrip("rb")[1:-1]
        return names.get(value or "", "")

    for found in _EVENT.finditer(code):
        if name := found["name"] or found["each"]:
            names[name] = known(found["literal"])
        elif found["opened"]:
            if path := known(found["opened"]):
                yield Effect(_by_mode(found["mode"] or ""), path)
        elif found["method"]:
            if path := known(found["path"]) if found["path"] else names.get(found["object"], ""):
                yield Effect(_ACTIONS[found["method"]], path)
        elif action := _ACTIONS.get(found["system"].removesuffix("Sync")):
            copies = found["system"].startswith("copy")
            if path := known(found["second"] if copies else found["first"]):
                to = known(found["second"]) if action == "rename" else ""
                yield Effect(action, path, to=to)


def _by_mode(mode: str) -> Action:
    return next(action for sign, action in _MODES if sign in mode)
