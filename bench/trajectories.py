"""Trajectories a second on one core beside hermes-agent 0.19.0, and what a batch costs.

    python bench/trajectories.py                     records a second, line to line, both sides
    python bench/trajectories.py --limit 20          fewer records of each family
    python bench/trajectories.py --counters o200k    with some of the counters
    python bench/trajectories.py --no-peer           without the peer
    python bench/trajectories.py --same-call         the same call of the counter on both sides too
    python bench/trajectories.py --growth            records of 1, 2, 4 and 8 times the turns
    python bench/trajectories.py --batch 200000      a batch of so many records: memory, workers
    python bench/trajectories.py --batch 200000 --workers 1    with so many workers
    python bench/trajectories.py --ray 4000          the same batch by processes and by Ray
    python bench/trajectories.py --quality           what survives at a target, beside keep-tail
    python bench/trajectories.py --fit               how many records end over their target
    python bench/trajectories.py --json FILE         the figures as JSON too

Real sessions ($FOLDAWAY_DATA, or ../shared/data) become ShareGPT records. Each side reads a line,
compresses and writes a line, in a process of its own, CPU time, best of the rounds. Both have the
same vocabulary: our estimate, o200k_base by bpe-openai, and a tokenizer.json by tokenizers, which
is what the peer has in earnest: byte-level BPE with 32,000 entries, trained on every other record.
Both count as they do in earnest: the peer by the class of transformers that it loads itself, ours
by words that are remembered within a round, as in a batch. With --same-call both also count by the
plain call of the package, and both by our words; `cross` is ours by words, the peer by the plain
call. The peer's summary is a fixed text in the place of its model's; ours is the ledger's, so ours
does more; `fixed` is ours with the same fixed text. Aim: 5 times the trajectories a second.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Counted: TypeAlias = Callable[[str], int]

BENCH = Path(__file__).resolve().parent
SOURCE = BENCH.parent / "src"
DATA = Path(os.environ.get("FOLDAWAY_DATA", BENCH.parent.parent / "shared" / "data"))
PEER_HOME = BENCH / ".peers" / "hermes-trajectories"
REQUIREMENTS = ("hermes-agent==0.19.0", "bpe-openai>=0.1", "transformers>=4.50,<5", "msgspec>=0.20")
FAMILIES = ("sharegpt__glaive-en", "tau-bench__gpt-4o-airline", "swe-agent__SWE-agent",
            "claude-code__cli", "codex__git-sync", "opencode__nimbus")  # fmt: skip
TARGETS = (4_096, 16_384, 32_768)
COUNTERS = ("estimate", "o200k", "tokenizers")
CALLS = ("own", "plain", "words")
"""How a counter is called: by the class of the peer, by the package, by words of ours."""
SUMMARY = "[CONTEXT SUMMARY]: " + "The agent looked at files and ran commands. " * 40
"""What stands in the place of a model's summary."""


