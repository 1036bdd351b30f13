"""What a gateway tells of a conversation, and what it keeps for that."""

from __future__ import annotations

from typing import Any
from weakref import ref

from foldaway.gateway.requests import Turn
from foldaway.gateway.states import Standings
from foldaway.sessions.session import Session


def test_what_was_told_does_not_keep_the_request() -> None:
    """The growth of the last ten is told by their sizes: their bodies may be megabytes."""
    told: list[Any] = []
    session = Session(context_length=8_000)
    session.append({"role": "user", "content": "hello"})
    standings = Standings(told.append, "chat:one", "agent", "model")
    turn = Turn("chat:one", "model", "agent", b"{}", True)
    gone = ref(turn)
    standings.tell(session, turn)
    del turn
    assert len(told) == 1
    assert gone() is None
