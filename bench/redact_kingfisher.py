"""The examples of another scanner's rules: how many of their secrets the redactor hides.

    python bench/redact_kingfisher.py [--part A|B] [--no-peer] [--missed] [--json FILE]

kingfisher has an example or more beside each of its rules, and lists both; its wheel is fetched by
pip. What the pattern of a rule takes out of its own example is often no secret but a user, a host,
an id that is open by design or a whole URL, so all of them were read by somebody who knew neither
the redactor's rules nor what it hides (`outside/kingfisher.jsonl.xz`: class and span, no text):

secrets    the label or its correction is a secret
in order   the same, typed in order (`abcdef1234567890`) in the form of a token
as listed  what the patterns take, without the reading, where kingfisher itself reports it

The rules are parted by vendor: part A was read while rules were made, and part B is sealed: nobody
who makes rules has read it. A secret counts as hidden only if every character of it is (the filling
`=` at the end of base64 aside), for peers as `bench/redact.py` says. Intervals are of a bootstrap
over vendors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH))

from redact_formats import fetched  # noqa: E402
from redact_outside import Found, Text, interval, scored, show_missed  # noqa: E402

PACKAGE = "kingfisher-bin==1.112.0"
PROGRAM = "kingfisher/bin/kingfisher"
LABELS = BENCH / "outside" / "kingfisher.jsonl.xz"
SECRETS, IN_ORDER, AS_LISTED = "secrets", "in order", "as listed"
_CLASSES = {
    "alnum": "A-Za-z0-9", "alpha": "A-Za-z", "digit": "0-9", "lower": "a-z", "upper": "A-Z",
    "xdigit": "A-Fa-f0-9", "blank": r" \t", "word": r"\w", "space": r"\s",
    "punct": r"!-/:-@\[-`{-~",
}  # fmt: skip
_FLAGS = {"x": re.X, "i": re.I, "s": re.S, "m": re.M, "u": re.U}


def main() -> int:
    options = _options()
    rules = _rules()
    if rules is None:
        return 0
    texts = [text for text in _texts(rules) if _part(text.package) == options.part]
    found = scored(texts, peers=not options.no_peer)
    figures = _shown(options.part, texts, found)
    if options.missed:
        show_missed(texts)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", choices=("A", "B"), default="B")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--missed", action="store_true", help="print what is missed: ends the seal")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _rules() -> list[dict[str, Any]] | None:
    """Return the rules as the program lists them; none, and a line, where it cannot be run."""
    wheel = fetched(PACKAGE)
    if wheel is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        program, listed = Path(folder) / "kingfisher", Path(folder) / "rules.json"
        program.write_bytes(wheel[PROGRAM])
        program.chmod(0o755)
        line = [str(program), "rules", "list", "--no-update-check", "-f", "json", "-o", str(listed)]
        try:
            subprocess.run(line, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            print(f"skipped: {PACKAGE} does not run here")
            return None
        return json.loads(listed.read_text(encoding="utf-8"))


def _texts(rules: Sequence[dict[str, Any]]) -> Iterator[Text]:
    """Yield the examples in which the pattern of their own rule finds something, as it labels them.

    What kingfisher does not report itself has no secret as listed.
    """
    corrected = _corrections()
    for rule in rules:
        pattern = _compiled(rule["pattern"])
        for number, example in enumerate(rule["examples"]):
            if match := pattern.search(example):
                filled = (at for at, one in enumerate(match.groups(), 1) if one)
                span = match.span("TOKEN" if "TOKEN" in pattern.groupindex else next(filled, 0))
                name = f"{str(rule['id']).removeprefix('kingfisher.')}#{number}"
                told = corrected.get(name, {})
                spans = told.get("spans", [span])
                kind = IN_ORDER if "sequence" in (told.get("class"), told.get("also")) else SECRETS
                secrets = [(start, _unfilled(example, end), kind) for start, end in spans]
                secrets += [(*span, AS_LISTED)] if rule["visible"] else []
                yield Text(name, _vendor(rule), "pos", example, secrets, [])


def _unfilled(text: str, end: int) -> int:
    return len(text[:end].rstrip("="))


def _corrections() -> dict[str, dict[str, Any]]:
    rows = map(json.loads, lzma.decompress(LABELS.read_bytes()).splitlines())
    return {row["id"]: row for row in rows}


def _compiled(text: str) -> re.Pattern[str]:
    """Return a pattern of Rust's as one of Python's: named classes and groups, flags in front."""
    text = re.sub(r"\[:(\w+):\]", lambda found: _CLASSES[found[1]], text.strip())
    text = re.sub(r"\(\?<([A-Za-z_]\w*)>", r"(?P<\1>", text)
    flags = re.RegexFlag(0)
    if leading := re.match(r"\(\?([a-z]+)\)", text):
        text = text[leading.end() :]
        for letter in leading[1]:
            flags |= _FLAGS[letter]
    return re.compile(text, flags)


def _vendor(rule: dict[str, Any]) -> str:
    return str(rule["id"]).split(".")[1]


def _part(vendor: str) -> str:
    return "AB"[hashlib.sha256(vendor.encode()).digest()[0] % 2]


def _shown(part: str, texts: Sequence[Text], found: dict[str, list[Found]]) -> dict[str, Any]:
    """Print the table; return its figures."""
    vendors = len({text.package for text in texts})
    print(f"\n## {PACKAGE}, part {part}: {len(texts):,} examples of {vendors} vendors\n")
    print("| | secrets | " + " | ".join(found) + " |")
    print("| --- | --- | " + " | ".join("---" for _ in found) + " |")
    figures: dict[str, Any] = {}
    for kind in (SECRETS, IN_ORDER, AS_LISTED):
        total = sum(one == kind for text in texts for *_, one in text.secrets)
        shares = {name: _share(rows, kind) for name, rows in found.items()}
        print(f"| {kind} | {total:,} | " + " | ".join(shares.values()) + " |")
        figures[kind] = {"secrets": total, **shares}
    return figures


def _share(rows: Sequence[Found], kind: str) -> str:
    def counted(row: Found) -> tuple[int, int]:
        flags = [hidden for one, hidden in row.secrets if one == kind]
        return sum(flags), len(flags)

    return interval(rows, counted, 100)


if __name__ == "__main__":
    raise SystemExit(main())
