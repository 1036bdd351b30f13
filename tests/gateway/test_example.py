"""examples/gateways: three gateways on one database behind one address, of which one is killed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.testing.postgres_server import postgres_database

from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import SessionFilter

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "gateways"
NAMES = [f"conversation {number}" for number in range(4)]
"""One is killed under the first; the others show which of them move."""
STEPS = 30
"""Of a talk that fills the window."""


class Gateways:
    """The example as a process of its own."""

    def __init__(self, output: asyncio.StreamReader, url: str, client: aiohttp.ClientSession):
        self.url, self.client = url, client
        self._output = output
        self.processes: dict[str, int] = {}

    async def wait_for(self, gateways: int = 1) -> None:
        """Wait until so many gateways more listen, and what stands before them runs."""
        while gateways:
            line = (await self._output.readline()).decode()
            assert line, "the example ended"
            if found := re.search(r"listening at http://(\S+), process (\d+)", line):
                self.processes[found[1]] = int(found[2])
                gateways -= 1

    async def post(self, body: bytes, name: str) -> tuple[str, str]:
        """Send a request; return what the gateway says of it, and which one it was."""
        headers = {"x-foldaway-session": name, "content-type": "application/json"}
        where = f"{self.url}/v1/chat/completions"
        async with self.client.post(where, data=body, headers=headers) as got:
            await got.read()
            assert got.status == 200
            return got.headers["x-foldaway"], got.headers["x-gateway"].rpartition(" ")[2]

    async def compacted(self, body: bytes, name: str) -> str:
        """Send a request until it is not late on a machine that does other things too, and what
        is due was made behind an answer; return which gateway it was.
        """
        while True:
            note, gateway = await self.post(body, name)
            if note.startswith("compacted"):
                return gateway

    async def owners(self, body: bytes) -> dict[str, str]:
        """Send a request of each conversation; return which gateway it was for each."""
        found = await asyncio.gather(*(self.compacted(body, name) for name in NAMES))
        return dict(zip(NAMES, found, strict=True))


@asynccontextmanager
async def started(
    store: str, upstream: str, home: Path, balancer: str, client: aiohttp.ClientSession
) -> AsyncIterator[Gateways]:
    port = free_ports(4)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(EXAMPLE / "start.py"), "--store", store, "--port", str(port),
        "--balancer", balancer, "--upstream", upstream, "--window", "16000",
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "FOLDAWAY_HOME": str(home),
             "FOLDAWAY_FLOOR_TOKENS": "1000"},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        gateways = Gateways(process.stdout, f"http://127.0.0.1:{port}", client)
        await gateways.wait_for(3)
        await is_up(client, gateways.url)
        yield gateways
    finally:
        process.terminate()
        await process.communicate()


def free_ports(count: int) -> int:
    """Return the first of some ports in a row, below those that clients are given."""
    while True:
        first = random.randrange(15_000, 30_000)
        with suppress(OSError), ExitStack() as held:
            for port in range(first, first + count):
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first


async def is_up(client: aiohttp.ClientSession, url: str) -> None:
    """Wait for what says nothing when it listens: nginx."""
    while True:
        with suppress(aiohttp.ClientConnectionError):
            async with client.get(f"{url}/healthz") as got:
                if got.status == 200:
                    return
        await asyncio.sleep(0.05)


def check(store: Store, name: str, body: dict[str, Any]) -> int:
    """Check that the log is what the client has, once and in its order, that no view was compacted
    twice, and that every reference leads to originals; return how many compactions there were.
    """
    (info,) = (one for one in store.all_sessions(SessionFilter()) if name in one.source_id)
    assert [json.loads(row.body) for row in store.read(info.id)] == body["messages"]
    views = store.views(info.id, lean=True)
    assert len({view.previous for view in views}) == len(views) == info.compactions
    session = Session.open(store, info.id)
    for reference in set(re.findall(r"fa-[0-9a-f]{10}", json.dumps(session.messages))):
        assert session.recall(reference)
    return len(views)


@pytest.mark.parametrize("balancer", ["python", "nginx"])
async def test_a_conversation_goes_on_when_its_gateway_is_killed(
    gateway: Any, kit: Any, postgres_url: str, tmp_path: Path, balancer: str
) -> None:
    """It is killed in the middle of a request: its client notices nothing, the next gateway sends
    the same bytes, and only the conversations of the dead one move.
    """
    if balancer == "nginx" and shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    with postgres_database(postgres_url) as url:
        async with gateway() as stand:
            provider = stand.upstream
            async with started(url, provider.url, tmp_path, balancer, stand.client) as three:
                body = kit.talk("chat", STEPS)
                owners = await three.owners(kit.packed(body))
                dead = owners[NAMES[0]]
                assert len(three.processes) == 3
                came = asyncio.Event()

                async def hold(request: web.Request, _: bytes) -> web.StreamResponse:
                    came.set()
                    await asyncio.Event().wait()
                    raise AssertionError

                provider.script = hold
                asking = asyncio.create_task(three.post(kit.packed(body), NAMES[0]))
                await came.wait()
                provider.script = kit.answer_events
                held = provider.asked[-1]
                os.kill(three.processes[dead], signal.SIGKILL)
                note, heir = await asking
                assert heir != dead
                await three.compacted(kit.packed(body), NAMES[0])
                assert provider.asked[-1] == held
                assert note.startswith(("compacted", "last view", "pass; deadline"))
                moved = await three.owners(kit.packed(body))
                stay = [name for name in NAMES if owners[name] != dead]
                assert [moved[name] for name in stay] == [owners[name] for name in stay]
                await three.wait_for()
                for steps in range(STEPS, 2 * STEPS, 3):
                    body = kit.talk("chat", steps)
                    await three.post(kit.packed(body), NAMES[0])
                await three.compacted(kit.packed(body), NAMES[0])
        with open_store(url) as store:
            assert check(store, NAMES[0], body) > 1
            for name in NAMES[1:]:
                assert check(store, name, kit.talk("chat", STEPS)) == 1
