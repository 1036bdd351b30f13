"""What all pages share: templates, files, headers, and what is said if something goes wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct, field
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from foldaway import errors
from foldaway._core import log_event
from foldaway.dialects import dump_bytes, dump_text
from foldaway.gateway import NotThere, Terms, problem_body
from foldaway.gateway.inspector.addresses import WrongAddress, whole_number
from foldaway.gateway.inspector.export import standalone
from foldaway.gateway.inspector.live_board import LiveBoard, LiveFiles
from foldaway.gateway.inspector.safe_text import visible
from foldaway.gateway.inspector.session_sources import Shelf
from foldaway.gateway.inspector.spending_reader import SpendingReader
from foldaway.gateway.inspector.static_files import (
    HERE,
    ROOT,
    asset,
    file_names,
    file_of,
    files_mark,
)
from foldaway.gateway.inspector.strategy_trials import Trials
from foldaway.gateway.inspector.timeline import Timelines
from foldaway.reduction import plural
from foldaway.usage import KIND_NAMES, full, money, short

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a browser lets a page do: nothing that is not a file of ours, and no other host."""
HEADERS: Final = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_MOST_BODY_BYTES = 100_000
"""Of what a page asks by itself; changes go through the API, which has its own bound."""
_LONG_SECRET = 16
"""Characters of a secret that is not in a text by chance."""
_FOREVER = "public, max-age=31536000, immutable"
"""For files whose address changes with their content."""


class Inspector(Struct, frozen=True, kw_only=True):
    """What the pages are made from."""

    shelf: Shelf
    spending: SpendingReader
    terms: Terms
    live: LiveBoard | LiveFiles
    """What runs now."""
    start: str = ROOT
    """The page that is shown first."""
    lab_places: tuple[Path, ...] = ()
    """Folders in which runs of the lab may be."""
    trials: Trials = field(default_factory=Trials)
    timelines: Timelines = field(default_factory=Timelines)

    @property
    def is_live(self) -> bool:
        """Whether a gateway runs in this process, so that its decisions can be followed."""
        return isinstance(self.live, LiveBoard)


class HtmlPage(Struct, frozen=True):
    """A template and what it shows."""

    template: str
    values: Mapping[str, Any]
    status: int = 200


Answer: TypeAlias = HtmlPage | Response | Struct
"""A page, an answer as it is, or a value for a script."""
Handler: TypeAlias = Callable[[Inspector, Request], Answer]


def route(inspector: Inspector, path: str, handler: Handler, *methods: str) -> BaseRoute:
    """Return the route of a page; its work is done in a thread."""

    async def answer(request: Request) -> Response:
        try:
            request.state.body = await read_body(request, _MOST_BODY_BYTES)
            return await run_in_threadpool(_answer, inspector, handler, request)
        except ClientDisconnect:
            return Response(status_code=499)  # nobody reads it

    made = Route(path, answer, methods=list(methods) or ["GET"], name=handler.__name__)
    made.methods = set(methods) or {"GET"}
    return made


