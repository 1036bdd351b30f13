"""The right to compact a session, held while it is used and renewed from a thread of its own."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

from msgspec.structs import replace

from foldaway._core import log_event
from foldaway.errors import StoreError
from foldaway.stores import Held, Lease, Store

TTL_SECONDS = 60.0
_RENEWALS = 3
"""So many times in the life of a lease."""
_MARK = re.compile(r" \[(?P<machine>[0-9a-f]{12}) (?P<pid>\d+) (?P<started>\d+)\]$")
"""What a holder's name ends with: machine, process id, and when that process was started."""
_PROC = Path("/proc")
_warned: WeakSet[Store] = WeakSet()
"""Stores whose leases do not work; said once for each."""


def holder_name() -> str:
    """Return who asks, for people: host, process, thread, and a few random digits."""
    return (
        f"{socket.gethostname()} pid {os.getpid()} {threading.current_thread().name} "
        f"{secrets.token_hex(3)}"
    )


@contextmanager
def leased(
    store: Store, session_id: str, holder: str, *, ttl: float = TTL_SECONDS
) -> Generator[Lease | Held | None]:
    """Hold the lease of a session for the body; `Held` where somebody else has it.

    None where leases cannot be had at all: that is said once in the log, and the swap of the view
    alone decides then who was first. A lease that was lost is noticed when the view is committed.
    One whose holder's process has ended is taken over at once.
    """
    try:
        lease = take_lease(store, session_id, holder, ttl=ttl)
    except Exception as error:  # noqa: BLE001 a lock that is broken in any way must not stop work
        if store not in _warned:
            _warned.add(store)
            log_event("session.no_lease", error=type(error).__name__)
        yield None
        return
    if isinstance(lease, Held):
        yield replace(lease, holder=_MARK.sub("", lease.holder))
        return
    with renewing(store, lease):
        yield lease


def take_lease(store: Store, session_id: str, holder: str, *, ttl: float) -> Lease | Held:
    """Return the lease of a session, or who has it; one whose holder's process has ended is taken
    over.
    """
    holder = f"{holder}{_process_mark()}"
    lease = store.acquire(session_id, holder, ttl)
    if isinstance(lease, Held) and has_ended(lease.holder):
        lease = store.acquire(session_id, holder, ttl, gone=lease.holder)
    return lease


@contextmanager
def renewing(store: Store, lease: Lease) -> Generator[None]:
    """Keep a lease for the body, and give it back."""
    stop = threading.Event()
    thread = threading.Thread(
        target=_renew, args=(store, lease, stop), name="foldaway-lease", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        with suppress(StoreError):
            store.release(lease)


def _renew(store: Store, lease: Lease, stop: threading.Event) -> None:
    while not stop.wait(lease.ttl / _RENEWALS):
        try:
            if not store.renew(lease):
                return
        except StoreError:
            continue  # the next time, or it expires; a commit will tell


def has_ended(holder: str) -> bool:
    """Return whether the process of a holder has surely ended.

    False if that cannot be known: on another machine, in another container, without /proc.
    """
    mark = _MARK.search(holder)
    if mark is None or mark["machine"] != _machine():
        return False
    pid = int(mark["pid"])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass  # somebody else's process: look at when it was started
    started = _read_start(pid)
    return started is not None and started != int(mark["started"])


def _process_mark() -> str:
    """Return what tells this process from every other one, "" if the system does not say."""
    machine, started = _machine(), _read_start(os.getpid())
    return f" [{machine} {os.getpid()} {started}]" if machine and started else ""


def _machine() -> str:
    """Return a name for what process ids are counted in: a start of a machine, and a container."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii")
        space = os.readlink(_PROC / "self/ns/pid")
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(f"{boot.strip()} {space}".encode()).hexdigest()[:12]


def _read_start(pid: int) -> int | None:
    """Return when a process was started, in ticks; 0 if only its exit status is left (a zombie).

    None if that cannot be read.
    """
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before may hold anything
    state, threads, started = fields[0], fields[17], fields[19]
    return 0 if state == "Z" and int(threads) <= 1 else int(started)
