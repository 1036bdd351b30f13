"""The contract of stores holds on every back-end, in every run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.conftest import Home, home_of


@pytest.fixture(params=["sqlite", "postgresql"])
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    """A place for stores, of each back-end in turn."""
    yield from home_of(request)
