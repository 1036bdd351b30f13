"""Gateways on one PostgreSQL, with thousands of conversations at once, killed at random.

    python bench/many_gateways.py                             eight gateways, 2,000 conversations
    python bench/many_gateways.py --gateways 3 --conversations 60 --seconds 20 --pause 5
    python bench/many_gateways.py --route any                 each request to any of the gateways
    python bench/many_gateways.py --kilobytes 200             larger requests
    python bench/many_gateways.py --runs steps --conversations 100    CPU by what a request meets
    python bench/many_gateways.py --json FILE                 the figures as JSON too

Three runs with the same load: through bare relays, as many as there are gateways; through gateways
of which none is killed; and through gateways of which one is killed with `kill -9` every second and
started again. Each conversation sends its whole list again and again, with two more messages each
time and a pause between, to the gateway that a balancer would choose (by the hash of its name, the
next one if that does not answer), and asks again until it is answered whole. The provider refuses
what is larger than its window. When the time is over each conversation asks once more, then the
gateways are told to end.

Afterwards the store is read: each log is the list of its client, no view was compacted twice, each
reference leads to its originals. And the bytes at the provider: what was written in place of folded
messages is as many different things, at most, as the store has compactions of that conversation.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import psycopg
from msgspec import Struct, field

import foldaway
from foldaway import Session
from foldaway.stores.store import Store
from foldaway.stores.values import SessionFilter, SessionInfo
from gateway import process
from messaging import Host

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.testing.postgres_server import PostgresServer, postgres_database, postgres_server

BENCH = Path(__file__).resolve().parent
MODEL_SECONDS = 0.5
"""Of one answer of the model, until its first byte."""
BYTES_PER_TOKEN = 4
"""As the provider counts."""
IN_WINDOW, AT_START = 40, 18
"""Messages that fill a window, and those with which a conversation begins: its second request makes
a compaction due, at half of the window."""
WORDS = "The tests of the parser fail at line 12 of grammar.py because of a missing token; "
MARK = re.compile(r"^<(\d+):(\d+)> ")
REFERENCE = re.compile(r"fa-[0-9a-f]{10}")
PATIENCE_SECONDS = 240.0
"""For the last answers, when the time is over."""
SETTLE_SECONDS = 1.0
"""Without CPU time, after which a gateway has written down what it was asked."""
STEPS = ("its first request", "the next, nothing is due", "a compaction", "after it", "after it",
         "from another gateway", "after it")  # fmt: skip
"""What the requests of a conversation meet one after the other; before the sixth the gateway is
killed and started again."""
END_SECONDS = 60.0
"""For gateways to write down what they know."""


def text_of(conversation: int, number: int, chars: int) -> str:
    """Return the text of a message; a provider sees by its mark which one it is."""
    mark = f"<{conversation}:{number}> "
    return mark + (WORDS * (chars // len(WORDS) + 1))[: chars - len(mark)]


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

    def __init__(self, asked: argparse.Namespace, upstream: str, store: str, home: str) -> None:
        self._errors = Path(home, "errors").open("w+")  # noqa: SIM115 closed in `close`
        self._host = Host(
            asked.gateways, {"FOLDAWAY_HOME": home, "FOLDAWAY_FLOOR_TOKENS": "1000"}, __file__,
            "--role", "gateways", "--upstream", upstream, "--store", store, "--kilobytes",
            str(asked.kilobytes), errors=self._errors.fileno(),
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


# The clients


class Talk(Struct):
    """One conversation of a client."""

    number: int
    chars: int
    messages: list[bytes] = field(default_factory=list)
    added: list[float] = field(default_factory=list)
    """Seconds from the first try to the first byte, without the model's."""

    def grow(self, count: int) -> None:
        for _ in range(count):
            at = len(self.messages)
            said = {"role": "assistant" if at % 2 else "user"}
            said["content"] = text_of(self.number, at, self.chars)
            self.messages.append(json.dumps(said).encode())

    @property
    def name(self) -> str:
        return f"talk {self.number}"

    @property
    def body(self) -> bytes:
        head = b'{"model":"bench","stream":true,"tools":[{"type":"function","function":'
        head += b'{"name":"read_file","parameters":{}}}],"messages":['
        return head + b",".join(self.messages) + b"]}"


