"""A host's own list in a store, item by item as the host gave it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from foldaway.dialects import dump_bytes
from foldaway.sessions import payloads
from foldaway.stores import NewMessage, NewSession, SessionInfo, Store


def plain_row(item: Any) -> NewMessage:
    """Return an item as a store takes it; a search finds it in the conversation itself."""
    return NewMessage(body=dump_bytes(item), role=item.get("role") or "assistant")


class HostItems(Struct, frozen=True):
    """The list of one conversation, for hosts that have none; it is not what the model was sent."""

    store_of: Callable[[], Store]
    """Opens the store when it is first needed."""
    new: NewSession
    """The session to make with the first items; found again by its source and source id, which are
    not those of the conversation itself."""
    row: Callable[[Any], NewMessage] = plain_row
    """Returns an item as the store takes it."""

    def read(self) -> list[Any]:
        """Return all items."""
        known = self._find_session()
        return [] if known is None else payloads(self.store_of().read(known.id))

    def append(self, items: Sequence[Any]) -> None:
        """Add items, all or none; those with a key that is known are passed over."""
        known, rows = self._find_session(), [self.row(one) for one in items]
        if known is None:
            self.store_of().create(self.new, messages=rows)
        else:
            self.store_of().append(known.id, rows)

    def keep(self, stop: int) -> list[Any]:
        """Remove all items from a place on, and return them; `Conflict` if others are added
        meanwhile.
        """
        items, known = self.read(), self._find_session()
        rows = [self.row(one) for one in items[:stop]]
        self.store_of().create(self.new, messages=rows, replaces=known)
        return items[stop:]

    def _find_session(self) -> SessionInfo | None:
        return self.store_of().by_source(self.new.source, self.new.source_id)
