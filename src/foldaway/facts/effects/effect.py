"""One thing that a tool call did to a file, a directory, a branch or a process; paths; patches;
scripts in Python and JavaScript, as far as they name files literally.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway._core import Regex, read_table

Action: TypeAlias = Literal[
    "read",
    "create",
    "write",
    "change",
    "append",
    "delete",
    "rename",
    "mkdir",
    "chdir",
    "branch",
    "commit",
    "start",
    "stop",
]


class Effect(Struct, frozen=True, gc=False):
    """What one call asked for, read from its arguments; whether it succeeded is not known here.

    `create`: the call is meant to make a new file. `write`: it sets the whole content of a file
    that may have existed. `change`: it edits one that exists.
    """

    action: Action
    path: str = ""
    """Empty where the call names no file: a branch, a commit, a process, `git reset --hard`, an
    edit of the file that SWE-agent holds open."""
    to: str = ""
    """Where a rename leads; empty if that is not known."""
    detail: str = ""
    """The branch, the commit message, the command or process."""


_DEVICES = ("/dev/", "/proc/")


def place(base: str, path: str) -> str:
    """Return `path` as it is if no base is known or it is absolute, else under the base."""
    if not base or is_absolute(path):
        return path
    if "\\" in base and "/" not in base:
        return f"{base.rstrip(chr(92))}\\{path}"
    return normalize(f"{base}/{path}")


def normalize(path: str) -> str:
    """Return the path without `.`, `//` and what `..` takes back; `.` if nothing is left."""
    root = "/" if path.startswith("/") else ""
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and (parts or root) and parts[-1:] not in ([".."], ["~"]):
            if parts:
                parts.pop()
            continue
        parts.append(part)
    return root + "/".join(parts) or "."


def is_absolute(path: str) -> bool:
    """Whether the path does not depend on a working directory: `/x`, `~/x`, `C:/x`."""
    if path.startswith(("/", "~/", "\\\\")) or path == "~":
        return True
    return path[1:2] == ":" and path[2:3] in ("\\", "/")


def base_name(path: str) -> str:
    """Return the last component."""
    return path.rstrip("/").rpartition("/")[2]


def is_device(path: str) -> bool:
    """Whether writing there leaves no file behind."""
    return path.startswith(_DEVICES) and not path.startswith("/dev/shm/")


def names_directory(path: str) -> bool:
    """Whether the path can only be a directory, by its spelling."""
    return path.endswith(("/", "/.", "/..")) or path in (".", "..", "~", "/tmp")


def inside(directory: str, path: str) -> str:
    """Return where a file of that name ends up in the directory."""
    if directory == ".":
        return base_name(path)
    return f"{directory.rstrip('/')}/{base_name(path)}"


_HEADER = Regex(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.M)
_MOVE = Regex(r"\*\*\* Move to: (.+)")
_FILES = Regex(r"^--- ([^\n]++)\n\+\+\+ ([^\n]++)\n(?=@@|\Z)", re.M)
_GIT = Regex(r"^diff --git ([^\n]++)$", re.M)
_OLD, _NEW = ("a/", "/dev/null"), ("b/", "/dev/null")
_ACTIONS: dict[str, Action] = {"Add": "create", "Update": "change", "Delete": "delete"}


def effects_of_patch(text: str) -> tuple[Effect, ...]:
    """Return what a patch does to each file that it names, in its order.

    It may be an `*** Begin Patch`, a git diff or a unified diff.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "*** " in text and _HEADER.search(text):
        return tuple(_of_envelope(text))
    if "diff --git " in text and (heads := list(_GIT.finditer(text))):
        found = (_of_git(head[1], text[head.end() + 1 : end]) for head, end in _until(heads, text))
        return tuple(effect for effects in found for effect in effects)
    return tuple(_of_unified(text))