def main() -> int:
    options = _options()
    if options.worker:
        print(json.dumps(_ours(options)))
        return 0
    sys.path.insert(0, str(SOURCE))
    if not DATA.is_dir():
        print(f"skipped: no sessions in {DATA}; set FOLDAWAY_DATA")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if options.batch:
            found: Any = _batch(folder, options.batch, options.workers)
        elif options.ray:
            found = _ray(folder, options.ray)
        elif options.growth:
            found = _growth(folder, options)
        elif options.quality:
            found = _quality(options)
        elif options.fit:
            found = _fit()
        else:
            found = _speed(folder, options)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--limit", type=int, default=40, help="records of each family")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--same-call", action="store_true")
    parser.add_argument("--counters", nargs="+", choices=COUNTERS, help="only these")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--quality", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--batch", type=int, default=0, metavar="N")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], metavar="N")
    parser.add_argument("--ray", type=int, default=0, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--counter", choices=COUNTERS, default="estimate", help=argparse.SUPPRESS)
    parser.add_argument("--call", choices=CALLS, default="words", help=argparse.SUPPRESS)
    parser.add_argument("--tokenizer", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--target", type=int, default=16_384, help=argparse.SUPPRESS)
    parser.add_argument("--fixed", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


# --- shared with the peer's driver, which runs on another Python ------------------------------


def counter(name: str, tokenizer: Path | None = None, call: str = "plain") -> Counted:
    """Return a counter that either side may use; by words it remembers what it counted."""
    sys.path.insert(0, str(SOURCE))
    if name == "estimate":
        return importlib.import_module("foldaway.transcript.estimate").estimate_text
    if name == "tokenizers":
        if call == "words":
            counting: Any = importlib.import_module("foldaway.trajectories.counting")
            return counting.counter_for(str(tokenizer)).count
        loaded = importlib.import_module("tokenizers").Tokenizer.from_file(str(tokenizer))
        many: Any = loaded.encode_batch_fast
        return lambda text: len(many([text], add_special_tokens=False)[0])
    encode: Any = importlib.import_module("bpe_openai").get_encoding("o200k_base").encode_ordinary
    return lambda text: sum(
        len(encode(text[at : at + 100_000])) for at in range(0, len(text), 100_000)
    )


def best_of(
    lines: list[bytes], begun: Callable[[], Callable[[bytes], tuple[bytes, bool]]], rounds: int
) -> Any:
    """Return CPU seconds of the best round, and how many records were compressed.

    `begun` gives what works on a line; each round has a new one, which remembers nothing.
    """
    warm = begun()
    for line in lines[:3]:
        warm(line)
    seconds, compressed = [], 0
    for _ in range(rounds):
        work = begun()
        start = time.process_time()
        compressed = sum(work(line)[1] for line in lines)
        seconds.append(time.process_time() - start)
    return {"seconds": min(seconds), "records": len(lines), "compressed": compressed}


# --- our side ---------------------------------------------------------------------------------


def _ours(options: argparse.Namespace) -> Any:
    sys.path.insert(0, str(SOURCE))
    from foldaway.dialects.jsontext import dump_bytes as dump_json
    from foldaway.dialects.jsontext import parse
    from foldaway.dialects.loading import dump, load_parsed
    from foldaway.redaction import RedactionPolicy, Redactor
    from foldaway.trajectories.compress import CompressionTools, compress_transcript
    from foldaway.trajectories.counting import Remembering
    from foldaway.trajectories.policy import TrajectoryPolicy
    from foldaway.trajectories.summaries import WrittenSummary

    class Counter:
        name = options.counter
        is_estimate = options.counter == "estimate"

        def __init__(self) -> None:
            self.count = counter(options.counter, options.tokenizer, options.call)

    policy = TrajectoryPolicy(target_tokens=options.target)
    fixed = (lambda *_: WrittenSummary(SUMMARY)) if options.fixed else None
    hide = Redactor(RedactionPolicy(personal=False))

    def begun() -> Callable[[bytes], tuple[bytes, bool]]:
        plain = options.call == "plain" and not Counter.is_estimate
        means = CompressionTools(Remembering(Counter()) if plain else Counter(), hide, fixed)

        def work(line: bytes) -> tuple[bytes, bool]:
            given = load_parsed(parse(line))
            made, metrics = compress_transcript(given, policy, means)
            out = line if made is given else dump_json(dump(made))
            return out, metrics.outcome == "compressed"

        return work

    gc.freeze()  # as a worker does
    return best_of(options.worker.read_bytes().splitlines(), begun, options.rounds)


def _speed(folder: Path, options: argparse.Namespace) -> Any:
    path = folder / "records.jsonl"
    lines = list(sharegpt_lines(options.limit))
    path.write_bytes(b"\n".join(lines))
    print(f"{len(lines)} records, {path.stat().st_size / 1e6:.1f} MB, of {', '.join(FAMILIES)}")
    peer = None if options.no_peer else _peer()
    tokenizer = _trained(lines[::2], folder / "tokenizer.json")
    head = "counter    target   call compressed   ours/s  fixed/s   peer/s  times  fixed"
    print(head + "  cross" if options.same_call else head)
    rows: list[Any] = []
    for name in options.counters or COUNTERS:
        for target in TARGETS:
            given = ["--counter", name, "--target", str(target), "--rounds", str(options.rounds),
                     "--tokenizer", str(tokenizer)]  # fmt: skip
            rows += _at_target(path, peer, given, _calls(name, same=options.same_call))
    return rows


def _calls(name: str, *, same: bool) -> list[tuple[str, str]]:
    """Return how both sides call a counter, ours first: as they do in earnest, and the same way."""
    if name != "tokenizers":
        return [("plain", "plain")]
    return [("words", "own"), *([("plain", "plain"), ("words", "words")] if same else [])]


def _at_target(path: Path, peer: str | None, given: list[str], calls: list[Any]) -> list[Any]:
    """Measure both sides at one target, and print a line for each pair of calls."""
    line = [sys.executable, __file__, "--worker", str(path), *given]
    other = [peer or "", str(BENCH / "peer_hermes_trajectories.py"), str(path), *given]
    both = {call: (_rated([*line, "--call", call]), _rated([*line, "--call", call, "--fixed"]))
            for call in dict.fromkeys(ours for ours, _ in calls)}  # fmt: skip
    peers = {call: _rated([*other, "--call", call])
             for call in dict.fromkeys(theirs for _, theirs in calls) if peer}  # fmt: skip
    rows: list[Any] = []
    for ours, theirs in calls:
        found, fixed = both[ours]
        row = {"counter": given[1], "target": int(given[3]), "calls": [ours, theirs],
               "compressed": found["compressed"], "ours": found["rate"], "fixed": fixed["rate"],
               "peer": peers[theirs]["rate"] if peer else None}  # fmt: skip
        rows.append(row)
        said = ""
        if peer:
            said = (f"{row['peer']:8.0f} {row['ours'] / row['peer']:6.2f} "
                    f"{row['fixed'] / row['peer']:6.2f}")  # fmt: skip
            if ours == theirs == "plain" and "words" in both:
                said += f" {both['words'][0]['rate'] / row['peer']:6.2f}"
        print(f"{given[1]:9} {row['target']:7,} {theirs:>6} {row['compressed']:10} "
              f"{row['ours']:8.0f} {row['fixed']:8.0f} {said}", flush=True)  # fmt: skip
    return rows


def _rated(line: list[str]) -> Any:
    found = _run(line)
    return {**found, "rate": found["records"] / found["seconds"]}


def _trained(lines: list[bytes], path: Path) -> Path:
    """Write a tokenizer file that is made from the records themselves: no hub is asked."""
    tokenizers: Any = importlib.import_module("tokenizers")
    level: Any = tokenizers.pre_tokenizers.ByteLevel
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = level(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=32_000, initial_alphabet=level.alphabet(), show_progress=False
    )
    turns = (turn["value"] for line in lines for turn in json.loads(line)["conversations"])
    made.train_from_iterator(turns, trainer)
    made.save(str(path))
    return path


def _peer() -> str | None:
    from peers.worker import Failure, interpreter

    found = interpreter(PEER_HOME, REQUIREMENTS, print)
    if isinstance(found, Failure):
        print(f"the peer is left out: {found.error}")
        return None
    return str(found)


def _run(line: list[str]) -> Any:
    alone = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(line, capture_output=True, text=True, check=True, env=alone)
    return json.loads(done.stdout.splitlines()[-1])


def sharegpt_lines(limit: int) -> Iterator[bytes]:
    """Yield the shared sessions as ShareGPT records."""
    for messages in _sessions(limit):
        yield json.dumps({"conversations": messages}, ensure_ascii=False).encode("utf-8", "replace")


def _sessions(limit: int) -> Iterator[list[Any]]:
    from foldaway import convert

    for family in FAMILIES:
        with gzip.open(DATA / "sessions" / f"{family}.jsonl.gz") as lines:
            for number, line in enumerate(lines):
                if number < limit:
                    given = json.loads(line)["messages"]
                    yield convert(given, "sharegpt").messages


# --- growth, batches, quality -----------------------------------------------------------------


def _growth(folder: Path, options: argparse.Namespace) -> Any:
    session = max(_sessions(8), key=len)
    print(f"{'turns':>8} {'ms':>8} {'µs a turn':>10}")
    rows: list[Any] = []
    for times in (1, 2, 4, 8):
        turns = [turn for _ in range(times) for turn in session if turn["from"] != "system"]
        path = folder / f"{times}.jsonl"
        path.write_text(json.dumps({"conversations": turns}))
        given = ["--rounds", str(options.rounds + 1), "--target", "16384"]
        found = _run([sys.executable, __file__, "--worker", str(path), *given])
        rows.append({"turns": len(turns), **found})
        milliseconds = found["seconds"] * 1e3
        print(f"{len(turns):8,} {milliseconds:8.1f} {milliseconds * 1e3 / len(turns):10.1f}")
    return rows


def _batch(folder: Path, number: int, several: list[int]) -> Any:
    """Run batches of growing size, and say how much memory the largest process took."""
    lines = [line for line in sharegpt_lines(300) if len(line) < 60_000]
    rows: list[Any] = []
    print(f"{'records':>9} {'workers':>7} {'MB in':>7} {'seconds':>8} {'records/s':>9} "
          f"{'CPU s':>7} {'peak MB, any process':>21}")  # fmt: skip
    for records, workers in ((number // 10, 1), *((number, some) for some in several)):
        path = folder / "in.jsonl.gz"
        size = write_records(path, lines, records)
        out = folder / f"out-{records}-{workers}"
        seconds, found = _measured(path, out, workers)
        rows.append({"records": records, "workers": workers, "seconds": seconds, **found})
        print(f"{records:9,} {workers:7} {size / 1e6:7.0f} {seconds:8.1f} {records / seconds:9.0f} "
              f"{found['cpu']:7.1f} {found['peak_mb']:21.0f}", flush=True)  # fmt: skip
    return rows


def write_records(path: Path, lines: list[bytes], records: int) -> int:
    size = 0
    with gzip.open(path, "wb", 1) as out:
        for at in range(records):
            line = lines[at % len(lines)]
            size += len(line)
            out.write(line.replace(b'{"conv', b'{"id": %d, "conv' % at, 1) + b"\n")
    return size


def _measured(path: Path, out: Path, workers: int, *more: str) -> tuple[float, Any]:
    """Run a batch; return its seconds, CPU time and memory."""
    given = ["-m", "foldaway", "trajectories", "compress", str(path), "-o", str(out),
             "--target-tokens", "4096", "--workers", str(workers), "--format", "jsonl.zst",
             *more]  # fmt: skip
    began = time.monotonic()
    line = [sys.executable, "-c", _MEASURED, *given]
    done = subprocess.run(line, env={**os.environ, "PYTHONPATH": str(SOURCE)}, check=True,
                          capture_output=True, text=True)  # fmt: skip
    return time.monotonic() - began, json.loads(done.stdout.splitlines()[-1])


def _ray(folder: Path, number: int) -> Any:
    """Run one batch by processes and by Ray, with one and two workers, and a batch of one record:
    that is what starting and ending costs.
    """
    lines = [line for line in sharegpt_lines(300) if len(line) < 60_000]
    rows: list[Any] = []
    print(f"{'records':>9} {'engine':>10} {'workers':>7} {'seconds':>8} {'CPU s':>7} "
          f"{'MB of all processes':>20} {'processes':>9}")  # fmt: skip
    for records in (1, number):
        path = folder / f"in-{records}.jsonl.gz"
        write_records(path, lines, records)
        outputs: list[dict[str, bytes]] = []
        for engine in ("processes", "ray"):
            for workers in (1, 2):
                out = folder / f"{engine}-{records}-{workers}"
                more = ("--engine", engine, "--shard-records", "100")
                seconds, found = _measured(path, out, workers, *more)
                outputs.append({one.name: one.read_bytes() for one in out.glob("part-*")})
                rows.append({"records": records, "engine": engine, "workers": workers,
                             "seconds": seconds, **found})  # fmt: skip
                print(f"{records:9,} {engine:>10} {workers:7} {seconds:8.1f} {found['cpu']:7.1f} "
                      f"{found['together_mb']:20.0f} {found['processes']:9}")  # fmt: skip
        assert all(one == outputs[0] for one in outputs), "the bytes differ"
    return rows


_MEASURED = """
import json, os, subprocess, sys, time
from pathlib import Path
running = subprocess.Popen([sys.executable, *sys.argv[1:]], stdout=subprocess.DEVNULL)
peaks, spent, together = {}, {}, 0
def below(pid):
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield int(child)
        yield from below(child)
while running.poll() is None:
    try:
        shares = 0
        for pid in (running.pid, *below(running.pid)):
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            peaks[pid] = next(int(one.split()[1]) for one in lines if "VmHWM" in one) / 1024
            ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            spent[pid] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            shares += next(int(one.split()[1]) for one in lines if one.startswith("Pss:")) / 1024
        together = max(together, shares)
    except (OSError, StopIteration):
        pass
    time.sleep(0.2)
assert running.returncode in (0, 3)  # 3: records are over their target
print(json.dumps({"peak_mb": max(peaks.values()), "cpu": sum(spent.values()),
                  "together_mb": together, "processes": len(peaks)}))
"""


def _quality(options: argparse.Namespace) -> Any:
    """Say what the lab's scores are of head and summary, beside lines in as many tokens.

    The cut is where the last fold ends: what the agent used from there on is the truth.
    """
    from msgspec.structs import replace

    from foldaway.lab.scoring.needed import common_knowledge, prepare
    from foldaway.lab.scoring.score import case_at, score
    from foldaway.lab.scoring.session import LabSession, is_system
    from foldaway.lab.strategies import head_and_tail, keep_tail, message_view
    from foldaway.trajectories.compress import compress_trajectory
    from foldaway.trajectories.policy import TrajectoryPolicy

    sessions: list[LabSession] = []
    for family in FAMILIES:
        with gzip.open(DATA / "sessions" / f"{family}.jsonl.gz") as lines:
            for number, line in enumerate(lines):
                row = json.loads(line)
                if number < options.limit:
                    sessions.append(LabSession(row["id"], family, row["source"], row["messages"]))
    elsewhere = common_knowledge(sessions)
    shown = ("recall", "far", "bound", "copy4", "files R", "errors", "constraints")
    print(f"{'target':>7} {'':13} {'records':>8} " + " ".join(f"{n:>11}" for n in shown))
    rows: list[Any] = []
    for target in TARGETS:
        policy = TrajectoryPolicy(target_tokens=target)
        found: dict[str, list[Any]] = {"ours": [], "keep-tail": [], "head + tail": []}
        for session in sessions:
            made, metrics = compress_trajectory({"messages": session.messages}, policy)
            if not metrics.regions:
                continue
            stop, places = metrics.regions[-1][1], _summary_places(metrics.regions)
            cut = stop - sum(map(is_system, session.messages[:stop]))
            case = case_at(prepare(session), cut, elsewhere)
            view = message_view(made["messages"][: places[-1] + 1])
            texts = tuple(made["messages"][at]["content"] for at in places)
            ours = replace(view, summaries=texts)
            room = ours.tokens
            found["ours"].append(score(case, ours))
            found["keep-tail"].append(score(case, keep_tail(case.messages, room)))
            found["head + tail"].append(score(case, head_and_tail(case.messages, room)))
        for name, scores in found.items():
            means = {rate: _mean([one.rates[rate] for one in scores]) for rate in shown}
            rows.append({"target": target, "way": name, "records": len(scores), **means})
            print(f"{target:7,} {name:13} {len(scores):8} "
                  + " ".join(f"{means[rate]:11.3f}" for rate in shown))  # fmt: skip
    return rows


def _summary_places(regions: Sequence[tuple[int, int]]) -> list[int]:
    """Return where the summaries stand in a record: each takes the place of all its turns."""
    gone, places = 0, list[int]()
    for start, stop in regions:
        places.append(start - gone)
        gone += stop - start - 1
    return places


def _fit() -> Any:
    """Say how many of all sessions are over a target, end over it, and have no room for less.

    It has no room if it needs more than the target with the smallest summaries.
    """
    from foldaway.trajectories.compress import compress_trajectory
    from foldaway.trajectories.policy import TrajectoryPolicy

    rows = {target: {"target": target, "long": 0, "over": 0, "no room": 0} for target in TARGETS}
    for path in sorted((DATA / "sessions").glob("*.jsonl.gz")):
        with gzip.open(path) as lines:
            for line in lines:
                record = {"messages": json.loads(line)["messages"]}
                nothing = TrajectoryPolicy(target_tokens=1)
                least = compress_trajectory(record, nothing)[1].least_tokens
                for target, row in rows.items():
                    policy = TrajectoryPolicy(target_tokens=target)
                    metrics = compress_trajectory(record, policy)[1]
                    row["long"] += not metrics.skipped
                    row["over"] += metrics.still_over_limit
                    row["no room"] += least > target
    for row in rows.values():
        print(" ".join(f"{name} {count:,}" for name, count in row.items()))
    return list(rows.values())


def _mean(values: list[float | None]) -> float:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else float("nan")


if __name__ == "__main__":
    raise SystemExit(main())
