"""Who may ask a server of Foldaway.

The way to the providers is open to programs of this machine, unless a token is set. What shows or
changes conversations needs the token of the owner, or the owner's Unix socket. A browser gets the
token as a cookie, from the page that asks for it. What changes something, if a browser sends it,
also needs the key of the page: a page of another site cannot read it.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from foldaway.gateway.api_token import make_token, token_file
from foldaway.gateway.audit import Audit

ENTRY = "/inspector/enter"
"""The one page that is shown without a token: it asks for it."""
PAGE_KEY = "x-foldaway-page"
"""The header in which a page sends its key with everything that changes something."""
BROWSER = "browser"
"""Who has the cookie of a page."""
PEER_UID = "foldaway.peer_uid"
"""Where a connection has the user at the other end of a Unix socket."""
_OWN_UID = os.geteuid() if hasattr(os, "geteuid") else None
_OWN_NAMES = ("127.0.0.1", "localhost", "::1")
_READS = ("GET", "HEAD")


class Owner(Struct, frozen=True, kw_only=True):
    """Who may see and change conversations."""

    token: str = ""
    """The secret of the owner; "" lets nobody in by it."""
    file: str = ""
    """Where the owner can read it."""
    entry_key: str = ""
    """What lets a browser in once."""
    audit: Audit | None = None
    """The file that says who asked for what."""

    @classmethod
    def of(cls, home: Path) -> Owner:
        """Return the owner of a home: anyone who can read its token, which is made if there is
        none. Raises `StoreUnavailable`.
        """
        return cls(
            token=make_token(home),
            file=str(token_file(home)),
            entry_key=secrets.token_urlsafe(24),
            audit=Audit(home / "audit.jsonl"),
        )


class Terms(Struct, frozen=True, kw_only=True):
    """Whom a server answers."""

    token: str = ""
    """What everybody must send, also on the way to a provider; "" asks for none."""
    hosts: tuple[str, ...] = ()
    """Names under which it may be called, beside those of this machine."""
    page_key: str = ""
    """What pages send with a change; "" is a server without pages."""
    owner: Owner = Owner()

    @property
    def tokens(self) -> tuple[str, ...]:
        """What lets somebody see conversations."""
        return tuple(one for one in (self.owner.token, self.token) if one)

    @classmethod
    def of_pages(cls, token: str, hosts: Sequence[str], owner: Owner) -> Terms:
        """Return the terms of a server with pages, which get a new key."""
        return cls(token=token, hosts=tuple(hosts), page_key=secrets.token_urlsafe(24), owner=owner)

    def let_in(self, answer: Response, scope: Scope, token: str) -> None:
        """Have a browser remember, by a cookie, that it was let in."""
        answer.set_cookie(cookie_name(scope), cookie_for(token), httponly=True, samesite="strict")

    def has(self, given: bytes) -> str:
        """Return the token that somebody gave, "" if it is none."""
        return next((one for one in self.tokens if hmac.compare_digest(given, one.encode())), "")


class Guard:
    """Refuses anyone who may not ask: pages in a browser, other names of this machine, no token."""

    def __init__(self, app: Starlette, terms: Terms, own: Sequence[BaseRoute] = ()) -> None:
        """Stand before an application; its `own` routes need a token, the others if one is set."""
        self.app, self._terms, self._own = app, terms, tuple(own)
        self._names = {*_OWN_NAMES, *terms.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        is_own = any(one.matches(scope)[0] is not Match.NONE for one in self._own)
        who = self._identify(scope, headers)
        answer = self._refusal(scope, headers, who, is_own=is_own)
        audit = self._terms.owner.audit
        if answer is None and is_own and audit is not None and who:
            send = audit.wrap_send(scope, who, send)
        hop = [one.strip() for one in headers.get(b"connection", "").lower().split(",")]
        scope["headers"] = [one for one in scope["headers"] if one[0].decode("latin-1") not in hop]
        await (answer or self.app)(scope, receive, send)

    def _refusal(
        self, scope: Scope, headers: dict[bytes, str], who: str, *, is_own: bool
    ) -> Response | None:
        if [name for name, _ in scope["headers"]].count(b"host") > 1:
            return _refuse("a request has one Host header; this one has more", 400)
        if _peer_uid(scope) not in (None, _OWN_UID):
            return _refuse("this socket is for another user")
        if _name_in(f"//{headers.get(b'host', '')}") not in self._names:
            return _refuse("this name is not served; allow it with --allow-host")
        origin = headers.get(b"origin")
        if origin is not None and _name_in(origin) not in self._names:
            return _refuse("pages of other sites may not ask")
        own = f"http://{headers.get(b'host', '')}"
        if origin is not None and _is_page(scope) and _port_of(origin) != _port_of(own):
            return _refuse("pages of other ports may not ask")
        if scope["path"] == ENTRY:
            return None
        if not who and (is_own or self._terms.token):
            if _is_visit(scope, headers):
                return RedirectResponse(ENTRY, 303)
            file = self._terms.owner.file
            where = f"; the token is in {file}" if file and is_own else ""
            return _refuse(f"the header x-foldaway-token is missing or wrong{where}")
        if is_own and who == BROWSER and self._is_foreign_change(scope, headers):
            return _refuse("a change needs the key of the page; reload it")
        return None

    def _identify(self, scope: Scope, headers: dict[bytes, str]) -> str:
        """Return by what somebody is let in, "" if by nothing."""
        if (uid := _peer_uid(scope)) is not None:
            return f"uid {uid}"
        given = headers.get(b"x-foldaway-token", "")
        if given:
            return "token" if self._terms.has(given.encode("latin-1")) else ""
        cookie = _cookie(scope, headers)
        known = (cookie_for(one).encode() for one in self._terms.tokens)
        return BROWSER if any(hmac.compare_digest(cookie, one) for one in known) else ""

    def _is_foreign_change(self, scope: Scope, headers: dict[bytes, str]) -> bool:
        """Return whether a browser changes something without the key of a page of ours."""
        if not self._terms.page_key or scope.get("method", "GET") in _READS:
            return False
        given = headers.get(PAGE_KEY.encode(), "").encode("latin-1")
        return not hmac.compare_digest(given, self._terms.page_key.encode())


def _peer_uid(scope: Scope) -> int | None:
    """Return who is at the other end of a Unix socket, None if it is none."""
    return scope.get("state", {}).get(PEER_UID)


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


def _refuse(why: str, status: int = 403) -> Response:
    return JSONResponse({"error": {"message": f"foldaway: {why}"}}, status)


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
