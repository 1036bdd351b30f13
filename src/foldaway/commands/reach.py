"""What the commands of one person may reach: sessions to go back to, and words without secrets."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from foldaway.commands.lines import BadLine
from foldaway.errors import UnknownSession
from foldaway.memory import MemoryManager
from foldaway.sessions import Show, message_at
from foldaway.stores import SessionFilter, SessionInfo, Store

_NONE = "no conversation {name!r}; /resume lists them"


class Reach(Struct, frozen=True):
    """A store, as far as a conversation may see it."""

    store: Store
    show: Show
    """What a text becomes before it is shown."""
    memory: MemoryManager | None
    own: Mapping[str, str]
    """Commands that the host answers itself, with what they do."""
    session_id: str
    """Offered is what began with this session, or what it began with: its branches, and those that
    `/new` began. "" offers every conversation of the store."""

    def recent(self, most: int) -> list[SessionInfo]:
        """Return the conversations that are offered, the last used first."""
        if self.session_id:
            found = [one for one in self._family() if one.kind == "main"]
        else:
            found = self.store.sessions(SessionFilter(), most=2 * most).sessions
        live = [one for one in found if one.end_reason != "compression" and one.length]
        return sorted(live, key=lambda one: -one.updated)[:most]

    def find(self, name: str) -> SessionInfo:
        """Return an offered conversation by its id, the beginning or end of it, or its title."""
        try:
            if not self.session_id:
                return self.store.newest_leaf(self.store.find(name).id)
        except UnknownSession:
            raise BadLine(_NONE.format(name=name)) from None
        family = self._family()
        titled = [one for one in family if one.title == name]
        found = (
            [one for one in family if one.id == name]
            or titled[-1:]
            or [one for one in family if one.id.startswith(name) or one.id.endswith(name)]
        )
        if not found:
            raise BadLine(_NONE.format(name=name))
        if len(found) > 1:
            raise BadLine(f"{name!r} may be {len(found)} conversations; write more of the id")
        return self.store.newest_leaf(found[0].id)

    def ids(self) -> tuple[str, ...]:
        """Return the sessions that a search is limited to, none for all."""
        return tuple(one.id for one in self._family()) if self.session_id else ()

    def words_at(self, session_id: str, position: int) -> str:
        """Return what a message says."""
        info = self.store.session(session_id)
        return message_at(self.store, info, position, show=self.show).text

    def _family(self) -> list[SessionInfo]:
        """Return the sessions that are offered, in order of their start."""
        store = self.store
        first = store.lineage(self.session_id)
        while first[0].parent_id:  # a root has a parent if it was begun in its place
            try:
                first = store.lineage(first[0].parent_id)
            except UnknownSession:  # which was erased
                break
        found: list[SessionInfo] = []
        waiting = [first]
        while waiting:
            lineage = waiting.pop()
            found += lineage
            waiting += [store.lineage(one.id) for one in store.begun_anew(lineage[0].root_id)]
        return sorted(found, key=lambda one: one.started)
