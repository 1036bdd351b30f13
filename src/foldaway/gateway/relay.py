"""The way of a request to its provider and of the answer back: bytes, as they come."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import io
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

import aiohttp
from msgspec import Struct
from yarl import URL

from foldaway._core import log_event
from foldaway.dialects import dump_bytes, parse
from foldaway.errors import NotReadable
from foldaway.gateway.answer_copy import HOP, OWN, AnswerCopy, AnswerParts, Send
from foldaway.gateway.answering import build_own_answer, with_records_opened
from foldaway.gateway.conversations import Conversations, GatewayOptions, Outgoing, deadline
from foldaway.gateway.figures import Figures, Outcome
from foldaway.gateway.own_answers import OwnAnswer
from foldaway.gateway.owners import key_in
from foldaway.gateway.requests import Passing, Turn, read_turn, unpack_body
from foldaway.gateway.spans import span_writer
from foldaway.gateway.stream_start import read_opening
from foldaway.gateway.wires import Route, Wire, refusal_body, route_of, upstream_of
from foldaway.sessions import Refusal, RefusedRequest, refusal_of

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]


_TRACE = frozenset({b"traceparent", b"tracestate"})
"""Headers that say which trace a request belongs to, by W3C; they go on to the provider too."""
_CONNECT_SECONDS = 30.0
_PIECE = 1 << 18
"""Bytes of a request that are written at a time, so that other streams go on between them."""
_MMAP_THRESHOLD = (-3, 1 << 18)
"""The number of an option of glibc, and bytes. It grows with the largest freed block if not set."""
_LARGE = 4 << 20
"""Bytes of a request after which memory is given back: that takes some 10 ms."""
_MOST_ERROR = 1 << 16
"""Bytes of an error that are read; what providers say is shorter."""
_PATIENCE = 10
"""How many times longer than a turn a client's compaction may wait for us: a model that writes the
summary takes longer than that."""
_TRIES = 6
"""How often a request is made smaller: halving six times goes below any window."""
_TOO_BIG = frozenset({400, 413, 422, 429, 500})
"""Statuses of errors that are read: one of them may say that the request was too big."""


class Cut(Exception):
    """The provider broke off in the middle of an answer; the client must see the same."""


class Sent(Struct):
    """A request on its way."""

    body: bytes
    note: str
    """What is said of it in the header `x-foldaway`."""
    turn: Turn | None = None
    is_known: bool = True
    """Whether its conversation knows what is sent; not if it was too late to say."""
    is_faulty: bool = False
    """Whether it is sent so because of a fault of ours; then it is not taken down either."""
    headers: Mapping[str, str] = {}
    """Headers that the provider needs for it, beside those of the client."""
    answer: OwnAnswer | None = None
    """What the client gets at once; then nothing is sent."""
    compacts: str = ""
    """The agent that compacts by itself with this request."""


class Relay:
    """Passes requests on; an ASGI application."""

    def __init__(self, conversations: Conversations, options: GatewayOptions, figures: Figures):
        """Take what knows the conversations; `start` and `stop` belong to the server's life."""
        self._conversations, self._options, self._figures = conversations, options, figures
        self._client: aiohttp.ClientSession | None = None
        self._behind: set[asyncio.Task[None]] = set()
        self._add_span, self._end_spans = span_writer()

    async def start(self) -> None:
        """Open the way to the providers."""
        if set_option := getattr(ctypes.CDLL(None), "mallopt", None):
            set_option(*_MMAP_THRESHOLD)  # large blocks go back at once when they are freed
        self._client = aiohttp.ClientSession(
            auto_decompress=False,
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def stop(self) -> None:
        """Wait for what is being written, and close."""
        if self._behind:
            await asyncio.wait(self._behind)
        if self._client is not None:
            await self._client.close()
        await asyncio.to_thread(self._end_spans)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":
            await self._speak(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        route = route_of(scope["method"], scope["path"], headers, scope["query_string"])
        headers |= key_in(scope["query_string"])
        body = await _read(receive, self._options.most_bytes)
        if isinstance(body, str):
            if body == "too large":
                await _refuse(send, route.wire, 413, "request_too_large", "the request is larger "
                              f"than {self._options.most_bytes:,} bytes")  # fmt: skip
            return
        begun = time.perf_counter()
        sent = await self._prepare(route, headers, body)
        held = time.perf_counter() - begun
        if sent.answer is not None:
            await self._give(send, sent.answer, Outcome(
                wire=route.wire.name, operation=route.operation, status=200, note=sent.note,
                client_compaction=sent.compacts, bytes_in=len(body), held=held,
            ))  # fmt: skip
            return
        gone = asyncio.create_task(_wait_for_disconnect(receive))
        answering = asyncio.create_task(self._answer(scope, send, route, sent, body, held))
        try:
            await asyncio.wait({gone, answering}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                answering.cancel()
            with suppress(asyncio.CancelledError):
                await answering
        finally:
            gone.cancel()

    # What is sent

    async def _prepare(self, route: Route, headers: Mapping[str, str], body: bytes) -> Sent:
        """Return what to send for a request: on any fault of ours, what came."""
        if route.operation in ("models", "other"):
            return Sent(body, "pass; other request")
        try:
            headers, body = with_records_opened(route, headers, body, self._options.most_bytes)
            owner_of = self._conversations.owners.of
            turn = read_turn(route, headers, body, self._options.most_bytes, owner_of)
            answered = await self._answer_compaction(route, turn, body)
            if answered is not None:
                return answered
            sent = await self._choose(route, turn, body)
            sent.compacts = turn.sign.agent if turn.sign else ""
        except Exception as error:  # noqa: BLE001 any fault of ours leaves the request as it came
            self._note_fault(error)
            sent = Sent(body, f"pass; {type(error).__name__}")
        return sent

    async def _choose(self, route: Route, turn: Turn | Passing, body: bytes) -> Sent:
        if isinstance(turn, Passing):
            return Sent(body, f"pass; {turn.reason}")
        if route.operation == "compact":
            return Sent(body, "pass; other request")
        if route.operation == "count":
            return await self._prepare_count(turn, body)
        return await self._follow(turn, body)

    async def _answer_compaction(
        self, route: Route, turn: Turn | Passing, body: bytes
    ) -> Sent | None:
        """Return our own answer to a client's compaction, None if its provider is to answer."""
        if turn.sign is None or not self._options.answers_compactions:
            return None
        try:
            answering = build_own_answer(self._conversations, route, turn)
            seconds = _PATIENCE * deadline(len(body), self._options)
            answer = await asyncio.wait_for(answering, seconds)
        except Exception as error:  # noqa: BLE001 then it is a request like any other
            self._note_fault(error)
            return None
        if answer is None:
            return None
        return Sent(body, "answered; client compaction", answer=answer, compacts=turn.sign.agent)

    async def _follow(self, turn: Turn, body: bytes) -> Sent:
        seconds = deadline(len(body), self._options)
        made = await self._conversations.of(turn).prepare(turn, seconds)
        if made.fault is not None:
            self._note_fault(made.fault)
        return _make_sent(made, turn, body)

    async def _prepare_count(self, turn: Turn, body: bytes) -> Sent:
        """Return what is counted: what would really be sent."""
        seconds = deadline(len(body), self._options)
        made = await self._conversations.of(turn).prepare_count(turn, seconds)
        if made is None or made.body is None:
            return Sent(body, "pass; nothing is due")
        return Sent(made.body, "counted as it would be sent")

    async def _shrink(self, sent: Sent, refusal: Refusal) -> Sent | None:
        turn = sent.turn
        if turn is None:
            return None
        try:
            made = await self._conversations.of(turn).shrink(turn, refusal, len(sent.body))
        except Exception as error:  # noqa: BLE001 the client gets the provider's own error
            self._note_fault(error)
            return None
        return None if made is None else _make_sent(made, turn, turn.body)

    async def _give(self, send: Send, answer: OwnAnswer, outcome: Outcome) -> None:
        self._figures.add(outcome, {})
        headers = [(b"content-type", answer.content_type.encode()), (OWN, outcome.note.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    def _note_fault(self, error: Exception) -> None:
        self._figures.fault(type(error).__name__)
        log_event("gateway.fault", fault=type(error).__name__)

    # What comes back

    async def _answer(
        self, scope: Scope, send: Send, route: Route, sent: Sent, body: bytes, held: float
    ) -> None:
        turn = sent.turn
        outcome = Outcome(
            wire=route.wire.name, operation=route.operation, bytes_in=len(body), held=held,
            agent=turn.agent if turn else "", model=turn.model if turn else route.model,
            conversation=turn.key if turn else "", client_compaction=sent.compacts,
        )  # fmt: skip
        kept, begun = AnswerParts(), time.time_ns() - int(held * 1e9)
        try:
            for _ in range(_TRIES):
                async with self._request(scope, route, sent, body) as up:
                    outcome.status, outcome.note = up.status, sent.note
                    outcome.bytes_out = len(sent.body)
                    again = None
                    error = b""
                    if up.status in _TOO_BIG and sent.turn is not None:
                        error = await _read_error(up)
                        refusal = _refusal(up, error)
                        again = await self._shrink(sent, refusal) if refusal else None
                    elif self._is_refusal_possible(up, sent):
                        error, refusal = await read_opening(up)
                        again = await self._shrink(sent, refusal) if refusal else None
                    if again is None:
                        copy = AnswerCopy(send, kept, self._options.ping_seconds, route.wire.ping)
                        await copy.pass_on(up, error, sent.note)
                        break
                    sent = again
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            if kept.has_begun:
                raise Cut from error
            outcome.status, outcome.note = 502, f"unreachable; {type(error).__name__}"
            await _refuse(send, route.wire, 502, "api_error", "the provider cannot be reached "
                          f"({type(error).__name__})")  # fmt: skip
        finally:
            usage = kept.usage()
            self._figures.add(outcome, usage)
            if self._add_span is not None:
                named = {name.decode(): value.decode() for name, value in scope["headers"]
                         if name in _TRACE}  # fmt: skip
                self._add_span(outcome, named, begun, time.time_ns())
            if sent.turn is not None and outcome.status == 200 and not sent.is_faulty:
                known, size = usage if sent.is_known else {}, len(sent.body) if usage else 0
                work = self._conversations.take_down(sent.turn, known, size)
                self._work_behind(work, is_large=len(body) > _LARGE)
            elif route.operation == "models" and outcome.status == 200:
                self._work_behind(self._conversations.learn_windows(kept.plain()))

    def _is_refusal_possible(self, up: aiohttp.ClientResponse, sent: Sent) -> bool:
        """Return whether a stream may still say that its request was too long."""
        kind = up.headers.get("content-type", "")
        if sent.turn is None or up.status != 200 or up.headers.get("content-encoding"):
            return False
        is_sure = self._conversations.of(sent.turn).has_accepted(len(sent.body))
        return kind.startswith("text/event-stream") and not is_sure

    async def _speak(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a WebSocket through, in both directions, as it is."""
        assert self._client is not None
        headers = _headers(scope, b"sec-websocket-key", b"sec-websocket-version",
                           b"sec-websocket-extensions", b"sec-websocket-protocol")  # fmt: skip
        await receive()  # the client's wish to connect
        if self._options.refuses_websockets:
            await send({"type": "websocket.http.response.start", "status": 426, "headers": []})
            await send({"type": "websocket.http.response.body", "body": b""})
            return
        wire = route_of("POST", scope["path"], dict(headers)).wire
        try:
            up = await self._client.ws_connect(
                self._address(scope, wire), headers=headers, protocols=scope["subprotocols"],
                max_msg_size=self._options.most_bytes,
            )  # fmt: skip
        except (aiohttp.ClientError, OSError):
            await send({"type": "websocket.close", "code": 1014})
            return
        await send({"type": "websocket.accept", "subprotocol": up.protocol})
        ways = [asyncio.create_task(_send_to_provider(receive, up)),
                asyncio.create_task(_send_to_client(up, send))]  # fmt: skip
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await up.close()

    def _request(self, scope: Scope, route: Route, sent: Sent, body: bytes) -> Any:
        assert self._client is not None
        data = sent.body
        without = [b"content-encoding"] if data is not body else []
        headers = _with_more(_headers(scope, *without), sent.headers)
        if data:
            headers.append(("content-length", str(len(data))))
        return self._client.request(
            scope["method"], self._address(scope, route.wire), headers=headers,
            data=_pieces(data) if data else None, allow_redirects=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )  # fmt: skip

    def _address(self, scope: Scope, wire: Wire) -> Any:
        """Return where a request goes, by its path and its wire."""
        path = scope["raw_path"].decode("ascii")
        query = scope["query_string"].decode("ascii")
        base = upstream_of(path, wire, self._options.upstreams)
        return URL(base + (f"?{query}" if query else ""), encoded=True)

    def _work_behind(self, work: Coroutine[Any, Any, None], *, is_large: bool = False) -> None:
        """Do what nobody waits for, after an answer; then give back what a large one took."""

        async def behind() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 the answer is sent already
                self._note_fault(error)
            if is_large:
                await asyncio.to_thread(_give_back)

        task = asyncio.create_task(behind())
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)


def _headers(scope: Scope, *without: bytes) -> list[tuple[str, str]]:
    """Return the headers of a request that its provider gets."""
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in scope["headers"]
        if name not in HOP and name not in without and not name.startswith(OWN)
    ]


def _with_more(headers: list[tuple[str, str]], more: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return headers with others: a list that the client sends too goes on with ours."""
    given = {name: value for name, value in headers if name in more}
    joined = {
        name: f"{given[name]},{value}" if name in given else value for name, value in more.items()
    }
    return [*(pair for pair in headers if pair[0] not in more), *joined.items()]


async def _send_to_provider(receive: Receive, up: aiohttp.ClientWebSocketResponse) -> None:
    while (message := await receive())["type"] == "websocket.receive":
        if (text := message.get("text")) is not None:
            await up.send_str(text)
        else:
            await up.send_bytes(message["bytes"])


async def _send_to_client(up: aiohttp.ClientWebSocketResponse, send: Send) -> None:
    async for message in up:
        if message.type is aiohttp.WSMsgType.TEXT:
            await send({"type": "websocket.send", "text": message.data})
        elif message.type is aiohttp.WSMsgType.BINARY:
            await send({"type": "websocket.send", "bytes": message.data})
    await send({"type": "websocket.close", "code": up.close_code or 1000})


async def _read(receive: Receive, most: int) -> bytes | str:
    """Return the body of a request; "gone" if the client went away, or "too large"."""
    body = io.BytesIO()  # gives its own bytes at the end: a list of pieces would take twice as much
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return "gone"
        body.write(message.get("body", b""))
        if body.tell() > most:
            return "too large"
        if not message.get("more_body"):
            return body.getvalue()


def _give_back() -> None:
    """Give freed memory back to the system; cycles and glibc would keep it."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), _PIECE):
        yield data[at : at + _PIECE]


async def _refuse(send: Send, wire: Wire, status: int, kind: str, sentence: str) -> None:
    body = dump_bytes(refusal_body(wire, status, kind, f"foldaway: {sentence}"))
    headers = [(b"content-type", b"application/json"), (OWN, b"refused")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _read_error(up: aiohttp.ClientResponse) -> bytes:
    """Return the beginning of an error, all of it if it is as short as errors are."""
    read = b""
    while len(read) < _MOST_ERROR and (piece := await up.content.read(_MOST_ERROR - len(read))):
        read += piece
    return read


def _refusal(up: aiohttp.ClientResponse, error: bytes) -> Refusal | None:
    """Return what an error says of the size of its request, None if it says something else."""
    plain = unpack_body(error, up.headers.get("content-encoding", ""), _MOST_ERROR) or b""
    text = plain.decode("utf-8", "replace")
    try:
        body = parse(plain)
    except NotReadable:
        body = None
    return refusal_of(RefusedRequest(up.status, body, text))


def _make_sent(made: Outgoing, turn: Turn, body: bytes) -> Sent:
    return Sent(body if made.body is None else made.body, made.note, turn,
                is_known=made.is_known, is_faulty=made.fault is not None,
                headers=made.headers)  # fmt: skip
