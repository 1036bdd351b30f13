"""What the redactor hides, what it destroys and how fast it is, beside its peers.

    python bench/redact.py [--quick] [--no-peer] [--part aside|tune] [--hits N] [--seed N]

The labelled corpus is parted by a hash of its groups: two fifths were set aside before the first
rule was written and give the figures here; the rest was looked at while the rules were made. A
secret counts as hidden only if every character of it is. Peers give back a text and not offsets, so
for them a secret counts as hidden if no third of it (and no six characters) is left: the milder
measure. Peers are installed into bench/.peers on the first run.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import string
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

BENCH = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH.parent / "src"))

from holdfast.lab.peers.install import interpreter  # noqa: E402
from holdfast.lab.peers.protocol import Failure  # noqa: E402
from holdfast.redaction import RedactionPolicy, Redactor  # noqa: E402
from holdfast.redaction.rules.registry import RULES  # noqa: E402
from holdfast.redaction.stream import Stream  # noqa: E402

DATA = Path(os.environ.get("HOLDFAST_DATA", BENCH.parent.parent / "shared" / "data"))
ASIDE = 102
"""Of 256: groups whose hash is below are set aside, two fifths of them."""
PEERS = {
    "hermes": ("hermes", "hermes-agent==0.19.0"),
    "detect-secrets": ("scanners", "detect-secrets==1.5.0"),
    "gitleaks' rules": ("gitleaks", "n0s1==1.2.7", "google-re2"),
}
"""Folder and requirements. gitleaks is no package, but n0s1 carries a copy of its rules."""
EVERYTHING = Redactor(RedactionPolicy(key="bench"))
PERSONAL = frozenset(rule.kind for rule in RULES if rule.family == "personal")
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


def main() -> int:
    options = _options()
    path = DATA / "redaction" / "labelled.jsonl.gz"
    if not path.exists():
        print("skipped: no labelled corpus; set HOLDFAST_DATA or put the data at ../shared/data")
        return 0
    rows = [row for row in labelled(path, aside=options.part == "aside") if row.label != "dummy"]
    peers = {} if options.no_peer else _peers()
    parts: dict[str, Callable[[], Any]] = {
        "corpus": lambda: corpus(rows, peers),
        "shapes": shapes,
        "harmless": lambda: harmless(options.quick, options.hits, options.seed),
        "speed": lambda: speed(peers, options.quick),
        "hostile": hostile,
        "properties": lambda: properties(rows, options.quick),
    }
    result = {name: parts[name]() for name in options.only or parts}
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--part", choices=("aside", "tune"), default="aside")
    parser.add_argument("--quick", action="store_true", help="A tenth of the sessions.")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--hits", type=int, default=0, help="Print so many hits in the sessions.")
    parser.add_argument("--seed", type=int, default=11, help="Of the hits that are printed.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", action="append", metavar="PART", help="corpus, harmless, …")
    return parser.parse_args()


# --- the labelled corpus ------------------------------------------------------------------------


def is_aside(group: str) -> bool:
    """Whether a group is set aside: its texts were not read before the rules were frozen."""
    return hashlib.sha256(f"holdfast:{group}".encode()).digest()[0] < ASIDE


def labelled(path: Path, *, aside: bool) -> Iterator[Row]:
    """Yield one part of the corpus."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            found = json.loads(line)
            if is_aside(found["group"]) == aside:
                secrets = [(a, b, kind) for a, b, kind in found["secrets"]]
                yield Row(found["text"], secrets, found["source"], found["label"], found["id"])


