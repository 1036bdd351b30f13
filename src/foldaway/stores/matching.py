"""What the searches of both back-ends share: filters as conditions, texts that are read once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec import Struct

from foldaway.search import HIDDEN, Filters, Reveal, Revealed, Term, Wanted, Written, has_term
from foldaway.stores.bodies import unpack_written
from foldaway.stores.database import Row, Statements
from foldaway.stores.rows import plain

Tx = TypeVar("Tx", bound=Statements)

COLUMNS = "m.id, m.session, s.id, s.root, m.position, m.role, m.time"
"""The fields of a `search.find.Row`, of `messages AS m` and `sessions AS s`."""
STORED = "m.id, s.dialect, m.role, m.tools, b.tenant, b.key, b.parts, b.packed"
"""What a text is read from, `bodies AS b` too."""


class Condition(Struct, frozen=True):
    """What follows a `WHERE`, and its values."""

    sql: str
    values: tuple[Any, ...] = ()


def join_conditions(conditions: Iterable[Condition], word: str = "AND") -> Condition:
    """Return all of them as one."""
    conditions = tuple(conditions)
    return Condition(
        "(" + f" {word} ".join(each.sql for each in conditions) + ")",
        tuple(value for each in conditions for value in each.values),
    )


class StoredIndex(ABC, Generic[Tx]):
    """Messages of one state of a database: the part of `search.find.Index` that both share.

    Without `reveal` messages are found by their whole text. With it a message has a term only if
    what is shown of it has the term: no answer may depend on a text that nobody is shown.
    """

    position_function: ClassVar[str]
    """What the database calls the place of a text in another."""

    def __init__(self, tx: Tx, tenant: str, wanted: Wanted, reveal: Reveal | None = None) -> None:
        self.hides = reveal is not None
        self._tx = tx
        self._tenant = tenant
        self._without = wanted.query.without
        self._reveal = reveal
        self._written: dict[int, Written] = {}
        self._revealed: dict[int, Revealed] = {}
        self._where = join_conditions(self._list_conditions(wanted))

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return these as they are shown; what was read once is kept."""
        self._read(ids)
        if self._reveal is None:
            return {message: self._written[message].text for message in ids}
        return {message: self._reveal_text(message, self._reveal).text for message in ids}

    def fitting(self, ids: Sequence[int], terms: Sequence[Term]) -> list[int]:
        """Return those whose text has all terms and nothing unwanted."""
        self._read(ids)
        return [message for message in ids if self._is_match(message, terms)]

    def _is_match(self, message: int, terms: Sequence[Term]) -> bool:
        text = self._written[message].text
        if not all(has_term(text, term) for term in terms):
            return False
        if self._reveal is not None:
            words = self._reveal_text(message, self._reveal).words
            if any(HIDDEN in term.text for term in terms):
                return False
            # most messages hide nothing: their words are the text that was looked into
            if words is not text and not all(has_term(words, term) for term in terms):
                return False
            text = words
        return not any(has_term(text, term) for term in self._without)

    def _reveal_text(self, message: int, reveal: Reveal) -> Revealed:
        found = self._revealed.get(message)
        if found is None:
            found = self._revealed[message] = reveal(self._written[message])
        return found

    def _read(self, ids: Iterable[int]) -> None:
        missing = [message for message in ids if message not in self._written]
        for message, *stored in self._read_stored(missing) if missing else ():
            self._written[message] = unpack_written(self._tx, *stored)

    def _list_conditions(self, wanted: Wanted) -> Iterator[Condition]:
        """Yield what a message must be to be found at all."""
        yield self._match_tenant()
        if not wanted.generated:
            yield Condition("m.generated = 0")
        if wanted.kinds:
            yield self._one_of("s.kind", wanted.kinds)
        if wanted.without_roots:
            yield self._none_of("s.root", wanted.without_roots)
        if wanted.without_places:
            yield self._match_outside(wanted.without_places)
        for filters in (wanted.filters, wanted.query.filters):
            yield from self._list_filters(filters)

    def _list_filters(self, filters: Filters) -> Iterator[Condition]:
        if filters.roles:
            yield self._one_of("m.role", filters.roles)
        if filters.sources:
            yield self._one_of("lower(s.source)", [source.lower() for source in filters.sources])
        if filters.folders is not None:
            yield self._one_of("s.cwd", filters.folders)
        if filters.tools:
            has = f"{self.position_function}(lower(m.tools), lower(?)) > 0"
            yield join_conditions(
                (Condition(has, (as_json(plain(name)),)) for name in filters.tools), "OR"
            )
        if filters.since is not None:
            yield Condition("m.time >= ?", (filters.since,))
        if filters.until is not None:
            yield Condition("m.time < ?", (filters.until,))
        if filters.sessions:
            yield self._match_sessions([plain(name) for name in filters.sessions])

    @abstractmethod
    def _read_stored(self, ids: Sequence[int]) -> list[Row]:
        """Return the columns of `STORED` of these messages."""

    @abstractmethod
    def _match_tenant(self) -> Condition:
        """Return that a message is the tenant's."""

    @abstractmethod
    def _one_of(self, column: str, names: Sequence[str]) -> Condition:
        """Return that a column has one of the names."""

    @abstractmethod
    def _none_of(self, column: str, names: Sequence[str]) -> Condition:
        """Return that a column has none of the names."""

    @abstractmethod
    def _match_outside(self, places: Sequence[tuple[str, int, int]]) -> Condition:
        """Return that a message is in none of these stretches of sessions."""

    @abstractmethod
    def _match_sessions(self, names: Sequence[str]) -> Condition:
        """Return that a session whose id begins with one of the names owns or shares a message."""


def as_json(value: object) -> str:
    """Return a value as the text of a JSON document."""
    return msgspec.json.encode(value).decode()
