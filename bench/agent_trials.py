"""Trials of real agents through the gateway: it is killed, they resume, compact and delegate.

    python bench/agents.py --trials [NAME…] [--trial KIND…] [--keep FOLDER] [--check]

Each trial is one or two runs of an agent, between a recorder of what it sends and the strict stub,
and is judged by the bytes on both sides and by the store that the gateway leaves:

* refused: requests that the stub refused for a broken rule, except those that the agent broke
  itself (`foreign`: nothing was compacted, and the bytes are its own);
* lost: messages that the agent sent and that no log of the store has;
* dead: references in what was sent that do not lead to messages that the agent sent;
* hidden: messages of a request that neither stand in what was sent for it nor behind a reference.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from holdfast.dialects.jsontext import parse, split_list, split_object
from holdfast.dialects.registry import dialect_named
from holdfast.facts.frame import carried_summary, without_summary
from holdfast.gateway.asked import Turn, asked, unpacked
from holdfast.gateway.wires import route_of
from holdfast.sessions.matching import digest
from holdfast.stores.open import open_store
from holdfast.stores.values import SessionFilter
from holdfast.transcript import Message, Thinking

ROOT = Path(__file__).resolve().parent.parent
TOOLKIT = Path(os.environ.get("HOLDFAST_AGENTS", ROOT.parent / "shared" / "agents"))
WIDE = 100_000_000
"""A window in which the gateway never compacts."""
SHORTER = 0.6
"""A list that is so much shorter than the one before it was compacted by the agent, or is that of a
subagent."""
_MOST_BYTES = 64 << 20


# What is tried


@dataclass(frozen=True)
class Trial:
    """A kind of trial: so many steps in each run, in windows of so many tokens."""

    steps: tuple[int, ...]
    window: int = 0
    """Of the stub's models, beside what the agent always sends; the gateway knows it. 0: as it is
    with the stub, and the gateway believes it to be endless."""
    kills: tuple[int, ...] = ()
    """After the answers to these requests the gateway is killed, while it still writes."""
    cuts: tuple[int, ...] = ()
    """While these requests are being answered it is killed, if the agent asks again."""
    compactions: int = 0
    """The least that the gateway must have made."""


TRIALS = {
    "killed": Trial((150,), 32_000, kills=(20, 75, 76, 110), cuts=(50, 90), compactions=3),
    "resumed": Trial((50, 20), 20_000, compactions=1),
    "own": Trial((40,)),
    "subagent": Trial((16,)),
}


@dataclass(frozen=True)
class Habit:
    """What an agent needs for the trials; without a value a trial is skipped for its reason."""

    base: int
    """Tokens of its own prompt and tools."""
    resume: tuple[int, tuple[str, ...]] | str = "has no option to resume"
    """Where in its arguments which options go."""
    delegate: tuple[str, Mapping[str, Any]] | str = "has no subagents"
    """The tool that starts a subagent, and its arguments."""
    scale: float | str = "does not compact by itself"
    """By which usage is multiplied so that it believes its window to be full after half the run."""
    asks_again: bool = True
    """Whether it sends a request again if the answer breaks off."""
    script: Callable[[int], dict[str, Any]] = field(default=lambda _: {})
    """What the stub must do for it in so many steps."""
    instead: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Arguments in the place of some that the toolkit gives."""


def task(kind: str) -> dict[str, Any]:
    return {"description": "look at the files", "prompt": "Look at the files and report.",
            "subagent_type": kind}  # fmt: skip


def in_words(steps: int) -> dict[str, Any]:
    """Return a script for Cline, which calls tools in the text of its answers."""
    read = "<read_file>\n<path>src/module_{:02d}.py</path>\n</read_file>"
    run = ("<execute_command>\n<command>tail -n +{} big.log | head -c 6000</command>\n"
           "<requires_approval>false</requires_approval>\n</execute_command>")  # fmt: skip
    end = "<attempt_completion>\n<result>All done.</result>\n</attempt_completion>"
    return {"turns": 0, "side_texts": [(read, run)[at % 2].format(at % 60) for at in range(steps)]
            + [end]}  # fmt: skip