def part_of_patch(text: str, path: str) -> str:
    """Return what an `*** Begin Patch` says of one file; all of it if it does not name that."""
    heads = _until(list(_HEADER.finditer(text)), text)
    return "".join(text[head.end() : end] for head, end in heads if head[2].strip() == path) or text


def _until(heads: list[re.Match[str]], text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield each head with the place where the next one begins."""
    for at, head in enumerate(heads, 1):
        yield head, heads[at].start() if at < len(heads) else len(text)


def _of_envelope(text: str) -> Iterator[Effect]:
    for head, end in _until(list(_HEADER.finditer(text)), text):
        path = head[2].strip()
        at = head.end() + 1
        move = _MOVE.match(text, at, end) if head[1] == "Update" else None
        if move:
            at = move.end()
        if not move or "\n+" in text[at:end] or "\n-" in text[at:end]:
            yield Effect(_ACTIONS[head[1]], path)
        if move:
            yield Effect("rename", path, to=move[1].strip())


def _of_git(names: str, section: str) -> Iterator[Effect]:
    """Read one `diff --git` section: its extended headers, or else its two names."""
    headers, _, _ = section.partition("\n@@")
    old = new = ""
    moved_from = moved_to = copied_to = ""
    created = deleted = False
    for line in headers.split("\n", 24)[:24]:
        created = created or line.startswith("new file mode")
        deleted = deleted or line.startswith("deleted file mode")
        if line.startswith("rename from "):
            moved_from = _name(line[12:], "")
        elif line.startswith("rename to "):
            moved_to = _name(line[10:], "")
        elif line.startswith("copy to "):
            copied_to = _name(line[8:], "")
        elif line.startswith("--- "):
            old = _name(line[4:], "a/")
        elif line.startswith("+++ "):
            new = _name(line[4:], "b/")
    if moved_from and moved_to:
        if "\n@@" in section:
            yield Effect("change", moved_from)
        yield Effect("rename", moved_from, to=moved_to)
    elif copied_to:
        yield Effect("create", copied_to)
    else:
        yield from _of_names(old or _half(names), new or _half(names), created, deleted)


def _of_unified(text: str) -> Iterator[Effect]:
    for head in _FILES.finditer(text):
        prefixed = head[1].startswith(_OLD) and head[2].startswith(_NEW)
        old = _name(head[1], "a/" if prefixed else "")
        new = _name(head[2], "b/" if prefixed else "")
        yield from _of_names(old, new, False, False)


def _of_names(old: str, new: str, created: bool, deleted: bool) -> Iterator[Effect]:
    if (created or old == "/dev/null") and new:
        yield Effect("create", new)
    elif (deleted or new == "/dev/null") and old:
        yield Effect("delete", old)
    elif new:
        yield Effect("change", new)


def _name(text: str, prefix: str) -> str:
    """Return the path of a `---` or `+++` line, without date and prefix; "" of one in quotes of C,
    which stands nowhere as it is.
    """
    return "" if text.startswith('"') else text.partition("\t")[0].strip().removeprefix(prefix)


def _half(names: str) -> str:
    """Return the path of `a/path b/path`, for a section that names it nowhere else."""
    half = names[: len(names) // 2]
    return half.removeprefix("a/") if names == f"{half} b/{half.removeprefix('a/')}" else ""


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
_CALLS: dict[str, Action] = {
    name: action
    for action, names in read_table("scripts", dict[Action, str], "foldaway.facts").items()
    for name in names.split()
}
_HINTS = ("open(", "Path(", "os.", "shutil.", "fs.", "write_text(")
_FILE_MODES: tuple[tuple[str, Action], ...] = (
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
                yield Effect(_CALLS[found["method"]], path)
        elif action := _CALLS.get(found["system"].removesuffix("Sync")):
            copies = found["system"].startswith("copy")
            if path := known(found["second"] if copies else found["first"]):
                to = known(found["second"]) if action == "rename" else ""
                yield Effect(action, path, to=to)


def _by_mode(mode: str) -> Action:
    return next(action for sign, action in _FILE_MODES if sign in mode)
