"""The plug-in for Hermes, on a stand-in for Hermes that has the shape of its contract.

`make test-agents` tries it in the real one (bench/agent_hermes.py).
"""

from __future__ import annotations

import copy
import importlib
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Generator
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml
from tests.agents.engines.test_hermes import ITEMS, TheirEngine, more
from tests.testing.rows import each_row

from foldaway import Policy
from foldaway.agents.engines.hermes import HermesEngine
from foldaway.sessions import internals
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter

POLICY = Policy(floor_tokens=500)


class StandInMemory(ABC):
    """What Hermes asks of a memory, as far as a subclass must have it."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def is_available(self) -> bool: ...

    @abstractmethod
    def initialize(self, session_id: str, **details: Any) -> None: ...

    @abstractmethod
    def get_tool_schemas(self) -> list[dict[str, Any]]: ...


class StandInSessions:
    """Hermes' table of sessions."""

    def __init__(self, **rows: dict[str, Any]) -> None:
        self.rows = rows

    def get_session(self, session_id: str) -> dict[str, Any] | None:
        return self.rows.get(session_id)


def read_config(home: Path) -> Any:
    """Read config.yaml as Hermes does."""
    path = home / "config.yaml"
    return yaml.safe_load(path.read_text()) if path.exists() else {}


ASKED: list[tuple[str, list[Any]]] = []


def call_llm(task: str, *, messages: list[Any]) -> Any:
    """Answer for the model that Hermes has for a task."""
    ASKED.append((task, messages))
    said = SimpleNamespace(content="## Goal\n- kestrel stays closed [m1]")
    return SimpleNamespace(choices=[SimpleNamespace(message=said)])


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Any]:
    """The module, in a process that looks like Hermes."""
    for name, found in {
        "agent": {}, "agent.context_engine": {"ContextEngine": TheirEngine},
        "agent.memory_provider": {"MemoryProvider": StandInMemory},
        "agent.auxiliary_client": {"call_llm": call_llm},
        "hermes_cli": {},
        "hermes_cli.config": {"read_raw_config": lambda: read_config(tmp_path)},
        "hermes_constants": {"get_hermes_home": lambda: tmp_path},
    }.items():  # fmt: skip
        module = ModuleType(name)
        module.__dict__.update(found)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("FOLDAWAY_CONFIG", str(tmp_path / "none.toml"))
    (tmp_path / "none.toml").write_text("")
    sys.modules.pop("foldaway.agents.hermes_plugin", None)
    yield importlib.import_module("foldaway.agents.hermes_plugin")
    sys.modules.pop("foldaway.agents.hermes_plugin", None)


def agent(plugin: Any, session_id: str, sessions: Any = None, platform: str = "cli") -> Any:
    """Return the engine of an agent, as Hermes makes it."""

    class Registry:
        engine: Any = None

        def register_context_engine(self, engine: Any) -> None:
            self.engine = engine

    registry = Registry()
    plugin.register(registry)
    assert isinstance(registry.engine, TheirEngine)
    made = copy.deepcopy(registry.engine)
    made._settings["policy"] = POLICY
    made.update_model(model="m", context_length=8_000, base_url="", api_key="", api_mode="chat")
    made.bind_session_state(session_db=sessions, session_id=session_id)
    made.on_session_start(session_id, platform=platform, model="m")
    return made


def stored(tmp_path: Path) -> list[Any]:
    store = open_store(tmp_path / "foldaway" / "sessions")
    found = store.sessions(SessionFilter(kind="any"), most=20).sessions
    store.close()
    return list(found)


def reference(made: Any) -> str:
    return internals(made.session).engine.conversation.references[0].ref


def recalled(made: Any, ref: str) -> str:
    return json.loads(made.handle_tool_call("foldaway_recall", {"ref": ref}, messages=[]))["result"]


def test_its_sessions_are_in_hermes_folder_under_its_ids(plugin: Any, tmp_path: Path) -> None:
    """A new process goes on with them, and recalls what an older one gave out."""
    made = agent(plugin, "s1")
    assert (made.name, made._session_id) == ("foldaway", "s1")
    sent = made.compress(ITEMS, force=True)
    roles = [one["role"] for one in sent]
    assert not any(one == two == "user" for one, two in pairwise(roles))
    (info,) = stored(tmp_path)
    assert (info.source, info.source_id, info.compactions) == ("hermes", "s1", 1)
    again = agent(plugin, "s1")
    assert again.compression_count == 1
    assert "Ask" in recalled(again, reference(made))
    assert again.compress(sent) == sent


def test_another_session_is_opened_as_hermes_switches(plugin: Any) -> None:
    """For /new and /resume it resets the engine and binds it to another id, without a start."""
    made = agent(plugin, "s1")
    sent = made.compress(ITEMS, force=True)
    ref = reference(made)
    made.on_session_reset()
    assert made._session_id != "s2"
    made.bind_session_state(None, "s2")
    assert made.compression_count == 0
    assert made.compress(more(700, 1)) == more(700, 1)
    made.on_session_reset()
    made.bind_session_state(None, "s1")
    assert made.compression_count == 1
    assert made.compress(sent) == sent
    assert "Ask" in recalled(made, ref)


