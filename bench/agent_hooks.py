"""Real coding agents with `foldaway install`, without a gateway, against the stub provider.

    python bench/agents.py --hooks [claude codex qwen …] [--keep FOLDER] [--check]

Each agent gets a home of its own, `foldaway install` before its start, a session in which it
compacts by itself, and `foldaway uninstall` afterwards. What is judged is what arrived at the stub,
and the settings files: what nobody changed is as before, byte for byte, and nothing of ours is left
in the others. agent_hooks.toml says what is expected of each.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from agent_trials import ROOT, toolkit
from foldaway.agents.installing.programs import list_additions
from foldaway.agents.known import agent_named

PROMPT = "Look at the project and tell me what it does. Never edit the file secret_plan.txt."
RULE = "Never edit the file secret_plan.txt"
LONG = "head -c 28000 big.log"
FACTS, AFTER = "Facts from the log of this session", "Facts from this session before it was"
OUR_PROMPT = "write what no log says"
VIEW = re.compile(r"\[foldaway (digest|summary): ")
FOLDED = "[foldaway summary: reference only]"
SUPPLIED = re.compile(rf"<summary>\\n## Goal.{{0,200}}{RULE}")
ANY_REFERENCE = re.compile(rb"(?:original:|original at|recall) (fa-[0-9a-f]{10})")
REFERENCE = re.compile(rb"original: (fa-[0-9a-f]{10})")
ANSWER = re.compile(rb'Past material[^{}]{0,80}[\\\\"]+(?:hits|offered)|"message \d+: ')
RECALLED = re.compile(rb'Past material.{0,200}[\\\\"]+originals|"\[\{[\\\\]+"role')
OFFERED = re.compile(r"foldaway_(sessions_)?search")
IMPORT_SECONDS = 20.0
QUERY = {"query": "module"}


class Options(Struct, frozen=True):
    """Arguments in the place of as many, and others that are added."""

    at: int
    add: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()


class HookedAgent(Struct, frozen=True):
    """What is expected of an agent; agent_hooks.toml says what the fields mean."""

    client: str
    expects: tuple[str, ...]
    agent: str = ""
    plugin: str = ""
    scale: float = 1.0
    steps: int = 40
    search: str = ""
    arguments: dict[str, Any] = {}
    recall: str = ""
    options: Options | None = None
    env: dict[str, str] = {}
    script: dict[str, Any] = {}
    files: dict[str, tuple[str, str]] = {}
    trouble: Literal["", "absent", "killed"] = ""
    breaks: tuple[str, ...] = ()


TABLE = msgspec.toml.decode(
    Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, HookedAgent]
)


def openclaw(given: Any) -> list[str]:
    """Start OpenClaw, which the toolkit does not know: two turns, because its context engines see
    what was before a turn.
    """
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    model = {"id": "stub-model", "name": "stub", "api": "openai-completions", "reasoning": False,
             "input": ["text"], "cost": cost, "contextWindow": 200_000,
             "maxTokens": 8000}  # fmt: skip
    provider = {"baseUrl": f"{given.base}/v1", "apiKey": "dummy", "api": "openai-completions",
                "models": [model]}  # fmt: skip
    defaults = {"workspace": str(given.work), "skipBootstrap": True,
                "model": {"primary": "stub/stub-model"}}  # fmt: skip
    config = {"models": {"mode": "merge", "providers": {"stub": provider}},
              "agents": {"defaults": defaults}, "tools": {"profile": "coding"}}  # fmt: skip
    given.write(".openclaw/openclaw.json", json.dumps(config, indent=2) + "\n")
    node = toolkit("agents").default_prefix() / "node/node_modules/.bin"
    given.env["PATH"] = f"{node}:/usr/bin:/bin"
    turn = ["agent", "--local", "--json", "--session-key", "agent:main:trial", "--message"]
    given.first = [*turn, given.prompt]
    return [*turn, "Go on."]


def other_agents() -> list[str]:
    """Return the agents that are installed beside those of the toolkit, and make them known."""
    agents = toolkit("agents")
    agents.AGENTS["openclaw"] = agents.Agent(
        "OpenClaw", "chat", ("openclaw@2026.9.6",), "openclaw", openclaw
    )
    return ["openclaw"] if agents.find_binary(agents.default_prefix(), "openclaw") else []


def own_program(folder: Path) -> Path:
    """Return a `python` with this checkout behind it, and a `foldaway` beside it."""
    folder.mkdir(parents=True)
    base = Path(sys.prefix)
    if (base / "pyvenv.cfg").exists():
        shutil.copy(base / "pyvenv.cfg", folder)
        (folder / "lib").symlink_to(base / "lib")
    place = folder / "bin"
    place.mkdir()
    (place / "python").symlink_to(Path(sys.executable).resolve())
    script = place / "foldaway"
    path = ROOT / "src"
    # the toolkit ends what carries its mark; an import goes on after the agent
    start = f'unset AGENTS_RUN\nPYTHONPATH={path} exec {place}/python -m foldaway "$@"\n'
    script.write_text(f"#!/bin/sh\n{start}")
    script.chmod(0o755)
    return place / "python"


def foldaway(
    python: Path, home: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> str:  # fmt: skip
    usual = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src")}
    env = {**usual, **(env or {})}
    done = subprocess.run(
        [str(python), "-m", "foldaway", *arguments], env=env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"foldaway {' '.join(arguments)}: {done.stderr}{done.stdout}")
    return done.stdout


def settings_files(client: str, home: Path) -> list[Path]:
    additions = list_additions(agent_named(client), {"HOME": str(home), "PATH": os.environ["PATH"]})
    return list(dict.fromkeys(one.file for one in additions))


def contents(files: Sequence[Path]) -> dict[Path, bytes | None]:
    return {file: file.read_bytes() if file.exists() else None for file in files}


async def run(case: str, folder: Path) -> dict[str, Any]:
    """Return what was seen of one agent, and what was expected and is missing."""
    wanted, agents = TABLE[case], toolkit("agents")
    name = wanted.agent or case
    python, home = own_program(folder / "env"), folder / "home"
    files = settings_files(wanted.client, home)
    known = agents.AGENTS[name]
    before: dict[Path, bytes | None] = {}
    installed: dict[Path, bytes | None] = {}

    def arguments(given: Any) -> list[str]:
        found = list(known.start(given))
        given.env |= wanted.env
        if (more := wanted.options) is not None:
            stop = more.at + len(more.instead)
            found[more.at : stop] = [*more.instead, *more.add]
        for name, (old, new) in wanted.files.items():
            file = home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(file.read_text().replace(old, new) if file.exists() else new)
        before.update(contents(files))
        if wanted.plugin:
            given.env["PATH"] = (
                f"{python.parent}:{agents.node_path(agents.default_prefix())}:/usr/bin:/bin"
            )
            found = ["--plugin-dir", str(ROOT / wanted.plugin), *found]
        else:
            foldaway(
                python, home, "install", wanted.client, "--results", "1000", "--yes", env=wanted.env
            )
        installed.update(contents(files))
        if wanted.trouble == "absent":
            (python.parent / "foldaway").rename(python.parent / "gone")
        return found

    provider = toolkit("provider").Provider(folder / "provider")
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(provider.start(), loop))
    agents.AGENTS[name] = replace(known, start=arguments)
    stop = threading.Event()
    threading.Thread(
        target=complete_when_seen, args=(provider, name, wanted, folder, stop), daemon=True
    ).start()
    if wanted.trouble == "killed":
        threading.Thread(target=kill_when_seen, args=(home, stop), daemon=True).start()
    try:
        result = await agents.run_agent(
            name, f"{provider.url}/c/{name}", prefix=agents.default_prefix(), turns=wanted.steps,
            home=home, prompt=PROMPT, control=f"{provider.url}/_ctl/{name}",
            script={"usage_scale": wanted.scale, "actions": actions(wanted), **wanted.script},
            seconds=300,
        )  # fmt: skip
    finally:
        stop.set()
        agents.AGENTS[name] = known
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(provider.stop(), loop))
        loop.call_soon_threadsafe(loop.stop)
    seen = judged(wanted, folder / "provider" / name, python, home)
    changed = contents(files)
    foldaway(python, home, "uninstall", wanted.client, "--yes")
    faults = [f"no {one}" for one in wanted.expects if not seen[one]]
    faults += [f"{seen['invalid']} refused"] if seen["invalid"] else []
    faults += left_over(before, installed, changed, contents(files))
    if result["rc"]:
        faults.append(f"ended with {result['rc']}")
    return {**seen, "faults": faults}


def actions(wanted: HookedAgent) -> list[list[Any]]:
    """Return what the stub has the agent do: short steps, a long result, a search, a recall."""
    usual = toolkit("provider").ACTIONS
    found = [list(usual[at % len(usual)]) for at in range(wanted.steps)]
    found[3] = ["shell", LONG]
    if wanted.search:
        found[wanted.steps - 2] = [wanted.search, wanted.arguments or QUERY]
    return found


def complete_when_seen(
    provider: Any, name: str, wanted: HookedAgent, folder: Path, stop: threading.Event
) -> None:
    """Have the agent search by the tool's whole name, and recall a reference, once they arrived."""
    search = re.compile(rb'"([\w.-]*%s)"' % re.escape(wanted.search).encode())
    todo = {wanted.search: search, wanted.recall: ANY_REFERENCE}
    todo.pop("", None)
    while todo and not stop.wait(0.2):
        for file in sorted((folder / "provider" / name).glob("*.req")):
            for tool, pattern in list(todo.items()):
                if found := pattern.search(file.read_bytes()):
                    del todo[tool]
                    said, actions = found[1].decode(), provider.script(name).actions
                    if pattern is search:
                        actions[wanted.steps - 2] = [said, wanted.arguments or QUERY]
                    else:
                        actions[wanted.steps - 3] = [tool, {"ref": said}]


