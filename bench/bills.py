"""The whole bill of recorded agents, direct and through the gateway, at every stop of their runs.

    python agents.py drive claude codex pi-messages --turns 600 --log RUNS   (the toolkit of agents)
    python bench/bills.py RUNS                                by `save = normal`
    python bench/bills.py RUNS --save little normal most --json bills.json
    python bench/bills.py RUNS --window 200000 --busy 2       beside two loops that keep a core busy

The requests that an agent sent directly are sent again in their order, byte for byte, through a
real gateway to the stub provider, which has exact prompt caches and keeps the bill. A run that
ends after 40 steps is the beginning of one that ends after 600, so one replay gives all stops.
"""

# matplotlib leaves the types of its **kwargs open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import matplotlib
from matplotlib.figure import Figure

from agent_trials import ROOT, TOOLKIT
from foldaway.lab.report.panels import BLUE, GREY, INK, SETTINGS, svg_text

STOPS = (10, 40, 150, 300, 600)
LEAST_STEPS = 10
"""The worst stop is looked for from here on: before, agents put times and ids into few tokens."""
KEPT = ("content-type", "authorization", "x-api-key", "accept", "user-agent", "originator")
"""Headers that are sent again, beside those of providers and sessions."""


@dataclass(frozen=True)
class Asked:
    """One request of a recorded run."""

    path: str
    headers: dict[str, str]
    body: bytes
    usd: float
    tokens: int


@dataclass
class Bill:
    """What a run cost up to each request, and what the gateway did."""

    usd: list[float] = field(default_factory=list[float])
    tokens: list[int] = field(default_factory=list[int])
    compactions: list[int] = field(default_factory=list[int])
    refused: int = 0


def recorded(folder: Path) -> list[Asked]:
    """Return the requests of a run that were turns of the agent, in order."""
    found: list[Asked] = []
    for file in sorted(folder.glob("*.json")):
        row = json.loads(file.read_bytes())
        if row.get("kind") not in ("turn", "compaction", "side") or row.get("status") != 200:
            continue
        headers = {
            name: value for name, value in row["headers"].items()
            if name.lower() in KEPT or name.lower().startswith(("anthropic-", "x-", "session"))
        }  # fmt: skip
        query = f"?{row['query']}" if row["query"] else ""
        body = file.with_suffix(".req").read_bytes()
        tokens = row["figures"]["total"] if row.get("figures") else 0
        found.append(Asked(row["path"] + query, headers, body, row.get("cost") or 0.0, tokens))
    return found


@asynccontextmanager
async def started(*command: str, cwd: Path | None = None) -> AsyncIterator[str]:
    """Give the first line that a program prints, and end it afterwards."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"}
    running = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert running.stdout is not None
    first = (await running.stdout.readline()).decode()
    rest = asyncio.ensure_future(running.stdout.read())  # nobody reads it, and it must not wait
    try:
        yield first
    finally:
        running.kill()
        await running.wait()
        rest.cancel()


async def replayed(name: str, run: Sequence[Asked], options: Sequence[str]) -> Bill:
    """Return the bill of a run that is sent again through a gateway."""
    bill = Bill()
    with tempfile.TemporaryDirectory() as folder:
        stub = (sys.executable, str(TOOLKIT / "provider.py"), "--log", f"{folder}/log")
        async with started(*stub, cwd=TOOLKIT) as said, aiohttp.ClientSession() as client:
            provider = said.split()[-1]
            script = {"window": 3_000_000, "turns": 10_000, "lenient": True}
            async with client.post(f"{provider}/_ctl/{name}", json=script) as answer:
                answer.raise_for_status()
            gateway = (
                sys.executable, "-m", "foldaway", "serve", "--port", "0", "--store",
                f"{folder}/store", "--upstream", f"{provider}/c/{name}", *options,
            )  # fmt: skip
            async with started(*gateway) as listening:
                address = next(word for word in listening.split() if word.startswith("http"))
                for one in run:
                    await _send(client, address.rstrip("/,."), one, bill)
                    async with client.get(f"{provider}/_bill") as answer:
                        bill.usd.append((await answer.json()).get(name, 0.0))
            bill.tokens = [one.tokens for one in recorded(Path(folder) / "log" / name)]
    return bill


async def _send(client: aiohttp.ClientSession, address: str, one: Asked, bill: Bill) -> None:
    async with client.post(address + one.path, data=one.body, headers=one.headers) as answer:
        await answer.read()
        note = answer.headers.get("x-foldaway", "")
        bill.refused += answer.status != 200
        before = bill.compactions[-1] if bill.compactions else 0
        word, _, count = note.partition(";")[0].partition(" ")
        is_compacted = word == "compacted" and count.isdigit()
        bill.compactions.append(int(count) if is_compacted else before)


def table(name: str, save: str, run: Sequence[Asked], bill: Bill) -> dict[str, Any]:
    """Return the figures of one agent under one setting."""
    direct, total = [0.0], 0.0
    for one in run:
        total += one.usd
        direct.append(total)
    ratios = [ours / direct[at + 1] for at, ours in enumerate(bill.usd)]
    worst = max(range(LEAST_STEPS, len(ratios)), key=ratios.__getitem__)
    stops = [stop for stop in STOPS if stop <= len(run)]
    return {
        "agent": name, "save": save, "steps": len(run), "refused": bill.refused,
        "direct": {stop: round(direct[stop], 4) for stop in stops},
        "ratio": {stop: round(ratios[stop - 1], 3) for stop in stops},
        "compactions": {stop: bill.compactions[stop - 1] for stop in stops},
        "worst": [round(ratios[worst], 3), worst + 1],
        "largest": [max(one.tokens for one in run), max(bill.tokens, default=0)],
    }  # fmt: skip


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep so many cores busy beside what is measured."""
    loops = [multiprocessing.Process(target=_loop, daemon=True) for _ in range(count)]
    for one in loops:
        one.start()
    try:
        yield
    finally:
        for one in loops:
            one.kill()


