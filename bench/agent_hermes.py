"""Foldaway as the context engine of the real Hermes, beside its own, against the stub provider.

    python bench/agents.py --engine [TRIAL…] [--keep FOLDER] [--check]

Each trial of agent_hermes.toml has a home of its own, `foldaway install hermes` before the start
and `foldaway uninstall hermes` at the end. All run the same script: Hermes runs ten checks that
fail, reads modules or a log, and then calls commands that need what the checks said. What is
judged is what arrived at the stub: requests that it refuses, the bill, and how many of the facts
that are needed later the model still sees when the first of those commands is due, by the measure
of the lab (`foldaway.lab.scoring`, against a run of the same script that never compacts).

Hermes' own engine has a model write its summaries. The stub is no model: it writes two lines
(`own`), or all that is needed later (`own-best`). What a real model keeps is between the two.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from agent_hooks import contents, foldaway, own_program, settings_files
from agent_trials import REFERENCE, ROOT, toolkit
from foldaway._core.report import Report
from foldaway.lab.scoring.needed import Elsewhere, prepare
from foldaway.lab.scoring.score import case_at, score
from foldaway.lab.scoring.session import JudgedView, LabSession, render_all, without_system
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter
from foldaway.transcript import estimate_text

AGENT = "hermes"
PROMPT = "Run check.py for regions 0 to 9, read the modules, then repair them. Never edit big.log."
QUESTION = "Which locks are held?"
AGAIN = "Go on with the lock kestrel_03."
FACTS, LONG, USES = 10, 26, 10
"""Steps of the script: checks, modules, commands that need what the checks said."""
SETTINGS = """\
# mine: keep this comment
model:
  default: stub-model
  provider: custom
  base_url: "{base}/v1"   # the stub
  api_key: dummy
  context_length: {window}
compression:
  in_place: {in_place}
plugins:
  enabled: []
memory:
  provider: {memory}
"""
WRITES = """\
auxiliary:
  compression: {{provider: custom, model: {model}, base_url: "{base}/v1", api_key: dummy}}
"""
WRITER = "stub-writer"
FINDING = "The first blocker was the lock kestrel_00.lck, which process 70001 never gave back."
INVENTED = "The lock was put there by /opt/kestrel/janitor.sh."
"""What the model of `auxiliary.compression` writes: what the checks bear out, and what they do
not."""
DYING = """\
import os, signal
from foldaway.agents.hermes_plugin import FoldawayEngine

class Dying(FoldawayEngine):
    def compress(self, messages, **given):
        found = super().compress(messages, **given)
        if self._last_compression_made_progress and os.environ.get("TRIAL_KILL") == "compress":
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    def on_session_start(self, session_id, **details):
        if details.get("boundary_reason") and os.environ.get("TRIAL_KILL") == "boundary":
            os.kill(os.getpid(), signal.SIGKILL)
        super().on_session_start(session_id, **details)

def register(ctx):
    ctx.register_context_engine(Dying())
"""


class EngineTrial(Struct, frozen=True):
    """A trial; agent_hermes.toml says what its fields mean."""

    engine: Literal["foldaway", "compressor"] = "foldaway"
    in_place: bool = True
    reads: Literal["modules", "log"] = "modules"
    window: int = 64_000
    long: int = LONG
    threshold: float = 0.0
    writes: bool = False
    focus: str = ""
    delegates: bool = False
    kill: str = ""
    resumes: bool = False
    remembers: bool = False
    summary: Literal["little", "all"] = "little"
    compactions: int = 0
    automatic: int = 0


TABLE = msgspec.toml.decode(
    Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, EngineTrial]
)


CHECK = """\
import sys
number = int(sys.argv[1])
for name in ("disk", "clock", "certificate", "queue"):
    print(f"ok {name} of region {number}")
