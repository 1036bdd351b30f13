"""The way of a request to its provider and of the answer back: bytes, as they come."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import io
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any

import aiohttp
from msgspec import Struct

from foldaway._core import log_event
from foldaway.dialects import dump_bytes
from foldaway.gateway.answer_copy import OWN, AnswerCopy, AnswerParts, Send
from foldaway.gateway.answer_forms import OwnAnswer
from foldaway.gateway.compaction_answers import build_own_answer, with_records_opened
from foldaway.gateway.conversation import Outgoing
from foldaway.gateway.conversations import Conversations
from foldaway.gateway.figures import Figures, Outcome
from foldaway.gateway.options import GatewayOptions
from foldaway.gateway.owners import key_in
from foldaway.gateway.refusals import read_refusal
from foldaway.gateway.requests import Passing, Turn, read_turn
from foldaway.gateway.spans import span_writer
from foldaway.gateway.spending import SpendingMeter
from foldaway.gateway.upstream import Providers, Receive, Scope
from foldaway.gateway.wires import Operation, Route, Wire, refusal_body, route_of
from foldaway.sessions import Refusal

_TRACE = frozenset({b"traceparent", b"tracestate"})
"""Headers that say which trace a request belongs to, by W3C; they go on to the provider too."""
_MMAP_THRESHOLD = (-3, 1 << 18)
"""The number of an option of glibc, and bytes. It grows with the largest freed block if not set."""
_LARGE = 4 << 20
"""Bytes of a request after which memory is given back: that takes some 10 ms."""
_PATIENCE = 10
"""How many times longer than a turn a client's compaction may wait for us: a model that writes the
summary takes longer than that."""
_PAID: frozenset[Operation] = frozenset(("turn", "compact"))
"""What a model answers; the rest goes on when a budget is spent."""
_TRIES = 6
"""How often a request is made smaller: halving six times goes below any window."""


class Cut(Exception):
    """The provider broke off in the middle of an answer; the client must see the same."""


class Sent(Struct, frozen=True):
    """What goes to a provider for a request."""

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

    @classmethod
    def of(cls, made: Outgoing, turn: Turn, body: bytes) -> Sent:
        """Return what a conversation made of a request, which came as `body`."""
        return cls(
            body if made.body is None else made.body,
            made.note,
            turn,
            is_known=made.is_known,
            is_faulty=made.fault is not None,
            headers=made.headers,
        )


class Exchange(Struct):
    """A request, what is sent for it, and what came back so far."""

    scope: Scope
    send: Send
    route: Route
    body: bytes
    """As the client sent it."""
    sent: Sent
    outcome: Outcome
    begun: int
    """When the request was there, in nanoseconds since 1970."""
    answer: AnswerParts


class Relay:
    """Passes requests on; an ASGI application."""

    def __init__(
        self,
        conversations: Conversations,
        options: GatewayOptions,
        figures: Figures,
        spending: SpendingMeter,
    ):
        """Take what knows the conversations; `start` and `stop` belong to the server's life."""
        self._conversations, self._options, self._figures = conversations, options, figures
        self._spending = spending
        self._providers: Providers | None = None
        self._behind: set[asyncio.Task[None]] = set()
        self._add_span, self._end_spans = span_writer()

    async def start(self) -> None:
        """Open the way to the providers."""
        if set_option := getattr(ctypes.CDLL(None), "mallopt", None):
            set_option(*_MMAP_THRESHOLD)  # large blocks go back at once when they are freed
        self._providers = Providers(self._options)

    async def stop(self) -> None:
        """Wait for what is being written, and close."""
        if self._behind:
            await asyncio.wait(self._behind)
        if self._providers is not None:
            await self._providers.close()
        await asyncio.to_thread(self._end_spans)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        assert self._providers is not None
        if scope["type"] == "websocket":
            await self._providers.pass_websocket(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        route = route_of(scope["method"], scope["path"], headers, scope["query_string"])
        headers |= key_in(scope["query_string"])
        body = await _read(receive, self._options.most_bytes)
        if body == "too large":
            said = f"the request is larger than {self._options.most_bytes:,} bytes"
            await _refuse(send, route.wire, 413, "request_too_large", said)
        if isinstance(body, str):
            return
        outcome = Outcome(wire=route.wire.name, operation=route.operation, bytes_in=len(body))
        begun, clock = time.time_ns(), time.perf_counter()
        if route.operation in _PAID and (said := await self._spending.refusal()):
            outcome.status, outcome.note = 402, "refused; budget"
            self._figures.add(outcome, {})
            await _refuse(send, route.wire, 402, "billing_error", said)
            return
        sent = await self._prepare(route, headers, body, outcome)
        outcome.held = time.perf_counter() - clock
        if isinstance(sent, OwnAnswer):
            self._figures.add(outcome, {})
            await _give(send, sent, outcome.note)
            return
        exchange = Exchange(scope, send, route, body, sent, outcome, begun, AnswerParts())
        await _until_gone(receive, self._answer(exchange))

    # What is sent

    async def _prepare(
        self, route: Route, headers: Mapping[str, str], body: bytes, outcome: Outcome
    ) -> Sent | OwnAnswer:
        """Return what to send for a request, or what its client gets at once; on any fault of ours,
        what came.
        """
        outcome.model = route.model
        if route.operation in ("models", "other"):
            return Sent(body, "pass; other request")
        try:
            headers, body = with_records_opened(route, headers, body, self._options.most_bytes)
            owner_of = self._conversations.owners.of
            turn = read_turn(route, headers, body, self._options.most_bytes, owner_of)
            outcome.model = turn.model or route.model
            answer = await self._answer_compaction(route, turn, len(body), outcome)
            if answer is not None:
                return answer
            sent = await self._choose(route, turn, body)
            outcome.client_compaction = turn.sign.agent if turn.sign else ""
        except Exception as error:  # noqa: BLE001 any fault of ours leaves the request as it came
            self._note_fault(error)
            return Sent(body, f"pass; {type(error).__name__}")
        if (of := sent.turn) is not None:
            outcome.agent, outcome.conversation = of.agent, of.key
        return sent

    async def _answer_compaction(
        self, route: Route, turn: Turn | Passing, size: int, outcome: Outcome
    ) -> OwnAnswer | None:
        """Return our own answer to a client's compaction, None if its provider is to answer."""
        if turn.sign is None or not self._options.answers_compactions:
            return None
        try:
            seconds = _PATIENCE * self._options.deadline(size)
            if self._behind:  # the request before may still be being taken down
                await asyncio.wait(tuple(self._behind), timeout=seconds)
            answering = build_own_answer(self._conversations, route, turn)
            answer = await asyncio.wait_for(answering, seconds)
        except Exception as error:  # noqa: BLE001 then it is a request like any other
            self._note_fault(error)
            return None
        if answer is not None:
            outcome.status, outcome.note, outcome.model = 200, "answered; client compaction", ""
            outcome.client_compaction = turn.sign.agent
        return answer

    async def _choose(self, route: Route, turn: Turn | Passing, body: bytes) -> Sent:
        """Return what to send for a request that could be read."""
        if isinstance(turn, Passing):
            return Sent(body, f"pass; {turn.reason}")
        if route.operation == "compact":
            return Sent(body, "pass; other request")
        conversation = self._conversations.of(turn)
        seconds = self._options.deadline(len(body))
        if route.operation == "count":
            made = await conversation.prepare_count(turn, seconds)
            if made is None or made.body is None:
                return Sent(body, "pass; nothing is due")
            return Sent(made.body, "counted as it would be sent")
        made = await conversation.prepare(turn, seconds)
        if made.fault is not None:
            self._note_fault(made.fault)
        return Sent.of(made, turn, body)

    async def _shrink(self, sent: Sent, refusal: Refusal) -> Sent | None:
        """Return less to send for a request that was refused as too big, None if there is no
        less.
        """
        turn = sent.turn
        if turn is None:
            return None
        try:
            made = await self._conversations.of(turn).shrink(turn, refusal, len(sent.body))
        except Exception as error:  # noqa: BLE001 the client gets the provider's own error
            self._note_fault(error)
            return None
        return None if made is None else Sent.of(made, turn, turn.body)

    def _note_fault(self, error: Exception) -> None:
        self._figures.fault(type(error).__name__)
        log_event("gateway.fault", fault=type(error).__name__)

    # What comes back

    async def _answer(self, on: Exchange) -> None:
        """Send a request, smaller if it is refused as too big, and pass the answer on."""
        try:
            for left in reversed(range(_TRIES)):
                if (smaller := await self._try(on, is_last=not left)) is None:
                    break
                on.sent = smaller
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            if on.answer.has_begun:
                raise Cut from error
            name = type(error).__name__
            on.outcome.status, on.outcome.note = 502, f"unreachable; {name}"
            said = f"the provider cannot be reached ({name})"
            await _refuse(on.send, on.route.wire, 502, "api_error", said)
        finally:
            self._take_down(on)

    async def _try(self, on: Exchange, *, is_last: bool) -> Sent | None:
        """Send a request and pass its answer on; or return less to send, if it was too big."""
        assert self._providers is not None
        sent, wire = on.sent, on.route.wire
        is_changed = sent.body is not on.body
        request = self._providers.request(
            on.scope, wire, sent.body, sent.headers, is_changed=is_changed
        )
        async with request as up:
            on.outcome.status, on.outcome.note = up.status, sent.note
            on.outcome.bytes_out = len(sent.body)
            read = b""
            if sent.turn is not None:
                fit = self._conversations.of(sent.turn).fit
                is_accepted = fit.has_accepted(len(sent.body))
                read, refusal = await read_refusal(up, is_accepted=is_accepted)
                if refusal and not is_last and (less := await self._shrink(sent, refusal)):
                    return less
            copy = AnswerCopy(on.send, on.answer, self._options.ping_seconds, wire.ping)
            await copy.pass_on(up, read, sent.note)
        return None

    def _take_down(self, on: Exchange) -> None:
        """Count a request that is over, and let its conversation know what it cost."""
        sent, outcome, usage = on.sent, on.outcome, on.answer.usage()
        self._figures.add(outcome, usage)
        if outcome.cost:
            self._work_behind(self._spending.add(outcome.cost))
        if self._add_span is not None:
            headers = [one for one in on.scope["headers"] if one[0] in _TRACE]
            named = {name.decode(): value.decode() for name, value in headers}
            self._add_span(outcome, named, on.begun, time.time_ns())
        if sent.turn is not None and outcome.status == 200 and not sent.is_faulty:
            known, size = usage if sent.is_known else {}, len(sent.body) if usage else 0
            work = self._conversations.take_down(sent.turn, known, size)
            self._work_behind(work, is_large=len(on.body) > _LARGE)
        elif on.route.operation == "models" and outcome.status == 200:
            self._work_behind(self._conversations.learn_windows(on.answer.plain()))

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


async def _until_gone(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do work until it is done, or its client went away."""
    gone, working = asyncio.create_task(_wait_for_disconnect(receive)), asyncio.create_task(work)
    try:
        await asyncio.wait({gone, working}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            working.cancel()
        with suppress(asyncio.CancelledError):
            await working
    finally:
        gone.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(send: Send, wire: Wire, status: int, kind: str, sentence: str) -> None:
    body = dump_bytes(refusal_body(wire, status, kind, f"foldaway: {sentence}"))
    await _give(send, OwnAnswer(body), "refused", status)


async def _give(send: Send, answer: OwnAnswer, note: str, status: int = 200) -> None:
    headers = [(b"content-type", answer.content_type.encode()), (OWN, note.encode())]
    headers += [(b"x-should-retry", b"false")] if status == 402 else []  # SDKs of providers ask it
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def _give_back() -> None:
    """Give freed memory back to the system; cycles and glibc would keep it."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