class Load:
    """Many conversations at once, for so many seconds."""

    def __init__(self, asked: argparse.Namespace, urls: Sequence[str], **headers: str) -> None:
        self._asked, self._urls, self._headers = asked, urls, headers
        self.talks = [Talk(number, _chars(asked)) for number in range(asked.conversations)]
        self.notes: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.moved = self.again = 0
        self.requests = 0
        self.until = 0.0
        self.open_most = self._open = 0

    async def run(self, each_second: Callable[[], None]) -> None:
        """Talk until the time is over and every conversation has asked once more."""
        async with self.client() as client:
            await self.up(client)
            self.until = time.monotonic() + self._asked.seconds
            talking = [asyncio.create_task(self._talk(client, talk)) for talk in self.talks]
            ends = self.until + self._asked.pause + PATIENCE_SECONDS
            while talking and time.monotonic() < ends:
                await asyncio.wait(talking, timeout=1)
                for one in (one for one in talking if one.done()):
                    one.result()
                talking = [one for one in talking if not one.done()]
                each_second()
                self._tell(len(talking))
            assert not talking, "conversations are stranded"

    def _tell(self, talking: int) -> None:
        left = self.until - time.monotonic()
        print(
            f"\r{left:4.0f} s left, {self.requests} requests, {self.again} again, "
            f"{talking} conversations at it ", end="", file=sys.stderr,
        )  # fmt: skip

    def client(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=60)
        )

    async def ask_all(self, client: aiohttp.ClientSession, more: int) -> None:
        """Let each conversation ask once with so many messages more, four at a time."""
        pick, turns = random.Random(self._asked.seed), asyncio.Semaphore(4)

        async def one(talk: Talk) -> None:
            async with turns:
                talk.grow(more)
                await self._ask(client, talk, pick)

        await asyncio.gather(*map(one, self.talks))

    async def up(self, client: aiohttp.ClientSession) -> None:
        """Wait until all gateways listen."""
        await asyncio.gather(*(self._up(client, url) for url in self._urls))

    async def _up(self, client: aiohttp.ClientSession, url: str) -> None:
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with client.get(f"{url}/healthz"):
                    return
            await asyncio.sleep(0.1)

    async def _talk(self, client: aiohttp.ClientSession, talk: Talk) -> None:
        pick = random.Random(f"{self._asked.seed} {talk.number}")
        talk.grow(AT_START)
        await asyncio.sleep(pick.uniform(0, min(self._asked.pause, self._asked.seconds)))
        is_last = False
        while True:
            await self._ask(client, talk, pick)
            if is_last:
                return
            talk.grow(2)
            pause, left = self._asked.pause, self.until - time.monotonic()
            if is_last := left < pause:
                await asyncio.sleep(max(left, 0) + pick.uniform(0, pause))
            else:
                await asyncio.sleep(pick.uniform(0.5, 1.5) * pause)

    async def _ask(self, client: aiohttp.ClientSession, talk: Talk, pick: random.Random) -> None:
        """Send a list until it is answered whole."""
        body, began = talk.body, time.monotonic()
        headers = {
            "content-type": "application/json", "x-foldaway-session": talk.name,
            "x-bench-newest": f"{talk.number}:{len(talk.messages) - 1}", **self._headers,
        }  # fmt: skip
        for url in self._ways(talk, pick):
            try:
                where = f"{url}/v1/chat/completions"
                async with client.post(where, data=body, headers=headers) as got:
                    took = time.monotonic() - began - MODEL_SECONDS
                    await got.read()
            except aiohttp.ClientConnectorError:
                self.moved += 1
                continue
            except (aiohttp.ClientError, TimeoutError):
                self.again += 1
                continue
            self.requests += 1
            note = re.sub(r"\d+", "N", got.headers.get("x-foldaway", ""))
            self.notes[note] += 1
            if got.status != 200:
                self.refused[f"{got.status} {note}"] += 1
            talk.added.append(took)
            return

    def _ways(self, talk: Talk, pick: random.Random) -> Iterator[str]:
        """Yield the gateways to try, one after the other, as a balancer does."""
        order = sorted(self._urls, key=lambda url: blake2b(f"{talk.name} {url}".encode()).digest())
        while True:
            yield from [pick.choice(order)] if self._asked.route == "any" else order


# One run


