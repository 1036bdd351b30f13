"""Scripts inside commands: Python, JavaScript and the like, and PowerShell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from foldaway.facts.effects.effect import Action, Effect, names_directory
from foldaway.facts.effects.parser import Command, Item
from foldaway.facts.tables import read_table
from foldaway.regex import Regex

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
_CMDLETS = _BY_NAME["cmdlets"]
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


CMDLETS = frozenset(("move-item", "copy-item", "rename-item", "new-item", *_CMDLETS))
"""The cmdlets that are read, in lower case."""
_HINT = Regex(r"-(?:[Cc]ontent|[Ii]tem|[Ff]ile|[Ll]ocation|[Oo]bject)\b")
_TOKEN = Regex(
    r"@(?P<here>['\"])\r?\n"
    r"|'(?P<single>(?:[^']++|'')*+)'"
    r"|\"(?P<double>(?:[^\"`]++|`.|\"\")*+)\""
    r"|(?P<redirect>\d?>>?(?:&\d)?)"
    r"|(?P<end>[;|\n{}()]|&&|\|\|)"
    r"|\#[^\n]*+"
    r"|(?P<word>(?:[^\s;|{}()'\"`>]++|`\S)++)"
)
_SWITCHES = frozenset(
    ("-recurse", "-force", "-raw", "-append", "-nonewline", "-confirm", "-whatif", "-verbose",
     "-passthru", "-noclobber", "-wait")
)  # fmt: skip
_PATHS = ("-path", "-literalpath", "-filepath", "-lp", "")
_MAX_TOKENS = 50_000
"""Of a script; chosen, it bounds the time."""


def is_powershell(text: str, items: list[Item]) -> bool:
    """Whether one of the commands, read as those of a shell, is a cmdlet that touches files."""
    if _HINT.search(text) is None:
        return False
    for item in items:
        if isinstance(item, Command):
            words = item.words[2:3] if item.words[1:2] == ["="] else item.words[:1]
            if words and isinstance(words[0], str) and words[0].lower() in CMDLETS:
                return True
    return False


def powershell_effects(text: str) -> Iterator[Effect]:
    """Yield what a PowerShell text does to files; what depends on a variable is left out."""
    words: list[str | None] = []
    operator = ""  # of a redirection whose file comes next
    at = count = 0
    while (found := _TOKEN.search(text, at)) and count < _MAX_TOKENS:
        kind = found.lastgroup
        at, count = found.end(), count + 1
        if kind == "here":
            end = text.find(f"\n{found[kind]}@", at - 1)
            at = len(text) if end < 0 else end + 3
            words.append(None)
        elif kind == "end":
            yield from _statement(words)
            words, operator = [], ""
        elif kind == "redirect":
            operator = "" if "&" in found[0] else found[0]
        elif kind:
            value = _value(found, kind)
            if not operator:
                words.append(value)
            elif value and value.lower() != "nul":
                yield Effect("append" if ">>" in operator else "write", value)
            operator = ""
    yield from _statement(words)


def _value(found: re.Match[str], kind: str) -> str | None:
    text = found[kind]
    if kind == "single":
        return text.replace("''", "'")
    return None if "$" in text else text.replace("`", "")


def _statement(words: list[str | None]) -> Iterator[Effect]:
    if words[1:2] == ["="]:
        words = words[2:]  # $name = …
    name = (words[0] or "").lower() if words else ""
    if name not in CMDLETS:
        return
    given: dict[str, str | None] = {}
    operands: list[str | None] = []
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if word and word.startswith("-") and len(word) > 1:
            key = word.lower()
            if key in _SWITCHES:
                given[key] = ""
            else:
                given[key] = words[at] if at < len(words) else None
                at += 1
        else:
            operands.append(word)
    if "-whatif" not in given:
        yield from _powershell_effects(name, given, operands)


def _powershell_effects(
    name: str, given: dict[str, str | None], operands: list[str | None]
) -> Iterator[Effect]:
    path = next((given[key] for key in _PATHS if key in given), None)
    if not any(key in given for key in _PATHS):
        path, operands = (operands[0] if operands else None), operands[1:]
    if not path:
        return
    if name == "new-item":
        kind = (given.get("-itemtype") or given.get("-type") or "file").lower()
        if child := given.get("-name"):
            path = f"{path.rstrip(chr(92) + '/')}/{child}"
        yield Effect("mkdir" if kind == "directory" else "create", path)
    elif name in ("move-item", "copy-item", "rename-item"):
        key = "-newname" if name == "rename-item" else "-destination"
        to = given[key] if key in given else operands[0] if operands else None
        yield from _moved(name, path, to or "")
    else:
        action = _CMDLETS[name]
        if name in ("out-file", "tee-object") and "-append" in given:
            action = "append"
        for part in path.split(","):
            yield Effect(action, part.strip())


def _moved(name: str, path: str, to: str) -> Iterator[Effect]:
    base_name = re.split(r"[\\/]", path.rstrip("\\/"))[-1]
    if name == "rename-item" and to:
        to = path[: len(path) - len(base_name)] + to
    elif to and (names_directory(to) or to.endswith("\\")):
        slash = "\\" if "\\" in to else "/"
        to = to.rstrip("\\/") + slash + base_name
    if name != "copy-item":
        yield Effect("rename", path, to=to)
    elif to:
        yield Effect("write", to)
