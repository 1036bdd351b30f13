"""`foldaway chat` in a real pseudo-terminal, against a real HTTP server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foldaway import check, open_store
from foldaway.cli import run
from foldaway.sessions import internals
from foldaway.sessions.session import Session
from foldaway.stores.values import SessionFilter
from foldaway.testing import ModelRequest, ModelServer, Reply, Says, Trickles, Waits, openai_error
from foldaway.transcript import texts

from ..running.conftest import Screen
from .conftest import calls

pytestmark = pytest.mark.slow

PROMPT = "› "
SUMMARY = json.dumps({"completed": [{"text": "Numbered questions were answered.", "source": ""}]})
CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")

Start = Callable[..., Any]


class Terminal(Screen):
    """A chat in a terminal: lines are typed when it asks for one."""

    def __init__(self, command: list[str], variables: dict[str, str], columns: int) -> None:
        super().__init__(command, variables)
        self.resize(30, columns)
        self._asked = self._placed = 0

    def _read(self, seconds: float) -> bool:
        """Say where the cursor is when that is asked, as terminals do."""
        found = super()._read(seconds)
        asked = self.seen.count("\x1b[6n")
        if asked > self._placed and self.process.poll() is None:
            self.type("\x1b[5;1R")
        self._placed = asked
        return found

    def say(self, words: str) -> None:
        """Type a line at the next prompt."""
        self.ready()
        self.type(f"{words}\r")

    def ready(self) -> None:
        """Wait until it asks for a line: bracketed paste is on only at a prompt."""
        self._asked += 1
        self.wait_for("\x1b[?2004h", self._asked)

    @property
    def text(self) -> str:
        """What was shown, without the codes of the terminal."""
        return CODES.sub("", self.seen)


@pytest.fixture
def start(own_home: Path) -> Iterator[Start]:
    """Start `foldaway chat` in a terminal; what is left is killed."""
    made: list[Terminal] = []

    def begin(*arguments: object, columns: int = 80) -> Terminal:
        variables = {**os.environ, "TERM": "xterm-256color", "PYTHONWARNINGS": "error"}
        command = [sys.executable, "-m", "foldaway", "chat", *map(str, arguments)]
        made.append(Terminal(command, variables, columns))
        return made[-1]

    yield begin
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()
        one.close()


def on(server: ModelServer, *more: object) -> list[object]:
    """Return the options for the server, with a small window and a summarizer of its own."""
    os.environ["CHAT_KEY"] = "not-a-key"
    return [
        "--model", "openai:model", "--base-url", server.openai_url, "--context-length", 20_000,
        "--config", small_windows(), *more,
    ]  # fmt: skip


def small_windows() -> Path:
    """Return a settings file that lets small windows be compacted."""
    file = Path("small.toml")
    file.write_text("[compression]\nfloor_tokens = 1000\n")
    return file


def said() -> list[tuple[str, str]]:
    """Return who said what in the session that was used last, from the store."""
    with open_store(Path("home") / "sessions") as store:
        (info,) = store.sessions(SessionFilter(), most=1).sessions
        session = Session.open(store, info.id)
        assert check(session.messages, provider="openai-chat") == []
        log = internals(session).engine.log.messages
    return [(one.role, "\n".join(texts(one))) for one in log if one.role != "system"]


def last_ask(request: ModelRequest) -> str:
    asks = [one for one in request.body["messages"] if one["role"] == "user"]
    return str(asks[-1]["content"])


def test_the_demo_compacts_within_its_story(start: Start) -> None:
    """Pressing Enter is enough, and afterwards nothing is left of it."""
    chat = start("--demo")
    for _ in range(4):
        chat.say("")
    chat.wait_for("Compacted:")
    chat.say("/tree")
    chat.ready()
    chat.wait_for("4.0k")  # the status line, drawn when the terminal has said where the cursor is
    chat.type("\x04")
    assert chat.end() == 0
    assert not (Path("home") / "sessions").exists()


def test_an_interrupted_stream_is_kept_and_the_chat_goes_on(
    server: ModelServer, start: Start
) -> None:
    """Ctrl-C in the middle of an answer; what was on the screen is in the store."""
    server.replies(
        lambda request: Trickles(Says("flood " * 9_000), 0.0001)
        if "slow" in last_ask(request) else "quick answer"
    )  # fmt: skip
    chat = start(*on(server))
    chat.say("a slow one")
    chat.wait_for("flood flood")
    for _ in range(5):  # an impatient one, also while the turn ends
        chat.process.send_signal(signal.SIGINT)
    chat.wait_for("what was said until here is kept")
    for _ in range(20):
        chat.process.send_signal(signal.SIGINT)
    chat.say("now a quick one")
    chat.wait_for("quick answer")
    chat.ready()
    chat.type("\x04")
    assert chat.end() == 0
    roles = said()
    assert [role for role, _ in roles] == ["user", "assistant", "user", "assistant"]
    assert roles[1][1].startswith("flood flood")
    assert len(roles[1][1]) < 6 * 9_000
    assert chat.text.count("flood") >= roles[1][1].count("flood")


def test_a_killed_chat_is_resumed_where_it_was(server: ModelServer, start: Start) -> None:
    """kill -9 while an answer is awaited: the message is there, and an empty line asks again."""
    server.replies(Waits(threading.Event()))
    chat = start(*on(server))
    chat.say("remember the number 4711")
    while not server.requests:
        chat._read(0.05)
    chat.process.send_signal(signal.SIGKILL)
    chat.end()
    assert said() == [("user", "remember the number 4711")]
    server.replies("it is 4711")
    again = start(*on(server, "--resume"))
    again.wait_for("no answer yet")
    again.say("")
    again.wait_for("it is 4711")
    again.say("/quit")
    assert again.end() == 0
    assert said() == [("user", "remember the number 4711"), ("assistant", "it is 4711")]


def test_a_command_runs_only_if_the_user_says_so(server: ModelServer, start: Start) -> None:
    """No, yes, and always for the same command."""

    def script(request: ModelRequest) -> Reply | str:
        if request.body["messages"][-1]["role"] == "tool":
            return f"finished {len(server.requests)}"
        return calls("shell", {"command": "echo mark >> ran"}, len(server.requests))(request)

    server.replies(script)
    chat = start(*on(server))
    for number, answer in enumerate(("n", "y", "a")):
        chat.say(f"run {number}")
        chat.wait_for("lways this command?", number + 1)
        chat.say(answer)
        chat.wait_for(f"finished {2 * number + 2}")
        assert Path("ran").exists() == (answer != "n")
    chat.say("and again")
    chat.wait_for("finished 8")
    assert Path("ran").read_text() == "mark\n" * 3
    chat.say("/quit")
    assert chat.end() == 0


def test_nothing_that_is_said_controls_the_terminal(server: ModelServer, start: Start) -> None:
    """Neither an answer, nor a result, nor a title; an escape is shown as a sign."""
    evil = "\x1b]0;owned\x07\x1b[2Jdone\u202e"
    server.replies(evil)
    chat = start(*on(server))
    chat.say("speak")
    chat.wait_for("done")
    chat.say(f"/title {evil[:-1]}".replace("\x1b", "\x16\x1b"))
    chat.say("/tree")
    chat.say("/quit")
    assert chat.end() == 0
    assert "\x1b]0;owned" not in chat.seen
    assert "\x1b[2Jdone" not in chat.seen
    assert "\u202e" not in chat.seen


@pytest.mark.soak
def test_a_smaller_model_is_compacted_for_before_it_is_asked(
    server: ModelServer, start: Start
) -> None:
    """`/model` to a window that the conversation does not fit."""
    server.replies(lambda request: f"answer {len(server.requests)} " + "with words " * 300)
    chat = start(*on(server))
    for number in range(8):
        chat.say(f"question {number}")
        chat.wait_for(f"answer {number + 1} ")
    before = len(server.requests[-1].raw)
    chat.say("/model small 6000")
    chat.say("one more")
    chat.wait_for("answer 9 ")
    assert "Compacted:" in chat.text
    assert server.requests[-1].body["model"] == "small"
    assert len(server.requests[-1].raw) < before
    chat.say("/quit")
    assert chat.end() == 0
    assert len(said()) == 18


def test_lines_of_a_pipe_are_turns(server: ModelServer) -> None:
    """Plain text on standard output, and nothing else."""
    server.replies(lambda request: f"heard {last_ask(request)}")
    command = [sys.executable, "-m", "foldaway", "chat", *map(str, on(server))]
    done = subprocess.run(command, input="one\n/title Two\nthree\n", capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "heard one"
    assert done.stdout.splitlines()[-1] == "heard three"
    assert "\x1b" not in done.stdout + done.stderr
    assert "shell" not in str(server.requests[0].body["tools"])


def test_a_chat_in_which_nothing_is_said_ends_well() -> None:
    """An empty pipe has no line; there is nothing to keep, and nothing to take away."""
    command = [sys.executable, "-m", "foldaway", "chat", "--demo"]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=60, check=False)
    assert (done.returncode, b"foldaway:" in done.stderr) == (0, False)


def test_an_interrupt_ends_a_chat_without_a_terminal() -> None:
    """At once, also while it waits for its first line."""
    command = [sys.executable, "-m", "foldaway", "chat", "--demo"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as chat:
        assert chat.stderr is not None
        assert b"a scripted model" in chat.stderr.readline()
        chat.send_signal(signal.SIGINT)
        assert chat.wait(30) == 130
        assert b"stopped" in chat.stderr.read()


MISTAKES: dict[str, tuple[list[str], str]] = {
    "no model": ([], "try `foldaway chat --demo`"),
    "no key": (["--model", "openai:model"], "OPENAI_API_KEY"),
    "no session": (["--model", "openai:model", "--base-url", "http://127.0.0.1:9/v1",
                    "--resume", "nothing"], "nothing"),
    "no servers": (["--model", "openai:model", "--base-url", "http://127.0.0.1:9/v1",
                    "--mcp", "missing.json"], "missing.json"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 2, and what to do."""
    monkeypatch.delenv("OPENAI_API_KEY")
    arguments, words = MISTAKES[name]
    assert run(["chat", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


@pytest.mark.soak
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_two_hundred_turns_lose_nothing(server: ModelServer, start: Start, columns: int) -> None:
    """With compactions in the background, Ctrl-C in streams and in a compaction, kill -9, a switch
    to a smaller window, and a summarizer that fails: every message that was taken is in the store,
    in order, and the server got no request that breaks a rule.
    """
    held = threading.Event()
    held.set()
    broken = threading.Event()

    def script(request: ModelRequest) -> Reply | str:
        if request.body["model"] == "writer":
            if broken.is_set():
                return openai_error(500, "broken")
            return Waits(held, Says(SUMMARY))
        ask = last_ask(request)
        number = max(map(int, re.findall(r"question (\d+)", ask)))  # memory recalls older ones
        if f"question {number} slow" in ask:
            return Trickles(Says(f"answer {number} " + "drop by drop " * 3_000), 0.0002)
        if f"question {number} stuck" in ask:
            return Waits(threading.Event())
        return f"answer {number}: " + "all of it in order and at length " * 40

    server.replies(script)
    options = on(
        server, "--summarizer", "openai:writer", "--summarizer-url", server.openai_url,
        "--summarizer-key-variable", "OPENAI_API_KEY", "--key-variable", "OPENAI_API_KEY",
    )  # fmt: skip
    chat, typed, shown = start(*options, columns=columns), list[str](), ""

    def ask(number: int, kind: str = "") -> None:
        typed.append(f"question {number} {kind}".strip())
        chat.say(typed[-1])

    for number in range(200):
        if number % 20 == 7:
            ask(number, "slow")
            chat.wait_for(f"answer {number} ")
            stops = chat.seen.count("is kept")
            chat.type("\x03")
            chat.wait_for("is kept", stops + 1)
        elif number % 50 == 30:
            ask(number, "stuck")
            while typed[-1] not in last_ask(server.requests[-1]):
                chat._read(0.05)
            chat.process.send_signal(signal.SIGKILL)
            chat.end()
            shown += chat.text
            chat = start(*options, "--resume", columns=columns)
            chat.wait_for("no answer yet")
        elif number == 90:  # a compaction that is stopped
            held.clear()
            asked = len(server.requests)
            chat.say("/compress --force")
            while len(server.requests) == asked:
                chat._read(0.05)
            chat.type("\x03")
            chat.wait_for("nothing was changed")
            held.set()
            ask(number)
            chat.wait_for(f"answer {number}:")
        else:
            if number == 110:
                chat.say("/model smaller 9000")
            if number in (140, 160):
                (broken.set if number == 140 else broken.clear)()
            ask(number)
            chat.wait_for(f"answer {number}:")
    chat.say("/quit")
    assert chat.end() == 0
    shown += chat.text
    assert "A summary is ready" in shown
    # the conversation's own model is asked next; here it answers as if it were in the talk
    assert "The summarizer failed (bad answer)" in shown
    log = said()
    assert [words for role, words in log if role == "user"] == typed
    answers = [words for role, words in log if role == "assistant"]
    assert len(answers) == 200 - 4  # the four that were killed
    with open_store(Path("home") / "sessions") as store:
        (info,) = store.sessions(SessionFilter(), most=1).sessions
    assert info.compactions >= 5
    assert {request.body["model"] for request in server.requests} == {"model", "smaller", "writer"}
