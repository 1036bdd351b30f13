"""What the tools of an agent work on: a store, as far as its sessions are offered."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from foldaway.errors import UnknownReference, UnknownSession
from foldaway.sessions.hiding import Show, as_it_is
from foldaway.sessions.project import Project
from foldaway.sessions.tool_rows import beginning, date_of
from foldaway.stores import FIRST_ASK_CHARS, Place, SessionInfo, Store


class Library(Struct, frozen=True):
    """A store, what a text becomes on its way, and which sessions are offered.

    Without a `project` all sessions are offered; with one, sessions of other folders are unknown.
    """

    store: Store
    show: Show = as_it_is
    project: Project | None = None

    def folders(self) -> tuple[str, ...] | None:
        """Return the folders whose sessions are offered, as the store spells them; None for all."""
        return None if self.project is None else self.project.pick(self.store.folders())

    def find(self, name: str) -> SessionInfo:
        """Return an offered session by its id, beginning or source id; raises as `Store.find`.

        A name that is not shown as it is names none: to try it would be to guess a secret.
        """
        if self.show(name) != name:
            raise UnknownSession(name)
        return self.store.find(name, folders=self.folders())

    def is_offered(self, info: SessionInfo) -> bool:
        """Return whether a session may be seen at all."""
        return self.project is None or bool(self.project.pick([info.cwd]))

    def place(self, ref: str) -> Place:
        """Return where a reference leads; raise `UnknownReference`."""
        for place in self.store.places(ref):
            if self.is_offered(self.store.session(place.session_id)):
                return place
        raise UnknownReference(ref)

    def count_offered(self) -> dict[str, Any]:
        """Return how many sessions are offered and, if that is not all, why."""
        counts = self.store.folders()
        total = sum(counts.values())
        if self.project is None:
            return {"sessions": total}
        here = sum(counts[folder] for folder in self.project.pick(counts))
        if here == total:
            return {"sessions": here}
        return {
            "sessions": here, "project": self.show(self.project.root),
            "not_offered": "sessions of other projects, or without a known folder: "
            f"{total - here:,}; the user can offer them with `foldaway mcp --all-projects`",
        }  # fmt: skip

    def about(self, info: SessionInfo) -> dict[str, Any]:
        """Return what a session is known by. Words go through `show`; its frame stays here."""
        show = self.show
        found = {
            "session": info.id,
            "title": beginning(show(name_in_words(info))),
            "source": beginning(info.source), "folder": beginning(show(info.cwd)),
            "started": date_of(info.started), "updated": date_of(info.updated),
            "messages": info.length,
        }  # fmt: skip
        return {name: value for name, value in found.items() if value != ""}


def name_in_words(info: SessionInfo) -> str:
    """Return the title of a session, or the whole words of what was asked first, not redacted yet:
    a secret that is cut is not recognized.
    """
    ask = info.first_ask
    return info.title or (ask if len(ask) < FIRST_ASK_CHARS else ask.rpartition(" ")[0])
