"""A process with mem0 in it: `mem0_process.py URL FOLDER STEP`; prints what came of it as JSON.

Every address that it looks up or connects to is noted.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from threading import Thread
from typing import Any

ADDRESSES: set[str] = set()


def note(event: str, given: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(given[1], tuple):
        ADDRESSES.add(str(given[1][0]))
    elif event == "socket.getaddrinfo":
        ADDRESSES.add(str(given[0]))


def main() -> None:
    sys.addaudithook(note)
    from foldaway.memory.external.registry import external_named
    from foldaway.memory.manager import MemoryLimits, MemoryManager
    from foldaway.memory.provider import MemoryProvider, MemoryTurn

    class BuiltIn(MemoryProvider):
        name = "files"

    url, folder, step = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    options = {"url": url, "model": "m", "embedder": "e", "dimensions": 256, "timeout": 20.0}
    memory = external_named("mem0", options, folder)
    limits = MemoryLimits(prefetch_seconds=60.0, tool_seconds=60.0, close_seconds=60.0)
    manager = MemoryManager(BuiltIn(), memory, limits=limits)
    found: dict[str, Any] = {}
    if step == "learn":
        found["before"] = manager.prefetch("which port does staging have?", "s1").text
        (ticket,) = manager.sync("The port of staging is 5433 \ud800\0", "Noted.", "s1")
        found["flushed"], found["state"] = manager.flush(60), ticket.state
        found["added"] = manager.call("mem0_add", {"text": "Deploys happen on Fridays"})
        found["empty"] = manager.call("mem0_add", {"text": " "})
    elif step == "lanes":
        sys.setswitchinterval(1e-6)  # so that threads meet in the middle of a call
        words = [f"w{at}" for at in range(40)]

        def add(who: str) -> None:
            for word in words:
                memory.call("mem0_add", {"text": f"{who} {word}"})

        threads = [Thread(target=add, args=(who,)) for who in ("first", "second")]
        for thread in threads:
            thread.start()
        found["searched"] = len([memory.prefetch("first second", "s") for _ in words])
        for thread in threads:
            thread.join()
        found["kept"] = sum(
            f"- {who} {word}" in memory.prefetch(f"{who} {word}", "s").splitlines()
            for who in ("first", "second")
            for word in words
        )
    elif step == "down":
        found["recalled"] = manager.prefetch("which port does staging have?", "s2").failed
        (ticket,) = manager.sync("lost", "lost", "s2")
        found["flushed"], found["state"] = manager.flush(60), ticket.state
    else:
        found["recalled"] = manager.prefetch("which port does staging have?", "s2").text
        found["searched"] = manager.call("mem0_search", {"query": "when do deploys happen"})
        memory.sync(MemoryTurn(session_id="", number=1, user="", agent=""))
    found["left"] = manager.close()
    found["status"] = manager.status()["mem0"]
    found["addresses"] = sorted(ADDRESSES)
    found["home"] = os.listdir(Path.home())
    found["variables"] = [name for name in os.environ if name.startswith("MEM0")]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