class Run:
    """One run: bare relays, or gateways with or without kills."""

    def __init__(self, asked: argparse.Namespace, provider: str) -> None:
        self._asked, self._provider = asked, provider

    def relays(self) -> dict[str, Any]:
        with ExitStack() as stack:
            relay = (str(BENCH / "gateway.py"), "--role", "relay", "--upstream", self._provider)
            urls = [stack.enter_context(process(*relay))[0] for _ in range(self._asked.gateways)]
            load = Load(self._asked, urls, **{"x-bench-unbounded": "1"})
            asyncio.run(load.run(lambda: None))
            asyncio.run(self._seen())
        return {"requests": load.requests, **_latency(load)}

    def gateways(self, server: PostgresServer, *, kills: bool) -> dict[str, Any]:
        with ExitStack() as stack:
            home = stack.enter_context(tempfile.TemporaryDirectory())
            url = stack.enter_context(postgres_database(server.url()))
            foldaway.open_store(url).close()  # makes the tables
            gateways = Gateways(self._asked, self._provider, url, home)
            stack.callback(gateways.close)
            database = Database(server)
            load = Load(self._asked, gateways.urls)
            began = time.monotonic()
            asyncio.run(self._run(load, gateways, database, kills=kills))
            took = time.monotonic() - began
            first, last = gateways.megabytes()
            kills, ended = gateways.kills, gateways.ended_alone
            logged = gateways.end()
            gateway_cpu, database_cpu = gateways.cpu_seconds(), database.cpu_seconds()
            found = asyncio.run(self._seen())
            with foldaway.open_store(url) as store:
                wrong = list(look(store, load.talks, found["seen"]))
                compactions = sum(one.compactions for one in store.all_sessions(SessionFilter()))
        each = self._asked.conversations / self._asked.gateways
        return {
            "requests": load.requests, "seconds": round(took), **_latency(load),
            "kills": kills, "ended by themselves": ended,
            "went to the next: nobody listened": load.moved,
            "asked again: broken off": load.again,
            "refused because of the gateway": dict(load.refused),
            "messages in the lists of clients": sum(len(one.messages) for one in load.talks),
            "compactions": compactions, "load of the machine": round(os.getloadavg()[1], 1),
            "wrong": [*wrong, *found["stale"]],
            "refused by the provider, then sent smaller": found["refused"],
            "answers said": dict(load.notes.most_common()), "logged": dict(logged),
            "CPU ms a request, gateways": round(gateway_cpu / load.requests * 1e3, 1),
            "CPU ms a request, PostgreSQL": round(database_cpu / load.requests * 1e3, 1),
            "requests a second and core of gateways": round(load.requests / gateway_cpu),
            "connections, most and by gateway": [
                max(database.connections),
                round(max(database.connections) / self._asked.gateways, 1),
            ],
            "MB of a gateway, at the start and the end": [round(first), round(last)],
            "MB a thousand conversations": round((last - first) / each * 1e3),
        }  # fmt: skip

    def steps(self, server: PostgresServer) -> dict[str, Any]:
        """Return the CPU time of one gateway and of PostgreSQL by what a request meets."""
        with ExitStack() as stack:
            home = stack.enter_context(tempfile.TemporaryDirectory())
            url = stack.enter_context(postgres_database(server.url()))
            foldaway.open_store(url).close()
            self._asked.gateways = 1
            gateways = Gateways(self._asked, self._provider, url, home)
            stack.callback(gateways.close)
            return asyncio.run(self._steps(gateways, Database(server)))

    async def _steps(self, gateways: Gateways, database: Database) -> dict[str, Any]:
        load = Load(self._asked, gateways.urls)
        spent: dict[str, list[tuple[float, float]]] = {}
        memory: tuple[float, float] = 0.0, 0.0
        async with load.client() as client:
            await load.up(client)
            gateways.look()
            for step, name in enumerate(STEPS):
                if name == "from another gateway":
                    memory = gateways.megabytes()
                    async with asyncio.TaskGroup() as starting:
                        gateways.replace(random.Random(1), starting)
                    await load.up(client)
                began, began_database = gateways.settle(), database.cpu_seconds()
                await load.ask_all(client, AT_START if step == 0 else 2)
                took = gateways.settle() - began
                spent.setdefault(name, []).append((took, database.cpu_seconds() - began_database))
        each = self._asked.conversations
        first, last = memory
        rows = {
            f"CPU ms, gateway and PostgreSQL: {name}": [
                round(sum(took) / len(took) / each * 1e3, 1) for took in zip(*found, strict=True)
            ]
            for name, found in spent.items()
        }
        held = {
            "MB at the start": round(first),
            "MB a thousand": round((last - first) / each * 1e3),
        }
        return {**rows, **held, "answers said": dict(load.notes.most_common())}

    async def _run(
        self, load: Load, gateways: Gateways, database: Database, *, kills: bool
    ) -> None:
        pick = random.Random(self._asked.seed)
        async with asyncio.TaskGroup() as starting:
            due = 0.0

            def each_second() -> None:
                nonlocal due
                gateways.look()
                database.look()
                now = time.monotonic()
                if kills and due <= now < load.until:
                    due = now + self._asked.every
                    gateways.replace(pick, starting)

            await load.run(each_second)

    async def _seen(self) -> Any:
        async with aiohttp.ClientSession() as client, client.get(f"{self._provider}/seen") as got:
            return await got.json()


