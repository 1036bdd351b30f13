"""What a provider takes of a session that came from elsewhere and breaks its rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from holdfast.dialects.check import check
from holdfast.dialects.repair import repair
from holdfast.errors import CannotRepair
from holdfast.stores.store import Store
from holdfast.stores.values import SessionInfo


class MendedView(Struct, frozen=True):
    """Messages as their provider takes them, and the rules that they broke."""

    messages: list[Any]
    rules: tuple[str, ...] = ()


def is_foreign(store: Store, info: SessionInfo) -> bool:
    """Return whether the beginning of a log was written by another agent, and imported."""
    return bool(info.source or store.session(info.root_id).source)


def is_broken(messages: Sequence[Any], dialect: str) -> bool:
    """Return whether a provider would refuse messages."""
    return bool(messages) and bool(check(list(messages), dialect=dialect))


def mended(messages: list[Any], dialect: str) -> MendedView:
    """Return messages repaired; as they are where a repair would have to invent something."""
    try:
        done = repair(messages, dialect=dialect)
    except CannotRepair:
        return MendedView(messages)
    return MendedView(list(done.messages), tuple(dict.fromkeys(each.rule for each in done.actions)))
