"""Search over everything: stored sessions, and those of files as soon as they were copied."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, zip_longest
from typing import Any

from msgspec import Struct
from starlette.requests import Request

from foldaway.engine import unpack_view
from foldaway.gateway import ApiContext, SearchAsked
from foldaway.gateway import search as search_all
from foldaway.gateway.inspector.addresses import Choice, choice_of
from foldaway.gateway.inspector.session_list import (
    ListedSession,
    list_names,
    list_unsearched,
    matching_titles,
)
from foldaway.gateway.inspector.session_sources import Shelf
from foldaway.gateway.inspector.site import ROOT, Answer, HtmlPage, Inspector, number
from foldaway.gateway.inspector.window_strips import WIDTH
from foldaway.search import Sort
from foldaway.sessions import Hit, ShownMessage
from foldaway.stores import SessionInfo
from foldaway.transcript import Folded
from foldaway.usage import SpentSession

ROLES = ("user", "assistant", "tool", "system")
SORTS: tuple[tuple[Sort, str], ...] = (
    ("relevance", "best first"),
    ("newest", "newest first"),
    ("oldest", "oldest first"),
)
_SORTS: dict[str, Sort] = {name: name for name, _ in SORTS}
AT_ONCE = 20
"""Hits of a page; a link shows as many more."""
MOST_HITS = 100
"""The most that a store is asked for at once."""
AROUND = 2
"""Messages before and after a hit."""
_TITLES = 10
"""Sessions of files that are named because their title has the words."""
_MOST_QUERY = 400
"""Characters of a query, as the field for it allows."""
_COPIED_BYTES = 64 * 2**20
"""Files up to this size together are copied without being asked: it takes less than a minute."""


class FoundHit(Struct, frozen=True, kw_only=True):
    """A hit as the page shows it."""

    hit: Hit
    address: str
    """The session's page, at the message."""
    pieces: list[tuple[str, bool]]
    """The words in context, and whether each piece is what was looked for."""
    before: tuple[ShownMessage, ...]
    after: tuple[ShownMessage, ...]
    length: int
    """Messages of the whole conversation."""
    mark: float
    """Where in it the hit is."""
    folded: list[tuple[float, float]]
    """What compactions of Foldaway folded: from where, and how much."""
    is_folded: bool
    is_copy: bool


class FilesLeft(Struct, frozen=True):
    """Sessions of files whose words cannot be searched yet."""

    sessions: int
    files: int
    megabytes: float


def search(inspector: Inspector, request: Request) -> Answer:
    """Return the page of a search."""
    inspector.spending.start()
    choice, query = choice_of(request.query_params), request.query_params
    q = query.get("q", "").strip()[:_MOST_QUERY]
    spending = inspector.spending.spending
    left = _prepare(inspector, is_asked=bool(q))
    found, named, most = list[FoundHit](), list[ListedSession](), AT_ONCE
    if q:
        most = min(max(number(request, "most", AT_ONCE), 1), MOST_HITS)
        found = _search_all(inspector.shelf, q, choice, query, most)
        about = Choice(text=q, agent=choice.agent, since=choice.since, until=choice.until)
        named = matching_titles(inspector.shelf, spending, about, _TITLES) if left.sessions else []
    more = min(most + AT_ONCE, MOST_HITS)
    kept = {name: query.get(name, "") for name in ("q", "role", "sort", "session")}
    return HtmlPage(
        "search.html.j2",
        {
            **kept,
            "q": q,
            "choice": choice,
            "hits": found[:most],
            "named": named,
            "left": left,
            "copying": inspector.shelf.copying.progress.state,
            "agents": list_names(inspector.shelf, inspector.spending.spending).agents,
            "roles": ROLES,
            "sorts": SORTS,
            "reading": inspector.spending.progress.state.step == "reading",
            "more": choice.address(f"{ROOT}/search", **kept, most=more)
            if len(found) >= most < MOST_HITS
            else "",
            "within": partial(choice.address, f"{ROOT}/search", q=q),
        },
    )


