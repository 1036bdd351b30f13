"""Where a host's list belongs in what a session knows, and how the view is said in its messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

from msgspec import Struct

from foldaway.dialects import dialect_named, dump_bytes, parse
from foldaway.facts import carried_summary, recognize, summary_body
from foldaway.sessions.following import Course, Edit, HostList, Insert, Keep, Replace, join_edits
from foldaway.sessions.matching import Alignment, align, count_same, digest, digest_of_key
from foldaway.transcript import Folded, Kept, Message, Rewritten, Text, ToolResult, View

MOST_VOLATILE = 8
"""How many of its newest messages a host may rewrite from request to request; goose rewrites four,
and twice that leaves room for others."""
_TELLING_TAIL = 6
"""Messages at the end of a log by which a list is known that its host compacted; chosen."""

Same: TypeAlias = Callable[[Any], object]
"""A host's own function: payloads for which it returns the same are the same message."""


class Shown(Struct, frozen=True, gc=False):
    """One message that the model sees, and the part of the log that it stands for."""

    message: Message
    start: int
    stop: int
    is_kept: bool


def list_shown(view: View, log: Sequence[Message]) -> list[Shown]:
    """Return what a view shows, message by message."""
    found: list[Shown] = []
    for item in view.items:
        if isinstance(item, Kept):
            found += [Shown(log[at], at, at + 1, True) for at in range(item.start, item.stop)]
        elif isinstance(item, Rewritten):
            found.append(Shown(item.message, item.start, item.stop, False))
        else:
            found += [Shown(one, item.start, item.stop, False) for one in item.messages]
    return found


class ListPlace(Struct, frozen=True):
    """Where a host's list belongs.

    `reach` is how much of the log it covers from its start; `shown` is what the model sees, if the
    list was compared with that, and None if it was with the log.
    """

    alignment: Alignment
    reach: int
    length: int
    shown: Sequence[Shown] | None = None
    heads: tuple[int, int] = (0, 0)
    """With how many system messages the list begins, and with how many the log does. Hosts write
    these anew for each request: a clock, a folder. They are the same whatever they say, and what
    is sent has those of the list."""

    @property
    def is_whole(self) -> bool:
        """Whether the list holds all that is known."""
        return self.reach == self.length

    @property
    def is_by_position(self) -> bool:
        """Whether the host's messages are those of the log, one by one."""
        return self.shown is None and not self.alignment.spans and self.heads[0] == self.heads[1]


class _Digests:
    """What messages say, by a host's own function if it has one; which of them are system messages
    is kept.
    """

    def __init__(self, same: Same | None) -> None:
        self._same = same
        self._systems: set[bytes] = set()

    def of(self, message: Message) -> bytes:
        """Return the digest of a message."""
        if self._same is not None and message.wire is not None:
            made = digest_of_key(self._same(message.wire))
        else:
            made = digest(message)
        if message.role in ("system", "developer") and not _has_leading_summary(message):
            self._systems.add(made)
        return made

    def head(self, digests: Sequence[bytes]) -> int:
        """Return with how many system messages a list begins."""
        others = (at for at, one in enumerate(digests) if one not in self._systems)
        return next(others, len(digests))


class _KnownLog(Struct):
    """The log of a session, which may grow, as its host sent it."""

    messages: Sequence[Message] = ()
    given: Mapping[int, Message] = {}
    """Those that the log has otherwise, by position: without a summary merged into them."""
    dialect: str = ""
    seals: Sequence[bytes] = ()
    """Of the messages as they came, until a list is compared."""
    digests: list[bytes] = []

    def message(self, at: int) -> Message:
        """Return a message as the host sent it."""
        return self.given.get(at) or self.messages[at]


