"""A program on a terminal, typed into when it has said something.

    python bench/terminal.py '[["what it says", "what is typed"], …]' PROGRAM ARGUMENT…

The exit code is the program's own, or 1 if it never says it.
"""

from __future__ import annotations

import json
import os
import pty
import select
import sys
import time

SECONDS = 540.0


def main(steps: list[list[str]], command: list[str]) -> int:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    said, seen, end = b"", 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                read = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
            sys.stdout.buffer.write(read)
            sys.stdout.flush()
            said += read
        if steps and steps[0][0].encode() in said[seen:]:
            time.sleep(1)  # it draws its prompt after that
            seen = len(said)
            typed = steps.pop(0)[1]
            for one in (typed.encode(), b"\r"):
                os.write(terminal, one)
                time.sleep(0.5)
    else:
        os.kill(pid, 9)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if not steps else 1


if __name__ == "__main__":
    raise SystemExit(main(json.loads(sys.argv[1]), sys.argv[2:]))
