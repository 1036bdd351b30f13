"""The clients of OpenAI, Anthropic and Google, whose requests stay inside the window.

All of them send by an HTTP client of httpx: what goes through it is followed as a gateway does, so
that every method, raw response, stream and copy of the client works as it did.
"""

# Two HTTP libraries, httpx and its successor, have the same names; which one a client has is seen
# when it is wrapped.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import os
import sys
import weakref
from typing import Any, TypeVar

from foldaway.dialects import parse
from foldaway.errors import InvalidSetting, NotReadable
from foldaway.gateway import OWN_HEADER, read_client_turn
from foldaway.integrations.answer_stream import AnswerStream
from foldaway.integrations.host_sessions import HostRequest, HostSessions, HostTurn
from foldaway.sessions import RefusedRequest
from foldaway.stores import Store

T = TypeVar("T")
_LIBRARIES = ("httpx", "httpx2")
_TOO_BIG = (400, 413, 422, 429, 500)
"""Answers that may say that a request was too long; what they say decides."""
_MOST_BYTES = 64 << 20
"""Of a request; the providers take 32 MB."""
_REWRITTEN = ("content-length", "transfer-encoding", OWN_HEADER)
_DECODED = ("content-encoding", "content-length", "transfer-encoding")


def wrap(
    client: T, key: str = "", *, store: Store | str | os.PathLike[str] | None = None, **options: Any
) -> T:
    """Return a client of openai, anthropic, google-genai or httpx whose requests stay inside the
    window; frameworks that take none of the first three often take an HTTP client.

    It is the same client in every other respect, sync or async: a copy of it, or itself for
    google-genai, which cannot be copied. `key` names the conversation of all its requests; a
    request names another with the header `x-foldaway-session`, and one that has no name is
    recognized by how it began. `store` and `options` are those of a `Session`; by default
    conversations are kept in the home of sessions. `client.foldaway` answers the tools that recall
    what was folded.
    """
    sessions = HostSessions("client", store, **options)
    given: Any = client
    google: Any = getattr(given, "_api_client", None)
    if hasattr(google, "_httpx_client"):
        google._httpx_client = _make_following(google._httpx_client, sessions, key)
        _google_async(google, sessions, key)
        made = given
    elif hasattr(given, "copy") and hasattr(given, "_client"):
        made = given.copy(http_client=_make_following(given._client, sessions, key, owner=given))
    else:
        made = _make_following(given, sessions, key, owner=given)
    made.foldaway = sessions
    return made


def _google_async(google: Any, sessions: HostSessions, key: str) -> None:
    """Have google-genai await httpx, also if aiohttp is installed."""
    inner = google._async_httpx_client
    if inner is None:
        inner = _library(google._httpx_client).AsyncClient(timeout=None, follow_redirects=True)
    google._async_httpx_client = _make_following(inner, sessions, key)
    google._http_options.httpx_async_client = google._async_httpx_client


def _library(http: Any) -> Any:
    """Return httpx, or its successor: whichever a client is of."""
    roots = (one.__module__.partition(".")[0] for one in type(http).__mro__)
    found = next((root for root in roots if root in _LIBRARIES), None)
    if found is None:
        known = "one of openai, anthropic, genai or httpx"
        raise InvalidSetting("client", type(http).__name__, known)
    return sys.modules[found]


def _make_following(inner: Any, sessions: HostSessions, key: str, owner: Any = None) -> Any:
    """Return an HTTP client that sends by another one, which is closed with it if the `owner` is
    gone: a client that nobody closes leaves no connection open, wrapped or not.
    """
    library = _library(inner)
    is_async = hasattr(inner, "aclose")
    kind = library.AsyncClient if is_async else library.Client
    made = kind(
        transport=FollowingTransport(inner, library, sessions, key),
        base_url=inner.base_url,
        headers=inner.headers,
        params=inner.params,
        cookies=inner.cookies,
        timeout=inner.timeout,
        trust_env=False,
    )
    if not is_async:
        alone = (lambda: None) if owner is None else weakref.ref(owner)
        weakref.finalize(made, lambda: alone() or inner.close()).atexit = False
    return made