def look(store: Store, talks: Sequence[Talk], seen: dict[str, list[str]]) -> Iterator[str]:
    """Yield what is wrong with the store, and with what the provider saw."""
    held: dict[str, list[SessionInfo]] = {}
    for info in store.all_sessions(SessionFilter(kind="any")):
        held.setdefault(info.source_id, []).append(info)
    for talk in talks:
        found = held.pop(f"chat:{talk.name}", [])
        if len(found) != 1:
            yield f"{talk.name}: {len(found)} sessions"
            continue
        (info,) = found
        log = [json.loads(row.body) for row in store.read(info.id)]
        want = [json.loads(one) for one in talk.messages]
        if log != want:
            yield f"{talk.name}: {len(want)} messages, {len(log)} in the log, or others"
        views = store.views(info.id, lean=True)
        bases = [view.previous for view in views]
        if len(set(bases)) < len(bases) or len(views) != info.compactions:
            yield f"{talk.name}: compacted twice from one view: {bases}"
        shown = seen.get(str(talk.number), [])
        if len(shown) > len(views):
            yield f"{talk.name}: {len(views)} compactions, but {len(shown)} at the provider"
        session = Session.open(store, info.id)
        for name in set(REFERENCE.findall(json.dumps(session.messages))):
            if not session.recall(name):
                yield f"{talk.name}: {name} leads nowhere"
    for name in held:
        yield f"{name}: a session that no client has"


def _latency(load: Load) -> dict[str, Any]:
    took = sorted(one * 1e3 for talk in load.talks for one in talk.added)
    return {
        f"ms to the first byte beside the model's, p{share}": round(
            took[min(len(took) - 1, len(took) * share // 100)], 1
        )
        for share in (50, 99)
    }


def _chars(asked: argparse.Namespace) -> int:
    return asked.kilobytes * 1_000 // IN_WINDOW


def _window(asked: argparse.Namespace) -> int:
    """Return the tokens of a window that so many messages fill, with what JSON takes."""
    return IN_WINDOW * (_chars(asked) + 50) // BYTES_PER_TOKEN


def main() -> int:
    """Run all three, 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gateways", type=int, default=8)
    parser.add_argument("--conversations", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=120.0, help="of each of the three runs")
    parser.add_argument("--pause", type=float, default=40.0, help="seconds between two requests")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two kills")
    parser.add_argument("--kilobytes", type=int, default=36, help="that fill a window")
    parser.add_argument("--route", choices=("hash", "any"), default="hash")
    parser.add_argument("--runs", nargs="+", choices=("relay", "no kills", "kills", "steps"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--role", choices=("provider", "gateways"), help=argparse.SUPPRESS)
    parser.add_argument("--upstream", default="", help=argparse.SUPPRESS)
    parser.add_argument("--store", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    window = _window(asked)
    if asked.role == "provider":
        provide(_chars(asked), window)
    elif asked.role == "gateways":
        fork_gateways(("--upstream", asked.upstream, "--store", asked.store,
                       "--window", str(window)))  # fmt: skip
    else:
        return _measure(asked)
    return 0


def _measure(asked: argparse.Namespace) -> int:
    found: dict[str, dict[str, Any]] = {}
    role = (__file__, "--role", "provider", "--kilobytes", str(asked.kilobytes))
    with postgres_server() as server, process(*role) as (provider, _):
        run = Run(asked, provider)
        for name in asked.runs or ("relay", "no kills", "kills"):
            match name:
                case "relay":
                    found[name] = run.relays()
                case "steps":
                    found[name] = run.steps(server)
                case _:
                    found[name] = run.gateways(server, kills=name == "kills")
            print(f"\n== {name}: {asked.conversations} conversations, {asked.gateways} processes")
            for key, value in found[name].items():
                print(f"{key:46} {value}", flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    bad = ("wrong", "ended by themselves", "refused because of the gateway")
    return int(any(one.get(name) for one in found.values() for name in bad))


if __name__ == "__main__":
    raise SystemExit(main())
