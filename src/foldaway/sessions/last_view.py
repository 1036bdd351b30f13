"""What was sent last for a host's list, kept so that the next request needs no engine.

A view that was sent stays right for every longer list: what it folded or rewrote is replaced, and
whatever the host added since comes behind it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from foldaway.dialects import dialect_named, dump_bytes, parse
from foldaway.errors import NotReadable
from foldaway.sessions.following import (
    Edit,
    HostList,
    Keep,
    add_marks,
    body_with,
    find_marked,
    join_edits,
    read_given,
)
from foldaway.sessions.matching import digest
from foldaway.transcript import Payload

_RUN = 64
"""Messages under one seal: if one of them is spelled otherwise, that many are read."""


class Sealed(Struct, frozen=True, array_like=True):
    """Messages of the host that the model no longer sees as they came."""

    start: int
    seal: bytes
    """Of their bytes."""
    says: tuple[bytes, ...]
    """What each says: it may be spelled otherwise by now, as with another cache mark."""
    marked: tuple[int, ...]
    """Those with a cache mark."""


class LastView(Struct, frozen=True, kw_only=True):
    """The step from a host's list to what was sent, and the messages that it replaced."""

    dialect: str
    edits: tuple[Edit, ...]
    """Up to the host's newest messages, which are sent as they are."""
    stop: int
    """Where those begin."""
    least: int
    """How long a list must be: one that ends with what was folded is another."""
    replaced: tuple[Sealed, ...]
    is_bare: bool = False
    """Whether no payload of the edits has a cache mark of its own."""
    settings: Payload = {}
    headers: Mapping[str, str] = {}

    def splice(self, request: bytes) -> bytes | None:
        """Return what to send for a request; None if it is not of a list that this view is of."""
        try:
            given = read_given(None, request, self.dialect)
        except NotReadable:
            return None
        if len(given.raws) < self.least:
            return None
        marked: list[int] = []
        for one in self.replaced:
            found = _marks_if_same(one, given)
            if found is None:
                return None
            marked += found
        edits = join_edits((*self.edits, *keep_from(self.stop, len(given.raws))))
        if marked or not self.is_bare:
            edits = add_marks(edits, given, marked)
        return body_with(given, edits, self.settings)

    def is_by(self, edits: Sequence[Edit], length: int, settings: Payload) -> bool:
        """Return whether a list of this length becomes the same by these edits and settings."""
        own = join_edits((*self.edits, *keep_from(self.stop, length)))
        return own == tuple(edits) and self.settings == settings

    def pack(self) -> bytes:
        """Return it as bytes."""
        return dump_bytes(msgspec.to_builtins(self))

    @classmethod
    def unpack(cls, data: bytes) -> LastView | None:
        """Return what was packed; None if it was written in another form."""
        try:
            return msgspec.convert(parse(data), cls)
        except (NotReadable, msgspec.ValidationError):
            return None


def keep_from(start: int, length: int) -> tuple[Keep, ...]:
    """Return the step that sends the rest of a list as it is."""
    return (Keep(start, length),) if start < length else ()


def last_view_of(
    given: HostList,
    digests: Sequence[bytes],
    edits: Sequence[Edit],
    settings: Payload,
    headers: Mapping[str, str],
) -> LastView:
    """Return the view that these edits of a host's list make."""
    steps, stop, has_tail = tuple(edits), len(given.raws), False
    last = steps[-1] if steps else None
    if isinstance(last, Keep) and last.stop == stop:
        steps, stop, has_tail = steps[:-1], last.start, True
    kept = {at for one in steps if isinstance(one, Keep) for at in range(one.start, one.stop)}
    replaced = tuple(
        Sealed(run[0], _seal(given, run), tuple(digests[at] for at in run), find_marked(given, run))
        for run in _runs(at for at in range(stop) if at not in kept)
    )
    return LastView(
        dialect=given.dialect,
        edits=steps,
        stop=stop,
        least=stop + has_tail,
        replaced=replaced,
        is_bare=add_marks(steps, given, ()) == steps,
        settings=settings,
        headers=headers,
    )


def _runs(places: Iterable[int]) -> Iterator[range]:
    """Yield places that follow each other, at most as many as one seal is for."""
    start = stop = 0
    for at in places:
        if at != stop or stop - start == _RUN:
            if stop > start:
                yield range(start, stop)
            start = at
        stop = at + 1
    if stop > start:
        yield range(start, stop)


def _marks_if_same(one: Sealed, given: HostList) -> tuple[int, ...] | None:
    """Return which of the messages have a cache mark now; None if they say something else."""
    run = range(one.start, one.start + len(one.says))
    if _seal(given, run) == one.seal:
        return one.marked
    decode = dialect_named(given.dialect).decode
    says = tuple(digest(message) for at in run for message in decode([given.items[at]], at))
    return find_marked(given, run) if says == one.says else None


def _seal(given: HostList, run: range) -> bytes:
    made = sha256()
    for at in run:
        made.update(given.raws[at])
    return made.digest()
