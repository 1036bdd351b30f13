"""The messaging example under kills: many chats, eight processes: `make test-messaging`.

    python bench/messaging.py                                        the whole, about five minutes
    python bench/messaging.py --chats 60 --processes 4 --seconds 15  shorter
    python bench/messaging.py --json FILE                            the figures as JSON too

The processes are `examples/messaging.py` as it is, behind uvicorn and real HTTP; the model is a
script behind OpenAI's protocol that takes 0.1 s for an answer, and sometimes calls a tool. Each
chat sends a message to any of the processes, again with the same id until it is acknowledged,
sometimes another one in the middle of the turn, sometimes /compress or /new, and waits for the
reply. First nobody is killed, then a random process every second with `kill -9`, which is started
again.

Afterwards all processes are killed and the store is read: every message that was acknowledged is in
the log once and in its order, and was answered; every log and every view is valid; no view of a
session was compacted twice. The added wait of a message is the time from its first request to its
reply without the time in which the model worked for that chat.
"""

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
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import uvicorn
from aiohttp import web
from msgspec import Struct, field

import foldaway
from foldaway import Session, check
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession, SessionInfo
from foldaway.testing import Drops, ModelRequest, ModelServer, Reply, Says, Sends, Waits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.testing.postgres_server import postgres_database, postgres_server

EXAMPLES = Path(__file__).parents[1] / "examples"
MODEL_SECONDS = 0.1
"""Of one answer of the model: short, so that the host's part shows."""
WINDOW = 9_000
"""Tokens: a chat of this run is compacted several times."""
FILLER = "The report of the night shift has more on valves, pumps and pressure. " * 40
TOOL_TURNS = 4
"""One turn of so many calls a tool first."""
PATIENCE_SECONDS = 180.0
"""For the last replies, when no chat sends anything more."""
SEEDED = 6
"""Turns that a chat has behind it: they fill its window, so that its first message is compacted
for."""
HISTORY = [
    NewMessage(body=json.dumps({"role": role, "content": FILLER}).encode(), role=role, text=FILLER)
    for role in ("user", "assistant") * SEEDED
]
PORTS = (15_000, 30_000)
"""Below those that Linux gives to clients (net.ipv4.ip_local_port_range)."""
MARK = re.compile(r"<(\d+:\d+)>")
PERCENTILES = (50, 99)


def fork_hosts() -> None:
    """Start a process of the host for each port that comes on the standard input.

    They are forked from this one, which has loaded all that they need: a kill every second would
    otherwise be a test of how fast Python starts.
    """
    import httpx
    import openai
    import psycopg
    import starlette.applications

    import foldaway.commands.dispatch
    import foldaway.sessions.inbox

    del httpx, psycopg, starlette
    assert openai.OpenAI(api_key="none").chat.completions  # loaded when it is first asked for
    foldaway.warm()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")  # what was not answered
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.path.insert(0, str(EXAMPLES))
    sys.modules.pop("messaging", None)
    for port in sys.stdin:
        if pid := os.fork():
            print(pid, flush=True)
            continue
        from messaging import app  # the example: this file is __main__ here

        uvicorn.run(app, port=int(port), log_level="critical")


class Chat(Struct):
    """One user: what was sent, acknowledged and answered, by the number of the message."""

    number: int
    sent: dict[int, float] = field(default_factory=dict)
    acknowledged: dict[int, float] = field(default_factory=dict)
    answered: dict[int, float] = field(default_factory=dict)
    answers: Counter[int] = field(default_factory=Counter)
    model: list[tuple[float, float]] = field(default_factory=list)
    commands: int = 0
    replied: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def user(self) -> str:
        return f"/chat/{self.number}"

    def added(self, message: int) -> float:
        """Return the wait for an answer without the model's part."""
        start, stop = self.sent[message], self.answered[message]
        model = sum(max(0.0, min(b, stop) - max(a, start)) for a, b in self.model)
        return stop - start - model


