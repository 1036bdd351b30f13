"""A memory server as a process of its own, and everything that such a process can do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foldaway.errors import MemoryUnavailable
from foldaway.memory.external.mcp import ADD, SEARCH, McpMemory, make
from foldaway.memory.manager import MemoryLimits, MemoryManager
from foldaway.memory.provider import MemoryProvider, MemoryTurn

pytestmark = pytest.mark.slow

SERVER = Path(__file__).with_name("memory_server.py")
LIMITS = MemoryLimits(prefetch_seconds=0.3, tool_seconds=20.0, close_seconds=20.0)


class BuiltIn(MemoryProvider):
    """Stands for the built-in memory."""

    name = "files"

    def prefetch(self, query: str, session_id: str) -> str:
        return "known by the other"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Where the server keeps its texts."""
    return tmp_path / "kept"


@pytest.fixture
def memory(kept: Path) -> Iterator[McpMemory]:
    """A provider with a server over pipes."""
    found = make(options(kept), kept.parent)
    yield found
    found.close()


def options(kept: Path, **more: Any) -> dict[str, Any]:
    return {
        "command": sys.executable, "args": [str(SERVER), str(kept)],
        "timeout": 10.0, "connect_timeout": 60.0, **more,
    }  # fmt: skip


def starts(kept: Path) -> list[int]:
    """Return the ids of the processes that were started."""
    return [int(line) for line in kept.with_suffix(".starts").read_text().split()]


def turn(user: str, agent: str = "ok") -> MemoryTurn:
    return MemoryTurn(session_id="s", number=1, user=user, agent=agent)


def ends(process: int) -> bool:
    """Return whether a process is gone, or goes within seconds."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_what_is_added_is_found_through_one_process(memory: McpMemory, kept: Path) -> None:
    """Turns and the model's own facts. Texts that JSON cannot hold are mended, ten megabytes
    become some kilobytes, and the words of an error reach nobody.
    """
    memory.sync(turn("the port is 5433\ud800\0", "noted"))
    assert memory.prefetch("which port", "t") == "User: the port is 5433\ufffd\nAssistant: noted"
    assert memory.call(ADD, {"text": "deploys on fridays"}) == "kept"
    assert memory.call(SEARCH, {"query": "deploys when"}) == "deploys on fridays"
    assert memory.call(SEARCH, {"query": "unheard"}) == "nothing was found"
    assert memory.prefetch(" \n", "t") == ""
    assert [tool["name"] for tool in memory.tools()] == [SEARCH, ADD]
    assert 1_000 < len(memory.prefetch("!big", "t")) <= 16_000
    with pytest.raises(MemoryUnavailable) as caught:
        memory.prefetch("!fail", "t")
    assert "secret" not in str(caught.value)
    (process,) = starts(kept)
    memory.close()
    assert ends(process)
    with pytest.raises(MemoryUnavailable):
        memory.prefetch("port", "t")


@pytest.mark.soak
def test_a_server_that_dies_is_started_again_and_nothing_is_lost(
    memory: McpMemory, kept: Path
) -> None:
    """The call that finds it dead starts a new one; a turn in which it dies is given once more,
    for nobody can say whether it was kept: twice rather than never.
    """
    memory.sync(turn("the port is 5433"))
    (process,) = starts(kept)
    os.kill(process, signal.SIGKILL)
    assert ends(process)
    assert "5433" in memory.prefetch("port", "t")
    memory.sync(turn("!die now"))
    assert kept.read_text().count("!die now") == 2
    assert len(starts(kept)) == 3


@pytest.mark.soak
@pytest.mark.parametrize("orders", [("!hang", "!garbage"), ("!flood", "!die")])
def test_the_turn_waits_no_longer_than_its_limit(
    kept: Path, caplog: pytest.LogCaptureFixture, orders: tuple[str, ...]
) -> None:
    """Whatever the server does: the deadline holds, the other memory answers, nothing is logged,
    and afterwards the server is there again.
    """
    external = make(options(kept, timeout=3.0), kept.parent)
    manager = MemoryManager(BuiltIn(), external, limits=LIMITS)
    assert manager.call(ADD, {"text": "the port is 5433"}) == "kept"
    for order in orders:
        for text in (order, "port", "port"):
            manager.turn_started(text)
            begun = time.monotonic()
            found = manager.prefetch(text, "s")
            assert time.monotonic() - begun < LIMITS.prefetch_seconds + 1.0
            assert "known by the other" in found.text
        until = time.monotonic() + 30
        while "5433" not in manager.call(SEARCH, {"query": "port"}):
            assert time.monotonic() < until, order
            time.sleep(0.02)  # a pause after a failure is the provider's own
    assert manager.close() == {}
    assert all(ends(process) for process in starts(kept))
    assert not [one for one in caplog.records if one.name.startswith("mcp")]


@pytest.mark.soak
def test_no_process_is_left_of_a_server_that_was_given_up(kept: Path) -> None:
    """When the memory is closed, also one that is only just being ended is gone."""
    memory = make(options(kept, timeout=2.0), kept.parent)
    with pytest.raises(MemoryUnavailable, match="does not answer"):
        memory.prefetch("!hang", "t")
    memory.close()
    for process in starts(kept):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_a_server_that_cannot_be_started_is_not_tried_at_every_call(tmp_path: Path) -> None:
    """It fails at once, then within a pause without a try; the name in the error is no secret."""
    memory = make({"command": str(tmp_path / "gone"), "args": ["--key=secret"]}, tmp_path)
    said: list[str] = []
    for _ in range(3):
        with pytest.raises(MemoryUnavailable) as caught:
            memory.prefetch("port", "t")
        said.append(str(caught.value))
    memory.close()
    assert said[0] == "gone: no session with it could be opened"
    assert said[1:] == ["gone: it failed; it is tried again soon"] * 2


def test_turns_are_not_added_where_the_settings_say_so(kept: Path) -> None:
    """With `sync = false` only the model's own facts are kept, and no process is started for it."""
    memory = make(options(kept, sync=False), kept.parent)
    memory.sync(turn("the port is 5433"))
    memory.close()
    assert not kept.with_suffix(".starts").exists()


