"""A home of sessions: one object a process, safe to use from many threads.

Whatever changes something does so in one transaction: it is durable when the call returns, and
nothing of it is there when it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Self, TypeVar

import zstandard

from foldaway._core import Reference
from foldaway.errors import StoreUnavailable
from foldaway.search import Match, Reveal, Wanted
from foldaway.stores import erasing, lineage, log, maintenance, views
from foldaway.stores.database import Database, Statements
from foldaway.stores.rows import (
    Space,
    add_spent,
    fetch,
    make_redaction_key,
    put_windows,
    read_redaction_key,
    read_spent,
    read_window,
)
from foldaway.stores.values import (
    Descent,
    Erased,
    Health,
    Held,
    Lease,
    Line,
    LineageSize,
    NewMessage,
    NewSession,
    NewView,
    OutlineRow,
    Page,
    Pin,
    Place,
    SessionFilter,
    SessionInfo,
    SessionOrder,
    StoredMessage,
    StoredView,
    Stretch,
    TokenSum,
    TurnUsage,
)

T = TypeVar("T")
_FILL = 1_000
"""Messages after which a server plans otherwise; chosen."""
_PAGE = 200
"""Sessions that are in memory at a time if all are read; chosen."""


class Store:
    """Sessions of one profile of one tenant."""

    def __init__(self, database: Database, *, profile: str) -> None:
        self._database = database
        self._space = Space(database, profile)
        self._redaction_key = ""

    @property
    def profile(self) -> str:
        """The name of the profile."""
        return self._space.profile

    @property
    def where(self) -> str:
        """The file, or the server without its password."""
        return self._database.where

    @property
    def read_only(self) -> bool:
        """Whether every change is refused."""
        return self._database.read_only

    def create(
        self,
        new: NewSession,
        *,
        parent_id: str = "",
        descent: Descent = "",
        at: int | None = None,
        messages: Sequence[NewMessage] = (),
        replaces: SessionInfo | None = None,
    ) -> SessionInfo:
        """Make a session, with its first `messages` in the same transaction.

        A `branch` shares the log of its parent up to the position `at`, the whole if it is
        None, and its view if that covers no more; so does `compression`. A `delegation` and a
        `reset` share nothing. An empty title becomes the parent's with the next number, an empty
        goal, model, folder or frame of a branch its parent's. `Conflict` where the id, or the
        source id within its source, is taken. A session that it `replaces` is erased with it;
        `Conflict` if that was appended to or compacted since.
        """
        ready = log.pack_messages(messages)

        def work(tx: Statements) -> SessionInfo:
            if replaces is not None:
                maintenance.take_out(self._space, tx, replaces)
            info = lineage.create(self._space, tx, new, parent_id=parent_id, descent=descent, at=at)
            if not ready:
                return info
            log.append(self._space, tx, info.id, ready, None)
            return fetch(self._space, tx, info.id).info

        return self._write(work)

    def session(self, session_id: str) -> SessionInfo:
        """Return a session as it stands; raise `UnknownSession`."""
        return self._read(lambda tx: fetch(self._space, tx, session_id).info)

    def find(self, text: str, *, folders: tuple[str, ...] | None = None) -> SessionInfo:
        """Return the session of an id, a source id, the beginning or end of an id, or a title.

        `last` is the one that was used last. With `folders`, only among the sessions that ran in
        them. `UnknownSession` if there is none, `AmbiguousSession` if there are several.
        """
        return self._read(lambda tx: lineage.find(self._space, tx, text, folders))

    def names(self) -> tuple[tuple[str, str, str], ...]:
        """Return the agents, models and folders of sessions, as they come together."""
        return self._read(lambda tx: lineage.list_names(self._space, tx))

    def folders(self) -> dict[str, int]:
        """Return the folders that sessions ran in, "" if unknown, with the number of sessions."""
        return self._read(lambda tx: lineage.folders(self._space, tx))

    def by_source(self, source: str, source_id: str) -> SessionInfo | None:
        """Return the session that a source knows by this id, None if there is none."""
        return self._read(lambda tx: lineage.find_by_source(self._space, tx, source, source_id))

    def known_as(self, source: str, source_ids: Sequence[str]) -> list[str]:
        """Return the ids of all sessions of a source, and of those that any knows by these ids."""
        return self._read(lambda tx: lineage.list_known_as(self._space, tx, source, source_ids))

    def named_by_path(self, source: str, key: str) -> list[str]:
        """Return source ids that are absolute paths, of sessions with a message of this key."""
        return self._read(lambda tx: lineage.list_path_ids(self._space, tx, source, key))

    def adopt(self, session_id: str, source_id: str, keys: Sequence[str] = ()) -> None:
        """Give a session another source id, and its own messages these keys by their position."""
        self._write(lambda tx: lineage.adopt(self._space, tx, session_id, source_id, keys))

    def sessions(
        self,
        wanted: SessionFilter,
        *,
        most: int = 50,
        after: str = "",
        order: SessionOrder = "updated",
    ) -> Page:
        """Return sessions in use between `since` and `until`, the last used first if no other
        order is asked for.

        `after` is `Page.next` of the page before.
        """
        return self._read(
            lambda tx: lineage.list_page(
                self._space, tx, wanted, most=most, after=after, order=order
            )
        )

    def all_sessions(self, wanted: SessionFilter) -> Iterator[SessionInfo]:
        """Yield what `sessions` returns, page by page to the last."""
        after = ""
        while True:
            page = self.sessions(wanted, most=_PAGE, after=after)
            yield from page.sessions
            if not (after := page.next):
                return

    def count(self, wanted: SessionFilter) -> int:
        """Return how many sessions a filter lets through."""
        return self._read(lambda tx: lineage.count(self._space, tx, wanted))

    def lineage(self, session_id: str) -> tuple[SessionInfo, ...]:
        """Return all sessions of the same root, in order of their start."""
        return self._read(lambda tx: lineage.lineage(self._space, tx, session_id))

    def begun_anew(self, root_id: str) -> tuple[SessionInfo, ...]:
        """Return the sessions that were begun in the place of one of this root (`reset`)."""
        return self._read(lambda tx: lineage.list_replacements(self._space, tx, root_id))

    def newest_leaf(self, session_id: str) -> SessionInfo:
        """Return where a session goes on: its newest child by compression, to the end."""
        return self._read(lambda tx: lineage.newest_leaf(self._space, tx, session_id))

    def change(
        self,
        session_id: str,
        *,
        title: str | None = None,
        goal: str | None = None,
        model: str | None = None,
        dialect: str | None = None,
        frame: bytes | None = None,
    ) -> SessionInfo:
        """Set what is not None."""
        return self._write(
            lambda tx: lineage.change(
                self._space,
                tx,
                session_id,
                title=title,
                goal=goal,
                model=model,
                dialect=dialect,
                frame=frame,
            )
        )

    def end(self, session_id: str, reason: str) -> None:
        """Mark a session as ended."""
        self._write(lambda tx: lineage.end(self._space, tx, session_id, reason))

    def reopen(self, session_id: str) -> None:
        """Take back that a session has ended."""
        self._write(lambda tx: lineage.reopen(self._space, tx, session_id))

    def append(
        self,
        session_id: str,
        messages: Sequence[NewMessage],
        *,
        expect: int | None = None,
        references: Sequence[Reference] = (),
    ) -> range:
        """Append messages, all or none; return their positions. They are found by their words.

        `references` are those under which messages are shown otherwise than they came, or are
        named elsewhere; they are given out also if nothing is appended. A message whose key the
        log holds is passed over. `Conflict` if something is new and the log has not `expect`
        messages, or the session goes on in a child.
        """
        ready = log.pack_messages(messages)

        return self._write(
            lambda tx: log.append(self._space, tx, session_id, ready, expect, references)
        )

    def read(self, session_id: str, start: int = 0, stop: int | None = None) -> list[StoredMessage]:
        """Return messages of a log, those shared with an ancestor included."""
        return self._read(lambda tx: log.read(self._space, tx, session_id, start, stop))

    def outline(self, session_id: str, start: int = 0, stop: int | None = None) -> list[OutlineRow]:
        """Return what `read` does without the bodies, which are not unpacked: many times faster."""
        return self._read(lambda tx: log.outline(self._space, tx, session_id, start, stop))

    def sums(self, session_id: str, ranges: Sequence[tuple[int, int]]) -> list[TokenSum]:
        """Return the tokens of ranges of a log by role; a role may come more than once."""
        return self._read(lambda tx: log.sums(self._space, tx, session_id, ranges))

    def glance(self, wanted: Sequence[Stretch]) -> list[tuple[Line, ...]]:
        """Return the messages of each stretch with the texts that a search sees, all at once."""
        return self._read(lambda tx: log.read_lines(self._space, tx, wanted))

    def leaves(self, ids: Sequence[str]) -> dict[str, tuple[SessionInfo, SessionInfo]]:
        """Return each session that there is, and `newest_leaf` of it; both without a frame."""
        return self._read(lambda tx: lineage.leaves(self._space, tx, ids))

    def owners(self, session_id: str) -> tuple[tuple[str, int, int], ...]:
        """Return who owns the messages of a log: a session, the first and one past the last."""
        return self._read(lambda tx: log.owners(self._space, tx, session_id))

    def keys(self, session_id: str) -> frozenset[str]:
        """Return the keys of all messages of a log; control characters in them are escaped."""
        return self._read(lambda tx: log.keys(self._space, tx, session_id))

    def view(
        self, session_id: str, number: int | None = None, *, lean: bool = False
    ) -> StoredView | None:
        """Return a view, the current one if no number is given; None for the log as it is.

        A `lean` one has no state, which may be a megabyte.
        """
        return self._read(lambda tx: views.view(self._space, tx, session_id, number, lean=lean))

    def views(self, session_id: str, *, lean: bool = False) -> tuple[StoredView, ...]:
        """Return all views in order, those that were undone included; `lean` as in `view`."""
        return self._read(lambda tx: views.views(self._space, tx, session_id, lean=lean))

    def commit(
        self, session_id: str, new: NewView, *, expect: int, fence: int | None = None
    ) -> SessionInfo:
        """Swap a view in; messages that came meanwhile are kept.

        `Conflict` where the current view is not number `expect`, `LeaseLost` where the lease of
        `fence` is over, `InvalidView` if it covers more than the log.
        """
        return self._write(
            lambda tx: views.commit(self._space, tx, session_id, new, expect=expect, fence=fence)
        )

    def undo(
        self, session_id: str, *, expect: int | None = None, fence: int | None = None
    ) -> SessionInfo:
        """Swap the view before back in; `NothingToUndo` where the log is shown as it is."""
        return self._write(
            lambda tx: views.undo(self._space, tx, session_id, expect=expect, fence=fence)
        )

    def rotate(
        self,
        session_id: str,
        child: NewSession,
        new: NewView,
        *,
        expect: int,
        fence: int | None = None,
    ) -> SessionInfo:
        """End a session and return the child that goes on with its log, under the new view.

        Title, goal, model, frame, pins and state are carried over. It raises what `commit` does.
        """
        return self._write(
            lambda tx: views.rotate(
                self._space, tx, session_id, child, new, expect=expect, fence=fence
            )
        )

    def save_state(self, session_id: str, state: bytes, *, view: int | None = None) -> None:
        """Keep what a session must remember between compactions; nothing is kept if its view is
        no longer number `view`.
        """
        self._write(lambda tx: views.save_state(self._space, tx, session_id, state, view))

    def state(self, session_id: str) -> bytes:
        """Return what was kept last, nothing if there is none."""
        return self._read(lambda tx: views.state(self._space, tx, session_id))

    def save_sent(self, session_id: str, sent: bytes, *, view: int) -> None:
        """Keep how a host's list became what was sent by a view; nothing is kept if the session
        shows another one by now.
        """
        self._write(lambda tx: views.save_sent(self._space, tx, session_id, sent, view))

    def sent(self, session_id: str) -> bytes:
        """Return how the view of now was sent, nothing if it was not yet."""
        return self._read(lambda tx: views.read_sent(self._space, tx, session_id))

    def places(self, ref: str, *, session_id: str = "") -> tuple[Place, ...]:
        """Return where a reference leads.

        In one session also what its ancestors gave out for the log that it shares with them.
        """
        return self._read(lambda tx: views.places(self._space, tx, ref, session_id=session_id))

    def references(self, session_id: str) -> tuple[Reference, ...]:
        """Return all references of a session by position, as `places` finds each of them."""
        return self._read(lambda tx: views.references(self._space, tx, session_id))

    def pin(self, session_id: str, position: int, note: str = "") -> None:
        """Pin a message; a second time changes the note, of at most 1,000 characters.

        `UnknownPosition` if there is no such message, `InvalidSetting` for a longer note.
        """
        self._write(lambda tx: views.pin(self._space, tx, session_id, position, note))

    def unpin(self, session_id: str, position: int) -> None:
        """Take a pin away, if there is one."""
        self._write(lambda tx: views.unpin(self._space, tx, session_id, position))

    def pins(self, session_id: str) -> tuple[Pin, ...]:
        """Return the pins in order of their positions."""
        return self._read(lambda tx: views.pins(self._space, tx, session_id))

    def add_usage(self, session_id: str, *turns: TurnUsage) -> None:
        """Keep what requests cost, in this order."""
        self._write(lambda tx: views.add_usage(self._space, tx, session_id, turns))

    def usage(self, session_id: str, *, last: int | None = None) -> tuple[TurnUsage, ...]:
        """Return what requests cost, in their order: all of them, or the `last` ones."""
        return self._read(lambda tx: views.usage(self._space, tx, session_id, last))

    def recorded(self, after: int, most: int) -> list[tuple[int, SessionInfo, int]]:
        """Return the sessions after a number, 0 at first, in the order of their numbers: each with
        its number, without its frame, and with the requests that are recorded of it.
        """
        return self._read(lambda tx: views.recorded(self._space, tx, after, most))

    def count_used(self, price: views.Price, *, most: int = _PAGE) -> int:
        """Count what at most `most` sessions used that were not counted yet; return how many."""
        return self._write(lambda tx: views.count_used(self._space, tx, price, most))

    def acquire(self, session_id: str, holder: str, ttl: float, gone: str = "") -> Lease | Held:
        """Return the right to compact a session for `ttl` seconds, or who has it.

        The lease of a holder that is `gone` is taken over.
        """
        return self._write(lambda tx: views.acquire(self._space, tx, session_id, holder, ttl, gone))

    def renew(self, held: Lease) -> bool:
        """Return whether a lease is still ours; it then runs from now again."""
        return self._write(lambda tx: views.renew(self._space, tx, held))

    def release(self, held: Lease) -> None:
        """Give a lease back."""
        self._write(lambda tx: views.release(self._space, tx, held))

    def match(self, wanted: Wanted, *, most: int, reveal: Reveal | None = None) -> list[Match]:
        """Return at most `most` messages that fit, the best first.

        With `reveal` nothing that is found, nor its order, depends on what it does not show.
        """
        return self._guard_call(lambda: self._database.match(wanted, most, reveal))

    def erase(self, ids: Sequence[str], *, vacuum: bool = True) -> Erased:
        """Delete sessions for good.

        What a living child shares stays with it. With `vacuum` nothing of the rest is left in
        the files; without it deleted words and pages stay there until they are written over.
        """
        before = self._database.stored_bytes()
        gone = self._write(lambda tx: maintenance.erase(self._space, tx, ids))
        if vacuum:
            self._database.reclaim()
        return Erased(
            sessions=gone.sessions,
            messages=gone.messages,
            bodies=gone.bodies,
            bytes_before=before,
            bytes_after=self._database.stored_bytes(),
            kept_for=gone.kept_for,
        )

    def look_through(
        self,
        holds: erasing.Holds,
        tell: Callable[[int, int], object] | None = None,
        *,
        sift: erasing.Sift = lambda several: range(len(several)),
    ) -> Iterator[erasing.HeldPiece]:
        """Yield where something is that `holds` says yes to: every body, view, state and name of
        the store is given to `sift`, many at a time, and as JSON or text to `holds` if `sift`
        returns its number. `tell` hears how many of how many bodies were read.
        """
        try:
            yield from erasing.look_through(self._space, holds, tell, sift)
        except zstandard.ZstdError as error:
            raise self._damage_error() from error

    def reword(
        self,
        root_id: str,
        changes: Sequence[erasing.Rewording],
        holds: Callable[[bytes], bool],
        *,
        mend: Callable[[bytes], bytes],
        blank: bytes,
    ) -> erasing.Reworded:
        """Take words out of all sessions of one root, in one transaction: `changes` are messages
        and what they become.

        Views that cover one of them, or that `holds` says yes to, are dropped; without one that
        is left the log is shown, by a view with the items `blank`. `mend` takes the words out of a
        frame.
        """
        return self._write(
            lambda tx: erasing.reword(self._space, tx, root_id, changes, holds, mend, blank)
        )

    def descendants(self, ids: Sequence[str]) -> tuple[str, ...]:
        """Return sessions and all that came from them, in whatever way."""
        return self._read(lambda tx: erasing.descendants(self._space, tx, ids))

    def leave_no_trace(self) -> tuple[str, ...]:
        """Delete what nothing refers to, and rewrite indexes and files; on a server others wait
        meanwhile. Return what could not be done, in sentences.
        """
        self._write(lambda tx: maintenance.sweep(self._space, tx))
        return self._database.reclaim(fully=True)

    def files(self) -> tuple[str, ...]:
        """Return the files that there are of it; none of a server's."""
        return self._database.files()

    def owned_alone(self, session_ids: Sequence[str]) -> int:
        """Return how many messages `erase` would take out: those that no other session shares."""
        return self._read(lambda tx: maintenance.count_unshared(self._space, tx, session_ids))

    def lineages(self) -> list[LineageSize]:
        """Return the sessions of each root with their size, the one used longest ago first."""
        return self._read(lambda tx: maintenance.lineages(self._space, tx))

    def redaction_key(self) -> str:
        """Return what makes the placeholders of this store: 32 digits, random, never changed.

        It is made when it is first asked for; where the store is read-only and has none, it is
        nothing. A backup has the same, and no export has it.
        """
        if not self._redaction_key:
            tenant = self._space.tenant
            found = self._read(lambda tx: read_redaction_key(tx, tenant))
            if not found and not self.read_only:
                found = self._write(lambda tx: make_redaction_key(tx, tenant))
            self._redaction_key = found
        return self._redaction_key

    def window(self, name: str) -> int | None:
        """Return the context length that was learned under a name, None if none was."""
        return self._read(lambda tx: read_window(tx, self._space.tenant, name))

    def learn_windows(self, windows: Mapping[str, int]) -> None:
        """Keep context lengths under their names, in the place of what was there."""
        self._write(lambda tx: put_windows(tx, self._space.tenant, windows))

    def add_spent(self, dollars: float, now: float) -> None:
        """Add to what was spent through gateways."""
        self._write(lambda tx: add_spent(tx, self._space.tenant, dollars, now))

    def spent_since(self, moment: float) -> float:
        """Return the dollars that were spent through gateways since a moment of the last 40 days;
        what was spent in the same quarter of an hour counts.
        """
        return self._read(lambda tx: read_spent(tx, self._space.tenant, moment))

    def backup(self, path: str) -> None:
        """Write a copy of one state to a new file."""
        self._database.backup(path)

    def health(self, deep: bool = False) -> Health:
        """Return how the store is; `deep` reads every page and every body."""
        return maintenance.health(self._space, deep=deep)

    def complete_index(self, most: int | None = None) -> int:
        """Index the substrings of at most `most` messages that lack it; return how many."""
        return self._guard_call(lambda: self._database.complete_index(most))

    def note_filled(self, messages: int) -> None:
        """Have the database plan for what it holds now, if that many messages that were written
        at once change its plans.
        """
        if messages >= _FILL and not self.read_only:
            self._guard_call(self._database.analyze)

    def close(self) -> None:
        """Let go of the file or server; the store opens it again when it is used."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, work: Callable[[Statements], T]) -> T:
        return self._guard_call(lambda: self._database.read(work))

    def _write(self, work: Callable[[Statements], T]) -> T:
        return self._guard_call(lambda: self._database.write(work))

    def _guard_call(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except zstandard.ZstdError as error:
            raise self._damage_error() from error

    def _damage_error(self) -> StoreUnavailable:
        return StoreUnavailable(
            self._database.where,
            "a message in it is damaged",
            remedy="put a backup in its place; without one, `foldaway doctor --salvage` copies "
            "every session that can still be read to a new store",
        )
