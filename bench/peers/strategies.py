"""The strategies of the lab that are peers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from foldaway.lab.scoring.session import (
    JudgedView,
    Message,
    content_text,
    is_system,
    render_all,
    without_system,
)
from foldaway.lab.strategies import Strategy, message_view
from foldaway.transcript import estimate_text
from peers.ask import Peers
from peers.table import MODES
from peers.worker import Failure, Request

_WINDOW = 200_000


def peer_strategies(folder: Path) -> tuple[Strategy, ...]:
    """Return a strategy for each mode of each peer; its process starts when it is first asked."""
    asked = Peers(folder)
    return tuple(
        Strategy(name, "peer", what, partial(_ask_peer, asked, name))
        for name, what in MODES.items()
    )


def _ask_peer(
    peers: Peers, name: str, messages: Sequence[Message], budget_tokens: int
) -> JudgedView:
    system = [message for message in messages if is_system(message)]
    request = Request(
        messages=without_system(messages),
        system="\n\n".join(map(content_text, system)) or None,
        budget_tokens=budget_tokens,
        context_length=_WINDOW,
    )
    found = peers.compress(
        name, request, lambda made: estimate_text(render_all(without_system(made)))
    )
    if isinstance(found, Failure):
        return JudgedView(text="", tokens=0, failed=found.error)
    shown = message_view([*system, *without_system(found.answer.messages)])
    return replace(shown, cpu_ms=found.answer.cpu_ms, note=found.answer.note)
