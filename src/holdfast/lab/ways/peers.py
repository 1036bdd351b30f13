"""Peers as strategies of the lab."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from holdfast.lab.peers import MODES, PEERS, Failure, Peers, Request
from holdfast.lab.scoring.render import content_text, is_system, render_all, spoken
from holdfast.lab.scoring.session import Message
from holdfast.lab.scoring.shown import Shown
from holdfast.lab.ways.way import Way, shown_messages
from holdfast.tokens.estimate import estimate_text

_WINDOW = 200_000


def peer_ways(folder: Path) -> tuple[Way, ...]:
    """Return a way for each mode of each peer; their processes start when they are first asked."""
    asked = Peers(folder)
    return tuple(
        Way(name, "peer", _what(name), partial(_shrunk, asked, name), keeps_budget=True)
        for name in MODES
    )


def _what(name: str) -> str:
    peer, _, mode = name.partition(":")
    (does,) = [one.does for one in PEERS[peer].modes if one.name == mode]
    return f"{PEERS[peer].requirements[0]}: {does}"


def _shrunk(peers: Peers, name: str, messages: Sequence[Message], budget_tokens: int) -> Shown:
    system = [message for message in messages if is_system(message)]
    request = Request(
        messages=spoken(messages),
        system="\n\n".join(map(content_text, system)) or None,
        budget_tokens=budget_tokens,
        context_length=_WINDOW,
    )
    found = peers.compress(name, request, _count)
    if isinstance(found, Failure):
        return Shown(text="", tokens=0, failed=found.error)
    shown = shown_messages([*system, *spoken(found.answer.messages)])
    return replace(shown, cpu_ms=found.answer.cpu_ms, note=found.answer.note)


def _count(messages: Sequence[Message]) -> int:
    return estimate_text(render_all(spoken(messages)))
