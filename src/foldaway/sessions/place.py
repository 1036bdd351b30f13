"""Which session of a store a conversation is: found by its key or id, or begun when it must be."""

from __future__ import annotations

from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldaway.engine import model_of
from foldaway.errors import Conflict, InvalidSetting, UnknownSession
from foldaway.sessions.options import SessionOptions
from foldaway.sessions.rows import frame_of
from foldaway.stores import NewSession, SessionInfo, Store


class SessionPlace(Struct):
    """Which session of a store a conversation is, and with what it was opened."""

    store: Store
    key: str
    options: SessionOptions
    new: NewSession | None = None
    session_id: str = ""
    source: str = ""
    known: SessionInfo | None = None
    """The session as the store had it last; None as long as it is not begun."""

    def __post_init__(self) -> None:
        """Look for the session."""
        if not isinstance(cast("object", self.key), str):
            raise InvalidSetting("key", self.key, "a text")
        self.source = self.new.source if self.new else ""
        given = self.session_id
        self.known = self.store.newest_leaf(given) if given else self.find()

    def find(self) -> SessionInfo | None:
        """Return the session of the key, None if there is none."""
        return find_by_key(self.store, self.key, self.source)

    def begin(self, dialect: str) -> SessionInfo:
        """Make the session in the store; another process may have been faster with its key."""
        try:
            self.known = self.store.create(self._describe(dialect))
        except Conflict:
            self.known = self.find()
            if self.known is None:
                raise
        return self.known

    @property
    def first_dialect(self) -> str:
        """The wire format that a new session was opened for, "" if that is still open."""
        return self.options.dialect or (self.new.dialect if self.new else "")

    @property
    def dialect(self) -> str:
        """The wire format of the session, "" if that is still open."""
        return self.first_dialect if self.known is None else self.known.dialect

    def _describe(self, dialect: str) -> NewSession:
        """Return what the session is made from when it begins."""
        known = self.new or NewSession(dialect="")
        return replace(
            known,
            dialect=known.dialect or dialect or "openai-chat",
            model=known.model or model_of(self.options.model).name,
            source_id=known.source_id or self.key,
        )

    def refuse_dialect(self, dialect: str) -> None:
        """Raise `InvalidSetting` for messages of another wire format than the session has."""
        info = self.known
        if info is not None and dialect and dialect != info.dialect and info.length:
            name = self.key or info.id
            why = f"{name!r} is a conversation in {info.dialect}, not {dialect}; use another key"
            raise InvalidSetting("key", name, "another one", message=why)

    @property
    def last_known(self) -> SessionInfo:
        """The session as it was known last; as it would begin, if it is not begun."""
        if self.known is not None:
            return self.known
        new: dict[str, Any] = msgspec.structs.asdict(self._describe(self.first_dialect))
        new |= {"id": "", "root_id": "", "started": 0.0, "updated": 0.0}
        return SessionInfo(**new, profile=self.store.profile)

    @property
    def frame(self) -> dict[str, Any]:
        """The facts that are kept with the session."""
        return {} if self.known is None else frame_of(self.known)


def find_by_key(store: Store, key: str, source: str = "") -> SessionInfo | None:
    """Return where the conversation of a host's key goes on, with what was begun in its place;
    None if there is none.
    """
    found = store.by_source(source, key) if key else None
    leaf, name = None, "" if found is None else found.id
    try:
        while name:
            leaf = store.newest_leaf(name)
            name = frame_of(leaf).get("replaced_by", "")
    except UnknownSession:
        pass  # what replaced it was deleted
    return leaf
