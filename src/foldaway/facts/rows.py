"""Structured data as lines: each item of a list or table on one, its name beside its id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias, cast

import msgspec

from foldaway._core import Regex, read_loose_value

ROW_CHARS = 600
"""Of the line of one item; chosen, an order with its items and payments."""
_SHARED_CHARS = 240
"""Of a line that short rows of a table share; chosen, as a line of any other text."""
_MOST_READ_CHARS = 400_000
"""Of data that is not valid JSON; chosen, it bounds the time."""
_MOST_FIELDS = 200
"""Of one item; chosen, a line has room for fewer."""
_MOST_DEPTH = 12
"""Values nested deeper are not read; chosen, it bounds recursion."""
_TEXT_CHARS = 120
"""A longer value is text, of which the beginning is told; chosen."""
_SHORT_CHARS = 40
"""A longer value is told after the others; chosen."""
_LEAST_CHARS = 60
"""A part of a list of plain values is told if there is room for this much; chosen."""
_AROUND_CHARS = 4
"""What stands between a label and its value, and between two fields."""
_ID = Regex(r"(?=[\d_-]*[A-Za-z])(?=\D*\d)[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*\Z")
_ID_KEY = Regex(r"(?:.*[_\W]|\A)(?i:ids?|uuid|key|number|code|sha|hash)\Z|.*[a-z]I[dD]s?\Z")
_CODE = Regex(r"[A-Z]{3,8}\Z")
_BARE = Regex(r"(?:.*_)?name\Z|title\Z|email\Z|date\Z")
"""Fields whose values say what they are."""
_EMPTY = frozenset({"null", "None", "", "[]", "{}"})
_decoder = msgspec.json.Decoder(float_hook=str)
"""Numbers stay as they are written: 1.10 is not 1.1."""

_Items: TypeAlias = Sequence[tuple[str, object]]
"""Items of a list or table, each with its key in the table or ""."""


def data_rows(text: str, most: int, row_chars: int = ROW_CHARS) -> list[str]:
    """Return at most `most` lines for structured data, in its order; none for any other text.

    JSON, Python's own form of it, rows of a table, and either of them cut off at the end. Each item
    of a list or table has a line, and says which of how many it is. A line has the worthiest fields
    of its item, up to `row_chars` characters; the items of an item that do not fit follow it.
    """
    return value_rows(_read(text), most, row_chars)


def value_rows(value: object, most: int, row_chars: int = ROW_CHARS) -> list[str]:
    """Return the same for data that was read already."""
    if not isinstance(value, (dict, list)):
        return []
    found = (row for row in _rows(cast("object", value), "", row_chars, 0) if row)
    return list(islice(found, most))


def shorten_row(row: str, most: int) -> str:
    """Return a row in at most `most` characters, cut between fields; each leg of a pair in its
    share. The worthiest fields stand first.
    """
    if len(row) <= most:
        return row
    parts = row.split(" | ") if "; " not in row else [row]
    share = max(most // len(parts) - len(" | "), _LEAST_CHARS)
    kept: list[str] = []
    for part in parts:
        words = part if len(part) <= share else _first_fields(part, share)
        most -= len(words) + len(" | ")
        if most < 0 and kept:
            return " | ".join((*kept, "…"))
        kept.append(words)
    return " | ".join(kept)


def _first_fields(text: str, most: int) -> str:
    ends = [text.rfind(mark, most // 3, most) for mark in ("; ", " | ", ", ", " ")]
    end = ends[0] if ends[0] > 0 else max(ends)
    return f"{text[:end]} …" if end > 0 else f"{text[: most - 1]}…"


def looks_like_id(words: str) -> bool:
    """Return whether a value is an id by its shape: letters and digits, no blanks."""
    return _ID.match(words) is not None


def _read(text: str) -> object:
    if text[:64].lstrip()[:1] not in ("{", "[", "("):
        return None
    try:
        return _decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError, ValueError):
        return read_loose_value(text[:_MOST_READ_CHARS])


def _rows(value: object, lead: str, room: int, depth: int) -> Iterator[str]:
    """Yield the lines of a value; `lead` is what it is called."""
    if depth > _MOST_DEPTH:
        return
    items = _items_of(value)
    if items is not None:
        at = 0
        while at < len(items):
            stop = _short_until(items, at)
            key, item = items[at] if stop == at + 1 else ("", [row for _, row in items[at:stop]])
            yield from _item_rows(
                item, _joined(lead, _place(at, stop, len(items)), key), room, depth
            )
            at = stop
        return
    only = _only_field(value)
    if only is not None:
        yield from _rows(only[1], _joined(lead, only[0]), room, depth + 1)
        return
    yield from _item_rows(value, lead, room, depth)


def _place(at: int, stop: int, count: int) -> str:
    """Return which of how many items a line tells, "" if it tells all of them."""
    if stop - at == count:
        return ""
    return f"({at + 1} of {count:,})" if stop == at + 1 else f"({at + 1} to {stop} of {count:,})"


def _short_until(items: _Items, at: int) -> int:
    """Return where a line ends that begins with this item: short rows of a table share one."""
    room = _SHARED_CHARS
    stop = at
    while stop < len(items) and not items[stop][0] and _is_table_row(items[stop][1]):
        room -= len(_inline(items[stop][1], _SHARED_CHARS, 0)[0]) + len(" | ")
        if room < 0:
            break
        stop += 1
    return max(stop, at + 1)


def _item_rows(item: object, lead: str, room: int, depth: int) -> Iterator[str]:
    """Yield the line of one item, and those of what did not fit."""
    moved: list[tuple[str, object]] = []
    if isinstance(item, dict):
        fields = cast("Mapping[str, object]", item)
        words, left_out = _object(fields, room, depth, "; ", moved, known=lead)
        words += "; …" if left_out else ""
    else:
        words = _inline(item, room, depth)[0]
    mark = " " if lead.endswith(")") else ": "
    yield f"{lead}{mark}{words}" if lead and words else words
    owner = _id_of(cast("object", item))
    for key, below in moved:
        yield from _rows(below, _joined(owner, key[:_TEXT_CHARS]), room, depth + 1)


def _object(
    fields: Mapping[str, object],
    room: int,
    depth: int,
    between: str,
    moved: list[tuple[str, object]],
    known: str = "",
) -> tuple[str, int]:
    """Return the fields of an item as words, and how many are left out: the worthiest have the
    room. Items among them that do not fit whole go to `moved`. What `known` says is not told again.
    """
    rows = [
        (key, below, words)
        for key, below in islice(fields.items(), _MOST_FIELDS)
        if (words := _plain(below)) not in _EMPTY
        and not (known and known.endswith(words) and not _is_nested(below))
    ]
    worths = [_worth(*row) for row in rows]
    told: dict[int, str] = {}
    left_out: list[int] = []
    for at in sorted(range(len(rows)), key=worths.__getitem__, reverse=True):
        key, below, words = rows[at]
        left = room - len(key) - _AROUND_CHARS
        is_whole = left > 0
        if not is_whole:
            words = ""
        elif _is_nested(below):
            words, is_whole = _inline(below, left, depth + 1)
        is_part = not is_whole and _is_plain_list(below) and left >= _LEAST_CHARS
        if (is_whole and len(words) <= left) or is_part or not (told or _is_nested(below)):
            told[at] = _field(key, below, words, between)
            room -= len(told[at])
        else:
            left_out.append(at)
    moved += [rows[at][:2] for at in sorted(left_out) if _has_items(rows[at][1])]
    count = sum(not _has_items(rows[at][1]) for at in left_out)
    return "".join(told.values()).removeprefix(between).lstrip(), count


def _field(key: str, value: object, words: str, between: str) -> str:
    """Return a field as it follows another; without its label if its value says what it is."""
    label = key[:_TEXT_CHARS]
    if isinstance(value, dict):
        return f"{between}{label} ({words})"
    if not label or (not isinstance(value, list) and _is_bare(key, words)):
        return f" {words}"
    return f"{between}{label}: {words}"


def _is_bare(key: str, words: str) -> bool:
    """Return whether a value says what it is: an id, a code, a name, a date."""
    if looks_like_id(words) or _CODE.match(words):
        return True
    return _BARE.match(key) is not None


def _inline(value: object, room: int, depth: int) -> tuple[str, bool]:
    """Return a value in few words, and whether it is told whole."""
    if depth > _MOST_DEPTH:
        return "…", False
    if isinstance(value, dict):
        moved: list[tuple[str, object]] = []
        fields = cast("Mapping[str, object]", value)
        table = _items_of(fields)
        if table is not None:
            return _listed(table, room, depth)
        words, left_out = _object(fields, room, depth, ", ", moved)
        return words, not moved and not left_out
    if isinstance(value, list):
        return _listed([("", one) for one in cast("list[object]", value)], room, depth)
    return _plain(value), True


def _listed(items: _Items, room: int, depth: int) -> tuple[str, bool]:
    """Return items in few words, as many as there is room for, and whether these are all."""
    shown: list[str] = []
    is_plain = all(_is_single(item) or not _is_nested(item) for _, item in items)
    between = ", " if is_plain else " | "
    left, cut_short = room, 0
    for key, item in items:
        if isinstance(item, dict):
            fields = cast("Mapping[str, object]", item)
            most = max(room // len(items), _LEAST_CHARS)
            moved: list[tuple[str, object]] = []
            words, left_out = _object(fields, most, depth + 1, ", ", moved, known=key)
            words += ", …" if left_out or moved else ""
            cut_short += left_out + len(moved)
        else:
            words, is_whole = _inline(item, left, depth + 1)
            cut_short += not is_whole
        words = f"{key}: {words}" if key else words
        left -= len(words) + len(between)
        if left < 0 and shown:
            break
        shown.append(words)
    count = "" if len(shown) == len(items) else f" ({len(shown)} of {len(items):,})"
    return between.join(shown) + count, not count and not cut_short


def _items_of(value: object) -> _Items | None:
    """Return the items that have lines of their own, None of a value that is one item."""
    if isinstance(value, list):
        rows = cast("list[object]", value)
        if rows and all(map(_is_nested, rows)) and not all(map(_is_single, rows)):
            return [("", row) for row in rows]
    elif isinstance(value, dict):
        fields = cast("Mapping[str, object]", value)
        if len(fields) > 1 and all(isinstance(below, dict) for below in fields.values()):
            return list(fields.items())
    return None


def _only_field(value: object) -> tuple[str, object] | None:
    """Return the field of an object that has only one, with items or fields in it."""
    if isinstance(value, dict) and len(cast("Mapping[str, object]", value)) == 1:
        [(key, below)] = cast("Mapping[str, object]", value).items()
        if _is_nested(below):
            return key, below
    return None


def _is_nested(value: object) -> bool:
    return isinstance(value, (dict, list)) and bool(cast("object", value))


def _is_single(value: object) -> bool:
    """Return whether a value is a list with one plain value, as a table with one column gives."""
    row = cast("list[object]", value) if isinstance(value, list) else []
    return len(row) == 1 and not _is_nested(row[0])


def _is_table_row(value: object) -> bool:
    """Return whether a value is a list of plain values, or of such as `Decimal('1.20')`."""
    rows = cast("list[object]", value) if isinstance(value, list) else [{"": value}]
    return all(_is_single(one) or not _is_nested(one) for one in rows)


def _is_plain_list(value: object) -> bool:
    return isinstance(value, list) and not any(map(_is_nested, cast("list[object]", value)))


def _has_items(value: object) -> bool:
    return _is_nested(value) and not _is_plain_list(value)


def _id_of(item: object) -> str:
    """Return the id of an item, for the lines of what belongs to it."""
    if not isinstance(item, dict):
        return ""
    rows = cast("Mapping[str, object]", item).items()
    ids = (_plain(below) for key, below in rows if not _is_nested(below) and _ID_KEY.match(key))
    return next(filter(looks_like_id, ids), "")


def _worth(key: str, value: object, words: str) -> int:
    """Return how likely a field is needed again: ids first, long texts last."""
    if _is_nested(value):
        return 1
    if len(words) > _SHORT_CHARS:
        return 0
    return 2 if looks_like_id(words) or _ID_KEY.match(key) else 1


def _joined(*words: str) -> str:
    return " ".join(word for word in words if word)


def _plain(value: object) -> str:
    """Return a plain value as JSON writes it, on one line; of a text its beginning; of items only
    whether there are any.
    """
    if isinstance(value, str):
        words = value
        if not words.isprintable():
            words = "".join([sign for sign in " ".join(value.split()) if sign.isprintable()])
        if len(words) <= _TEXT_CHARS:
            return words
        start = words[:_TEXT_CHARS].rpartition(" ")[0]
        return f"{start}…" if start else "…"
    if value is None:
        return "null"
    if isinstance(value, (dict, list)):
        return "…" if cast("object", value) else ""
    return str(value).lower() if isinstance(value, bool) else str(value)
