"""What can be wrong with a server, each in one sentence; never with the password."""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict

from holdfast.errors import StoreUnavailable

_ADDRESS = "check that the server runs, and the user, password, host and database of the address"
_WHAT: tuple[tuple[str, str, str], ...] = (
    ("55P03", "another process holds the session for too long",
     "wait for that process or stop it, then try again"),
    ("53100", "the server's disk is full", "free some room there and try again"),
    ("53200", "the server is out of memory", "try again later"),
    ("53300", "the server takes no more connections",
     "try again later, or raise its max_connections"),
    ("25006", "the server is read-only", "name the address of its primary, or open it read-only"),
    ("42501", "the user lacks the rights",
     "grant it CREATE on the database, or let its owner open the store once"),
    ("42P01", "the tables of the store are not there", "open the store once for writing"),
    ("57014", "a statement took too long and was cancelled", "try again"),
    ("54000", "a message is larger than a database row can be",
     "keep what is larger than 1 GB in a file of its own"),
    ("XX001", "the server's data is damaged", "restore it from a backup"),
    ("XX002", "an index on the server is damaged", "run REINDEX there"),
)  # fmt: skip
_LOST = ("08", "57P", "53300", "25P03", "25P04")
"""The connection is gone or was refused for now: another one may do."""
_AGAIN = ("40001", "40P01", "23505", "42P06", "42P07", "42710")
"""The transaction met another one, which wrote the same first or waited for it; alone it succeeds.
The last three: two processes that make the tables at the same time."""


def unavailable(error: psycopg.Error, where: str) -> StoreUnavailable:
    """Return what a person is told about an error of psycopg."""
    state = error.sqlstate or ""
    for code, what, remedy in _WHAT:
        if state == code:
            return StoreUnavailable(where, what, remedy=remedy)
    if state:
        return StoreUnavailable(where, f"the server refuses ({_said(error)})", remedy="try again")
    if isinstance(error, psycopg.OperationalError):
        return StoreUnavailable(where, f"no connection ({_said(error)})", remedy=_ADDRESS)
    return StoreUnavailable(where, f"the server refuses ({_said(error)})", remedy="try again")


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection is gone, so that the same may succeed on another one."""
    state = error.sqlstate
    if state is None:
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return state.startswith(_LOST)


def is_contention(error: psycopg.Error) -> bool:
    """Return whether the transaction failed because of another one, and was undone."""
    return error.sqlstate in _AGAIN


def shown(url: str) -> str:
    """Return an address without its password; raise `StoreUnavailable` where it is none."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # its text quotes the address, the password with it
        raise StoreUnavailable(
            url.partition("://")[0] + "://…",
            "the address of the server cannot be read",
            remedy="write it as postgresql://user:password@host:5432/database, special "
            "characters of the password as %40 and the like",
        ) from None
    user, host, port, name = (str(parts.get(k) or "") for k in ("user", "host", "port", "dbname"))
    place = f"{host}:{port}" if port else host
    return f"postgresql://{user + '@' if user else ''}{place}/{name}"


def _said(error: psycopg.Error) -> str:
    """Return the first line of what the server or the client library said."""
    lines = (error.diag.message_primary or str(error)).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