class Tracker:
    """The digests of a log, and those of the list that a host handed over last."""

    def __init__(self, same: Same | None = None) -> None:
        self._digests, self._log = _Digests(same), _KnownLog()
        self._given: dict[bytes, bytes] = {}
        self._last: Sequence[bytes] = ()
        self._generated: dict[int, tuple[Message, bytes]] = {}
        self._joined: set[tuple[bytes, bytes]] = set()

    def load(
        self,
        log: Sequence[Message],
        dialect: str,
        given: Mapping[int, Message] | None = None,
        seals: Sequence[bytes] = (),
    ) -> None:
        """Begin with the log of a session, which may grow; it is read when a list is followed.

        `given` has messages as the host sent them, by position, if the log has them otherwise:
        without a summary that was merged into them. `seals` are those of the messages as they came.
        """
        if dialect != self._log.dialect:
            self._given = {}
        self._log, self._last = _KnownLog(log, {} if given is None else given, dialect, seals), ()

    def _decode(self, given: HostList, at: int) -> Message:
        (message,) = dialect_named(self._log.dialect).decode([given.payload(at)], at)
        return message

    def _catch_up(self) -> list[bytes]:
        """Return the digests of the log."""
        log = self._log
        new = range(len(log.digests), len(log.messages))
        log.digests += [self._digests.of(log.message(at)) for at in new]
        return log.digests

    def _heads(self, digests: Sequence[bytes]) -> tuple[int, int]:
        """Return with how many system messages a list begins, and with how many the log does; a
        log that is still empty takes those of the list as they are.
        """
        known, head = self._catch_up(), self._digests.head
        return (head(digests), head(known)) if known else (0, 0)

    def digests(self, given: HostList) -> list[bytes]:
        """Return the digests of a host's list; only messages that are new are read."""
        seals, found = [sha256(raw).digest() for raw in given.raws], dict[bytes, bytes]()
        self._given |= zip(self._log.seals, self._catch_up(), strict=False)
        self._log.seals = ()
        for at, one in enumerate(seals):
            made = self._given.get(one) or found.get(one)
            found[one] = made or self._digests.of(self._decode(given, at))
        self._given = found
        return [found[one] for one in seals]

    def is_last(self, digests: Sequence[bytes]) -> bool:
        """Return whether a list is the one that was handed over last."""
        was, self._last = self._last, digests
        return was == digests

    def is_continued_by(self, digests: Sequence[bytes]) -> bool:
        """Return whether a list is all of the one that was handed over last, and more."""
        was, now = (one[self._digests.head(one) :] for one in (self._last, digests))
        return 0 < len(was) < len(now) and count_same(was, now) == len(was)

    def place(self, given: HostList, digests: Sequence[bytes], views: Iterable[View]) -> ListPlace:
        """Return where a list belongs: in the log, or in what the model sees of it. `views` are
        how that is shown now and was before, the newest first; no more are asked for than needed.
        """
        log, known, heads = self._log.messages, self._catch_up(), self._heads(digests)

        def message_given(at: int) -> Message:
            return self._decode(given, at)

        found = align(digests, known, message_given, self._log.message, heads, self._joined)
        best, asked = ListPlace(found, found.known, len(log), heads=heads), iter(views)
        while not best.is_whole and best.alignment.given < len(digests):
            view = next(asked, None)
            if view is None:
                break
            shown = list_shown(view, log)
            if all(one.is_kept for one in shown):
                continue
            marks = [known[one.start] if one.is_kept else self._mark(one) for one in shown]
            both = (heads[0], sum(one.stop <= heads[1] for one in shown[: heads[1]]))
            seen = align(
                digests,
                marks,
                message_given,
                lambda at, of=shown: of[at].message,
                both,
                self._joined,
            )
            reach = shown[seen.known - 1].stop if seen.known else 0
            if reach > best.reach:
                best = ListPlace(seen, reach, len(log), shown, heads)
        return best

    def _mark(self, one: Shown) -> bytes:
        """Return the digest of a message that was generated; read once."""
        found = self._generated.get(one.start)
        if found is None or found[0] is not one.message:
            found = (one.message, digest(one.message))
            self._generated[one.start] = found
        return found[1]

    def reach(self, digests: Sequence[bytes], head: int) -> int:
        """Return how many messages of a list are those of the log, from the first on; `head` is
        with how many system messages it begins.
        """
        known = self._catch_up()
        return head + count_same(digests[head:], known[self._digests.head(known) :])

    def course(self, place: ListPlace, given: HostList, digests: Sequence[bytes]) -> Course:
        """Return what a list is that lacks some of what is known."""
        lacks, has = place.length - place.reach, len(digests) - place.alignment.given
        if not has and place.alignment.rest is None:
            return "rewind"
        own, known = place.heads
        is_told = place.reach > known or (own and digests[:own] == self._log.digests[:known])
        if is_told and lacks <= MOST_VOLATILE and has >= lacks:
            return "compression" if self._is_shifted(place, digests) else "volatile"
        if self._is_compacted(place, given, digests):
            return "compression"
        return "branch" if place.reach > known else "delegation"

    def _is_shifted(self, place: ListPlace, digests: Sequence[bytes]) -> bool:
        """Return whether a host only sends its newest messages: an answer or a result is gone, and
        something after it is there, in another place than it had.
        """
        log, known = self._log.messages, self._log.digests
        there, length = digests[place.alignment.given :], len(log)
        gone = next(
            (
                at
                for at in range(place.reach, length)
                if _is_telling(log[at]) and known[at] not in there
            ),
            length,
        )
        return any(
            known[at] in there and there[at - place.reach] != known[at]
            for at in range(gone + 1, length)
        )

    def _is_compacted(self, place: ListPlace, given: HostList, digests: Sequence[bytes]) -> bool:
        """Return whether a host compacted its list: it has a summary where something else was, or
        goes on with the newest answers and results.
        """
        log = self._log.messages
        start, length = place.alignment.given, len(log)
        newest = range(max(length - _TELLING_TAIL, place.reach), length)
        telling = {self._log.digests[at] for at in newest if _is_telling(log[at])}
        if not telling.isdisjoint(digests[start:]):
            return not self._is_edited(place, given, digests)
        decode = dialect_named(self._log.dialect).decode
        first = decode([parse(raw) for raw in given.raws[start : start + 2]], start)
        return any(one.origin == "summary" for one in recognize(first)) or any(
            carried_summary(one) is not None for one in first
        )

    def _is_edited(self, place: ListPlace, given: HostList, digests: Sequence[bytes]) -> bool:
        """Return whether one message of a list is another and no shorter, and the next one is
        known: hosts that make room by rewriting a message make it shorter.
        """
        start, at = place.alignment.given, place.reach
        if place.shown is not None or at <= place.heads[1]:
            return False
        follows = self._log.digests[at + 1 : at + 2]
        is_alone = bool(follows) and digests[start + 1 : start + 2] == follows
        was = self._log.messages[at].wire
        return is_alone and len(dump_bytes(parse(given.raws[start]))) >= len(dump_bytes(was))


