"""Every adapter in its real framework, against a strict stub provider; one row for each.

    python tests/frameworks/run.py [NAME…] [--release newest|oldest] [--wire WIRE]
                                   [--strategy foldaway|STRATEGY] [--check] [--keep FOLDER]

Each framework has an environment of its own under .venv/frameworks, which is made if it is missing.
The stub comes with a toolkit outside this repository (FOLDAWAY_AGENTS, or ../shared/agents beside
the checkout); without it nothing can be played. frameworks.toml has the releases, scenario.toml the
conversation.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, convert, field

from foldaway.lab.scoring.facts import facts_in, is_present
from foldaway.sessions.rows import payloads
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOOLKIT = Path(os.environ.get("FOLDAWAY_AGENTS", ROOT.parent / "shared" / "agents"))
ENVIRONMENTS = ROOT / ".venv" / "frameworks"
PHASE_SECONDS = 240
"""The most that a phase may take; on two busy cores it takes 20."""
STORE = "sessions.db"
SCORED = ("sync", "async", "stream")
"""The phases that every strategy plays: their requests, tokens, bill, and facts at their end."""
CALLS = 26
"""The most of one phase."""
FOLDED = "checkpoint of module_00: code"
"""What the model reads first and recalls at the end."""


class Phase(Struct, frozen=True):
    """One process of the scenario; scenario.toml says what it does."""

    name: str
    mode: str
    say: str
    turns: int
    actions: list[list[Any]] = []
    parallel: int = 1
    """Calls in one answer."""
    stub_window: int = 0
    delegates: bool = False
    """Whether a subagent does the work; frameworks without one do not play it."""


class Scenario(Struct, frozen=True):
    """The conversation."""

    window: int
    fact: str
    phases: tuple[Phase, ...]


class Framework(Struct, frozen=True):
    """A framework as frameworks.toml has it."""

    newest: list[str]
    """What pip installs for the newest release."""
    oldest: list[str]
    wires: list[str]
    driver: str = ""
    """The script in drivers/, if it is not called as the framework."""
    tool: str = "read_file"
    """The tool that the model calls."""
    arguments: dict[str, str] = field(default_factory=lambda: {"path": "{path}"})
    """Its arguments."""
    finish: dict[str, str] = {}
    """The arguments by which it says that it is done, if text does not."""
    recall: list[list[Any]] = []
    """What it calls to recall, if not our tools."""
    window: int = 0
    """If its own prompts need a larger one than the scenario has."""
    compacts: bool = True
    """Whether the adapter does; otherwise the host does, and we keep what it drops."""
    delegate: list[Any] = []
    """The tool by which the agent starts a subagent, and its arguments."""
    python: str = ""
    """The program that makes its environment, if it needs a newer Python than ours."""


class Played(Struct):
    """What one run came to."""

    name: str
    wire: str
    release: str
    strategy: str
    requests: int = 0
    invalid: int = 0
    too_long: int = 0
    compactions: int = 0
    recalled: bool = False
    subagent: str = "–"
    """How often the session of the subagent was compacted, "mixed" if the parent's holds what the
    subagent read; "–" if there is none."""
    input_tokens: int = 0
    bill: float = 0.0
    facts: float = 0.0
    """The share of all facts that the last request of the third phase still has, by the lab's
    measure."""
    failed: str = ""

    @property
    def is_right(self) -> bool:
        """Whether an adapter did all that it must."""
        is_folded = self.compactions >= 3 and self.recalled and self.too_long >= 1
        is_folded = is_folded or not FRAMEWORKS[self.name].compacts
        is_apart = self.subagent not in ("0", "mixed")
        return not self.failed and not self.invalid and is_folded and is_apart


MODELS = {"chat": "gpt-5", "responses": "gpt-5", "messages": "claude-opus-5-5",
          "gemini": "gemini-2.5-pro"}  # fmt: skip
SCENARIO = convert(tomllib.loads((HERE / "scenario.toml").read_text()), Scenario)
FRAMEWORKS = convert(tomllib.loads((HERE / "frameworks.toml").read_text()), dict[str, Framework])


def main() -> int:
    """Play what the command line names; 1 if something was not right and that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--release", choices=("newest", "oldest"), action="append")
    parser.add_argument("--wire", choices=tuple(MODELS), action="append")
    parser.add_argument("--strategy", action="append", help="one that the driver knows")
    parser.add_argument("--program", action="store_true", help="that of docs/integrations.md")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    if not (TOOLKIT / "provider.py").exists():
        print(f"skipped: no stub provider at {TOOLKIT}; FOLDAWAY_AGENTS names another place")
        return 0
    rows: list[Played] = []
    if given.program:
        return run_programs(given.names, given.keep) * given.check
    for name in given.names or FRAMEWORKS:
        if not starts(wanted := FRAMEWORKS[name].python or sys.executable):
            print(f"| {name} | skipped: {wanted} does not start here |", flush=True)
            continue
        for release in given.release or ["newest", "oldest"]:
            for wire in given.wire or FRAMEWORKS[name].wires:
                for strategy in given.strategy or ["foldaway"]:
                    with folder(given.keep) as kept:
                        rows.append(played(name, release, wire, strategy, kept))
                    print(row_of(rows[-1]), flush=True)
    is_wrong = any(one.strategy == "foldaway" and not one.is_right for one in rows)
    return int(given.check and is_wrong)


