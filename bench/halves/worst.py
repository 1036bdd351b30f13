"""The sessions where Foldaway loses most, with what it lost: what to read before changing it."""

from __future__ import annotations

from collections.abc import Sequence

from foldaway.lab.results import OURS, ScoreRow

_KINDS = ("far", "bound", "answers", "files P", "files R", "errors", "constraints")
_TITLES = {
    "far": "facts that the agent needed and that are gone",
    "bound": "facts that stand there without their own words",
    "answers": "questions that are no longer answered",
    "files P": "files claimed as touched that were not",
    "files R": "files touched and not shown",
    "errors": "open errors that are gone",
    "constraints": "constraints that are gone",
    "invented": "facts that the source has not",
    "bad refs": "references to nothing",
}
_EXAMPLES = 10
_CHARS = 150


def print_worst(rows: Sequence[ScoreRow], most: int) -> None:
    """Print the worst sessions by each score, and every invented fact or broken reference."""
    mine = [row for row in rows if row.strategy == OURS and row.part == "cut"]
    for kind in _KINDS:
        known = [(value, row) for row in mine if (value := row.rates[kind]) is not None]
        bad = sorted((pair for pair in known if pair[0] < 1), key=lambda pair: pair[0])[:most]
        print(f"\n=== {kind}: {_TITLES[kind]} ({len(bad)} worst of {len(known)} cuts)")
        for value, row in bad:
            print(f"\n  {value:.2f}  {_name(row)}")
            _examples(row.missed[kind])
    for kind in ("invented", "bad refs"):
        bad_rows = [row for row in mine if row.counts[kind]]
        print(f"\n=== {kind}: {_TITLES[kind]} ({len(bad_rows)} cuts)")
        for row in bad_rows[:most]:
            print(f"\n  {row.counts[kind]}  {_name(row)}")
            _examples(row.missed[kind])


def print_untrue(rows: Sequence[ScoreRow]) -> None:
    """Print every invented fact and broken reference after several compactions, of all rows."""
    drifted = [row for row in rows if row.part == "drift"]
    bad = [row for row in drifted if row.counts.get("invented") or row.counts.get("bad refs")]
    print(f"\n=== invented facts or broken references in {len(bad)} of {len(drifted)} drift rows")
    for row in bad:
        print(f"\n  {row.strategy}, {row.steps} compactions, {_name(row)}")
        _examples([*row.missed["invented"], *row.missed["bad refs"]])


def _name(row: ScoreRow) -> str:
    return f"{row.family} {row.session} cut {row.cut}, {row.budget:.0%}, {row.used:.2f} of it used"


def _examples(lines: Sequence[str]) -> None:
    once = list({line.partition("   (")[0]: line for line in lines}.values())
    for line in once[:_EXAMPLES]:
        print(f"        {line[:_CHARS]}{'…' if len(line) > _CHARS else ''}")
    if len(once) > _EXAMPLES:
        print(f"        … {len(once) - _EXAMPLES} more")