def test_a_subagent_is_a_child_and_recalls_what_its_parent_names(
    plugin: Any, tmp_path: Path
) -> None:
    """Also if nothing of the parent was kept before."""
    rows = StandInSessions(child={"parent_session_id": "s1"}, early={"parent_session_id": "s9"})
    parent = agent(plugin, "s1", rows)
    parent.compress(ITEMS, force=True)
    child = agent(plugin, "child", rows, "subagent")
    assert "Ask" in recalled(child, reference(parent))
    child.compress(more(300, 8), force=True)
    assert child.compression_count == 1
    assert parent.compression_count == 1
    early = agent(plugin, "early", rows, "subagent")
    early.compress(more(500, 1))
    later = agent(plugin, "s9", rows)
    later.compress(more(600, 1))
    kinds = {one.source_id: (one.kind, one.descent, one.root_id) for one in stored(tmp_path)}
    assert kinds["child"] == ("subagent", "delegation", kinds["s1"][2])
    assert kinds["early"] == ("subagent", "delegation", kinds["s9"][2])
    assert kinds["s9"][0] == "main"


def test_a_rotation_that_nobody_told_is_found_in_hermes_table(plugin: Any, tmp_path: Path) -> None:
    """Hermes was killed between its own rotation and the word to its engine."""
    ended = {"end_reason": "compression"}
    rows = StandInSessions(s1=ended, s2={"parent_session_id": "s1"})
    before = agent(plugin, "s1", rows)
    sent = before.compress(ITEMS, force=True)
    made = agent(plugin, "s2", rows)
    assert made.compress(sent) == sent
    assert (made.compression_count, len({one.root_id for one in stored(tmp_path)})) == (1, 1)
    assert "Ask" in recalled(made, reference(before))
    made.on_session_start("s3", boundary_reason="compression", old_session_id="s2", platform="cli")
    assert made._session_id == "s3"
    assert made.compress(sent) == sent


def test_a_branch_shares_what_was_said_and_goes_its_own_way(plugin: Any, tmp_path: Path) -> None:
    """Its references lead to the session that it came from."""
    rows = StandInSessions(fork={"parent_session_id": "s1"})
    first = agent(plugin, "s1", rows)
    sent = first.compress(ITEMS, force=True)
    fork = agent(plugin, "fork", rows)
    fork.on_session_end("fork", [*sent, *more(300, 1)])
    first.on_session_end("s1", [*sent, *more(400, 2)])
    assert "Ask" in recalled(fork, reference(first))
    lengths = {one.descent: one.length for one in stored(tmp_path)}
    assert lengths == {"": len(ITEMS) + len(more(400, 2)), "branch": len(ITEMS) + len(more(300, 1))}


