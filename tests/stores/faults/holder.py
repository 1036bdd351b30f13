"""A process that takes a lease, waits for a line, and then commits under it.

python holder.py WHERE TENANT SESSION TTL
"""

from __future__ import annotations

import sys

from worker import say

from foldaway.errors import LeaseLost
from foldaway.stores.open import open_store
from foldaway.stores.values import Lease, NewView


def main() -> None:
    """Say what became of the lease."""
    where, tenant, session_id, ttl = sys.argv[1:]
    store = open_store(where, tenant=tenant)
    lease = store.acquire(session_id, "holder", float(ttl))
    say("has" if isinstance(lease, Lease) else "waits")
    sys.stdin.readline()
    if isinstance(lease, Lease):
        try:
            new = NewView(items=b"late", length=1)
            store.commit(session_id, new, expect=0, fence=lease.fence)
            say("committed")
        except LeaseLost:
            say("lost")
    store.close()


if __name__ == "__main__":
    main()