def starts(python: str) -> bool:
    """Return whether a Python is here; pyenv has a command that only says that it is not."""
    found = shutil.which(python)
    return (
        found is not None
        and not subprocess.run([found, "--version"], capture_output=True, check=False).returncode
    )


def run_programs(names: list[str], keep: Path | None) -> int:
    """Run the programs of the page, two processes each; return whether one was not right."""
    sys.path.insert(0, str(ROOT))
    programs = importlib.import_module("tests.frameworks.programs")
    is_wrong = False
    for module, program in programs.read_programs().items():
        name = next((one for one in FRAMEWORKS if one.replace("-", "_") == module), module)
        if names and name not in names:
            continue
        python, version = environment_of(name, "newest")
        row = Played(name, "as written", version, f"{program.lines} lines")
        with folder(keep) as kept:
            with stub(kept / "log") as provider:
                script = importlib.import_module("provider").Script
                row.failed = programs.run_twice(
                    program, python, kept, provider, script, SCENARIO.window
                )
            judge(row, kept / "log")
            row.compactions = sum(count for count, _ in sessions_in(kept / "home" / "sessions"))
        print(row_of(row), flush=True)
        is_right = row.compactions and row.recalled and not (row.invalid or row.too_long)
        is_wrong |= bool(row.failed) or not is_right
    return int(is_wrong)


def row_of(row: Played) -> str:
    """Return a row of the table in docs/integrations.md."""
    return (
        f"| {row.name} | {row.release} | {row.wire} | {row.strategy} | {row.requests} "
        f"| {row.invalid} | {row.too_long} | {row.compactions} | {'yes' if row.recalled else 'no'} "
        f"| {row.subagent} | {row.facts:.0%} | {row.input_tokens:,} | {row.bill:.3f} "
        f"| {row.failed or 'ok'} |"
    )


@contextmanager
def folder(kept: Path | None) -> Iterator[Path]:
    """Yield a folder for one run."""
    if kept:
        kept.mkdir(parents=True, exist_ok=True)
        yield Path(tempfile.mkdtemp(dir=kept))
    else:
        with tempfile.TemporaryDirectory() as made:
            yield Path(made)


