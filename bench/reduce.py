"""What a reduction of single tool results keeps, how small it gets, and how fast it is.

    python bench/reduce.py              all tables
    python bench/reduce.py --quick      without the texts of 25 and 50 MB
    python bench/reduce.py --share 0.1  another budget for the table of signals
    python bench/reduce.py --sessions   the table of signals over results from the shared sessions
    python bench/reduce.py --json FILE  the figures as JSON beside the tables

The 752 shared tool results are found by FOLDAWAY_DATA or at ../shared/data from the repository.
What counts as signal is decided here, by patterns that share nothing with the reducers' own; the
baseline is the start and the end of the text, cut to as many tokens as the reduction has. The
reducers were written with the 752 in view; `--sessions` takes other results, which were not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from foldaway.reduction.fit import reduce_text
from foldaway.reduction.kinds import detect_kind
from foldaway.reduction.reduced import KINDS, Kind
from foldaway.reduction.signals import error_lines, exit_status, failing_tests, test_counts
from foldaway.transcript import Estimator

COUNTER = Estimator()
DEFAULT_TOKENS = 2_000
LEAST_TOKENS = 120
LEAST_CHARS = 3_000
MOST_A_FILE = 400
MOST_ERRORS = 20
SHELLS = frozenset({"bash", "exec_command", "shell", "write_stdin", "terminal"})
AIM_MB_PER_SECOND = {"log": 20, "json": 20, "diff": 20, "code": 20}

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
STAMP = re.compile(r"\b\d{4}[-/]\d\d[-/]\d\d[T ](?=\d\d:\d\d)|(?<=:\d\d)[.,]\d+Z?|(?<=\d)Z\b")
ERROR = re.compile(
    r"^\W{0,12}(?:\[[^\]]{1,40}\]\W{0,4})?(?:error|Error|ERROR|fatal|FATAL|panic|FAIL|FAILED|"
    r"npm ERR!|[A-Z]\w+(?:Error|Exception))(?:\[\w+\])?(?::|!|\t|$| task)"
    r"|^\S+:\d+(?::\d+)?:? (?:fatal )?error(?: [A-Z]+\d+|\[[\w-]+\])?:"
    r"|^\d\S* \S{0,20} ?(?:ERROR|FATAL|PANIC)\b"
)
UNLIKE = re.compile(r"\d+|\S*/\S*")
FAILING = re.compile(
    r"^\s*--- FAIL: (\S+)|^FAILED (\S+::\S+)|^\s*✕ (.+?)(?: \(|$)|^\s*● (.+ › .+)$"
    r"|^test (\S+) \.\.\. FAILED|^not ok \d+ - (.+)$|^FAIL\t(\S+)",
    re.M,
)
CHANGED = re.compile(r"^diff --git a/\S+ b/(\S+)$|^\+\+\+ b/(\S+)$", re.M)
COUNTS = re.compile(
    r"\b\d[\d,]* (?:passed|failed|skipped|files? changed|insertions?\(\+\)|deletions?\(-\)"
    r"|issues?:)"
)
DIAGNOSTIC = re.compile(r"(\S+?):(\d+:\d+): (.*)")
STATUS = re.compile(r"^(?:Exit code|Process exited with code|.{0,20}exit status) -?\d+", re.M)
FIELD = re.compile(
    r'"(?:status|state|success|ok|error|code|exit_code|conclusion|is_error)"\s*:\s*'
    r'(?:"[^"\\]{1,60}"|true|false|-?\d{1,9})(?=\s*[,}])'
)


@dataclass
class Score:
    """How many signals there were, and how many survived."""

    there: int = 0
    ours: int = 0
    ends: int = 0
    texts: int = 0


@dataclass
class Size:
    texts: int = 0
    reduced: int = 0
    before: int = 0
    after: int = 0
    seconds: float = 0.0
    read_as: dict[str, int] = field(default_factory=lambda: defaultdict(int))


def main() -> int:
    parser = argparse.ArgumentParser(description="What reductions keep, their size and speed.")
    parser.add_argument("--quick", action="store_true", help="no text of more than 5 MB")
    parser.add_argument("--share", type=float, default=0.25, help="budget of the signal table")
    parser.add_argument("--sessions", action="store_true", help="results from the sessions")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON")
    options = parser.parse_args()
    records = load()
    figures: dict[str, Any] = {}
    if records and options.sessions:
        others = from_sessions(records)
        print(f"{len(others):,} results of the sessions that are not among the {len(records)}\n")
        signals(others, options.share)
        return 0
    if records:
        figures["sizes"] = sizes(records)
        figures["signals"] = signals(records, options.share)
    else:
        print("no tool results: set FOLDAWAY_DATA or put them at ../shared/data\n")
    figures["speed"] = speed(records)
    figures["signal speed"] = signal_speed(records)
    figures["growth"] = growth((1, 5) if options.quick else (1, 5, 25, 50))
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1))
    return 0


def data_root() -> Path:
    data = os.environ.get("FOLDAWAY_DATA")
    return Path(data) if data else Path(__file__).resolve().parent.parent.parent / "shared/data"


def load() -> list[dict[str, Any]]:
    path = data_root() / "tool_outputs" / "tool_outputs.jsonl.gz"
    if not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def from_sessions(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return long tool results of the sessions that are not among `records`, at most 400 a file."""
    known = {record["text"] for record in records}
    found: list[dict[str, Any]] = []
    for path in sorted((data_root() / "sessions").glob("*.jsonl.gz")):
        taken = 0
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                for tool, text in results_of(json.loads(line)["messages"]):
                    if len(text) >= LEAST_CHARS and text not in known and taken < MOST_A_FILE:
                        known.add(text)
                        taken += 1
                        found.append({"tool": tool, "text": text, "kind": rough_kind(tool, text)})
    return found


