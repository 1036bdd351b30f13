"""The right to compact a session, held while it is used and renewed from a thread of its own."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from weakref import WeakSet

from holdfast.errors import StoreError
from holdfast.stores.store import Store
from holdfast.stores.values import Held, Lease

TTL_SECONDS = 60.0
_RENEWALS = 3
"""So many times in the life of a lease."""
_log = logging.getLogger(__name__)
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
    """
    try:
        lease = store.acquire(session_id, holder, ttl)
    except StoreError as error:
        if store not in _warned:
            _warned.add(store)
            _log.warning("leases do not work, going on without: %s", type(error).__name__)
        yield None
        return
    if isinstance(lease, Held):
        yield lease
        return
    stop = threading.Event()
    renewing = threading.Thread(
        target=_renew, args=(store, lease, stop), name="holdfast-lease", daemon=True
    )
    renewing.start()
    try:
        yield lease
    finally:
        stop.set()
        renewing.join()
        with suppress(StoreError):
            store.release(lease)


def _renew(store: Store, lease: Lease, stop: threading.Event) -> None:
    while not stop.wait(lease.ttl / _RENEWALS):
        try:
            if not store.renew(lease):
                return
        except StoreError:
            continue  # the next time, or it expires; a commit will tell
