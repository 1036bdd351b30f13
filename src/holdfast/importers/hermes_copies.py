"""Which rows of Hermes are copies: a compaction sets all aside and writes the kept ones anew."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.importers.imported import Note
from holdfast.importers.loose import elements, fields, identifier, seconds, text
from holdfast.transcript import Payload

_SUMMARY_MARKS = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]")
_SAME_WRITE_SECONDS = 0.01
"""A compaction stamps what it writes a microsecond apart, where it has no older time."""


def without_copies(rows: Sequence[Payload], notes: list[Note]) -> Iterator[tuple[Payload, bool]]:
    """Yield the rows that were said once each, and whether a compaction wrote them.

    A row is a copy where it says what an earlier one says and has its very time, or was written
    together with a summary. A user may say the same twice: such a row is neither.
    """
    written = sorted(seconds(row.get("timestamp")) or 0.0 for row in rows if _is_summary(row))
    seen: dict[Any, set[float | None]] = {}
    copies = 0
    for row in rows:
        said, stamp = _said(row), seconds(row.get("timestamp"))
        earlier = seen.setdefault(said, set())
        if stamp is not None and earlier and (stamp in earlier or _is_near(stamp, written)):
            copies += 1
            continue
        earlier.add(stamp)
        yield row, _is_summary(row)
    if copies:
        said = f"{copies} copies of earlier messages, written by a compaction"
        notes.append(Note("duplicate", "messages", said))


def _is_near(stamp: float, written: list[float]) -> bool:
    at = bisect_left(written, stamp - _SAME_WRITE_SECONDS)
    return at < len(written) and written[at] <= stamp + _SAME_WRITE_SECONDS


def _said(row: Payload) -> Any:
    """Return what makes two rows the same: the answered call, the calls, or the words."""
    role = text(row.get("role"))
    answered = text(row.get("tool_call_id"))
    if answered:
        return role, "result", answered
    calls = row.get("tool_calls")
    if calls:
        ids = [identifier(fields(call).get("id")) for call in elements(calls)]
        return role, "calls", tuple(ids) if ids else str(calls)
    return role, "words", str(row.get("content")).strip()


def _is_summary(row: Payload) -> bool:
    return text(row.get("content")).lstrip().startswith(_SUMMARY_MARKS)
