"""Listings: paths by folder with counts, long lists of names shortened in their middle."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.reduction.excerpt import Lines, read_lines
from holdfast.reduction.lines import indices, line_starts
from holdfast.reduction.marks import closing, plural
from holdfast.reduction.pack import line_render
from holdfast.reduction.rank import Taste, rank_lines
from holdfast.reduction.reduced import ReductionDraft, ReductionRequest, Render
from holdfast.reduction.reducers.log import reduce_log
from holdfast.reduction.share import fair_cap
from holdfast.reduction.signals import error_spans

_PATH = re.compile(r"(?:[A-Za-z]:)?[\w@%+=~./,\[\]()\\-]{1,400}(?: [\w@%+=~./,()-]{1,200}){0,3}/?$")
_LONG = re.compile(
    r"[-dlcbps][rwxsStT-]{9}[@+.]?\s+\d+\s+\S+\s+\S+\s+([\d.,]+[KMGTB]?)\s+\S+\s+\S+\s+\S+\s(.*)"
)
_STAT = re.compile(r"(\s?\S.*?)\s+\|\s+(\d+) [+-]*$")
_OTHERS_CHARS = 200
_LEAST_ROOT_CHARS = 12
_MOST_ERRORS = 100


def reduce_listing(text: str, ask: ReductionRequest) -> Render:
    """Read a list of paths, as find, ls, glob and git write it."""
    lines = read_lines(text, ask.room_chars)
    entries, others = _read(lines)
    if len(entries) < 0.6 * len(lines.texts) or lines.in_pieces or "── " in text[:4000]:
        return line_render(rank_lines(lines, Taste()), ask.reference)
    folders: dict[str, list[str]] = {}
    for folder, name in entries:
        folders.setdefault(folder, []).append(name)
    skipped = lines.total - len(lines.texts)
    root = _root(list(folders))
    rest = "\n".join(others)
    show_rest = reduce_log(rest, ReductionRequest(ask.room_chars, None))

    def render(budget_chars: int) -> ReductionDraft:
        share = max(budget_chars // 4, min(len(rest), _OTHERS_CHARS))
        opening = rest if len(rest) <= share else show_rest(share).text
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
        if not counts and opening == rest:
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


def _read(lines: Lines) -> tuple[list[tuple[str, str]], list[str]]:
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