def _has_leading_summary(message: Message) -> bool:
    first = message.parts[0] if message.parts else None
    return isinstance(first, Text) and summary_body(first.text) is not None


def _is_telling(message: Message) -> bool:
    """Return whether a message can only come from this conversation."""
    return message.role in ("assistant", "tool") or any(
        isinstance(part, ToolResult) for part in message.parts
    )


Key: TypeAlias = tuple[int, int, bytes]


def cut_view(view: View, length: int) -> View | None:
    """Return the part of a view that shows the first messages of the log, None if one of its items
    reaches beyond them, or a summary is all that is left of the last one: nothing would follow it.
    """
    items: list[Kept | Rewritten | Folded] = []
    for item in view.items:
        if item.start >= length:
            break
        if item.stop > length:
            if not isinstance(item, Kept):
                return None
            item = Kept(item.start, length)
        items.append(item)
    return None if items and isinstance(items[-1], Folded) else View(tuple(items), length)


def edits_to(
    view: View,
    log: Sequence[Message],
    place: ListPlace,
    appended: Mapping[int, int],
    payload: Callable[[Message], Any],
) -> tuple[Edit, ...]:
    """Return the steps from a host's list to what the model should see.

    `appended` has the positions of the log that the rest of the list became, with their places
    in the list.
    """
    own, known_head = place.heads
    if place.is_by_position and (place.is_whole or not appended):
        return join_edits(_after_head(own, _by_position(view, payload)))
    shown = [one for one in list_shown(view, log) if one.stop > known_head]
    known = _keys(place)
    cover = {known(at): at for at in range(place.alignment.same)}
    held = dict.fromkeys(range(place.alignment.same), 1)
    for index, (start, stop) in enumerate(place.alignment.spans, place.alignment.same):
        for at in range(start, stop):
            cover[known(at)] = index
        held[index] = stop - start
    for position, index in appended.items():
        cover[position, position + 1, b""] = index
        held[index] = held.get(index, 0) + 1
    return join_edits(_after_head(own, _steps(shown, cover, held, payload)))


def _after_head(own: int, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield the host's own system messages as they are, and the steps for all others."""
    if own:
        yield Keep(0, own)
    for edit in edits:
        if isinstance(edit, Keep):
            if edit.stop > own:
                yield Keep(max(edit.start, own), edit.stop)
        elif isinstance(edit, Insert) or edit.index >= own:
            yield edit


def _by_position(view: View, payload: Callable[[Message], Any]) -> Iterator[Edit]:
    """Yield the steps for a host whose list is the log."""
    for item in view.items:
        if isinstance(item, Kept):
            yield Keep(item.start, item.stop)
        elif isinstance(item, Rewritten):
            yield Replace(item.start, payload(item.message))
        else:
            yield from (Insert(payload(one)) for one in item.messages)


def _steps(
    shown: list[Shown],
    cover: Mapping[Key, int],
    held: Mapping[int, int],
    payload: Callable[[Message], Any],
) -> Iterator[Edit]:
    at = 0
    while at < len(shown):
        one = shown[at]
        index = cover.get(_key(one))
        if index is not None:
            group = shown[at : at + held[index]]
            if len(group) == held[index] and all(cover.get(_key(two)) == index for two in group):
                yield Keep(index, index + 1)
                at += len(group)
                continue
        was = cover.get((one.start, one.stop, b""))
        if not one.is_kept and was is not None and held[was] == 1:
            yield Replace(was, payload(one.message))
        else:
            yield Insert(payload(one.message))
        at += 1


def _keys(place: ListPlace) -> Callable[[int], Key]:
    """Return what names the messages that a list was compared with, by their places."""
    shown = place.shown
    return (lambda at: (at, at + 1, b"")) if shown is None else lambda at: _key(shown[at])


def _key(one: Shown) -> Key:
    return one.start, one.stop, b"" if one.is_kept else digest(one.message)