_PI = Habit(2_000, resume=(0, ("--continue",)), scale=9.0)
HABITS = {
    "claude": Habit(12_500, (0, ("--continue",)), ("Agent", task("general-purpose")), 30.0),
    "codex": Habit(10_000, (1, ("resume", "--last")), scale=9.0),
    "opencode": Habit(8_000, (1, ("--continue",)), ("task", task("general")), 9.0),
    "pi-chat": _PI,
    "pi-messages": replace(_PI, scale=7.0),
    "pi-responses": _PI,
    "goose": Habit(4_000,
        (1, ("--resume",)), ("delegate", {"instructions": "Look at the files and report."}), 50.0,
        asks_again=False, instead={"--no-session": ("--name", "trial")},
    ),
    "gemini": Habit(13_000, (0, ("--resume", "latest")), ("invoke_agent", {
        "agent_name": "generalist", "prompt": "Look at the files and report."}), 25.0,
        asks_again=False),
    "qwen": Habit(20_500, (0, ("--continue",)), ("agent", task("general-purpose")), 25.0),
    "copilot": Habit(12_500, (0, ("--continue",)), ("task", {
        "description": "look at the files", "prompt": "Look at the files and report.",
        "agent_type": "general-purpose", "name": "looker"}), 3.5),
    "cline": Habit(13_500, (0, ("--continue",)), scale=5.0, script=in_words),
    "hermes": Habit(15_000, (1, ("--continue",)), ("delegate_task", {
        "goal": "Look at the files and report.", "context": "a small project"}), 4.0),
    "mini": Habit(1_000),
    "llm": Habit(500, (0, ("--continue",)), asks_again=False),
}  # fmt: skip


# Running


def toolkit(name: str) -> Any:
    """Return a module of the toolkit."""
    if str(TOOLKIT) not in sys.path:
        sys.path.insert(0, str(TOOLKIT))
        sys.modules.pop("agents", None)
    return importlib.import_module(name)


class Gateway:
    """`holdfast serve` on one port and one store, as often as it is started."""

    def __init__(self, upstream: str, store: Path, window: int, options: Sequence[str]) -> None:
        self.port = toolkit("agents").free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = (
            sys.executable, "-m", "holdfast", "serve", "--port", str(self.port), "--upstream",
            upstream, "--store", str(store), *(("--window", str(window)) if window else ()),
            *options,
        )  # fmt: skip
        self._run: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        ours = {name: value for name, value in os.environ.items() if name != "HOLDFAST_AGENTS"}
        env = {**ours, "PYTHONPATH": str(ROOT / "src")}
        self._run = await asyncio.create_subprocess_exec(
            *self._command, env=env, stderr=asyncio.subprocess.PIPE
        )
        assert self._run.stderr is not None
        line = (await self._run.stderr.readline()).decode()
        assert "listening" in line, line

    async def kill(self) -> None:
        if self._run is not None and self._run.returncode is None:
            self._run.kill()
            await self._run.wait()

    async def stop(self) -> None:
        """End it as a service is ended: what it still writes is written."""
        if self._run is not None and self._run.returncode is None:
            self._run.terminate()
            await self._run.wait()


async def run(name: str, kind: str, folder: Path, options: Sequence[str]) -> dict[str, Any]:
    """Return the figures of one trial."""
    trial, habit = TRIALS[kind], HABITS[name]
    provider = toolkit("provider").Provider(folder / "provider")
    # in a thread of its own: the toolkit waits for its answers
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(provider.start(), loop))
    upstream = f"{provider.url}/c/{name}"
    window = trial.window + habit.base if trial.window else WIDE
    gateway = Gateway(upstream, folder / "store", window, options)
    front = front_of(gateway, provider.script, name, trial, habit, folder / "client")
    results: list[dict[str, Any]] = []
    await gateway.start()
    try:
        await front.start()
        for at, steps in enumerate(trial.steps):
            results.append(await start(name, kind, front.url, provider.url, folder, at, steps))
    finally:
        await front.stop()
        await gateway.stop()
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(provider.stop(), loop))
        loop.call_soon_threadsafe(loop.stop)
    found = judged(name, folder, results) | {"notes": dict(front.notes)}
    return found | {"broken": broken(trial, found)}


async def start(
    name: str, kind: str, base: str, provider: str, folder: Path, at: int, steps: int
) -> dict[str, Any]:
    """Run an agent once; the second time it resumes."""
    agents, habit = toolkit("agents"), HABITS[name]
    known = agents.AGENTS[name]

    def arguments(given: Any) -> list[str]:
        found = [one for was in known.start(given) for one in habit.instead.get(was, (was,))]
        if at and not isinstance(habit.resume, str):
            place, more = habit.resume
            found[place:place] = more
        given.script |= habit.script(steps)
        return found

    agents.AGENTS[name] = replace(known, start=arguments)
    try:
        return await agents.run_agent(
            name, base, prefix=agents.default_prefix(), turns=steps, home=folder / "home",
            prompt="Go on, look again" if at else agents.PROMPT,
            control=f"{provider}/_ctl/{name}", script=script_of(kind, habit), seconds=600,
        )  # fmt: skip
    finally:
        agents.AGENTS[name] = known