async def read_body(request: Request, most_bytes: int) -> bytes:
    """Return the body of a request; nothing of one that is too long."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > most_bytes:
            return b""
    return body


def _answer(inspector: Inspector, handler: Handler, request: Request) -> Response:
    is_waiting = "known" in request.query_params  # for a change of the reading, for example
    try:
        with nullcontext() if is_waiting else inspector.spending.progress.give_way():
            return _response(inspector, request, handler(inspector, request))
    except Exception as error:  # noqa: BLE001 the boundary: nobody is shown a traceback
        found = _problem(error, is_script=request.method != "GET")
        return _response(inspector, request, found)


def _response(inspector: Inspector, request: Request, found: Answer) -> Response:
    if isinstance(found, Response):
        return found
    if not isinstance(found, HtmlPage):
        return Response(dump_bytes(found), media_type="application/json", headers=HEADERS)
    if is_export(request) and found.status == 200:
        return _export(inspector, found, request)
    html = render(inspector, found, export_address=_export_address(request))
    return HTMLResponse(html, found.status, headers=HEADERS)


def render(inspector: Inspector, page: HtmlPage, **more: Any) -> str:
    """Return a page as HTML."""
    values = {
        "inspector": inspector,
        "page_key": inspector.terms.page_key,
        "is_export": False,
        "export_address": "",
        **page.values,
        **more,
    }
    return environment().get_template(page.template).render(values)


def is_export(request: Request) -> bool:
    """Return whether a page is asked for as one file: then nothing of it can be loaded later."""
    return request.query_params.get("export") == "1"


def to_export(inspector: Inspector, request: Request) -> Answer:
    """Redirect a request for `PAGE/export` to the page as one file."""
    address = request.url.path.removesuffix("/export")
    return RedirectResponse(f"{address}?export=1", 303, headers=HEADERS)


def _export_address(request: Request) -> str:
    asked = request.url.include_query_params(export=1)
    return f"{asked.path}?{asked.query}"


def _export(inspector: Inspector, page: HtmlPage, request: Request) -> Response:
    """Return a page as one file, to be saved."""
    name = "-".join(re.findall(r"[\w.]+", request.url.path.removeprefix(ROOT)) or ["overview"])
    headers = {**HEADERS, "content-disposition": f'attachment; filename="foldaway-{name}.html"'}
    return HTMLResponse(to_file(inspector, page), headers=headers)


def to_file(inspector: Inspector, page: HtmlPage) -> bytes:
    """Return a page as one file; a key of this server in it would be a fault."""
    html = render(inspector, page, page_key="", is_export=True)
    body = standalone(html, inspector.shelf.show)
    terms = inspector.terms
    for secret in (terms.page_key, *terms.tokens, terms.owner.entry_key):
        if len(secret) >= _LONG_SECRET and secret.encode() in body:
            raise RuntimeError("a key of the server is in the page")
    return body


def _problem(error: Exception, *, is_script: bool) -> Answer:
    """Return what is said instead; it quotes nothing of a conversation."""
    title, said, status = _words_for(error)
    if is_script:
        body = problem_body(said, type(error).__name__)
        return Response(body, status, HEADERS, "application/json")
    return HtmlPage("problem.html.j2", {"title": title, "said": said}, status)


def _words_for(error: Exception) -> tuple[str, str, int]:
    match error:
        case errors.UnknownSession() | errors.AmbiguousSession() | NotThere():
            return "Not found", str(error), 404
        case errors.UnknownPosition() | errors.UnknownName() | errors.UnknownReference():
            return "Not found", str(error), 404
        case NotAllowed():
            return "That did not work", str(error), 403
        case errors.FoldawayError():
            return "That did not work", str(error), 422
        case WrongAddress():
            return "Not found", "The address is not one of a page of the inspector.", 404
        case _:
            log_event("inspector.failed", fault=type(error).__name__)
            return "That did not work", "An error of the inspector. Nothing was changed.", 500


class NotAllowed(Exception):
    """Something that is not done, and why, for the person who asked."""


def body_of(request: Request) -> bytes:
    """Return the body of a request, which was read before its handler was called."""
    body: bytes = request.state.body
    return body


def number(request: Request, name: str, default: int, *, most: int = 2**31 - 1) -> int:
    """Return a number of an address, between 0 and `most`; raises `WrongAddress`."""
    text = request.query_params.get(name) or request.path_params.get(name)
    return default if text is None else min(max(whole_number(str(text)), 0), most)


# Templates


@cache
def environment() -> Environment:
    """Return what renders the templates; whatever is not marked as HTML is shown as text."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    filters: dict[str, Callable[..., Any]] = {
        "short": short,
        "full": full,
        "money": money,
        "moment": when,
        "day": partial(when, form=' data-as="day"'),
        "noun": noun,
        "percent": percent,
        "json": as_json,
        "plural": plural,
        "clock": partial(when, form=' data-as="clock"'),
        "signed_money": signed_money,
        "ending": ending,
        "zip": zip,
    }
    made.filters.update(filters)  # pyright: ignore[reportArgumentType, reportCallIssue]
    made.globals.update(asset=asset, ROOT=ROOT, KIND_NAMES=KIND_NAMES)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return made


def _finalize(value: Any) -> Any:
    """Return what a template shows: no text has hidden signs; HTML was made without them."""
    return visible(value) if type(value) is str else value


def as_json(value: Any) -> Markup:
    """Return a value as JSON for an element of the page that scripts read."""
    text = dump_text(value)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def when(time: float | None, form: str = "") -> Markup:
    """Return a time as an element, in UTC; a script writes it in words and in the reader's zone."""
    try:
        told = f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}" if time else ""
    except (OverflowError, OSError, ValueError):
        told = ""
    return Markup(f'<time datetime="{told}"{form}>{told}</time>' if told else "")


def noun(count: int, name: str) -> str:
    """Return the noun for a number that is written elsewhere."""
    return plural(count, name).partition(" ")[2]


def signed_money(amount: float) -> str:
    """Return dollars that may be less than none."""
    return f"−{money(-amount)}" if amount <= -0.005 else money(max(amount, 0.0))


def percent(share: float) -> str:
    """Return a share in percent, without decimals unless it is small."""
    return f"{share:.1%}" if 0 < share < 0.01 else f"{share:.0%}"


def ending(path: str) -> str:
    """Return the last two parts of a path."""
    return "/".join(path.replace("\\", "/").rstrip("/").split("/")[-2:])


def static(inspector: Inspector, request: Request) -> Answer:
    """Return a file of the pages; only those that came with the package have an address."""
    mark, _, name = str(request.path_params["name"]).partition("/")
    if name not in file_names() or Path(name).suffix not in _TYPES:
        return Response("no such file", 404, media_type="text/plain", headers=HEADERS)
    headers = {**HEADERS, "cache-control": _FOREVER} if mark == files_mark() else HEADERS
    return Response(file_of(name), media_type=_TYPES[Path(name).suffix], headers=headers)