def test_a_tool_that_the_server_does_not_have_is_said_to_the_model(kept: Path) -> None:
    """In a sentence with the tools that there are; a server that cannot be added to is searched."""
    memory = make(options(kept, search_tool="look_up"), kept.parent)
    said = memory.call(SEARCH, {"query": "port"})
    assert "memory.mcp.search_tool is 'look_up'" in said
    assert "search_memories" in said
    memory.close()


@pytest.mark.soak
def test_a_server_over_http_is_the_same_and_may_be_started_anew(kept: Path) -> None:
    """Search, add, and again after the server was replaced by another at the same address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def run() -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, str(SERVER), str(kept), str(port)])
        wait_for(lambda: socket.create_connection(("127.0.0.1", port)).close())
        return process

    first = run()
    url = f"http://127.0.0.1:{port}/mcp"
    memory = make({"url": url, "headers": {"x-key": "k"}, "timeout": 20.0}, kept.parent)
    try:
        memory.sync(turn("the port is 5433"))
        assert "5433" in memory.prefetch("port", "t")
        first.kill()
        first.wait()
        with pytest.raises(MemoryUnavailable):
            memory.prefetch("port", "t")
        first = run()
        wait_for(lambda: memory.prefetch("port", "t"))
        assert "5433" in memory.prefetch("port", "t")
    finally:
        memory.close()
        first.kill()
        first.wait()


def wait_for(work: Callable[[], object]) -> None:
    """Do it until it does not fail."""
    until = time.monotonic() + 30
    while True:
        try:
            work()
        except (OSError, MemoryUnavailable):
            assert time.monotonic() < until
            time.sleep(0.02)
        else:
            return