class Host:
    """Processes of the example, each on a port; one that is killed is started again.

    Another `command` forks a process for each port that comes on its standard input, too.
    """

    def __init__(
        self, processes: int, environment: dict[str, str], *command: str, errors: int | None = None
    ) -> None:
        self._forking = subprocess.Popen(
            [sys.executable, *(command or (__file__, "--fork-hosts"))],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
        self.ports = [_free_port() for _ in range(processes)]
        self._running = {port: self._start(port) for port in self.ports}
        self.kills = self.ended = 0
        self._lock = threading.Lock()

    def _start(self, port: int) -> int:
        given, made = self._forking.stdin, self._forking.stdout
        assert given is not None
        assert made is not None
        given.write(f"{port}\n")
        given.flush()
        return int(made.readline())

    def kill(self, port: int) -> None:
        """Kill a process; nobody listens on its port until it is started again."""
        try:
            os.kill(self._running.pop(port), signal.SIGKILL)
            self.kills += 1
        except ProcessLookupError:
            self.ended += 1

    def start(self, port: int) -> None:
        with self._lock:
            self._running[port] = self._start(port)

    def process(self, port: int) -> int:
        """Return the process on a port."""
        return self._running[port]

    @property
    def running(self) -> list[int]:
        """The ports of processes that are not being started."""
        return list(self._running)

    def close(self) -> None:
        """Kill all of them."""
        for port in self.running:
            self.kill(port)
        self._forking.communicate()  # ends when nobody has its output open


class Trial:
    """One run: chats talk for so many seconds, with or without kills."""

    def __init__(self, asked: argparse.Namespace, *, kills: bool) -> None:
        self._asked, self._with_kills = asked, kills
        self.chats = [Chat(number) for number in range(asked.chats)]
        self.retries = 0
        self._random = random.Random(asked.seed)
        self._until = 0.0

    def run(self, server_url: str) -> dict[str, Any]:
        with postgres_database(server_url) as url, ModelServer(self._says) as model:
            with foldaway.open_store(url) as store:
                for chat in self.chats:
                    new = NewSession(dialect="openai-chat", source_id=chat.user)
                    store.create(new, messages=HISTORY)
            began = time.monotonic()
            counts = asyncio.run(self._talk(url, model))
            took = time.monotonic() - began
            with foldaway.open_store(url) as store:
                found = [look(store, chat) for chat in self.chats]
        return {**self._figures(), **_sums(found), **counts, "seconds": round(took)}

    async def _talk(self, url: str, model: ModelServer) -> dict[str, int]:
        runner = web.AppRunner(self._platform())
        await runner.setup()
        port = _free_port()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        environment = {
            "STORE": url, "REPLY_URL": f"http://127.0.0.1:{port}/reply", "WINDOW": str(WINDOW),
            "OPENAI_BASE_URL": model.openai_url, "OPENAI_API_KEY": "none",
        }  # fmt: skip
        host = Host(self._asked.processes, environment)
        self._host = host
        try:
            async with aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, force_close=True),
                timeout=aiohttp.ClientTimeout(total=30),
            ) as client:
                await asyncio.gather(*(self._up(client, port) for port in host.ports))
                self._until = time.monotonic() + self._asked.seconds
                killing = asyncio.create_task(self._kill_some(host))
                talking = [asyncio.create_task(self._chat(client, chat)) for chat in self.chats]
                while talking and time.monotonic() < self._until + PATIENCE_SECONDS:
                    done, talking = await asyncio.wait(talking, timeout=5)
                    for one in done:
                        one.result()
                    self._tell(len(talking))
                for one in talking:
                    one.cancel()
                await killing
        finally:
            kills = host.kills
            host.close()
            await runner.cleanup()
        return {"kills": kills, "ended by themselves": host.ended}

    def _tell(self, talking: int) -> None:
        left = self._until - time.monotonic()
        sent, answered = (sum(map(len, of)) for of in zip(
            *((chat.sent, chat.answered) for chat in self.chats), strict=True
        ))  # fmt: skip
        print(
            f"{left:4.0f} s left, {sent} messages, {answered} answered, {self._host.kills} kills,"
            f" {talking} chats at it", file=sys.stderr,
        )  # fmt: skip

    async def _up(self, client: aiohttp.ClientSession, port: int) -> None:
        while True:
            try:
                async with client.get(f"http://127.0.0.1:{port}/"):
                    return
            except aiohttp.ClientError:
                await asyncio.sleep(0.1)

    async def _kill_some(self, host: Host) -> None:
        """Kill a process every second, however long those before take to start again."""
        seconds = int(self._asked.seconds) if self._with_kills else 0
        async with asyncio.TaskGroup() as starting:
            for left in range(seconds - 1, -1, -1):
                await asyncio.sleep(max(0.0, self._until - left - time.monotonic()))
                while not host.running:
                    await asyncio.sleep(0.05)
                port = self._random.choice(host.running)
                host.kill(port)
                starting.create_task(asyncio.to_thread(host.start, port))

    async def _chat(self, client: aiohttp.ClientSession, chat: Chat) -> None:
        """Talk until the time is over, and wait for the last reply."""
        pick, number = random.Random(f"{self._asked.seed} {chat.number}"), 0
        await asyncio.sleep(pick.uniform(0, self._asked.seconds))
        while time.monotonic() < self._until:
            for _ in range(2 if pick.random() < 0.25 else 1):
                number += 1
                chat.sent[number] = time.monotonic()
                text = f"<{chat.number}:{number}> {FILLER}"
                await self._send(client, chat, f"m{number}", text, pick)
                chat.acknowledged[number] = time.monotonic()
                await asyncio.sleep(pick.uniform(0, 2 * MODEL_SECONDS))
            if pick.random() < 0.15:
                chat.commands += 1
                line = "/new" if pick.random() < 0.3 else "/compress valves"
                await self._send(client, chat, f"c{chat.commands}", line, pick)
            while not chat.acknowledged.keys() <= chat.answered.keys():
                chat.replied.clear()
                await chat.replied.wait()
            pause = pick.uniform(0, 2 * self._asked.pause)
            if time.monotonic() + pause > self._until:
                return
            await asyncio.sleep(pause)

    async def _send(
        self, client: aiohttp.ClientSession, chat: Chat, name: str, text: str, pick: random.Random
    ) -> None:
        """Post a message until it is acknowledged, with the same id, as platforms do."""
        while True:
            address = f"http://127.0.0.1:{pick.choice(self._host.ports)}{chat.user}"
            try:
                async with client.post(address, json={"id": name, "text": text}) as answer:
                    if answer.status == 200:
                        return
            except (aiohttp.ClientError, TimeoutError):
                pass
            self.retries += 1
            await asyncio.sleep(0.05)

    def _platform(self) -> web.Application:
        async def reply(request: web.Request) -> web.Response:
            said = await request.json()
            chat = self.chats[int(said["chat"].rpartition("/")[2])]
            for mark in MARK.findall(said["text"]):
                message = int(mark.partition(":")[2])
                chat.answers[message] += 1
                chat.answered.setdefault(message, time.monotonic())
            chat.replied.set()
            return web.Response()

        made = web.Application(client_max_size=2**24)
        made.router.add_post("/reply", reply)
        return made

    def _says(self, request: ModelRequest) -> Reply:
        """Call a tool, then answer all that the user said since the last answer."""
        if request.body is None:
            return Drops()  # its process was killed before it had said all
        messages: list[Any] = request.body["messages"]
        since = len(messages)
        while since and not _is_answer(messages[since - 1]):
            since -= 1
        marks = list(dict.fromkeys(MARK.findall(json.dumps(messages[since:]))))
        chat = self.chats[int(marks[0].partition(":")[0])]
        now = time.monotonic()
        chat.model.append((now, now + MODEL_SECONDS))
        ready = threading.Event()
        asyncio.get_running_loop().call_later(MODEL_SECONDS, ready.set)
        is_working = any(one["role"] == "tool" for one in messages[since:])
        if not is_working and zlib.crc32(marks[0].encode()) % TOOL_TURNS == 0:
            return Waits(ready, _calls("foldaway_search", {"query": "valves"}))
        return Waits(ready, Says(f"On {' '.join(f'<{mark}>' for mark in marks)}: {FILLER}"))

    def _figures(self) -> dict[str, Any]:
        waits = [chat.added(one) for chat in self.chats for one in chat.answered]
        acks = [
            chat.acknowledged[one] - chat.sent[one]
            for chat in self.chats
            for one in chat.acknowledged
        ]
        return {
            "messages": len(acks),
            "commands": sum(chat.commands for chat in self.chats),
            "unanswered": sum(len(c.acknowledged.keys() - c.answered.keys()) for c in self.chats),
            "answered twice": sum(n > 1 for c in self.chats for n in c.answers.values()),
            "requests that were repeated": self.retries,
            "seconds to the acknowledgement": _percentiles(acks),
            "seconds added to the model's": _percentiles(waits),
        }