class FollowingTransport:
    """Where an HTTP client sends to: another client, by way of the sessions."""

    def __init__(self, inner: Any, library: Any, sessions: HostSessions, key: str) -> None:
        self._inner, self._library, self._sessions, self._key = inner, library, sessions, key
        bases = (AnswerStream, library.SyncByteStream, library.AsyncByteStream)
        self._stream: Any = type("LibraryStream", bases, {})

    def handle_request(self, request: Any) -> Any:
        """Return the answer to a request."""
        turn = HostTurn(self._sessions, self._request(request))
        self._sessions.guard(turn.follow, None)
        while True:
            response = self._inner.send(self._rebuild(request, turn), stream=True)
            if response.status_code not in _TOO_BIG:
                stream = self._stream(response, turn)
                refused = stream.read_opening()
                if refused is None or not turn.recover(refused):
                    return self._answer(response, stream=stream)
                response.close()
                continue
            response.read()
            if not turn.recover(_refusal(response)):
                return self._answer(response, content=response.content)

    async def handle_async_request(self, request: Any) -> Any:
        """Do what `handle_request` does, for clients that await."""
        turn = HostTurn(self._sessions, self._request(request))
        await asyncio.to_thread(self._sessions.guard, turn.follow, None)
        while True:
            response = await self._inner.send(self._rebuild(request, turn), stream=True)
            if response.status_code not in _TOO_BIG:
                stream = self._stream(response, turn)
                refused = await stream.aread_opening()
                if refused is None or not await asyncio.to_thread(turn.recover, refused):
                    return self._answer(response, stream=stream)
                await response.aclose()
                continue
            await response.aread()
            if not await asyncio.to_thread(turn.recover, _refusal(response)):
                return self._answer(response, content=response.content)

    def _request(self, request: Any) -> HostRequest:
        """Return what a request is; one without a key passes as it came."""
        passing = HostRequest(key="", dialect="")

        def read() -> HostRequest:
            found = read_client_turn(
                request.method,
                request.url.path,
                request.url.query,
                {OWN_HEADER: self._key, **request.headers},
                request.content,
                _MOST_BYTES,
            )
            if found is None:
                return passing
            turn, route = found
            key = turn.key.partition(":")[2]
            body, dialect = turn.body, route.wire.dialect
            return HostRequest(key=key, dialect=dialect, body=body, model=route.model)

        return self._sessions.guard(read, passing)

    def _rebuild(self, request: Any, turn: HostTurn) -> Any:
        followed = turn.followed
        is_changed = followed is not None and followed.is_changed
        headers = [
            (name, value)
            for name, value in request.headers.multi_items()
            if name.lower() not in _REWRITTEN
        ]
        if followed is not None and is_changed:
            headers += followed.headers.items()
        body = turn.body if is_changed else None
        made = self._library.Request(
            request.method,
            request.url,
            headers=headers,
            extensions=request.extensions,
            **({"stream": request.stream} if body is None else {"content": body}),
        )
        if body is None and "content-length" in request.headers:
            made.headers["content-length"] = request.headers["content-length"]
        return made

    def _answer(self, response: Any, **given: Any) -> Any:
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name.lower() not in _DECODED
        ]
        return self._library.Response(
            response.status_code, headers=headers, extensions=response.extensions, **given
        )

    def __enter__(self) -> FollowingTransport:
        return self

    def __exit__(self, *given: object) -> None:
        self.close()

    async def __aenter__(self) -> FollowingTransport:
        return self

    async def __aexit__(self, *given: object) -> None:
        await self.aclose()

    def close(self) -> None:
        """Close what it sends by."""
        self._inner.close()

    async def aclose(self) -> None:
        """Close what it sends by."""
        await self._inner.aclose()


def _refusal(response: Any) -> RefusedRequest:
    try:
        body = parse(response.content)
    except NotReadable:
        body = None
    return RefusedRequest(response.status_code, body, response.text)
