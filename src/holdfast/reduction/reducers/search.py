"""Search results: every file with its count, then the first matches of each, in turn."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from holdfast.reduction.excerpt import Lines, read_lines
from holdfast.reduction.marks import closing, gap, plural, shortened
from holdfast.reduction.pack import line_render
from holdfast.reduction.rank import Taste, rank_lines
from holdfast.reduction.reduced import ReductionDraft, ReductionRequest, Render
from holdfast.reduction.reducers.log import reduce_log

__all__ = ["read_matches", "reduce_search"]

_MATCH = re.compile(r"([^\s:][^:\n]{0,300}?):(\d{1,7}):(?:(\d{1,5}):)?")
_CONTEXT = re.compile(r"([^\s:][^:\n]{0,300}?)-(\d{1,7})-")
_BARE = re.compile(r"([^\s:]{0,200}/[^\s:]{1,200}):")
_NUMBERED = re.compile(r"(\d{1,7}):")
_HEADING = re.compile(r"[^\s:]{1,300}$")

_MATCH_CHARS = 200
_PLACES = 12
_OTHERS_CHARS = 200


class _File(Struct):
    path: str
    found: dict[str, list[str]]
    """What was found, and where: the same text at several places is one match with many."""

    @property
    def total(self) -> int:
        return sum(map(len, self.found.values()))


def reduce_search(text: str, ask: ReductionRequest, noun: str = "match") -> Render:
    """Read the matches of grep, ripgrep and their like, or what a linter has to say by file."""
    lines = read_lines(text, ask.room_chars)
    files, others, context = _read(lines)
    if not files or lines.in_pieces:
        return line_render(rank_lines(lines, Taste()), ask.reference)
    total = sum(file.total for file in files)
    matches = [_matches(file) for file in files]
    titled = [(file.path, found) for file, found in zip(files, matches, strict=True)]
    rest = "\n".join(others)
    show_rest = reduce_log(rest, ReductionRequest(ask.room_chars, None))
    unread = (
        "" if len(lines.texts) == lines.total else f" in the parts read of {lines.total:,} lines"
    )

    def render(budget_chars: int) -> ReductionDraft:
        head = f"{plural(total, noun)} in {plural(len(files), 'file')}{unread}"
        share = max(budget_chars // 4, min(len(rest), _OTHERS_CHARS))
        opening = rest if len(rest) <= share else show_rest(share).text
        room = budget_chars - len(head) - len(opening) - 90 - len(ask.reference or "")
        taken = _taken(titled, room)
        named = [at for at, count in enumerate(taken) if count >= 0]
        body = [_show_file(files[at], matches[at][: taken[at]]) for at in named]
        shown = sum(
            len(places) for at in named for places in list(files[at].found.values())[: taken[at]]
        )
        missing = {
            "context lines": context,
            plural(2, noun)[2:]: total - shown,
            "files": len(files) - len(named),
            "other lines": max(len(others) - opening.count("\n") - 1, 0) if others else 0,
        }
        counts = {name: count for name, count in missing.items() if count}
        if missing["files"]:
            body.append(gap(missing["files"], "file"))
        left_out = tuple(_sentence(name, count) for name, count in counts.items())
        tail = [closing(left_out, ask.reference)] if left_out else []
        opened = [opening] if opening else []
        return ReductionDraft("\n".join([*opened, head, *body, *tail]), left_out, counts)

    return render


def read_matches(lines: Lines) -> list[tuple[str, int, list[str]]]:
    """Return each file with how much was found in it, and the matches as they are shown."""
    return [(file.path, file.total, _matches(file)) for file in _read(lines)[0]]


def _sentence(name: str, count: int) -> str:
    return plural(count, {"matches": "match"}.get(name, name[:-1]))


def _read(lines: Lines) -> tuple[list[_File], list[str], int]:
    """Return the files with their matches, the lines that are none, and how much was context."""
    files: dict[str, _File] = {}
    others: list[str] = []
    heading = ""
    context = 0
    for line in lines.texts:
        found = _MATCH.match(line)
        if found:
            place = f"{found[2]}:{found[3]}" if found[3] else found[2]
            _add(files, found[1], place, line[found.end() :].strip())
            continue
        if line == "--" or not line.strip():
            heading = "" if not line.strip() else heading
            continue
        numbered = _NUMBERED.match(line)
        if numbered:
            _add(files, heading, numbered[1], line[numbered.end() :].strip())
        elif _CONTEXT.match(line):
            context += 1
        elif bare := _BARE.match(line):
            _add(files, bare[1], "", line[bare.end() :].strip())
        elif _HEADING.match(line) and ("/" in line or "." in line):
            heading = line
            files.setdefault(line, _File(line, {}))
        else:
            others.append(line)
    return [file for file in files.values() if file.path or file.found], others, context


def _add(files: dict[str, _File], path: str, place: str, text: str) -> None:
    file = files.get(path)
    if file is None:
        file = files[path] = _File(path, {})
    file.found.setdefault(text, []).append(place)


def _matches(file: _File) -> list[str]:
    """Return the matches as they are shown, e.g. "12, 17: return None"."""
    shown: list[str] = []
    for text, places in file.found.items():
        more = f", … {len(places) - _PLACES} more" if len(places) > _PLACES else ""
        where = ", ".join(places[:_PLACES]) + more if places[0] else ""
        shown.append(shortened(f"{where}: {text}" if where else text, _MATCH_CHARS))
    return shown


def _taken(files: Sequence[tuple[str, list[str]]], room: int) -> list[int]:
    """Return how many matches of each file fit, -1 for a file that is not even named.

    Paths first; then the first match of every file, then the second, and so on.
    """
    taken = [-1] * len(files)
    for at, (path, _) in enumerate(files):
        room -= len(path) + 8
        if room < 0:
            break
        taken[at] = 0
    open_files = [at for at, (_, matches) in enumerate(files) if taken[at] == 0 and matches]
    while open_files:
        still: list[int] = []
        for at in open_files:
            matches = files[at][1]
            size = len(matches[taken[at]]) + 3
            if size > room:
                continue
            room -= size
            taken[at] += 1
            if taken[at] < len(matches):
                still.append(at)
        open_files = still
    return taken


def _show_file(file: _File, matches: Sequence[str]) -> str:
    total = file.total
    title = [f"{file.path} [{total:,}]" if total != 1 else file.path] if file.path else []
    return "\n".join([*title, *(f"  {match}" for match in matches)])
