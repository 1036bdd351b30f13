"""What a store asks of a database: the part that differs between SQLite and PostgreSQL.

All semantics stand once, in `store.py` and its siblings, over this. Their statements are plain
SQL that both speak: `?` for values, `ON CONFLICT`, `RETURNING`; every table has the column
`tenant`, first in its keys. A truth is 0 or 1, a list of names is JSON, bytes are packed by
`bodies.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from foldaway._core import __version__, read_table
from foldaway.errors import StoreUnavailable
from foldaway.search import Match, Reveal, Wanted

T = TypeVar("T")
Value: TypeAlias = str | bytes | int | float | None
Row: TypeAlias = tuple[Any, ...]

BodyKey: TypeAlias = Any
"""What `messages.body`, `sessions.frame`, `parts.body` and `parts.part` hold: the key of a row
of `bodies`; only the database that made it knows what it is."""


class Packed(Struct, frozen=True, gc=False):
    """A body ready to be written; those with the same address are the same body."""

    address: bytes
    """The sha256 of the whole content, 32 bytes."""
    size: int
    """Bytes of the body as it was given, without the text of the search."""
    packed: bytes
    parts: tuple[tuple[int, Packed], ...] = ()
    """What was cut out of it and is stored by itself: where it goes in, and what."""


class MessageRow(Struct, frozen=True, gc=False):
    """A message to be written, its body already there."""

    body: BodyKey
    role: str
    tools: str
    """A JSON list of names, or nothing."""
    time: float
    key: str
    tokens: int
    generated: int
    text: str
    """For the index; clean: no NUL, no lone surrogates."""


class Ticks(Struct, frozen=True, gc=False):
    """A clock that nobody can set: seconds, comparable within one epoch only."""

    epoch: str
    seconds: float


class Statements(Protocol):
    """An open transaction: one state of the database, and what was changed in it so far."""

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """Return all rows."""
        ...

    def row(self, sql: str, values: Sequence[Value] = ()) -> Row | None:
        """Return the first row, or None."""
        ...

    def run(self, sql: str, values: Sequence[Value] = ()) -> int:
        """Return how many rows were changed."""
        ...

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement for each of `rows`."""
        ...


class Database(Protocol):
    """One database, open. Safe to use from many threads and after a fork.

    Whatever goes wrong below is raised as `StoreUnavailable`, with nothing changed.
    """

    @property
    def backend(self) -> str:
        """`sqlite` or `postgresql`."""
        ...

    @property
    def where(self) -> str:
        """The file, or the server without its password."""
        ...

    @property
    def tenant(self) -> str:
        """What the column `tenant` holds; on a server the profile is part of it."""
        ...

    @property
    def read_only(self) -> bool:
        """Whether `write` is refused."""
        ...

    @property
    def for_update(self) -> str:
        """What follows a `SELECT` of a session's row so that the transaction owns it."""
        ...

    def read(self, work: Callable[[Statements], T]) -> T:
        """Run `work` on one state of the database; it may run again, so it only reads."""
        ...

    def write(self, work: Callable[[Statements], T]) -> T:
        """Run `work` as if alone, durable when this returns; it may run more than once.

        An exception of `work` undoes all of it and comes through.
        """
        ...

    def now(self, tx: Statements, /) -> float:
        """Return the time of day, in seconds since 1970."""
        ...

    def ticks(self, tx: Statements, /) -> Ticks:
        """Return the clock of leases; it does not follow when the time of day is set."""
        ...

    def new_key(self, tx: Statements, /) -> int:
        """Return a `sessions.key` that is free."""
        ...

    def put_bodies(self, tx: Statements, bodies: Sequence[Packed], /) -> list[BodyKey]:
        """Write those that are not there yet, their parts with them; return the key of each."""
        ...

    def remove_bodies(self, tx: Statements, keys: Sequence[BodyKey], /) -> None:
        """Delete rows of `bodies`, to which nothing refers any more."""
        ...

    def put_messages(
        self, tx: Statements, session: int, start: int, rows: Sequence[MessageRow], /
    ) -> None:
        """Write messages from the position `start` on; a search finds them from then on."""
        ...

    def remove_messages(self, tx: Statements, session: int, /) -> int:
        """Take all messages that a session owns out of log and indexes; return how many."""
        ...

    def replace_message(
        self, tx: Statements, session: int, position: int, row: MessageRow, /
    ) -> None:
        """Write a message again in log and indexes; its role and time stay."""
        ...

    def match(self, wanted: Wanted, most: int, reveal: Reveal | None = None) -> list[Match]:
        """Return at most `most` messages that fit, the best first.

        With `reveal` they are found only by what it shows of them.
        """
        ...

    def complete_index(self, most: int | None) -> int:
        """Bring the substring index up to the log, at most `most` messages; return how many."""
        ...

    def unindexed(self, tx: Statements, /) -> int:
        """Return how many messages the substring index lacks."""
        ...

    def stored_bytes(self) -> int:
        """Return what the database takes on disk, or the tenant's share of it on a server."""
        ...

    def schema(self) -> int:
        """Return the number of the newest migration."""
        ...

    def version(self) -> str:
        """Return the version of the database software."""
        ...

    def problems(self, deep: bool) -> tuple[str, ...]:
        """Return what the database's own check finds; `deep` reads everything."""
        ...

    def analyze(self) -> None:
        """Have the database look at what its tables hold, if it plans by that."""
        ...

    def reclaim(self, *, fully: bool = False) -> tuple[str, ...]:
        """Give the room of what was deleted back; return what could not be done, in sentences.

        A file keeps no trace of it; a server may, unless it is done `fully`: then others wait
        until its tables are written again.
        """
        ...

    def files(self) -> tuple[str, ...]:
        """Return the files that there are of it; none of a server's."""
        ...

    def backup(self, path: str) -> None:
        """Write a copy of one state to a new file, through the database's own means."""
        ...

    def close(self) -> None:
        """Let go of everything; what was acknowledged is already durable."""
        ...


@cache
def migrations(backend: str) -> dict[int, str]:
    """Return the statements of each migration in `stores/<backend>/migrations`, by its number."""
    found = {
        int(entry.name.removesuffix(".sql")): entry.read_text(encoding="utf-8")
        for entry in (files("foldaway.stores") / backend / "migrations").iterdir()
        if entry.name.endswith(".sql")
    }
    return dict(sorted(found.items()))


def sentences_for(backend: str) -> dict[str, tuple[str, str]]:
    """Return what a person is told about the errors of a database, from `errors.toml`."""
    table = read_table("errors", dict[str, dict[str, tuple[str, str]]], "foldaway.stores")
    return table[backend]


def note_of_version(done: int) -> str:
    """Return the row of `meta` for this version, which makes or migrates the tables."""
    return f"{'migrated' if done else 'created'} by {__version__}"


def refuse_newer(where: str, thing: str, schema: int, newest: int) -> None:
    """Raise `StoreUnavailable` if a newer version made the tables of a file or store."""
    if schema > newest:
        raise StoreUnavailable(
            where,
            f"the {thing} was written by a newer version (schema {schema}, this one knows"
            f" {newest})",
            remedy=f"update foldaway; nothing in the {thing} was changed",
        )


def refuse_read_only(database: Database) -> None:
    """Raise `StoreUnavailable` if a database was opened to be read only."""
    if database.read_only:
        raise StoreUnavailable(
            database.where, "the store was opened read-only", remedy="open it for writing"
        )
