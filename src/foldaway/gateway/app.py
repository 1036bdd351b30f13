"""The gateway as a server: its own pages beside what it passes on, and who may ask."""

from __future__ import annotations

import gc
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from foldaway._core import __version__
from foldaway.gateway.actions import KEEPS_ALL, ApiContext
from foldaway.gateway.api import api_routes
from foldaway.gateway.conversations import Conversations
from foldaway.gateway.events import Events
from foldaway.gateway.figures import Figures
from foldaway.gateway.guard import Guard, Owner, Terms
from foldaway.gateway.options import GatewayOptions
from foldaway.gateway.spending import SpendingMeter
from foldaway.gateway.unix_socket import KnownPeer, listen_on_path, remove_paths
from foldaway.sessions import Retention, warm
from foldaway.stores import Store

_NOBODY = Owner()
MakePages: TypeAlias = Callable[[ApiContext, Terms], Sequence[BaseRoute]]
"""Makes the routes of pages for people, which come before what is passed on."""


def no_pages(api: ApiContext, terms: Terms) -> Sequence[BaseRoute]:
    """Serve programs alone."""
    return ()


def make_app(
    store: Store,
    options: GatewayOptions,
    events: Events | None = None,
    retention: Retention = KEEPS_ALL,
    pages: MakePages = no_pages,
    owner: Owner = _NOBODY,
) -> Guard:
    """Return the application of a gateway; `events` is told what happens in it. Only the `owner`
    sees and changes conversations.
    """
    from foldaway.gateway.relay import Relay  # aiohttp reads certificates when it is loaded

    events = events or Events()
    figures = Figures(events.publish, options.prices)
    conversations = Conversations(store, options, events.publish)
    spending = SpendingMeter(store, options.budget, options.clock)
    relay = Relay(conversations, options, figures, spending)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncGenerator[None]:
        await relay.start()
        yield
        await relay.stop()
        conversations.close()

    async def healthy(_: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    async def ready(_: Request) -> Response:
        health = await run_in_threadpool(store.health)
        is_well = not health.problems
        return JSONResponse({"status": "ok" if is_well else "problems"}, 200 if is_well else 503)

    async def metrics(_: Request) -> Response:
        return Response(figures.text(), media_type="text/plain; version=0.0.4")

    api = ApiContext.of(store, options, events, retention, conversations.look_again)
    terms = Terms.of_pages(options.token, options.hosts, owner)
    own = [*pages(api, terms), *api_routes(api)]
    routes = [
        Route("/healthz", healthy),
        Route("/readyz", ready),
        Route("/metrics", metrics),
        *own,
        Mount("/", app=relay),
    ]
    return Guard(Starlette(routes=routes, lifespan=life), terms, own)


def serve(
    store: Store,
    options: GatewayOptions,
    host: str,
    port: int,
    ready: Callable[[str], None],
    retention: Retention = KEEPS_ALL,
    pages: MakePages = no_pages,
    owner: Owner = _NOBODY,
    path: Path | None = None,
) -> None:
    """Serve until interrupted, also on a Unix socket if a `path` is given; `ready` is told the
    address. Raises `OSError` if it is taken.

    Anyone who connects waits until all is loaded and warm: the first request meets no cold engine.
    """
    listening = listen(host, port)
    with listen_on_path(path) if path else nullcontext() as unix:
        ready(address_of(listening))
        gc.disable()  # all that is loaded stays: it need not be looked at, now or later
        server = make_server(store, options, retention, pages, owner)
        warm()
        gc.freeze()
        gc.enable()
        server.run(sockets=[one for one in (listening, unix) if one])


def serve_app(
    app: ASGIApp,
    events: Events,
    options: GatewayOptions,
    host: str,
    port: int,
    ready: Callable[[str], None],
) -> None:
    """Serve an application whose streams end with it, until interrupted. Raises `OSError` if the
    address is taken.
    """
    listening = listen(host, port)
    ready(address_of(listening))
    server_of(app, events, options).run(sockets=[listening])


def address_of(listening: socket.socket) -> str:
    """Return the address under which a socket is reached."""
    host, port = listening.getsockname()[:2]
    return (
        f"http://[{host}]:{port}"
        if listening.family == socket.AF_INET6
        else f"http://{host}:{port}"
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket for connections to an address; raises `OSError` if it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=1024)
    # asyncio sets it only for sockets that name their protocol; connections inherit it
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def make_server(
    store: Store,
    options: GatewayOptions,
    retention: Retention = KEEPS_ALL,
    pages: MakePages = no_pages,
    owner: Owner = _NOBODY,
) -> GatewayServer:
    """Return the server of a gateway; it says nothing about itself, in logs or in headers."""
    events = Events()
    app = make_app(store, options, events, retention, pages, owner)
    return server_of(app, events, options)


def server_of(app: ASGIApp, events: Events, options: GatewayOptions) -> GatewayServer:
    """Return a server for an application whose streams end with it."""
    connection: Any = partial(
        KnownPeer, head_seconds=options.head_seconds, body_seconds=options.body_seconds
    )
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="on",
        timeout_keep_alive=75,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        http=connection,
    )
    return GatewayServer(config, events)


class GatewayServer(uvicorn.Server):
    """A server that ends its event streams when it stops; it would wait for their readers."""

    def __init__(self, config: uvicorn.Config, events: Events) -> None:
        """Take the events of its application."""
        super().__init__(config)
        self._events = events

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: end the streams, wait for other requests, close."""
        self._events.close()
        remove_paths(sockets or ())
        await super().shutdown(sockets)
