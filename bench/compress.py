"""CPU and memory of a compaction beside hermes-agent 0.19.0, in the same run on the same messages.

    python bench/compress.py                 the tables
    python bench/compress.py --quick         without the 50,000 messages
    python bench/compress.py --shape field   short messages, as in the published figures of the peer
    python bench/compress.py --no-peer       without the peer
    python bench/compress.py --repeat 4      more processes for each figure, on a busy machine
    python bench/compress.py --json FILE     the figures as JSON too

Every figure comes from fresh processes, best of several rounds, garbage collector on, both sides
given the same parsed list. The peer is installed into bench/.peers on the first run; where that is
not possible the tables say so. Aims: one-shot at least 5 times less CPU than the peer with its
deterministic fallback, the compaction step of the long-lived form at least 20 times less, the
check after one appended message within 2 times from 100 to 50,000 messages. The real session is
read from $FOLDAWAY_DATA or ../shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

BENCH = Path(__file__).resolve().parent
DATA = Path(os.environ.get("FOLDAWAY_DATA", BENCH.parent.parent / "shared" / "data"))
REAL_SESSION = "concat__git-sync-codex"
PEER = "hermes-agent"
PEER_VERSION = "0.19.0"
PEER_HOME = BENCH / ".peers" / "hermes"
CONTEXT_LENGTH = 200_000
SIZES = (1_000, 10_000, 50_000)
ROUNDS = {1_000: 9, 10_000: 5, 50_000: 2}
CHECK_SHORT = 100
CHECK_REPEATS = 2_000
WARM_MESSAGES = 200
AIMS = {"one-shot": 5.0, "step": 20.0, "check": 2.0}

Ready = TypeVar("Ready")
Made = TypeVar("Made")
Figures = dict[str, Any]


class Input(NamedTuple):
    """One list of messages, on disk."""

    name: str
    path: Path
    messages: int
    megabytes: float


class Row(NamedTuple):
    """What both sides needed for one input; a side that was not run is empty."""

    input: Input
    oneshot: Figures
    step: Figures
    fallback: Figures
    stubbed: Figures


class Form(NamedTuple):
    """How many calls a turn has, how long results (characters) and texts (words) are at most."""

    calls: int
    longest: int
    words: int


class Check(NamedTuple):
    """The per-turn check on a log of one length."""

    name: str
    ours: Figures
    peer: Figures


def main() -> int:
    options = _options()
    if options.worker:
        print(json.dumps(_work(options.worker, options.messages, options.rounds, options.length)))
        return 0
    peer, problem = (None, "left out") if options.no_peer else peer_python()
    with tempfile.TemporaryDirectory() as scratch:
        sizes = SIZES[:-1] if options.quick else SIZES
        inputs, skipped = written_inputs(Path(scratch), sizes, options.shape)
        rows = [_row(one, peer, options.repeat) for one in inputs]
        longest = inputs[len(sizes) - 1]
        checks = list(_checks(longest, peer, options.repeat))
    found = _findings(options.shape, rows, checks, problem, skipped)
    _show(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--shape", choices=tuple(_FORMS), default="loops")
    parser.add_argument("--quick", action="store_true", help="leave out the largest input")
    parser.add_argument("--no-peer", action="store_true", help="measure Foldaway alone")
    parser.add_argument("--repeat", type=int, default=2, help="processes for each figure")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--worker", choices=tuple(_TASKS), help=argparse.SUPPRESS)
    parser.add_argument("--messages", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=3, help=argparse.SUPPRESS)
    parser.add_argument("--length", type=int, default=CHECK_SHORT, help=argparse.SUPPRESS)
    return parser.parse_args()


# --- measuring, inside a process of its own; the peer's driver uses these too -----------------


def best_run(
    prepare: Callable[[], Ready], run: Callable[[Ready], Made], rounds: int
) -> tuple[Figures, Made]:
    """Return the least CPU of `run`, the memory that its first round took at most, what it made."""
    seconds: list[float] = []
    peak = 0
    made: list[Made] = []
    for number in range(rounds):
        made.clear()
        ready = prepare()
        gc.collect()
        resident = _reset_peak()
        start = time.process_time()
        made.append(run(ready))
        seconds.append(time.process_time() - start)
        peak = max(_peak_bytes() - resident, 0) if number == 0 else peak
        del ready
    return {"cpu_ms": min(seconds) * 1e3, "peak_mb": peak / 1e6}, made[0]


def sample_cpu(turn: Callable[[Any], None], items: Sequence[Any]) -> Figures:
    """Return median and mean CPU of `turn` over the items, in microseconds."""
    clock = time.process_time_ns
    spent: list[int] = []
    for item in items:
        start = clock()
        turn(item)
        spent.append(clock() - start)
    return {"median_us": statistics.median(spent) / 1e3, "mean_us": statistics.mean(spent) / 1e3}


def read_messages(path: Path) -> list[Any]:
    return json.loads(path.read_bytes())


def _reset_peak() -> int:
    """Forget the highest resident size so far; return the present one in bytes."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return _peak_bytes()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _peak_bytes() -> int:
    """Return the highest resident size; ru_maxrss would count the parent's before exec."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024
    return next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line) * 1_024


def _work(task: str, path: Path, rounds: int, length: int) -> Figures:
    sys.path.insert(0, str(BENCH.parent / "src"))
    return _TASKS[task](path, rounds, length)


def _oneshot(path: Path, rounds: int, _: int) -> Figures:
    from foldaway.engine.oneshot import compress

    compress(read_messages(path)[:WARM_MESSAGES], context_length=CONTEXT_LENGTH)
    found, done = best_run(
        lambda: read_messages(path),
        lambda messages: compress(messages, context_length=CONTEXT_LENGTH),
        rounds,
    )
    return {**found, **_reported(done.report)}


def _step(path: Path, rounds: int, _: int) -> Figures:
    _filled(read_messages(path)[:WARM_MESSAGES]).compact(force=True)
    arrivals: list[float] = []

    def prepare() -> Any:
        messages = read_messages(path)
        gc.collect()
        start = time.process_time()
        compressor = _filled(messages)
        arrivals.append(time.process_time() - start)
        return compressor

    found, report = best_run(prepare, lambda one: one.compact(force=True), rounds)
    return {**found, "arrival_ms": min(arrivals) * 1e3, **_reported(report)}


def _check(path: Path, _: int, length: int, *, compacted: bool = False) -> Figures:
    """Append one message and decide; on short logs with several compressors, so they stay short."""
    everything = read_messages(path)
    logs = max(1, min(20, 2_000 // length))
    coming = (everything[1:] * (1 + CHECK_REPEATS // len(everything)))[: CHECK_REPEATS // logs]
    compressors = [_filled(everything[:length]) for _ in range(logs)]
    if compacted:
        for one in compressors:
            one.compact(force=True)
    gc.collect()

    def turn(job: tuple[Any, Any]) -> None:
        compressor, message = job
        compressor.append(message)
        compressor.decide()

    return sample_cpu(turn, [(one, message) for one in compressors for message in coming])


def _check_compacted(path: Path, rounds: int, length: int) -> Figures:
    return _check(path, rounds, length, compacted=True)


def _filled(messages: Sequence[Any]) -> Any:
    from foldaway.engine.compressor import Compressor

    compressor = Compressor(context_length=CONTEXT_LENGTH)
    for message in messages:
        compressor.append(message)
    return compressor


def _reported(report: Any) -> Figures:
    if report.status != "compacted":
        raise SystemExit(f"nothing was compacted: {report.reason}: {report.detail}")
    return {
        "messages_after": report.messages_after,
        "tokens_before": report.tokens_before,
        "tokens_after": report.tokens_after,
    }


_TASKS: dict[str, Callable[[Path, int, int], Figures]] = {
    "oneshot": _oneshot,
    "step": _step,
    "check": _check,
    "check-compacted": _check_compacted,
}


# --- starting the processes -------------------------------------------------------------------


def _row(one: Input, peer: str | None, repeat: int) -> Row:
    rounds = ROUNDS.get(one.messages, 5)
    kept: dict[str, Figures] = {}
    for _ in range(repeat):
        for task in ("oneshot", "step", "fallback", "stubbed"):
            kept[task] = _better(kept.get(task, {}), _run(task, one, peer, rounds))
    return Row(one, kept["oneshot"], kept["step"], kept["fallback"], kept["stubbed"])


def _checks(longest: Input, peer: str | None, repeat: int) -> Iterator[Check]:
    for length in (CHECK_SHORT, longest.messages):
        peers = _run("check", longest, peer, 1, length, ours=False)
        yield Check(f"{length:,}", _best_check("check", longest, length, repeat), peers)
    compacted = _best_check("check-compacted", longest, longest.messages, repeat)
    yield Check(f"{longest.messages:,}, compacted before", compacted, {})


def _best_check(task: str, one: Input, length: int, repeat: int) -> Figures:
    runs = [_run(task, one, None, 1, length) for _ in range(repeat)]
    return min(runs, key=lambda found: found["median_us"])


def _better(was: Figures, new: Figures) -> Figures:
    """Return the smaller figure of each kind: what disturbs a run only ever adds."""
    return {**was, **{name: min(value, was.get(name, value)) for name, value in new.items()}}


def _run(
    task: str, one: Input, peer: str | None, rounds: int, length: int = 0, *, ours: bool = True
) -> Figures:
    """Return what a fresh process measured; nothing where the peer is not there."""
    sizes = ["--rounds", str(rounds), "--length", str(length)]
    if task in _TASKS and ours:
        line = [sys.executable, __file__, "--worker", task, "--messages", str(one.path), *sizes]
    elif peer is not None:
        line = [peer, str(BENCH / "peer_hermes.py"), task, str(one.path), *sizes]
    else:
        return {}
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{task} on {one.name} failed:\n{done.stderr[-2_000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def peer_python() -> tuple[str | None, str]:
    """Return the interpreter of the peer's venv, made where it is missing, or why there is none."""
    sys.path.insert(0, str(BENCH.parent / "src"))
    # the peer's own Python reads this file too, without what Foldaway needs
    from peers.worker import Failure, interpreter

    found = interpreter(PEER_HOME, (f"{PEER}=={PEER_VERSION}",), partial(print, file=sys.stderr))
    return (None, found.error) if isinstance(found, Failure) else (str(found), "")


