"""What is found by file: search results with the first matches of each file, and lists of paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from foldaway._core import Regex
from foldaway.reduction.excerpt import Lines, read_lines
from foldaway.reduction.lines import indices, line_starts
from foldaway.reduction.ranking import line_render, rank_lines, reduce_log
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
from foldaway.reduction.signals import error_spans

_MATCH = Regex(r"([^\s:][^:\n]{0,300}?):(\d{1,7}):(?:(\d{1,5}):)?")
_CONTEXT = Regex(r"([^\s:][^:\n]{0,300}?)-(\d{1,7})-")
_BARE = Regex(r"([^\s:]{0,200}/[^\s:]{1,200}):")
_NUMBERED = Regex(r"(\d{1,7}):")
_HEADING = Regex(r"[^\s:]{1,300}$")

_MATCH_CHARS = 200
"""A longer match is cut in its middle."""
_PLACES = 12
"""Of a text that was found more often, the other places are counted."""
_OTHERS_CHARS = 200
"""Lines that are no matches or entries get at least this much, and at least a quarter."""


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
    files, others, context = _read_search(lines)
    if not files or lines.in_pieces:
        return line_render(rank_lines(lines), ask.reference)
    total = sum(file.total for file in files)
    matches = [_show_matches(file) for file in files]
    titled = [(file.path, found) for file, found in zip(files, matches, strict=True)]
    show_others = _render_others(others, ask)
    unread = (
        "" if len(lines.texts) == lines.total else f" in the parts read of {lines.total:,} lines"
    )

    def render(budget_chars: int) -> ReductionDraft:
        head = f"{plural(total, noun)} in {plural(len(files), 'file')}{unread}"
        opening = show_others(budget_chars)
        room = budget_chars - len(head) - len(opening) - 90 - len(ask.reference or "")
        taken = _share_room(titled, room)
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


def _render_others(others: Sequence[str], ask: ReductionRequest) -> Callable[[int], str]:
    """Return what gives the lines that are no matches or entries, within their share."""
    rest = "\n".join(others)
    reduced = reduce_log(rest, ReductionRequest(ask.room_chars, None))

    def show(budget_chars: int) -> str:
        share = max(budget_chars // 4, min(len(rest), _OTHERS_CHARS))
        return rest if len(rest) <= share else reduced(share).text

    return show


def read_matches(lines: Lines) -> list[tuple[str, int, list[str]]]:
    """Return each file with how much was found in it, and the matches as they are shown."""
    return [(file.path, file.total, _show_matches(file)) for file in _read_search(lines)[0]]


def _sentence(name: str, count: int) -> str:
    return plural(count, {"matches": "match"}.get(name, name[:-1]))


def _read_search(lines: Lines) -> tuple[list[_File], list[str], int]:
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


def _show_matches(file: _File) -> list[str]:
    """Return the matches as they are shown, e.g. "12, 17: return None"."""
    shown: list[str] = []
    for text, places in file.found.items():
        more = f", … {len(places) - _PLACES} more" if len(places) > _PLACES else ""
        where = ", ".join(places[:_PLACES]) + more if places[0] else ""
        shown.append(clip_line(f"{where}: {text}" if where else text, _MATCH_CHARS))
    return shown


def _share_room(files: Sequence[tuple[str, list[str]]], room: int) -> list[int]:
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


_PATH = Regex(r"(?:[A-Za-z]:)?[\w@%+=~./,\[\]()\\-]{1,400}(?: [\w@%+=~./,()-]{1,200}){0,3}/?$")
_LONG = Regex(
    r"[-dlcbps][rwxsStT-]{9}[@+.]?\s+\d+\s+\S+\s+\S+\s+([\d.,]+[KMGTB]?)\s+\S+\s+\S+\s+\S+\s(.*)"
)
_STAT = Regex(r"(\s?\S.*?)\s+\|\s+(\d+) [+-]*$")
_LEAST_ROOT_CHARS = 12
"""A shorter common folder is not worth a line of its own."""
_MOST_ERRORS = 100
"""How many lines that tell of a failure are kept apart from the entries."""


def reduce_listing(text: str, ask: ReductionRequest) -> Render:
    """Read a list of paths, as find, ls, glob and git write it."""
    lines = read_lines(text, ask.room_chars)
    entries, others = _read_listing(lines)
    if len(entries) < 0.6 * len(lines.texts) or lines.in_pieces or "── " in text[:4000]:
        return line_render(rank_lines(lines), ask.reference)
    folders: dict[str, list[str]] = {}
    for folder, name in entries:
        folders.setdefault(folder, []).append(name)
    skipped = lines.total - len(lines.texts)
    root = _root(list(folders))
    show_others = _render_others(others, ask)

    def render(budget_chars: int) -> ReductionDraft:
        opening = show_others(budget_chars)
        room = budget_chars - len(opening) - 90 - len(ask.reference or "") - len(root)
        room -= sum(len(folder) - len(root) + 12 for folder in folders)
        wants = [sum(len(name) + 2 for name in names) for names in folders.values()]
        cap = fair_cap(wants, max(room, 0))
        parts = [part for part in (opening, root and f"under {root}") if part]
        missing, unnamed, used = skipped, 0, 0
        for folder, names in folders.items():
            if used > budget_chars:
                unnamed += 1
                missing += len(names)
                continue
            shown, absent = _names(names, cap)
            missing += absent
            parts.append(_folder(folder[len(root) :], len(names), absent) + shown)
            used += len(parts[-1]) + 1
        counts = {"entries": missing, "folders": unnamed}
        counts = {name: count for name, count in counts.items() if count}
        if not counts and opening == "\n".join(others):
            return ReductionDraft("\n".join(parts), (), {})
        left_out = (f"{plural(missing, 'entry')} of {len(entries) + skipped:,}",)
        if unnamed:
            left_out += (plural(unnamed, "folder"),)
        return ReductionDraft(
            "\n".join([*parts, closing(left_out, ask.reference)]), left_out, counts
        )

    return render


def _root(folders: Sequence[str]) -> str:
    """Return the folder that all folders are in, "" where naming it once saves nothing."""
    if len(folders) < 3:
        return ""
    low, high = min(folders), max(folders)
    same = next((at for at, char in enumerate(low) if high[at : at + 1] != char), len(low))
    root = low[: low.rfind("/", 0, same) + 1]
    return root if len(root) >= _LEAST_ROOT_CHARS else ""


def _read_listing(lines: Lines) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the entries as folder and name, and the lines that are none."""
    entries: list[tuple[str, str]] = []
    others: list[str] = []
    folder = ""
    failed = set(
        indices(line_starts(lines.texts), error_spans("\n".join(lines.texts), _MOST_ERRORS))
    )
    for at, line in enumerate(lines.texts):
        if not line.strip():
            continue
        if at in failed:
            others.append(line)
            continue
        long = _LONG.match(line)
        stat = None if long else _STAT.match(line)
        if long:
            entries.append((folder, f"{long[2]} ({long[1]})"))
        elif stat:
            entries.append(("", f"{stat[1].strip()} | {stat[2]}"))
        elif line.endswith(":") and "/" in line and _PATH.match(line[:-1]):
            folder = line[:-1]
        elif _PATH.match(line):
            parent, slash, name = line.rstrip("/").rpartition("/")
            tail = "/" if line.endswith("/") else ""
            entries.append((f"{parent}{slash}" or folder, name + tail))
        else:
            others.append(line)
    return entries, others


def _folder(folder: str, count: int, absent: int) -> str:
    if count == 1 and not absent and folder.endswith("/"):
        return folder
    counted = f"[{count:,}]" if absent else ""
    words = f"{folder} {counted}".strip()
    return f"{words}: " if words else ""


def _names(names: Sequence[str], room: int) -> tuple[str, int]:
    """Return as many names as fit, from both ends, and how many do not."""
    if sum(len(name) + 2 for name in names) <= room:
        return ", ".join(names), 0
    first: list[str] = []
    last: list[str] = []
    left = room - 12
    at, end = 0, len(names)
    while at < end:
        name = names[at] if len(first) <= 2 * len(last) else names[end - 1]
        left -= len(name) + 2
        if left < 0:
            break
        if len(first) <= 2 * len(last):
            first.append(name)
            at += 1
        else:
            last.append(name)
            end -= 1
    return ", ".join([*first, f"… {end - at:,} more", *reversed(last)]), end - at
