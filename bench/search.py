"""What a search costs in a large store, and how well it finds the evidence of real questions.

    python bench/search.py                    both tables
    python bench/search.py quality            recall of the evidence, beside plain forms of a query
    python bench/search.py speed              CPU of a search, 100,000 and 1,000,000 messages
    python bench/search.py speed --sizes 1e5  one of them
    python bench/search.py speed --kinds phrase question
                                              only these kinds of query
    python bench/search.py speed --no-peer    without hermes-agent, which takes minutes to fill
    python bench/search.py --json FILE        the figures as JSON too

Quality: the questions of `recall.py`, which has more of it.

Speed: messages made of lines from the shared sessions and tool results, every 50th with a made-up
path, every 200th with Chinese. `match` is what a store does, `discover` what people and agents
call: 10 hits with 1 message on either side as `foldaway search` shows them, 20 with 5, and 5 with 2
with their secrets hidden, as they leave through MCP. The peer returns 20 messages. Aim: p95 under
50 ms of CPU at 100,000 messages, under 100 ms at a million.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from compress import BENCH, DATA, peer_python
from foldaway.search.query import parse_query
from foldaway.search.values import Wanted
from foldaway.sessions.finding import discover
from foldaway.sessions.hiding import redactor_of
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from recall import CUTS, append, ask, lines, quality, show_quality

SESSION_MESSAGES = 500
OTHERS = 20_000
PEER_MESSAGES = 100_000
AIMS_MS = {100_000: 50, 1_000_000: 100}
"""Of p95, by the number of messages."""
REPEATS = 5
QUERIES: dict[str, tuple[str, ...]] = {
    "common word": ("error", "file", "return", "import", "data", "test"),
    "rare word": ("zebracorn", "quaggaline", "okapistone"),
    "mid word": ("timeout", "branch", "upload", "schema"),
    "two words": ("import error", "file not", "return value", "test data"),
    "phrase": ('"import os"', '"return None"', '"not found"', '"No such file"'),
    "file name": ("parse_file.py", "src/load_row/store_body.py", "cache_path.py", "merge_list.py"),
    "substring": ("#3000", '"ebracor"', '"mport o"', "#77000", "rse_fi", "_row/"),
    "prefix": ("impo*", "tes*"),
    "Chinese": ("中国", "我他", "的", "国地到", "大学"),
    "question": (
        "Where did we edit the parse_file module and why?",
        "What error did the import of data return when loading files?",
        "How do I load a list of users from the store?",
    ),
    "one session": ("error session:s000007", "file session:s000001"),
}
VERBS = ("parse", "load", "store", "send", "fetch", "index", "build", "merge", "cache")
NOUNS = ("file", "row", "body", "view", "page", "list", "term", "user", "node", "path")
HAN = "的一是不了人在有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("part", nargs="?", choices=("quality", "speed", "all"), default="all")
    parser.add_argument("--sizes", nargs="+", type=float, default=[1e5, 1e6])
    parser.add_argument("--kinds", nargs="+", choices=QUERIES, default=list(QUERIES))
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    data = DATA
    if not data.exists():
        print("skipped: set FOLDAWAY_DATA or put the data at ../shared/data")
        return 0
    figures: dict[str, Any] = {}
    if options.part in ("quality", "all"):
        figures["quality"] = quality(ask(data))
        show_quality(figures["quality"])
        figures["among others"] = among_others(data)
    if options.part in ("speed", "all"):
        sizes = [int(size) for size in options.sizes]
        queries = {kind: QUERIES[kind] for kind in options.kinds}
        figures["speed"] = speed(data, sizes, queries, peer=not options.no_peer)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


# --- quality ----------------------------------------------------------------------------------


def among_others(data: Path) -> dict[str, float]:
    """Print and return the recall of ours over one store of all three and many newer messages."""
    totals: dict[str, float] = dict.fromkeys((f"at {cut}" for cut in CUTS), 0.0)
    questions = [
        one for one in lines(data / "qa" / "locomo.questions.jsonl.gz") if one["evidence_messages"]
    ]
    with tempfile.TemporaryDirectory() as folder, open_store(folder) as store:
        for session in lines(data / "qa" / "locomo.sessions.jsonl.gz"):
            texts = [message["content"] for message in session["messages"]]
            append(store, session["id"].replace("/", "-"), texts)
        fill(store, generated(data, OTHERS), OTHERS)
        for one in questions:
            name = one["session_id"].replace("/", "-")
            evidence = {(name, position) for position in one["evidence_messages"]}
            matches = store.match(Wanted(query=parse_query(one["question"])), most=max(CUTS))
            found = [(match.session_id, match.position) for match in matches]
            for cut in CUTS:
                seen = evidence & set(found[:cut])
                totals[f"at {cut}"] += len(seen) / len(evidence) / len(questions)
    alone = " / ".join(f"{100 * value:.1f}" for value in totals.values())
    print(f"all three in one store with {OTHERS:,} newer messages of other kinds: {alone}")
    return totals


# --- speed ------------------------------------------------------------------------------------


Queries = dict[str, tuple[str, ...]]


def speed(data: Path, sizes: Sequence[int], queries: Queries, *, peer: bool) -> dict[str, Any]:
    """Print and return CPU of searches by kind of query, at each size and beside the peer."""
    found: dict[str, Any] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder, open_store(folder) as store:
            start = time.process_time()
            texts = generated(data, size)
            fill(store, texts, size)
            store.complete_index()
            print(f"\n{size:,} messages, filled in {time.process_time() - start:.0f} s of CPU")
            for name, search in _searches(store).items():
                print(f"\n{name}, {size:,} messages")
                found[f"{name}, {size}"] = _measured(search, queries)
                _show_speed(found[f"{name}, {size}"], AIMS_MS.get(size))
    if peer:
        python, problem = peer_python()
        if python:
            found["peer"] = _peer(data, queries, python)
            print(f"\nhermes-agent 0.19.0, {PEER_MESSAGES:,} messages")
            _show_speed(found["peer"], None)
        else:
            print(problem)
    if len(sizes) > 1:
        small, large = (found[f"match, {size}"] for size in (min(sizes), max(sizes)))
        growth = {kind: large[kind]["p50"] / small[kind]["p50"] for kind in small}
        print(f"\ngrowth of p50 of match from {min(sizes):,} to {max(sizes):,} messages:")
        print(", ".join(f"{kind} {times:.1f} ×" for kind, times in growth.items()))
    return found


def _searches(store: Store) -> dict[str, Callable[[str], int]]:
    """Return the ways to search a store; each gives how many hits there are."""
    hide = redactor_of(store)
    return {
        "match": lambda text: len(store.match(Wanted(query=parse_query(text)), most=10)),
        "discover 10, 1 around": lambda text: len(discover(store, text, most=10, around=1)),
        "discover 20, 5 around": lambda text: len(discover(store, text, most=20, around=5)),
        "discover 5, 2 around, redacted": lambda text: len(
            discover(store, text, most=5, around=2, show=hide)
        ),
    }


def _measured(
    search: Callable[[str], int], queries: dict[str, tuple[str, ...]]
) -> dict[str, dict[str, Any]]:
    """Time every query; the first run of each fills caches and is left out."""
    found: dict[str, dict[str, Any]] = {}
    for kind, texts in queries.items():
        times: list[float] = []
        hits: list[int] = []
        for text in texts:
            hits.append(search(text))
            for _ in range(REPEATS):
                start = time.process_time()
                search(text)
                times.append((time.process_time() - start) * 1e3)
        times.sort()
        p95 = times[min(int(len(times) * 0.95), len(times) - 1)]
        found[kind] = {"p50": times[len(times) // 2], "p95": p95, "hits": hits}
    return found


def _show_speed(found: dict[str, dict[str, Any]], aim: int | None) -> None:
    for kind, row in found.items():
        late = f"  over {aim}" if aim and row["p95"] >= aim else ""
        print(f"{kind:14} p50 {row['p50']:8.1f} ms   p95 {row['p95']:8.1f} ms   "
              f"hits {row['hits']}{late}")  # fmt: skip


def _peer(data: Path, queries: Queries, python: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "given.json"
        queries = {kind: texts for kind, texts in queries.items() if kind != "one session"}
        given.write_text(
            json.dumps({"texts": list(generated(data, PEER_MESSAGES)), "queries": queries}),
            encoding="utf-8",
        )
        line = [python, str(BENCH / "peer_hermes_search.py"), str(given)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the peer failed:\n{done.stderr[-2_000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def generated(data: Path, size: int) -> Iterator[str]:
    """Yield texts of real lines, the same on every run."""
    real = _real_lines(data)
    dice = random.Random(7)
    names = [f"{verb}_{noun}" for verb in VERBS for noun in NOUNS]
    rare = QUERIES["rare word"]
    for number in range(size):
        text = "\n".join(dice.choices(real, k=min(int(dice.expovariate(1 / 5)) + 1, 40)))
        if number % 50 == 0:
            path = f"src/{dice.choice(names)}/{dice.choice(names)}.py"
            text += f"\nedited {path}:{dice.randrange(900)}"
        if number % 1_000 == 0:
            text += f"\nticket #{number} {dice.choice(rare)}"
        if number % 200 == 0:
            text += "\n" + "".join(dice.choices(HAN, k=60))
        yield text


def _real_lines(data: Path) -> list[str]:
    found: list[str] = []
    for path in sorted((data / "sessions").glob("*.gz")):
        for number, record in enumerate(lines(path)):
            if number >= 25:
                break
            for message in record["messages"][:60]:
                content = message.get("content")
                if isinstance(content, str):
                    found += content[:4_000].split("\n")
    for record in lines(data / "tool_outputs" / "tool_outputs.jsonl.gz"):
        found += record["text"][:8_000].split("\n")
    return [line[:400] for line in found if line.strip()]


# --- both -------------------------------------------------------------------------------------


def fill(store: Store, texts: Iterator[str], size: int) -> None:
    for number in range(0, size, SESSION_MESSAGES):
        some = [next(texts) for _ in range(min(SESSION_MESSAGES, size - number))]
        append(store, f"s{number // SESSION_MESSAGES:06}", some)


if __name__ == "__main__":
    raise SystemExit(main())
