"""The worker's side of the protocol: a request a line in, an answer a line out.

Runs on a peer's own Python: standard library only. What the peer prints goes to standard error,
at the level of file descriptors. Connections are refused: what needs a network fails here at once.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Answer = dict[str, Any]
"""`messages`, `cpu_ms`, `note`; `moves` is false where the budget had no part in it."""


class Cannot(Exception):
    """What a peer cannot do, in one sentence."""


def serve(compress: Callable[[dict[str, Any]], Answer]) -> None:
    """Answer requests until standard input ends; any exception of the peer is an error answer."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    logging.disable(logging.CRITICAL)
    sys.addaudithook(_no_network)
    with contextlib.suppress(Exception):  # what it imports late is no cost of a compaction
        compress(_warm_up_request())
    for line in sys.stdin.buffer:
        try:
            answer = compress(json.loads(line))
        except Cannot as reason:
            answer = {"error": str(reason)}
        except Exception as error:  # noqa: BLE001  a guest: whatever it raises is its answer
            said = (str(error).splitlines() or [""])[0][:200]
            answer = {"error": f"it raised {type(error).__name__}: {said}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _warm_up_request() -> dict[str, Any]:
    """Return a small request of every kind of message; no mode is one of a peer's own."""
    messages: list[Any] = []
    for number in range(8):
        function = {"name": "bash", "arguments": '{"command": "ls"}'}
        call = {"id": f"warm_{number}", "type": "function", "function": function}
        messages += [
            {"role": "user", "content": f"Look at part {number}."},
            {"role": "assistant", "content": "I look.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "part.py\n" * 200},
            {"role": "assistant", "content": f"Part {number} is there."},
        ]
    return {
        "messages": messages,
        "system": None,
        "budget_tokens": 500,
        "context_length": 200_000,
        "mode": "",
        "pressed": False,
    }


def measure_time(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returned, and its CPU in milliseconds."""
    start = time.process_time()
    made = call()
    return made, (time.process_time() - start) * 1e3


def _no_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise OSError("the lab runs peers without a network")
