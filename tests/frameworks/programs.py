"""The programs of docs/integrations.md: each is run as it is there, in its framework, twice.

The first process reads more than the window holds. The second has nothing but the store: it
searches what the first one read, and recalls the place that it found.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from tests.frameworks.playing import read_file

from foldaway.config import open_store
from foldaway.sessions import payloads
from foldaway.stores import SessionFilter

ROOT = Path(__file__).resolve().parents[2]
FOLDED = "checkpoint of module_00: code"
READS = 26
SAYS = ("Read every module and tell me what is wrong.", "What did module_00 say?")


class Program(Struct, frozen=True):
    """A program of the page."""

    name: str
    source: str

    @property
    def lines(self) -> int:
        """How many lines have code."""
        return sum(bool(line.strip()) for line in self.source.splitlines())

    def with_window(self, tokens: int) -> str:
        """Return it with a window for the adapter: its models have larger ones than is tried."""
        (call,) = re.findall(r"\bFoldaway\w+\([^()]*\)", self.source)
        given = f"context_length={tokens:_})"
        return self.source.replace(call, call[:-1] + ("" if call.endswith("()") else ", ") + given)


def read_programs() -> Mapping[str, Program]:
    """Return the programs of the page by the module of their adapter."""
    page = (ROOT / "docs" / "integrations.md").read_text()
    found = [Program("", text) for text in re.findall(r"^```py\n(.*?)^```$", page, re.M | re.S)]
    return {name: Program(name, one.source) for one in found for name in adapters_of(one.source)}


def adapters_of(source: str) -> Mapping[str, list[str]]:
    """Return the adapters that a program imports, with the names that it takes of each."""
    return {
        node.module.rpartition(".")[2]: [one.name for one in node.names]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("foldaway.")
        if node.module
    }


def run_twice(
    program: Program, python: Path, kept: Path, provider: Any, script_of: Any, window: int
) -> str:
    """Run a program in two processes; return why it failed, "" if it did not."""
    (kept / "src").mkdir()
    for at in range(READS):
        path = kept / "src" / f"module_{at:02d}.py"
        path.write_text(read_file(str(path)))
    (kept / "program.py").write_text(program.with_window(window))
    reads = [["read_file", {"path": f"src/module_{at:02d}.py"}] for at in range(READS)]
    for phase, say in zip(("sync", "recall"), SAYS, strict=True):
        actions = reads if phase == "sync" else recall_actions(kept / "home")
        script = script_of(actions=actions, turns=len(actions), window=window)
        provider.scripts[phase] = script
        url = f"{provider.url}/c/{phase}/v1"
        env = {
            **os.environ, "FOLDAWAY_HOME": str(kept / "home"), "PYTHONPATH": str(ROOT / "src"),
            "OPENAI_BASE_URL": url, "OPENAI_API_BASE": url, "OPENAI_API_KEY": "none",
            "OPENAI_AGENTS_DISABLE_TRACING": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }  # fmt: skip
        ran = subprocess.run(
            [str(python), "program.py", say], env=env, capture_output=True, text=True, check=False,
            timeout=240, cwd=kept,
        )  # fmt: skip
        if ran.returncode or script.final not in ran.stdout:
            said = (ran.stderr.strip() or ran.stdout or "nothing").splitlines()[-1]
            return f"{phase}: {said[:160]}"
    return ""


def recall_actions(home: Path) -> list[list[Any]]:
    """Return a search for what the first process read, and a recall of the place that it has."""
    with open_store(environment={"FOLDAWAY_HOME": str(home)}) as store:
        found = store.sessions(SessionFilter(kind="any")).sessions
        info = max((one for one in found if one.compactions), key=lambda one: one.length)
        said = payloads(store.read(info.id))
        at = next(at for at, one in enumerate(said) if FOLDED in str(one))
    place = f"m{at}@{info.id[-8:]}"
    return [["foldaway_search", {"text": FOLDED}], ["foldaway_recall", {"ref": place}]]
