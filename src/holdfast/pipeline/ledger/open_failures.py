"""The failures that no success resolved, as entries that fit into their room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.pipeline.ledger.fact import Fact, Ledger
from holdfast.pipeline.ledger.lines import cut
from holdfast.pipeline.summary import Entry, Piece, of_pieces

_ERROR_FORMS = ((24, 70), (5, 70), (3, 70), (2, 40), (1, 24))
"""How many lines of each open failure are shown, and how much of its name: the first that fits."""
_ENTRY_CHARS = 16
_FIRST_LINE = 135.0
"""Before rules (130) and the asks between the first and the newest (128)."""
_OTHER_LINES = 110.0


def open_failures(ledger: Ledger, room: float) -> list[Entry]:
    """Return the open failures: each with all its lines where there is room for that.

    Otherwise every one has its first line before any has a second, and short names; in the end
    those of one tool stand together.
    """
    rows, found = list(ledger.errors.items()), list[Entry]()
    for most, name_chars in _ERROR_FORMS:
        found = [_error(key, facts[:most], name_chars, room / 2) for key, facts in rows]
        if _chars(found) <= room:
            return found
    return _by_tool(rows, room) if len(rows) > 1 else found


def _chars(entries: Iterable[Entry]) -> int:
    return sum(len(entry.text) + _ENTRY_CHARS for entry in entries)


def _error(key: str, facts: tuple[Fact, ...], name_chars: int, room: float) -> Entry:
    """Return a failure with as many of its lines as fit; its first line goes last."""
    lines = [facts[0].text]
    room -= len(lines[0])
    for fact in facts[1:]:
        room -= len(fact.text)
        if room < 0:
            break
        lines.append(fact.text)
    name = f"`{cut(key, name_chars)}`" if key and not lines[0].startswith(key) else ""
    return _failure(name, lines, facts[0].source)


def _failure(name: str, lines: Sequence[str], source: str, *, first_alone: bool = True) -> Entry:
    text = "\n".join(lines)
    if not name:
        return Entry(text, source, _FIRST_LINE)
    pieces = [
        Piece(line, _FIRST_LINE if not number or not first_alone else _OTHER_LINES - number / 100)
        for number, line in enumerate(lines)
    ]
    return of_pieces(name, tuple(pieces), source)


def _by_tool(rows: Sequence[tuple[str, tuple[Fact, ...]]], room: float) -> list[Entry]:
    """Return the first lines of all failures under the first word of what failed.

    Each tool has the same room: the newest of its failures.
    """
    tools: dict[str, dict[str, str]] = {}
    for key, facts in rows:
        held = tools.setdefault(key.partition(" ")[0], {})
        held.pop(facts[0].text, None)
        held[facts[0].text] = facts[0].source
    return [
        _failure(f"`{name}`" if name else "", _newest(list(lines), room / len(tools)),
                 list(lines.values())[-1], first_alone=False)
        for name, lines in tools.items()
    ]  # fmt: skip


def _newest(lines: list[str], room: float) -> list[str]:
    """Return the last lines that fit, one at least."""
    first = len(lines) - 1
    room -= len(lines[first])
    while first and (room := room - len(lines[first - 1])) >= 0:
        first -= 1
    return lines[first:]