# --- messages ---------------------------------------------------------------------------------


def written_inputs(folder: Path, sizes: Sequence[int], shape: str) -> tuple[list[Input], str]:
    """Return the inputs, written once, and why the real session is missing if it is."""
    found = [_written(folder, f"{shape} {size:,}", generated(size, shape)) for size in sizes]
    path = DATA / "sessions" / f"{REAL_SESSION}.jsonl.gz"
    if not path.exists():
        return found, "no real session: set FOLDAWAY_DATA or put the data at ../shared/data"
    record = json.loads(gzip.decompress(path.read_bytes()).splitlines()[0])
    return [*found, _written(folder, f"real {REAL_SESSION}", record["messages"])], ""


def _written(folder: Path, name: str, messages: list[Any]) -> Input:
    path = folder / f"{name.replace(' ', '-')}.json"
    path.write_text(json.dumps(messages, ensure_ascii=False), encoding="utf-8")
    return Input(name, path, len(messages), path.stat().st_size / 1e6)


def generated(size: int, shape: str) -> list[Any]:
    """Return `size` messages of a coding agent: an ask, four calls with their results, an answer.

    The same size and shape always give the same messages. `loops` has results of 200 to 4,000
    characters; `field` has short ones, whose summarizer prompts come to the published sizes.
    """
    rng = random.Random(f"{shape} {size}")
    form = _FORMS[shape]
    messages: list[Any] = [{"role": "system", "content": "You are a careful engineer. " * 40}]
    turn = 0
    while len(messages) < size - 10:
        messages.extend(_turn(rng, turn, form))
        turn += 1
    while len(messages) < size:
        messages.append({"role": "user", "content": f"And then, for step {len(messages)}?"})
        messages.append({"role": "assistant", "content": f"Step {len(messages)} is done."})
    return messages[:size]


