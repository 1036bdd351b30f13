"""Which tool of the MCP server a model chooses that has never seen them, and with what arguments.

    python bench/tool_choice.py --url http://127.0.0.1:8080/v1 --model mine
    .venv/model/bin/python bench/tool_choice.py --weights .venv/model/weights.gguf

Each task is asked by itself, with our tools, the server's instructions, and a shell and a file
reader beside them, as a coding agent has them. tool_choice.toml has the tasks. Needs an endpoint of
chat completions, or the model of `make demo-model` on this machine.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import urllib.request
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

import demo_model
from foldaway.agents.mcp_server import INSTRUCTIONS
from foldaway.sessions.tools import TOOLS

SYSTEM = f"You are a coding agent in /home/me/shop. Call a tool to answer. {INSTRUCTIONS}"
OTHERS = {
    "shell": ("Run a command in the user's shell and return its output.", "command"),
    "read_file": ("Return the content of a file in the project.", "path"),
}
CALL = re.compile(r"\{.*\}", re.DOTALL)


class Task(Struct, frozen=True):
    """What a user asks, and what must be called: the tools that will do, and words in its call."""

    ask: str
    tools: tuple[str, ...]
    has: tuple[str, ...] = ()


class Choice(Struct, frozen=True):
    """What was called."""

    tool: str
    given: str

    def is_right(self, task: Task) -> bool:
        """Whether it is a tool that will do, with everything that the task has."""
        is_wanted = self.tool.removeprefix("foldaway_sessions_") in task.tools
        return is_wanted and all(word.lower() in self.given.lower() for word in task.has)


TASKS = msgspec.toml.decode(
    Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, list[Task]]
)["tasks"]


def offered() -> list[dict[str, Any]]:
    """Return the tools in the form of chat completions."""
    ours = [(one.name, one.description, one.parameters) for one in TOOLS]
    others = [
        (name, text, {"type": "object", "required": [key], "properties": {key: {"type": "string"}}})
        for name, (text, key) in OTHERS.items()
    ]
    return [
        {"type": "function", "function": {"name": name, "description": text, "parameters": fields}}
        for name, text, fields in (*ours, *others)
    ]  # fmt: skip


def choose(url: str, model: str, ask: str) -> Choice:
    body = {
        "model": model, "temperature": 0, "max_tokens": 96, "tools": offered(),
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ask}],
    }  # fmt: skip
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer none"},
    )  # fmt: skip
    with urllib.request.urlopen(request, timeout=3600) as answer:
        said = json.loads(answer.read())["choices"][0]["message"]
    for call in said.get("tool_calls") or ():
        return Choice(call["function"]["name"], call["function"]["arguments"])
    found = CALL.search(said.get("content") or "")  # small models write the call as text
    try:
        table = json.loads(found[0]) if found else {}
    except ValueError:
        table = {}
    return Choice(str(table.get("name", "")), json.dumps(table.get("arguments", said["content"])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--url", default="")
    parser.add_argument("--model", default="local")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    url, server = given.url, None
    if not url:
        options = argparse.Namespace(
            weights=given.weights, window=6144, threads=given.threads, model=given.model,
            temperature=0.0,
        )  # fmt: skip
        server, url = demo_model._serve(options)
    print("| task | called | with | seconds | right |\n| --- | --- | --- | ---: | --- |")
    right = 0
    for task in TASKS:
        began = time.monotonic()
        made = choose(url, given.model, task.ask)
        right += made.is_right(task)
        name = made.tool.removeprefix("foldaway_sessions_") or "nothing"
        print(f"| {task.ask} | {name} | `{made.given[:120]}` | {time.monotonic() - began:.0f} | "
              f"{'yes' if made.is_right(task) else 'no'} |", flush=True)  # fmt: skip
    print(f"\n{right} of {len(TASKS)} right")
    del server
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
