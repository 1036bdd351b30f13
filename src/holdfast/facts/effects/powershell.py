"""PowerShell: the cmdlets that touch files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from holdfast.facts.effects.effect import Action, Effect
from holdfast.facts.effects.paths import names_directory
from holdfast.facts.effects.syntax import Command, Item

CMDLETS = (
    "set-content", "add-content", "get-content", "clear-content", "out-file", "remove-item",
    "move-item", "copy-item", "rename-item", "new-item", "set-location", "tee-object",
)  # fmt: skip
"""The cmdlets that are read, in lower case."""
_HINT = re.compile(r"-(?:[Cc]ontent|[Ii]tem|[Ff]ile|[Ll]ocation|[Oo]bject)\b")
_TOKEN = re.compile(
    r"@(?P<here>['\"])\r?\n"
    r"|'(?P<single>(?:[^']++|'')*+)'"
    r"|\"(?P<double>(?:[^\"`]++|`.|\"\")*+)\""
    r"|(?P<redirect>\d?>>?(?:&\d)?)"
    r"|(?P<end>[;|\n{}()]|&&|\|\|)"
    r"|\#[^\n]*+"
    r"|(?P<word>(?:[^\s;|{}()'\"`>]++|`\S)++)"
)
_ACTIONS: Mapping[str, Action] = {
    "set-content": "write", "add-content": "append", "clear-content": "write",
    "out-file": "write", "tee-object": "write", "remove-item": "delete", "get-content": "read",
    "set-location": "chdir",
}  # fmt: skip
_SWITCHES = frozenset(
    ("-recurse", "-force", "-raw", "-append", "-nonewline", "-confirm", "-whatif", "-verbose",
     "-passthru", "-noclobber", "-wait")
)  # fmt: skip
_PATHS = ("-path", "-literalpath", "-filepath", "-lp", "")
_MAX_TOKENS = 50_000


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
        yield from _effects(name, given, operands)


def _effects(
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
        action = _ACTIONS[name]
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
