"""What the gateway adds to the time until the first byte of an answer.

    python bench/gateway.py                 all figures, about five minutes
    python bench/gateway.py --part bytes    first byte at 200 KB and 4 MB
    python bench/gateway.py --part growth   added time from 10 to 4,000 messages
    python bench/gateway.py --part streams  500 open streams, and the memory of the process
    python bench/gateway.py --json FILE     the figures as JSON
    python bench/gateway.py --beside "headroom proxy --port {port} --openai-api-url {upstream}"

`--beside` names the command of another proxy that is measured in the same run.

Provider, relay and gateway are processes of their own; requests go by turns to each of them in one
run, so what counts are differences and ratios, never the milliseconds of one way. The relay passes
bytes on and does nothing else: agents/relay.py of the shared folder beside the repository, or a
plain one of this file. A conversation grows by two messages with every request.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

from foldaway.sessions import internals

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("FOLDAWAY_DATA", ROOT.parent / "shared" / "data")).parent / "agents"
ROUNDS = 30
COMPACTIONS = 7
"""Conversations that are compacted; each gives one figure."""
SIZES = {"200 KB": 200_000, "4 MB": 4_000_000}
LENGTHS = (10, 100, 1_000, 4_000)
PAUSE_SECONDS = 0.2
"""For so long a gateway must have done nothing before the next request: it writes an answer down,
and compacts after it, while a model would think."""
START_SECONDS = 120.0
"""The longest that another proxy takes to listen; headroom loads models first."""
STREAMS = 500
WIDE = 100_000_000
"""A window in which nothing is ever due."""


# The conversation


def talk(count: int, chars: int, name: str) -> list[Any]:
    """Return so many messages, of so many characters each."""
    words = "the tests of the parser fail at line 12 of grammar.py because of a missing token; "
    found: list[Any] = []
    for number in range(count):
        text = f"{name} {number}: " + (words * (chars // len(words) + 1))[:chars]
        found.append({"role": "user" if number % 2 == 0 else "assistant", "content": text})
    return found


def body_of(messages: list[Any]) -> bytes:
    tools = [{"type": "function", "function": {"name": "read_file", "parameters": {}}}]
    asked = {"model": "bench", "stream": True, "tools": tools, "messages": messages}
    return json.dumps(asked).encode()


# The provider and a relay


def provide() -> None:
    """Answer at once; `x-bench-usage` says how many tokens were counted, `x-bench-events` how many
    events come, one every 0.2 seconds.
    """
    from aiohttp import web

    async def answer(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for number in range(int(request.headers.get("x-bench-events", "0"))):
            await response.write(b"data: {}\n\n")
            await asyncio.sleep(0.2 if number else 0)
        used = int(request.headers.get("x-bench-usage", "0"))
        usage = {"prompt_tokens": used, "completion_tokens": 1} if used else None
        await response.write(b"data: " + json.dumps({"usage": usage}).encode() + b"\n\n")
        return response

    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{tail:.*}", answer)
    asyncio.run(_serve(app))


def relay(upstream: str) -> None:
    """Pass bytes on."""
    import aiohttp
    from aiohttp import web

    async def start(app: web.Application) -> None:
        app["client"] = aiohttp.ClientSession(auto_decompress=False)

    async def handle(request: web.Request) -> web.StreamResponse:
        client: Any = request.app["client"]
        headers = {name: value for name, value in request.headers.items()
                   if name.lower() not in ("host", "content-length")}  # fmt: skip
        body = await request.read()
        where = upstream + request.raw_path
        async with client.request(request.method, where, data=body, headers=headers) as up:
            response = web.StreamResponse(status=up.status)
            response.content_type = up.content_type
            await response.prepare(request)
            while data := await up.content.readany():
                await response.write(data)
        return response

    app = web.Application(client_max_size=1 << 30)
    app.on_startup.append(start)
    app.router.add_route("*", "/{tail:.*}", handle)
    asyncio.run(_serve(app))


async def _serve(app: Any) -> None:
    from aiohttp import web

    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


# Processes


@contextmanager
def process(*arguments: str, **environment: str) -> Iterator[tuple[str, psutil.Process]]:
    """Run a server; yield its address, which is the end of its first line, and the process."""
    run = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
    )  # fmt: skip
    try:
        assert run.stdout is not None
        line = run.stdout.readline()
        assert "http" in line, line + run.stdout.read()
        yield "http" + line.rpartition("http")[2].strip(), psutil.Process(run.pid)
    finally:
        run.terminate()
        run.wait()


@contextmanager
def another(command: str, upstream: str) -> Iterator[str]:
    """Run a proxy that somebody else made; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [word.format(port=port, upstream=upstream) for word in shlex.split(command)]
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + START_SECONDS
        while run.poll() is None and time.monotonic() < until:
            with socket.socket() as one:  # which a free port may join to itself
                found = one.connect_ex(("127.0.0.1", port)) == 0
                if found and one.getsockname() != one.getpeername():
                    break
            time.sleep(PAUSE_SECONDS)
        else:
            raise SystemExit(f"does not listen on {port}: {shlex.join(words)}")
        yield f"http://127.0.0.1:{port}"
    finally:
        run.terminate()
        run.wait()