def look(store: Store, chat: Chat) -> dict[str, Any]:
    """Return what the store has of a chat, and what is wrong with it."""
    sessions = list(line_of(store, chat.user))
    said: list[int] = []
    wrong: list[str] = []
    compactions = 0
    for info in sessions:
        log = [json.loads(row.body) for row in store.read(info.id)]
        for message in log:
            if message["role"] == "user":
                said += [int(mark.partition(":")[2]) for mark in MARK.findall(message["content"])]
        views = store.views(info.id, lean=True)
        compactions += len(views)
        bases = [view.previous for view in views]
        if len(set(bases)) < len(bases) or len(views) != info.compactions:
            wrong.append(f"{chat.user}: compacted twice: {bases}")
        shown = Session.open(store, info.id).messages
        for name, messages in (("log", log), ("view", shown)):
            if found := check(messages, dialect="openai-chat") if messages else []:
                wrong.append(f"{chat.user}: its {name} breaks {found[0].rule}")
    if said != sorted(chat.acknowledged):
        wrong.append(f"{chat.user}: acknowledged {sorted(chat.acknowledged)}, in the log {said}")
    return {"sessions": len(sessions), "compactions": compactions, "wrong": wrong}


def line_of(store: Store, key: str) -> list[SessionInfo]:
    """Return the sessions of a key, from the first to the one of now."""
    first = store.by_source("", key)
    found = [] if first is None else [first]
    while found and (after := json.loads(found[-1].frame or "{}").get("replaced_by")):
        found.append(store.session(after))
    return found


