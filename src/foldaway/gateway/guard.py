"""Who may ask a server of Foldaway: programs of this machine, its own pages, whoever has a token.

A browser gets the token as a cookie, from the page that asks for it. What changes something, if a
browser sends it, also needs the key of the page: a page of another site cannot read it.
"""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

ENTRY = "/inspector/enter"
"""The one page that is shown without a token: it asks for it."""
PAGE_KEY = "x-foldaway-page"
"""The header in which a page sends its key with everything that changes something."""
_OWN_NAMES = ("127.0.0.1", "localhost", "::1")
_READS = ("GET", "HEAD")


class Terms(Struct, frozen=True, kw_only=True):
    """Whom a server answers."""

    token: str = ""
    """What must be sent; "" asks for none."""
    hosts: tuple[str, ...] = ()
    """Names under which it may be called, beside those of this machine."""
    page_key: str = ""
    """What pages send with a change; "" is a server without pages."""


def page_key() -> str:
    """Return a new key for the pages of one process."""
    return secrets.token_urlsafe(24)


class Guard:
    """Refuses whoever may not ask: pages in a browser, other names of this machine, no token."""

    def __init__(self, app: ASGIApp, terms: Terms) -> None:
        """Stand before an application."""
        self._app, self._terms = app, terms
        self._names = {*_OWN_NAMES, *terms.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        answer = self._refusal(scope, headers)
        await (answer or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: dict[bytes, str]) -> Response | None:
        if _name_in(f"//{headers.get(b'host', '')}") not in self._names:
            return _refused("this name is not served; allow it with --allow-host")
        origin = headers.get(b"origin")
        if origin is not None and _name_in(origin) not in self._names:
            return _refused("pages of other sites may not ask")
        own = f"http://{headers.get(b'host', '')}"
        if origin is not None and _is_page(scope) and _port_of(origin) != _port_of(own):
            return _refused("pages of other ports may not ask")
        if scope["path"] == ENTRY:
            return None
        if not self._has_token(scope, headers):
            if _is_visit(scope, headers):
                return RedirectResponse(ENTRY, 303)
            return _refused("the header x-foldaway-token is missing or wrong")
        if self._is_foreign_change(scope, headers):
            return _refused("a change needs the key of the page; reload it")
        return None

    def _has_token(self, scope: Scope, headers: dict[bytes, str]) -> bool:
        token = self._terms.token
        if not token:
            return True
        given = headers.get(b"x-foldaway-token", "")
        if given:
            return hmac.compare_digest(given.encode("latin-1"), token.encode())
        return hmac.compare_digest(_cookie(scope, headers), cookie_for(token).encode())

    def _is_foreign_change(self, scope: Scope, headers: dict[bytes, str]) -> bool:
        """Return whether a browser changes something without the key of a page of ours."""
        is_browser = b"origin" in headers or b"sec-fetch-site" in headers
        key = self._terms.page_key.encode()
        if not key or not is_browser or scope.get("method", "GET") in _READS:
            return False
        if self._terms.token and headers.get(b"x-foldaway-token"):
            return False  # no page of another site can send this header
        if not scope["path"].startswith(("/foldaway", "/inspector", "/api/sessions")):
            return False  # it goes on to a provider
        given = headers.get(PAGE_KEY.encode(), "").encode("latin-1")
        return not hmac.compare_digest(given, key)


def cookie_name(scope: Scope) -> str:
    """Return the cookie of a server: browsers send one to all ports of a machine."""
    return f"foldaway-{(scope.get('server') or ('', 0))[1]}"


def cookie_for(token: str) -> str:
    """Return what the cookie of somebody with the token holds: not the token itself."""
    return hmac.new(token.encode(), b"cookie of a page", "sha256").hexdigest()


def _cookie(scope: Scope, headers: dict[bytes, str]) -> bytes:
    try:
        found = SimpleCookie(headers.get(b"cookie", "")).get(cookie_name(scope))
    except CookieError:
        return b""
    return found.value.encode("latin-1", "replace") if found else b""


def _is_visit(scope: Scope, headers: dict[bytes, str]) -> bool:
    """Return whether somebody opens a page of ours in a browser."""
    wants = headers.get(b"accept", "")
    return _is_page(scope) and scope.get("method") == "GET" and "text/html" in wants


def _is_page(scope: Scope) -> bool:
    return scope["path"] == "/" or scope["path"].startswith("/inspector")


def _refused(why: str) -> Response:
    return JSONResponse({"error": {"message": f"foldaway: {why}"}}, 403)


def _port_of(address: str) -> int:
    """Return the port of an address, -1 if it has none that is a number."""
    try:
        found = urlsplit(address)
        return found.port or (443 if found.scheme == "https" else 80)
    except ValueError:
        return -1


def _name_in(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
