"""Trials of real agents through gateways: one is killed, two share a store, agents resume, compact
and delegate.

    python bench/agents.py --trials [NAME…] [--trial KIND…] [--keep FOLDER] [--check]

Each trial is one or two runs of an agent, between a recorder of what it sends and the strict stub,
and is judged by the bytes on both sides and by the store that the gateway leaves:

* refused: requests that the stub refused for a broken rule, except those that the agent broke
  itself (`foreign`: nothing was compacted, and the bytes are its own);
* lost: messages that the agent sent and that no log of the store has;
* dead: references in what was sent that do not lead to messages that the agent sent;
* own: how often the agent's list became much shorter, by its own compaction or a subagent;
* hidden: messages of a request that neither stand in what was sent for it nor behind a reference.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from foldaway.dialects.jsontext import parse, split_list, split_object
from foldaway.dialects.loading import dialect_named
from foldaway.facts.frame import carried_summary, without_summary
from foldaway.gateway.requests import Turn, read_turn, unpack_body
from foldaway.gateway.wires import route_of
from foldaway.sessions.matching import digest
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter
from foldaway.transcript import Message, Thinking

ROOT = Path(__file__).resolve().parent.parent
TOOLKIT = Path(os.environ.get("FOLDAWAY_AGENTS", ROOT.parent / "shared" / "agents"))
WIDE = 100_000_000
"""A window in which the gateway never compacts."""
SHORTER = 0.6
"""A list that is so much shorter than the one before it was compacted by the agent, or is that of a
subagent."""
REFERENCE = re.compile(rb"(?<![0-9a-f])fa-[0-9a-f]{10}(?![0-9a-f])")
"""Not the end of a UUID: Codex gives one to each of its items."""
_MOST_BYTES = 64 << 20


# What is tried


class Trial(Struct, frozen=True):
    """A kind of trial; agent_trials.toml says what its fields mean."""

    steps: tuple[int, ...]
    window: int = 0
    kills: tuple[int, ...] = ()
    cuts: tuple[int, ...] = ()
    compactions: int = 0
    gateways: int = 1


class Resume(Struct, frozen=True):
    """Options that are put in at a place of an agent's arguments."""

    at: int
    options: tuple[str, ...]


class Delegate(Struct, frozen=True):
    """The call that starts a subagent."""

    tool: str
    arguments: dict[str, Any]


class Habit(Struct, frozen=True):
    """What an agent needs for the trials."""

    base: int
    resume: Resume | None = None
    delegate: Delegate | None = None
    scale: float = 1.0
    asks_again: bool = True
    rewrites: int = 0
    texts: tuple[str, ...] = ()
    instead: dict[str, tuple[str, ...]] = {}
    skips: dict[str, str] = {}


class Table(Struct, frozen=True):
    trials: dict[str, Trial]
    agents: dict[str, Habit]


TABLE = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=Table)


# Running


def toolkit(name: str) -> Any:
    """Return a module of the toolkit."""
    if str(TOOLKIT) not in sys.path:
        sys.path.insert(0, str(TOOLKIT))
        sys.modules.pop("agents", None)
    return importlib.import_module(name)


class Gateway:
    """`foldaway serve` on one port and one store, as often as it is started."""

    def __init__(self, upstream: str, store: Path, window: int, options: Sequence[str]) -> None:
        self.port = toolkit("agents").free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = (
            sys.executable, "-m", "foldaway", "serve", "--port", str(self.port), "--upstream",
            upstream, "--store", str(store), "--window", str(window), *options,
        )  # fmt: skip
        self._log = store.with_suffix(".log")
        self._run: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        ours = {name: value for name, value in os.environ.items() if name != "FOLDAWAY_AGENTS"}
        env = {**ours, "PYTHONPATH": str(ROOT / "src")}
        with self._log.open("ab") as log:
            self._run = await asyncio.create_subprocess_exec(*self._command, env=env, stderr=log)
        while self._run.returncode is None:
            with contextlib.suppress(OSError):
                (await asyncio.open_connection("127.0.0.1", self.port))[1].close()
                return
            await asyncio.sleep(0.05)
        raise SystemExit(self._log.read_text())

    async def end(self, how: signal.Signals) -> None:
        if self._run is not None and self._run.returncode is None:
            self._run.send_signal(how)
            await self._run.wait()


async def run(name: str, kind: str, folder: Path, options: Sequence[str]) -> dict[str, Any]:
    """Return the figures of one trial."""
    trial, habit = TABLE.trials[kind], TABLE.agents[name]
    provider = toolkit("provider").Provider(folder / "provider")
    # in a thread of its own: the toolkit waits for its answers
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(provider.start(), loop))
    upstream = f"{provider.url}/c/{name}"
    window = trial.window + habit.base if trial.window else WIDE
    gateways = [Gateway(upstream, folder / "store", window, options) for _ in range(trial.gateways)]
    front = front_of(gateways, provider.script, name, trial, habit, folder / "client")
    results: list[dict[str, Any]] = []
    try:
        for one in gateways:
            await one.start()
        await front.start()
        for at, steps in enumerate(trial.steps):
            results.append(await start(name, kind, front.url, provider.url, folder, at, steps))
    finally:
        await front.stop()
        for one in gateways:
            await one.end(signal.SIGTERM)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(provider.stop(), loop))
        loop.call_soon_threadsafe(loop.stop)
    found = judged(name, folder, results) | {"notes": dict(front.notes)}
    return found | {"broken": broken(trial, found)}


