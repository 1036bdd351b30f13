"""Messages that wait for their turn: durable when they are put, taken by one process at a time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import log_event
from foldaway.dialects import dump_bytes, parse
from foldaway.errors import Conflict, InvalidSetting, LeaseLost, StoreError, UnknownSession
from foldaway.sessions.leasing import TTL_SECONDS, holder_name, renewing, take_lease
from foldaway.sessions.rows import INBOX, frame_of, payloads
from foldaway.sessions.session import Session
from foldaway.stores import (
    Held,
    Lease,
    NewMessage,
    NewSession,
    SessionFilter,
    SessionInfo,
    Store,
    StoredMessage,
)

_SOURCE = "inbox"
THREADS = 32
"""Turns that a process works on at a time, most of which wait for a model; chosen."""
SWEEP_SECONDS = 60.0
"""Between two looks for what a process left behind: as long as a lease on another machine lasts."""
RETRY_SECONDS = 5.0
"""Until what failed is tried again: as long as clients wait for a connection; chosen."""
RECENT_SECONDS = 86_400.0
"""How far back these look, after the first that a process takes: a day; chosen."""


class Inbox:
    """What arrives for one conversation, in whichever process, until it is answered.

    A message that was put is durable. One process at a time has the turn; if it is killed, the next
    one goes on from where the log of the conversation ends. A message is appended to that log once,
    and answered at least once. The inbox is a session of kind "tool", which no list and no search
    shows.
    """

    def __init__(self, store: Store, key: str, *, lease_seconds: float = TTL_SECONDS) -> None:
        """Take the key of a conversation; `lease_seconds` is how long a process on another machine
        that ended without a word keeps the turn.
        """
        InvalidSetting.check_type("store", store, Store, "what open_store() returns")
        InvalidSetting.check_type("key", key, str, "a text")
        self.key, self._store, self._lease_seconds = key, store, lease_seconds
        self._known_id = ""

    def put(
        self, message: str | Mapping[str, Any], *, message_id: str = "", is_command: bool = False
    ) -> bool:
        """Keep a text or a user message; False if one of the same `message_id` was put before.

        A command has a turn of its own, and is not appended to the log.
        """
        row = NewMessage(
            body=dump_bytes(_user_message(message)),
            role="command" if is_command else "user",
            key=message_id,
        )
        return bool(self._store.append(self._id, [row]))

    def waiting(self) -> int:
        """Return how many messages are not answered yet."""
        info = self._store.session(self._id)
        return info.length - _cursor_of(info).answered

    def turns(self) -> Iterator[InboxTurn]:
        """Yield turns as long as something waits and no other process has the turn.

        What was taken in a turn counts as answered when the next one is asked for; if the loop is
        left before, by an error or `break`, it still waits. The last turn is one in which nothing
        was taken. Nothing is left over if another process has the turn: that process looks again
        after it let go.
        """
        while self.waiting():
            lease = take_lease(self._store, self._id, holder_name(), ttl=self._lease_seconds)
            if isinstance(lease, Held):
                return
            with renewing(self._store, lease):
                turn = InboxTurn(self._store, lease, self._settle())
                yield turn
                if not turn.end():
                    return

    @property
    def _id(self) -> str:
        if not self._known_id:
            name = f"{INBOX}{self.key}"
            found = self._store.by_source(_SOURCE, name)
            if found is None:
                new = NewSession(
                    dialect="openai-chat", kind="tool", source=_SOURCE, source_id=name, title=name
                )
                try:
                    found = self._store.create(new)
                except Conflict:
                    found = self._store.by_source(_SOURCE, name)
                    if found is None:
                        raise
            self._known_id = found.id
        return self._known_id

    def _settle(self) -> _Cursor:
        """Return how far the messages are really in the log: who took the last ones may have been
        killed before they were appended.
        """
        cursor = _cursor_of(self._store.session(self._id))
        if cursor.stop == cursor.taken:
            return cursor
        message = _merge(payloads(self._store.read(self._id, cursor.taken, cursor.stop)))
        try:
            log = self._store.newest_leaf(cursor.session_id).id
            is_there = message in payloads(self._store.read(log, cursor.at))
        except UnknownSession:
            is_there = True  # the conversation was erased, and the message with it
        return replace(cursor, **{"taken": cursor.stop} if is_there else {"stop": cursor.taken})


class InboxTurn:
    """The right to answer what arrives for a conversation: a command, or messages."""

    def __init__(self, store: Store, lease: Lease, cursor: _Cursor) -> None:
        self._store, self._lease, self._cursor = store, lease, cursor
        self._answered = cursor.answered
        self._is_cut_off = cursor.taken > cursor.answered
        self.command = "" if self._is_cut_off else self._take_command()
        """The line of a command; "" if there are messages to `take`. A command is given out once:
        one that was cut off is not done twice."""

    def take(self, session: Session) -> bool:
        """Append what came since, up to the next command, as one user message; return whether
        there was something. Room is made for it first (`Session.make_room`).

        If the turn before was cut off, the first call appends nothing: go on from where the log
        ends. In the middle of a turn, call it when the results of tools are appended. `LeaseLost`
        if another process took the turn over.
        """
        self._refuse_lost()
        if self._is_cut_off:
            self._is_cut_off = False
            return True
        rows = self._next()
        ends = [at for at, row in enumerate(rows) if row.role == "command"]
        rows = rows[: ends[0]] if ends else rows
        if self.command or not rows:
            return False
        message, stop = _merge(payloads(rows)), self._cursor.taken + len(rows)
        session.compact(before=message)
        at = session.change().length
        self._save(replace(self._cursor, stop=stop, session_id=session.id, at=at))
        session.append(message)
        self._cursor = replace(self._cursor, taken=stop)
        return True

    def _take_command(self) -> str:
        rows = self._next()[:1]
        if not rows or rows[0].role != "command":
            return ""
        taken = self._cursor.taken + 1
        self._save(_Cursor(taken, taken, taken))
        return str(parse(rows[0].body)["content"])

    def end(self) -> bool:
        """Note that all that was taken is answered; return whether there was something."""
        self._refuse_lost()
        taken = self._cursor.taken
        if self._is_cut_off or taken == self._answered:
            return False
        self._save(_Cursor(taken, taken, taken))
        return True

    def _next(self) -> list[StoredMessage]:
        return self._store.read(self._lease.session_id, self._cursor.taken)

    def _save(self, cursor: _Cursor) -> None:
        frame = msgspec.json.encode({_FIELD: cursor})
        self._store.change(self._lease.session_id, goal="", frame=frame)
        self._cursor = cursor

    def _refuse_lost(self) -> None:
        if not self._store.renew(self._lease):
            raise LeaseLost(self._lease.session_id, "it goes on in another process")


class _Cursor(Struct, frozen=True):
    """How far an inbox is: numbers of its messages, from the first."""

    answered: int = 0
    taken: int = 0
    """They are in the log of the conversation, or were commands."""
    stop: int = 0
    """Those from `taken` to here are about to be appended, as one message."""
    session_id: str = ""
    at: int = 0
    """To this session, at this position or after it."""


_FIELD = "inbox"
"""The fact of its session that an inbox keeps its cursor in: a list of sessions has these facts,
and is all that a sweep reads."""


class InboxWorker:
    """Threads that answer what waits: at once in the inboxes that they are woken for, and from time
    to time in all of them, so that what another process left behind is answered.

    An error of `answer` is logged by its name; what it was about still waits, and is tried again
    soon.
    """

    def __init__(
        self,
        store: Store,
        answer: Callable[[Inbox], object],
        *,
        threads: int = THREADS,
        sweep_seconds: float = SWEEP_SECONDS,
    ) -> None:
        """Start the threads; the first look at all inboxes is now."""
        self._store, self._answer, self._sweep_seconds = store, answer, sweep_seconds
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="foldaway-inbox")
        self._failed: SimpleQueue[Inbox] = SimpleQueue()
        self._stop = Event()
        self._sweeping = Thread(target=self._sweep, name="foldaway-sweep", daemon=True)
        self._sweeping.start()

    def wake(self, inbox: Inbox) -> None:
        """Have an inbox answered soon."""
        self._threads.submit(self._try, inbox)

    def close(self) -> None:
        """Wait for what was begun, and stop."""
        self._stop.set()
        self._sweeping.join()
        self._threads.shutdown()

    def _try(self, inbox: Inbox) -> None:
        try:
            self._answer(inbox)
        except Exception as error:  # noqa: BLE001 one conversation must not stop the others
            log_event("session.unanswered", error=type(error).__name__)
            self._failed.put(inbox)

    def _sweep(self) -> None:
        since: float | None = None  # all of them at the start
        while True:
            try:
                inboxes = list(waiting_inboxes(self._store, since=since))
            except StoreError as error:
                log_event("session.unanswered", error=type(error).__name__)
                inboxes = []
            random.shuffle(inboxes)  # processes that start at once begin with other ones
            for inbox in inboxes:
                self.wake(inbox)
            since = time.time() - RECENT_SECONDS
            if self._retried_until(time.monotonic() + self._sweep_seconds):
                return

    def _retried_until(self, then: float) -> bool:
        """Try again what failed, until it is time for all; return whether to stop."""
        while (left := then - time.monotonic()) > 0:
            if self._stop.wait(min(left, RETRY_SECONDS)):
                return True
            for _ in range(self._failed.qsize()):
                self.wake(self._failed.get())
        return self._stop.is_set()


def waiting_inboxes(store: Store, *, since: float | None = None) -> Iterator[Inbox]:
    """Yield the inboxes with messages that are not answered, of those in use `since` then."""
    for info in store.all_sessions(SessionFilter(source=_SOURCE, kind="tool", since=since)):
        if info.length > _cursor_of(info).answered:
            yield Inbox(store, info.source_id.removeprefix(INBOX))


def _cursor_of(info: SessionInfo) -> _Cursor:
    if info.goal:  # as versions before 18 Nov 2026 kept it, until the next turn
        return msgspec.json.decode(info.goal, type=_Cursor)
    return msgspec.convert(frame_of(info).get(_FIELD, {}), _Cursor)


def _user_message(message: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(message, str):
        return {"role": "user", "content": message}
    InvalidSetting.check_type("message", message, Mapping, "a text, or a user message")
    given = dict(message)
    if given.get("role") != "user" or not isinstance(given.get("content"), (str, list)):
        raise InvalidSetting("message", given.get("role"), "a user message with a content")
    return given


def _merge(messages: Sequence[Any]) -> dict[str, Any]:
    """Return user messages as one: texts as paragraphs, other parts one after the other."""
    first, *others = cast("Sequence[dict[str, Any]]", messages)
    if not others:
        return first
    contents = [one["content"] for one in messages]
    if all(isinstance(one, str) for one in contents):
        return {**first, "content": "\n\n".join(contents)}
    parts = [[{"type": "text", "text": one}] if isinstance(one, str) else one for one in contents]
    return {**first, "content": [part for some in parts for part in some]}
