"""The pages as a server: beside a gateway, or alone for `foldaway open`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from foldaway._core import __version__
from foldaway.errors import NotReadable
from foldaway.gateway import (
    ENTRY,
    ApiContext,
    Events,
    GatewayOptions,
    Guard,
    Owner,
    Terms,
    api_routes,
    mount_api,
    serve_app,
)
from foldaway.gateway.inspector.addresses import WrongAddress
from foldaway.gateway.inspector.compaction_page import (
    compaction_page,
    facts_part,
    lines_part,
    message_part,
    trial_page,
)
from foldaway.gateway.inspector.compare_pages import compare, lab_report, trial_state
from foldaway.gateway.inspector.demo import demo
from foldaway.gateway.inspector.live_board import LiveBoard, LiveFiles
from foldaway.gateway.inspector.overview_pages import home, live, live_state, reading
from foldaway.gateway.inspector.request_page import request_page
from foldaway.gateway.inspector.search_page import copy_files, copying, search
from foldaway.gateway.inspector.session_page import (
    message_text,
    otherwise_part,
    reference_page,
    rows_part,
    session_page,
    show_secret,
)
from foldaway.gateway.inspector.session_sources import COPIES, Shelf, file_name_of
from foldaway.gateway.inspector.sessions_page import delete_chosen, export_chosen, sessions
from foldaway.gateway.inspector.site import (
    HEADERS,
    ROOT,
    Answer,
    Handler,
    HtmlPage,
    Inspector,
    read_body,
    render,
    route,
    static,
    to_export,
)
from foldaway.gateway.inspector.spending_reader import SpendingReader
from foldaway.gateway.inspector.window_map import window_page
from foldaway.stores import Store

PAGES: tuple[tuple[str, Handler], ...] = (
    (ROOT, home),
    (f"{ROOT}/sessions", sessions),
    (f"{ROOT}/sessions/export", export_chosen),
    (f"{ROOT}/reading", reading),
    (f"{ROOT}/search", search),
    (f"{ROOT}/search/files", copying),
    (f"{ROOT}/live", live),
    (f"{ROOT}/live/state", live_state),
    (f"{ROOT}/lab", compare),
    (f"{ROOT}/lab/run/{{name}}", lab_report),
    (f"{ROOT}/static/{{name:path}}", static),
    (f"{ROOT}/session/{{id}}", session_page),
    (f"{ROOT}/session/{{id}}/export", to_export),
    (f"{ROOT}/session/{{id}}/rows", rows_part),
    (f"{ROOT}/session/{{id}}/otherwise", otherwise_part),
    (f"{ROOT}/session/{{id}}/message/{{position}}", message_text),
    (f"{ROOT}/session/{{id}}/reference/{{reference}}", reference_page),
    (f"{ROOT}/session/{{id}}/window", window_page),
    (f"{ROOT}/session/{{id}}/request/{{name}}", request_page),
    (f"{ROOT}/session/{{id}}/compaction", trial_page),
    (f"{ROOT}/session/{{id}}/compaction/{{name}}", compaction_page),
    (f"{ROOT}/session/{{id}}/compaction/{{name}}/export", to_export),
    (f"{ROOT}/session/{{id}}/compaction/{{name}}/lines", lines_part),
    (f"{ROOT}/session/{{id}}/compaction/{{name}}/message", message_part),
    (f"{ROOT}/session/{{id}}/compaction/{{name}}/facts", facts_part),
)
"""Every page, by its address."""
LAB_FOLDER = "foldaway-lab"
"""Where `foldaway lab run` writes if it is not told: below the folder in which it was started."""
_MOST_FORM_BYTES = 10_000
"""Of the form that asks for the token: longer than any token."""


def pages_of(inspector: Inspector) -> list[BaseRoute]:
    """Return the routes of all pages."""

    async def front(_: Request) -> Response:
        return RedirectResponse(inspector.start, 303, headers=HEADERS)

    return [
        Route("/", front),
        Route(ENTRY, _entry(inspector), methods=["GET", "POST"]),
        *(route(inspector, path, handler) for path, handler in PAGES),
        route(inspector, f"{ROOT}/session/{{id}}/secret", show_secret, "POST"),
        route(inspector, f"{ROOT}/search/files", copy_files, "POST"),
        route(inspector, f"{ROOT}/demo", demo, "POST", "DELETE"),
        route(inspector, f"{ROOT}/sessions/delete", delete_chosen, "POST"),
        route(inspector, f"{ROOT}/lab/session/{{id}}", trial_state, "GET", "POST"),
        _Copies(inspector.shelf),
        route(inspector, f"{ROOT}/{{rest:path}}", _no_page),
    ]


def _no_page(inspector: Inspector, request: Request) -> Answer:
    """Say on a page that an address below the first one is none."""
    raise WrongAddress(request.url.path)


class _Copies(Mount):
    """The API for copies of sessions of files; its store is made when it is first asked."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        super().__init__(COPIES, app=self._answer)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await mount_api(self._shelf.copies(), "").app(scope, receive, send)


