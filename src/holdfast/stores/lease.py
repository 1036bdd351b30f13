"""Leases: who may compact a session. A fence grows with every one, and old ones are refused."""

from __future__ import annotations

from holdfast.errors import LeaseLost
from holdfast.stores.database import Statements
from holdfast.stores.rows import Found, Space, key_of, owned, plain
from holdfast.stores.values import Held, Lease


def acquire(
    space: Space, tx: Statements, session_id: str, holder: str, ttl: float, gone: str = ""
) -> Lease | Held:
    """Return a lease, or who has it. One that has expired is taken over, and so is one of the same
    holder: its answer may have been lost. `gone` is a holder whose process has ended.
    """
    session = owned(space, tx, session_id)
    clock = space.database.ticks(tx)
    row = tx.row(
        "SELECT fence, holder, epoch, expires FROM leases WHERE tenant = ? AND session = ?",
        (space.tenant, session.key),
    )
    fence = 1
    if row:
        fence, other, epoch, expires = int(row[0]) + 1, str(row[1]), row[2], row[3]
        is_free = other in ("", plain(holder), gone)
        if not is_free and epoch == clock.epoch and expires > clock.seconds:
            return Held(other, expires - clock.seconds)
    tx.run(
        "INSERT INTO leases (tenant, session, fence, holder, epoch, expires)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, session) DO UPDATE SET"
        " fence = excluded.fence, holder = excluded.holder, epoch = excluded.epoch,"
        " expires = excluded.expires",
        (space.tenant, session.key, fence, plain(holder), clock.epoch, clock.seconds + ttl),
    )
    return Lease(session.info.id, fence, plain(holder), ttl)


def renew(space: Space, tx: Statements, lease: Lease) -> bool:
    """Return whether the lease was still ours, and prolong it then.

    Also one that has expired, where nobody took it over meanwhile.
    """
    clock = space.database.ticks(tx)
    changed = tx.run(
        "UPDATE leases SET expires = ?, epoch = ? WHERE tenant = ? AND session = ? AND fence = ?"
        " AND holder = ?",
        (clock.seconds + lease.ttl, clock.epoch, *_mine(space, tx, lease)),
    )
    return changed > 0


def release(space: Space, tx: Statements, lease: Lease) -> None:
    """Give a lease back; nothing happens where it is not ours any more."""
    tx.run(
        "UPDATE leases SET holder = '' WHERE tenant = ? AND session = ? AND fence = ?"
        " AND holder = ?",
        _mine(space, tx, lease),
    )


def refuse_lost(space: Space, tx: Statements, session: Found, fence: int | None) -> None:
    """Raise `LeaseLost` where another lease followed the one of `fence`, or it was given back."""
    if fence is None:
        return
    row = tx.row(
        "SELECT fence, holder FROM leases WHERE tenant = ? AND session = ?",
        (space.tenant, session.key),
    )
    if not row or row[0] != fence or not row[1]:
        raise LeaseLost(session.info.id)


def _mine(space: Space, tx: Statements, lease: Lease) -> tuple[str, int, int, str]:
    return space.tenant, key_of(space, tx, lease.session_id), lease.fence, lease.holder
