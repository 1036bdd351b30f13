"""An agent under `foldaway run` has its terminal, its signals and its exit code to itself."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Steps = Callable[[Any], None]


def interrupts(one: Any) -> None:
    """Ctrl-C twice: the agent sees each once."""
    one.type("\x03")
    one.wait_for("SIGINT 1")
    one.type("\x03")


def resizes(one: Any) -> None:
    """A window that becomes larger."""
    one.resize(33, 99)
    one.wait_for("SIGWINCH 1 99 33")
    one.process.send_signal(signal.SIGTERM)


def sends(*names: str) -> Steps:
    """Return what sends signals to the process that was started."""

    def steps(one: Any) -> None:
        for name in names:
            one.process.send_signal(getattr(signal, name))
            one.wait_for(f"{name} 1")

    return steps


def types(keys: str) -> Steps:
    """Return what types keys."""
    return lambda one: one.type(keys)


def hangs_up(one: Any) -> None:
    """The terminal is closed."""
    one.close()


ALL = "SIGINT,SIGTERM,SIGHUP,SIGUSR1,SIGUSR2,SIGQUIT,SIGWINCH"
SCENES: dict[str, tuple[tuple[str, ...], Steps, int]] = {
    "Ctrl-C": (("watch", ALL), interrupts, 5),
    "Ctrl-C, not caught": (("wait",), types("\x03"), -signal.SIGINT),
    "Ctrl-backslash": (("wait",), types("\x1c"), -signal.SIGQUIT),
    "a resize": (("watch", ALL), resizes, 9),
    "signals of others": (
        ("watch", ALL), sends("SIGUSR1", "SIGHUP", "SIGQUIT", "SIGINT", "SIGUSR2", "SIGTERM"), 9,
    ),
    "a hang-up": (("wait",), hangs_up, -signal.SIGHUP),
}  # fmt: skip

OFTEN = ("Ctrl-C", "a resize", "signals of others")
"""Tried in every run; the others, which take as long, in the soak."""


@pytest.mark.parametrize("name", [
    name if name in OFTEN else pytest.param(name, marks=pytest.mark.soak) for name in SCENES
])  # fmt: skip
def test_keys_and_signals_do_what_they_do_without_it(screen: Any, name: str) -> None:
    """The agent sees the same, and whoever started it sees the same end."""
    arguments, steps, code = SCENES[name]
    seen: list[tuple[int, str]] = []
    for through in (False, True):
        one = screen(*arguments, through=through)
        one.wait_for("ready")
        steps(one)
        ended = one.process.wait(30) if one.master < 0 else one.end()
        seen.append((ended, one.seen))
    assert seen[1] == seen[0]
    assert seen[0][0] == code


@pytest.mark.soak
@pytest.mark.parametrize("through", [False, True])
def test_an_agent_is_suspended_and_goes_on(screen: Any, agent: Any, through: bool) -> None:
    """By a key and by itself: the shell takes the terminal, and `fg` gives it back."""
    shell = screen(through=through, shell=True)
    command, _ = agent("watch", "SIGCONT", through=through)
    shell.type(f"{shlex.join(command)}\n")
    shell.wait_for("ready\n")
    shell.type("\x1a")
    shell.wait_for("Stopped")
    shell.type("fg\n")
    shell.wait_for("SIGCONT 1")
    shell.type("\x1c")
    shell.wait_for("Quit")
    command, _ = agent("stop", through=through)
    shell.type(f"{shlex.join(command)}\n")
    shell.wait_for("Stopped", 2)
    shell.type("fg; echo code=$?\n")
    shell.wait_for("goes on\n")
    shell.wait_for("code=4")


@pytest.mark.soak
@pytest.mark.parametrize("code", [0, 1, 255])
def test_the_exit_code_is_the_agents(agent: Any, code: int) -> None:
    """Without a terminal too."""
    command, variables = agent("end", str(code), through=True)
    ended = subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, capture_output=True,
                           check=False)  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, b"", b"")


@pytest.mark.parametrize("name", ["SIGKILL", *(
    pytest.param(name, marks=pytest.mark.soak) for name in ("SIGSEGV", "SIGTERM", "SIGPIPE")
)])  # fmt: skip
def test_an_agent_that_a_signal_ends_ends_us_by_the_same(agent: Any, name: str) -> None:
    """A shell says `Killed`, as it does without us."""
    command, variables = agent("die", name, through=True)
    ended = subprocess.run(command, env=variables, capture_output=True, check=False)
    assert ended.returncode == -getattr(signal, name)


def test_pipes_are_the_agents_own(agent: Any) -> None:
    """Standard input and output are passed byte by byte, errors apart from them."""
    text = b"one\ntwo\n" * 10_000
    both = (agent("copy", through=through) for through in (False, True))
    found = [subprocess.run(command, env=variables, input=text, capture_output=True, check=True)
             for command, variables in both]  # fmt: skip
    assert [one.stdout for one in found] == [text, text]
    assert [one.stderr for one in found] == [b"copied\n", b"copied\n"]


@pytest.mark.soak
def test_a_reader_that_goes_away_ends_the_agent(agent: Any) -> None:
    """As in `agent | head`."""
    command, variables = agent("flood", through=True)
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        started.stdout.read(10)
        started.stdout.close()
        assert started.wait(30) == -signal.SIGPIPE


@pytest.mark.soak
@pytest.mark.parametrize("ignored", [(), (signal.SIGHUP,), (signal.SIGINT, signal.SIGQUIT)])
def test_the_agent_inherits_what_is_ignored(agent: Any, ignored: tuple[int, ...]) -> None:
    """`nohup` and a background job of a script say so; nothing is blocked."""

    def prepare() -> None:
        for one in ignored:
            signal.signal(one, signal.SIG_IGN)

    both = (agent("signals", through=through) for through in (False, True))
    found = [subprocess.run(command, env=variables, capture_output=True, check=True,
                            preexec_fn=prepare).stdout for command, variables in both]  # fmt: skip
    assert found[0] == found[1]
    assert all(str(int(one)) in found[0].decode().split() for one in ignored)


def test_an_agent_that_is_not_installed_is_named_with_the_remedy(agent: Any) -> None:
    """Exit code 2, and nothing is started."""
    command, variables = agent(through=True)
    ended = subprocess.run([*command[:-1], "qwen"], env={**variables, "PATH": os.devnull},
                           capture_output=True, text=True, check=False)  # fmt: skip
    assert ended.returncode == 2
    assert "npm install -g @qwen-code/qwen-code" in ended.stderr


def test_an_agent_that_takes_no_server_is_told_the_other_way(agent: Any) -> None:
    """Exit code 2, and nothing is started."""
    command, variables = agent(through=True)
    ended = subprocess.run([*command[:-1], "--recall", "gemini"], env=variables,
                           capture_output=True, text=True, check=False)  # fmt: skip
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "Gemini CLI takes no server at its start; run `foldaway install` once" in ended.stderr


def test_an_agent_that_cannot_be_started_is_an_error(agent: Any, tmp_path: Path) -> None:
    """As a program for another machine."""
    command, variables = agent(through=True)
    (tmp_path / "bin" / "gemini").write_bytes(b"\x7fELF")
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "gemini cannot be started (Exec format error)" in ended.stderr
