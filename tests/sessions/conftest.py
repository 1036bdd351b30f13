"""A store, and conversations that are long enough to be compacted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.sessions.talking import WINDOW, talk

from foldaway.sessions import SessionOptions
from foldaway.sessions.session import Session
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession

SECRET = "ghp_" + "a1B2c3D4e5" * 4


@pytest.fixture
def kept(store: Store) -> Store:
    """A store of its own, of each back-end."""
    return store


@pytest.fixture
def begin(kept: Store) -> Callable[..., Session]:
    """Begin a session of 41 messages, or of those that are given."""

    def made(*messages: Any, **new: Any) -> Session:
        session = Session(
            kept,
            **WINDOW,
            options=SessionOptions(
                new=NewSession(dialect="openai-chat", **{"title": "Modules", **new})
            ),
        )
        first = {"role": "system", "content": "You help."}
        session.append(*(messages or (first, *talk(0, 20))))
        return session

    return made