lock, holder = f"/var/lock/kestrel_{number:02d}.lck", 70_001 + 613 * number
raise OSError(f"port {41_003 + 97 * number} refused, {lock} is held by process {holder}")
"""


def read_command(trial: EngineTrial, number: int) -> str:
    """Return a look at three modules, or at the next page of the log: about as long."""
    if trial.reads == "log":
        return f"sed -n {85 * number + 1},{85 * number + 85}p big.log"
    modules = (f"src/module_{(3 * number + at) % 60:02d}.py" for at in range(3))
    return f"cat {' '.join(modules)}"


def fact(number: int) -> str:
    return (f"region {number}: port {41_003 + 97 * number} refused, /var/lock/kestrel_{number:02d}"
            f".lck held by process {70_001 + 613 * number}")  # fmt: skip


def use(number: int) -> str:
    port, process = 41_003 + 97 * number, 70_001 + 613 * number
    return f"grep -c {port} big.log; ls {lock(number)}; ls -d /proc/{process}"


def lock(number: int) -> str:
    return f"/var/lock/kestrel_{number:02d}.lck"


def actions(trial: EngineTrial) -> list[list[Any]]:
    """Return what the stub has Hermes do; a subagent runs at the same time and takes its part."""
    long = 2 * LONG if trial.delegates else trial.long
    found: list[list[Any]] = [["shell", f"python3 check.py {at}"] for at in range(FACTS)]
    found += [["shell", read_command(trial, at)] for at in range(long)]
    found += [["shell", use(at)] for at in range(USES)]
    if trial.delegates:
        task = {"goal": "Look at the log and report.", "context": "a small project"}
        found.insert(0, ["delegate_task", task])
    return found


def make_site(folder: Path, *, is_dying: bool) -> None:
    """Make a folder with what `pip install 'foldaway[hermes]'` adds to Hermes' environment."""
    folder.mkdir(parents=True)
    wanted = importlib.metadata.requires("foldaway") or []
    names = [re.split(r"[^\w-]", one)[0] for one in wanted if "extra ==" not in one]
    for name in names:
        one = importlib.metadata.distribution(name)
        if name in ("click", "rich"):  # Hermes has them
            continue
        for top in {file.parts[0] for file in one.files or () if file.parts[0] != ".."}:
            place = folder / top
            if not place.exists():
                place.symlink_to(Path(str(one.locate_file(top))))
    (folder / "foldaway").symlink_to(ROOT / "src" / "foldaway")
    version = importlib.metadata.version("foldaway")
    info = folder / f"foldaway-{version}.dist-info"
    info.mkdir()
    about = f"Metadata-Version: 2.1\nName: foldaway\nVersion: {version}\n"
    (info / "METADATA").write_text(about)
    module = "dying" if is_dying else "foldaway.agents.hermes_plugin"
    (info / "entry_points.txt").write_text(f"[hermes_agent.plugins]\nfoldaway = {module}\n")
    (folder / "dying.py").write_text(DYING)