def environment_of(name: str, release: str) -> tuple[Path, str]:
    """Return the Python of a framework's environment, made if it is missing, and its release."""
    wanted = getattr(FRAMEWORKS[name], release)
    place = ENVIRONMENTS / f"{name}-{release}"
    stamp, python = place / "packages.txt", place / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != "\n".join(wanted):
        maker = FRAMEWORKS[name].python or sys.executable
        subprocess.run([maker, "-m", "venv", "--clear", str(place)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-e", str(ROOT), *wanted], check=True)
        stamp.write_text("\n".join(wanted))
    shown = [
        str(python),
        "-c",
        "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))",
    ]
    first = wanted[0].split("[")[0].split("=")[0].split(">")[0].split("<")[0].split("~")[0]
    found = subprocess.run([*shown, first], check=True, capture_output=True, text=True)
    return python, found.stdout.strip()


@contextmanager
def stub(log: Path) -> Iterator[Any]:
    """Yield the provider of the toolkit, in a thread."""
    sys.path.insert(0, str(TOOLKIT))
    provider = importlib.import_module("provider").Provider(log)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(provider.start(), loop).result()
    try:
        yield provider
    finally:
        asyncio.run_coroutine_threadsafe(provider.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def played(name: str, release: str, wire: str, strategy: str, kept: Path) -> Played:
    """Play all phases, and return what was seen at the stub and in the store."""
    python, version = environment_of(name, release)
    window = FRAMEWORKS[name].window or SCENARIO.window
    row = Played(name, wire, version, strategy)
    with stub(kept / "log") as provider:
        for phase in SCENARIO.phases:
            is_ours = strategy == "foldaway" and FRAMEWORKS[name].compacts
            if not is_ours and phase.name not in SCORED:
                continue
            if phase.delegates and not FRAMEWORKS[name].delegate:
                continue
            row.failed = played_phase(provider, phase, name, python, row, kept, window)
            if phase.delegates:
                row.subagent = subagent_in(kept / STORE, phase.name)
            if row.failed:
                break
    judge(row, kept / "log")
    row.compactions = compactions_in(kept / STORE)
    return row


def compactions_in(store: Path) -> int:
    """Return how often the sessions of a store were compacted; 0 if there is none."""
    return sum(count for count, _ in sessions_in(store))


def sessions_in(path: Path) -> list[tuple[int, str]]:
    """Return how often each session of a store was compacted, and all that it holds."""
    if not path.exists():
        return []
    with open_store(path) as store:
        found = store.sessions(SessionFilter(kind="any")).sessions
        read = [payloads(store.read(one.id)) for one in found]
    return [
        (one.compactions, "\n".join(texts_in(said))) for one, said in zip(found, read, strict=True)
    ]


def subagent_in(path: Path, phase: str) -> str:
    """Return how often the session of a phase's subagent was compacted; "mixed" if it has none of
    its own.
    """
    read = f"checkpoint of module_{first_file(phase):02d}: code"
    own = [(count, text) for count, text in sessions_in(path) if read in text]
    is_mixed = not own or any(FOLDED in text for _, text in own)
    return "mixed" if is_mixed else str(sum(count for count, _ in own))


def first_file(phase: str) -> int:
    """Return the number of the first file that a phase reads: none is read twice."""
    return CALLS * [one.name for one in SCENARIO.phases].index(phase)


def played_phase(
    provider: Any, phase: Phase, name: str, python: Path, row: Played, kept: Path,
    window: int = SCENARIO.window,
) -> str:  # fmt: skip
    """Play one phase in a process; return why it failed, "" if it did not."""
    script_type = importlib.import_module("provider").Script
    script = script_type(bill=provider.script(phase.name).bill)
    script.window, script.parallel = phase.stub_window or window, phase.parallel
    script.actions = actions_of(phase, FRAMEWORKS[name], script.final)
    script.turns = -(-len(script.actions) // phase.parallel)
    provider.scripts[phase.name] = script
    case = {
        "url": f"{provider.url}/c/{phase.name}", "wire": row.wire, "model": MODELS[row.wire],
        "folder": str(kept), "store": str(kept / STORE), "window": window, "mode": phase.mode,
        "say": phase.say, "strategy": row.strategy,
    }  # fmt: skip
    driver = HERE / "drivers" / f"{FRAMEWORKS[name].driver or name}.py"
    env = {**os.environ, "FOLDAWAY_HOME": str(kept / "home"), "PYTHONPATH": str(ROOT / "src")}
    try:
        ran = subprocess.run(
            [str(python), str(driver), json.dumps(case)], env=env, capture_output=True, text=True,
            timeout=PHASE_SECONDS, check=False, cwd=kept,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"{phase.name}: time-out"
    (kept / f"{phase.name}.err").write_text(ran.stderr)
    if ran.returncode:
        return f"{phase.name}: {(ran.stderr.strip() or 'failed').splitlines()[-1][:160]}"
    said = json.loads(ran.stdout.splitlines()[-1])["said"]
    return "" if script.final in said else f"{phase.name}: said {said!r}"[:160]


def actions_of(phase: Phase, framework: Framework, final: str) -> list[list[Any]]:
    """Return what the model calls, in turn."""

    def call(given: dict[str, str], **words: str) -> list[Any]:
        return [framework.tool, {name: one.format(**words) for name, one in given.items()}]

    first = first_file(phase.name)
    paths = [f"src/module_{first + at:02d}.py" for at in range(phase.turns * phase.parallel)]
    actions = phase.actions and (framework.recall or phase.actions)
    actions = actions or [call(framework.arguments, path=one) for one in paths]
    begun = [framework.delegate] if phase.delegates else []
    ended = [call(framework.finish, final=final)] if framework.finish else []
    return [*begun, *actions, *ended]


def judge(row: Played, log: Path) -> None:
    """Read what the stub logged."""
    seen, last, facts = list[int](), "", set[str]()
    for path in sorted(log.rglob("*.json"), key=lambda one: one.name):
        record = json.loads(path.read_text())
        if record.get("op") not in ("make", "refused"):
            continue
        rules = record.get("rules") or []
        row.too_long += "window" in rules
        row.invalid += bool(set(rules) - {"window"})
        said = path.with_suffix(".req").read_text()
        if record["name"] == "recall":
            seen.append(said.count(FOLDED))
        if record["name"] in SCORED:
            row.requests += 1
            row.input_tokens += (record.get("figures") or {}).get("total", 0)
            row.bill += record.get("cost") or 0.0
            last = "\n".join(texts_in(json.loads(said)))
            facts |= facts_in(last)
    # a search and the whole text, in one request; a later one may have it folded again
    row.recalled = bool(seen) and max(seen) >= seen[0] + 2
    row.facts = sum(is_present(last, one) for one in facts) / max(len(facts), 1)


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a request."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_in(one)


if __name__ == "__main__":
    sys.exit(main())
