"""`foldaway serve` from its start on: what its very first request meets."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest


@asynccontextmanager
async def served(home: Path, upstream: str) -> AsyncIterator[str]:
    """Give the address of a new process as soon as it says that it listens; it is killed then."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "foldaway", "serve", "--port", "0", "--window", "16000",
        "--upstream", upstream, "--store", str(home), stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path),
             "FOLDAWAY_FLOOR_TOKENS": "1000", "FOLDAWAY_HOME": str(home)},
    )  # fmt: skip
    assert process.stderr is not None
    line = (await process.stderr.readline()).decode()
    assert "listening at" in line, line + (await process.stderr.read()).decode()
    try:
        yield line.split()[-1]
    finally:
        process.send_signal(signal.SIGKILL)
        await process.communicate()


async def ask(client: aiohttp.ClientSession, url: str, body: bytes) -> str:
    headers = {"x-foldaway-session": "one", "content-type": "application/json"}
    async with client.post(f"{url}/v1/chat/completions", data=body, headers=headers) as got:
        await got.read()
        assert got.status == 200
        return got.headers["x-foldaway"]


@pytest.mark.slow
async def test_the_first_request_after_a_start_is_answered_like_any_other(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """A compacted conversation goes on with the same bytes, by the engine and within the deadline:
    the gateway takes no request before it is warm.
    """
    body = kit.packed(kit.talk("chat", 40))
    async with gateway() as stand:
        async with served(tmp_path / "home", stand.upstream.url) as url:
            for _ in range(3):
                before = await ask(stand.client, url, body)
        assert before.startswith("compacted")
        sent = stand.upstream.asked[-1]
        async with served(tmp_path / "home", stand.upstream.url) as url:
            assert await ask(stand.client, url, body) == before
        assert stand.upstream.asked[-1] == sent
        assert len(sent) < len(body)
