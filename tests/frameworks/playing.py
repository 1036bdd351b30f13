"""One phase of the scenario in an agent of a framework: what every driver shares.

A driver is a script `drivers/NAME.py` that runs in the environment of its framework. It gives
`play` a function from a `Case` to an agent: an object with `ask`, `aask` and `stream`, each from
what the user says to what the model says last.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEXT_CHARS = 6_000
"""Of a file that the model reads; sixteen of them fill the window of the scenario."""


@dataclass(frozen=True)
class Case:
    """What a driver is started with."""

    url: str
    """The stub provider, without /v1."""
    wire: str
    model: str
    folder: str
    """Where the driver keeps what its host keeps: a list, a database of its own."""
    store: str
    """Foldaway's."""
    window: int
    mode: str
    say: str
    strategy: str = "foldaway"
    """`foldaway`, or a compaction of the framework's own by a name that the driver knows."""
    thread: str = "thread-1"

    def kept(self, name: str = "messages.json") -> Path:
        """Return a file of the driver."""
        return Path(self.folder) / name


def read_file(path: str) -> str:
    """Read a file of the project."""
    name = Path(path).stem
    line = (
        f"{name} step {{}}: opens a connection, retries twice and writes a checkpoint of {name}.\n"
    )
    number = sum(ord(one) * (at + 7) for at, one in enumerate(name)) % 9_000 + 1_000
    lines = [
        f"checkpoint of {name}: code E{number}\n",
        f"error: {name} cannot open /var/lib/{name}/state_{number}.db on port {number + 40_000}\n",
    ]
    while sum(map(len, lines)) < TEXT_CHARS:
        lines.append(line.format(len(lines)))
    return "".join(lines)


def wrapped(case: Case, client: Any) -> Any:
    """Return a client whose requests stay inside the window."""
    from foldaway import wrap

    options: Any = {"context_length": case.window, "on_error": "raise"}
    return wrap(client, case.thread, store=case.store, **options)


def play(agent_of: Callable[[Case], Any]) -> None:
    """Play the phase that the command line names, and print what the model said last."""
    case = Case(**json.loads(sys.argv[1]))
    with redirect_stdout(sys.stderr):  # some hosts print what they do
        answer = getattr(agent_of(case), case.mode)(case.say)
        if asyncio.iscoroutine(answer):
            answer = asyncio.run(answer)
    print(json.dumps({"said": answer}), file=sys.__stdout__)  # some replace sys.stdout