def _turn(rng: random.Random, turn: int, form: Form) -> Iterator[Any]:
    path = f"src/{rng.choice(_WORDS)}/{rng.choice(_WORDS)}_{rng.randrange(400)}.py"
    yield {"role": "user", "content": f"Ask {turn}: {_prose(rng, form.words)} See `{path}`."}
    calls = list(_calls(rng, path, form.longest)) * 2
    chosen = calls[turn % 4 :][: form.calls]
    for number, (tool, arguments, output) in enumerate(chosen):
        identity = f"call_{turn}_{number}"
        function = {"name": tool, "arguments": json.dumps(arguments)}
        call = {"id": identity, "type": "function", "function": function}
        said = _prose(rng, form.words // 2) if rng.random() < 0.4 else ""
        yield {"role": "assistant", "content": said, "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": identity, "content": output}
    yield {"role": "assistant", "content": f"{_prose(rng, form.words)} `{path}` is changed."}


def _calls(rng: random.Random, path: str, longest: int) -> Iterator[tuple[str, Any, str]]:
    def sized(line: Callable[[int], str]) -> str:
        room, number, lines = rng.randint(min(200, longest // 4), longest), 0, list[str]()
        while room > 0:
            lines.append(line(number))
            room -= len(lines[-1]) + 1
            number += 1
        return "\n".join(lines)

    word = rng.choice(_WORDS)
    failed = rng.random() < 0.3
    code = sized(lambda n: f"{n + 1:6}|    {word}_{n} = {rng.choice(_WORDS)}({rng.randrange(999)})")
    hits = sized(lambda n: f"{path}:{n * 7 + 3}:    return {word}({rng.choice(_WORDS)}, {n})")
    shown = sized(lambda n: f"tests/test_{word}.py::test_{rng.choice(_WORDS)}_{n} PASSED [{n:3}%]")
    ending = f"\nE   AssertionError: assert {rng.randrange(99)} == 0" if failed else "\nall passed"
    old, new = _prose(rng, 14), _prose(rng, 16)
    yield "read_file", {"path": path, "offset": rng.randrange(500), "limit": 200}, code
    yield "search_files", {"pattern": f"{word}\\(", "path": "src"}, hits
    yield "patch", {"path": path, "old_string": old, "new_string": new}, f"--- {path}\n{code[:150]}"
    output = f"{shown}{ending}\nexit code: {int(failed)}"
    yield "terminal", {"command": f"pytest -x tests/test_{word}.py"}, output


def _prose(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(words // 2, words))).capitalize() + "."


_FORMS = {"loops": Form(4, 4_000, 40), "field": Form(1, 2_400, 52)}
_WORDS = (
    "parser", "field", "record", "index", "cache", "session", "token", "window", "budget",
    "ledger", "digest", "result", "value", "schema", "reader", "writer", "queue", "worker",
    "retry", "timeout", "header", "payload", "stream", "buffer", "cursor", "when", "after",
    "before", "should", "keeps", "drops", "returns", "raises", "the", "last", "first", "every",
    "each", "quoted", "empty",
)  # fmt: skip


# --- what was found ---------------------------------------------------------------------------


def _findings(
    shape: str, rows: list[Row], checks: list[Check], problem: str, skipped: str
) -> dict[str, Any]:
    shown = [
        {
            "input": row.input.name, "messages": row.input.messages,
            "megabytes": row.input.megabytes, "foldaway_oneshot": row.oneshot,
            "foldaway_step": row.step, "peer_fallback": row.fallback, "peer_stubbed": row.stubbed,
            "oneshot_ratio": _ratio(row.fallback, row.oneshot),
            "oneshot_ratio_stubbed": _ratio(row.stubbed, row.oneshot),
            "step_ratio": _ratio(row.fallback, row.step),
            "step_ratio_stubbed": _ratio(row.stubbed, row.step),
        }
        for row in rows
    ]  # fmt: skip
    growth = checks[1].ours["median_us"] / checks[0].ours["median_us"]
    return {
        "shape": shape,
        "peer": f"{PEER} {PEER_VERSION}",
        "peer_problem": problem,
        "skipped": skipped,
        "aims": AIMS,
        "rows": shown,
        "checks": [{"log": one.name, "foldaway": one.ours, "peer": one.peer} for one in checks],
        "check_growth": growth,
    }


def _ratio(peer: Figures, ours: Figures) -> float | None:
    return peer["cpu_ms"] / ours["cpu_ms"] if peer else None


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console(width=max(Console().width, 136))
    missing = found["peer_problem"]
    console.print(_compaction_table(found))
    console.print(_memory_table(found))
    console.print(_check_table(found))
    growth, most = found["check_growth"], AIMS["check"]
    console.print(f"check on the longest log over the shortest: {growth:.2f}× "
                  f"(aim: within {most:.0f}× {'✓' if growth <= most else '✗'})")  # fmt: skip
    for line in (f"no figures of {found['peer']}: {missing}" if missing else "", found["skipped"]):
        if line:
            console.print(line)


def _table(title: str, heads: Sequence[str]) -> Any:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number else "left", no_wrap=not number)
    return table


def _compaction_table(found: dict[str, Any]) -> Any:
    heads = ("input", "MB", "one-shot", "arrival", "step", "peer, fallback", "peer, stubbed",
             f"one-shot: {AIMS['one-shot']:.0f}×?", f"step: {AIMS['step']:.0f}×?")  # fmt: skip
    table = _table("CPU of a compaction, ms; how many times less than the peer's fallback", heads)
    for row in found["rows"]:
        step = row["foldaway_step"]
        table.add_row(
            row["input"], f"{row['megabytes']:.1f}", f"{row['foldaway_oneshot']['cpu_ms']:,.1f}",
            f"{step['arrival_ms']:,.1f}", f"{step['cpu_ms']:,.2f}",
            _cell(row["peer_fallback"], "cpu_ms"), _cell(row["peer_stubbed"], "cpu_ms"),
            _times(row["oneshot_ratio"], "one-shot"), _times(row["step_ratio"], "step"),
        )  # fmt: skip
    return table


def _memory_table(found: dict[str, Any]) -> Any:
    heads = ("input", "one-shot", "step", "peer, fallback", "peer, stubbed", "its prompt, chars",
             "tokens before", "tokens after", "messages", "peer's")  # fmt: skip
    table = _table("Peak memory above the loaded messages, MB; sizes", heads)
    for row in found["rows"]:
        ours, fallback, stubbed = row["foldaway_oneshot"], row["peer_fallback"], row["peer_stubbed"]
        table.add_row(
            row["input"], _cell(ours, "peak_mb"), _cell(row["foldaway_step"], "peak_mb"),
            _cell(fallback, "peak_mb"), _cell(stubbed, "peak_mb"), _cell(stubbed, "prompt_chars"),
            _cell(ours, "tokens_before"), _cell(ours, "tokens_after"),
            _cell(ours, "messages_after"), _cell(fallback, "messages_after"),
        )  # fmt: skip
    return table


def _check_table(found: dict[str, Any]) -> Any:
    heads = ("messages in the log", "median", "mean", "peer, median", "peer, mean")
    table = _table("CPU of the check after one appended message, µs", heads)
    for row in found["checks"]:
        cells = [_cell(row[side], name) for side in ("foldaway", "peer")
                 for name in ("median_us", "mean_us")]  # fmt: skip
        table.add_row(row["log"], *cells)
    return table


def _cell(figures: Figures, name: str) -> str:
    if not figures:
        return "–"
    value = figures[name]
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def _times(ratio: float | None, aim: str) -> str:
    return "–" if ratio is None else f"{ratio:.1f}× {'✓' if ratio >= AIMS[aim] else '✗'}"


if __name__ == "__main__":
    sys.exit(main())
