"""What a host may hear of a session and be asked for, and which one a thread works on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from foldaway._core import SESSION, log_event
from foldaway.sessions.events import LASTING, EventKind, SessionEvent
from foldaway.stores import Descent, SessionInfo

ENVIRONMENT_VARIABLE = "FOLDAWAY_SESSION"


class Switched(Struct, frozen=True):
    """The conversation goes on under another id."""

    previous_id: str
    session_id: str
    descent: Descent


class Hooks(Struct, frozen=True, kw_only=True):
    """Called in the thread of the session; one that raises is logged by name and passed over."""

    before_compaction: Callable[[SessionInfo], object] | None = None
    """A text that it returns is shown to the model that writes the summary, as data."""
    event: Callable[[SessionEvent], object] | None = None
    """Told what a person may want to know: pressure, what became of a compaction, failures. How
    things are is told once, and again only after it was otherwise in between."""
    session_switch: Callable[[Switched], object] | None = None
    system: Callable[[SessionInfo], str] | None = None
    """Renders the system prompt with its memory block: at the start and after every compaction,
    and at no other time, so that it stays the same bytes in between."""


def call_hook(hook: Callable[[Any], Any] | None, value: Any) -> Any:
    """Call a hook if there is one and return what it says; None if it raises."""
    if hook is None:
        return None
    try:
        return hook(value)
    except Exception as error:  # noqa: BLE001 a hook of the host must not undo what is durable
        name = getattr(hook, "__qualname__", type(hook).__name__)
        log_event("session.hook_failed", hook=name, error=type(error).__name__)
        return None


class EventTeller:
    """Tells a host of events, and of what lasts only when it begins."""

    def __init__(self, hook: Callable[[SessionEvent], object] | None) -> None:
        self._hook, self.told = hook, frozenset[EventKind]()

    def tell(self, event: SessionEvent) -> None:
        """Tell of an event, unless the host has heard that things are so."""
        if event.kind not in self.told:
            self.told |= LASTING & {event.kind}
            call_hook(self._hook, event)

    def tell_all(self, events: Iterable[SessionEvent]) -> None:
        """Tell of all that a check found; what it did not find is over."""
        found = list(events)
        for event in found:
            self.tell(event)
        self.told = LASTING & {event.kind for event in found}


def read_heard(frame: Mapping[str, Any]) -> frozenset[EventKind]:
    """Return what a host has heard of how things are, through any handle of a session."""
    return frozenset(frame.get("told", ()))


def current_session() -> str:
    """Return the id of the session that this thread or task works on, "" if there is none."""
    return SESSION.get()


def session_environment() -> dict[str, str]:
    """Return the variable by which programs that an agent starts know the session: add it to their
    environment. It names the session of now, also after a switch; empty if there is none.
    """
    known = SESSION.get()
    return {ENVIRONMENT_VARIABLE: known} if known else {}


def switch_to(session_id: str) -> None:
    """Make a session the current one, for this thread or task."""
    SESSION.set(session_id)


def announce_switch(hooks: Hooks, switched: Switched) -> None:
    """Make the other session the current one, and tell the log and the host."""
    switch_to(switched.session_id)
    log_event("session.switched", descent=switched.descent)
    call_hook(hooks.session_switch, switched)


class SessionField(logging.Filter):
    """Gives every log record the field `foldaway_session`; add it to a handler or a logger."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Set the field; no record is held back."""
        record.foldaway_session = SESSION.get()
        return True
