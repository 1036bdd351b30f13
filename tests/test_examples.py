"""The examples run, and show what they say."""

from __future__ import annotations

import gzip
import html
import importlib.util
import json
import os
import queue
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from foldaway import Session, check, compress
from foldaway.testing.model_server import ModelRequest, ModelServer, Reply, Sends, Waits

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_a_day_with_memory() -> None:
    """After a compaction and after a restart the port is known, and the note is in the prompt."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ran = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "memory_day.py")], env=env, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    morning, _, afternoon = ran.stdout.partition("afternoon\n")
    assert "compacted:" in morning
    assert "answer: Port 5433." in morning
    assert "answer: Port 5433." in afternoon
    assert "- Likes short answers." in afternoon


FILES = 12
"""More than a window of 9,000 tokens holds of them."""


class ScriptedAgent:
    """A model in a script, behind its provider's protocol: it reads one file after the other, then
    asks for what was folded first, and ends.
    """

    def __init__(self, api: str) -> None:
        self.api, self.steps, self.recalled = api, 0, ""
        self.sizes: list[int] = []

    def __call__(self, request: ModelRequest) -> Reply:
        body: Any = request.body
        assert check(body["messages"], dialect=self.api) == []
        self.sizes.append(len(request.raw))
        self.steps += 1
        folded = re.search(r"recall (fa-[0-9a-f]{10})", json.dumps(body["messages"]))
        if self.steps % FILES and not (self.recalled and self.steps > FILES):
            return self.calls("read_file", {"path": f"module_{self.steps % FILES}.txt"})
        if folded and not self.recalled:
            self.recalled = folded[1]
            return self.calls("foldaway_recall", {"ref": folded[1]})
        return self.says("All is read.", stream=bool(body.get("stream")))

    def calls(self, name: str, arguments: dict[str, str]) -> Reply:
        one = f"call_{self.steps}"
        if self.api == "anthropic":
            block = {"type": "tool_use", "id": one, "name": name, "input": arguments}
            return Sends(body=self._message([block], "tool_use"))
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": one, "type": "function", "function": function}
        return self._completion({"content": None, "tool_calls": [call]}, "tool_calls")

    def says(self, text: str, *, stream: bool) -> Reply:
        if self.api == "anthropic":
            return Sends(body=self._message([{"type": "text", "text": text}], "end_turn"))
        return self._completion({"content": text}, "stop")

    def _message(self, blocks: list[Any], reason: str) -> dict[str, Any]:
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": blocks,
            "stop_reason": reason, "stop_sequence": None,
            "usage": {"input_tokens": self.sizes[-1] // 4, "output_tokens": 9},
        }  # fmt: skip

    def _completion(self, message: dict[str, Any], reason: str) -> Reply:
        usage = {"prompt_tokens": self.sizes[-1] // 4, "completion_tokens": 9, "total_tokens": 9}
        head = {"id": "c1", "created": 1, "model": "m"}
        said = {"role": "assistant", **message}
        if not self.is_stream:
            choice = {"index": 0, "finish_reason": reason, "message": said}
            return Sends(body={**head, "object": "chat.completion", "choices": [choice],
                               "usage": usage})  # fmt: skip
        for at, call in enumerate(said.get("tool_calls", [])):
            call["index"] = at
        chunks = [
            {**head, "object": "chat.completion.chunk",
             "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
            for delta, end in ((said, None), ({}, reason))
        ]  # fmt: skip
        lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
        return Sends(
            body=f"{lines}data: [DONE]\n\n".encode(),
            headers={"content-type": "text/event-stream"},
        )

    is_stream = False


def leave_a_call_open(folder: Path, name: str) -> None:
    """Do what an agent does that is killed while its tool runs."""
    use = {"type": "tool_use", "id": "open", "name": "read_file", "input": {}}
    function = {"name": "read_file", "arguments": "{}"}
    call = {"id": "open", "type": "function", "function": function}
    said = {"content": [use]} if name == "anthropic" else {"content": None, "tool_calls": [call]}
    own = folder / "conversation.json"
    if own.exists():
        own.write_text(json.dumps([*json.loads(own.read_text()), {"role": "assistant", **said}]))
    else:
        Session(folder / "agent.db", f"{name}-agent").append({"role": "assistant", **said})


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    "openai",
    *(pytest.param(name, marks=pytest.mark.soak) for name in ("follow", "anthropic", "async")),
])  # fmt: skip
def test_an_agent_loop_compacts_restarts_and_recalls(name: str, tmp_path: Path) -> None:
    """Each runs twice against a server on loopback: what it sends is always valid and fits, and
    the second run goes on with the first one's conversation, whose last call a crash left open.
    A file that does not exist is no reason to end."""
    pytest.importorskip("anthropic" if name == "anthropic" else "openai")
    for number in range(2, FILES):
        words = f"module_{number} does step {number} of the work, and not more. " * 60
        (tmp_path / f"module_{number}.txt").write_text(words)
    agent = ScriptedAgent("anthropic" if name == "anthropic" else "openai-chat")
    agent.is_stream = name == "async"
    outputs: list[str] = []
    with ModelServer(agent) as server:
        env = {
            **os.environ, "PYTHONPATH": str(ROOT / "src"), "WINDOW": "9000",
            "OPENAI_BASE_URL": server.openai_url, "OPENAI_API_KEY": "none",
            "ANTHROPIC_BASE_URL": server.anthropic_url, "ANTHROPIC_API_KEY": "none",
        }  # fmt: skip
        for ask in ("Read all modules.", "And again, please."):
            ran = subprocess.run(
                [sys.executable, str(ROOT / "examples" / f"agent_{name}.py"), ask], env=env,
                capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path,
            )  # fmt: skip
            assert ran.returncode == 0, ran.stderr
            outputs.append(ran.stdout)
            leave_a_call_open(tmp_path, name)
        last = json.dumps(server.requests[-1].body["messages"])
    assert all(output.endswith("All is read.\n") for output in outputs)
    assert agent.recalled
    assert "And again, please." in last
    assert max(agent.sizes) // 4 < 9_000
    assert agent.steps > FILES + 1


class Platform:
    """A messaging platform: it runs one process of the example, posts to it, and gets replies."""

    def __init__(self, folder: Path, model: ModelServer) -> None:
        self.replies: queue.Queue[str] = queue.Queue()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._taking = threading.Thread(target=self._server.serve_forever)
        self._taking.start()
        self._env = {
            **os.environ, "PYTHONPATH": str(ROOT / "src"), "STORE": str(folder / "chats.db"),
            "REPLY_URL": f"http://127.0.0.1:{self._server.server_port}/", "WINDOW": "9000",
            "OPENAI_BASE_URL": model.openai_url, "OPENAI_API_KEY": "none",
        }  # fmt: skip
        self.start()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        replies = self.replies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                said = json.loads(self.rfile.read(int(self.headers["content-length"])))
                assert said["chat"] == "/chat/ann"
                replies.put(said["text"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler

    def start(self) -> None:
        self._host = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "--app-dir", str(ROOT / "examples"), "--port", "0",
             "messaging:app"],
            env=self._env, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._host.stderr is not None
        ready = (re.search(r"running on (\S+)", line) for line in self._host.stderr)
        self._address = next(found[1] for found in ready if found)

    def post(self, name: str, text: str) -> None:
        body = json.dumps({"id": name, "text": text}).encode()
        request = urllib.request.Request(f"{self._address}/chat/ann", body)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200

    def kill(self) -> None:
        self._host.kill()
        self._host.communicate()

    def close(self) -> None:
        self.kill()
        self._server.shutdown()
        self._taking.join()
        self._server.server_close()


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def platform(tmp_path: Path, model: ModelServer) -> Iterator[Platform]:
    made = Platform(tmp_path, model)
    yield made
    made.close()


def test_the_messaging_host_is_short() -> None:
    """A person reads it on one screen and a half."""
    assert len((ROOT / "examples" / "messaging.py").read_text().splitlines()) <= 60


@pytest.mark.slow
def test_the_messaging_host_is_steered_and_takes_commands(
    platform: Platform, model: ModelServer
) -> None:
    """What is posted again is answered once; what comes in the middle of a turn is in its next
    step; `/compress` and `/new` are answered by the host, and the second begins anew."""
    asked, go_on = threading.Event(), threading.Event()
    agent = ScriptedAgent("openai-chat")

    def says(request: ModelRequest) -> Reply:
        messages = request.body["messages"]
        assert check(messages, dialect="openai-chat") == []
        agent.sizes.append(len(request.raw))
        agent.steps += 1
        if messages[-1]["content"] == "Find the valves.":
            asked.set()
            call = agent.calls("foldaway_search", {"query": "valves"})
            assert isinstance(call, Sends)
            return Waits(go_on, call)
        said = " | ".join(one["content"] for one in messages if one["role"] == "user")
        return agent.says(said, stream=False)

    model.replies(says)
    platform.post("1", "Find the valves.")
    assert asked.wait(60)
    platform.post("2", "Only the blue ones.")
    platform.post("2", "Only the blue ones.")
    go_on.set()
    assert platform.replies.get(timeout=60) == "Find the valves. | Only the blue ones."
    roles = [one["role"] for one in model.requests[-1].body["messages"]]
    assert roles == ["user", "assistant", "tool", "user"]
    platform.post("3", "/compress")
    assert "fold" in platform.replies.get(timeout=60)
    platform.post("4", "/new")
    assert platform.replies.get(timeout=60).startswith("A new conversation")
    platform.post("5", "Hello.")
    assert platform.replies.get(timeout=60) == "Hello."
    assert platform.replies.empty()


@pytest.mark.slow
def test_the_next_messaging_host_answers_what_a_killed_one_left(
    platform: Platform, model: ModelServer
) -> None:
    """Nobody posts it again: it was acknowledged."""
    asked = threading.Event()

    def says(request: ModelRequest) -> Reply | str:
        if not asked.is_set():
            asked.set()
            return Waits(threading.Event())
        (message,) = request.body["messages"]
        return f"Yes: {message['content']}"

    model.replies(says)
    platform.post("1", "Are you there?")
    assert asked.wait(60)
    platform.kill()
    platform.start()
    assert platform.replies.get(timeout=60) == "Yes: Are you there?"


def test_the_loop_in_the_readme_is_the_one_that_runs() -> None:
    """It is the end of the example, letter for letter."""
    (shown,) = re.findall(r"```py\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert (ROOT / "examples" / "agent_openai.py").read_text().endswith(shown)
    assert "while True:" in shown


@pytest.mark.slow
def test_the_records_of_the_page_are_of_today() -> None:
    """They are what `docs/make_docs.py` would write."""
    page = (ROOT / "docs" / "summaries.md").read_text()
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "docs" / "make_docs.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.with_records(page) == page


@pytest.mark.slow
def test_the_figures_and_the_picture_of_the_readme_are_of_today() -> None:
    """The number of the opening, its example and docs/compaction.md are those of the run; the
    picture shows what `docs/make_docs.py` would draw."""
    session = json.loads(gzip.decompress((ROOT / "examples" / "session.json.gz").read_bytes()))
    report = compress(session, context_length=64_000).report
    page = (ROOT / "README.md").read_text()
    assert f"{report.tokens_before:,} tokens, becomes {report.tokens_after:,} in" in page
    assert f"# {report.headline}\n" in page
    assert report.headline in (ROOT / "docs" / "compaction.md").read_text()
    drawn = (ROOT / "docs" / "pictures" / "compress.svg").read_text()
    smaller = compress(session, target_tokens=12_000).report.headline
    assert smaller in html.unescape(drawn).replace("\xa0", " ")
