"""A worker that does what its only argument says; the protocol's tests run it."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

KEPT = "kept.txt"


def main(manner: str) -> None:
    for line in sys.stdin:
        MANNERS[manner](json.loads(line))


def reply(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def answers(request: Any) -> None:
    kept = request["messages"][-request["budget_tokens"] :]
    reply({"messages": kept, "cpu_ms": 1.5, "note": f"kept {len(kept)}"})


def refuses(request: Any) -> None:
    reply({"error": "it needs a network"})


def writes_garbage(request: Any) -> None:
    sys.stdout.write("Loading weights: 100%\n")
    sys.stdout.flush()


def writes_a_list(request: Any) -> None:
    reply([request])


def says_nothing_of_use(request: Any) -> None:
    reply({"cpu_ms": 1.0})


def dies(request: Any) -> None:
    raise RuntimeError("no more tokens")


def dies_once(request: Any) -> None:
    """Die on the first message `die`, and answer any other."""
    if request["messages"][0]["content"] == "die":
        os._exit(3)
    answers(request)


def hangs(request: Any) -> None:
    threading.Event().wait()


def leaves_a_child(request: Any) -> None:
    """Hang together with a child that holds the same pipes."""
    if os.fork() == 0:
        threading.Event().wait()
    threading.Event().wait()


def floods_errors(request: Any) -> None:
    for number in range(20_000):
        sys.stderr.write(f"warning {number}: " + "x" * 100 + "\n")
    sys.stderr.flush()
    answers(request)


def tells_its_surroundings(request: Any) -> None:
    said = {"environment": dict(os.environ), "folder": os.getcwd(), "home": str(Path.home())}
    (Path.home() / KEPT).write_text("scratch")
    reply({"messages": [said]})


MANNERS = {
    name: value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == "__main__" and name != "main"
}

if __name__ == "__main__":
    if sys.argv[1] == "deaf":
        threading.Event().wait()
    main(sys.argv[1])
