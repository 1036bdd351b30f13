"""The filters of a search as SQL over `messages AS m` and `sessions AS s`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from holdfast.search.values import Filters, Wanted
from holdfast.stores.database import Statements, Value
from holdfast.stores.sqlite.index import LAST_ID

_END = (
    "SELECT m.id FROM messages AS m WHERE m.tenant = k.tenant AND m.session = k.key"
    " ORDER BY m.position {} LIMIT 1"
)


class SqliteConditions(Struct, frozen=True):
    """What follows a `WHERE`, and its values."""

    sql: str
    values: tuple[Value, ...]


def conditions(tenant: str, wanted: Wanted) -> SqliteConditions:
    """Return what a message must be, to be found at all."""
    # the plus keeps SQLite from an index on the tenant, which all messages of a file share
    parts: list[str] = ["+m.tenant = ?"]
    values: list[Value] = [tenant]
    if not wanted.generated:
        parts.append("m.generated = 0")
    _among("s.kind", wanted.kinds, parts, values)
    if wanted.without_roots:
        parts.append("s.root NOT IN (SELECT value FROM json_each(?))")
        values.append(_json(wanted.without_roots))
    if wanted.without_places:
        parts.append(
            "NOT EXISTS (SELECT 1 FROM json_each(?) AS l WHERE json_extract(l.value, '$[0]') = s.id"
            " AND m.position >= json_extract(l.value, '$[1]')"
            " AND m.position < json_extract(l.value, '$[2]'))"
        )
        values.append(_json(wanted.without_places))
    for filters in (wanted.filters, wanted.query.filters):
        _add(tenant, filters, parts, values)
    return SqliteConditions(" AND ".join(parts), tuple(values))


def within(tx: Statements, tenant: str, wanted: Wanted) -> tuple[int, int]:
    """Return the first and last id that can be found: those of the sessions that are looked in.

    It spares an index most of a common word, where only one session or folder of thousands is
    asked.
    """
    low, high = 0, LAST_ID

    def narrow(which: str, values: Sequence[Value]) -> None:
        nonlocal low, high
        found = tx.row(
            f"SELECT min(({_END.format('ASC')})), max(({_END.format('DESC')}))"
            f" FROM sessions AS k WHERE k.tenant = ? AND {which}",
            (tenant, *values),
        )
        low = max(low, found[0] or 0) if found else low
        high = min(high, found[1] or 0) if found else high

    for filters in (wanted.filters, wanted.query.filters):
        if filters.folders is not None:
            narrow("k.cwd IN (SELECT value FROM json_each(?))", (_json(filters.folders),))
        if filters.sessions:
            named, names = _named(filters.sessions)
            narrow(
                "k.root IN (SELECT t.root FROM sessions AS t WHERE t.tenant = ? AND"
                f" {named})", (tenant, *names)
            )  # fmt: skip
    return low, high


def _named(sessions: Sequence[str]) -> tuple[str, list[Value]]:
    named = _any_of(["substr(t.id, 1, length(?)) = ?"] * len(sessions))
    return named, [name for name in sessions for _ in range(2)]


def _add(tenant: str, filters: Filters, parts: list[str], values: list[Value]) -> None:
    _among("m.role", filters.roles, parts, values)
    _among("lower(s.source)", [source.lower() for source in filters.sources], parts, values)
    if filters.folders is not None:
        parts.append("s.cwd IN (SELECT value FROM json_each(?))")
        values.append(_json(filters.folders))
    if filters.tools:
        parts.append(_any_of(["instr(lower(m.tools), lower(?)) > 0"] * len(filters.tools)))
        values.extend(_json(tool) for tool in filters.tools)
    if filters.since is not None:
        parts.append("m.time >= ?")
        values.append(filters.since)
    if filters.until is not None:
        parts.append("m.time < ?")
        values.append(filters.until)
    if filters.sessions:
        named, names = _named(filters.sessions)
        parts.append(
            f"(m.session IN (SELECT t.key FROM sessions AS t WHERE t.tenant = ? AND {named})"
            " OR EXISTS (SELECT 1 FROM segments AS g JOIN sessions AS t ON t.key = g.session"
            " WHERE g.tenant = ? AND g.owner = m.session"
            f" AND m.position >= g.start AND m.position < g.stop AND {named}))"
        )
        values.extend((tenant, *names, tenant, *names))


def _among(column: str, wanted: Sequence[str], parts: list[str], values: list[Value]) -> None:
    if wanted:
        parts.append(f"{column} IN ({', '.join('?' * len(wanted))})")
        values.extend(wanted)


def _any_of(parts: list[str]) -> str:
    return f"({' OR '.join(parts)})"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
