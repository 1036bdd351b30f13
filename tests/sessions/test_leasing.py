"""The lease of a process that has ended is free at once; that of a live one is never taken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from foldaway.sessions.leasing import has_ended, holder_name, leased
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import Held, Lease, NewSession

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
_HOLD = """
import sys
from foldaway.sessions.leasing import holder_name, leased
from foldaway.stores.open import open_store
with open_store(sys.argv[1]) as store, leased(store, sys.argv[2], holder_name()) as lease:
    print(lease.holder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "sessions.db")


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with open_store(place) as opened:
        yield opened


@pytest.fixture
def session_id(store: Store) -> str:
    return store.create(NewSession(dialect="openai-chat")).id


@pytest.fixture
def holder(place: str, session_id: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _HOLD, place, session_id]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def name_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_the_lease_of_a_killed_process_is_taken_over_at_once(
    store: Store, session_id: str, holder: subprocess.Popen[str]
) -> None:
    """Also while the dead process is a zombie that nobody has waited for."""
    name = name_of(holder)
    assert f" pid {holder.pid} " in name
    with leased(store, session_id, holder_name()) as refused:
        assert isinstance(refused, Held)
        assert refused.holder == name.rpartition(" [")[0]
    holder.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
    with leased(store, session_id, holder_name()) as lease:
        assert isinstance(lease, Lease)
    holder.wait()
    assert has_ended(name)


def test_a_stopped_process_keeps_its_lease(
    store: Store, session_id: str, holder: subprocess.Popen[str]
) -> None:
    """It is alive and may go on."""
    name_of(holder)
    holder.send_signal(signal.SIGSTOP)
    with leased(store, session_id, holder_name()) as refused:
        assert isinstance(refused, Held)


def test_only_the_same_process_counts_as_alive() -> None:
    """A reused process id is another process; one that cannot be looked at counts as alive."""
    with leased(_Recording(), "s", holder_name()) as lease:  # pyright: ignore[reportArgumentType]
        assert isinstance(lease, Lease)
    name = lease.holder
    assert not has_ended(name)
    before, _, started = name.removesuffix("]").rpartition(" ")
    assert has_ended(f"{before} {int(started) + 1}]")
    machine = before.rpartition("[")[2].partition(" ")[0]
    assert not has_ended(name.replace(machine, "0" * 12).replace(started, "1"))
    for unknown in ("", "another host pid 7", f"{before}]", f"host [{machine} {10**30} 1]"):
        assert not has_ended(unknown)


def test_a_forked_process_holds_a_lease_in_its_own_name() -> None:
    """The name of a session is made by its parent, which may end before it."""
    holder, store = holder_name(), _Recording()
    reading, writing = os.pipe()
    if not (pid := os.fork()):
        with leased(store, "s", holder) as lease:  # pyright: ignore[reportArgumentType]
            os.write(writing, lease.holder.encode() if isinstance(lease, Lease) else b"")
        os._exit(0)
    os.waitpid(pid, 0)
    assert f" {pid} " in os.read(reading, 1_000).decode().rpartition("[")[2]


class _Recording:
    """A store with nothing but leases, all of them free."""

    def acquire(self, session_id: str, holder: str, ttl: float) -> Lease:
        return Lease(session_id, 1, holder, ttl)

    def release(self, held: Lease) -> None:
        """Do nothing."""
