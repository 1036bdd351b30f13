"""What of a labelled text a redactor hides, and what harmless text it destroys."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

BENCH = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH.parent / "src"))

from foldaway.redaction import RedactionPolicy, Redactor  # noqa: E402
from foldaway.redaction.rules import built_in_rules  # noqa: E402

ASIDE = 102
"""Of 256: groups whose hash is below are set aside, two fifths of them."""
EVERYTHING = Redactor(RedactionPolicy(key="bench"))
PERSONAL = frozenset(rule.kind for rule in built_in_rules() if rule.family == "personal")
AUDIT: dict[str, str] = json.loads((BENCH / "redact_audit.json").read_text(encoding="utf-8"))
"""What labels of the set-aside part are that were read: record and offset to a class of the rubric
in docs/redaction.md. A label that is not in here is a secret."""


class Row(NamedTuple):
    """One record of the labelled corpus."""

    text: str
    secrets: list[tuple[int, int, str]]
    source: str
    label: str
    id: str


class Score(NamedTuple):
    """Secrets hidden and all, by kind or source; harmless characters destroyed and all."""

    hidden: Counter[str]
    total: Counter[str]
    destroyed: list[int]
    """By any rule, in each text."""
    by_secrets: list[int]
    """The same, without what rules for personal data hide: the texts are labelled for secrets."""
    harmless: list[int]


def is_aside(group: str) -> bool:
    """Whether a group is set aside: its texts were not read before the rules were frozen."""
    return hashlib.sha256(f"foldaway:{group}".encode()).digest()[0] < ASIDE


def labelled(path: Path, *, aside: bool) -> Iterator[Row]:
    """Yield one part of the corpus."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            found = json.loads(line)
            if is_aside(found["group"]) == aside:
                secrets = [(a, b, kind) for a, b, kind in found["secrets"]]
                yield Row(found["text"], secrets, found["source"], found["label"], found["id"])


def label_keys(row: Row) -> Iterator[str]:
    """Yield the name of every label of a record, as `AUDIT` has it."""
    return (f"{row.id}:{start}" for start, _, _ in row.secrets)


def our_score(rows: Sequence[Row]) -> Score:
    """Return what our redactor hides with everything on, by the places of its findings."""
    score = Score(Counter(), Counter(), [], [], [])
    for row in rows:
        covered = bytearray(len(row.text))
        findings = EVERYTHING.redact(row.text).findings
        for found in findings:
            covered[found.start : found.end] = b"\x01" * (found.end - found.start)
        if row.label == "neg":
            score.destroyed.append(sum(covered))
            secret = [f for f in findings if f.kind not in PERSONAL]
            score.by_secrets.append(sum(f.end - f.start for f in secret))
            score.harmless.append(len(row.text))
        for start, end, kind in row.secrets:
            is_hidden = all(covered[start:end])
            _count(score, row, kind, is_hidden)
            read_as = AUDIT.get(f"{row.id}:{start}", "missed")
            if read_as in ("missed", "wide"):
                in_it = read_as == "wide" and any(covered[start:end])
                _count_as(score, AUDITED, kind, is_hidden or in_it)
            start, end = bared(row.text, start, end)
            _count_as(score, BARED, kind, all(covered[start:end]))
    return score


def peer_score(rows: Sequence[Row], outputs: Sequence[str]) -> Score:
    """Return what a redactor hid that gave back these texts."""
    score = Score(Counter(), Counter(), [], [], [])
    for row, output in zip(rows, outputs, strict=True):
        if row.label == "neg":
            score.destroyed.append(destroyed(row.text, output))
            score.harmless.append(len(row.text))
        for start, end, kind in row.secrets:
            _count(score, row, kind, is_gone(row.text[start:end], output))
            start, end = bared(row.text, start, end)
            _count_as(score, BARED, kind, is_gone(row.text[start:end], output))
    return score


def _count(score: Score, row: Row, kind: str, is_hidden: bool) -> None:
    personal = kind.startswith("pii")
    for family in (
        "all personal data" if personal else "all secrets",
        f"source: {row.source}",
        f"kind: {kind.split(':')[0] if ':' in kind else kind}",
    ):
        score.total[family] += 1
        score.hidden[family] += is_hidden


def bared(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a label without the quotes, brackets and commas that it takes along.

    No redactor that keeps JSON valid can hide those; the label as it is gives the main figure.
    """
    label = text[start:end]
    if not label.strip(_AROUND):
        return start, end
    before = len(label) - len(label.lstrip(_AROUND))
    after = len(label) - len(label.rstrip(_AROUND))
    return start + before, end - after


_AROUND = "\"'`,;:[]{}()<>\\ \t\r\n"


def _count_as(score: Score, family: str, kind: str, is_hidden: bool) -> None:
    if not kind.startswith("pii"):
        score.total[family] += 1
        score.hidden[family] += is_hidden


BARED = "all secrets, labels without the signs around them"
AUDITED = "all secrets, without labels that were read and are none"
"""The rubric stands in docs/redaction.md; of a label that is too wide the secret in it counts."""


def is_gone(secret: str, output: str) -> bool:
    """Whether no third of the secret, of six characters at least, is left in the output."""
    size = min(len(secret), max(6, len(secret) // 3))
    return not any(secret[at : at + size] in output for at in range(len(secret) - size + 1))


def destroyed(text: str, output: str) -> int:
    """Return how many characters a redactor took away, line by line."""
    before, after = text.split("\n"), output.split("\n")
    if len(before) != len(after):
        return 0 if text == output else len(text)
    return sum(_changed(a, b) for a, b in zip(before, after, strict=True) if a != b)


def _changed(before: str, after: str) -> int:
    start = _common(before, after)
    return len(before) - start - _common(before[start:][::-1], after[start:][::-1])


def _common(one: str, two: str) -> int:
    pairs = enumerate(zip(one, two, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(two)))


def share(part: float, whole: float) -> float:
    """Return per cent, 0 of nothing."""
    return 100 * part / whole if whole else 0.0


def interval(destroyed_chars: Sequence[int], sizes: Sequence[int], draws: int = 1_000) -> str:
    """Return characters per MB with the 95 % interval of a bootstrap over the texts."""
    rng = random.Random(7)
    picks = range(len(sizes))
    found: list[float] = []
    for _ in range(draws if any(destroyed_chars) else 0):
        chosen = rng.choices(picks, k=len(sizes))
        found.append(sum(destroyed_chars[n] for n in chosen) / sum(sizes[n] for n in chosen) * 1e6)
    point = sum(destroyed_chars) / max(1, sum(sizes)) * 1e6
    if not found:
        return f"{point:,.0f}"
    found.sort()
    return f"{point:,.0f} ({found[int(draws * 0.025)]:,.0f} to {found[int(draws * 0.975)]:,.0f})"
