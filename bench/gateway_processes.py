"""What `many_gateways.py` runs beside its clients: a provider, gateways and their database."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import psutil
import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.testing.postgres_server import PostgresServer

from messaging import Host

MODEL_SECONDS = 0.5
"""Of one answer of the model, until its first byte."""
BYTES_PER_TOKEN = 4
"""As the provider counts."""
IN_WINDOW = 40
"""Messages that fill a window."""
WORDS = "The tests of the parser fail at line 12 of grammar.py because of a missing token; "
MARK = re.compile(r"^<(\d+):(\d+)> ")
SETTLE_SECONDS = 1.0
"""Without CPU time, after which a gateway has written down what it was asked."""
END_SECONDS = 60.0
"""For gateways to write down what they know."""


def text_of(conversation: int, number: int, chars: int) -> str:
    """Return the text of a message; a provider sees by its mark which one it is."""
    mark = f"<{conversation}:{number}> "
    return mark + (WORDS * (chars // len(WORDS) + 1))[: chars - len(mark)]


def chars_of(kilobytes: int) -> int:
    return kilobytes * 1_000 // IN_WINDOW


def window_of(kilobytes: int) -> int:
    """Return the tokens of a window that so many messages fill, with what JSON takes."""
    return IN_WINDOW * (chars_of(kilobytes) + 50) // BYTES_PER_TOKEN


# The provider


def provide(chars: int, window_tokens: int) -> None:
    """Answer like a provider, and remember by conversation what was shown in place of folded
    messages; `/seen` tells it.
    """
    from aiohttp import web

    seen: dict[str, list[str]] = {}
    refused: Counter[str] = Counter()
    stale: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        tokens = len(body) // BYTES_PER_TOKEN
        if tokens > window_tokens and "x-bench-unbounded" not in request.headers:
            refused["too large"] += 1
            said = (f"This model's maximum context length is {window_tokens} tokens. However, your "
                    f"messages resulted in {tokens} tokens.")  # fmt: skip
            error = {"message": said, "type": "invalid_request_error", "param": "messages",
                     "code": "context_length_exceeded"}  # fmt: skip
            return web.json_response({"error": error}, status=400)
        note(json.loads(body)["messages"], request.headers["x-bench-newest"])
        await asyncio.sleep(MODEL_SECONDS)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
        event = {"choices": [], "usage": usage}
        await response.write(b"data: " + json.dumps(event).encode() + b"\n\ndata: [DONE]\n\n")
        return response

    def note(messages: list[Any], newest: str) -> None:
        conversation = newest.partition(":")[0]
        others: list[str] = []
        last = ""
        for one in messages:
            mark = MARK.match(one["content"])
            if mark and one["content"] == text_of(int(mark[1]), int(mark[2]), chars):
                last = f"{mark[1]}:{mark[2]}"
            else:
                others.append(one["content"])
        if last != newest:
            stale.append(f"asked for {newest}, got {last or 'nothing'}")
        if others:
            shown = blake2b("\0".join(others).encode(), digest_size=8).hexdigest()
            known = seen.setdefault(conversation, [])
            known += [] if shown in known else [shown]

    async def tell(_: web.Request) -> web.Response:
        told = json.dumps({"seen": seen, "refused": refused, "stale": stale})
        for one in (seen, refused, stale):
            one.clear()
        return web.json_response(text=told)

    async def serve() -> None:
        # a gateway that is killed is an error of its own here, and nobody reads what we print
        logging.getLogger("aiohttp").setLevel(logging.CRITICAL)
        app = web.Application(client_max_size=1 << 30)
        app.router.add_get("/seen", tell)
        app.router.add_route("*", "/{tail:.*}", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=4_096).start()
        print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


# The gateways


def fork_gateways(options: Sequence[str]) -> None:
    """Start `foldaway serve` for each port that comes on the standard input, forked from a process
    that has loaded all: a kill every second is no test of how fast Python starts.
    """
    import foldaway.cli.serve
    import foldaway.gateway.app
    import foldaway.gateway.inspector
    from foldaway.cli import run

    foldaway.warm()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for port in sys.stdin:
        if pid := os.fork():
            print(pid, flush=True)
            continue
        os._exit(run(["serve", "--port", port.strip(), *options]))


class Gateways:
    """Gateways on fixed ports, and what they and their database take."""

    def __init__(self, count: int, upstream: str, store: str, home: str, kilobytes: int) -> None:
        self._errors = Path(home, "errors").open("w+")  # noqa: SIM115 closed in `close`
        self._host = Host(
            count, {"FOLDAWAY_HOME": home, "FOLDAWAY_FLOOR_TOKENS": "1000"}, __file__,
            "--role", "gateways", "--upstream", upstream, "--store", store, "--kilobytes",
            str(kilobytes), errors=self._errors.fileno(),
        )  # fmt: skip
        self.ports = self._host.ports
        self._cpu: dict[int, float] = {}
        self._at_start: dict[int, float] = {}

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self.ports]

    @property
    def kills(self) -> int:
        return self._host.kills

    @property
    def ended_alone(self) -> int:
        return self._host.ended

    def look(self) -> None:
        """Note what each process took so far: one that is killed cannot be asked any more."""
        for port in self._host.running:
            with contextlib.suppress(psutil.NoSuchProcess, KeyError):
                one = psutil.Process(self._host.process(port))
                self._cpu[one.pid] = sum(one.cpu_times()[:2])
                self._at_start.setdefault(one.pid, one.memory_info().rss / 1e6)

    def cpu_seconds(self) -> float:
        return sum(self._cpu.values())

    def megabytes(self) -> tuple[float, float]:
        """Return the memory of a process at its start, and now, in the mean."""
        now: list[float] = []
        first: list[float] = []
        for port in self._host.running:
            one = psutil.Process(self._host.process(port))
            now.append(one.memory_info().rss / 1e6)
            first.append(self._at_start[one.pid])
        return sum(first) / len(first), sum(now) / len(now)

    def replace(self, pick: random.Random, starting: asyncio.TaskGroup) -> None:
        """Kill one, and start another one on its port."""
        if running := self._host.running:
            port = pick.choice(running)
            self.look()
            self._host.kill(port)
            starting.create_task(asyncio.to_thread(self._host.start, port))

    def settle(self) -> float:
        """Wait until nothing is done behind answers; return the CPU seconds that were taken."""
        used = -1.0
        while used != (used := self.cpu_seconds()):
            time.sleep(SETTLE_SECONDS)
            self.look()
        return used

    def end(self) -> Counter[str]:
        """Have all end; return what they logged, by the name of the event."""
        self.look()
        left = [psutil.Process(self._host.process(port)) for port in self._host.running]
        for one in left:
            one.send_signal(signal.SIGTERM)
        _, alive = psutil.wait_procs(left, timeout=END_SECONDS)
        assert not alive, "a gateway does not end"
        self._errors.seek(0)
        lines = [line for line in self._errors if not line.startswith(("foldaway: lis", "  its"))]
        return Counter(_event(line) for line in lines)

    def close(self) -> None:
        """Kill what still runs."""
        self._host.close()
        self._errors.close()


def _event(line: str) -> str:
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        return f"{found['event']} {found.get('error', '')}".strip()
    return line.strip()[:80]


class Database:
    """What the server of the store takes."""

    def __init__(self, server: PostgresServer) -> None:
        pid = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
        self._process = psutil.Process(pid)
        self._url = server.url()
        self._began = self._spent()
        self.connections: list[int] = []

    def _spent(self) -> float:
        spent = sum(self._process.cpu_times()[:4])  # with the connections that have ended
        for one in self._process.children():
            with contextlib.suppress(psutil.NoSuchProcess):
                spent += sum(one.cpu_times()[:2])
        return spent

    def cpu_seconds(self) -> float:
        return self._spent() - self._began

    def look(self) -> None:
        """Count the connections of gateways."""
        count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'foldaway'"
        with psycopg.connect(self._url, autocommit=True) as connection:
            (found,) = connection.execute(count).fetchone() or (0,)
        self.connections.append(int(found))


def main() -> None:
    """Be the provider, or what starts gateways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--role", choices=("provider", "gateways"), required=True)
    parser.add_argument("--kilobytes", type=int, required=True)
    parser.add_argument("--upstream", default="")
    parser.add_argument("--store", default="")
    asked = parser.parse_args()
    window = window_of(asked.kilobytes)
    if asked.role == "provider":
        provide(chars_of(asked.kilobytes), window)
    else:
        fork_gateways(("--upstream", asked.upstream, "--store", asked.store,
                       "--window", str(window)))  # fmt: skip


if __name__ == "__main__":
    main()
