"""`foldaway run` with a real gateway, and what it says at the end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from foldaway.agents.running.totals import Subscription
from foldaway.cli.serve import serve, upstreams_in

pytestmark = pytest.mark.slow


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def has_counted(home: Path, requests: int) -> bool:
    """Return whether a run with a subscription has counted so many requests of `program.py`."""
    tokens = requests * len('{"contents": []}') // 4
    return [one.tokens for one in Subscription.read_all(home).values()] == [tokens]


def gateways(store: Path) -> list[int]:
    """Return the processes that serve a store."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if b"--until-eof" in command and str(store).encode() in command:
            found.append(int(entry.name))
    return found


@pytest.mark.soak
def test_an_agent_does_not_notice_that_its_gateway_is_killed(
    screen: Any, provider: Any, tmp_path: Path
) -> None:
    """It asks as before, three times; at the end three lines say what happened.

    Requests are counted as gateways tell of them, a moment after the answer: each is killed then.
    """
    store = tmp_path / "store"
    provider.told["x-codex-primary-used-percent"] = "1"  # so that a run tells what it has counted
    options = ("--report", "--serve", f"--store {store}")
    one = screen("ask", "4", "pause", through=True, options=options,
                 GOOGLE_GEMINI_BASE_URL=provider.url)  # fmt: skip
    for number in range(1, 4):
        one.wait_for("200 provider pass", number)
        until(partial(has_counted, tmp_path / "kept", number))
        (pid,) = gateways(store)
        os.kill(pid, signal.SIGKILL)
        one.type("\n")
    one.wait_for("200 provider pass", 4)
    one.type("\n")
    assert one.end() == 0
    lines = [line for line in one.seen.splitlines() if line.startswith("foldaway: ")]
    assert len(lines) == 3
    assert lines[0].startswith("foldaway: Gemini CLI ran for ")
    assert lines[0].endswith("; 4 requests went through the gateway, 0 compactions")
    assert "ended 3 times" in lines[2]
    assert gateways(store) == []


def test_what_a_subscription_has_used_is_told_while_the_agent_runs(
    screen: Any, provider: Any, tmp_path: Path
) -> None:
    """Other commands see it after each answer, and not any more when the agent has ended."""
    provider.told["anthropic-ratelimit-unified-5h-utilization"] = "0.42"
    one = screen("ask", "2", "pause", through=True, GOOGLE_GEMINI_BASE_URL=provider.url)
    one.wait_for("200 provider pass", 1)
    file = tmp_path / "kept" / "run-gemini-cli.json"
    told = partial(Subscription.read_all, file.parent)
    until(lambda: [use.limits for use in told().values()] == [{"5h": 42}])
    provider.told["anthropic-ratelimit-unified-7d-utilization"] = "0.1"
    one.type("\n")
    one.wait_for("200 provider pass", 2)
    until(lambda: told()["gemini-cli"].limits == {"5h": 42, "7d": 10})
    one.type("\n")
    assert one.end() == 0
    assert not file.exists()


def test_a_run_that_was_killed_is_not_running_any_more(tmp_path: Path) -> None:
    """What it left is not taken for what is used now, nor is a file that says something else."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    for text in (f'{{"pid": {ended.pid}, "began": 1, "tokens": 2, "limits": {{}}}}', "{}", "x"):
        (tmp_path / "run-codex.json").write_text(text)
        assert Subscription.read_all(tmp_path) == {}


def test_a_gateway_ends_with_the_program_that_started_it(
    agent: Any, provider: Any, tmp_path: Path
) -> None:
    """However that ends. Without a terminal nothing is said unless it is asked for."""
    store = tmp_path / "store"
    options = ("--serve", f"--store {store}")
    command, variables = agent("ask", "1", "pause", through=True, options=options,
                               GOOGLE_GEMINI_BASE_URL=provider.url)  # fmt: skip
    with subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as started:  # fmt: skip
        assert started.stdin is not None
        assert started.stdout is not None
        assert started.stderr is not None
        assert b"200 provider pass" in started.stdout.readline()
        (pid,) = gateways(store)
        ends = os.pidfd_open(pid)
        started.kill()
        assert select.select([ends], [], [], 30)[0]
        os.close(ends)
        started.stdin.close()
        assert started.stderr.read() == b""


def test_paths_are_added_to_the_addresses_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other addresses replace them, as before."""
    settings = tmp_path / "config.toml"
    settings.write_text('[gateway]\nupstreams = ["chat=http://one"]\n')
    monkeypatch.setenv("FOLDAWAY_CONFIG", str(settings))

    def found(*options: str) -> Mapping[str, str]:
        with serve.make_context("serve", list(options)) as context:
            return upstreams_in(context.params)

    assert found() == {"chat": "http://one"}
    assert found("--upstream", "/a=http://two") == {"chat": "http://one", "/a": "http://two"}
    assert found("--upstream", "messages=http://two") == {"messages": "http://two"}