def results_of(messages: list[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    names: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            names[str(call.get("id"))] = str(call["function"].get("name", ""))
        if message["role"] == "tool" and isinstance(message.get("content"), str):
            yield names.get(str(message.get("tool_call_id")), ""), message["content"]


def rough_kind(tool: str, text: str) -> str:
    """Return which signals to look for in a result, told without our own detection."""
    if tool.lower() in ("read", "read_file", "view", "edit", "write"):
        return "file"
    if tool.lower() in ("grep", "glob", "search"):
        return "search"
    if CHANGED.search(text):
        return "diff"
    if text[:1] in ("{", "["):
        return "json"
    return "test_log" if FAILING.search(text) else "other"


def sizes(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print the size by kind of source at the default budget."""
    rows: dict[str, Size] = defaultdict(Size)
    for record in records:
        start = time.process_time()
        reduced = reduce_text(record["text"], budget_tokens=DEFAULT_TOKENS, counter=COUNTER)
        row = rows[record["kind"]]
        row.seconds += time.process_time() - start
        row.texts += 1
        row.reduced += not reduced.is_whole
        row.before += reduced.tokens_before
        row.after += reduced.tokens_after
        row.read_as[reduced.kind or "as it was"] += 1
    print(f"size at a budget of {DEFAULT_TOKENS:,} tokens")
    print(
        f"{'kind':<16} {'texts':>5} {'reduced':>7} {'before':>9} {'after':>8} {'share':>6}   ms"
        "  read as"
    )
    found: list[dict[str, Any]] = []
    for kind, row in sorted(rows.items()):
        read_as = ", ".join(
            f"{n} {name}" for name, n in sorted(row.read_as.items(), key=lambda x: -x[1])
        )
        print(
            f"{kind:<16} {row.texts:>5} {row.reduced:>7} {row.before:>9,} {row.after:>8,} "
            f"{row.after / row.before:>6.0%} {1000 * row.seconds / row.texts:>4.1f}  {read_as}"
        )
        found.append({"kind": kind, "texts": row.texts, "before": row.before, "after": row.after})
    before, after = sum(r.before for r in rows.values()), sum(r.after for r in rows.values())
    print(
        f"{'all':<16} {len(records):>5} {sum(r.reduced for r in rows.values()):>7} "
        f"{before:>9,} {after:>8,} {after / before:>6.0%}\n"
    )
    return found


def signals_of(record: dict[str, Any]) -> dict[str, list[str]]:
    """Return the signals of one result, each once."""
    text = ANSI.sub("", record["text"])
    found: dict[str, list[str]] = {}
    if record["tool"].lower() in SHELLS and record["kind"] not in ("file", "diff", "search"):
        found["error lines"] = [line[:160] for line in different(text.split("\n"))]
    if record["kind"] in ("test_log", "build_log", "other"):
        found["failing tests"] = [next(filter(None, one)) for one in FAILING.findall(text)]
    if record["kind"] == "diff":
        found["changed files"] = [one or two for one, two in CHANGED.findall(text)]
    if record["kind"] in ("test_log", "build_log", "git", "other", "diff"):
        found["counts"] = COUNTS.findall(text[-3000:])
    found["exit status"] = STATUS.findall(text[:600] + "\n" + text[-300:])
    if record["kind"] == "json":
        found["status fields"] = FIELD.findall(text)
    return {name: list(dict.fromkeys(values)) for name, values in found.items() if values}


def different(lines: Iterable[str]) -> list[str]:
    """Return the first lines that report an error, no two alike but for digits and paths.

    Lines that name a test that failed are counted on their own.
    """
    found: dict[str, str] = {}
    for line in lines:
        if ERROR.search(line) and not FAILING.match(line):
            found.setdefault(UNLIKE.sub("", line), line.strip())
    return list(found.values())[:MOST_ERRORS]


def normal(text: str) -> str:
    return " ".join(STAMP.sub("", ANSI.sub("", text)).split())


def survives(signal: str, normalized: str) -> bool:
    """Return whether a signal is there: as it was, or place and message of a diagnostic apart."""
    wanted = normal(signal)
    if wanted in normalized or wanted.replace('": ', '":') in normalized:
        return True
    found = DIAGNOSTIC.match(wanted)
    return found is not None and all(part in normalized for part in found.groups())


def ends(text: str, tokens: int) -> str:
    """Return the start and the end of a text in at most so many tokens."""
    keep = min(len(text), 6 * tokens)
    while True:
        head = keep * 2 // 3
        mark = f"\n[… {len(text) - keep:,} characters …]\n"
        made = text[:head] + mark + text[len(text) - (keep - head) :]
        if keep <= 16 or COUNTER.count(made) <= tokens:
            return made
        keep = keep * 15 // 16


def signals(records: list[dict[str, Any]], share: float) -> list[dict[str, Any]]:
    """Print what survives at a share of each text's tokens."""
    rows: dict[tuple[str, str], Score] = defaultdict(Score)
    for record in records:
        text = record["text"]
        budget = max(int(COUNTER.count(text) * share), LEAST_TOKENS)
        reduced = reduce_text(text, budget_tokens=budget, counter=COUNTER)
        ours = normal(reduced.text)
        plain = normal(ends(text, reduced.tokens_after))
        for name, values in signals_of(record).items():
            if COUNTER.count("\n".join(values)) > 0.8 * budget:
                name += " *"
            for key in ((name, record["kind"]), (name, "all")):
                rows[key].texts += 1
                rows[key].there += len(values)
                rows[key].ours += sum(survives(value, ours) for value in values)
                rows[key].ends += sum(survives(value, plain) for value in values)
    print(f"signals that survive at {share:.0%} of the tokens (at least {LEAST_TOKENS});")
    print("* where the signals alone are about as much as the budget, or more")
    print(f"{'signal':<15} {'kind':<16} {'texts':>5} {'there':>6} {'ours':>6} {'head + tail':>11}")
    found: list[dict[str, Any]] = []
    for (name, kind), row in sorted(rows.items()):
        ours, plain = row.ours / row.there, row.ends / row.there
        print(f"{name:<15} {kind:<16} {row.texts:>5} {row.there:>6,} {ours:>6.1%} {plain:>11.1%}")
        found.append(
            {"signal": name, "kind": kind, "there": row.there, "ours": ours, "ends": plain}
        )
    print()
    return found


def speed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print MB/s of each reducer on texts of its kind, joined to about 0.9 and 5 MB."""
    print("speed of a reduction to 2,000 tokens, the kind being known")
    print(f"{'reducer':<9} {'0.9 MB, MB/s':>12} {'5 MB, MB/s':>11} {'10 KB, ms':>10}  aim")
    found: list[dict[str, Any]] = []
    for kind in KINDS:
        small, large = sample(kind, 900_000, records), sample(kind, 5_000_000, records)
        tiny = sample(kind, 10_000, records)
        figures = [len(text) / 1e6 / timed(text, kind) for text in (small, large)]
        one = 1000 * timed(tiny, kind)
        aim = AIM_MB_PER_SECOND.get(kind)
        verdict = f"{aim} MB/s {'met' if min(figures) >= aim else 'missed'}" if aim else ""
        print(f"{kind:<9} {figures[0]:>12.0f} {figures[1]:>11.0f} {one:>10.1f}  {verdict}")
        found.append({"kind": kind, "mb_s": figures, "ms_10kb": one})
    print()
    return found


def timed(text: str, kind: Kind) -> float:
    """Return the CPU seconds of a reduction, best of three."""
    best = 1e9
    for _ in range(3):
        start = time.process_time()
        reduce_text(text, kind, DEFAULT_TOKENS, counter=COUNTER)
        best = min(best, time.process_time() - start)
    return best


def sample(kind: Kind, size: int, records: list[dict[str, Any]]) -> str:
    """Return about `size` characters of a kind: real texts where there are some."""
    if kind in MADE:
        return MADE[kind](size)
    real = [record["text"] for record in records if detect_kind(record["text"]) == kind]
    return joined(real or [MADE["log"](20_000)], size)


def joined(texts: Iterable[str], size: int) -> str:
    parts: list[str] = []
    total, pool = 0, list(texts)
    while total < size:
        parts.append(pool[len(parts) % len(pool)])
        total += len(parts[-1]) + 1
    return "\n".join(parts)[:size]


def made_json(size: int) -> str:
    row = {"id": 0, "name": "user name", "email": "user@example.invalid", "tags": ["a", "b"],
           "score": 0.5, "status": "active", "note": "a line of text that says little"}  # fmt: skip
    count = size // len(json.dumps(row))
    return json.dumps([{**row, "id": at, "score": at % 97 / 7} for at in range(count)])


def made_jsonl(size: int) -> str:
    return "\n".join(json.dumps(row) for row in json.loads(made_json(size)))


def made_csv(size: int) -> str:
    rows = (
        f"{at},name {at},{at % 89 / 3:.2f},2026-01-{at % 28 + 1:02},active"
        for at in range(size // 48)
    )
    return "id,name,score,day,status\n" + "\n".join(rows)


def made_log(size: int) -> str:
    levels = ("INFO", "INFO", "DEBUG", "INFO", "WARN", "INFO")
    return "\n".join(
        f"2026-02-03 11:{at // 60 % 60:02}:{at % 60:02},{at % 1000:03} {levels[at % 6]} "
        f"worker-{at % 7} handled request {at} of client {at % 13} in {at % 250} ms"
        + (" ERROR: no route to host" if at % 5000 == 77 else "")
        for at in range(size // 96)
    )


def made_trace(size: int) -> str:
    frame = '  File "/srv/app/module_%d.py", line %d, in handler_%d\n    return step_%d(value)\n'
    one = "Traceback (most recent call last):\n%sValueError: bad value %d\n"
    return "\n".join(
        one % ("".join(frame % (at % 9, n, n, n) for n in range(24)), at)
        for at in range(size // 2_000)
    )


def made_html(size: int) -> str:
    part = (
        "<div class='c'><h2>Heading</h2><p>A paragraph of some words, <a href='/x'>a link</a>"
        " and more.</p><ul><li>one</li><li>two</li></ul></div>\n"
    )
    return f"<!doctype html><html><body>{part * (size // len(part))}</body></html>"


MADE: dict[str, Callable[[int], str]] = {
    "json": made_json, "jsonl": made_jsonl, "csv": made_csv, "log": made_log,
    "trace": made_trace, "html": made_html,
}  # fmt: skip


def signal_speed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print how fast the signals of a result are found."""
    clean = (
        "A line of quiet text, as any tool may write it; 1234 words and more of the same.\n"
        * 50_000
    )
    real = [record["text"] for record in records]
    size = sum(map(len, real))
    print(f"{'signals':<14} {'clean, MB/s':>11} {'the 752, MB/s':>14} {'µs a text':>10}")
    found: list[dict[str, Any]] = []
    for find in (error_lines, failing_tests, test_counts, exit_status):
        start = time.process_time()
        find(clean)
        quick = len(clean) / 1e6 / max(time.process_time() - start, 1e-9)
        start = time.process_time()
        for text in real:
            find(text)
        seconds = max(time.process_time() - start, 1e-9)
        rate, each = size / 1e6 / seconds, 1e6 * seconds / max(len(real), 1)
        print(f"{find.__name__:<14} {quick:>11,.0f} {rate:>14,.0f} {each:>10.0f}")
        found.append({"signal": find.__name__, "clean": quick, "real": rate})
    print()
    return found


def growth(megabytes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Print the time for single lines, of which each kind is one, up to 50 MB."""
    shapes: dict[str, Callable[[int], str]] = {
        "words": lambda size: "word " * (size // 5),
        "no blanks": lambda size: "x" * size,
        "JSON": lambda size: made_json(size),
        "progress": lambda size: "".join(f"{at}%\r" for at in range(size // 8)),
        "ANSI": lambda size: "\x1b[31mred\x1b[0m " * (size // 14),
        "errors": lambda size: "error: no " * (size // 10),
        "quotes": lambda size: '{"a": "' + "\\n\\" * (size // 3),
    }
    print("one line: seconds for 1 MB, and how much more a MB of a longer one costs")
    print(f"{'line':<10}" + "".join(f"{mb:>9} MB" for mb in megabytes))
    found: list[dict[str, Any]] = []
    for name, make in shapes.items():
        costs: list[float] = []
        for mb in megabytes:
            text = make(mb * 1_000_000)
            start = time.process_time()
            reduce_text(text, budget_tokens=DEFAULT_TOKENS, counter=COUNTER)
            costs.append((time.process_time() - start) / len(text) * 1e6)
        cells = [f"{costs[0]:>10.3f} s", *(f"{cost / costs[0]:>10.2f} ×" for cost in costs[1:])]
        print(f"{name:<10}" + "".join(cells))
        found.append({"line": name, "seconds_per_mb": costs})
    return found


if __name__ == "__main__":
    raise SystemExit(main())
