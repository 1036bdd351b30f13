"""Calls of our tool within an answer: answered by the gateway, in further rounds with the provider.

This is the only case in which a provider is asked again after the first byte of an answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import aiohttp
from msgspec.structs import replace

from foldaway.dialects.jsontext import dump, dump_text, parse
from foldaway.gateway.hidden import HiddenCalls, anchors_of, extended, last_of
from foldaway.gateway.readers import READERS
from foldaway.gateway.reading import OwnCall
from foldaway.gateway.recall_tool import OWN_NAMES
from foldaway.gateway.wires import RESPONSES, Wire

Answering: TypeAlias = Callable[[Sequence[OwnCall]], Awaitable[list[str]]]
"""Answers calls of our tool."""
Keeping: TypeAlias = Callable[[HiddenCalls, list[Any]], Awaitable[None]]
"""Keeps what the client did not see of an answer, and is told what it saw."""

_ARGUMENTS = ("input", "arguments", "args")
"""What wires call them."""
_MOST_ROUNDS = 4
"""Of one message; chosen. A model that pages through a long original takes two or three."""
_ENOUGH = "not answered: too many calls of this tool in one answer; go on with what there is"
_REFUSED = "not answered: the answer could not be sent; ask for less of it, with limit"


class Rounds:
    """One message of a model whose calls of our tool the client does not see."""

    def __init__(self, wire: Wire, body: bytes, answer: Answering, keep: Keeping) -> None:
        """Take the request that was sent, with our tool in it."""
        self._wire, self._body, self._first = wire, body, body
        self._answer, self._keep = answer, keep
        self._reader = READERS[wire.name](OWN_NAMES)
        self._before: list[Any] = []
        self._item_calls: list[tuple[int, str]] = []
        self._skip = 0
        self._is_stream = True
        self._whole = b""
        self._gives_up = self._is_plain = False
        self._texts: list[str] = []
        self._has_tried_less = False

    @property
    def usage(self) -> dict[str, Any] | None:
        """What the provider reported for the last round; None if there was only one."""
        return self._reader.usage if self._reader.rounds else None

    def begin(self, content_type: str) -> None:
        """Take the kind of the answer that comes."""
        self._is_stream, self._whole = content_type.startswith("text/event-stream"), b""

    def feed(self, data: bytes) -> bytes:
        """Return what the client gets for bytes of an answer."""
        if self._is_plain:
            return data
        if not self._is_stream:
            self._whole += data
            return b""
        try:
            return self._reader.feed(data)
        except Exception:  # noqa: BLE001 an answer that is no answer as we know them passes
            self._is_plain = True
            return self._reader.rest()

    async def again(self) -> bytes | None:
        """Return what to ask next if the model waits for results of ours; None if the message is
        over, and then what the client did not see of it is kept.
        """
        try:
            return await self._again()
        except Exception:  # noqa: BLE001 the client gets a valid end of its message
            self._gives_up = self._reader.waits
            return None

    async def _again(self) -> bytes | None:
        reader = self._reader
        if not self._is_stream and not self._is_plain:
            self._read_whole()
        if self._is_plain or not reader.stop or not reader.is_rewritten:
            return None
        if reader.waits and reader.rounds <= _MOST_ROUNDS:
            enough = reader.rounds == _MOST_ROUNDS
            self._texts = [_ENOUGH] * len(reader.calls) if enough else await self._answers()
            return self._request()
        self._gives_up = reader.waits
        mixed = await self._answers() if reader.calls and reader.client_calls else []
        await self._keep_hidden(mixed)
        return None

    async def less(self) -> bytes | None:
        """Return what to ask if the provider did not take the last request; None to give up."""
        if self._has_tried_less:
            self._gives_up = True
            await self._keep_hidden([])
            return None
        self._has_tried_less = True
        self._texts = [_REFUSED] * len(self._texts)
        return self._request()

    def go_on(self, content_type: str) -> None:
        """Take what comes now as the answer to the request that `again` or `less` returned."""
        reader = self._reader
        self._note_closed()
        self._body = self._request()
        self._skip += reader.seen_units
        reader.next_round()
        self.begin(content_type)

    def end(self) -> bytes:
        """Return what the client gets last."""
        if self._is_stream:
            return self._reader.rest() + self._reader.end(gives_up=self._gives_up)
        if self._is_plain or not self._reader.is_rewritten:
            return self._whole
        return dump(self._reader.closed(parse(self._whole), self._gives_up))

    async def _answers(self) -> list[str]:
        return await self._answer([_read_arguments(call) for call in self._reader.calls])

    def _request(self) -> bytes:
        return extended(self._body, self._wire, [dump(one) for one in self._closed_round()])

    def _closed_round(self) -> list[Any]:
        reader = self._reader
        return [*reader.turn(), *reader.closing(reader.results(self._texts))]

    def _note_closed(self) -> None:
        reader = self._reader
        if self._wire is RESPONSES:  # items stay where they are; ours go between them
            for call, result in zip(reader.calls, reader.results(self._texts), strict=True):
                at = self._skip + call.at
                self._item_calls += [(at, dump_text(call.payload)), (at, dump_text(result))]
        else:
            self._before += self._closed_round()

    def _read_whole(self) -> None:
        try:
            for value in self._reader.opened(parse(self._whole)):
                self._reader.read(b"", value)
        except Exception:  # noqa: BLE001 an answer that is no answer as we know them passes
            self._is_plain = True

    async def _keep_hidden(self, mixed: Sequence[str]) -> None:
        """Keep what the client did not see: rounds before, and calls beside its own."""
        reader, shown = self._reader, self._reader.shown()
        shift = self._skip if self._wire is RESPONSES else 0
        own = [(shift + call.at, dump_text(call.payload)) for call in reader.calls] if mixed else []
        if not shown or not (own or self._before or self._item_calls):
            return
        hidden = HiddenCalls(
            anchors=anchors_of(self._wire, shown, last_of(self._first, self._wire)),
            before=tuple(map(dump_text, self._before)), skip=0 if shift else self._skip,
            size=self._skip + reader.seen_units,
            own=(*self._item_calls, *own),
            results=tuple(map(dump_text, reader.results(mixed))) if mixed else (),
        )  # fmt: skip
        await self._keep(hidden, shown)


async def pass_further(
    rounds: Rounds,
    ask: Callable[[bytes], Awaitable[aiohttp.ClientResponse | None]],
    copy: Callable[[aiohttp.ClientResponse], Awaitable[None]],
) -> None:
    """Ask the provider as long as its model waits for results of ours."""
    request = await rounds.again()
    while request is not None:
        up = await ask(request)
        if up is None:
            request = await rounds.less()
            continue
        async with up:
            rounds.go_on(up.headers.get("content-type", ""))
            await copy(up)
        request = await rounds.again()


def _read_arguments(call: OwnCall) -> OwnCall:
    """Return a call with the arguments that came after its name."""
    payload: dict[str, Any] = call.payload
    held: dict[str, Any] = payload.get("function") or payload.get("functionCall") or payload
    return replace(call, arguments=next((held[one] for one in _ARGUMENTS if held.get(one)), ""))
