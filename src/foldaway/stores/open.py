"""A store from where it is."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

from foldaway._core import log_event, make_private_folder
from foldaway.errors import InvalidSetting, MissingExtra, StoreUnavailable
from foldaway.stores.store import Store

_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]+)://")
_SERVERS = ("postgresql", "postgres")
_FILE_ENDINGS = (".db", ".sqlite", ".sqlite3")
_MARK, _MARK_AT = b"HOLD", 68
"""What makes a file ours, and where SQLite keeps it in its header."""
_PROFILE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")


def open_store(
    where: str | os.PathLike[str],
    *,
    profile: str = "default",
    tenant: str = "",
    read_only: bool = False,
) -> Store:
    """Return the store of a profile; raise `StoreUnavailable`.

    `where` is a folder, which is made and holds one file for each profile; a file of its own,
    known by its ending `.db` or `.sqlite`; the address of a server, `postgresql://…`; or
    `:memory:`, a new store that goes with this process. What others may not read is theirs alone:
    folder 0700, file 0600.
    """
    if not isinstance(cast("object", where), (str, os.PathLike)):
        raise InvalidSetting("where", where, "a folder, a file, or the address of a server")
    place = os.fspath(where)
    if not _PROFILE.match(profile):
        raise StoreUnavailable(
            place,
            f"{profile!r} is no name for a profile",
            remedy="use letters, digits, dots, dashes and underscores",
        )
    if scheme := _SCHEME.match(place):
        return _open_server(place, scheme[1].lower(), profile, tenant, read_only=read_only)
    from foldaway.stores.sqlite.database import open_sqlite
    from foldaway.stores.sqlite.opening import MEMORY

    if place == MEMORY:
        place, read_only = f"{MEMORY}{secrets.token_hex(8)}", False
    else:
        place = _file(place, profile, read_only=read_only)
    database = open_sqlite(place, tenant=tenant, read_only=read_only)
    log_event("store.opened", kind="sqlite", profile=profile, read_only=read_only)
    return Store(database, profile=profile)


def is_store_file(path: str) -> bool:
    """Return whether a file is a store of ours, by its mark; raises `OSError`."""
    with open(path, "rb") as file:
        head = file.read(_MARK_AT + len(_MARK))
    return head.startswith(b"SQLite format 3\0") and head.endswith(_MARK)


def stores_in(path: str) -> Iterator[Store]:
    """Yield what a file holds of each tenant, to be read only; raise `StoreUnavailable`."""
    from foldaway.stores.sqlite.database import open_sqlite

    with closing(open_sqlite(path, read_only=True)) as database:
        tenants = database.read(
            lambda tx: tx.rows("SELECT tenant FROM sessions UNION SELECT tenant FROM bodies")
        )
    for (tenant,) in tenants:
        with Store(open_sqlite(path, tenant=tenant, read_only=True), profile="default") as store:
            yield store


def _open_server(place: str, scheme: str, profile: str, tenant: str, *, read_only: bool) -> Store:
    if scheme not in _SERVERS:
        raise StoreUnavailable(
            f"{scheme}://…",
            "no store speaks this protocol",
            remedy="give a folder, or an address that begins with postgresql://",
        )
    try:
        from foldaway.stores.postgres.database import open_postgres
    except ImportError as error:
        raise MissingExtra("postgres", "a store on a PostgreSQL server") from error

    database = open_postgres(place, profile=profile, tenant=tenant, read_only=read_only)
    log_event("store.opened", kind="postgresql", profile=profile, read_only=read_only)
    return Store(database, profile=profile)


def _file(place: str, profile: str, *, read_only: bool) -> str:
    """Return the file of a profile; its folder is there afterwards, unless it is only read."""
    if place.endswith(_FILE_ENDINGS) and not os.path.isdir(place):
        return place
    if not place or "\0" in place:
        raise StoreUnavailable(
            repr(place), "this is no name of a folder", remedy="give a folder or a file"
        )
    if os.path.isfile(place):
        raise StoreUnavailable(
            place, "this is a file, and no store", remedy="name a folder or a file that ends in .db"
        )
    if not read_only:
        try:
            make_private_folder(Path(place))
        except OSError as error:
            raise StoreUnavailable(
                place,
                f"the folder cannot be made ({error.strerror})",
                remedy="name another, or change the permissions of the one above",
            ) from error
    return os.path.join(place, f"{profile}.db")
