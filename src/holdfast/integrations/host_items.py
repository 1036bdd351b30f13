"""A host's own list in a store, item by item as the host gave it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from holdfast.dialects.jsontext import dump
from holdfast.sessions.rows import payloads
from holdfast.stores.store import Store
from holdfast.stores.values import NewMessage, NewSession


class HostItems(Struct, frozen=True):
    """The list of one conversation, for hosts that have none; it is not what the model was sent."""

    store_of: Callable[[], Store]
    """Opens the store when it is first needed."""
    source: str
    """Another one than that of the conversation itself."""
    key: str
    dialect: str

    def read(self) -> list[Any]:
        """Return all items."""
        store = self.store_of()
        known = store.by_source(self.source, self.key)
        return [] if known is None else payloads(store.read(known.id))

    def append(self, items: Sequence[Any]) -> None:
        """Add items, all or none."""
        store = self.store_of()
        known = store.by_source(self.source, self.key)
        if known is None:
            store.create(self._new(), messages=_messages(items))
        else:
            store.append(known.id, _messages(items))

    def keep(self, stop: int) -> list[Any]:
        """Remove all items from a place on, and return them; `Conflict` if others are added
        meanwhile.
        """
        store, items = self.store_of(), self.read()
        known = store.by_source(self.source, self.key)
        store.create(self._new(), messages=_messages(items[:stop]), replaces=known)
        return items[stop:]

    def _new(self) -> NewSession:
        return NewSession(dialect=self.dialect, source=self.source, source_id=self.key, kind="tool")


def _messages(items: Sequence[Any]) -> list[NewMessage]:
    """Return items as a store takes them; a search finds them in the conversation itself."""
    return [NewMessage(body=dump(one), role=one.get("role") or "assistant") for one in items]
