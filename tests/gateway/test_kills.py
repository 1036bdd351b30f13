"""`foldaway serve` is killed again and again while an agent works: the agent comes through."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter

pytestmark = pytest.mark.slow

_TRIES = 100
"""How often the agent asks again; it gives up only if it is stranded."""


_STARTER = """
import os, sys
import foldaway.cli.serve, foldaway.gateway.app
from foldaway.cli import run
from foldaway.sessions.session import warm
warm()
for port in sys.stdin:
    child = os.fork()
    if not child:
        os._exit(run(["serve", "--port", port.strip(), *sys.argv[1:]]))
    print(child, flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""
"""Starts `foldaway serve` in a new process for every line, without loading it anew each time."""


class Served:
    """`foldaway serve` as a process of its own, on one port for its whole life."""

    def __init__(self, starter: asyncio.subprocess.Process) -> None:
        assert starter.stdin is not None
        assert starter.stdout is not None
        assert starter.stderr is not None
        self._in, self._out, self._err = starter.stdin, starter.stdout, starter.stderr
        self._pid, self._port = 0, 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        self._in.write(f"{self._port}\n".encode())
        self._pid = int(await self._out.readline())
        line = "its pages"  # what the process before said last
        while "its pages" in line:
            line = (await self._err.readline()).decode()
        assert "listening at" in line, line + (await self._err.read()).decode()
        self._port = int(line.rpartition(":")[2])

    async def end(self, how: signal.Signals) -> None:
        """Send a signal and wait until the process is gone."""
        os.kill(self._pid, how)
        self._pid = 0
        assert await self._out.readline() == b"gone\n"

    def drop(self) -> None:
        """Kill what still runs."""
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)


@asynccontextmanager
async def served(home: Path, upstream: str) -> AsyncIterator[Served]:
    starter = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _STARTER, "--window", "16000", "--upstream", upstream, "--store",
        str(home), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path),
             "FOLDAWAY_FLOOR_TOKENS": "1000", "FOLDAWAY_HOME": str(home)},
    )  # fmt: skip
    process = Served(starter)
    try:
        await process.start()
        yield process
        await process.end(signal.SIGTERM)
    finally:
        process.drop()
        starter.kill()
        await starter.communicate()


async def persist(client: aiohttp.ClientSession, url: str, body: bytes, note: str = "") -> int:
    """Send a request until it is answered whole, as agents do, and the gateway had time to do what
    `note` says; return how often it was sent.
    """
    headers = {"x-foldaway-session": "one", "content-type": "application/json"}
    for number in range(1, _TRIES):
        try:
            where = f"{url}/v1/chat/completions"
            async with client.post(where, data=body, headers=headers) as got:
                await got.read()
                if got.status == 200 and got.headers["x-foldaway"].startswith(note):
                    return number
        except aiohttp.ClientError:
            await asyncio.sleep(0.05)  # as a client waits before it tries again
    raise AssertionError("the agent is stranded")


async def work_through_kills(stand: Any, kit: Any, home: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    steps = iter(range(10, 10_000))
    tries = 0
    async with served(home, stand.upstream.url) as process:
        for _ in range(kills):
            asked = kit.packed(kit.talk("chat", next(steps)))
            sending = asyncio.create_task(persist(stand.client, process.url, asked))
            await asyncio.wait((sending,), timeout=chance.random() * 0.2)
            await process.end(signal.SIGKILL)
            await process.start()
            tries += await sending
            await persist(stand.client, process.url, kit.packed(kit.talk("chat", next(steps))))
        last = kit.talk("chat", next(steps) + 20)
        await persist(stand.client, process.url, kit.packed(last), "compacted")
        before = stand.upstream.asked[-1]
        await process.end(signal.SIGKILL)
        await process.start()
        await persist(stand.client, process.url, kit.packed(last), "compacted")
        assert stand.upstream.asked[-1] == before
        assert len(before) < len(kit.packed(last))
    assert tries >= kills
    store = open_store(home)
    check(store, last, stand.upstream.asked)
    store.close()


def check(store: Any, last: Any, sent: Sequence[bytes]) -> None:
    """Every message of the client is in the store, and every reference that the provider ever saw
    leads to its originals.
    """
    wanted = [json.dumps(one, ensure_ascii=False).encode() for one in last["messages"]]
    known = [info.id for info in store.sessions(SessionFilter(), most=500).sessions]
    logs = [[message.body for message in store.read(name)] for name in known]
    assert wanted in logs
    references = {name for body in sent for name in re.findall(rb"fa-[0-9a-f]{10}", body)}
    assert references
    session = Session.open(store, known[logs.index(wanted)])
    whole = {json.dumps(one, sort_keys=True) for one in last["messages"]}
    for name in references:
        originals = session.recall(name.decode())
        assert originals
        assert {json.dumps(one, sort_keys=True) for one in originals} <= whole


async def test_no_agent_is_stranded_and_nothing_is_lost_when_the_gateway_is_killed(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """Twice, at any moment of a request; the same list is the same bytes after a restart."""
    async with gateway() as stand:
        await work_through_kills(stand, kit, tmp_path / "served", 2, seed=1)


@pytest.mark.soak
async def test_the_same_with_a_hundred_kills(gateway: Any, kit: Any, tmp_path: Path) -> None:
    """On one conversation, with many compactions in between."""
    async with gateway() as stand:
        await work_through_kills(stand, kit, tmp_path / "served", 100, seed=2)
