"""The examples run, and show what they say."""

from __future__ import annotations

import gzip
import html
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Session, check, compress
from holdfast.testing.model_server import ModelRequest, ModelServer, Reply, Sends

ROOT = Path(__file__).resolve().parents[1]


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
        folded = re.search(r"recall (hf-[0-9a-f]{10})", json.dumps(body["messages"]))
        if self.steps % FILES and not (self.recalled and self.steps > FILES):
            return self.calls("read_file", {"path": f"module_{self.steps % FILES}.txt"})
        if folded and not self.recalled:
            self.recalled = folded[1]
            return self.calls("holdfast_recall", {"ref": folded[1]})
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


def test_the_loop_in_the_readme_is_the_one_that_runs() -> None:
    """It is the end of the example, letter for letter."""
    (shown,) = re.findall(r"```py\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert (ROOT / "examples" / "agent_openai.py").read_text().endswith(shown)
    assert "while True:" in shown


def test_the_records_of_the_page_are_of_today() -> None:
    """They are what `docs/make_docs.py` would write."""
    page = (ROOT / "docs" / "summaries.md").read_text()
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "docs" / "make_docs.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.with_records(page) == page


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
