"""Verdicts on the statements of a record, and their counts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

STATEMENTS = (
    "request",
    "blockers",
    "tests",
    "changed since",
    "running",
    "files",
    "quotes",
    "constraints",
    "ids",
)
"""The kinds, in the order of the table."""


class StatementVerdict(Struct, frozen=True):
    """One claim or one truth, and how it was judged. `is_right` is None if the log cannot tell."""

    kind: str
    is_claim: bool
    """A claim of the record counts for precision, a truth for recall."""
    is_right: bool | None
    text: str
    why: str = ""


class StatementTally(Struct, frozen=True, array_like=True):
    """Of one kind: claims that are right, claims, truths that are told, truths."""

    right: int = 0
    claimed: int = 0
    told: int = 0
    true: int = 0


def tally(verdicts: Sequence[StatementVerdict]) -> dict[str, StatementTally]:
    """Return the counts of each kind that has any; what cannot be told does not count."""
    found: dict[str, StatementTally] = {}
    for kind in STATEMENTS:
        rows = [row for row in verdicts if row.kind == kind and row.is_right is not None]
        claims = [row for row in rows if row.is_claim]
        truths = [row for row in rows if not row.is_claim]
        if rows:
            found[kind] = StatementTally(
                sum(bool(row.is_right) for row in claims),
                len(claims),
                sum(bool(row.is_right) for row in truths),
                len(truths),
            )
    return found
