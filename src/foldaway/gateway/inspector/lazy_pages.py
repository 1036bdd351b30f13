"""The pages beside a gateway. They are loaded when somebody opens one: agents need not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute, Match, Router
from starlette.types import Receive, Scope, Send

from foldaway.errors import FoldawayError
from foldaway.gateway import ApiContext, Terms
from foldaway.gateway.inspector.live_board import LiveBoard, ToolCalls
from foldaway.gateway.inspector.static_files import ROOT
from foldaway.sessions import name_in_words, short_title

_MOST_LOOKED = 40
"""Messages that are looked at for tools if a session is seen for the first time."""


def gateway_pages(
    load_maker: Callable[[], Callable[..., Any]], *given: object
) -> Callable[[ApiContext, Terms], Sequence[BaseRoute]]:
    """Return what gives a gateway its pages; they show its store, and what passes through it.

    `load_maker` imports `pages_beside`, when the first page is opened; it is also `given` the rest.
    """

    def make(api: ApiContext, terms: Terms) -> Sequence[BaseRoute]:
        board = LiveBoard(
            lambda session: _title(api, session),
            read_tools=lambda session, start: _read_tools(api, session, start),
        )
        api.events.hear(board.hear)

        def load() -> Router:
            return Router(load_maker()(api, terms, board, *given))

        return (LazyPages(load),)

    return make


class LazyPages(BaseRoute):
    """All pages: what is below their root, and `/` in a browser."""

    def __init__(self, load: Callable[[], Router]) -> None:
        """Take what makes them."""
        self.load = load
        self._loading: asyncio.Future[Router] | None = None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the pages; whatever else asks for `/` is passed on."""
        path, wants = scope["path"], dict(scope.get("headers", ())).get(b"accept", b"")
        is_read = scope.get("method") in ("GET", "HEAD")
        is_visit = path == "/" and is_read and b"text/html" in wants
        is_page = is_visit or path == ROOT or path.startswith(f"{ROOT}/")
        return Match.FULL if is_page else Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, after the pages are loaded."""
        if self._loading is None:
            self._loading = asyncio.ensure_future(run_in_threadpool(self.load))
        await (await asyncio.shield(self._loading))(scope, receive, send)


def _read_tools(api: ApiContext, session: str, start: int) -> tuple[int, ToolCalls]:
    """Return the length of a log, and which tools were called from a position on."""
    try:
        length = api.store.session(session).length
        rows = api.store.outline(session, max(start, length - _MOST_LOOKED), length)
    except FoldawayError:  # it was deleted meanwhile
        return start, ()
    calls = [(row.time, row.tools) for row in rows if row.role == "assistant" and row.tools]
    return length, [(time, api.show(", ".join(dict.fromkeys(names)))) for time, names in calls]


def _title(api: ApiContext, session: str) -> str:
    """Return what a session is called, ready to be shown; "" if there is none of that id."""
    try:
        info = api.store.session(session)
    except FoldawayError:
        return ""
    return short_title(api.show(name_in_words(info)))
