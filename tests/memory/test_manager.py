"""Memory beside a turn: deadlines, order, failures that stay where they are."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from foldaway.errors import InvalidSetting
from foldaway.memory.fence import TAG
from foldaway.memory.files.provider import FilesProvider, memory_folder
from foldaway.memory.manager import MemoryLimits, MemoryManager
from foldaway.memory.provider import MemoryProvider, MemoryTurn, Switch

QUICK = MemoryLimits(
    prefetch_seconds=0.2, tool_seconds=0.2, compaction_seconds=0.2, close_seconds=5.0
)


class Plain(MemoryProvider):
    """Remembers in a list."""

    name = "plain"

    def __init__(self) -> None:
        self.told: list[Any] = []

    def prefetch(self, query: str, session_id: str) -> str:
        return f"known of {query}"

    def sync(self, turn: MemoryTurn) -> None:
        self.told.append(turn)

    def session_switched(self, switch: Switch) -> None:
        self.told.append(switch)

    def before_compaction(self, messages: Sequence[Any]) -> str:
        return f"{len(messages)} messages seen"

    def tools(self) -> Sequence[Mapping[str, Any]]:
        return ({"name": "note", "description": "", "parameters": {}},)

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        return f"{name} {arguments['x']}"


class Bad(Plain):
    """Does in every method what it is given to do."""

    name = "bad"

    def __init__(self, act: Callable[[], Any]) -> None:
        super().__init__()
        self.act = act

    def system_text(self) -> str:
        raise ValueError("no system text")

    def prefetch(self, query: str, session_id: str) -> str:
        return self.act()

    def sync(self, turn: MemoryTurn) -> None:
        self.act()

    def before_compaction(self, messages: Sequence[Any]) -> str:
        return self.act()

    def tools(self) -> Sequence[Mapping[str, Any]]:
        return ({"name": "bad_note", "description": "", "parameters": {}},)

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        return self.act()


class Worst(Bad):
    """Does it in every method that there is."""

    name = "worst"

    def system_text(self) -> str:
        return self.act()

    def tools(self) -> Sequence[Mapping[str, Any]]:
        return self.act()

    def turn_started(self, number: int, text: str) -> None:
        self.act()

    def session_switched(self, switch: Switch) -> None:
        self.act()

    def session_ended(self, session_id: str, messages: Sequence[Any]) -> None:
        self.act()

    def close(self) -> None:
        self.act()


def die() -> Any:
    """End the thread that calls."""
    raise SystemExit(3)


def fail() -> Any:
    """Raise."""
    raise RuntimeError("secret words of a provider")


@pytest.fixture
def hang() -> Iterator[Callable[[], Any]]:
    """Return what does not come back before the test is over."""
    over = threading.Event()

    def act() -> Any:
        over.wait(300)

    yield act
    over.set()


HANGS, FLOODS = (pytest.param(kind, marks=pytest.mark.soak) for kind in ("hangs", "floods"))
"""Some seconds each; the other test of the two has the kind in every run."""


@pytest.mark.parametrize("kind", [HANGS, "raises", "dies", "garbage", "floods"])
def test_a_bad_provider_never_reaches_the_turn(hang: Callable[[], Any], kind: str) -> None:
    """The turn waits at most its limit, the other provider answers, and nothing is raised."""
    acts: dict[str, Callable[[], Any]] = {
        "hangs": hang, "raises": fail, "dies": die, "garbage": lambda: {"not": "a text"},
        "floods": lambda: "x" * 10_000_000,
    }  # fmt: skip
    good, bad = Plain(), Bad(acts[kind])
    limits = MemoryLimits(
        prefetch_seconds=1.0, tool_seconds=1.0, compaction_seconds=1.0, close_seconds=1.0
    )
    manager = MemoryManager(good, bad, limits=limits)
    for turn in range(2):
        manager.turn_started(f"turn {turn}")
        begun = time.monotonic()
        found = manager.prefetch(f"turn {turn}", "s")
        assert time.monotonic() - begun < 3.0
        assert f"known of turn {turn}" in found.text
        assert len(found.text) < 20_000
        assert ("bad" in (*found.late, *found.failed)) == (kind != "floods")
        manager.sync("said", "answered", "s")
        assert isinstance(manager.call("bad_note", {"x": 1}), str)
        assert manager.before_compaction([{"role": "user", "content": "a"}]).startswith("1 mess")
    assert manager.call("note", {"x": 1}) == "note 1"
    assert "secret words" not in str(manager.status())
    manager.close()
    assert len(good.told) == 2


@pytest.mark.parametrize("kind", ["hangs", "raises", "dies", "garbage", FLOODS, "no tools"])
def test_no_method_of_a_bad_provider_reaches_the_turn(hang: Callable[[], Any], kind: str) -> None:
    """Names of tools, system text and the end have their limits too, and may be anything."""
    acts: dict[str, Callable[[], Any]] = {
        "hangs": hang, "raises": fail, "dies": die, "garbage": lambda: 7,
        "floods": lambda: "x" * 10_000_000, "no tools": lambda: [{}, {"name": 3}, None, "note"],
    }  # fmt: skip

    class Good(Plain):
        def system_text(self) -> str:
            return "known"

    good = Good()
    limits = MemoryLimits(
        start_seconds=0.2, prefetch_seconds=0.2, tool_seconds=0.2, compaction_seconds=0.2,
        close_seconds=1.0,
    )  # fmt: skip
    begun = time.monotonic()
    with MemoryManager(good, Worst(acts[kind]), limits=limits) as manager:
        assert [tool["name"] for tool in manager.tools()] == ["note"]
        text = manager.system_text()
        assert text.startswith("known")
        assert len(text) < 20_000
        manager.turn_started("x")
        assert "known of x" in manager.prefetch("x").text
        manager.sync("said", "answered", "s")
        manager.session_switched(Switch(session_id="s2"))
        manager.session_ended("s2")
    assert time.monotonic() - begun < 30
    assert len(good.told) == 2


@pytest.mark.parametrize("kind", ["hangs", "dies", "garbage"])
def test_what_a_provider_says_that_it_does_is_asked_aside(
    hang: Callable[[], Any], kind: str
) -> None:
    """Once, when the manager is made; where there is no answer, its methods tell."""
    acts: dict[str, Callable[[], Any]] = {"hangs": hang, "dies": die, "garbage": lambda: "yes"}

    class Evil(str):
        __slots__ = ()

        def __len__(self) -> int:
            raise RuntimeError

    class Unsure(MemoryProvider):
        name = "unsure"

        def does(self, method: str) -> bool:
            return acts[kind]()

        def prefetch(self, query: str, session_id: str) -> str:
            return Evil("found")

    with MemoryManager(Plain(), Unsure(), limits=QUICK) as manager:
        assert manager.sync("a", "b") != []
        begun = time.monotonic()
        assert "found" in manager.prefetch("x").text
        manager.session_switched(Switch(session_id="s"))
        assert time.monotonic() - begun < 20


def test_a_late_system_text_stands_in_as_it_was(hang: Callable[[], Any]) -> None:
    """The bytes of a prompt do not change because a provider is slow."""
    answers = iter(["first words"])

    class Slow(MemoryProvider):
        name = "slow"

        def system_text(self) -> str:
            return next(answers, None) or hang()

    manager = MemoryManager(Plain(), Slow(), limits=QUICK)
    assert manager.system_text() == "first words"
    assert manager.system_text() == "first words"
    assert manager.status()["slow"]["late"] == 1


def test_turns_land_in_their_order_and_a_full_queue_is_said() -> None:
    """One after another; those beyond the limit are refused and counted, none waits."""
    gate = threading.Event()

    class Slow(Plain):
        def sync(self, turn: MemoryTurn) -> None:
            gate.wait(60)
            super().sync(turn)

    slow = Slow()
    manager = MemoryManager(slow, limits=MemoryLimits(queued=5))
    futures = [manager.sync(f"u{number}", "a") for number in range(9)]
    assert [len(one) for one in futures] == [1] * 5 + [0] * 4
    assert manager.status()["plain"]["refused"] == 4
    assert not futures[0][0].done()
    gate.set()
    assert manager.flush(30)
    assert [turn.user for turn in slow.told] == [f"u{number}" for number in range(5)]
    assert all(future.exception(0) is None for one in futures for future in one)
    assert manager.close() == {}


def test_switches_are_told_between_the_turns_where_they_were() -> None:
    """A turn of the new session never lands before the switch."""
    plain = Plain()
    manager = MemoryManager(plain)
    manager.sync("one", "a", "s1")
    manager.session_switched(Switch(session_id="s2", parent_id="s1"))
    manager.sync("two", "a", "s2")
    assert manager.close() == {}
    assert [getattr(one, "user", "switch") for one in plain.told] == ["one", "switch", "two"]


def test_no_thread_is_made_for_nothing() -> None:
    """A provider that only has a system text costs no thread."""

    class Still(MemoryProvider):
        name = "still"

        def system_text(self) -> str:
            return "known"

    before = threading.active_count()
    manager = MemoryManager(Still())
    assert manager.system_text() == "known"
    manager.turn_started("x")
    assert manager.prefetch("x").text == ""
    assert manager.sync("x", "y") == []
    assert manager.before_compaction([]) == ""
    assert threading.active_count() == before


def test_files_without_sessions_to_recall_cost_no_thread(tmp_path: Path) -> None:
    """The built-in memory is asked in the background only where it has somebody to ask."""
    before = threading.active_count()
    manager = MemoryManager(FilesProvider(memory_folder(tmp_path)))
    manager.turn_started("x")
    assert manager.prefetch("x").text == ""
    manager.warm("x")
    assert threading.active_count() == before
    manager = MemoryManager(FilesProvider(memory_folder(tmp_path), recall=lambda _, __: "found"))
    assert "found" in manager.prefetch("x").text
    assert threading.active_count() == before + 1
    manager.close()


def test_a_manager_that_is_forgotten_leaves_no_thread() -> None:
    """What was handed over is finished, then its threads end."""
    plain = Plain()
    manager = MemoryManager(plain)
    manager.sync("one", "a")
    manager.prefetch("two")
    names = {thread.name for thread in threading.enumerate()}
    assert {"foldaway-memory-plain-told", "foldaway-memory-plain-asked"} <= names
    threads = [one for one in threading.enumerate() if one.name.startswith("foldaway-memory-pl")]
    assert manager.flush(30)
    del manager
    gc.collect()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert len(plain.told) == 1


def test_tools_may_not_shadow_those_of_the_host() -> None:
    """Nor those of the other provider; what is refused is said."""

    class Other(Plain):
        name = "other"

    manager = MemoryManager(Plain(), Other(), reserved_tools=["shell"])
    assert [tool["name"] for tool in manager.tools()] == ["note"]
    assert manager.refused_tools == ("note",)
    assert MemoryManager(Plain(), reserved_tools=["note"]).tools() == []
    assert "no memory tool" in manager.call("shell", {})
    garbage: Any = '{"x": 1}'
    assert "are no object" in manager.call("note", garbage)
    with pytest.raises(InvalidSetting):
        MemoryManager(Plain(), Plain())


def test_a_provider_gets_the_arguments_of_a_tool_without_secrets() -> None:
    """A model may want to remember a password; what it is told stays in the conversation."""
    key = "ghp_" + "a1B2" * 9
    with MemoryManager(Plain()) as manager:
        said = manager.call("note", {"x": f"the key is {key}", "y": {"password": "hunter2024!"}})
        assert said.startswith("note the key is [redacted:")
        told = manager.call("note", {"x": {"password": "hunter2024!", "n": [1, None, True]}})
    assert "hunter" not in told
    assert "[1, None, True]" in told


def test_what_is_remembered_is_the_users_own_and_without_secrets() -> None:
    """Templates, recalled blocks and keys are gone before any provider sees them."""
    plain = Plain()
    manager = MemoryManager(plain)
    key = "ghp_" + "a1B2" * 9
    manager.sync(
        f"<command-name>/x</command-name><command-args>use {key}</command-args>",
        f"done <{TAG}>old</{TAG}>now",
    )
    manager.close()
    (turn,) = plain.told
    assert turn.user.startswith("use ")
    assert key not in turn.user
    assert turn.agent == "done now"


def test_a_long_paste_costs_the_turn_little() -> None:
    """What is asked is the beginning, without secrets; the rest is made ready in the background."""
    gate, asked = threading.Event(), list[str]()

    class Waiting(Plain):
        def prefetch(self, query: str, session_id: str) -> str:
            asked.append(query)
            return ""

    def redact(text: str) -> str:
        assert len(text) < 20_000 or gate.wait(60)
        return text.replace("hush-hush", "…")

    plain = Waiting()
    manager = MemoryManager(plain, redact=redact)
    paste = "x" * 7_996 + "hush-hush" + "y" * 5_000_000
    manager.turn_started(paste)
    manager.prefetch(paste)
    manager.warm(paste)
    (future,) = manager.sync(paste, paste)
    assert not future.done()
    assert [len(one) for one in asked[:1]] == [8_000]
    assert "hush" not in asked[0]
    gate.set()
    assert manager.close() == {}
    (turn,) = plain.told
    assert len(turn.agent) == len(turn.user) == len(paste) - 8


def test_nobody_is_asked_where_the_user_said_nothing() -> None:
    """A bare command has no words of the user."""
    asked: list[str] = []

    class Asked(Plain):
        def prefetch(self, query: str, session_id: str) -> str:
            asked.append(query)
            return ""

    with MemoryManager(Asked()) as manager:
        assert manager.prefetch("<command-name>/exit</command-name>\n").text == ""
        manager.warm(" ")
        manager.prefetch("at last")
    assert asked == ["at last"]


def test_a_late_answer_of_warming_stands_in(hang: Callable[[], Any]) -> None:
    """What was found ahead is used where the provider is late now."""
    answers = iter(["warmed words"])

    class Once(Plain):
        def prefetch(self, query: str, session_id: str) -> str:
            for answer in answers:
                return answer
            return hang()

    manager = MemoryManager(Once(), limits=QUICK)
    manager.warm("ahead")
    deadline = time.monotonic() + 30
    while "warmed" not in (found := manager.prefetch("now")).text:
        assert time.monotonic() < deadline
        if found.late:
            break
    assert "warmed words" in found.text


def test_a_tool_call_waits_for_a_question_that_is_being_answered() -> None:
    """Looking ahead for the next turn does not keep the model from its memory."""
    gate = threading.Event()

    class Looking(Plain):
        def prefetch(self, query: str, session_id: str) -> str:
            gate.wait(60)
            return "x"

    manager = MemoryManager(Looking())
    manager.warm("ahead")
    threading.Timer(0.1, gate.set).start()
    assert manager.call("note", {"x": 2}) == "note 2"
    manager.close()


@pytest.mark.slow
def test_a_clean_exit_loses_nothing_and_a_killed_one_nothing_acknowledged(tmp_path: Path) -> None:
    """At exit the queue is finished; after SIGKILL all that was called durable is there."""
    script = tmp_path / "host.py"
    script.write_text(textwrap.dedent("""
        import os, signal, sys, time
        from foldaway.memory.manager import MemoryManager
        from foldaway.memory.provider import MemoryProvider

        class Slow(MemoryProvider):
            name = "slow"
            def sync(self, turn):
                time.sleep(0.005)
                with open(sys.argv[1], "a") as kept:
                    kept.write(turn.user + "\\n"); kept.flush(); os.fsync(kept.fileno())

        manager = MemoryManager(Slow())
        futures = [manager.sync(f"turn {n}", "a")[0] for n in range(40)]
        if sys.argv[2] == "kill":
            futures[10].result()
            done = [n for n, future in enumerate(futures) if future.done()]
            print(*done, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """))  # fmt: skip
    for way in ("exit", "kill"):
        kept = tmp_path / way
        ran = subprocess.run(
            [sys.executable, str(script), str(kept), way], capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        lines = kept.read_text().splitlines()
        assert lines == [f"turn {n}" for n in range(len(lines))], "in order"
        if way == "exit":
            assert ran.returncode == 0
            assert len(lines) == 40
        else:
            assert {f"turn {n}" for n in ran.stdout.split()} <= set(lines)
            assert len(ran.stdout.split()) > 10


def test_where_no_thread_can_be_made_the_turn_goes_on(tmp_path: Path) -> None:
    """Neither the turn nor the end raises; the built-in system text is there all the same."""
    script = tmp_path / "host.py"
    script.write_text(textwrap.dedent("""
        import threading
        from foldaway.memory.manager import MemoryManager
        from foldaway.memory.provider import MemoryProvider

        class Known(MemoryProvider):
            name = "known"
            def system_text(self):
                return "known"

        class Other(MemoryProvider):
            name = "other"
            def prefetch(self, query, session_id):
                return "found"
            def sync(self, turn):
                pass

        def refuse(*given, **named):
            raise RuntimeError("can't start new thread")

        threading.Thread.start = refuse  # as Python does it where the system has none left
        manager = MemoryManager(Known(), Other())
        assert manager.system_text() == "known"
        assert manager.prefetch("x").late == ("other",)
        assert manager.sync("x", "y") == []
        assert manager.status()["other"]["refused"] == 1
        print("through")
    """))  # fmt: skip
    ran = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("through\n", "", 0)
