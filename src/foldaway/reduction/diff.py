"""Diffs: every changed file with its counts, changed lines before context, lock files summed up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from foldaway._core import Regex
from foldaway.reduction.lines import plain
from foldaway.reduction.ranking import reduce_log
from foldaway.reduction.reduced import (
    ReductionDraft,
    ReductionRequest,
    Render,
    clip_line,
    closing,
    fair_cap,
    gap,
    plural,
)

GENERATED: Final = Regex(
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?"
    r"|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Pipfile\.lock|pdm\.lock|Gemfile\.lock"
    r"|composer\.lock|mix\.lock|pubspec\.lock|flake\.lock|Podfile\.lock|gradle\.lockfile"
    r"|[^/]+\.min\.(?:js|css)|[^/]+\.(?:js|css)\.map|[^/]+\.snap|[^/]+\.pb\.go|[^/]+_pb2\.py)$"
)
"""Files that tools write; their changes are counted and not shown."""

_LINE_CHARS = 300
_LEAST_BODY_CHARS = 60
_HUNK_CHARS = 160
_PREAMBLE_SHARE = 4


class _File(Struct, frozen=True):
    head: str
    path: str
    added: int
    removed: int
    body: str
    """From the first hunk on; empty for a file that a tool wrote."""

    @property
    def title(self) -> str:
        return f"{self.head} (+{self.added} −{self.removed})"


def reduce_diff(text: str, ask: ReductionRequest) -> Render | None:
    """Read a diff, as git writes it or plain. None if no file is named."""
    if "\x1b" in text or "\r" in text:
        text = plain(text)
    starts = _starts(text)
    if not starts:
        return None
    preamble = text[: starts[0]].strip("\n")
    introduce = reduce_log(preamble, ReductionRequest(ask.room_chars, None)) if preamble else None
    files = [
        _read_file(text[start:stop])
        for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)
    ]

    def render(budget_chars: int) -> ReductionDraft:
        share = budget_chars // _PREAMBLE_SHARE
        intro = preamble
        if introduce is not None and len(preamble) > share:
            intro = introduce(share).text
        titles = sum(len(file.title) + 1 for file in files)
        room = budget_chars - titles - len(intro) - 120 - len(ask.reference or "")
        cap = fair_cap([len(file.body) for file in files], max(room, 0))
        parts = [intro] if intro else []
        shown = _Tally()
        if titles > budget_chars - len(intro) - 100:
            parts += _titles_only(files, budget_chars - len(intro) - 100, shown)
        else:
            parts += [_show_file(file, cap, shown) for file in files]
        left_out = shown.sentences(files)
        if left_out:
            parts.append(closing(left_out, ask.reference))
        return ReductionDraft("\n".join(parts), left_out, shown.counts(files))

    return render


class _Tally(Struct):
    context: int = 0
    changes: int = 0
    files: int = 0

    def counts(self, files: Sequence[_File]) -> dict[str, int]:
        found = {
            "changed lines": self.changes,
            "context lines": self.context,
            "files": self.files,
            "generated files": sum(1 for file in files if _is_generated(file)),
        }
        return {name: count for name, count in found.items() if count}

    def sentences(self, files: Sequence[_File]) -> tuple[str, ...]:
        nouns = {"files": "file", "generated files": "generated file"}
        return tuple(
            plural(count, nouns.get(name, name[:-1])) for name, count in self.counts(files).items()
        )


def _starts(text: str) -> list[int]:
    """Return where the part of each file begins."""
    for mark in ("diff --git ", "diff --cc ", "Index: ", "*** Update File: "):
        if text.startswith(mark) or f"\n{mark}" in text:
            return _line_starts(text, mark)
    return [
        at
        for at in _line_starts(text, "--- ")
        if text.startswith("+++ ", _find_next_line(text, at))
    ]


def _line_starts(text: str, mark: str) -> list[int]:
    found = [0] if text.startswith(mark) else []
    at = text.find(f"\n{mark}")
    while at >= 0:
        found.append(at + 1)
        at = text.find(f"\n{mark}", at + 1)
    return found


def _find_next_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


_HUNK_HEADER = Regex(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_MOVED = Regex(r"^(?:rename (?:from|to) |new file|deleted file|old mode|new mode|Binary ).*$", re.M)


def _read_file(part: str) -> _File:
    first = part.partition("\n")[0]
    hunk = part.find("\n@@")
    header, body = (part[:hunk], part[hunk + 1 :]) if hunk >= 0 else (part, "")
    if first.startswith("*** "):
        header, body = first, part[len(first) + 1 :]
    elif first.startswith("--- "):
        first = header.rstrip("\n")
    moved = _MOVED.findall(header)
    head = " ".join([first, *(f"[{line}]" for line in moved)]).replace("\n", " ")
    path = first.rpartition(" b/")[2] if " b/" in first else first.rpartition(" ")[2]
    padded = f"\n{body}"
    added, removed = padded.count("\n+"), padded.count("\n-")
    shown = "" if GENERATED.search(path) else body.rstrip("\n")
    return _File(clip_line(head, _LINE_CHARS), path, added, removed, shown)


def _is_generated(file: _File) -> bool:
    return not file.body and bool(file.added or file.removed)


def _titles_only(files: Sequence[_File], room: int, tally: _Tally) -> list[str]:
    """Return as many titles as fit, of all parts of a list that is itself too long."""
    shown: list[str] = []
    for at, file in enumerate(files):
        title = f"{file.path} (+{file.added} −{file.removed})"
        room -= len(title) + 1
        if room < 0:
            tally.files = len(files) - at
            shown.append(gap(len(files) - at, "file"))
            break
        shown.append(title)
    tally.changes = sum(file.added + file.removed for file in files)
    return shown


def _show_file(file: _File, cap: int, tally: _Tally) -> str:
    """Return a file's part within about `cap` characters beside its title."""
    if len(file.body) <= cap:
        return f"{file.title}\n{file.body}" if file.body else file.title
    lines = file.body.split("\n")
    changed = [line for line in lines if line[:1] in ("+", "-", "@")]
    tally.context += sum(1 for line in lines if line[:1] not in ("+", "-", "@", "\\"))
    if cap < _LEAST_BODY_CHARS:
        tally.changes += sum(1 for line in changed if line[:1] != "@")
        return file.title
    shown, missing = _excerpt(changed, cap)
    tally.changes += missing
    return f"{file.title}\n{shown}"


