"""What can still be read of a damaged store in a file, copied into a new one."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# the types of apsw name one that Python has from 3.12 on

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

import apsw
import msgspec
import zstandard
from msgspec import Struct

from foldaway.dialects import DIALECTS, dialect_named, dump_bytes
from foldaway.errors import FoldawayError, StoreUnavailable
from foldaway.stores.bodies import address_of, content_of, expand, pack, unpack
from foldaway.stores.database import Row, Statements
from foldaway.stores.sqlite.database import SqliteDatabase, open_sqlite
from foldaway.stores.sqlite.opening import connect, make_ready
from foldaway.transcript import Message, Text

LOST = "[This message was lost: the store that kept it was damaged.]"
_PAGE = 4096
_TABLES = {
    "sessions": "rowid",
    "bodies": "rowid",
    "messages": "rowid",
    "views": "rowid",
    "addresses": "tenant, address",
    "parts": "tenant, body, at",
    "segments": "tenant, session, start",
    "refs": "tenant, ref, session",
    "pins": "tenant, session, position",
    "turns": "tenant, session, number",
    "meta": "name",
}
"""All that is copied, by what it is sorted. The indexes are built again."""
_AFTER_ROWS = (
    "UPDATE sessions SET frame = NULL WHERE frame NOT IN (SELECT key FROM bodies)",
    "UPDATE sessions SET parent = '', descent = '', forked_at = 0 WHERE parent <> ''"
    " AND parent NOT IN (SELECT id FROM sessions)",
    "UPDATE sessions SET root = id WHERE root NOT IN (SELECT id FROM sessions)",
    "DELETE FROM segments WHERE owner NOT IN (SELECT key FROM sessions)",
    "DELETE FROM segments WHERE session NOT IN (SELECT key FROM sessions)",
)
"""What no longer has what it refers to."""
_STEPS = (*range(1, _PAGE, 16), *(2**power for power in range(12, 62)))
"""How far behind a damaged place it is tried again: a page has at most some hundred rows."""


class LostPart(Struct, frozen=True):
    """What could not be read of a session: messages, whose places say so now, or more."""

    session_id: str
    title: str
    positions: tuple[int, ...] = ()
    is_nameless: bool = False
    """Whether its title, model, times and compactions are lost."""


class Salvaged(Struct, frozen=True, kw_only=True):
    """What a new store has of a damaged one."""

    path: str
    sessions: int
    messages: int
    lost: tuple[LostPart, ...]


CheckView: TypeAlias = Callable[[bytes, str], object]
"""Raises an error if the bytes of a view cannot be read in a dialect."""


def salvage(path: str, target: str, check_view: CheckView) -> Salvaged:
    """Copy every session that can be read into a new file; the damaged one is not touched.

    Places of messages that are lost stay, so that references and views fit; views that
    `check_view` refuses are left out. `StoreUnavailable` if nothing can be read, or the new file is
    there already.
    """
    folder = os.path.dirname(os.path.abspath(target))
    if os.path.lexists(target) or not os.path.isdir(folder):
        what = "there is a file of that name, or its folder does not exist"
        raise StoreUnavailable(target, what, remedy="name a new file in a folder that exists")
    with tempfile.TemporaryDirectory(dir=folder) as place:
        copy, draft = f"{place}/copy.db", f"{place}/draft.db"
        try:
            for ending in ("", "-wal") if os.path.exists(f"{path}-wal") else ("",):
                shutil.copyfile(path + ending, copy + ending)
        except OSError as error:
            what = f"the file cannot be read ({error.strerror})"
            raise StoreUnavailable(path, what, remedy="see that the disk works") from error
        for _ in _openings(copy, place):
            with closing(apsw.Connection(copy)) as source:
                if any(_rows(source, "sessions")) or any(_rows(source, "messages")):
                    make_ready(draft)
                    _copy(source, draft)
                    with closing(open_sqlite(draft)) as database:
                        names = _names_in_indexes(source)
                        found = database.write(partial(_mend, database, names, target, check_view))
                        database.complete_index(None)
                    os.replace(draft, target)
                    return found
    raise StoreUnavailable(path, "no session in it can be read", remedy="put a backup in its place")


def _openings(copy: str, place: str) -> Iterator[None]:
    """Have a copy stand in the ways in which SQLite may be able to open it: as it is, and with the
    header or the list of tables that a new store has.
    """
    with open(copy, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(28)
        said = int.from_bytes(file.read(4)) * _PAGE
        file.truncate(max(-(-size // _PAGE) * _PAGE, said if said <= 64 * size else 0))
    yield
    model = f"{place}/model.db"
    make_ready(model)
    for rewrite in ("", "VACUUM"):  # which numbers pages in another way
        with closing(connect(model)) as connection:
            connection.execute(rewrite)
            rows = connection.execute("SELECT pageno FROM dbstat WHERE name = 'sqlite_schema'")
            listed = [int(row[0]) for row in rows]
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        made = Path(model).read_bytes()
        count = (os.path.getsize(copy) // _PAGE).to_bytes(4)
        with open(copy, "r+b") as file:
            file.write(made[:28] + count + bytes(8) + made[40:100])
            file.flush()
            yield
            for page in listed:
                start = file.seek(100 if page == 1 else (page - 1) * _PAGE)
                file.write(made[start : page * _PAGE])
        yield


def _rows(source: apsw.Connection, table: str, columns: str = "*") -> Iterator[Row]:
    """Yield the rows of a table that can be read, a row of a table with numbers after its number:
    from its beginning, over damaged places, and from its end.
    """
    order = _TABLES[table]
    if order != "rowid":
        for way in (order, order.replace(",", " DESC,") + " DESC"):
            with suppress(apsw.Error):
                yield from source.execute(f"SELECT {columns} FROM {table} ORDER BY {way}")
        return
    select, at = f"SELECT rowid, {columns} FROM {table} WHERE rowid >= ? ORDER BY rowid", 0

    def goes_on(start: int) -> bool:
        with suppress(apsw.Error):
            source.execute(f"{select} LIMIT 1", (start,)).fetchall()
            return True
        return False

    following: int | None = 0
    while following is not None:
        try:
            for row in source.execute(select, (following,)):
                yield row
                at = row[0] + 1
            return
        except apsw.Error:
            at = max(at, following)
            following = next((at + step for step in _STEPS if goes_on(at + step)), None)
    with suppress(apsw.Error):
        yield from source.execute(f"{select} DESC", (at,))


def _copy(source: apsw.Connection, draft: str) -> None:
    with closing(connect(draft)) as target, target:
        for table, order in _TABLES.items():
            own, there = (
                [str(row[1]) for row in one.execute(f"PRAGMA table_info({table})")]
                for one in (target, source)
            )
            names = [name for name in own if name in there]
            marks = ", ".join("?" * len(names))
            sql = f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({marks})"
            for row in _rows(source, table, ", ".join(names)) if names else ():
                with suppress(apsw.Error):  # a value that does not fit is damage too
                    target.execute(sql, row[1:] if order == "rowid" else row)


def _names_in_indexes(source: apsw.Connection) -> dict[int, list[str]]:
    """Return ids, sources and source ids of sessions by their numbers, without their rows."""
    found: dict[int, list[str]] = {}
    for columns, index in (("id", "by_id"), ("source, source_id", "by_source")):
        where = "WHERE source_id <> ''" if index == "by_source" else ""
        with suppress(apsw.Error):
            for key, *names in source.execute(
                f"SELECT key, {columns} FROM sessions INDEXED BY sessions_{index} {where}"
            ):
                found.setdefault(key, []).extend(names)
    return found


def _mend(
    database: SqliteDatabase,
    names: dict[int, list[str]],
    target: str,
    check_view: CheckView,
    tx: Statements,
) -> Salvaged:
    """Make what was copied a whole store, and return what is lost."""
    _drop_damaged_bodies(tx)
    nameless = set(_name_orphans(tx, names))
    for sql in _AFTER_ROWS:
        tx.run(sql)
    sessions = tx.rows("SELECT key, tenant, id, title, length, dialect, updated FROM sessions")
    lost = {row[0]: set(range(row[4])) for row in sessions}
    shared = tx.rows("SELECT session, owner, start, stop FROM segments")
    for session, _, start, stop in shared:
        lost[session].difference_update(range(start, stop))
    for _, owner, start, stop in shared:
        lost[owner].update(range(start, stop))
    for session, position in tx.rows(
        "SELECT session, position FROM messages WHERE body IN (SELECT key FROM bodies)"
    ):
        lost[session].discard(position)
    for key, tenant, _, _, _, dialect, updated in sessions:
        encode = dialect_named(dialect if dialect in DIALECTS else "openai-chat").encode
        said = pack(dump_bytes(encode(Message("user", (Text(LOST),)))), "")
        body = database.put_bodies(tx, [said])[0] if lost[key] else None
        for at in lost[key]:
            tx.run("DELETE FROM messages WHERE session = ? AND position = ?", (key, at))
            row = (tenant, key, at, body, "user", "", updated, "", 0, 1)
            tx.run("INSERT INTO messages VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    _drop_damaged_views(tx, check_view)
    for session, owner, start, stop in shared:
        lost[session] |= {at for at in lost[owner] if start <= at < stop}
    whole = tx.row("SELECT count(*) FROM messages WHERE generated = 0 OR tokens > 0") or (0,)
    gone = [LostPart(one[0], "", (), True) for key, one in names.items() if key not in lost]
    return Salvaged(
        path=target,
        sessions=len(sessions),
        messages=int(whole[0]),
        lost=(
            *(
                LostPart(row[2], row[3], tuple(sorted(lost[row[0]])), row[0] in nameless)
                for row in sessions
                if lost[row[0]] or row[0] in nameless
            ),
            *gone,
        ),
    )


def _drop_damaged_bodies(tx: Statements) -> None:
    cut = {row[0] for row in tx.rows("SELECT part FROM parts")}
    known = dict(tx.rows("SELECT body, address FROM addresses"))
    for (key,) in tx.rows("SELECT key FROM bodies"):
        row = tx.row("SELECT tenant, key, parts, packed FROM bodies WHERE key = ?", (key,))
        made = b""
        with suppress(zstandard.ZstdError, IndexError, msgspec.DecodeError):
            if row and key not in known and key not in cut:  # nothing else says that it is whole
                msgspec.json.decode(unpack(tx, *row)[0])
            made = address_of(content_of(tx, *row), is_part=key in cut) if row else b""
        if made and key not in known and row:
            tx.run("INSERT OR IGNORE INTO addresses VALUES (?, ?, ?)", (row[0], made, key))
        elif made != known.get(key):
            tx.run("DELETE FROM bodies WHERE key = ?", (key,))
    tx.run("DELETE FROM addresses WHERE body NOT IN (SELECT key FROM bodies)")


def _name_orphans(tx: Statements, names: dict[int, list[str]]) -> Iterator[int]:
    """Make sessions for messages whose own are lost; yield their numbers."""
    for key, tenant, length, began, ended in tx.rows(
        "SELECT session, tenant, max(position) + 1, min(time), max(time) FROM messages"
        " WHERE session NOT IN (SELECT key FROM sessions) GROUP BY session"
    ):
        name, source, source_id, *_ = *names.get(key, [f"salvaged-{key}"]), "", ""
        tx.run(
            "INSERT OR IGNORE INTO sessions VALUES (?, ?, ?, '', ?, '', 0, 'openai-chat', '', '',"
            " '', ?, ?, 'main', '', 'in-place', ?, ?, NULL, '', ?, 0, 0, 0, '', '', NULL,"
            " NULL, 0, 0, 0)",
            (key, tenant, name, name, source, source_id, began, ended, length),
        )
        yield key


def _drop_damaged_views(tx: Statements, check_view: CheckView) -> None:
    dialects = dict(tx.rows("SELECT key, dialect FROM sessions"))
    for number, session, *packed in tx.rows(
        "SELECT rowid, session, items, state, report FROM views"
    ):
        try:
            items, state, report = map(expand, packed)
            check_view(items, dialects[session])
            for one in (state, report):
                _ = msgspec.json.decode(one) if one else None
        except (zstandard.ZstdError, msgspec.MsgspecError, FoldawayError, LookupError, ValueError):
            tx.run("DELETE FROM views WHERE rowid = ?", (number,))
    tx.run(
        "UPDATE sessions SET view = 0, compactions = 0 WHERE view <> 0 AND NOT EXISTS (SELECT 1"
        " FROM views v WHERE v.session = sessions.key AND v.number = sessions.view)"
    )
