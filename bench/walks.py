"""The rooms that a value goes through: `python bench/walks.py [--rooms]`.

A message that is appended, a list that is followed, a request through a gateway in this process,
and a long result that a hook shortens. Each is done twice, and the second time is traced: files,
packages, changes of package, and with `--rooms` the packages in the order in which they were first
entered. Calls inside one package count once.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable
from inspect import CO_OPTIMIZED
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = str(ROOT / "src" / "foldaway") + os.sep
OUT = "WALK "
EACH = 2_000
"""Characters of a message."""


class Walk:
    """What was entered, in order."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.lock = threading.Lock()

    def look(self, frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        is_call = event == "call" and frame.f_code.co_flags & CO_OPTIMIZED  # no body of a module
        if is_call and name.startswith(SOURCE):
            with self.lock:
                self.files.append(name[len(SOURCE) :])

    def trace(self, step: Callable[[], object]) -> dict[str, Any]:
        """Return the walk of a step, also through threads that it begins."""
        threading.setprofile(self.look)
        sys.setprofile(self.look)
        try:
            step()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        return self.told()

    def told(self) -> dict[str, Any]:
        rooms = [room_of(name) for name in self.files]
        return {
            "files": len(set(self.files)),
            "packages": len(set(rooms)),
            "changes": sum(one != other for one, other in pairwise(rooms)),
            "rooms": list(dict.fromkeys(rooms)),
        }


def room_of(name: str) -> str:
    parts = name.split(os.sep)
    if parts[0] in ("agents", "gateway") and len(parts) > 2:
        return ".".join(parts[:2])
    return parts[0].removesuffix(".py")


def talk(steps: int) -> list[Any]:
    words = "the parser of the module fails at a line of its own; "
    found: list[Any] = [{"role": "user", "content": "Repair the parser."}]
    for number in range(steps):
        call = {"name": "read_file", "arguments": json.dumps({"path": f"src/m{number}.py"})}
        name = f"call_{number}"
        found += [
            {"role": "assistant", "content": None,
             "tool_calls": [{"id": name, "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": name, "content": (words * 50)[:EACH]},
        ]  # fmt: skip
    return found


def append() -> dict[str, Any]:
    from foldaway import Session

    with tempfile.TemporaryDirectory() as home:
        session = Session(home, "walk", context_length=100_000)
        session.append(*talk(3))
        return Walk().trace(lambda: session.append({"role": "user", "content": "And now?"}))


def follow() -> dict[str, Any]:
    from foldaway import Session

    with tempfile.TemporaryDirectory() as home:
        session = Session(home, "walk", context_length=100_000)
        session.follow(talk(3))
        return Walk().trace(lambda: session.follow(talk(4)))


def request() -> dict[str, Any]:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    from foldaway import Policy
    from foldaway.gateway.app import make_server
    from foldaway.gateway.options import GatewayOptions
    from foldaway.stores import open_store

    answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}}]}

    async def provide(_: object) -> JSONResponse:
        return JSONResponse(answer)

    provider = uvicorn.Server(
        uvicorn.Config(
            Starlette(routes=[Route("/{tail:path}", provide, methods=["POST"])]),
            port=0, log_level="error",
        )
    )  # fmt: skip
    walk = Walk()
    with tempfile.TemporaryDirectory() as home:
        upstream = serve(provider)
        threading.setprofile(walk.look)  # also in the threads of the gateway's pool
        policy = Policy(floor_tokens=1_000)
        options = GatewayOptions(
            upstreams={"": upstream}, context_length=16_000, policy=policy, deadlines=(20.0, 20.0)
        )
        gateway = make_server(open_store(home), options)
        at = serve(gateway)
        for steps in (30, 31):
            walk.files.clear()
            body = json.dumps({"model": "gpt-5", "messages": talk(steps)}).encode()
            headers = {"content-type": "application/json", "x-foldaway-session": "walk"}
            asked = urllib.request.Request(f"{at}/v1/chat/completions", body, headers)
            urllib.request.urlopen(asked, timeout=60).read()
        found = walk.told()
        threading.setprofile(None)
        gateway.should_exit = provider.should_exit = True
    return found


def serve(server: Any) -> str:
    """Start a server in a thread and return its address."""
    from foldaway.gateway.app import listen

    listening = listen("127.0.0.1", 0)
    threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


def hook() -> dict[str, Any]:
    """Trace a process of its own: a hook ends its process."""
    log = "\n".join(f"2026-01-01 INFO request {n} took {n % 97} ms" for n in range(1_200))
    with tempfile.TemporaryDirectory() as home:
        event = {
            "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "t",
            "session_id": "walk", "cwd": home, "transcript_path": f"{home}/none.jsonl",
            "tool_response": {"stdout": log, "stderr": ""},
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, __file__, "--in-hook", home], input=json.dumps(event).encode(),
            capture_output=True, check=True, env={**os.environ, "HOME": home},
        )  # fmt: skip
    line = next(one for one in done.stderr.decode().splitlines() if one.startswith(OUT))
    return json.loads(line.removeprefix(OUT))


def in_hook(home: str) -> None:
    walk = Walk()

    def leave(code: int) -> None:
        sys.setprofile(None)
        print(OUT + json.dumps(walk.told()), file=sys.stderr, flush=True)
        end(code)

    end, os._exit = os._exit, leave  # type: ignore[assignment]
    sys.argv = ["foldaway", "hook", "claude-code", "--home", home]
    sys.setprofile(walk.look)
    runpy.run_module("foldaway", run_name="__main__")


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rooms", action="store_true", help="the packages, in order")
    parser.add_argument("--in-hook", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.in_hook:
        in_hook(given.in_hook)
    walks = {
        "`Session.append`": append,
        "`Session.follow`": follow,
        "a request through the gateway": request,
        "a result that a hook shortens": hook,
    }
    print("| walk | files | packages | changes of package |\n| --- | --: | --: | --: |")
    for name, step in walks.items():
        found = step()
        print(f"| {name} | {found['files']} | {found['packages']} | {found['changes']} |")
        if given.rooms:
            print("\n" + " → ".join(found["rooms"]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