def corpus(rows: Sequence[Row], peers: dict[str, str]) -> dict[str, Any]:
    """Print the table by kind and by source; return its figures."""
    scores = {"holdfast": _our_score(rows)}
    for name, python in peers.items():
        outputs = _ask(name, python, [row.text for row in rows])["outputs"]
        scores[name] = _peer_score(rows, outputs)
    families = sorted(scores["holdfast"].total)
    print(f"\n## labelled corpus, {len(rows):,} texts\n")
    print("| | secrets | " + " | ".join(scores) + " |")
    print("| --- | --- | " + " | ".join("---" for _ in scores) + " |")
    for family in families:
        shares = (
            f"{_share(s.hidden[family], s.total[family]):.1f} %" if s.total[family] else ""
            for s in scores.values()
        )
        print(f"| {family} | {scores['holdfast'].total[family]:,} | " + " | ".join(shares) + " |")
    lost = (f"{_interval(s.destroyed, s.harmless)}" for s in scores.values())
    print("| harmless characters destroyed per MB | | " + " | ".join(lost) + " |")
    ours = scores["holdfast"]
    print(f"| the same, rules for secrets alone | | {_interval(ours.by_secrets, ours.harmless)} |")
    classes = Counter(AUDIT[key] for row in rows for key in _keys(row) if key in AUDIT)
    print(
        "\nlabels that were read, by class: "
        + ", ".join(f"{c} {n}" for c, n in classes.most_common())
    )
    return {
        name: {
            "hidden": {f: [s.hidden[f], s.total[f]] for f in families},
            "destroyed_per_mb": sum(s.destroyed) / max(1, sum(s.harmless)) * 1e6,
            "destroyed_per_mb_by_secrets": sum(s.by_secrets) / max(1, sum(s.harmless)) * 1e6,
        }
        for name, s in scores.items()
    }


def _keys(row: Row) -> Iterator[str]:
    return (f"{row.id}:{start}" for start, _, _ in row.secrets)


def _our_score(rows: Sequence[Row]) -> Score:
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


def _peer_score(rows: Sequence[Row], outputs: Sequence[str]) -> Score:
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


def _share(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def _interval(destroyed_chars: Sequence[int], sizes: Sequence[int], draws: int = 1_000) -> str:
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


# --- ways to write a secret -----------------------------------------------------------------------


def shapes(each: int = 4) -> dict[str, float]:
    """Print in how many texts all random values are hidden, by the way in which they are written.

    The ways were written down by hand, after the rules: § is the value, and \\n a line end.
    """
    rng = random.Random(5)
    ways = (BENCH / "redact_shapes.txt").read_text(encoding="utf-8").splitlines()
    found = {way: sum(_hides(way, rng) for _ in range(each)) / each / len(DRAWN) for way in ways}
    whole = sum(found.values()) / len(found)
    print(f"\n## {len(ways)} ways to write a random value beside its name: {whole:.1%} hidden\n")
    for way, share in sorted(found.items(), key=lambda item: item[1]):
        if share < 0.5:
            print(f"  {share:4.0%}  {way}")
    return found


_HEX, _SMALL = "0123456789abcdef", string.ascii_lowercase + string.digits
_CAPITALS, _ALL = string.ascii_uppercase + string.digits, string.ascii_letters + string.digits
DRAWN = (
    (_HEX, (32,)), (_HEX, (40,)), (_HEX, (8, 4, 4, 4, 12)), (_SMALL, (32,)), (_CAPITALS, (24,)),
    (_ALL, (20,)), (_ALL, (40,)), (_ALL + "+/", (43,)), (_ALL + "-_", (40,)),
)  # fmt: skip
"""What values are made of, and how long their pieces are."""


def _hides(way: str, rng: random.Random) -> int:
    """Return for how many sorts of values nothing of them is left."""
    hidden = 0
    for letters, sizes in DRAWN:
        values: list[str] = []
        pieces = way.replace("\\n", "\n").split("§")
        for _ in pieces[1:]:
            values.append("-".join("".join(rng.choices(letters, k=size)) for size in sizes))
        text = "".join(a + b for a, b in zip(pieces, [*values, ""], strict=True))
        output = EVERYTHING(f"x\n{text}\ny\n")
        hidden += not any(value[:12] in output for value in values)
    return hidden


# --- sessions and tool outputs --------------------------------------------------------------------


def harmless(quick: bool, hits: int, seed: int) -> dict[str, Any]:
    """Print what is hidden in real sessions and tool outputs, as if all of it were harmless."""
    print("\n## shared sessions and tool outputs (every hit counted as harmless)\n")
    print("| | MB | hits | characters per MB |\n| --- | --- | --- | --- |")
    result: dict[str, Any] = {}
    shown: list[str] = []
    for name, groups in (("sessions", _sessions(quick)), ("tool outputs", _tool_outputs())):
        lost: list[int] = []
        sizes: list[int] = []
        kinds: Counter[str] = Counter()
        for texts in groups:
            taken = 0
            for text in texts:
                for found in EVERYTHING.redact(text).findings:
                    taken += found.end - found.start
                    kinds[found.kind] += 1
                    before = text[max(0, found.start - 60) : found.start]
                    if name == "sessions":
                        value = text[found.start : found.end]
                        shown.append(f"{found.kind}: {before!r} «{value!r}»")
            lost.append(taken)
            sizes.append(max(1, sum(map(len, texts))))
        print(
            f"| {name} | {sum(sizes) / 1e6:.1f} | {sum(kinds.values()):,} "
            f"| {_interval(lost, sizes)} |"
        )
        per_mb = sum(lost) / sum(sizes) * 1e6
        result[name] = {"chars_per_mb": per_mb, "kinds": dict(kinds.most_common())}
        print("  " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(12)))
    for line in random.Random(seed).sample(shown, min(hits, len(shown))):
        print(line[:240])
    return result