def _excerpt(lines: Sequence[str], room: int) -> tuple[str, int]:
    """Return the lines that fit: all, or the first of as many hunks as possible.

    The second value is how many of the lines are not there.
    """
    if sum(len(line) + 1 for line in lines) <= room:
        return "\n".join(lines), 0
    hunks: list[list[str]] = []
    for line in lines:
        if line.startswith("@@") or not hunks:
            hunks.append([])
        hunks[-1].append(line)
    cap = max(fair_cap([sum(len(line) + 1 for line in hunk) for hunk in hunks], room), _HUNK_CHARS)
    parts: list[str] = []
    missing = skipped = 0
    for hunk in hunks:
        if room < _LEAST_BODY_CHARS:
            skipped += len(hunk)
            continue
        taken = _first_lines(hunk, min(cap, room))
        if len(taken) < len(hunk):
            missing += len(hunk) - len(taken)
            taken.append(gap(len(hunk) - len(taken)))
        room -= sum(len(line) + 1 for line in taken)
        parts.extend(taken)
    if skipped:
        parts.append(gap(skipped))
    return "\n".join(parts), missing + skipped


def _first_lines(hunk: Sequence[str], room: int) -> list[str]:
    taken: list[str] = []
    for at, line in enumerate(hunk):
        shown = _shorten_header(line) if at == 0 and line.startswith("@@") else line
        room -= min(len(shown), _LINE_CHARS) + 1
        if room < 0 and len(taken) > 1:
            break
        taken.append(clip_line(shown, _LINE_CHARS))
    return taken


def _shorten_header(line: str) -> str:
    """Return the header of a hunk without the counts and the code behind it."""
    found = _HUNK_HEADER.match(line)
    return f"@@ -{found[1]} +{found[2]} @@" if found else line
