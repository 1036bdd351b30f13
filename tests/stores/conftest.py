"""Every back-end under one set of tests: a test that asks for `home` or `store` runs on each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.stores.open import open_store
from holdfast.stores.store import Store

BACKENDS = ("sqlite",)
_TENANTS = itertools.count()


class Home:
    """Where the stores of a test live."""

    def __init__(self, where: str, backend: str) -> None:
        self.where = where
        self.backend = backend
        self.tenant = f"tenant {next(_TENANTS)}"
        self._opened: list[Store] = []

    def open(
        self, *, profile: str = "default", tenant: str | None = None, read_only: bool = False
    ) -> Store:
        """Return a store; without a name, of a tenant that no other test has."""
        name = self.tenant if tenant is None else tenant
        store = open_store(self.where, profile=profile, tenant=name, read_only=read_only)
        self._opened.append(store)
        return store

    def close(self) -> None:
        """Close all that was opened."""
        for store in self._opened:
            store.close()


def _sqlite(request: pytest.FixtureRequest) -> str:
    folder: Path = request.getfixturevalue("tmp_path")
    return str(folder / "home")


_PLACES: dict[str, Callable[[pytest.FixtureRequest], str]] = {"sqlite": _sqlite}


@pytest.fixture(params=BACKENDS)
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    """A place for stores, of each back-end in turn."""
    made = Home(_PLACES[request.param](request), request.param)
    yield made
    made.close()


@pytest.fixture
def store(home: Home) -> Store:
    """An empty store."""
    return home.open()