def test_a_broken_table_or_store_does_not_stop_hermes(
    plugin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is followed without lineage, or in memory."""

    class Broken:
        def get_session(self, session_id: str) -> Any:
            raise RuntimeError(session_id)

    made = agent(plugin, "s1", Broken())
    assert made.compress(ITEMS, force=True) != ITEMS
    home = tmp_path / "file"
    home.write_text("")
    monkeypatch.setattr(plugin, "get_hermes_home", lambda: home)
    lost = agent(plugin, "s2")
    assert lost.compress(ITEMS, force=True) != ITEMS
    assert "Ask" in recalled(lost, reference(lost))


def test_past_sessions_are_a_memory(plugin: Any) -> None:
    """What fits a turn, and tools to search; the session that asks is not its own past."""
    made = agent(plugin, "s1")
    made.on_session_end("s1", ITEMS)
    memory = plugin.FoldawayMemory()
    assert isinstance(memory, StandInMemory)
    memory.initialize("s2", hermes_home="", platform="cli")
    assert memory.is_available()
    assert "Ask 1" in memory.prefetch("Ask 1: what is read?", session_id="s2")
    assert memory.prefetch("Ask 1: what is read?", session_id="s1") == ""
    names = [one["name"] for one in memory.get_tool_schemas()]
    answer = json.loads(memory.handle_tool_call(names[0], {"query": "Ask 1"}, messages=[]))
    assert answer["hits"]


HERMES = """\
model: {default: m}
compression:
  enabled: false
  threshold: "0.6"   # mine
  target_ratio: 0.3
  protect_last_n: 7
  protect_first_n: 0
auxiliary:
  compression: {provider: auto, model: small-model, context_length: 32000}
"""


def test_hermes_own_settings_hold_where_ours_say_nothing(plugin: Any, tmp_path: Path) -> None:
    """As config.yaml has them: the sizes, and the model that writes, which Hermes asks."""
    (tmp_path / "config.yaml").write_text(HERMES)
    made = plugin.FoldawayEngine()
    made.update_model(model="m", context_length=200_000)
    assert (made.threshold_tokens, made.threshold_percent) == (120_000, 0.6)
    assert (made.protect_first_n, made.protect_last_n) == (0, 7)
    policy = made._settings["policy"]
    assert (policy.enabled, policy.target_ratio) == (False, 0.3)
    assert made.get_status()["summarizer"] == "hermes:small-model"
    (tmp_path / "none.toml").write_text("[compression]\nthreshold = 0.7\nprotect_first = 2\n")
    made = plugin.FoldawayEngine()
    made.update_model(model="m", context_length=200_000)
    assert (made.threshold_percent, made.protect_first_n, made.protect_last_n) == (0.7, 2, 7)
    (tmp_path / "none.toml").write_text("")
    ASKED.clear()
    made = agent(plugin, "s1")
    assert made.compress([*ITEMS, *more(300, 8)], force=True) != ITEMS
    assert {task for task, _ in ASKED} == {"compression"}
    assert [one["role"] for one in ASKED[0][1]] == ["system", "user"]


@each_row(
    "text",
    [
        "compression: {threshold: high, target_ratio: 7, protect_last_n: -1}",
        "compression: [1]",
        "compression:",
        "auxiliary: {compression: {model: auto}}",
    ],
)
def test_settings_of_hermes_that_mean_nothing_are_passed_over(
    plugin: Any, tmp_path: Path, text: str
) -> None:
    """Hermes itself says what is wrong with them."""
    (tmp_path / "config.yaml").write_text(text)
    made = plugin.FoldawayEngine()
    made.update_model(model="m", context_length=200_000)
    assert (made.threshold_percent, made.protect_last_n) == (0.5, 20)
    assert made.get_status()["summarizer"] in ("", "none", None)


class Rough(HermesEngine):
    """Reports usage as Hermes does: an estimate before each request, a count after it."""

    def turn(self, rough: int, counted: int) -> tuple[bool, bool]:
        said = self.should_defer_preflight_to_real_usage(rough), self.should_compress(rough)
        self.update_from_response({"prompt_tokens": counted, "completion_tokens": 5})
        return said


def test_an_estimate_is_as_wrong_as_the_one_before_it() -> None:
    """A difference, because tools and the system prompt make most of it; over the threshold by
    both, a compaction is due."""
    made = Rough(context_length=100_000, policy=POLICY)
    assert made.turn(rough=30_000, counted=20_000) == (False, False)
    assert made.turn(rough=58_000, counted=49_000) == (True, False)
    assert made.last_real_prompt_tokens == 49_000
    assert made.turn(rough=60_000, counted=51_000) == (False, True)
    made.awaiting_real_usage_after_compression = True
    assert made.should_defer_preflight_to_real_usage(90_000)
    made.update_from_response({})
    assert not made.awaiting_real_usage_after_compression


def test_what_is_outside_the_messages_is_a_difference() -> None:
    """A list of 3,000 tokens that was counted as 33,000 is sent with 30,000 more, before and after
    a compaction, and no estimate of messages is scaled by that."""
    made = HermesEngine(context_length=100_000, policy=POLICY)
    held = ITEMS[:-1]
    log = HermesEngine(context_length=100_000, policy=POLICY)
    log.compress(held)
    counted = 30_000 + sum(internals(log.session).engine.log.tokens)
    made.update_from_response({"prompt_tokens": counted})
    sent = made.compress([*held, {"role": "assistant", "content": "Done."}, ITEMS[-1]],
                         current_tokens=counted, force=True)  # fmt: skip
    engine = internals(made.session).engine
    assert engine.settings.outside_tokens == 30_000
    assert engine.log.shown.tokens < 20_000
    made.update_from_response({"prompt_tokens": 31_000 + engine.log.shown.tokens})
    held = [*sent, {"role": "assistant", "content": "Done again."}, ITEMS[1]]
    assert made.compress(held) == held
    assert (
        internals(made.session).engine.estimate()
        == 31_000 + internals(made.session).engine.log.shown.tokens
    )


def test_a_compaction_in_vain_is_not_tried_again_until_enough_has_come() -> None:
    """Hermes hands its list over only to have it compacted, so the log does not tell."""
    made = HermesEngine(context_length=100_000, policy=POLICY)
    short = ITEMS[:3]
    made.update_from_response({"prompt_tokens": 60_000})
    assert made.should_compress(60_000)
    assert made.compress(short, current_tokens=60_000) == short
    assert made._automatic_compression_blocked()  # pyright: ignore[reportPrivateUsage]
    assert not made.should_compress(60_000)
    made.update_from_response({"prompt_tokens": 95_000})
    assert not made._automatic_compression_blocked()  # pyright: ignore[reportPrivateUsage]
    assert made.should_compress(95_000)