def _sessions(quick: bool) -> Iterator[list[str]]:
    rng = random.Random(3)
    for path in sorted((DATA / "sessions").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                if not quick or rng.random() < 0.1:
                    yield list(_strings(json.loads(line)["messages"]))


def _tool_outputs() -> Iterator[list[str]]:
    for path in sorted((DATA / "tool_outputs").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield [json.loads(line)["text"]]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


# --- speed ----------------------------------------------------------------------------------------


def speed(peers: dict[str, str], quick: bool) -> dict[str, Any]:
    """Print MB a second of CPU on logs, code and JSON, in one process each, in the same run."""
    print("\n## speed, MB a second of CPU, everything on\n")
    texts = _kinds()
    theirs: dict[str, list[float]] = {}
    for name, python in peers.items():
        sample = [text[: 200_000 if quick else 500_000] for text in texts.values()]
        answer = _ask(name, python, sample)
        theirs[name] = [len(t) / 1e6 / s for t, s in zip(sample, answer["seconds"], strict=True)]
    print("| | holdfast | " + " | ".join(peers) + " | × hermes (aim 15) |")
    print("| --- | --- | " + " | ".join("---" for _ in peers) + " | --- |")
    result: dict[str, Any] = {}
    for number, (kind, text) in enumerate(texts.items()):
        ours = len(text) / 1e6 / best_cpu(lambda text=text: EVERYTHING(text))
        other = [theirs[name][number] for name in peers]
        ratio = f"{ours / theirs['hermes'][number]:.0f}" if "hermes" in theirs else ""
        print(f"| {kind} | {ours:.1f} | " + " | ".join(f"{o:.2f}" for o in other) + f" | {ratio} |")
        result[kind] = {"holdfast": ours, **dict(zip(peers, other, strict=True))}
    whole = {
        name: len(texts) / sum(1 / one[name] for one in result.values())
        for name in ("holdfast", *peers)
    }
    ratio = f"{whole['holdfast'] / whole['hermes']:.0f}" if "hermes" in whole else ""
    print("| all three | " + " | ".join(f"{rate:.2f}" for rate in whole.values()) + f" | {ratio} |")
    return {**result, "all": whole}


def _kinds(size: int = 4_000_000) -> dict[str, str]:
    wanted = {"logs": ("test_log", "build_log"), "code": ("file", "diff"), "JSON": ("json",)}
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((DATA / "tool_outputs").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                found[record["kind"]].append(record["text"])
    result: dict[str, str] = {}
    for name, kinds in wanted.items():
        text = "\n".join(text for kind in kinds for text in found[kind])
        result[name] = (text * (size // max(1, len(text)) + 1))[:size]
    return result


def best_cpu(run: Callable[[], object], rounds: int = 5) -> float:
    """Return the CPU seconds of the quickest of several runs."""
    run()
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


# --- hostile inputs -------------------------------------------------------------------------------

SIZE = 1_000_000
CRAFTED: dict[str, str] = {
    "a. … =x": "a." * (SIZE // 2) + "=x",
    "a": "a" * SIZE,
    "hex": "0123456789abcdef" * (SIZE // 16),
    "key-": "key-" * (SIZE // 4),
    "sk-": "sk-" * (SIZE // 3),
    "digits with :": "12:34:56:" * (SIZE // 9),
    "digits": "4" * SIZE,
    "card numbers, wrong": "4111 1111 1111 1112 " * (SIZE // 20),
    "BEGIN without END": "-----BEGIN RSA PRIVATE KEY-----\n" * (SIZE // 32),
    "BEGIN, then base64": "-----BEGIN RSA PRIVATE KEY-----\n"
    + "QUJDREVGR0hJSktMTU5P\n" * (SIZE // 21),
    "END without BEGIN": "QUJDREVGR0hJSktMTU5P\n-----END RSA PRIVATE KEY-----\n" * (SIZE // 51),
    "DSN without @": "postgres://user:pass" * (SIZE // 20),
    "//:": "//:" * (SIZE // 3),
    "password=": "password=" * (SIZE // 9),
    'password="': 'password="' * (SIZE // 10),
    "token=' and \"": "token='token=\"" * (SIZE // 14),
    "authorization: ": "authorization: " * (SIZE // 15),
    "bearer ": "bearer a-" * (SIZE // 9),
    "eyJ": "-eyJ" * (SIZE // 4),
    "curl -u": "curl -u a " * (SIZE // 10),
    "cookie: a=": "cookie: a=b; " * (SIZE // 13),
    "@": "a@b." * (SIZE // 4),
    "+1 ": "+1 2" * (SIZE // 4),
    "backslashes": "\\" * SIZE,
    "\\u001b[": "\\u001b[0" * (SIZE // 8),
    "escapes": "\x1b[0m" * (SIZE // 4),
    "escapes alone": "\x1b" * SIZE,
    "literals with a code among them": ("re_" * 90 + "\x1b[0m") * (SIZE // 274),
    "zero width": "\u200b" * (SIZE // 3),
    "quotes": '"' * SIZE,
    "[redacted:": "[redacted:" * (SIZE // 10),
    "placeholders": "[redacted:key:0123]" * (SIZE // 19),
    "machine login": "machine a login b " * (SIZE // 18),
    "insert into": "insert into a(password," * (SIZE // 23),
    "name value": "name: PASSWORD value" * (SIZE // 20),
    "NUL": "\0" * SIZE,
    "lone surrogates": "\ud800" * (SIZE // 3),
    "_gitlab_session=": "_gitlab_session=" * (SIZE // 16),
    "token-xxxxx:": ("token-xxxxx:" + "b" * 51) * (SIZE // 63),
    "short lines": "EAAA\n" * (SIZE // 5),
    "cookie pairs": "Cookie: theme=dark; laravel_session=" * (SIZE // 36),
    "a connection string": "Server=h;Uid=a;Pwd=Reach!task" * (SIZE // 29),
    "tokens": "ghp_a8Bd3Fg7Hj2Kl5Mn9Pq4Rs6Tv1Wx3Yz8Cb2D " * (SIZE // 41),
    "lines of tokens": "token=Ab3dEf6hIj9lMn2pQr5t\n" * (SIZE // 27),
    "signatures": "?sig=mZ3kYf0qv1Q8sT4uW7xY9zA2bC4dE6fG8hJ0kL2mN4 " * (SIZE // 48),
    "telephones": "+14155550123," * (SIZE // 13),
    "e-mail": "jane.roe@mailhost.org " * (SIZE // 22),
    "export DB_PASSWORD=": "export DB_PASSWORD=" * (SIZE // 19),
    "flags on lines": "mytool \\\n  --client-secret \\\n  " * (SIZE // 34),
    "cookies": "< Set-Cookie: remember_token=QWQEN1hU6JR1JcsCnkvP; HttpOnly" * (SIZE // 60),
    "passwords on lines": "requirepass EwCEIiBYcK0VjTsCS\n" * (SIZE // 30),
    "speech of passwords": "the password is wrong" * (SIZE // 21),
    "heads of keys": "PuTTY-User-Key-File-3: ssh-ed25519\nComment: me\n" * (SIZE // 47),
    "keys of one long line": ("PuTTY-User-Key-File-3: ssh-rsa\\n" + "dareboost" * 60 + "? a. ")
    * (SIZE // 577),
    "tags without an end": "<zentrix_token>\n  00C6dT0ctPVnaawqrc" * (SIZE // 36),
    "a long word before END": ("A" * 4_000 + ".\n-----END RSA PRIVATE KEY-----\n\n")
    * (SIZE // 4_034),
    "a list of tokens": "tokens = [mF9B5f41JqM8Zq2TxWab, " * (SIZE // 32),
    "a map of tokens": "token: {a: mF9B5f41JqM8Zq2TxWab, b: mF9B5f41JqM8Zq2TxWab, " * (SIZE // 58),
    "lists of nothing": "secrets:\n  - a\n" * (SIZE // 15),
    "alternatives": ("token = " + "a" * 40 + " or x ") * (SIZE // 54),
    "comments of keys": "'mF9B5f41JqM8Zq2TxWab' // api " * (SIZE // 30),
    "objects of keys": '{"kty": "EC", "d": "' * (SIZE // 20),
    "words in one object": '{"a": "' + "kty service_account " * (SIZE // 20),
    "words in objects": ('{"a": "' + "kty service_account " * 800 + '"}') * (SIZE // 16_000),
    "keys in objects": '{"kty": "EC", "d": "C6dT0ctPVnaawqrczLJWImKMG4h"}' * (SIZE // 50),
    "known prefixes": "npm_a8Bd3Fg7Hj_" * (SIZE // 15),
    "a JSON line of cards": "[" + ",".join(["4012888888881881"] * (SIZE // 17)) + "]",
}


def hostile() -> dict[str, float]:
    """Print the slowest crafted inputs of 1 MB, in seconds of CPU."""
    print("\n## crafted inputs of 1 MB, seconds of CPU (aim: under 1)\n")
    found: dict[str, float] = {}
    for name, text in CRAFTED.items():
        start = time.process_time()
        EVERYTHING(text)
        found[name] = time.process_time() - start
    for name, seconds in sorted(found.items(), key=lambda item: -item[1])[:8]:
        print(f"  {seconds:.3f}  {name}")
    print(f"  {sum(s >= 1 for s in found.values())} of {len(found)} over 1 s")
    return found


# --- properties -----------------------------------------------------------------------------------


def properties(rows: Sequence[Row], quick: bool) -> dict[str, int]:
    """Print how often redacting twice differs, JSON breaks, or a cut between pieces leaks."""
    print("\n## properties\n")
    unstable = sum(_is_unstable(row.text) for row in rows)
    broken = sum(_breaks_json(row.text) for row in rows)
    for texts in _sessions(quick=True):
        unstable += sum(map(_is_unstable, texts))
        broken += _breaks_json(json.dumps(texts)) + _breaks_json(json.dumps(json.dumps(texts)))
    chosen = [row.text for row in rows if row.secrets and len(row.text) < 1_000]
    leaks = sum(map(leaks_at_a_cut, chosen[: 25 if quick else 500]))
    print(f"  redacting twice differs: {unstable}, JSON broken: {broken}, leaks at cuts: {leaks}")
    return {"unstable": unstable, "broken_json": broken, "leaks_at_cuts": leaks}


def _is_unstable(text: str) -> bool:
    once = EVERYTHING(text)
    return EVERYTHING(once) != once


def _breaks_json(text: str) -> bool:
    wrapped = text if text[:1] in '{["' else json.dumps({"text": text})
    try:
        json.loads(wrapped)
    except ValueError:
        return False
    try:
        json.loads(EVERYTHING(wrapped))
    except ValueError:
        return True
    return False


def leaks_at_a_cut(text: str) -> int:
    """Return at how many cuts of `text` the stream gives something else than the whole."""
    data = text.encode("utf-8", "surrogatepass")
    filler = b"plain words of filler\n" * (HOLD_BYTES // 22 + 1)
    padded = filler + data + b"\n" + filler
    whole = EVERYTHING(padded.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
    wrong = 0
    for cut in range(len(data) + 1):
        stream = Stream(EVERYTHING, block=1, hold=HOLD_BYTES, context=HOLD_BYTES)
        first = len(filler) + cut + HOLD_BYTES
        out = stream.feed(padded[:first]) + stream.feed(padded[first:]) + stream.finish()
        wrong += out != whole
    return wrong


HOLD_BYTES = 4_096
"""Less than the default, so that many cuts are quick; more than the texts that are cut."""


# --- peers ----------------------------------------------------------------------------------------


def _peers() -> dict[str, str]:
    """Return the interpreters of the peers' venvs, made where they are missing."""
    found: dict[str, str] = {}
    for name, (folder, *wanted) in PEERS.items():
        home = BENCH / ".peers" / folder
        python = interpreter(home, tuple(wanted), partial(print, file=sys.stderr))
        if isinstance(python, Failure):
            print(python.error, file=sys.stderr)
        else:
            found[name] = str(python)
    return found


def _ask(peer: str, python: str, texts: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.json"
        path.write_text(json.dumps(list(texts)), encoding="utf-8")
        line = [python, str(BENCH / "peer_redact.py"), peer, str(path)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{peer} failed:\n{done.stderr[-2_000:]}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    raise SystemExit(main())
