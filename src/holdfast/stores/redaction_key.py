"""The key that makes the placeholders of a store: random, made once, the same ever after."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from holdfast.stores.database import Statements

_NAMES = ("redaction key 1 of {}", "redaction key 2 of {}")
_BITS = 63
"""`meta` holds whole numbers of 64 bits with a sign."""


def kept(tx: Statements, tenant: str) -> str:
    """Return the key as 32 hexadecimal digits; nothing where none was made yet."""
    return "".join(f"{number:016x}" for number in numbers(tx, tenant))


def made(tx: Statements, tenant: str) -> str:
    """Return the key, which is made where there is none; of several writers the first makes it."""
    put(tx, tenant, [secrets.randbits(_BITS) for _ in _NAMES])
    return kept(tx, tenant)


def numbers(tx: Statements, tenant: str) -> list[int]:
    """Return the key as `meta` holds it: two numbers, or none."""
    rows = tx.rows("SELECT value FROM meta WHERE name IN (?, ?) ORDER BY name", _names(tenant))
    return [int(row[0]) for row in rows]


def put(tx: Statements, tenant: str, key: Sequence[int]) -> None:
    """Write a key where there is none. All writers begin with the same row, and wait there."""
    tx.many(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
        list(zip(_names(tenant), key, strict=False)),
    )


def _names(tenant: str) -> list[str]:
    return [name.format(tenant) for name in _NAMES]