def script_of(kind: str, habit: Habit) -> dict[str, Any]:
    trial = TRIALS[kind]
    found: dict[str, Any] = {"window": trial.window + habit.base} if trial.window else {}
    if kind == "own":
        found |= {"usage_scale": habit.scale}
    if kind == "subagent" and not isinstance(habit.delegate, str):
        actions = toolkit("provider").ACTIONS
        found |= {"actions": [habit.delegate, *(actions[at % 3] for at in range(trial.steps[0]))]}
    return found


def front_of(
    gateway: Gateway, script: Callable[[str], Any], name: str, trial: Trial, habit: Habit, log: Path
) -> Any:
    """Return a recorder before the gateway that kills it as a trial wants it."""

    class Front(toolkit("relay").Relay):
        def __init__(self) -> None:
            super().__init__(gateway.url, log)
            self.asked, self.notes, self.is_up = 0, Counter[str](), asyncio.Event()
            self.is_up.set()

        async def handle(self, request: Any) -> Any:
            await self.is_up.wait()
            if route_of(request.method, request.path, {}).operation != "turn":
                return await super().handle(request)
            self.asked += 1
            number = self.asked
            if number in trial.cuts and habit.asks_again:
                script(name).silence = 1.0
                asyncio.get_running_loop().call_later(0.5, self.restart)
            try:
                answer = await super().handle(request)
                self.notes[answer.headers.get("x-holdfast", "")] += 1
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
            await gateway.kill()
            await gateway.start()
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
        listed = tuple(digests(turn.body, row))
        body = plain(upstream[row["rid"]])
        reach = set(digests(body, row))
        for ref in set(re.findall(rb"hf-[0-9a-f]{10}", body)):
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
    found = asked(route, headers, row["req"].read_bytes(), _MOST_BYTES)
    return found if isinstance(found, Turn) else None


def plain(row: Mapping[str, Any]) -> bytes:
    headers = {name.lower(): value for name, value in row["headers"].items()}
    body = row["req"].read_bytes()
    return unpacked(body, headers.get("content-encoding", ""), _MOST_BYTES) or b""


def digests(body: bytes, row: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield what the messages of a request say, part by part."""
    dialect = dialect_named(route_of("POST", row["path"].partition("?")[0], {}).wire.dialect)
    for one in split_list(split_object(body)[dialect.list_key]):
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


def skipped(name: str, kind: str) -> str:
    habit = HABITS[name]
    wanted = {"resumed": habit.resume, "own": habit.scale, "subagent": habit.delegate}.get(kind)
    return wanted if isinstance(wanted, str) else ""


def tried(
    names: Sequence[str], kinds: Sequence[str], options: Sequence[str], keep: Path | None
) -> int:
    """Run trials; return how many broke a promise."""
    heads = "agent, trial, requests, compactions, its own, parts, lost, references, dead, hidden"
    print("| " + heads.replace(", ", " | ") + " | sessions | broken |")
    print("| --- | --- |" + " ---: |" * 9 + " --- |")
    faults = 0
    for name in names:
        for kind in kinds or TRIALS:
            if reason := skipped(name, kind):
                print(f"| {name} | {kind} |" + " |" * 9 + f" skipped: {reason} |", flush=True)
                continue
            folder = keep / f"{name}-{kind}" if keep else Path(tempfile.mkdtemp())
            shutil.rmtree(folder, ignore_errors=True)
            found = asyncio.run(run(name, kind, folder, options))
            if keep:
                (folder / "found.json").write_text(json.dumps(found, indent=1))
            else:
                shutil.rmtree(folder)
            faults += bool(found["broken"])
            cells = [
                found[what]
                for what in (
                    "requests",
                    "compactions",
                    "own",
                    "messages",
                    "lost",
                    "references",
                    "dead",
                    "hidden",
                    "sessions",
                )
            ]
            print(f"| {name} | {kind} | " + " | ".join(map(str, cells))
                  + f" | {'; '.join(found['broken']) or '0'} |", flush=True)  # fmt: skip
    return faults