def _entry(inspector: Inspector) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """Return the page that asks for the token, and remembers it as a cookie."""
    terms = inspector.terms
    keys = {terms.owner.entry_key} - {""}

    async def entry(request: Request) -> Response:
        key = request.query_params.get("key", "")
        if request.method == "GET" and key in keys:
            keys.discard(key)  # it works once: it was on a command line
            return _let_in(inspector, request, terms.tokens[0])
        given = await _token_in(request) if request.method == "POST" else b""
        if token := terms.has(given):
            return _let_in(inspector, request, token)
        values = {"is_wrong": request.method == "POST" or bool(key), "file": terms.owner.file}
        page = HtmlPage("entry.html.j2", values)
        return Response(
            render(inspector, page), 403 if values["is_wrong"] else 200, HEADERS, "text/html"
        )

    return entry


async def _token_in(request: Request) -> bytes:
    """Return the token that somebody typed."""
    body = await read_body(request, _MOST_FORM_BYTES)
    return dict(parse_qsl(body.decode("latin-1"))).get("token", "").encode()


def _let_in(inspector: Inspector, request: Request, token: str) -> Response:
    answer = RedirectResponse(inspector.start, 303, headers=HEADERS)
    inspector.terms.let_in(answer, request.scope, token)
    return answer


def pages_beside(
    api: ApiContext, terms: Terms, board: LiveBoard, cache_folder: Path, version: str
) -> list[BaseRoute]:
    """Return the pages of a gateway; `board` heard what passed through it."""
    shelf = Shelf(api, lambda store: ApiContext.of(store, api.options, api.events))
    reader = SpendingReader(
        api.store, (), cache_folder=cache_folder, version=version, found=shelf.add_files
    )
    return pages_of(
        Inspector(
            shelf=shelf, spending=reader, terms=terms, live=board, lab_places=(Path(LAB_FOLDER),)
        )
    )


class OpenServer:
    """The pages alone, on a free port of this machine, until it is stopped."""

    def __init__(
        self,
        store: Store | None,
        places: Sequence[Path],
        options: GatewayOptions,
        *,
        cache_folder: Path,
        version: str,
    ) -> None:
        """Take the sessions of a store, and those of files and folders."""
        events = Events()
        self._places = places
        self._options = options
        self._api = ApiContext.of(store, options, events) if store else None
        self._events = events
        self.entry_key = secrets.token_urlsafe(24)
        owner = Owner(entry_key=self.entry_key)
        self.terms = Terms.of_pages(secrets.token_urlsafe(24), options.hosts, owner)
        self.shelf = Shelf(self._api, lambda made: ApiContext.of(made, options, events))
        self.spending = SpendingReader(
            store, places, cache_folder=cache_folder, version=version, found=self.shelf.add_files
        )

    def first_page(self) -> str:
        """Return the page of the one session in the files, or the first page if there are more.

        Raises `NotReadable` if there is none.
        """
        sessions = self.spending.files()
        if not sessions:
            raise NotReadable(
                "no session of an agent is in it",
                where=str(self._places[0]),
                remedy="`foldaway import --help` lists the agents whose files are read",
            )
        found = [one for one in sessions if not one.parent_id]
        return f"{ROOT}/session/{file_name_of(found[0])}" if len(found) == 1 else ROOT

    def run(self, host: str, port: int, start: str, ready: Callable[[str], None]) -> None:
        """Serve until interrupted; `ready` is told the address that lets a browser in once.

        Raises `OSError` if the address is taken.
        """

        def tell(address: str) -> None:
            self.spending.start()
            ready(f"{address}{ENTRY}?key={self.entry_key}")

        try:
            serve_app(self.app(start), self._events, self._options, host, port, tell)
        finally:
            self.shelf.close()

    def app(self, start: str = ROOT) -> Guard:
        """Return the application: pages, the API, and who is let in."""

        async def healthy(_: Request) -> Response:
            return JSONResponse({"status": "ok", "version": __version__})

        inspector = Inspector(
            shelf=self.shelf,
            spending=self.spending,
            terms=self.terms,
            start=start,
            live=LiveFiles(self._places, self.shelf.show, file_name_of),
            lab_places=(*self._places, Path(LAB_FOLDER)),
        )
        own = [*pages_of(inspector), *(api_routes(self._api) if self._api else [])]
        return Guard(Starlette(routes=[*own, Route("/healthz", healthy)]), self.terms, own)