def copying(inspector: Inspector, request: Request) -> Answer:
    """Return how far the copying of files is, for the script of the page."""
    return inspector.shelf.copying.progress.wait(request.query_params.get("known", ""), 1.0)


def copy_files(inspector: Inspector, request: Request) -> Answer:
    """Copy the files whose words cannot be searched yet; return how far that is."""
    shelf = inspector.shelf
    shelf.copying.start(_paths(list_unsearched(shelf, inspector.spending.spending)))
    return shelf.copying.progress.state


def _prepare(inspector: Inspector, *, is_asked: bool) -> FilesLeft:
    """Return what is not searched yet; what is little, or was named by the user, is copied now."""
    shelf = inspector.shelf
    waiting = list_unsearched(shelf, inspector.spending.spending)
    paths = _paths(waiting)
    size = sum(map(_size, paths))
    if is_asked and (shelf.api is None or size <= _COPIED_BYTES):
        shelf.copying.start(paths)
    return FilesLeft(len(waiting), len(paths), size / 2**20)


def _paths(sessions: Iterable[SpentSession]) -> list[str]:
    return list(dict.fromkeys(one.path for one in sessions))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _search_all(shelf: Shelf, q: str, choice: Choice, query: Any, most: int) -> list[FoundHit]:
    """Return hits of all stores, the best of each in turn, or in the order of their time."""
    role, sort, session = (query.get(name, "") for name in ("role", "sort", "session"))
    places: list[tuple[ApiContext, bool]] = [(shelf.api, False)] if shelf.api else []
    if session:
        opened = shelf.open(session)
        places, session = [(opened.api, opened.is_copy)], opened.info.id
    elif shelf.has_copies():
        places.append((shelf.copies(), True))
    asked = SearchAsked(
        q=q,
        role=(role,) if role in ROLES else (),
        source=(choice.agent,) if choice.agent else (),
        since=choice.start(),
        until=choice.stop(),
        subagents=choice.subagents or bool(session),
        sort=_SORTS.get(sort, "relevance"),
        most=most,
        around=AROUND,
        session=(session,) if session else (),
    )
    found = [
        [_present_hit(api, hit, is_copy) for hit in search_all(api, asked).hits]
        for api, is_copy in places
    ]
    return _merge(found, asked.sort)


def _merge(found: Sequence[Sequence[FoundHit]], sort: Sort) -> list[FoundHit]:
    """Return hits of several stores as one list: their scores cannot be compared."""
    if sort == "relevance":
        return [one for one in chain.from_iterable(zip_longest(*found)) if one]
    hits = chain.from_iterable(found)
    return sorted(hits, key=lambda one: one.hit.time, reverse=sort == "newest")


def _present_hit(api: ApiContext, hit: Hit, is_copy: bool) -> FoundHit:
    info = api.store.session(hit.session)
    length = max(info.length, 1)
    folded = _find_folded(api, info)
    return FoundHit(
        hit=hit,
        address=f"{ROOT}/session/{hit.session}?at={hit.position}#m{hit.position}",
        pieces=_pieces(hit.snippet, hit.spans),
        before=tuple(one for one in hit.window if one.position < hit.position),
        after=tuple(one for one in hit.window if one.position > hit.position),
        length=length,
        mark=round(hit.position / length * WIDTH, 1),
        folded=[
            (round(start / length * WIDTH, 1), round((stop - start) / length * WIDTH, 1))
            for start, stop in folded
        ],
        is_folded=any(start <= hit.position < stop for start, stop in folded),
        is_copy=is_copy,
    )


def _find_folded(api: ApiContext, info: SessionInfo) -> list[tuple[int, int]]:
    """Return the messages that the model does not see any more."""
    view = api.store.view(info.id) if info.view else None
    if view is None:
        return []
    items = unpack_view(view.items, info.dialect).items
    return [(item.start, item.stop) for item in items if isinstance(item, Folded)]


def _pieces(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    at = 0
    for start, stop in spans:
        found += [(text[at:start], False), (text[start:stop], True)]
        at = stop
    return [piece for piece in (*found, (text[at:], False)) if piece[0]]
