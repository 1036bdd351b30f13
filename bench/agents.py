"""Real coding agents, unmodified, through the gateway and directly, against a strict stub provider.

    python bench/agents.py                              all agents that are installed, 40 steps
    python bench/agents.py claude codex --steps 150 --window 60000
    python bench/agents.py --script '{"say_chars": 4000}' --serve "--log requests"
    python bench/agents.py --trials --trial killed      what the gateway must withstand
    python bench/agents.py --runs --steps 8             started by `foldaway run`
    python bench/agents.py --hooks claude codex         `foldaway install` instead of the gateway
    python bench/agents.py --engine                     inside Hermes, see agent_hermes.py
    python bench/agents.py --check                      exit code 1 if a promise is broken

`--script` is merged into the stub's script (its `Script` lists all settings: window, actions, …),
`--serve` adds options to `foldaway serve`.

The agents and the stub come with a toolkit outside this repository (FOLDAWAY_AGENTS, or
../shared/agents beside the checkout); it installs them with `agents.py install NAME…`. The stub
refuses what the providers refuse, simulates their prompt caches, and keeps a bill by list prices.
A promise is broken if the stub refused a request that came through the gateway, if an agent that
ends well directly fails through it, or if its bill is higher then.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import agent_hermes
import agent_hooks
import agent_runs
import agent_trials
from agent_trials import ROOT, TOOLKIT

NOT_RUN = ("mini", "llm")
"""Agents that `foldaway run` does not know."""
TOLERANCE = 1.01
"""Of the bill: agents put times and paths into their prompts, so two runs differ a little."""


def installed() -> list[str]:
    lines = toolkit("list").splitlines()
    return [line.split()[0] for line in lines if " installed " in line]


def toolkit(*arguments: str, check: bool = True) -> str:
    command = [sys.executable, str(TOOLKIT / "agents.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def drive(
    name: str, steps: int, script: Mapping[str, Any], log: Path, gateway: str = ""
) -> dict[str, Any]:
    """Return the figures of one agent's run."""
    through = ["--gateway", gateway, "--relay"] if gateway else []
    text = toolkit(
        "drive", name, "--turns", str(steps), "--script", json.dumps(script), "--log", str(log),
        "--json", *through, check=False,
    )  # fmt: skip
    return json.loads(text)[0] if text.strip() else {"rc": "no answer", "requests": 0}


def gateway_command(store: Path, window: int, options: str) -> str:
    size = f" --window {window}" if window else ""
    program = f"{shlex.quote(sys.executable)} -m foldaway serve"
    return f"env PYTHONPATH={ROOT / 'src'} {program} --port {{port}} --upstream {{upstream}}" \
           f" --store {store}{size} {options}"  # fmt: skip


def faults(direct: dict[str, Any], through: dict[str, Any]) -> list[str]:
    """Return the promises that were broken."""
    found: list[str] = []
    if through.get("invalid"):
        found.append(f"{through['invalid']} refused: {through.get('first_fault')}")
    if direct["rc"] == 0 and through["rc"] != 0:
        found.append(f"ended with {through['rc']}")
    both = direct["rc"] == 0 and through["rc"] == 0
    if both and through["bill"] > TOLERANCE * direct["bill"]:
        found.append("a higher bill")
    return found


def row(name: str, direct: dict[str, Any], through: dict[str, Any], broken: list[str]) -> str:
    def ended(one: dict[str, Any]) -> str:
        return f"{one['requests']} requests" + ("" if one["rc"] == 0 else ", then it gave up")

    both = direct["rc"] == 0 and through["rc"] == 0
    ratio = f"{through['bill'] / direct['bill']:.2f}" if both and direct["bill"] else "–"
    largest = f"{direct.get('largest_tokens', 0):,} | {through.get('largest_tokens', 0):,}"
    bills = f"{direct.get('bill', 0):.2f} | {through.get('bill', 0):.2f} | {ratio}"
    return (f"| {name} | {ended(direct)} | {ended(through)} | {largest} | {bills} | "
            f"{'; '.join(broken) or '0'} |")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--window", type=int, default=0, help="of the stub's models, in tokens")
    parser.add_argument("--script", type=json.loads, default={}, help="for the stub, in JSON")
    parser.add_argument("--serve", default="", help="further options of foldaway serve")
    parser.add_argument("--trials", action="store_true", help="see agent_trials.py")
    parser.add_argument("--trial", action="append", choices=agent_trials.TABLE.trials, default=[])
    parser.add_argument("--runs", action="store_true", help="see agent_runs.py")
    parser.add_argument("--hooks", action="store_true", help="see agent_hooks.py")
    parser.add_argument("--engine", action="store_true", help="see agent_hermes.py")
    parser.add_argument("--keep", type=Path, help="a folder for what the trials leave")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if not (TOOLKIT / "agents.py").is_file():
        print("the toolkit of agents is not here; name its folder in FOLDAWAY_AGENTS")
        return 0
    if given.runs:
        names = [one for one in given.names or installed() if one not in NOT_RUN]
        count = agent_runs.tried(names, given.steps, given.keep)
        return 1 if count and given.check else 0
    if given.engine:
        count = agent_hermes.tried(given.names, given.keep) if "hermes" in installed() else 0
        return 1 if count and given.check else 0
    if given.hooks:
        others = agent_hooks.other_agents()
        count = agent_hooks.hooked(given.names or [*installed(), *others], given.keep)
        return 1 if count and given.check else 0
    if given.trials or given.trial:
        names, options = given.names or installed(), shlex.split(given.serve)
        count = agent_trials.tried(names, given.trial, options, given.keep)
        return 1 if count and given.check else 0
    print("| agent | directly | through | largest prompt | through | bill, $ | through | ratio | "
          "broken |")  # fmt: skip
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    script = ({"window": given.window} if given.window else {}) | given.script
    broken: list[str] = []
    for name in given.names or installed():
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder)
            command = gateway_command(log / "store", given.window, given.serve)
            direct = drive(name, given.steps, script, log / "direct")
            through = drive(name, given.steps, script, log / "through", command)
        found = faults(direct, through)
        broken += found
        print(row(name, direct, through, found), flush=True)
    return 1 if broken and given.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