async def start(
    name: str, kind: str, base: str, provider: str, folder: Path, at: int, steps: int
) -> dict[str, Any]:
    """Run an agent once; the second time it resumes."""
    agents, habit = toolkit("agents"), TABLE.agents[name]
    known = agents.AGENTS[name]

    def arguments(given: Any) -> list[str]:
        found = [one for was in known.start(given) for one in habit.instead.get(was, (was,))]
        if at and habit.resume is not None:
            found[habit.resume.at : habit.resume.at] = habit.resume.options
        return found

    agents.AGENTS[name] = replace(known, start=arguments)
    try:
        return await agents.run_agent(
            name, base, prefix=agents.default_prefix(), turns=steps, home=folder / "home",
            prompt="Go on, look again" if at else agents.PROMPT,
            control=f"{provider}/_ctl/{name}", script=script_of(kind, habit, steps), seconds=600,
        )  # fmt: skip
    finally:
        agents.AGENTS[name] = known


def script_of(kind: str, habit: Habit, steps: int) -> dict[str, Any]:
    """Return what the stub must do."""
    trial = TABLE.trials[kind]
    found: dict[str, Any] = {"window": trial.window + habit.base} if trial.window else {}
    if kind == "own":
        found["usage_scale"] = habit.scale
    if kind == "subagent" and habit.delegate is not None:
        actions = toolkit("provider").ACTIONS
        first = [habit.delegate.tool, habit.delegate.arguments]
        found["actions"] = [first, *(actions[at % 3] for at in range(steps))]
    return found | texts_of(habit, steps)


def texts_of(habit: Habit, steps: int) -> dict[str, Any]:
    """Return what the stub says to an agent that calls tools in its text."""
    if not habit.texts:
        return {}
    *usual, last = habit.texts
    said = [usual[at % len(usual)].replace("{n}", f"{at % 60:02d}") for at in range(steps)]
    return {"turns": 0, "side_texts": [*said, last]}


def front_of(
    gateways: Sequence[Gateway], script: Callable[[str], Any], name: str, trial: Trial,
    habit: Habit, log: Path,
) -> Any:  # fmt: skip
    """Return a recorder that asks gateways in turns, and kills the first as a trial wants it."""

    class Front(toolkit("relay").Relay):
        def __init__(self) -> None:
            super().__init__(gateways[0].url, log)
            self.asked, self.notes, self.is_up = 0, Counter[str](), asyncio.Event()
            self.is_up.set()

        async def handle(self, request: Any) -> Any:
            await self.is_up.wait()
            if route_of(request.method, request.path, {}).operation != "turn":
                return await super().handle(request)
            self.asked += 1
            number = self.asked
            self.upstream = gateways[number % len(gateways)].url
            if number in trial.cuts and habit.asks_again:
                script(name).silence = 1.0
                asyncio.get_running_loop().call_later(0.5, self.restart)
            try:
                answer = await super().handle(request)
                self.notes[answer.headers.get("x-foldaway", "")] += 1
                return answer
            finally:
                script(name).silence = 0.0
                if number in trial.kills:
                    self.restart()

        def restart(self) -> None:
            if self.is_up.is_set():
                self.is_up.clear()
                self.again = asyncio.create_task(self.start_again())

        async def start_again(self) -> None:
            await gateways[0].end(signal.SIGKILL)
            await gateways[0].start()
            self.is_up.set()

    return Front()


# Judging


