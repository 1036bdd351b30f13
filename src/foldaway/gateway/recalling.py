"""Requests with the gateway's own tool in them, and who answers its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from foldaway.dialects.jsontext import dump
from foldaway.gateway.asked import NOT_KNOWN_YET, Passing, Turn, asked, unpacked
from foldaway.gateway.conversations import PATIENCE_SECONDS, Conversations, GatewayOptions
from foldaway.gateway.hidden import HiddenCalls, extended
from foldaway.gateway.reading import OwnCall
from foldaway.gateway.recall_tool import is_new, takes_tool, with_tool
from foldaway.gateway.rounds import Rounds
from foldaway.gateway.wires import Route

_NOTHING = "nothing of this conversation was folded yet"
_FAILED = "the gateway could not look it up; go on without it"


class Recalling:
    """Puts the tool into the requests of conversations that have it."""

    def __init__(
        self, conversations: Conversations, options: GatewayOptions,
        note_fault: Callable[[Exception], None],
    ) -> None:  # fmt: skip
        """Take what knows the conversations."""
        self._conversations, self._options = conversations, options
        self._note_fault = note_fault

    async def look_up(self, turn: Turn, route: Route) -> None:
        """See whether a conversation has the tool, before anything of a request is kept.

        One that began with it keeps it, also if the setting is off now.
        """
        options, one = self._options, self._conversations.of(turn)
        may_have = options.recall_tool or one.recall.is_offered
        is_old = options.is_shared and may_have  # another gateway may have added to it
        if is_old if one.recall.is_known else may_have or not turn.is_first:
            begins = options.recall_tool and is_new(turn.body, route.wire)
            looking = asyncio.to_thread(  # what works for others may not hold it up
                lambda: one.recall.look_up(self._conversations.key_of(turn), begins)
            )
            with suppress(TimeoutError):  # then it is as if it had none, and its cache breaks
                await asyncio.wait_for(looking, PATIENCE_SECONDS)

    def dressed(
        self, turn: Turn | Passing, route: Route, headers: Mapping[str, str],
        made: bytes | None, body: bytes,
    ) -> tuple[bytes, Rounds | None] | None:  # fmt: skip
        """Return a request with the tool, and what reads its answer; None if it has none.

        `body` is what came, `made` what would be sent in its place.
        """
        if route.streams == "list":
            return None
        if isinstance(turn, Passing):
            if not self._options.recall_tool or turn.reason != NOT_KNOWN_YET:
                return None
            encoding = headers.get("content-encoding", "")
            plain = unpacked(body, encoding, self._options.most_bytes) or b""
            sent = with_tool(plain, route.wire) if takes_tool(plain, route) else plain
        else:
            plain = made or turn.body
            sent = self._conversations.of(turn).recall.dressed(plain, route)
        if sent is plain:
            return None
        is_turn = route.operation == "turn"
        return sent, self._rounds(sent, turn, route, headers) if is_turn else None

    def _rounds(
        self, sent: bytes, turn: Turn | Passing, route: Route, headers: Mapping[str, str]
    ) -> Rounds:
        async def answer(calls: Sequence[OwnCall]) -> list[str]:
            if isinstance(turn, Passing):
                return [_NOTHING] * len(calls)
            try:
                return await self._conversations.of(turn).answered(turn, calls)
            except Exception as error:  # noqa: BLE001 the model goes on without
                self._note_fault(error)
                return [_FAILED] * len(calls)

        async def keep(hidden: HiddenCalls, shown: Sequence[Any]) -> None:
            known = turn
            try:
                if isinstance(known, Passing):  # its first answer names it
                    named = extended(sent, route.wire, [dump(one) for one in shown])
                    plain = {**headers, "content-encoding": ""}
                    known = asked(route, plain, named, len(named), self._conversations.owners.of)
                if isinstance(known, Turn):
                    await self._conversations.of(known).hide(known, hidden)
            except Exception as error:  # noqa: BLE001 the next request goes without
                self._note_fault(error)

        return Rounds(route.wire, sent, answer, keep)
