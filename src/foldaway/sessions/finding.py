"""Past sessions found again, in three shapes: discover, scroll, read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from foldaway.engine import unpack_view
from foldaway.search import (
    Filters,
    Match,
    Reveal,
    Sort,
    Term,
    Wanted,
    flatten,
    parse_query,
    places,
    snippet,
)
from foldaway.sessions.hiding import SPEAKERS, Show, as_it_is, make_reveal, redactor_of
from foldaway.stores import Line, SessionInfo, SessionKind, Store, Stretch
from foldaway.transcript import Folded, extend

AROUND = 5
ENDS = 3
READ_FIRST, READ_LAST = 20, 10
_SHOWN_CHARS = 600
_ANYWHERE = Filters()


class ShownMessage(Struct, frozen=True, kw_only=True):
    """One message, as far as a list shows it."""

    position: int
    role: str
    time: float
    text: str
    """At most 600 characters, or whole where a session is read whole."""
    cut: int = 0
    """How many characters were left out."""
    tools: tuple[str, ...] = ()
    generated: bool = False


class Hit(Struct, frozen=True, kw_only=True):
    """A message that was found, the best of its lineage, with what stands around it."""

    session: str
    """The session that holds it now: the newest that goes on from where it was said."""
    source: str
    source_id: str
    """The id that the imported file gave, or its path."""
    title: str
    position: int
    role: str
    time: float
    snippet: str
    spans: tuple[tuple[int, int], ...]
    """Where in the snippet the words of the query stand."""
    score: float
    more: int
    """Further hits in the same lineage."""
    missing: tuple[str, ...] = ()
    """Terms of the query that the message does not have; small words are not counted."""
    window: tuple[ShownMessage, ...]
    """The messages around it."""
    first: tuple[ShownMessage, ...]
    last: tuple[ShownMessage, ...]


class Scroll(Struct, frozen=True, kw_only=True):
    """Messages around a place; `earlier` and `later` are places to go on from, None at an end."""

    session: SessionInfo
    rows: tuple[ShownMessage, ...]
    earlier: int | None
    later: int | None


class SessionReading(Struct, frozen=True, kw_only=True):
    """A session from its beginning to its end; without `left_out` messages in between."""

    session: SessionInfo
    first: tuple[ShownMessage, ...]
    left_out: int = 0
    last: tuple[ShownMessage, ...] = ()


def discover(
    store: Store,
    text: str,
    *,
    filters: Filters = _ANYWHERE,
    kinds: Sequence[SessionKind] = ("main",),
    current: str = "",
    sort: Sort = "relevance",
    most: int = 10,
    skip: int = 0,
    around: int = AROUND,
    show: Show = as_it_is,
) -> list[Hit]:
    """Return the best hit of each lineage, or within named sessions every hit.

    Any text is a query. The best `skip` are left out, for the next page. What the session
    `current` shows its model anyway is never found; what it folded is. A message is found by what
    `show` leaves of it.
    """
    query = parse_query(text)
    wanted = Wanted(
        query=query,
        filters=filters,
        kinds=tuple(kinds),
        sort=sort,
        generated=False,
        without_places=_find_live(store, current),
        lineages=not (filters.sessions or query.filters.sessions),
    )
    reveal = make_reveal(show)
    given = None if show is as_it_is else reveal
    matches = store.match(wanted, most=most + skip, reveal=given)[skip:]
    return _hits(store, matches, query.terms, around, reveal, show)


def scroll(
    store: Store, session_id: str, around: int, *, reach: int = AROUND, show: Show = as_it_is
) -> Scroll:
    """Return the messages around a position.

    Where the session was continued under another id, and the position is there, that one is
    shown instead.
    """
    info = _find_holder(store.session(session_id), store.newest_leaf(session_id), around)
    at = min(max(around, 0), max(info.length - 1, 0))
    start, stop = max(at - reach, 0), min(at + reach + 1, info.length)
    return Scroll(
        session=info,
        rows=_reveal(store.glance([Stretch(info.id, start, stop)])[0], make_reveal(show)),
        earlier=start - reach - 1 if start > reach else (0 if start > 0 else None),
        later=stop + reach if stop < info.length else None,
    )


def message_at(
    store: Store, info: SessionInfo, position: int, *, show: Show = as_it_is
) -> ShownMessage:
    """Return one message of a session in full."""
    (shown,) = messages_in(store, info, position, position + 1, show=show)
    return shown


def messages_in(
    store: Store, info: SessionInfo, start: int, stop: int, *, show: Show = as_it_is
) -> tuple[ShownMessage, ...]:
    """Return the messages of a range of a session in full."""
    (lines,) = store.glance([Stretch(info.id, start, stop)])
    return _reveal(lines, make_reveal(show), None)


def read(
    store: Store, session_id: str, *, whole: bool = False, show: Show = as_it_is
) -> SessionReading:
    """Return a session: all of it in full, or its first 20 and last 10 messages."""
    info, reveal = store.session(session_id), make_reveal(show)
    if whole or info.length <= READ_FIRST + READ_LAST:
        (lines,) = store.glance([Stretch(info.id, 0)])
        return SessionReading(
            session=info, first=_reveal(lines, reveal, None if whole else _SHOWN_CHARS)
        )
    first, last = store.glance(
        [Stretch(info.id, 0, READ_FIRST), Stretch(info.id, info.length - READ_LAST)]
    )
    return SessionReading(
        session=info,
        first=_reveal(first, reveal),
        left_out=info.length - READ_FIRST - READ_LAST,
        last=_reveal(last, reveal),
    )


def _hits(
    store: Store,
    matches: Sequence[Match],
    terms: Sequence[Term],
    around: int,
    reveal: Reveal,
    show: Show,
) -> list[Hit]:
    """Return hits with what stands around them, read at once."""
    known = store.leaves([match.session_id for match in matches])
    infos = [_find_holder(*known[match.session_id], match.position) for match in matches]
    stretches: list[Stretch] = []
    for info, match in zip(infos, matches, strict=True):
        start, stop = max(match.position - around, 0), match.position + around + 1
        ends = Stretch(info.id, 0, ENDS), Stretch(info.id, max(info.length - ENDS, 0))
        stretches += (Stretch(info.id, start, stop), *ends)
    lines = [_reveal(some, reveal) for some in store.glance(stretches)]
    hits: list[Hit] = []
    for number, (info, match) in enumerate(zip(infos, matches, strict=True)):
        found = snippet(match.text, terms)
        window, first, last = lines[3 * number : 3 * number + 3]
        hits.append(
            Hit(
                session=info.id,
                source=info.source,
                source_id=show(info.source_id),
                title=show(info.title or info.first_ask),
                position=match.position,
                role=match.role,
                time=match.time,
                snippet=found.text,
                spans=found.marks,
                score=match.score,
                more=match.more,
                window=window,
                first=first,
                last=last,
                missing=_find_missing(match.text, terms),
            )
        )
    return hits


def _find_missing(text: str, terms: Sequence[Term]) -> tuple[str, ...]:
    flattened = flatten(text)
    return tuple(
        term.text
        for term in terms
        if not term.small and next(iter(places(text, flattened, term)), None) is None
    )


def _find_holder(info: SessionInfo, newest: SessionInfo, position: int) -> SessionInfo:
    """Return the newest session that goes on from this one and holds the position."""
    if newest.id == info.id or position >= newest.length:
        return info
    shares = position < newest.forked_at or position >= info.length
    return newest if shares else info


def _reveal(
    lines: Sequence[Line], reveal: Reveal, most: int | None = _SHOWN_CHARS
) -> tuple[ShownMessage, ...]:
    found: list[ShownMessage] = []
    for line in lines:
        # secrets are looked for in the whole text: a cut may hide what gives them away
        text = reveal(line.written).text
        cut = 0 if most is None else max(len(text) - most, 0)
        found.append(
            ShownMessage(
                position=line.position,
                role=line.role,
                time=line.time,
                text=text[: len(text) - cut],
                cut=cut,
                tools=line.tools,
                generated=line.generated,
            )
        )
    return tuple(found)


def _find_live(store: Store, current: str) -> tuple[tuple[str, int, int], ...]:
    """Return the messages that the model of the current session sees already."""
    if not current:
        return ()
    info, view = store.session(current), store.view(current)
    ends = [0, info.length]
    if view is not None:
        items = extend(unpack_view(view.items, info.dialect), info.length).items
        folded = sorted((item.start, item.stop) for item in items if isinstance(item, Folded))
        ends = [0, *(end for span in folded for end in span), info.length]
    seen = [(start, stop) for start, stop in zip(ends[::2], ends[1::2], strict=True)]
    return tuple(
        (owner, max(start, first), min(stop, last))
        for owner, first, last in store.owners(current)
        for start, stop in seen
        if start < last and stop > first
    )


_MOST = 3
_SAID = Filters(roles=SPEAKERS)


def recall_from(store: Store, *, show: Show | None = None) -> Callable[[str, str], str]:
    """Return what finds the best places of past sessions; a line each, without secrets.

    It takes a text and the id of the session that asks, of which only what was folded is found.
    Without `show`, placeholders are made by the key of the store, which may be used by another
    thread at the same time.
    """
    hide = show or redactor_of(store)

    def recall(text: str, session_id: str) -> str:
        hits = discover(
            store, text, filters=_SAID, current=session_id, most=_MOST, around=0, show=hide
        )
        return "\n".join(
            f"- {_day(hit.time)}, {hit.role}, session {hit.session}: {hit.snippet}" for hit in hits
        )

    return recall


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
