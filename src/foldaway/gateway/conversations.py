"""The conversations of a gateway that are open."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from foldaway.gateway.conversation import HELD_TIMES, Conversation, StoredConversations, Threads
from foldaway.gateway.identity import find_owner
from foldaway.gateway.options import GatewayOptions
from foldaway.gateway.owners import Owners
from foldaway.gateway.requests import Turn
from foldaway.gateway.states import Publish, Standings
from foldaway.sessions import Pool
from foldaway.stores import Store

_MOST_HELD = 0.25
"""The share of all memory for conversations that one of them may keep: about 16 MB of requests."""


class Conversations:
    """All conversations of a gateway; those that were quiet for longest are let go of."""

    def __init__(
        self, store: Store, options: GatewayOptions, publish: Publish = lambda event: None
    ) -> None:
        """Take a store, which other gateways may share; `publish` hears what is decided."""
        self._stored, self._options = StoredConversations(store, options), options
        self._publish = publish
        self.owners = Owners(store, is_shared=bool(options.token or options.hosts))
        self._threads = Threads(options.workers)
        self._held = Pool[tuple[str, str], Conversation](
            options.held_bytes, lambda one: one.held_bytes
        )

    def of(self, turn: Turn) -> Conversation:
        """Return the conversation of a request; those that were quiet for longest are let go of
        until the others have room beside it.
        """
        make = partial(self._begin, turn)
        return self._held.take((turn.key, turn.model), make, beside=len(turn.body) * HELD_TIMES)

    def _begin(self, turn: Turn) -> Conversation:
        standings = Standings(self._publish, turn.key, turn.agent, turn.model)
        return Conversation(self._stored, self._threads, standings)

    async def take_down(self, turn: Turn, usage: Mapping[str, object], sent_bytes: int) -> None:
        """Keep what a request held and what its answer cost. A conversation that takes much of the
        memory alone, which only images do, does not stay open between its requests.
        """
        one = self.of(turn)
        await one.take_down(turn, usage, sent_bytes)
        if one.held_bytes > _MOST_HELD * self._options.held_bytes:
            await one.let_go()
        self._held.weigh((turn.key, turn.model))

    def list_recent(self, wire: str, owner: str) -> list[Conversation]:
        """Return the conversations of a wire that an owner has here, the one that went on last
        first.
        """
        return [
            one
            for (key, _), one in self._held.newest_first()
            if key.startswith(f"{wire}:") and find_owner(key) == owner
        ]

    async def learn_windows(self, models: bytes) -> None:
        """Keep what a provider's list of models says of their windows."""
        keep = partial(self._stored.learn_list, models)
        await asyncio.get_running_loop().run_in_executor(self._threads.behind, keep)

    def look_again(self, session_id: str) -> None:
        """Have a conversation follow its list first from now on: somebody changed its session."""
        for _, one in self._held.newest_first():
            one.look_again(session_id)

    def close(self) -> None:
        """Wait for what is being written."""
        self._threads.close()
