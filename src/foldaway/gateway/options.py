"""How a gateway treats the conversations that pass."""

from __future__ import annotations

import time
from collections.abc import Mapping

from msgspec import Struct

from foldaway._core import Policy
from foldaway.caching import Prices
from foldaway.engine import Clock
from foldaway.summarizers import Writers
from foldaway.usage import SpendingLimit

_SMALL, _LARGE = 200_000, 4_000_000
"""Bytes of the requests that the two deadlines are for; those between have one between."""


class GatewayOptions(Struct, frozen=True, kw_only=True):
    """How a gateway treats the conversations that pass."""

    context_length: int | None = None
    """The window of every model, if the settings give one; by default that of its name."""
    policy: Policy | None = None
    prices: Prices | None = None
    """What models cost whose list prices are not known."""
    budget: SpendingLimit | None = None
    """What may be spent, by all gateways on the store together."""
    summarizer: Writers | None = None
    drops_stale_thinking: bool = False
    """Whether the account has the provider drop thinking that is bound to what was folded."""
    answers_compactions: bool = False
    """Whether a client that compacts by itself gets its summary from here."""
    folder: str = ""
    """Where the agent works, if that is known: its sessions belong to that project."""
    refuses_websockets: bool = False
    """Whether clients that ask for a WebSocket are told to use HTTP: only that can be compacted."""
    upstreams: Mapping[str, str] = {}
    """Addresses of providers: by the name of a wire, by the beginning of a path, or "" for all."""
    is_shared: bool = False
    """Whether other gateways work on the same store."""
    token: str = ""
    """What clients must send in `x-foldaway-token`; "" asks for none."""
    hosts: tuple[str, ...] = ()
    """Names under which other machines may call."""
    most_bytes: int = 64 << 20
    """Of one request; the providers take 32 MB."""
    held_bytes: int = 256 << 20
    """Of memory for the conversations that are held open; those that were quiet for longest are
    taken up from the store when they go on."""
    deadlines: tuple[float, float] = (0.25, 2.0)
    """Seconds that the work on a request of 200 KB, and on one of 4 MB, may take: what an agent
    does not notice beside the model's own time. In a crowd it waits up to eight times that."""
    head_seconds: float = 30.0
    """For the head of a request: agents send it at once. nginx gives it 60, Apache 20 to 40."""
    body_seconds: float = 60.0
    """In which a body must go on by 4 KB: it may come through a phone's network."""
    clock: Clock = time.time
    ping_seconds: float = 10.0
    """Of silence in a stream, after which it is kept open; Claude Code warns after 20."""
    workers: int = 4
    """Threads that follow and compact; the event loop only passes bytes on."""

    def deadline(self, size: int) -> float:
        """Return how many seconds the work on a request of this size may take."""
        least, most = self.deadlines
        share = (size - _SMALL) / (_LARGE - _SMALL)
        return least + min(max(share, 0.0), 1.0) * (most - least)
