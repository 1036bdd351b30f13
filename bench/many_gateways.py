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
from msgspec import Struct, field

import foldaway
from foldaway import Session
from foldaway.stores.store import Store
from foldaway.stores.values import SessionFilter, SessionInfo
from gateway import process
from gateway_processes import MODEL_SECONDS, Database, Gateways, chars_of, text_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.testing.postgres_server import PostgresServer, postgres_database, postgres_server

BENCH = Path(__file__).resolve().parent
AT_START = 18
"""Messages with which a conversation begins, of 40 that fill its window: its second request makes a
compaction due, at half of the window."""
REFERENCE = re.compile(r"fa-[0-9a-f]{10}")
PATIENCE_SECONDS = 240.0
"""For the last answers, when the time is over."""
STEPS = ("its first request", "the next, nothing is due", "a compaction", "after it", "after it",
         "from another gateway", "after it")  # fmt: skip
"""What the requests of a conversation meet one after the other; before the sixth the gateway is
killed and started again."""


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
        self.talks = [
            Talk(number, chars_of(asked.kilobytes)) for number in range(asked.conversations)
        ]
        self.notes: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.moved = self.again = self.stranded = 0
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
            self.stranded = len(talking)
            for one in talking:
                one.cancel()

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
            gateways = Gateways(
                self._asked.gateways, self._provider, url, home, self._asked.kilobytes
            )
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
            "stranded conversations": load.stranded,
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
            gateways = Gateways(1, self._provider, url, home, self._asked.kilobytes)
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
    asked = parser.parse_args()
    return _measure(asked)


def _measure(asked: argparse.Namespace) -> int:
    found: dict[str, dict[str, Any]] = {}
    role = (
        str(BENCH / "gateway_processes.py"),
        "--role",
        "provider",
        "--kilobytes",
        str(asked.kilobytes),
    )
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
    bad = (
        "wrong",
        "ended by themselves",
        "refused because of the gateway",
        "stranded conversations",
    )
    return int(any(one.get(name) for one in found.values() for name in bad))


if __name__ == "__main__":
    raise SystemExit(main())
