"""A task for tests: read files, then write down the number that was in the first one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from foldaway.caching.prices import Prices
from foldaway.lab.play.game import Played, play
from foldaway.lab.play.strategies import STRATEGIES
from foldaway.lab.play.task import Goal, PlayerTurn, Request, Task, TaskCall, TaskTool
from foldaway.lab.replay import ReplayTerms

PRICES = Prices(
    input=1.0, output=10.0, cache_read=0.1, cache_write_5m=1.25, cache_write_1h=2.0,
    min_cached_tokens=0,
)  # fmt: skip
SECRET = "port 48213"
_FILLER = "ok 17 lines were read and nothing of them is of any use here at all\n"


class Shelf:
    """Files, and a note that has to hold what the first file says."""

    wrong = 0

    def __init__(self, lines: int) -> None:
        self._lines = lines
        self._noted = ""

    def call(self, call: TaskCall) -> str:
        if call.name == "read_file":
            is_first = call.arguments["path"] == "file_0.txt"
            return f"{_FILLER * self._lines}{f'the service has {SECRET}' if is_first else ''}"
        if call.name == "note":
            self._noted = str(call.arguments["text"])
            self.wrong += self._noted != SECRET
            return "noted"
        return f"no tool {call.name}"

    def hear(self, text: str) -> str | None:
        return None if text.startswith("done") else "go on"

    def goals(self) -> Sequence[Goal]:
        return [Goal("the port is noted", self._noted == SECRET)]


def tiny_task(reads: int = 40, lines: int = 60) -> Task:
    """Return a task of so many files with so many lines."""
    text = {"type": "object", "properties": {"path": {"type": "string"}}}
    return Task(
        family="tiny",
        name=f"tiny-{reads}",
        system="You read files and note a port.",
        tools=(TaskTool("read_file", "Read a file.", text), TaskTool("note", "Note a text.", text)),
        opening=f"Read {reads} files, then note the port of the service.",
        start=lambda: Shelf(lines),
        steps=reads + 2,
    )


class Reader:
    """Reads all files, then notes the port if it is in view, recalled or found, else a guess."""

    def __init__(self, reads: int = 40) -> None:
        self._reads = reads
        self._done = 0
        self._has_asked = False
        self.requests: list[Request] = []

    def act(self, request: Request) -> PlayerTurn:
        self.requests.append(request)
        self._done += 1
        if self._done <= self._reads:
            arguments = {"path": f"file_{self._done - 1}.txt"}
            return PlayerTurn(f"step {self._done}", (TaskCall("read_file", arguments),))
        if self._done > self._reads + 1 and not self._has_asked:
            return PlayerTurn("done")
        texts = "\n".join(str(one.get("content")) for one in request.messages)
        found = re.search(r"port \d{5}", texts)
        names = {tool["function"]["name"] for tool in request.tools}
        if found is None and "foldaway_search" in names and not self._has_asked:
            self._has_asked = True
            return PlayerTurn("", (TaskCall("foldaway_search", {"text": "the service has port"}),))
        self._has_asked = False
        return PlayerTurn("", (TaskCall("note", {"text": found[0] if found else "port 1"}),))


def terms(window: int = 200_000) -> ReplayTerms:
    """Return the terms of a play in a window."""
    return ReplayTerms(prices=PRICES, context_length=window)


def play_tiny(
    strategy: str, reads: int = 40, lines: int = 60, window: int = 200_000
) -> tuple[Played, Reader]:
    """Return a play of the tiny task, and its player with the requests that it saw."""
    table = {one.name: one for one in STRATEGIES}
    task, reader = tiny_task(reads, lines), Reader(reads)
    context = table[strategy].start(task.tools, terms(window))
    return play(strategy, task, reader, context), reader
