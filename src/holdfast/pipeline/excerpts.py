"""A part of one text that is too long: its fields where it is data, otherwise its two ends."""

from __future__ import annotations

from holdfast.pipeline.dialogue.fields import Field, fields
from holdfast.pipeline.ledger.lines import whole_words

_MOST_FIELDS = 400
_AROUND_CHARS = 2
"""What stands between two fields."""
_LINE_CHARS = 200
"""Data whose lines are this long on average is told by its fields."""


def excerpted(text: str, keep_chars: int) -> str:
    """Return about `keep_chars` of a text, cut between words, and how much was left out."""
    shown = _worthiest(text, keep_chars)
    left_out = f"[… {len(text) - keep_chars:,} characters left out …]"
    if shown:
        return f"{shown}\n{left_out}"
    head, tail = keep_chars * 2 // 3, keep_chars - keep_chars * 2 // 3
    first = whole_words(text[:head], head)
    last = whole_words(f"…{text[len(text) - tail :]}", tail + 2)
    return f"{first}\n{left_out}\n{last}"


def _worthiest(text: str, room: int) -> str:
    """Return the fields of a text that is data which are likely needed again, "" of another."""
    if text.count("\n") * _LINE_CHARS > len(text):
        return ""
    found: dict[str, list[str]] = {}
    for field in fields(text, _MOST_FIELDS):
        name = _name(field)
        known = found.get(name)
        if known is not None and field.value in known:
            continue
        room -= len(field.value) + _AROUND_CHARS + (len(name) + _AROUND_CHARS if not known else 0)
        if room < 0:
            break
        found.setdefault(name, []).append(field.value)
    return "; ".join(
        f"{name}: {', '.join(values)}" if name else ", ".join(values)
        for name, values in found.items()
    )


def _name(field: Field) -> str:
    return field.path.rpartition(".")[2].partition("[")[0]
