"""The answer of a provider as a wrapped client reads it, and its usage at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import chain
from typing import Any

from foldaway.gateway import usage_in
from foldaway.integrations.host_sessions import HostTurn
from foldaway.sessions import RefusedRequest

_LAST = (
    b"\nevent: response.completed",
    b"\nevent: response.incomplete",
    b"\nevent: message_stop",
    b"\ndata: [DONE]",
)
"""How the last event of a stream begins."""


class AnswerStream:
    """An answer as it comes. Its usage is taken at the last event, because clients do not read on
    after it and may close the stream much later; without such an event, when it is closed.
    """

    def __init__(self, response: Any, turn: HostTurn) -> None:
        self._response, self._turn = response, turn
        self._said: list[bytes] = []
        self._pieces: Any = None

    def read_opening(self) -> RefusedRequest | None:
        """Return the refusal that a stream of Responses begins with, None if it has none."""
        if self._is_refusal_possible():
            self._pieces = self._response.iter_bytes()
            for piece in self._pieces:
                self._said.append(piece)
                is_told, refused = RefusedRequest.find_in(b"".join(self._said))
                if is_told:
                    return refused
        return None

    async def aread_opening(self) -> RefusedRequest | None:
        """Do what `read_opening` does, for clients that await."""
        if self._is_refusal_possible():
            self._pieces = self._response.aiter_bytes()
            async for piece in self._pieces:
                self._said.append(piece)
                is_told, refused = RefusedRequest.find_in(b"".join(self._said))
                if is_told:
                    return refused
        return None

    def _is_refusal_possible(self) -> bool:
        is_events = self._response.headers.get("content-type", "").startswith("text/event-stream")
        return is_events and self._turn.asked.dialect == "openai-responses"

    def __iter__(self) -> Iterator[bytes]:
        opening, self._said = self._said, []
        for piece in chain(opening, self._pieces or self._response.iter_bytes()):
            if self._is_last(piece):
                self._turn.used(self._usage)
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        opening, self._said = self._said, []
        rest = self._pieces or self._response.aiter_bytes()
        while (piece := opening.pop(0) if opening else await anext(rest, None)) is not None:
            if self._is_last(piece):
                await asyncio.to_thread(self._turn.used, self._usage)
            yield piece

    def _is_last(self, piece: bytes) -> bool:
        self._said.append(piece)
        return any(one in b"\n" + piece for one in _LAST)

    def _usage(self) -> dict[str, Any]:
        said, self._said = b"".join(self._said), []
        return usage_in(said, self._response.headers.get("content-type", ""))

    def close(self) -> None:
        """Let go of the connection."""
        self._response.close()
        self._turn.used(self._usage)

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._response.aclose()
        await asyncio.to_thread(self._turn.used, self._usage)
