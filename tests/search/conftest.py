"""A small store of a list of messages, in a real SQLite file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
from msgspec import Struct

from holdfast.search.query import parse_query
from holdfast.search.values import Filters, Match, Sort, Wanted
from holdfast.stores.bodies import pack
from holdfast.stores.database import MessageRow, Statements, Value
from holdfast.stores.sqlite.database import SqliteDatabase, open_sqlite


class Said(Struct, frozen=True, kw_only=True):
    """A message of a small store; those of one session stand in their order."""

    text: str
    session: str = "one"
    role: str = "user"
    tools: str = ""
    time: float = 0.0
    generated: bool = False
    kind: str = "main"
    source: str = "here"
    root: str = ""


class Store(Struct, frozen=True):
    """Messages that can be searched."""

    database: SqliteDatabase
    said: Sequence[Said]

    def find(
        self,
        text: str,
        *,
        most: int = 1_000,
        filters: Filters = Filters(),
        kinds: tuple[str, ...] = ("main",),
        without_roots: tuple[str, ...] = (),
        generated: bool = False,
        sort: Sort = "relevance",
    ) -> list[Match]:
        """Return what a query finds."""
        wanted = Wanted(
            query=parse_query(text), filters=filters, kinds=kinds, without_roots=without_roots,
            generated=generated, sort=sort,
        )  # fmt: skip
        return self.database.match(wanted, most)

    def texts(self, text: str) -> list[str]:
        """Return the texts that a query finds."""
        return [match.text for match in self.find(text)]


Fill: TypeAlias = Callable[[Sequence[Said] | Sequence[str]], Store]


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Fill]:
    """Return a function that makes a store of messages, both indexes complete."""
    databases: list[SqliteDatabase] = []

    def fill(messages: Sequence[Said] | Sequence[str]) -> Store:
        store = unindexed(tmp_path / f"{len(databases)}.db", messages)
        store.database.complete_index(None)
        databases.append(store.database)
        return store

    yield fill
    for database in databases:
        database.close()


def unindexed(path: Path, messages: Sequence[Said] | Sequence[str]) -> Store:
    """Return a store whose substring index is empty."""
    said = [Said(text=text) if isinstance(text, str) else text for text in messages]
    database = open_sqlite(str(path))
    database.write(lambda statements: _write(database, statements, said))
    return Store(database, said)


def _write(database: SqliteDatabase, statements: Statements, said: Sequence[Said]) -> None:
    keys: dict[str, int] = {}
    lengths: dict[str, int] = {}
    for message in said:
        if message.session not in keys:
            keys[message.session] = len(keys) + 1
            _session(statements, keys[message.session], database.tenant, message)
        [body] = database.put_bodies(statements, [pack(message.text.encode(), message.text)])
        position = lengths.get(message.session, 0)
        lengths[message.session] = position + 1
        row = MessageRow(
            body=body, role=message.role, tools=message.tools, time=message.time, key="",
            tokens=0, generated=int(message.generated), text=message.text,
        )  # fmt: skip
        database.put_messages(statements, keys[message.session], position, [row])


def _session(statements: Statements, key: int, tenant: str, message: Said) -> None:
    blank: dict[str, Value] = {"INTEGER": 0, "REAL": 0.0, "TEXT": "", "BLOB": b""}
    row = {column[1]: blank[column[2]] for column in statements.rows("PRAGMA table_info(sessions)")}
    row.update(
        key=key, tenant=tenant, id=message.session, root=message.root or message.session,
        kind=message.kind, source=message.source,
    )  # fmt: skip
    statements.run(
        f"INSERT INTO sessions ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
        list(row.values()),
    )
