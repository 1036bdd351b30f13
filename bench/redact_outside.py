"""What the redactor hides in labelled texts of published packages, beside its peers.

    python bench/redact_outside.py [FOLDER] [--part A|B1|B2] [--no-peer] [--missed] [--json FILE]

FOLDER holds A.jsonl and B.jsonl as `bench/outside/collect.py` makes them, and is made where it is
missing. All were labelled without sight of the rules. Part A was read while rules were made, and
after it B1, a half of B by package; B2 is sealed: nobody who makes rules has read it. A secret
counts as hidden only if every character of it is, for peers as `bench/redact.py` says. Intervals
are of a bootstrap over packages. Placeholders are not scored, neither as secrets nor as harmless
text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

BENCH = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH))

from outside import collect  # noqa: E402
from redact import ask, installed_peers  # noqa: E402
from redact_scores import EVERYTHING, is_gone  # noqa: E402

DRAWS = 2_000


class Text(NamedTuple):
    """One labelled text."""

    id: str
    package: str
    label: str
    text: str
    secrets: list[tuple[int, int, str]]
    dummies: list[tuple[int, int]]


class Found(NamedTuple):
    """Of one text: the kind of every secret with whether it is hidden; harmless characters."""

    package: str
    secrets: list[tuple[str, bool]]
    destroyed: int
    harmless: int


def main() -> int:
    options = _options()
    folder: Path = options.folder
    drawn, half = options.part[0], options.part[1:]
    path = folder / f"{drawn}.jsonl"
    if not path.exists() and collect.main([str(folder), "--part", drawn]):
        print("some packages could not be fetched: the figures are of the others", file=sys.stderr)
    texts = [_text(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    texts = [text for text in texts if half in ("", _half(text.package))]
    found = scored(texts, peers=not options.no_peer)
    figures = _shown(options.part, texts, found)
    if options.missed:
        show_missed(texts)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=BENCH / ".outside")
    parser.add_argument("--part", choices=("A", "B", "B1", "B2"), default="B2")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--missed", action="store_true", help="print what is missed: ends the seal")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _text(row: dict[str, Any]) -> Text:
    secrets = [(one["start"], one["end"], one["kind"]) for one in row["secrets"]]
    dummies = [(one["start"], one["end"]) for one in row["dummies"]]
    return Text(row["id"], row["group"], row["label"], row["text"], secrets, dummies)


def _half(package: str) -> str:
    return "12"[hashlib.sha256(package.encode()).digest()[0] % 2]


def scored(texts: Sequence[Text], *, peers: bool) -> dict[str, list[Found]]:
    """Return what the redactor, and where wanted its peers, made of the texts."""
    found = {"foldaway": [_ours(text) for text in texts]}
    for name, python in installed_peers().items() if peers else ():
        outputs = ask(name, python, [text.text for text in texts])["outputs"]
        found[name] = [_theirs(text, out) for text, out in zip(texts, outputs, strict=True)]
    return found


def _ours(text: Text) -> Found:
    covered = bytearray(len(text.text))
    for one in EVERYTHING.redact(text.text).findings:
        covered[one.start : one.end] = b"\x01" * (one.end - one.start)
    secrets = [(kind, all(covered[start:end])) for start, end, kind in text.secrets]
    for start, end in text.dummies:
        covered[start:end] = bytes(end - start)
    return _counted(text, secrets, sum(covered))


def _theirs(text: Text, output: str) -> Found:
    secrets = [(kind, is_gone(text.text[start:end], output)) for start, end, kind in text.secrets]
    return _counted(text, secrets, 0)


def _counted(text: Text, secrets: list[tuple[str, bool]], destroyed: int) -> Found:
    if text.label != "neg":
        return Found(text.package, secrets, 0, 0)
    return Found(text.package, secrets, destroyed, len(text.text))


def _shown(part: str, texts: Sequence[Text], found: dict[str, list[Found]]) -> dict[str, Any]:
    """Print the table by kind; return its figures."""
    packages = len({text.package for text in texts})
    print(f"\n## part {part}: {len(texts):,} texts of {packages} packages\n")
    print("| | secrets | " + " | ".join(found) + " |")
    print("| --- | --- | " + " | ".join("---" for _ in found) + " |")
    kinds = sorted({kind.partition(".")[0] for text in texts for *_, kind in text.secrets})
    figures: dict[str, Any] = {}
    for kind in ("", *kinds):
        shares = {name: _share(rows, kind) for name, rows in found.items()}
        total = sum(
            one.partition(".")[0] == kind or not kind for t in texts for *_, one in t.secrets
        )
        print(f"| {kind or 'all'} | {total:,} | " + " | ".join(shares.values()) + " |")
        figures[kind or "all"] = {"secrets": total, **shares}
    lost = interval(found["foldaway"], lambda row: (row.destroyed, row.harmless), 1e6)
    print(f"| harmless characters destroyed per MB of the negatives | | {lost} |")
    return {**figures, "destroyed_per_mb": lost}


def _share(rows: Sequence[Found], kind: str) -> str:
    def counted(row: Found) -> tuple[int, int]:
        flags = [hidden for one, hidden in row.secrets if not kind or one.partition(".")[0] == kind]
        return sum(flags), len(flags)

    return interval(rows, counted, 100) if not kind else f"{rate(map(counted, rows)) * 100:.1f}"


def interval(
    rows: Sequence[Found], counted: Callable[[Found], tuple[int, int]], scale: float
) -> str:
    """Return a rate with the 95 % interval of a bootstrap over the packages."""
    by_package: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        by_package[row.package].append(counted(row))
    sums = [(sum(a for a, _ in one), sum(b for _, b in one)) for one in by_package.values()]
    rng = random.Random(7)
    drawn = sorted(rate(rng.choices(sums, k=len(sums))) * scale for _ in range(DRAWS))
    low, high = drawn[int(DRAWS * 0.025)], drawn[int(DRAWS * 0.975)]
    return f"{rate(sums) * scale:,.1f} ({low:,.1f} to {high:,.1f})"


def rate(pairs: Any) -> float:
    rows = list(pairs)
    whole = sum(all_of for _, all_of in rows)
    return sum(part for part, _ in rows) / whole if whole else 0.0


def show_missed(texts: Sequence[Text]) -> None:
    for text in texts:
        for (start, end, kind), (_, hidden) in zip(text.secrets, _ours(text).secrets, strict=True):
            if not hidden:
                around = text.text[max(0, start - 80) : start], text.text[end : end + 30]
                print(f"{text.id} {kind}: {around[0]!r} «{text.text[start:end]!r}» {around[1]!r}")


if __name__ == "__main__":
    raise SystemExit(main())
