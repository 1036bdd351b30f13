"""mem0 beside a turn: what it is told and asked, and the real package against a local model."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from foldaway.memory.external.mem0 import ADD, SEARCH, Mem0Memory, Mem0Options, configuration
from foldaway.memory.provider import MemoryTurn
from foldaway.testing import ModelRequest, ModelServer

SOURCE = Path(__file__).resolve().parents[3] / "src"
PROCESS = Path(__file__).with_name("mem0_process.py")
real = pytest.mark.skipif(
    find_spec("mem0") is None, reason="mem0ai is not installed: pip install 'foldaway[mem0]'"
)


class Kept:
    """Stands for `mem0.Memory`: notes the calls and answers with a list."""

    def __init__(self, *facts: str) -> None:
        self.facts, self.calls, self.vector_store, self.client = facts, [], self, self

    calls: list[Any]

    def search(self, query: str, *, filters: Any, top_k: int) -> Any:
        self.calls.append((query, filters, top_k))
        return {"results": [{"memory": fact, "id": "1", "score": 0.5} for fact in self.facts]}

    def add(self, messages: Any, **given: Any) -> Any:
        self.calls.append((messages, given))
        return {"results": []}

    def close(self) -> None:
        self.calls.append("closed")


def test_a_search_is_for_the_user_and_each_fact_comes_once() -> None:
    """From all sessions, in the order of mem0, bounded; a question without words asks nobody."""
    kept = Kept("the port is 5433", "tea", "the port is 5433", "x" * 50_000)
    memory = Mem0Memory(Mem0Options(user="ann", results=7), lambda: kept)
    said = memory.prefetch("which port? \ud800\0" + "y" * 9_000, "s")
    assert said.startswith("- the port is 5433\n- tea\n- xxx")
    assert len(said) <= 16_000
    ((query, filters, most),) = kept.calls
    assert (filters, most) == ({"user_id": "ann"}, 7)
    assert query.startswith("which port? \ufffdyyy")
    assert len(query) <= 4_000
    assert memory.prefetch(" \0\n", "s") == ""
    assert len(kept.calls) == 1
    assert Mem0Memory(Mem0Options(), Kept).call(SEARCH, {"query": "x"}) == "nothing was found"


def test_a_turn_is_added_with_its_session_and_a_fact_as_it_is() -> None:
    """User and agent as messages; what the model adds itself is not put through a model again."""
    kept = Kept()
    memory = Mem0Memory(Mem0Options(user="ann"), lambda: kept)
    memory.sync(MemoryTurn(session_id="s1", number=1, user="my port is 5433", agent=""))
    memory.sync(MemoryTurn(session_id="", number=2, user="", agent=" "))
    assert memory.call(ADD, {"text": "tea"}) == "kept"
    assert memory.call(ADD, {}) == "nothing to keep: the text is empty"
    memory.close()
    memory.close()
    assert kept.calls == [
        ([{"role": "user", "content": "my port is 5433"}], {"user_id": "ann", "run_id": "s1"}),
        ("tea", {"user_id": "ann", "infer": False}),
        "closed",
        "closed",
    ]
    with pytest.raises(LookupError):
        memory.call("mem0_forget", {})


def test_it_is_opened_at_its_first_use_and_again_after_a_failure() -> None:
    """Nothing is imported for a provider that nobody asks; a store that was locked may be free."""
    opened: list[int] = []

    def open_() -> Any:
        opened.append(1)
        if len(opened) == 1:
            raise RuntimeError("already accessed by another instance")
        return Kept("tea")

    memory = Mem0Memory(Mem0Options(), open_)
    memory.close()
    assert not opened
    with pytest.raises(RuntimeError):
        memory.prefetch("x", "s")
    assert memory.prefetch("x", "s") == memory.prefetch("x", "s") == "- tea"
    assert len(opened) == 2


def test_an_address_of_ones_own_gets_both_models_and_no_key_of_others(tmp_path: Path) -> None:
    """Where a url is given, nothing in the environment leads elsewhere or is sent there."""
    own = configuration(Mem0Options(url="http://h/v1", model="m"), tmp_path, client=None)
    assert own["llm"] == {
        "provider": "vllm",
        "config": {"model": "m", "vllm_base_url": "http://h/v1", "api_key": "none"},
    }
    assert own["embedder"]["config"]["openai_base_url"] == "http://h/v1"
    assert own["embedder"]["config"]["api_key"] == "none"
    mixed = configuration(
        Mem0Options(url="http://h/v1", embedder_url="http://e/v1", key="k"), tmp_path, client=None
    )
    assert mixed["embedder"]["config"]["openai_base_url"] == "http://e/v1"
    assert mixed["llm"]["config"]["api_key"] == mixed["embedder"]["config"]["api_key"] == "k"
    theirs = configuration(Mem0Options(), tmp_path, client=None)
    assert theirs["llm"]["provider"] == "openai"
    assert "api_key" not in theirs["llm"]["config"] | theirs["embedder"]["config"]


def model(request: ModelRequest) -> str:
    """Take one fact out of a turn, as the model that mem0 asks."""
    if request.api != "chat":
        return ""
    assert "5433" in request.body["messages"][-1]["content"]
    return json.dumps({"memory": [{"id": "0", "text": "The port of staging is 5433"}]})


def run(url: str, folder: Path, step: str) -> dict[str, Any]:
    """Run a step in a process of its own, with an empty home and a key that leads elsewhere."""
    home = folder.with_name("home")
    home.mkdir(exist_ok=True)
    env = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "HOME": str(home),
        "OPENROUTER_API_KEY": "k", "OPENAI_API_KEY": "k",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(PROCESS), url, str(folder), step],
        env=env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["addresses"] == ["127.0.0.1"]
    assert (found["home"], found["variables"], found["left"]) == ([], [], {})
    return found


@real
@pytest.mark.soak
def test_a_fact_outlives_its_process_in_the_real_mem0(tmp_path: Path) -> None:
    """One process learns, the next one knows; no address but the model's is ever asked, the home
    folder stays empty, and the files are their owner's alone.
    """
    folder = tmp_path / "mem0"
    with ModelServer(model) as server:
        learnt = run(server.openai_url, folder, "learn")
        assert (learnt["before"], learnt["flushed"], learnt["state"]) == ("", True, "done")
        assert (learnt["added"], learnt["status"]["failures"]) == ("kept", 0)
        known = run(server.openai_url, folder, "know")
        assert "- The port of staging is 5433" in known["recalled"]
        assert "- Deploys happen on Fridays" in known["searched"]
        assert {one.headers["authorization"] for one in server.requests} == {"Bearer none"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "5433" in (folder / "history.db").read_bytes().decode(errors="replace")


@real
@pytest.mark.soak
def test_both_lanes_use_the_real_store_at_once(tmp_path: Path) -> None:
    """Adds from two threads beside searches: every text is there afterwards."""
    with ModelServer() as server:
        found = run(server.openai_url, tmp_path / "mem0", "lanes")
    assert (found["searched"], found["kept"]) == (40, 80)


@real
@pytest.mark.soak
def test_a_model_that_fails_loses_the_turn_and_says_so(tmp_path: Path) -> None:
    """A turn that could not be kept is not called durable."""
    from foldaway.testing import openai_error

    with ModelServer(openai_error(400, "no")) as server:
        found = run(server.openai_url, tmp_path / "mem0", "down")
    assert (found["recalled"], found["state"]) == (["mem0"], "failed")
