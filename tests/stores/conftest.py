"""Every back-end under one set of tests: a test that asks for `home` or `store` runs on each."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast.stores.open import open_store
from holdfast.stores.store import Store
from holdfast.testing.postgres_server import (
    PostgresServer,
    ServerUnavailable,
    postgres_database,
    postgres_server,
)

BACKENDS = ("sqlite", "postgresql")
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


def _postgresql(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("postgres_url")


_PLACES: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "sqlite": _sqlite,
    "postgresql": _postgresql,
}


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL of our own, one a process; whoever stops it starts it again."""
    with ExitStack() as stack:
        try:
            made = stack.enter_context(postgres_server())
        except ServerUnavailable as reason:
            pytest.skip(f"no PostgreSQL here: {reason}")
        yield made


@pytest.fixture(scope="session")
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database, of our own server or of the one that `HOLDFAST_TEST_POSTGRES` names; tests keep
    apart by their tenants.
    """
    if given := os.environ.get("HOLDFAST_TEST_POSTGRES"):
        with postgres_database(given) as url:
            yield url
    else:
        yield request.getfixturevalue("server").url()


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
