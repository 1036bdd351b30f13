"""`foldaway hook` as a process: it never stands in the way of an agent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from foldaway.stores.open import open_store

LOG = "\n".join(f"{n}: request {n * 7919 % 1000003}" for n in range(2_000))


def hook(given: Any, *arguments: str, home: Path) -> subprocess.CompletedProcess[bytes]:
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    env = {**os.environ, "FOLDAWAY_HOME": str(home)}
    command = [sys.executable, "-m", "foldaway", "hook", *arguments]
    return subprocess.run(command, input=data, env=env, capture_output=True, check=False)


def result(text: str) -> dict[str, Any]:
    return {
        "hook_event_name": "PostToolUse", "session_id": "s", "cwd": "/p", "tool_name": "Bash",
        "tool_use_id": "t", "tool_response": {"stdout": text, "stderr": ""},
    }  # fmt: skip


def test_facts_come_from_the_process(session: Callable[..., Path], tmp_path: Path) -> None:
    """As the agent calls it."""
    given = {"hook_event_name": "SessionStart", "source": "compact",
             "transcript_path": str(session())}  # fmt: skip
    done = hook(given, "claude-code", home=tmp_path / "home")
    assert done.returncode == 0
    told = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert "Never edit config/prod.toml." in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        (b"", ("claude-code",)),
        (b"nonsense", ("claude-code",)),
        (b"[]", ("claude-code",)),
        ({"hook_event_name": "PreCompact", "transcript_path": "/nowhere.jsonl"}, ("claude-code",)),
        ({"hook_event_name": "PreCompact"}, ("nobody",)),
        ({"hook_event_name": "PreCompact"}, ()),
        ({"hook_event_name": "PreCompact"}, ("claude-code", "--facts", "many", "--later-option")),
        (result("short"), ("claude-code",)),
    ],
)
def test_on_any_fault_it_says_nothing_and_ends_with_0(
    given: Any, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """Exit code 2 would stop a compaction of Claude Code."""
    done = hook(given, *arguments, home=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_locked_store_does_not_delay_the_agent(tmp_path: Path) -> None:
    """A result is shown whole then; the process waits for half a second and not for 20."""
    open_store(tmp_path / "sessions").close()
    lock = apsw.Connection(str(tmp_path / "sessions" / "default.db"))
    lock.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    done = hook(result(f"{LOG} more"), "claude-code", home=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert time.monotonic() - began < 10
    lock.execute("ROLLBACK")
    lock.close()


def test_a_long_result_is_shortened_and_its_original_recalled(tmp_path: Path) -> None:
    """By the reference that the short one names."""
    open_store(tmp_path / "sessions").close()
    found = None
    for _ in range(5):  # a machine under load may not write in time: the result is whole then
        done = hook(result(LOG), "claude-code", home=tmp_path)
        if found := re.search(rb"fa-[0-9a-f]{10}", done.stdout):
            break
    assert found
    with open_store(tmp_path / "sessions") as store:
        (place,) = store.places(found[0].decode())
        (row,) = store.read(place.session_id, *place.reference.positions)
    assert json.loads(row.body)["content"] == LOG


def test_a_store_that_cannot_be_made_shows_results_whole(tmp_path: Path) -> None:
    """Nothing is said of it."""
    (tmp_path / "home").write_text("a file, not a folder")
    done = hook(result(LOG), "claude-code", home=tmp_path / "home")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
