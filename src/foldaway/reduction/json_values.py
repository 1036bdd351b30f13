"""JSON: lists by their ends and notable rows, objects by priority keys, long strings cut.

Values are read one level at a time as slices of the source, so that what is shown is verbatim
and what is not shown is never parsed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final

import msgspec
from msgspec import Raw

from foldaway._core import Regex
from foldaway.reduction.excerpt import read_lines
from foldaway.reduction.lines import WORDS, read_raw_json
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
from foldaway.reduction.tables import choose_notable

PRIORITY_KEYS: Final = WORDS["priority_keys"]
"""Fields that are kept before others."""

MARK: Final = "…"
"""The key, or the start of an element, that stands for what was left out."""

_DEEPEST = 12
"""Values nested more deeply are only counted."""
_SMALL_CHARS = 80
"""Fields up to this size go before larger ones."""
_FLOOR_CHARS = 40
"""The least that a field or a string gets."""
_GAP_CHARS = 24
"""The room for the mark of a gap in a list."""
_ROW_CHARS, _LINE_CHARS = 240, 300
"""If there is less room for each, fewer elements of a list, or lines, are shown."""
_NAMED_KEYS_CHARS = 120
"""The room for the names of fields that are left out."""


_SECRET_FIELD: Final = Regex(
    rb'((?<!\\)"[^"\\]{0,60}(?:passw(?:or)?d|secret|api[_-]?key|private[_-]?key|credential'
    rb'|authorization|(?:access|auth|refresh)[_-]?token)[^"\\]{0,20}"\s{0,9}:\s{0,9})'
    rb'"(?:[^"\\]|\\.){8,}+"',
    re.I,
)
"""A field that is named after a secret, and its value. Not any `token`: agents go on by those of
pages."""
HIDDEN: Final = "(hidden)"


def hide_secret_fields(raw: bytes) -> bytes:
    """Return JSON with the texts of fields that are named after a secret, such as `api_key`,
    hidden.
    """
    return _SECRET_FIELD.sub(rb'\1"%b"' % HIDDEN.encode(), raw)


def reduce_json(text: str, ask: ReductionRequest) -> Render | None:
    """Read a JSON object or list; the result is valid JSON. None where the text is not."""
    root = hide_secret_fields(bytes(read_raw_json(text) or b"").strip())
    if root[:1] not in (b"{", b"["):
        return None

    def render(budget_chars: int) -> ReductionDraft:
        tally: Counter[str] = Counter()
        note = len(
            closing(tally_sentences({"item": 9999, "key": 99, "character": 99999}), ask.reference)
        )
        shown = show_value(root, max(budget_chars - note, 8), 0, tally)
        left_out = tally_sentences(tally)
        if left_out:
            shown = _with_note(shown, closing(left_out, ask.reference))
        return ReductionDraft(
            shown.decode(), left_out, {f"{noun}s": n for noun, n in tally.items()}
        )

    return render


def tally_sentences(tally: Counter[str] | dict[str, int]) -> tuple[str, ...]:
    """Return what was left out, in words."""
    return tuple(plural(tally[noun], noun) for noun in ("item", "key", "character") if tally[noun])


def _with_note(shown: bytes, note: str) -> bytes:
    """Return an object or list with one more field or element at its end."""
    text = _encode(note)
    if shown[:1] == b"{":
        mark = _find_free_mark(MARK * 3, msgspec.json.decode(shown, type=dict[str, Raw]))
        text = _encode(mark) + b":" + text
    comma = b"," if len(shown) > 2 else b""
    return shown[:-1] + comma + text + shown[-1:]


def show_value(raw: bytes, room: int, depth: int, tally: Counter[str]) -> bytes:
    """Return a value in about `room` bytes; what is left out is added to `tally`."""
    if len(raw) <= 4 * room + 64:
        compact = msgspec.json.format(raw, indent=-1)
        if len(compact) <= room:
            return compact
    match raw[:1]:
        case b"{":
            return _show_object(raw, room, depth, tally)
        case b"[":
            items = [bytes(item) for item in msgspec.json.decode(raw, type=list[Raw])]
            if depth >= _DEEPEST:
                tally["item"] += len(items)
                return _encode([f"{MARK} {plural(len(items), 'item')}"])
            return b"[" + b",".join(list_parts(items, room - 2, depth, tally)) + b"]"
        case b'"':
            return _show_string(raw, room, tally)
        case _:
            return raw


def list_parts(items: Sequence[bytes], room: int, depth: int, tally: Counter[str]) -> list[bytes]:
    """Return the notable elements of a list in about `room` bytes, gaps as strings among them."""
    sizes = [len(item) + 1 for item in items]
    mean = sum(sizes) // max(len(sizes), 1)
    cap = fair_cap(sizes, room)
    kept = list(range(len(items)))
    if cap < min(_ROW_CHARS, mean):
        scalars = items[0][:1] != b"{"
        each = min(_ROW_CHARS, mean) + (2 if scalars else _GAP_CHARS)
        kept = choose_notable(items, max((room - _GAP_CHARS) // each, 1))
        gaps = 1 + sum(1 for one, two in pairwise(kept) if two > one + 1)
        cap = fair_cap([sizes[at] for at in kept], room - _GAP_CHARS * gaps)
    parts: list[bytes] = []
    expected = 0
    for at in [*kept, len(items)]:
        if at > expected:
            parts.append(_gap(items[expected:at]))
            tally["item"] += at - expected
        if at < len(items):
            parts.append(show_value(items[at], max(cap, 8), depth + 1, tally))
        expected = at + 1
    return parts


def _gap(items: Sequence[bytes]) -> bytes:
    """Return the string that stands for elements; of numbers, with the smallest and largest."""
    words = f"{MARK} {plural(len(items), 'item')}"
    if len(items) > 2 and all(item[:1] in b"-0123456789" for item in items[:50]):
        try:
            low, high = min(items, key=float), max(items, key=float)
        except ValueError:
            return _encode(words)
        if len(low) + len(high) <= _SMALL_CHARS:
            words += f", {low.decode()} to {high.decode()}"
    return _encode(words)


def _show_object(raw: bytes, room: int, depth: int, tally: Counter[str]) -> bytes:
    fields = {
        name: bytes(value) for name, value in msgspec.json.decode(raw, type=dict[str, Raw]).items()
    }
    if depth >= _DEEPEST:
        tally["key"] += len(fields)
        return _encode({MARK: plural(len(fields), "key")})
    kept = _choose_keys(fields, room - _NAMED_KEYS_CHARS)
    overhead = sum(len(name) + 4 for name in kept)
    dropped = [name for name in fields if name not in kept]
    if dropped:
        overhead += _NAMED_KEYS_CHARS
    cap = fair_cap([len(fields[name]) for name in kept], max(room - overhead - 2, 0))
    parts = [
        _encode(name) + b":" + show_value(value, max(cap, 8), depth + 1, tally)
        for name, value in fields.items()
        if name in kept
    ]
    if dropped:
        tally["key"] += len(dropped)
        names = clip_line(", ".join(dropped), _NAMED_KEYS_CHARS - 30)
        words = f"{plural(len(dropped), 'key')}: {names}"
        parts.append(_encode(_find_free_mark(MARK, fields)) + b":" + _encode(words))
    return b"{" + b",".join(parts) + b"}"


def _find_free_mark(mark: str, fields: Collection[str]) -> str:
    """Return a mark that is no key yet: the object may have been reduced before."""
    while mark in fields:
        mark += MARK
    return mark


def _choose_keys(fields: dict[str, bytes], room: int) -> set[str]:
    """Return the keys that fit with at least a little of their values, the best first."""
    ranked = sorted(
        fields, key=lambda name: (name not in PRIORITY_KEYS, len(fields[name]) > _SMALL_CHARS)
    )
    kept: set[str] = set()
    for name in ranked:
        room -= min(len(fields[name]), _FLOOR_CHARS) + len(name) + 4
        if room < 0 and kept:
            break
        kept.add(name)
    return kept


def _show_string(raw: bytes, room: int, tally: Counter[str]) -> bytes:
    value = msgspec.json.decode(raw, type=str)
    if value.count("\n") > 3 and room > 2 * _ROW_CHARS:
        shown = reduce_log(value, ReductionRequest(room, None))(room * 9 // 10).text
    else:
        shown = clip_line(value, max(room - 2, _FLOOR_CHARS))
    if len(shown) >= len(value):
        return raw
    tally["character"] += len(value) - len(shown)
    return _encode(shown)


def _encode(value: object) -> bytes:
    return msgspec.json.encode(value)


def reduce_json_lines(text: str, ask: ReductionRequest) -> Render | None:
    """Read lines of JSON; every line of the result is valid JSON. None if there are none."""
    lines = read_lines(text, ask.room_chars)
    if lines.in_pieces:
        rows = [hide_secret_fields(_ensure_json(line)) for line in text.split("\n") if line.strip()]
        places, total = list(range(len(rows))), len(rows)
    else:
        full = [at for at, line in enumerate(lines.texts) if line.strip()]
        rows = [hide_secret_fields(_ensure_json(lines.texts[at])) for at in full]
        places, total = [lines.places[at] for at in full], lines.total
    if not rows:
        return None

    def render(budget_chars: int) -> ReductionDraft:
        tally: Counter[str] = Counter()
        room = budget_chars - 80 - len(ask.reference or "")
        mean = sum(map(len, rows)) // len(rows)
        kept = choose_notable(rows, max(room // min(mean + 16, _LINE_CHARS), 1))
        cap = fair_cap([len(rows[at]) for at in kept], room - 16 * len(kept))
        parts: list[bytes] = []
        missing = expected = 0
        for at in kept:
            if places[at] > expected:
                parts.append(_encode(gap(places[at] - expected)))
                missing += places[at] - expected
            parts.append(show_value(rows[at], max(cap, 8), 0, tally))
            expected = places[at] + 1
        if expected < total:
            parts.append(_encode(gap(total - expected)))
            missing += total - expected
        left_out = (plural(missing, "line"),) if missing else ()
        left_out += tally_sentences(tally)
        if left_out:
            parts.append(_encode(closing(left_out, ask.reference)))
        counts = {f"{noun}s": n for noun, n in (*tally.items(), ("line", missing)) if n}
        return ReductionDraft(b"\n".join(parts).decode(), left_out, counts)

    return render


def _ensure_json(line: str) -> bytes:
    """Return a line as JSON: itself, or a string of it if it is none."""
    raw = line.strip().encode("utf-8", "replace")
    value = read_raw_json(raw)
    return bytes(value) if value is not None else _encode(line.encode("utf-8", "replace").decode())
