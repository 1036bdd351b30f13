"""What a log knows about the lines of files: which stood there, which were edited away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, cast

from foldaway.lab.scoring.files import is_same_file
from foldaway.lab.scoring.session import TOOL_WORDS
from foldaway.lab.scoring.steps import LogStep

_NUMBERED = re.compile(r"^\s{0,8}\d{1,6}(?:→|\t|: |\|)", re.MULTILINE)
_FENCED = re.compile(r"^<(?:file|path|type|content)>.*$|^</(?:file|content)>$", re.MULTILINE)
_PATHS = ("file_path", "filePath", "path", "notebook_path", "filename", "target_file")
_READS = frozenset({"read", "view", "read_file", "open", "cat"})
_WRITES = frozenset({"write", "create", "write_file", "create_file", "write_to_file"})
_EDITS = frozenset(TOOL_WORDS["editors"])
_OLD = ("old_string", "oldString", "old_str", "search")
_NEW = ("new_string", "newString", "new_str", "replace", "insert_text")
_WHOLE = ("content", "file_text", "contents")
_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.{1,300})$", re.MULTILINE)
_SHOWN = re.compile(r"(?:cat|nl|head|tail|sed -n|bat|less)\b")
_RESETS = re.compile(
    r"\bgit (?:checkout(?! -b)|restore|reset|stash|revert|rebase|merge|pull|switch)\b"
)
_LEAST_CHARS = 8
"""A shorter line (`}`, `return`) stands in every file."""


class FileLines:
    """The lines of one file that a log has shown, and how often each is there now."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.gone: set[str] = set()

    def show(self, lines: Iterable[str]) -> None:
        """Take lines that stand in the file."""
        for line, count in Counter(lines).items():
            self.counts[line] = max(self.counts[line], count)
            self.gone.discard(line)

    def edit(self, old: Sequence[str], new: Sequence[str]) -> None:
        """Take an edit: the old lines are there once less, the new ones once more."""
        for line, count in (Counter(old) - Counter(new)).items():
            self.counts[line] = max(self.counts[line] - count, 0)
            if not self.counts[line]:
                self.gone.add(line)
        for line, count in (Counter(new) - Counter(old)).items():
            self.counts[line] += count
            self.gone.discard(line)
        self.show(set(new))

    def replace_all(self, lines: Sequence[str]) -> None:
        """Take the whole file: what it has not is gone."""
        self.gone |= set(self.counts) - set(lines)
        self.counts = Counter(lines)
        self.gone -= set(lines)

    def forget(self) -> None:
        """Know nothing any more: something changed the file that no log shows."""
        self.counts.clear()
        self.gone.clear()

    def has(self, line: str) -> bool | None:
        """Return whether a line stands in the file; None if the log cannot tell."""
        key = plain(line)
        if len(key) < _LEAST_CHARS:
            return None
        if key in self.gone:
            return False
        return True if self.counts.get(key) else None


def plain(line: str) -> str:
    """Return a line as lines are compared: without its number and the white space around it."""
    return _NUMBERED.sub("", line, count=1).strip()


def _lines(text: str) -> list[str]:
    return [line for line in map(plain, text.split("\n")) if line]


class Contents:
    """The lines of all files of a log, at its end."""

    def __init__(self, steps: Sequence[LogStep]) -> None:
        self.files: dict[str, FileLines] = {}
        for step in steps:
            if step.is_answered and not step.has_failed:
                self._take(step)

    def file(self, path: str) -> FileLines:
        """Return the lines of a file; one that the log has not named has none."""
        for known, lines in self.files.items():
            if is_same_file(known, path):
                return lines
        return self.files.setdefault(path, FileLines())

    def named_in(self, text: str) -> str:
        """Return the path of a known file that a text names, the longest; empty if none."""
        found = [path for path in self.files if path in text or _tail(path) in text]
        return max(found, key=len, default="")

    def _take(self, step: LogStep) -> None:
        name = step.tool.lower()
        path = next((step.values[key] for key in _PATHS if step.values.get(key)), "")
        if step.line:
            self._shell(step)
        elif name == "apply_patch" or name == "patch":
            for value in step.values.values():
                if isinstance(value, str):
                    self._patch(value)
        elif not isinstance(path, str) or not path:
            return
        elif name in _WRITES or (name in _EDITS and step.values.get("command") == "create"):
            whole = next((step.values[key] for key in _WHOLE if key in step.values), "")
            self.file(path).replace_all(_lines(str(whole)))
        elif name in _EDITS and step.values.get("command") != "view":
            self._edit(path, step.values)
        elif name in _READS or name in _EDITS:
            self.file(path).show(_lines(_FENCED.sub("", step.result)))

    def _edit(self, path: str, values: dict[str, Any]) -> None:
        rows = cast("list[Any]", values.get("edits") or [values])
        for row in rows:
            if not isinstance(row, dict):
                continue
            edit = cast("dict[str, Any]", row)
            old = next((str(edit[key]) for key in _OLD if edit.get(key)), "")
            new = next((str(edit[key]) for key in _NEW if edit.get(key)), "")
            self.file(path).edit(_lines(old), _lines(new))

    def _patch(self, patch: str) -> None:
        """Take a patch of `apply_patch`."""
        places = [*_PATCH_FILE.finditer(patch)]
        ends = [*(place.start() for place in places[1:]), len(patch)]
        for place, end in zip(places, ends, strict=True):
            rows = patch[place.end() : end].split("\n")
            file = self.file(place.group(2).strip())
            if place.group(1).lower() == "delete":
                file.replace_all([])
                continue
            old = [plain(row[1:]) for row in rows if row[:1] == "-" and row[1:].strip()]
            new = [plain(row[1:]) for row in rows if row[:1] == "+" and row[1:].strip()]
            file.edit(old, new)
            file.show(plain(row[1:]) for row in rows if row[:1] == " " and row[1:].strip())

    def _shell(self, step: LogStep) -> None:
        """Take what a command shows of one file, or forget what it may have changed."""
        if _RESETS.search(step.line):
            for lines in self.files.values():
                lines.forget()
            return
        if "*** Begin Patch" in step.line:
            self._patch(step.line)
            return
        for words in step.words:
            paths = [word for word in words[1:] if "." in word and not word.startswith("-")]
            is_edit = words[0] in ("sed", "perl") and any(word.startswith("-i") for word in words)
            for path in paths if is_edit or words[0] in ("prettier", "rm", "mv") else []:
                if path in self.files or any(is_same_file(path, one) for one in self.files):
                    self.file(path).forget()
        first = step.words[0] if step.words else [""]
        shown = [word for word in first[1:] if re.search(r"\w\.\w{1,8}$", word)]
        if len(step.words) <= 2 and _SHOWN.match(" ".join(first[:2])) and len(shown) == 1:
            _, mark, output = step.result.partition("\nOutput:\n")
            self.file(shown[0]).show(_lines(output if mark else step.result))


def _tail(path: str) -> str:
    """Return the last two parts of a path: a record may shorten what comes before."""
    return "/".join(path.rsplit("/", 2)[-2:])
