"""Past sessions found again, in four shapes: discover, scroll, read, browse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from holdfast.engine.saved import unpack_view
from holdfast.search.query import parse_query
from holdfast.search.snippet import snippet
from holdfast.search.text import searchable
from holdfast.search.values import Filters, Match, Sort, Wanted
from holdfast.sessions.rows import decoded
from holdfast.stores.store import Store
from holdfast.stores.values import SessionFilter, SessionInfo, SessionKind, StoredMessage
from holdfast.transcript import Folded, extend

Show: TypeAlias = Callable[[str], str]
"""What a text becomes before it is shown; a redactor where it leaves its session."""

AROUND = 5
ENDS = 3
READ_FIRST, READ_LAST = 20, 10
_SHOWN_CHARS = 600
_ANYWHERE = Filters()
_NEWEST = SessionFilter(only_leaves=True)
_MOST_CANDIDATES = 2_000
_CANDIDATES = 8
"""So many messages are looked at for each lineage that is wanted."""


class Shown(Struct, frozen=True, kw_only=True):
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
    window: tuple[Shown, ...]
    """The messages around it."""
    first: tuple[Shown, ...]
    last: tuple[Shown, ...]


class Scroll(Struct, frozen=True, kw_only=True):
    """Messages around a place; `earlier` and `later` are places to go on from, None at an end."""

    session: SessionInfo
    rows: tuple[Shown, ...]
    earlier: int | None
    later: int | None


class Reading(Struct, frozen=True, kw_only=True):
    """A session from its beginning to its end; `left_out` messages in between where not whole."""

    session: SessionInfo
    first: tuple[Shown, ...]
    left_out: int = 0
    last: tuple[Shown, ...] = ()


class Recent(Struct, frozen=True, kw_only=True):
    """A session in a list, with how it began and how far it came."""

    session: SessionInfo
    preview: str
    """The beginning of the newest words."""


class Browsed(Struct, frozen=True):
    """Recent sessions, and where the next page begins ("" at the end)."""

    sessions: tuple[Recent, ...]
    next: str = ""


def as_it_is(text: str) -> str:
    """Show a text as it stands: to whom it belongs."""
    return text


def discover(
    store: Store,
    text: str,
    *,
    filters: Filters = _ANYWHERE,
    kinds: Sequence[SessionKind] = ("main",),
    current: str = "",
    sort: Sort = "relevance",
    most: int = 10,
    around: int = AROUND,
    show: Show = as_it_is,
) -> list[Hit]:
    """Return the best hit of each lineage, or within named sessions every hit.

    Any text is a query. What the session `current` shows its model anyway is never found; what it
    folded is.
    """
    wanted = Wanted(
        query=parse_query(text), filters=filters, kinds=tuple(kinds), sort=sort, generated=False
    )
    is_live = _live(store, current)
    asked, best = most * _CANDIDATES, dict[str | tuple[str, int], tuple[Match, int]]()
    within = bool(filters.sessions or wanted.query.filters.sessions)
    while True:
        matches = store.match(wanted, most=asked)
        best.clear()
        for match in matches:
            if is_live(match):
                continue
            key = (match.session_id, match.position) if within else match.root_id
            found = best.get(key)
            best[key] = (match, 0) if found is None else (found[0], found[1] + 1)
        if len(best) >= most or len(matches) < asked or asked >= _MOST_CANDIDATES:
            break
        asked *= 4  # a few lineages hold most of the hits
    rows = list(best.values())[:most]
    return [_hit(store, wanted, match, more, around, show) for match, more in rows]


def scroll(
    store: Store, session_id: str, around: int, *, reach: int = AROUND, show: Show = as_it_is
) -> Scroll:
    """Return the messages around a position.

    Where the session was continued under another id, and the position is there, that one is
    shown instead.
    """
    info = _holding(store, store.session(session_id), around)
    at = min(max(around, 0), max(info.length - 1, 0))
    start, stop = max(at - reach, 0), min(at + reach + 1, info.length)
    return Scroll(
        session=info,
        rows=_shown(store.read(info.id, start, stop), info, show),
        earlier=start - reach - 1 if start > reach else (0 if start > 0 else None),
        later=stop + reach if stop < info.length else None,
    )


def message_at(store: Store, info: SessionInfo, position: int, *, show: Show = as_it_is) -> Shown:
    """Return one message of a session in full."""
    (shown,) = _shown(store.read(info.id, position, position + 1), info, show, most=None)
    return shown


def read(store: Store, session_id: str, *, whole: bool = False, show: Show = as_it_is) -> Reading:
    """Return a session: all of it in full, or its first 20 and last 10 messages."""
    info = store.session(session_id)
    if whole:
        rows = store.read(info.id)
        return Reading(session=info, first=_shown(rows, info, show, most=None))
    if info.length <= READ_FIRST + READ_LAST:
        return Reading(session=info, first=_shown(store.read(info.id), info, show))
    return Reading(
        session=info,
        first=_shown(store.read(info.id, 0, READ_FIRST), info, show),
        left_out=info.length - READ_FIRST - READ_LAST,
        last=_shown(store.read(info.id, info.length - READ_LAST), info, show),
    )


def browse(
    store: Store,
    wanted: SessionFilter = _NEWEST,
    *,
    most: int = 20,
    after: str = "",
    show: Show = as_it_is,
) -> Browsed:
    """Return recent sessions, the newest first, each with the beginning of its newest words."""
    page = store.sessions(wanted, most=most, after=after)
    rows: list[Recent] = []
    for info in page.sessions:
        newest = _shown(store.read(info.id, max(info.length - 1, 0)), info, show)
        rows.append(Recent(session=info, preview=newest[-1].text if newest else ""))
    return Browsed(tuple(rows), page.next)


def _hit(store: Store, wanted: Wanted, match: Match, more: int, around: int, show: Show) -> Hit:
    info = _holding(store, store.session(match.session_id), match.position)
    start, stop = max(match.position - around, 0), match.position + around + 1
    found = snippet(show(match.text), wanted.query.terms)
    return Hit(
        session=info.id, source=info.source, source_id=show(info.source_id), title=show(info.title),
        position=match.position, role=match.role, time=match.time, snippet=found.text,
        spans=found.marks, score=match.score, more=more,
        window=_shown(store.read(info.id, start, stop), info, show),
        first=_shown(store.read(info.id, 0, ENDS), info, show),
        last=_shown(store.read(info.id, max(info.length - ENDS, 0)), info, show),
    )  # fmt: skip


def _holding(store: Store, info: SessionInfo, position: int) -> SessionInfo:
    """Return the newest session that goes on from this one and holds the position."""
    newest = store.newest_leaf(info.id)
    if newest.id == info.id or position >= newest.length:
        return info
    shares = position < newest.forked_at or position >= info.length
    return newest if shares else info


def _shown(
    rows: Sequence[StoredMessage], info: SessionInfo, show: Show, most: int | None = _SHOWN_CHARS
) -> tuple[Shown, ...]:
    found: list[Shown] = []
    for row, message in zip(rows, decoded(rows, info.dialect), strict=True):
        # secrets are looked for in the whole text: a cut may hide what gives them away
        text = show(searchable(message).text)
        cut = 0 if most is None else max(len(text) - most, 0)
        found.append(
            Shown(
                position=row.position, role=row.role, time=row.time,
                text=text[: len(text) - cut], cut=cut, tools=row.tools, generated=row.generated,
            )
        )  # fmt: skip
    return tuple(found)


def _live(store: Store, current: str) -> Callable[[Match], bool]:
    """Return whether a match is what the model of the current session sees already."""
    if not current:
        return lambda match: False
    info = store.session(current)
    view = store.view(current)
    folded: set[int] = set()
    if view is not None:
        items = extend(unpack_view(view.items, info.dialect), info.length).items
        folded = {
            at for item in items if isinstance(item, Folded) for at in range(item.start, item.stop)
        }

    def is_live(match: Match) -> bool:
        if match.root_id != info.root_id or match.position >= info.length:
            return False
        (row,) = store.read(current, match.position, match.position + 1)
        return row.owner_id == match.session_id and match.position not in folded

    return is_live