def kill_when_seen(home: Path, stop: threading.Event) -> None:
    """Kill the processes behind the plug-in of this home, some seconds after each one started."""
    while not stop.wait(4):
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                is_ours = f"HOME={home}".encode() in (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if is_ours and b"follow" in words:
                os.kill(int(entry.name), signal.SIGKILL)


def judged(wanted: HookedAgent, folder: Path, python: Path, home: Path) -> dict[str, Any]:
    """Return what arrived at the stub, which left it in a folder."""
    bodies = [file.read_bytes() for file in sorted(folder.glob("*.req"))]
    texts = [body.decode(errors="replace") for body in bodies]
    asked = [text for text in texts if FACTS in text]
    verdicts = [json.loads(file.read_bytes()) for file in folder.glob("*.json")]
    own = {"window", *wanted.breaks}
    return {
        "requests": len(texts),
        "invalid": sum(bool(set(one.get("rules") or ()) - own) for one in verdicts),
        "view": sum(VIEW.search(text) is not None for text in texts),
        "folded": sum(FOLDED in text for text in texts),
        "supplied": sum(SUPPLIED.search(text) is not None for text in texts),
        "facts": sum(RULE in text[text.index(FACTS) :] for text in asked),
        "prompt": sum(OUR_PROMPT in text for text in texts),
        "context": sum(AFTER in text and RULE in text[text.index(AFTER) :] for text in texts),
        "shortened": sum(REFERENCE.search(body) is not None for body in bodies),
        "offered": sum(OFFERED.search(text) is not None for text in texts),
        "searched": sum(ANSWER.search(body) is not None for body in bodies),
        "recalled": sum(RECALLED.search(body) is not None for body in bodies),
        "imported": imported(python, home),
    }  # fmt: skip


def imported(python: Path, home: Path) -> int:
    """Return how many messages our store has; the import goes on after the hook."""
    end = time.monotonic() + IMPORT_SECONDS
    while time.monotonic() < end:
        env = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(
            [str(python), "-m", "foldaway", "sessions", "list", "--json"], env=env,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        rows = json.loads(done.stdout or "{}").get("sessions", ())
        if rows:
            return max(row["messages"] for row in rows)
        time.sleep(0.5)
    return 0


def left_over(
    before: Mapping[Path, bytes | None], installed: Mapping[Path, bytes | None],
    changed: Mapping[Path, bytes | None], after: Mapping[Path, bytes | None],
) -> list[str]:  # fmt: skip
    """Return the files that are not as before, or have something of ours."""
    faults: list[str] = []
    for file, data in after.items():
        if installed[file] == changed[file] and data != before[file]:
            faults.append(f"{file.name} is not as before")
        if data is not None and re.search(rb"foldaway['\"]? (hook|mcp|statusline)", data):
            faults.append(f"{file.name} still has something of ours")
    return faults


COLUMNS = ("requests", "invalid", "view", "folded", "supplied", "facts", "prompt", "context",
           "shortened", "offered", "searched", "recalled", "imported")  # fmt: skip


def hooked(names: Sequence[str], keep: Path | None) -> int:
    """Run agents; return how many did not show what is expected."""
    print("| agent | " + " | ".join(COLUMNS) + " | broken |")
    print("| --- |" + " ---: |" * len(COLUMNS) + " --- |")
    broken = 0
    for name in [one for one in TABLE if one in names or TABLE[one].agent in names]:
        folder = keep / f"{name}-hooks" if keep else Path(tempfile.mkdtemp())
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        found = asyncio.run(run(name, folder.resolve()))
        if not keep:
            shutil.rmtree(folder)
        broken += bool(found["faults"])
        cells = [str(found[one]) for one in COLUMNS]
        print(f"| {name} | {' | '.join(cells)} | {'; '.join(found['faults']) or '0'} |", flush=True)
    return broken