async def run(name: str, folder: Path, whole: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what was seen in a trial, and what was expected and is missing."""
    trial = TABLE[name]
    make_site(folder / "site", is_dying=bool(trial.kill))
    provider = toolkit("provider").Provider(folder / "provider")
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(provider.start(), loop))
    home = folder / "home"
    python = own_program(folder / "env")
    files = settings_files(AGENT, home)
    before: dict[Path, bytes | None] = {}
    results: list[Any] = []
    steps = len(actions(trial))
    try:
        results.append(await start(trial, folder, provider.url, python, before))
        if trial.resumes or trial.remembers:
            results.append(await start(trial, folder, provider.url, python, before, again=True))
    finally:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(provider.stop(), loop))
        loop.call_soon_threadsafe(loop.stop)
    found = judged(trial, folder, whole) | {"ended": [one["rc"] for one in results], "steps": steps}
    found["seconds"] = round(sum(one["seconds"] for one in results))
    if trial.engine == "foldaway":
        foldaway(python, home, "uninstall", AGENT, "--yes")
        found["restored"] = contents(files) == before
    return found | {"broken": broken(trial, found)}


async def start(
    trial: EngineTrial, folder: Path, provider: str, python: Path,
    before: dict[Path, bytes | None], *, again: bool = False,
) -> Any:  # fmt: skip
    """Start Hermes once; the second time it resumes, and recalls a reference of before."""
    agents, home = toolkit("agents"), folder / "home"
    is_typed = bool(trial.focus) and not again
    known = agents.AGENTS[AGENT]
    program = str(agents.find_binary(agents.default_prefix(), AGENT))

    def arguments(given: Any) -> list[str]:
        settings = given.home / ".hermes" / "config.yaml"
        was = settings.read_bytes() if again else b""
        found = list(known.start(given))
        given.env |= {"PYTHONPATH": str(folder / "site"), "TRIAL_KILL": "" if again else trial.kill}
        if not again:
            prepare_home(trial, given, python, before)
        if again:
            settings.write_bytes(was)
            found[1:1] = ["--continue"] if trial.resumes else []
        if is_typed:
            typed = [["❯", PROMPT], ["All done", f"/compress {trial.focus}"],
                     ["Compressed:", QUESTION], ["All done", "/exit"]]  # fmt: skip
            hermes = [program, "chat", "--yolo", "--max-turns", str(len(wanted) + 20)]
            return [str(ROOT / "bench" / "terminal.py"), json.dumps(typed), *hermes]
        return found

    chosen = replace(known, start=arguments)
    wanted = actions(trial)
    if again and trial.remembers:
        wanted = [["foldaway_sessions_search", {"query": "kestrel_03"}]]
    elif again:
        refs = REFERENCE.findall(turns(folder)[-1])
        wanted = [["foldaway_recall", {"ref": one.decode()}] for one in dict.fromkeys(refs[:1])]
        wanted += [["foldaway_search", {"text": "kestrel_03"}], ["shell", use(3)]]
    script = {"turns": len(wanted), "actions": wanted, "summary": summary(trial), "calls": 0,
              "side_text": summary(trial)}  # fmt: skip
    agents.AGENTS[AGENT] = replace(chosen, binary="python") if is_typed else chosen
    try:
        return await agents.run_agent(
            AGENT, f"{provider}/c/{AGENT}", prefix=agents.default_prefix(), turns=len(wanted),
            home=home, prompt=AGAIN if again else PROMPT, seconds=600, script=script,
            control=f"{provider}/_ctl/{AGENT}",
        )  # fmt: skip
    finally:
        agents.AGENTS[AGENT] = known


def prepare_home(
    trial: EngineTrial, given: Any, python: Path, before: dict[Path, bytes | None]
) -> None:
    (given.work / "check.py").write_text(CHECK)
    in_place = str(trial.in_place).lower()
    if trial.threshold:
        in_place += f"\n  threshold: {trial.threshold}\n  target_ratio: 0.1\n  protect_last_n: 4"
        given.write(".config/foldaway/config.toml", '[compression]\nsave = "off"\n')
    written = WRITES.format(base=given.base, model=WRITER) if trial.writes else ""
    given.write(".hermes/config.yaml", written + SETTINGS.format(
        base=given.base, window=trial.window, in_place=in_place,
        memory="foldaway" if trial.remembers else "''",
    ))  # fmt: skip
    before.update(contents(settings_files(AGENT, given.home)))
    if trial.engine == "foldaway":
        foldaway(python, given.home, "install", AGENT, "--yes")


def summary(trial: EngineTrial) -> str:
    if trial.writes:
        told = (("critical", FINDING, "m2"), ("decisions", INVENTED, ""))
        names = ("section", "text", "source")
        return json.dumps({"entries": [dict(zip(names, row, strict=True)) for row in told]})
    if trial.summary == "little":
        return "## Active Task\nThe user asked for checks of all regions. It goes on."
    return "## Critical Context\n" + "\n".join(map(fact, range(FACTS)))


# Judging


def turns(folder: Path) -> list[bytes]:
    """Return the requests of the conversation that arrived at the stub, in order."""
    rows = toolkit("judge").records(folder / "provider" / AGENT)
    return [row["req"].read_bytes() for row in rows if row.get("tools")]


def listed(body: bytes) -> list[dict[str, Any]]:
    return json.loads(body)["messages"]


def judged(trial: EngineTrial, folder: Path, whole: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of a trial from what arrived at the stub, and from the store."""
    stub = toolkit("judge").judged(folder / "provider" / AGENT)
    bodies = turns(folder)
    answers = "".join(tool_results(listed(bodies[-1]))) if bodies else ""
    return {
        "requests": stub["requests"], "summaries": stub["requests"] - len(bodies),
        "refused": stub["invalid"], "first_fault": stub["first_fault"],
        "largest": stub["largest_tokens"], "bill": stub["bill"],
        "compactions": sum(map(shrinks, agents_of(bodies).values())),
        "written": bool(bodies) and is_written(folder, bodies),
        "focused": bool(bodies) and all(lock(at).encode() in bodies[-1] for at in range(FACTS)),
        "kept": kept_share(bodies, whole) if whole and not trial.delegates else None,
        "remembered": b"From past sessions" in b"".join(bodies) and '"hits"' in answers,
        "recalled": '"result"' in answers and "kestrel_" in answers, **sessions_of(folder),
    }  # fmt: skip


def is_written(folder: Path, bodies: Sequence[bytes]) -> bool:
    """Return whether the model of Hermes' settings was asked, and what it found out is in the last
    request of the work and in the last of all, and nothing that it invented is in any.
    """
    before = [body for body in bodies if QUESTION.encode() not in body]
    rows = toolkit("judge").records(folder / "provider" / AGENT)
    is_asked = any(row.get("model") == WRITER and not row.get("tools") for row in rows)
    is_invented = any(INVENTED.encode() in body for body in bodies)
    return (
        is_asked
        and all(FINDING.encode() in body for body in (before[-1], bodies[-1]))
        and not is_invented
    )


def agents_of(bodies: Sequence[bytes]) -> dict[int, list[int]]:
    """Return how long the lists of each agent were; a subagent has fewer tools."""
    found: dict[int, list[int]] = {}
    for body in map(json.loads, bodies):
        found.setdefault(len(body["tools"]), []).append(len(body["messages"]))
    return found


def shrinks(lengths: Sequence[int]) -> int:
    return sum(after < was for was, after in pairwise(lengths))


def tool_results(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    return (str(one["content"]) for one in messages if one["role"] == "tool")


def kept_share(bodies: Sequence[bytes], whole: Sequence[Mapping[str, Any]]) -> float | None:
    """Return how many of the facts that are needed from the first use on the model sees then."""
    first = use(0)
    at = next((at for at, body in enumerate(bodies) if first.encode() in body), None)
    said = without_system([dict(one) for one in whole])
    cut = next((at for at, one in enumerate(said) if first in json.dumps(one)), None)
    if not at or cut is None:
        return None
    session = LabSession(id="whole", family=AGENT, project=AGENT, messages=said)
    case = case_at(prepare(session), cut, Elsewhere(frozenset(), frozenset()))
    text = render_all(without_system(listed(bodies[at - 1])))
    return score(case, JudgedView(text=text, tokens=estimate_text(text))).rates["recall"]


def sessions_of(folder: Path) -> dict[str, Any]:
    place = folder / "home" / ".hermes" / "foldaway" / "sessions"
    if not place.exists():
        return {"sessions": 0, "lineages": 0, "subagents": 0, "automatic": 0}
    store = open_store(place)
    infos = store.sessions(SessionFilter(kind="any"), most=500).sessions
    made = {one.kind: max(two.compactions for two in infos if two.kind == one.kind)
            for one in infos}  # fmt: skip
    views = [view for one in infos for view in store.views(one.id, lean=True) if view.report]
    reports = [msgspec.json.decode(view.report, type=Report) for view in views]
    found = {
        "automatic": sum(one.urgency in AUTOMATIC for one in reports),
        "reports": [
            (one.urgency, one.prompt_tokens, one.tokens_after, one.folded, one.summary_source.name)
            for one in reports
        ],
        "sessions": len(infos), "lineages": len({one.root_id for one in infos}),
        "subagents": sum(one.kind == "subagent" for one in infos),
        "compactions": sum(made.values()),
    }  # fmt: skip
    store.close()
    return found


def broken(trial: EngineTrial, found: Mapping[str, Any]) -> list[str]:
    """Return the promises that were not kept."""
    faults = [f"{found['refused']} refused: {found['first_fault']}"] if found["refused"] else []
    if found["compactions"] < trial.compactions:
        faults.append(f"{found['compactions']} compactions")
    expected = [-9, 0] if trial.kill else [0] * len(found["ended"])
    if found["ended"] != expected:
        faults.append(f"ended with {found['ended']}")
    if trial.engine == "compressor":
        return faults
    if found["automatic"] < trial.automatic:
        faults.append(f"{found['automatic']} automatic compactions")
    if trial.threshold and not is_threshold_kept(trial, found["reports"]):
        faults.append(f"compacted at another size: {found['reports']}")
    if trial.writes and not found["written"]:
        faults.append("what the model found out is not in the record")
    if not found["restored"]:
        faults.append("the settings are not as before")
    if trial.resumes and not found["recalled"]:
        faults.append("nothing was recalled")
    if trial.remembers and not found["remembered"]:
        faults.append("nothing was remembered")
    if found["lineages"] != 1 + trial.remembers:
        faults.append(f"{found['lineages']} conversations")
    if trial.focus and not found["focused"]:
        faults.append("what the focus asks for is not seen")
    if trial.delegates and not found["subagents"]:
        faults.append("no subagent")
    return faults


def is_threshold_kept(trial: EngineTrial, reports: Sequence[Sequence[Any]]) -> bool:
    """Return whether each automatic compaction came at the threshold of Hermes' settings, within a
    step."""
    size = int(trial.threshold * trial.window)
    sizes = [tokens for urgency, tokens, *_ in reports if urgency in AUTOMATIC]
    return all(size <= tokens < 1.1 * size for tokens in sizes)


WHOLE = {"modules": "whole", "log": "whole-log"}
AUTOMATIC = ("early", "soft", "hard")
"""How urgent a compaction is that nobody asked for."""
COLUMNS = ("requests", "summaries", "compactions", "automatic", "refused", "largest", "bill",
           "kept", "recalled", "sessions", "lineages", "seconds")  # fmt: skip


def tried(names: Sequence[str], keep: Path | None) -> int:
    """Run trials; return how many broke a promise."""
    print("| trial | " + " | ".join(COLUMNS) + " | broken |")
    print("| --- |" + " ---: |" * len(COLUMNS) + " --- |")
    faults, wholes = 0, dict[str, list[Mapping[str, Any]]]()
    chosen = list(names or TABLE)
    firsts = {WHOLE[TABLE[name].reads]: None for name in chosen}
    for name in dict.fromkeys([*firsts, *chosen]):
        folder = (keep / f"engine-{name}" if keep else Path(tempfile.mkdtemp())).resolve()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        reads = TABLE[name].reads
        found = asyncio.run(run(name, folder, wholes.get(reads, [])))
        if name in firsts:
            wholes[reads] = listed(turns(folder)[-1])
        if keep:
            (folder / "found.json").write_text(json.dumps(found, indent=1))
        else:
            shutil.rmtree(folder)
        faults += bool(found["broken"])
        cells = [shown(found[one]) for one in COLUMNS]
        print(f"| {name} | {' | '.join(cells)} | {'; '.join(found['broken']) or '0'} |", flush=True)
    return faults


def shown(value: Any) -> str:
    match value:
        case None | False:
            return "–"
        case float():
            return f"{value:.2f}"
        case _:
            return f"{value:,}" if value is not True else "yes"
