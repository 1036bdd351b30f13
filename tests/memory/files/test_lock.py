"""The lock of a memory file: one writer at a time, over processes, threads and forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from foldaway.errors import MemoryRefused
from foldaway.memory.files.shared_file import hold_lock

HOLDER = """
import sys, time
from pathlib import Path
from foldaway.memory.files.shared_file import hold_lock

with hold_lock(Path(sys.argv[1]), "MEMORY.md"):
    print("held", flush=True)
    time.sleep(60)
"""
COUNTER = """
import sys
from pathlib import Path
from foldaway.memory.files.shared_file import hold_lock

lock, counter = Path(sys.argv[1]), Path(sys.argv[2])
for _ in range(100):
    with hold_lock(lock, "MEMORY.md"):
        counter.write_text(str(int(counter.read_text()) + 1))
"""


def start(code: str, *arguments: Path) -> subprocess.Popen[str]:
    """Run code in another process."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.slow
def test_two_processes_exclude_each_other(tmp_path: Path) -> None:
    """Each reads a number and writes the next one: none is lost."""
    lock, counter = tmp_path / ".MEMORY.md.lock", tmp_path / "counter"
    counter.write_text("0")
    running = [start(COUNTER, lock, counter) for _ in range(2)]
    for process in running:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert counter.read_text() == "200"


def test_two_threads_exclude_each_other(tmp_path: Path) -> None:
    """Threads of one process are writers like any others."""
    lock = tmp_path / ".MEMORY.md.lock"
    inside: list[int] = []
    overlaps: list[int] = []

    def work(number: int) -> None:
        for _ in range(20):
            with hold_lock(lock, "MEMORY.md"):
                inside.append(number)
                time.sleep(0.0005)
                overlaps.extend(one for one in inside if one != number)
                inside.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert overlaps == []


def test_a_writer_that_was_killed_blocks_nobody(tmp_path: Path) -> None:
    """While it lives it excludes others; the system releases its lock when it dies."""
    lock = tmp_path / ".MEMORY.md.lock"
    holder = start(HOLDER, lock)
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(MemoryRefused, match=r"held its lock for 0\.05 seconds"),
            hold_lock(lock, "MEMORY.md", wait_seconds=0.05),
        ):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with hold_lock(lock, "MEMORY.md", wait_seconds=0.05):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_was_forked_meanwhile_does_not_keep_the_lock(tmp_path: Path) -> None:
    """It inherits the open file, but not the lock after its parent has released it."""
    lock = tmp_path / ".MEMORY.md.lock"
    code = f"""
import os, sys, time
from pathlib import Path
from foldaway.memory.files.shared_file import hold_lock

lock = Path({str(lock)!r})
with hold_lock(lock, "MEMORY.md"):
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
with hold_lock(lock, "MEMORY.md", wait_seconds=0.05):
    pass
os.kill(child, 9)
os.waitpid(child, 0)
"""
    process = start(code)
    process.communicate(timeout=50)
    assert process.returncode == 0


def test_only_its_owner_may_open_the_lock(tmp_path: Path) -> None:
    """It is next to the file, readable for its owner alone."""
    lock = tmp_path / ".MEMORY.md.lock"
    with hold_lock(lock, "MEMORY.md"):
        assert lock.stat().st_mode & 0o777 == 0o600
