"""A text editor that knows of nobody else: it reads, waits, and saves the whole file.

python editor.py FILE SEED SECONDS
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

from foldaway.memory.files.shared_file import UNSEEN_SECONDS

_READ_SECONDS = UNSEEN_SECONDS + 2
"""Nobody reads, decides and saves faster than a person; a line that came back counts as new."""


def main() -> None:
    """Add lines, take out old ones, in place or by a new file, until the time is over."""
    path, chance, seconds = Path(sys.argv[1]), random.Random(sys.argv[2]), float(sys.argv[3])
    written: set[str] = set()
    since: dict[str, float] = {}
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until:
        number += 1
        wait_for_agents(path)
        lines = path.read_text().splitlines() if path.exists() else []
        now = time.monotonic()
        since = {line: since.get(line, now) for line in lines}
        time.sleep(chance.uniform(0, 0.4))
        mine = [line for line in lines if line in written and now - since[line] > _READ_SECONDS]
        gone = chance.choice(mine) if mine and len(mine) > 5 else None
        if gone is not None:
            lines.remove(gone)
        new = f"- editor {number} " + "x" * chance.randint(0, 60) + f" end{number}"
        data = "\n".join([*lines, new]) + "\n"
        if chance.random() < 0.5:
            path.write_text(data)
        else:
            beside = path.with_name("editor.tmp")
            beside.write_text(data)
            os.replace(beside, path)
        written.add(new)
        said = [f"add {new[2:]}", *([f"remove {gone[2:]}"] if gone else [])]
        sys.stdout.write("".join(f"{line}\n" for line in said))
        sys.stdout.flush()
        time.sleep(chance.uniform(0, 0.3))


def wait_for_agents(path: Path) -> None:
    """Wait if the agents have not begun or have stood still for seconds, as on a busy machine.

    They notice a save only when they write. Of several saves that nobody noticed the first may
    have been stale, and the last be so late that what it lacks counts as taken out.
    """
    history = path.with_name(f".{path.name}.history")
    until = time.monotonic() + 20
    while time.monotonic() < until and (
        not history.exists() or time.time() - history.stat().st_mtime > UNSEEN_SECONDS / 4
    ):
        time.sleep(0.02)


if __name__ == "__main__":
    main()