def judged(name: str, folder: Path, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of a trial from the bytes on both sides and from the store."""
    judge = toolkit("judge")
    stub = judge.judged(folder / "provider" / name, folder / "client", results[-1])
    upstream = {row["rid"]: row for row in judge.records(folder / "provider" / name)}
    store = open_store(folder / "store")
    infos = store.sessions(SessionFilter(), most=500).sessions
    held = {one for info in infos for one in said_in(store.read(info.id), info.dialect)}
    given: set[bytes] = set()
    hidden: set[bytes] = set()
    behind: dict[bytes, set[bytes]] = {}
    lengths: list[int] = []
    for row in judge.records(folder / "client"):
        turn = turn_of(row)
        if turn is None or row.get("rid") not in upstream or row.get("status") != 200:
            continue
        listed = tuple(digests(turn.body, row, TABLE.agents[name].rewrites))
        body = plain(upstream[row["rid"]])
        reach = set(digests(body, row))
        for ref in set(REFERENCE.findall(body)):
            reach |= behind.setdefault(ref, set(opened(store, ref.decode())))
        given |= set(listed)
        hidden |= set(listed) - reach
        lengths.append(len(listed))
    made = max((info.compactions for info in infos), default=0)
    refused = [row for row in upstream.values() if set(row.get("rules") or ()) - {"window"}]
    asked = {row["req"].read_bytes() for row in judge.records(folder / "client")}
    foreign = [row for row in refused if not made and row["req"].read_bytes() in asked]
    store.close()
    return {
        "requests": stub["requests"], "refused": len(refused) - len(foreign),
        "foreign": len(foreign), "hidden": len(hidden), "compactions": made,
        "own": sum(after < SHORTER * before for before, after in pairwise(lengths)),
        "parts": len(given), "lost": len(given - held), "references": len(behind),
        "dead": sum(not said or not said <= given for said in behind.values()),
        "sessions": len(infos), "ended": [one["rc"] for one in results],
        "largest_tokens": stub["largest_tokens"], "first_fault": stub["first_fault"],
    }  # fmt: skip


def broken(trial: Trial, found: Mapping[str, Any]) -> list[str]:
    """Return the promises that were not kept."""
    counts = [f"{found[what]} {what}" for what in ("refused", "lost", "dead", "hidden")
              if found[what]]  # fmt: skip
    if any(found["ended"]):
        counts.append(f"ended with {found['ended']}")
    if found["compactions"] < trial.compactions:
        counts.append(f"{found['compactions']} compactions")
    return counts


def turn_of(row: Mapping[str, Any]) -> Turn | None:
    """Return the turn of a conversation that a recorded request is, None if it is none."""
    headers = {name.lower(): value for name, value in row["headers"].items()}
    route = route_of(row["method"], row["path"].partition("?")[0], headers)
    if route.operation != "turn":
        return None
    found = read_turn(route, headers, row["req"].read_bytes(), _MOST_BYTES)
    return found if isinstance(found, Turn) else None


def plain(row: Mapping[str, Any]) -> bytes:
    headers = {name.lower(): value for name, value in row["headers"].items()}
    body = row["req"].read_bytes()
    return unpack_body(body, headers.get("content-encoding", ""), _MOST_BYTES) or b""


def digests(body: bytes, row: Mapping[str, Any], without: int = 0) -> Iterator[bytes]:
    """Yield what the messages of a request say, part by part, all but the newest ones."""
    dialect = dialect_named(route_of("POST", row["path"].partition("?")[0], {}).wire.dialect)
    listed = split_list(split_object(body)[dialect.list_key])
    for one in listed[: len(listed) - without]:
        yield from said(dialect.decode([parse(one)], 0))


def said_in(messages: Sequence[Any], dialect: str) -> Iterator[bytes]:
    decode = dialect_named(dialect).decode
    for one in messages:
        yield from said(decode([parse(one.body)], one.position))


def said(messages: Sequence[Message]) -> Iterator[bytes]:
    """Yield what each part of messages says: agents put a request beside an older result. A
    summary of ours beside the words of a user is left out, and so is thinking: it must go if what
    it is bound to is folded.
    """
    for one in messages:
        alone = one if carried_summary(one) is None else without_summary(one)
        for part in alone.parts:
            if not isinstance(part, Thinking):
                yield digest(alone.with_parts((part,)))


def opened(store: Any, ref: str) -> Iterator[bytes]:
    """Yield what the messages behind a reference say."""
    for place in store.places(ref):
        first, end = place.reference.positions
        dialect = store.session(place.session_id).dialect
        yield from said_in(store.read(place.session_id, first, end), dialect)


# Printing

COLUMNS = ("requests", "compactions", "own", "refused", "foreign", "parts", "lost", "references",
           "dead", "hidden", "sessions")  # fmt: skip


def tried(
    names: Sequence[str], kinds: Sequence[str], options: Sequence[str], keep: Path | None
) -> int:
    """Run trials; return how many broke a promise."""
    print("| agent | trial | " + " | ".join(COLUMNS) + " | broken |")
    print("| --- | --- |" + " ---: |" * len(COLUMNS) + " --- |")
    faults = 0
    for name in names:
        for kind in kinds or TABLE.trials:
            known = TABLE.agents.get(name)
            if reason := known.skips.get(kind) if known else "is in no trial":
                print(f"| {name} | {kind} |" + " |" * len(COLUMNS) + f" {reason} |", flush=True)
                continue
            folder = keep / f"{name}-{kind}" if keep else Path(tempfile.mkdtemp())
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            found = asyncio.run(run(name, kind, folder, options))
            if keep:
                (folder / "found.json").write_text(json.dumps(found, indent=1))
            else:
                shutil.rmtree(folder)
            faults += bool(found["broken"])
            cells = [*(str(found[what]) for what in COLUMNS), "; ".join(found["broken"]) or "0"]
            print(f"| {name} | {kind} | {' | '.join(cells)} |", flush=True)
    return faults