class Ways:
    """A provider and what stands before it, for as long as the bench runs."""

    def __init__(self, stack: ExitStack, beside: str) -> None:
        self._stack = stack
        self.direct = self._start(str(Path(__file__)), "--role", "provider")
        given = SHARED / "relay.py"
        own = (str(Path(__file__)), "--role", "relay")
        command = (str(given),) if given.exists() else own
        self.relay = self._start(*command, "--upstream", self.direct)
        self.beside = stack.enter_context(another(beside, self.direct)) if beside else ""

    def gateway(self, window: int) -> tuple[str, psutil.Process]:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory())
        return self._stack.enter_context(process(
            "-m", "foldaway", "serve", "--port", "0", "--window", str(window), "--upstream",
            self.direct, "--store", folder, FOLDAWAY_HOME=folder, FOLDAWAY_FLOOR_TOKENS="1000",
        ))  # fmt: skip

    def _start(self, *arguments: str) -> str:
        return self._stack.enter_context(process(*arguments))[0]


class Client:
    """One connection that is kept."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)

    def first_byte(self, body: bytes, key: str, used: int = 0) -> tuple[float, str]:
        """Return the milliseconds until the first byte of an answer, and what the gateway said."""
        headers = {"content-type": "application/json", "x-foldaway-session": key}
        if used:
            headers["x-bench-usage"] = str(used)
        begun = time.perf_counter()
        self._connection.request("POST", "/v1/chat/completions", body, headers)
        answer = self._connection.getresponse()
        answer.read(1)
        took = (time.perf_counter() - begun) * 1e3
        answer.read()
        assert answer.status == 200, answer.status
        return took, answer.headers.get("x-foldaway", "")


# The figures


def share(values: list[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


def added(figures: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Return p50 and p95 of each way, and what it adds to the relay's."""
    base = figures["relay"]
    return {
        name: {
            "p50": statistics.median(took), "p95": share(took, 0.95),
            "added p50": statistics.median(took) - statistics.median(base),
            "added p95": share(took, 0.95) - share(base, 0.95), "figures": len(took),
        }
        for name, took in figures.items()
    }  # fmt: skip


def grow(messages: list[Any], count: int, step: int) -> bytes:
    return body_of(messages[: count + 2 * step])


def steady(ways: Ways, count: int, chars: int, key: str) -> dict[str, list[float]]:
    """Return what each way takes for a conversation in which nothing is due."""
    gateway, run = ways.gateway(WIDE)
    clients = {"direct": Client(ways.direct), "relay": Client(ways.relay),
               "gateway, nothing due": Client(gateway)}  # fmt: skip
    if ways.beside:
        clients["the other proxy"] = Client(ways.beside)
    found: dict[str, list[float]] = {name: [] for name in clients}
    messages = talk(count + 2 * ROUNDS + 2, chars, key)
    for step in range(ROUNDS + 1):
        body = grow(messages, count, step)
        settle(run)
        for name, client in clients.items():
            took, _ = client.first_byte(body, key)
            if step:
                found[name].append(took)
    return found


def compacted(ways: Ways, count: int, chars: int) -> dict[str, list[float]]:
    """Return what the gateway takes for a request that shows a compaction for the first time, made
    before it came or while it waits, and for those after it.
    """
    sample = body_of(talk(count, chars, "prepared 0"))
    tokens = estimated(sample)
    gateway, run = ways.gateway(int(tokens * 2.2))
    client, bare = Client(gateway), Client(ways.relay)
    found: defaultdict[str, list[float]] = defaultdict(list)
    for number in range(COMPACTIONS):
        key = f"prepared {number}"
        messages = talk(count + 2 * ROUNDS, chars, key)
        client.first_byte(body_of(messages[:2]), key)
        client.first_byte(body_of(messages[: count - 2]), key, used=int(tokens * 1.5))
        settle(run)
        for step in range(4):
            body = grow(messages, count, step)
            settle(run)
            found["relay"].append(bare.first_byte(body, key)[0])
            took, note = client.first_byte(body, key)
            kind = f"gateway, {note}"
            if note.startswith("compacted"):
                kind = "gateway, compacted" if step else "gateway, compacts, prepared"
            found[kind].append(took)
        key = f"now {number}"
        messages = talk(2 * count, chars, key)
        client.first_byte(body_of(messages[: count - 2]), key)
        settle(run)
        took, note = client.first_byte(body_of(messages[: int(count * 1.3)]), key)
        found[f"gateway, unprepared: {note}"].append(took)
    return found


