"""CPU time of a request at a bare relay and at `foldaway serve`, by what the request is.

    python bench/gateway_cpu.py                        all kinds, then a burst of new streams
    python bench/gateway_cpu.py --kinds steady         some of them
    python bench/gateway_cpu.py --source OTHER/src     another checkout beside this one, by turns
    python bench/gateway_cpu.py --json FILE            the figures as JSON too

A round sends the same requests to each way, one way after the other, and reads the CPU time of its
process when that has nothing left to do: what is written down after an answer counts too. `held` is
how much of it was used when the answer was there. In no request of these is a compaction due.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiohttp
import psutil
from msgspec import Struct

from gateway import ROOT, Client, body_of, process, settle, talk

WINDOW = 1_000_000
EACH = 40
"""Requests of a round; twelve of each of these conversations where they go on."""
AT_ONCE = 200
BENCH = Path(__file__).parent


class Way(Struct):
    """A server that requests go through."""

    name: str
    url: str
    run: psutil.Process

    @property
    def cpu(self) -> float:
        return sum(self.run.cpu_times()[:2]) * 1e3


def opened(size: int) -> Callable[[str], Iterator[tuple[bytes, str]]]:
    """Return what yields requests that begin conversations: one message of that many bytes."""

    def requests(name: str) -> Iterator[tuple[bytes, str]]:
        for number in range(EACH):
            key = f"{name} opened {size} {number}"
            yield body_of(talk(1, size, key)), key

    return requests


def taken_up(size: int) -> Callable[[str], Iterator[tuple[bytes, str]]]:
    """Return what yields requests of conversations that have gone on elsewhere before."""

    def requests(name: str) -> Iterator[tuple[bytes, str]]:
        for number in range(EACH):
            key = f"{name} taken up {size} {number}"
            yield body_of(talk(20, size // 20 - 60, key)), key

    return requests


def steady(name: str) -> Iterator[tuple[bytes, str]]:
    """Yield requests of 10 to 30 KB, of conversations that go on."""
    found = [talk(62, 440, f"{name} steady {number}") for number in range(EACH)]
    for step in range(12):
        for number, messages in enumerate(found):
            yield body_of(messages[: 21 + 2 * step]), f"{name} steady {number}"


KINDS = {
    "opened, 12 KB": opened(12_000), "opened, 30 KB": opened(30_000),
    "opened, 300 KB": opened(300_000), "taken up, 12 KB": taken_up(12_000),
    "taken up, 30 KB": taken_up(30_000), "taken up, 300 KB": taken_up(300_000),
    "steady, 10 to 30 KB": steady,
}  # fmt: skip


def measure(way: Way, requests: Iterator[tuple[bytes, str]]) -> tuple[float, Counter[str]]:
    """Return the CPU time of a request in ms, and what the gateway said of them."""
    client, notes = Client(way.url), Counter[str]()
    settle(way.run)
    begun, count = way.cpu, 0
    for body, key in requests:
        notes[client.first_byte(body, key)[1]] += 1
        count += 1
    settle(way.run)
    return (way.cpu - begun) / count, notes


async def burst(way: Way, name: str, step: int) -> tuple[float, list[float], Counter[str]]:
    """Return the CPU time of a request, the milliseconds until the first bytes, and the notes of
    many streams that ask at once.
    """
    bodies = [body_of(talk(21 + 2 * step, 500, f"{name} {at}")) for at in range(AT_ONCE)]
    settle(way.run)
    begun, notes = way.cpu, Counter[str]()

    async def one(client: aiohttp.ClientSession, at: int) -> float:
        headers = {"x-foldaway-session": f"{name} {at}"}
        asked = time.perf_counter()
        where = f"{way.url}/v1/chat/completions"
        async with client.post(where, data=bodies[at], headers=headers) as got:
            took = time.perf_counter() - asked
            await got.read()
            assert got.status == 200, got.status
            notes[got.headers.get("x-foldaway", "")] += 1
            return took * 1e3

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        took = await asyncio.gather(*(one(client, at) for at in range(AT_ONCE)))
    await asyncio.to_thread(settle, way.run)
    return (way.cpu - begun) / AT_ONCE, took, notes


def ways(stack: ExitStack, sources: list[Path]) -> list[Way]:
    script = str(BENCH / "gateway.py")
    provider, _ = stack.enter_context(process(script, "--role", "provider"))
    relay = stack.enter_context(process(script, "--role", "relay", "--upstream", provider))
    found = [Way("relay", *relay)]
    for number, source in enumerate(sources):
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        served = stack.enter_context(process(
            "-m", "foldaway", "serve", "--port", "0", "--window", str(WINDOW), "--upstream",
            provider, "--store", folder, FOLDAWAY_HOME=folder, PYTHONPATH=str(source),
        ))  # fmt: skip
        found.append(Way(f"other {number}" if number else "gateway", *served))
    for way in found:
        Client(way.url).first_byte(body_of(talk(2, 100, "warm")), "warm")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kinds", nargs="*", default=[*KINDS, "burst"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--source", type=Path, action="append", default=[])
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    kinds = [one for one in [*KINDS, "burst"] if any(one.startswith(kind) for kind in asked.kinds)]
    cpu: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    waits: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    notes: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    with ExitStack() as stack:
        found = ways(stack, [ROOT / "src", *asked.source])
        for number in range(asked.rounds):
            for kind in kinds:
                for way in found:
                    name = f"round {number}"
                    if kind != "burst":
                        took, said = measure(way, KINDS[kind](name))
                        cpu[kind, way.name].append(took)
                        notes[kind, way.name] += said
                        continue
                    for step, row in enumerate(
                        ("burst, all new", "burst, the next", "burst, the third")
                    ):
                        took, seen, said = asyncio.run(burst(way, f"burst {name}", step))
                        cpu[row, way.name].append(took)
                        waits[row, way.name] += seen
                        notes[row, way.name] += said
    rows: dict[str, Any] = {}
    for (kind, name), took in cpu.items():
        wait = waits.get((kind, name))
        rows[f"{kind}: {name}"] = {
            "cpu ms": statistics.median(took), "least": min(took), "notes": notes[kind, name],
            **({"p50 ms": statistics.median(wait), "most ms": max(wait)} if wait else {}),
        }  # fmt: skip
        said = ", ".join(f"{count} {note}" for note, count in notes[kind, name].items() if note)
        late = (
            f"  first byte p50 {statistics.median(wait):.0f}, most {max(wait):.0f} ms"
            if wait
            else ""
        )
        print(f"{kind:24}{name:12}{statistics.median(took):8.2f}{min(took):8.2f}{late}  {said}")
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
