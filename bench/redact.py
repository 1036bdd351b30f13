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
import json
import math
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
from typing import Any

BENCH = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH.parent / "src"))

from foldaway.redaction.redactor import Stream  # noqa: E402
from peers.worker import Failure, interpreter  # noqa: E402
from redact_crafted import CRAFTED  # noqa: E402
from redact_scores import (  # noqa: E402
    AUDIT,
    EVERYTHING,
    Row,
    interval,
    label_keys,
    labelled,
    our_score,
    peer_score,
    share,
)

DATA = Path(os.environ.get("FOLDAWAY_DATA", BENCH.parent.parent / "shared" / "data"))
PEERS = {
    "hermes": ("hermes", "hermes-agent==0.19.0"),
    "detect-secrets": ("scanners", "detect-secrets==1.5.0"),
    "gitleaks' rules": ("gitleaks", "n0s1==1.2.7", "google-re2"),
}
"""Folder and requirements. gitleaks is no package, but n0s1 carries a copy of its rules."""


def main() -> int:
    options = _options()
    path = DATA / "redaction" / "labelled.jsonl.gz"
    if not path.exists():
        print("skipped: no labelled corpus; set FOLDAWAY_DATA or put the data at ../shared/data")
        return 0
    rows = [row for row in labelled(path, aside=options.part == "aside") if row.label != "dummy"]
    peers = {} if options.no_peer else installed_peers()
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


def corpus(rows: Sequence[Row], peers: dict[str, str]) -> dict[str, Any]:
    """Print the table by kind and by source; return its figures."""
    scores = {"foldaway": our_score(rows)}
    for name, python in peers.items():
        outputs = ask(name, python, [row.text for row in rows])["outputs"]
        scores[name] = peer_score(rows, outputs)
    families = sorted(scores["foldaway"].total)
    print(f"\n## labelled corpus, {len(rows):,} texts\n")
    print("| | secrets | " + " | ".join(scores) + " |")
    print("| --- | --- | " + " | ".join("---" for _ in scores) + " |")
    for family in families:
        shares = (
            f"{share(s.hidden[family], s.total[family]):.1f} %" if s.total[family] else ""
            for s in scores.values()
        )
        print(f"| {family} | {scores['foldaway'].total[family]:,} | " + " | ".join(shares) + " |")
    lost = (f"{interval(s.destroyed, s.harmless)}" for s in scores.values())
    print("| harmless characters destroyed per MB | | " + " | ".join(lost) + " |")
    ours = scores["foldaway"]
    print(f"| the same, rules for secrets alone | | {interval(ours.by_secrets, ours.harmless)} |")
    classes = Counter(AUDIT[key] for row in rows for key in label_keys(row) if key in AUDIT)
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
    for way, hidden in sorted(found.items(), key=lambda item: item[1]):
        if hidden < 0.5:
            print(f"  {hidden:4.0%}  {way}")
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
            f"| {interval(lost, sizes)} |"
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
    """Print MB a second of CPU on logs, code and JSON: the best of several rounds.

    The compressor that the aim names reads the same texts as we do, as often and in turns with us,
    so that a machine which is slower for a minute is slower for both. The others take minutes for
    so much and read the first part of each text, once.
    """
    print("\n## speed, MB a second of CPU, everything on\n")
    texts = _kinds()
    best: dict[str, list[float]] = {"foldaway": [math.inf] * len(texts)}
    for text in texts.values():
        EVERYTHING(text)
    for _ in range(2 if quick else 5):
        for name in [name for name in peers if name == "hermes"]:
            seconds = ask(name, peers[name], list(texts.values()))["seconds"]
            best[name] = list(map(min, best.get(name, seconds), seconds))
        for number, text in enumerate(texts.values()):
            start = time.process_time()
            EVERYTHING(text)
            spent = time.process_time() - start
            best["foldaway"][number] = min(best["foldaway"][number], spent)
    rates = {
        name: [len(text) / 1e6 / took for text, took in zip(texts.values(), times, strict=True)]
        for name, times in best.items()
    }
    for name in [name for name in peers if name != "hermes"]:
        sample = [text[: 200_000 if quick else 500_000] for text in texts.values()]
        seconds = ask(name, peers[name], sample)["seconds"]
        rates[name] = [len(t) / 1e6 / took for t, took in zip(sample, seconds, strict=True)]
    print("| | " + " | ".join(rates) + " | × hermes (aim 15) |")
    print("| --- |" + " --- |" * (len(rates) + 1))
    result: dict[str, Any] = {
        kind: {name: rate[number] for name, rate in rates.items()}
        for number, kind in enumerate(texts)
    }
    result["all three"] = {
        name: len(rate) / sum(1 / one for one in rate) for name, rate in rates.items()
    }
    for kind, row in result.items():
        ratio = f"{row['foldaway'] / row['hermes']:.1f}" if "hermes" in row else ""
        print(f"| {kind} | " + " | ".join(f"{r:.2f}" for r in row.values()) + f" | {ratio} |")
    return result


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


# --- hostile inputs -------------------------------------------------------------------------------


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


def installed_peers() -> dict[str, str]:
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


def ask(peer: str, python: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return what a peer made of texts, and how long each took."""
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
