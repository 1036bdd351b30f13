"""An agent that writes its memory without a pause, and says what was acknowledged.

python worker.py FILE NAME SEED SECONDS
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from foldaway.memory.files.memory_file import Limit, MemoryFile

_MOST = 25


def main() -> None:
    """Add, replace and remove entries of its own until the time is over; 0 seconds is for ever."""
    path, name, seed, seconds = Path(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
    file = MemoryFile(path, Limit(chars=900_000, tokens=900_000))
    chance = random.Random(seed)
    mine: list[str] = []
    ids: dict[str, str] = {}
    number = 0
    until = time.monotonic() + seconds if seconds else float("inf")
    say("begin")
    while time.monotonic() < until:
        number += 1
        new = f"{name} {number} " + "word " * chance.randint(0, 30) + f"end{number}"
        kind = chance.choice(["add", "add", "replace", "remove"] if mine else ["add"])
        if len(mine) >= _MOST:
            kind = "remove"
        if kind == "add":
            say(f"try {new}")
            ids[new] = file.add(new, "tool").id
            mine.append(new)
            say(f"add {new}")
            continue
        old = mine.pop(chance.randrange(len(mine)))
        say(f"drop {old}")
        if kind == "replace":
            say(f"try {new}")
            ids[new] = file.replace(ids[old], new, "tool").id
            mine.append(new)
            say(f"add {new}")
        else:
            file.remove(ids[old], "tool")
        say(f"remove {old}")
    say("end")


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
