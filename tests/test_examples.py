"""The examples run, and show what they say."""

from __future__ import annotations

import ast
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
import tomllib
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from foldaway import Session, check, compress
from foldaway.testing import ModelRequest, ModelServer, Reply, Sends, Waits

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


SYSTEM = "You read code, and answer in short sentences."
FILES = 12
"""More than a window of 9,000 tokens holds of them."""


class ScriptedAgent:
    """A model in a script, behind its provider's protocol: it reads one file after the other, then
    asks for what was folded first, and ends. In a chat it has no files to read.
    """

    def __init__(self, api: str, *, has_files: bool = True) -> None:
        self.api, self.has_files, self.steps, self.recalled = api, has_files, 0, ""
        self.sizes: list[int] = []
        self.is_stream = False

    def __call__(self, request: ModelRequest) -> Reply:
        body: Any = request.body
        assert check(body["messages"], dialect=self.api) == []
        said = [one["content"] for one in body["messages"] if one["role"] == "system"]
        assert [*said, *([body["system"]] if "system" in body else [])] == [SYSTEM]
        self.sizes.append(len(request.raw))
        self.steps += 1
        self.is_stream = body.get("stream", False)
        folded = re.search(r"recall (fa-[0-9a-f]{10})", json.dumps(body["messages"]))
        is_through = self.recalled and self.steps > FILES
        if self.has_files and self.steps % FILES and not is_through:
            return self.calls("read_file", {"path": f"module_{self.steps % FILES}.txt"})
        if folded and not self.recalled:
            self.recalled = folded[1]
            return self.calls("foldaway_recall", {"ref": folded[1]})
        return self.says("All is read.")

    def calls(self, name: str, arguments: dict[str, str]) -> Reply:
        one = f"call_{self.steps}"
        if self.api == "anthropic":
            block = {"type": "tool_use", "id": one, "name": name, "input": arguments}
            return self._message(block, "tool_use")
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": one, "type": "function", "function": function}
        return self._completion({"content": None, "tool_calls": [call]}, "tool_calls")

    def says(self, text: str) -> Reply:
        if self.api == "anthropic":
            return self._message({"type": "text", "text": text}, "end_turn")
        return self._completion({"content": text}, "stop")

    def _message(self, block: dict[str, Any], reason: str) -> Reply:
        head = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "usage": {"input_tokens": self.sizes[-1] // 4, "output_tokens": 9},
        }  # fmt: skip
        end = {"stop_reason": reason, "stop_sequence": None}
        if not self.is_stream:
            return Sends(body={**head, **end, "content": [block]})
        if block["type"] == "text":
            begun, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            written = json.dumps(block["input"])
            begun, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": written}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**head, "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {**block, **begun}},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
        ]
        lines = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events]
        return Sends(body="".join(lines).encode(), headers={"content-type": "text/event-stream"})

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
        chunks.append({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
        return Sends(
            body=f"{lines}data: [DONE]\n\n".encode(), headers={"content-type": "text/event-stream"}
        )


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


def run_example(name: str, server: ModelServer, folder: Path, *asks: str, typed: str = "") -> str:
    env = {
        **os.environ, "PYTHONPATH": str(ROOT / "src"), "WINDOW": "9000",
        "OPENAI_BASE_URL": server.openai_url, "OPENAI_API_KEY": "none",
        "ANTHROPIC_BASE_URL": server.anthropic_url, "ANTHROPIC_API_KEY": "none",
    }  # fmt: skip
    ran = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), *asks], input=typed, env=env,
        capture_output=True, text=True, timeout=120, check=False, cwd=folder,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    "openai",
    *(pytest.param(name, marks=pytest.mark.soak) for name in ("follow", "anthropic")),
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
    outputs: list[str] = []
    with ModelServer(agent) as server:
        for ask in ("Read all modules.", "And again, please."):
            outputs.append(run_example(f"agent_{name}.py", server, tmp_path, ask))
            leave_a_call_open(tmp_path, name)
        last = json.dumps(server.requests[-1].body["messages"])
    assert all(output.endswith("All is read.\n") for output in outputs)
    assert agent.recalled
    assert "And again, please." in last
    assert max(agent.sizes) // 4 < 9_000
    assert agent.steps > FILES + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_chat_streams_compacts_restarts_and_recalls(name: str, tmp_path: Path) -> None:
    """Every answer is printed, every request is valid and fits, the second run goes on with the
    first one's conversation, and what the provider counted is known."""
    pytest.importorskip(name)
    agent = ScriptedAgent("anthropic" if name == "anthropic" else "openai-chat", has_files=False)
    words = "does a step of the work, and not more. " * 60
    lines = [f"Module {number} {words}" for number in range(2 * FILES)]
    with ModelServer(agent) as server:
        for typed in ("\n".join(lines), "And again, please."):
            said = run_example(f"chat_{name}.py", server, tmp_path, typed=typed)
            assert said == "All is read.\n" * len(typed.splitlines())
        last = json.dumps(server.requests[-1].body["messages"])
    assert agent.recalled
    assert agent.is_stream
    assert "And again, please." in last
    assert max(agent.sizes) // 4 < 9_000
    session = Session(tmp_path / "chat.db", "openai" if name == "openai" else "claude")
    used = [row.input_tokens for row in session.store.usage(session.id)]
    assert used == [size // 4 for size in agent.sizes]


def test_the_example_agents_are_short() -> None:
    """A person reads one at a glance: at most 40 lines each, with a system prompt."""
    for pattern in ("agent_*.py", "chat_*.py"):
        for path in (ROOT / "examples").glob(pattern):
            text = path.read_text()
            assert len(text.splitlines()) <= 40, path
            assert SYSTEM in text, path


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


def test_the_install_line_of_the_messaging_host_brings_what_it_imports() -> None:
    """By its own names and extras: what another package brings today may be gone tomorrow."""
    page, project = (ROOT / name for name in ("docs/messaging.md", "pyproject.toml"))
    found = re.search(r"pip install '(\w+)\[(.+)\]'(.*)", page.read_text())
    assert found is not None
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    wants = [one for extra in found[2].split(",") for one in extras[extra]]
    named = {re.split(r"[^\w-]", one)[0] for one in (*found[3].split(), *wants)}
    tree = ast.parse((ROOT / "examples" / "messaging.py").read_text())
    modules = {one.module for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)}
    modules |= {
        name.name for one in ast.walk(tree) if isinstance(one, ast.Import) for name in one.names
    }
    tops = {str(one).partition(".")[0] for one in modules} - sys.stdlib_module_names - {found[1]}
    brought = packages_distributions()
    assert {one for one in tops if named.isdisjoint(brought.get(one, ()))} == set()


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
        return agent.says(said)

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
    assert "session.send(" in shown


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
    drawn = (ROOT / "docs" / "pictures" / "compact.svg").read_text()
    assert report.headline in html.unescape(drawn).replace("\xa0", " ")