def settle(run: psutil.Process) -> None:
    """Wait until a process has nothing to do."""
    used = -1.0
    while used != (used := sum(run.cpu_times()[:2])):
        time.sleep(PAUSE_SECONDS)


def estimated(body: bytes) -> int:
    sys.path.insert(0, str(ROOT / "src"))
    from foldaway import Session

    session = Session(context_length=WIDE)
    session.follow(request=body)
    return internals(session).engine.estimate()


def first_bytes(ways: Ways) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, size in SIZES.items():
        chars = 2_000
        count = size // (chars + 60) // 2 * 2
        found[name] = added(steady(ways, count, chars, f"steady {name}"))
        found[f"{name}, compacted"] = added(compacted(ways, count, chars))
    return found


def growth(ways: Ways) -> dict[str, Any]:
    return {f"{count:,} messages": added(steady(ways, count, 200, f"growth {count}"))
            for count in LENGTHS}  # fmt: skip


def streams(ways: Ways) -> dict[str, Any]:
    """Return the memory of a gateway before, with and after many open streams."""
    url, run = ways.gateway(WIDE)
    return asyncio.run(_streams(url, run))


async def _streams(url: str, run: psutil.Process) -> dict[str, Any]:
    import aiohttp

    def memory() -> float:
        return run.memory_info().rss / 1e6

    bodies = [body_of(talk(20, 500, f"stream {at}")) for at in range(STREAMS)]
    found: dict[str, Any] = {"MB at start": memory()}
    opened = 0
    all_open, middle = asyncio.Event(), asyncio.Event()

    async def one(client: aiohttp.ClientSession, at: int) -> int:
        nonlocal opened
        headers = {"x-foldaway-session": f"stream {at}", "x-bench-events": "30"}
        where = f"{url}/v1/chat/completions"
        async with client.post(where, data=bodies[at], headers=headers) as got:
            await got.content.readany()
            opened += 1
            if opened == STREAMS:
                all_open.set()
            return len(await got.read())

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as client:
        for name in ("first", "second", "third", "fourth"):
            opened = 0
            all_open.clear()
            begun = time.perf_counter()
            tasks = [asyncio.create_task(one(client, at)) for at in range(STREAMS)]
            await all_open.wait()
            found[f"seconds until all are open, {name}"] = time.perf_counter() - begun
            found[f"MB with all open, {name}"] = memory()
            await asyncio.wait((asyncio.create_task(middle.wait()),), timeout=3)
            found[f"MB three seconds later, {name}"] = memory()
            assert all(await asyncio.gather(*tasks))
            found[f"MB at the end, {name}"] = memory()
    return found


PARTS: dict[str, Callable[[Ways], dict[str, Any]]] = {
    "bytes": first_bytes, "growth": growth, "streams": streams,
}  # fmt: skip


def show(found: dict[str, Any]) -> None:
    for name, rows in found.items():
        if not isinstance(rows, dict):
            print(f"{name:40}{rows:10.1f}")
            continue
        print(f"\n{name:34}{'p50':>9}{'p95':>9}{'added p50':>11}{'p95':>9}   ms, by the relay")
        for way, row in rows.items():
            print(f"  {way:32}{row['p50']:9.1f}{row['p95']:9.1f}{row['added p50']:11.1f}"
                  f"{row['added p95']:9.1f}   {row['figures']:.0f} figures")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--beside", default="", help="the command of another proxy, with {port} "
                        "and {upstream}")  # fmt: skip
    parser.add_argument("--role", choices=("provider", "relay"), help=argparse.SUPPRESS)
    parser.add_argument("--upstream", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.role:
        provide() if asked.role == "provider" else relay(asked.upstream)
        return
    found: dict[str, Any] = {}
    with ExitStack() as stack:
        ways = Ways(stack, asked.beside)
        for name in [asked.part] if asked.part else list(PARTS):
            found[name] = PARTS[name](ways)
            show(found[name])
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