def _sums(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "sessions": sum(one["sessions"] for one in found),
        "compactions": sum(one["compactions"] for one in found),
        "wrong": [each for one in found for each in one["wrong"]],
    }


def _is_answer(message: dict[str, Any]) -> bool:
    return message["role"] == "assistant" and not message.get("tool_calls")


def _calls(name: str, arguments: dict[str, str]) -> Sends:
    call = {
        "id": f"call_{random.getrandbits(48):x}", "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }  # fmt: skip
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": said}
    usage = {"prompt_tokens": 0, "completion_tokens": 9, "total_tokens": 9}
    return Sends(body={
        "id": "c1", "created": 1, "model": "m", "object": "chat.completion", "choices": [choice],
        "usage": usage,
    })  # fmt: skip


def _percentiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values) or [0.0]
    return {
        f"p{share}": round(ordered[min(len(ordered) - 1, len(ordered) * share // 100)], 3)
        for share in PERCENTILES
    }


def _free_port() -> int:
    """Return a port that no client is given for a connection of its own, as one would be while the
    process that listens on it is started again.
    """
    while True:
        port = random.randrange(*PORTS)
        with contextlib.suppress(OSError), socket.socket() as held:
            held.bind(("127.0.0.1", port))
            return port


def main() -> int:
    """Run without kills and with kills; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chats", type=int, default=500)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each of the two runs")
    parser.add_argument("--pause", type=float, default=60.0, help="mean seconds between two turns")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default="", help="a file for the figures")
    parser.add_argument("--fork-hosts", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fork_hosts:
        fork_hosts()
        return 0
    runs: dict[str, dict[str, Any]] = {}
    with postgres_server() as server:
        for name in ("no kills", "kills"):
            runs[name] = Trial(asked, kills=name == "kills").run(server.url())
            print(f"== {name}: {asked.chats} chats, {asked.processes} processes")
            for key, value in runs[name].items():
                print(f"{key:32} {value}", flush=True)
    if asked.json:
        Path(asked.json).write_text(json.dumps(runs, indent=1) + "\n")
    bad = ("wrong", "unanswered", "ended by themselves")
    return int(any(run[name] for run in runs.values() for name in bad))


if __name__ == "__main__":
    raise SystemExit(main())
