"""A store, and conversations that are long enough to be compacted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.policy import Policy
from holdfast.sessions.session import Session
from holdfast.stores.store import Store
from holdfast.stores.values import NewSession

SMALL = Policy(floor_tokens=500, summary_min_tokens=100)
SECRET = "ghp_" + "a1B2c3D4e5" * 4


WINDOW: Any = {"context_length": 8_000, "policy": SMALL}


def talk(start: int, count: int) -> list[Any]:
    found: list[Any] = []
    for number in range(start, start + count):
        words = f"Question {number} on module_{number}.py, at most {number} times. " + "word " * 80
        answer = f"Answer {number}. " + "so on " * 90
        found += [{"role": "user", "content": words}, {"role": "assistant", "content": answer}]
    return found


@pytest.fixture
def kept(store: Store) -> Store:
    """A store of its own, of each back-end."""
    return store


@pytest.fixture
def begin(kept: Store) -> Callable[..., Session]:
    """Begin a session of 41 messages, or of those that are given."""

    def made(*messages: Any, **new: Any) -> Session:
        session = Session(
            kept, new=NewSession(dialect="openai-chat", **{"title": "Modules", **new}),
            **WINDOW,
        )  # fmt: skip
        first = {"role": "system", "content": "You help."}
        session.append(*(messages or (first, *talk(0, 20))))
        return session

    return made
