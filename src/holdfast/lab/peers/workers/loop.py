"""The worker's side of the protocol: a request a line in, an answer a line out.

Runs on a peer's own Python: standard library only. What the peer prints goes to standard error,
at the level of file descriptors. Connections are refused: what needs a network fails here at once.
"""

from __future__ import annotations

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
    for line in sys.stdin.buffer:
        try:
            answer = compress(json.loads(line))
        except Cannot as reason:
            answer = {"error": str(reason)}
        except Exception as error:  # noqa: BLE001  a guest: whatever it raises is its answer
            answer = {"error": f"it raised {type(error).__name__}: {str(error)[:200]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returned, and its CPU in milliseconds."""
    start = time.process_time()
    made = call()
    return made, (time.process_time() - start) * 1e3


def _no_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise OSError("the lab runs peers without a network")
