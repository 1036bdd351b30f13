"""How the tests of the ledger come from a conversation to its facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from foldaway._core.policy import Policy
from foldaway._core.ports import Redact
from foldaway.compaction.work import FrozenLog
from foldaway.facts.ledger import Fact, Ledger, update
from foldaway.facts.reading import LogReading
from foldaway.testing import talk
from foldaway.transcript import Estimator, Message, whole_view


def _facts_in(log: Sequence[Message], redact: Redact = str) -> list[Fact]:
    index = FrozenLog(log, whole_view(len(log)), LogReading(Estimator(), Policy(), redact))
    return index.facts(0, len(log))


@pytest.fixture(scope="session")
def facts_in() -> Callable[..., list[Fact]]:
    """Return what gives the facts of a log, without secrets where a redactor is named."""
    return _facts_in


@pytest.fixture(scope="session")
def facts() -> Callable[..., list[Fact]]:
    """Return what gives the facts of a conversation, step by step as `talk` takes them."""
    return lambda *steps: _facts_in(talk(*steps).messages)


@pytest.fixture(scope="session")
def ledger_of() -> Callable[..., Ledger]:
    """Return what gives the ledger of a conversation."""
    return lambda *steps: update(Ledger(), _facts_in(talk(*steps).messages))
