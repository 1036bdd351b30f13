"""The answer of a provider as a wrapped client reads it, and its usage at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from foldaway.gateway.wires import usage_in
from foldaway.integrations.host_sessions import HostTurn
from foldaway.sessions.too_long import RefusedRequest, find_telling, refusal_in


class AnswerStream:
    """An answer as it comes; its usage is taken when it is closed: clients of streams do not read
    on after the last event.
    """

    def __init__(self, response: Any, turn: HostTurn) -> None:
        self._response, self._turn = response, turn
        self._said: list[bytes] = []
        self._pieces: Any = None

    def read_opening(self) -> RefusedRequest | None:
        """Return the refusal that a stream of Responses begins with, None if it has none."""
        if self._may_refuse():
            self._pieces = self._response.iter_bytes()
            for piece in self._pieces:
                self._said.append(piece)
                if (event := find_telling(b"".join(self._said))) is not None:
                    return refusal_in(event)
        return None

    async def aread_opening(self) -> RefusedRequest | None:
        """Do what `read_opening` does, for clients that await."""
        if self._may_refuse():
            self._pieces = self._response.aiter_bytes()
            async for piece in self._pieces:
                self._said.append(piece)
                if (event := find_telling(b"".join(self._said))) is not None:
                    return refusal_in(event)
        return None

    def _may_refuse(self) -> bool:
        is_events = self._response.headers.get("content-type", "").startswith("text/event-stream")
        return is_events and self._turn.asked.dialect == "openai-responses"

    def __iter__(self) -> Iterator[bytes]:
        yield from tuple(self._said)
        for piece in self._pieces or self._response.iter_bytes():
            self._said.append(piece)
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in tuple(self._said):
            yield piece
        async for piece in self._pieces or self._response.aiter_bytes():
            self._said.append(piece)
            yield piece

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