def _loop() -> None:
    while True:
        sum(range(10_000))


def drawn(name: str, run: Sequence[Asked], bill: Bill) -> str:
    """Return the tokens of each request as SVG: direct, and through the gateway."""
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(7.2, 2.8), layout="tight")
        axes = figure.add_subplot()
        steps = range(1, len(run) + 1)
        axes.fill_between(steps, [one.tokens / 1e3 for one in run], color=GREY, alpha=0.35, lw=0)
        axes.fill_between(steps, [tokens / 1e3 for tokens in bill.tokens], color=BLUE, lw=0)
        for at in range(1, len(run)):
            if bill.compactions[at] > bill.compactions[at - 1]:
                axes.axvline(at + 1, color=INK, lw=0.8, ls=":")
        last = len(run)
        axes.annotate("direct", (last, run[-1].tokens / 1e3), xytext=(-4, 4), ha="right",
                      textcoords="offset points", color=INK)  # fmt: skip
        axes.annotate("through the gateway", (last, 4), xytext=(-4, 0), ha="right",
                      textcoords="offset points", color="white")  # fmt: skip
        axes.set_xlabel(f"request of {name}; dotted: a compaction")
        axes.set_ylabel("thousand tokens")
        axes.set_xlim(1, last)
        axes.set_ylim(0)
        return svg_text(figure, f"bill of {name}")


def shown(row: dict[str, Any]) -> str:
    cells = [f"{row['ratio'].get(stop, '–')}" for stop in STOPS]
    worst, at = row["worst"]
    folds = ", ".join(str(row["compactions"].get(stop, "–")) for stop in STOPS[2:])
    largest, ours = row["largest"]
    return (f"| {row['agent']} | {row['save']} | {' | '.join(cells)} | {worst} at {at} | {folds} | "
            f"{largest:,} → {ours:,} | {row['refused']} |")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", type=Path, help="what the toolkit logged: RUNS/provider/AGENT")
    parser.add_argument("agents", nargs="*", help="by default all that were recorded")
    parser.add_argument("--save", nargs="+", default=["normal"])
    parser.add_argument("--window", type=int, default=0, help="by default that of the model")
    parser.add_argument("--steps", type=int, default=max(STOPS), help="at most so many")
    parser.add_argument("--busy", type=int, default=0, help="loops that keep a core busy")
    parser.add_argument("--serve", nargs="*", default=[], help="further options of foldaway serve")
    parser.add_argument("--plot", type=Path, help="a file for a picture of the last run, as SVG")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    given = parser.parse_args()
    if not (TOOLKIT / "provider.py").is_file():
        print("the toolkit of agents is not here; name its folder in FOLDAWAY_AGENTS")
        return 0
    folders = {one.name: one for one in sorted(given.runs.glob("**/provider/*")) if one.is_dir()}
    print("| agent | save | 10 | 40 | 150 | 300 | 600 | worst stop | compactions | largest | "
          "refused |")  # fmt: skip
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    rows: list[dict[str, Any]] = []
    window = ["--window", str(given.window)] if given.window else []
    with busy(given.busy):
        for name in given.agents or folders:
            run = recorded(folders[name])[: given.steps]
            for save in given.save:
                options = ["--save", save, *window, *given.serve]
                bill = asyncio.run(replayed(name, run, options))
                rows.append(table(name, save, run, bill))
                print(shown(rows[-1]), flush=True)
                if given.plot:
                    given.plot.write_text(drawn(name, run, bill), encoding="utf-8")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
