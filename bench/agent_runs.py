"""Real coding agents, unmodified, started by `foldaway run`, against the strict stub provider.

    python bench/agents.py --runs [NAME…] [--steps N] [--keep FOLDER] [--check]

Each agent runs twice, with its usual settings for the stub: once as it is, and once while the
gateway that `foldaway run` started is killed in the middle. A promise is broken if the agent does
not end as it ends without us, if the stub refused a request, if a request went past the gateway
that was not killed, or if what `foldaway run` says at the end is not what the stub saw.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import agent_trials
from agent_trials import ROOT, toolkit
from foldaway.agents.running.agents import startable_agent

FIXED = {"cline": "http://127.0.0.1:8787"}
"""Agents that are told the address of the listener in their own settings."""
COLUMNS = ("requests", "through", "direct", "ends", "refused", "ended", "seconds")


async def run(name: str, steps: int, kill_at: int, folder: Path) -> dict[str, Any]:
    """Return the figures of one run; the gateway is killed after so many requests, 0 for never."""
    agents = toolkit("agents")
    provider = toolkit("provider").Provider(folder / "provider")
    # in a thread of its own: the toolkit waits for its answers
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(provider.start(), loop))
    base = f"{provider.url}/c/{name}"
    known, find = agents.AGENTS[name], agents.find_binary
    program = starter(name, find(agents.default_prefix(), name), base, folder)
    killing = asyncio.create_task(
        kill_after(lambda: provider.script(name).requests, kill_at, folder)
    )

    def found_here(*_: object) -> Path:
        return program

    agents.find_binary = found_here
    if name in FIXED:
        agents.AGENTS[name] = replace(known, start=partial(fixed, known, name))
    try:
        ended = await agents.run_agent(
            name, base, prefix=agents.default_prefix(), turns=steps, home=folder / "home",
            control=f"{provider.url}/_ctl/{name}", script=script_of(name, steps), seconds=600,
        )  # fmt: skip
    finally:
        killing.cancel()
        agents.AGENTS[name], agents.find_binary = known, find
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(provider.stop(), loop))
        loop.call_soon_threadsafe(loop.stop)
    found = judged(name, folder, ended)
    return found | {"broken": broken(found, kill_at)}


def script_of(name: str, steps: int) -> dict[str, Any]:
    """Return what the stub must say to an agent that calls tools in its text."""
    habit = agent_trials.TABLE.agents.get(name)
    return agent_trials.texts_of(habit, steps) if habit is not None else {}


def starter(name: str, binary: Path, base: str, folder: Path) -> Path:
    """Return a program that stands for the agent: `foldaway run` with its arguments."""
    upstream = f" --upstream {base}" if name in FIXED else ""
    ours = {"PYTHONPATH": str(ROOT / "src"), "FOLDAWAY_HOME": str(folder / "kept")}
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    (bin_folder / binary.name).symlink_to(binary)
    given = startable_agent(binary.name).recall
    recall = ["--recall"] if given.options or given.keys else []
    command = [sys.executable, "-m", "foldaway", "run", "--report", *recall, "--serve",
               f"--store {folder / 'store'}{upstream}", binary.name]  # fmt: skip
    script = folder / "start"
    lines = [f"export {key}={shlex.quote(value)}" for key, value in ours.items()]
    lines += [f'export PATH={bin_folder}:"$PATH"', f'exec {shlex.join(command)} "$@"']
    script.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    script.chmod(0o755)
    return script


def fixed(known: Any, name: str, given: Any) -> list[str]:
    """Return an agent's arguments; it is told the listener's address before."""
    arguments = known.start(given)
    given.first = [one.replace(given.base, FIXED[name]) for one in given.first]
    return arguments


async def kill_after(seen: Callable[[], int], requests: int, folder: Path) -> None:
    """Kill the gateway of a run when the stub has seen so many requests."""
    while not requests or seen() < requests:
        await asyncio.sleep(0.02)
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if str(folder / "store").encode() in command and b"--until-eof" in command:
            os.kill(int(entry.name), signal.SIGKILL)


def judged(name: str, folder: Path, ended: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures from the stub's log and from the three lines."""
    rows = toolkit("judge").records(folder / "provider" / name)
    said = (folder / "home" / "err.txt").read_text(errors="replace")
    through = re.search(r"; (\d+) requests? went through", said)
    direct = re.search(r"(\d+) requests? went to the provider", said)
    ends = re.search(r"the gateway ended (\d+) times?", said)
    turns = [row for row in rows if row["method"] == "POST" and "count" not in row["path"]]
    return {
        "requests": len(turns), "refused": sum(bool(row.get("rules")) for row in rows),
        "through": int(through[1]) if through else -1, "direct": int(direct[1]) if direct else 0,
        "ends": int(ends[1]) if ends else 0, "seconds": ended["seconds"],
        "ended": ended["rc"], "said": said[-600:],
    }  # fmt: skip


def broken(found: Mapping[str, Any], kill_at: int) -> list[str]:
    """Return the promises that were not kept."""
    wrong = [f"{found['refused']} refused"] if found["refused"] else []
    if found["ended"]:
        wrong.append(f"ended with {found['ended']}")
    if not found["requests"]:
        wrong.append("asked nothing")
    if not kill_at and (found["through"] != found["requests"] or found["direct"]):
        wrong.append("went past the gateway")
    if kill_at and not found["ends"] and found["requests"] > kill_at:
        wrong.append("was not killed")
    return wrong


def tried(names: Sequence[str], steps: int, keep: Path | None) -> int:
    """Run agents; return how many runs broke a promise."""
    print("| agent | gateway | " + " | ".join(COLUMNS) + " | broken |")
    print("| --- | --- |" + " ---: |" * len(COLUMNS) + " --- |")
    faults = 0
    for name in names:
        for kill_at in (0, max(1, steps // 2)):
            kind = "killed" if kill_at else "lives"
            folder = keep / f"{name}-{kind}" if keep else Path(tempfile.mkdtemp())
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            found = asyncio.run(run(name, steps, kill_at, folder.resolve()))
            if not keep:
                shutil.rmtree(folder)
            faults += bool(found["broken"])
            cells = [*(str(found[what]) for what in COLUMNS), "; ".join(found["broken"]) or "0"]
            print(f"| {name} | {kind} | {' | '.join(cells)} |", flush=True)
    return faults
