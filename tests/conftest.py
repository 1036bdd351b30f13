"""What all tests share.

How much hypothesis searches: a little in `make test`, more in `make test-slow`, a lot in `make
soak`, which also runs every law on more examples (`--examples`). Examples are new in every run, but
not in `.ci/run` (`--same-examples`): there a change is judged: the same one has the same result.
One that failed is kept and comes first in the next run; its report says how to reproduce it.
What asks for `home` or `store` runs on SQLite, in `make test-slow` on PostgreSQL too; the contract
of stores always runs on both. What is marked `slow` runs in `make test-slow`: README.md says what.
What uses data or tools outside this repository (`FOLDAWAY_DATA`, `FOLDAWAY_AGENTS`) is marked
`shared`: without them it skips and says so, and `make test-shared` runs exactly this. A test that
skips so without the mark fails, so none can be left out there. A failure is shown when it happens.
"""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from tests.testing.postgres_server import (
    PostgresServer,
    ServerUnavailable,
    postgres_database,
    postgres_server,
)

from foldaway.stores.open import open_store
from foldaway.stores.store import Store

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

_EXAMPLES = Path(__file__).resolve().parent.parent / ".hypothesis" / "examples"
"""Where examples that failed are kept; the next run begins with them. Git ignores the folder."""

settings.register_profile(
    "default",
    max_examples=3,
    deadline=None,
    derandomize=False,
    database=DirectoryBasedExampleDatabase(_EXAMPLES),
    print_blob=True,
    suppress_health_check=_SLOW_IS_FINE,
)
settings.register_profile("same", settings.get_profile("default"), derandomize=True, database=None)
settings.register_profile("soak", settings.get_profile("default"), max_examples=10_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--soak`; `FOLDAWAY_SOAK=1` does the same."""
    parser.addoption("--soak", action="store_true", help="10,000 examples for every law")
    parser.addoption("--same-examples", action="store_true", help="the same ones in every run")
    parser.addoption("--need-shared", action="store_true", help="fail if shared data is missing")
    parser.addoption("--examples", type=int, help="this many new examples for every law")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the profile."""
    soak = config.getoption("--soak") or os.environ.get("FOLDAWAY_SOAK") == "1"
    same = "same" if config.getoption("--same-examples") else "default"
    chosen = "soak" if soak else same
    settings.load_profile(chosen)
    if examples := config.getoption("--examples"):
        settings.register_profile("asked", settings.get_profile(chosen), max_examples=examples)
        settings.load_profile("asked")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Show failures at once. When this file is configured there is no terminal yet."""
    if terminal := session.config.pluginmanager.get_plugin("terminalreporter"):
        session.config.pluginmanager.register(_FailuresAtOnce(terminal))


class _FailuresAtOnce:
    """Shows a failure when it happens, not only at the end of the run."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._terminal.ensure_newline()
            self._terminal.write_sep("_", f"{report.nodeid} ({report.when})", red=True)
            self._terminal.write_line(report.longreprtext)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from looking through what was collected, now and in every test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


_SHARED = ("FOLDAWAY_DATA", "FOLDAWAY_AGENTS")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip for want of shared data into a failure if `make test-shared` would miss it."""
    report = yield
    is_marked = item.get_closest_marker("shared") is not None
    _refuse_skip(report, item.config, is_marked)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Do the same for a whole module."""
    report = yield
    if report.skipped:
        _refuse_skip(report, collector.config, "pytest.mark.shared" in collector.path.read_text())
    return report


def _refuse_skip(
    report: pytest.TestReport | pytest.CollectReport, config: pytest.Config, is_marked: bool
) -> None:
    is_needed = config.getoption("--need-shared")
    is_missing = report.skipped and any(name in str(report.longrepr) for name in _SHARED)
    if is_missing and (is_needed or not is_marked):
        what = "has to run" if is_needed else "needs the mark pytest.mark.shared"
        report.outcome, report.longrepr = "failed", f"{report.longrepr}\n{report.nodeid} {what}"


BACKENDS = ("sqlite", pytest.param("postgresql", marks=pytest.mark.slow))
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
    """A database, of our own server or of the one that `FOLDAWAY_TEST_POSTGRES` names; tests keep
    apart by their tenants.
    """
    if given := os.environ.get("FOLDAWAY_TEST_POSTGRES"):
        with postgres_database(given) as url:
            yield url
    else:
        yield request.getfixturevalue("server").url()


@pytest.fixture(params=BACKENDS)
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    """A place for stores, of each back-end in turn."""
    yield from home_of(request)


def home_of(request: pytest.FixtureRequest) -> Iterator[Home]:
    """Make the place for stores that a parameter names, and close what was opened in it."""
    made = Home(_PLACES[request.param](request), request.param)
    yield made
    made.close()


@pytest.fixture
def store(home: Home) -> Store:
    """An empty store."""
    return home.open()
