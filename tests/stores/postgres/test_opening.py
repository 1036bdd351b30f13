"""Servers that cannot be used, each in one sentence; tables that are made once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from tests.testing.postgres_server import PostgresServer
from tests.testing.rows import each_row

from foldaway.errors import MissingExtra, StoreUnavailable
from foldaway.stores.open import open_store
from foldaway.stores.postgres import connections
from foldaway.stores.postgres.connections import newest
from foldaway.stores.values import NewSession

SECRET = "pa55 w/ord@%"
USER = f"postgres:{quote(SECRET, safe='')}"
NEW = NewSession(dialect="openai-chat")


@pytest.fixture
def database(server: PostgresServer) -> Iterator[str]:
    """An empty database of its own."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE opening STRATEGY file_copy")
        yield server.url("opening")
        connection.execute("DROP DATABASE opening WITH (FORCE)")


@each_row(
    ("url", "said"),
    [
        (f"postgresql://{USER}@127.0.0.1:1/x", "onnection refused"),
        (f"postgresql://{USER}@no-such-host.invalid/x", "no-such-host.invalid"),
        (f"postgresql://{USER}@/x?host=/no/such/folder", "No such file"),
        (f"postgresql://{USER}@localhost:port/x", "no connection"),
        (f"postgresql://{USER}@localhost/x?colour=red", "cannot be read"),
        ("postgresql://me:pa55%zzword@localhost/x", "cannot be read"),
        ("postgresql://me:pa55 word@localhost/x", "cannot be read"),
        (f"mysql://{USER}@localhost/x", "no store speaks this protocol"),
    ],
)
def test_an_address_that_leads_nowhere_is_one_sentence(url: str, said: str) -> None:
    """It names the place and the remedy, at once, and never the password."""
    with pytest.raises(StoreUnavailable) as raised:
        open_store(url)
    text = str(raised.value)
    assert said in text
    assert "pa55" not in text
    assert "\n" not in text
    assert raised.value.remedy


def test_a_missing_database_is_named(server: PostgresServer) -> None:
    """The server's own words say which one."""
    with pytest.raises(StoreUnavailable, match='database "nowhere" does not exist'):
        open_store(server.url("nowhere"))


def test_a_wrong_password_is_not_shown(server: PostgresServer, database: str) -> None:
    """A server that asks for a password and does not get the right one says so."""
    rules = server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    try:
        rules.write_text("local all strict scram-sha-256\n" + before)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("CREATE ROLE strict LOGIN PASSWORD 'right'")
            connection.execute("SELECT pg_reload_conf()")
        with pytest.raises(StoreUnavailable, match="password authentication failed") as raised:
            open_store(database.replace("postgres@", "strict:wr0ng@"))
        assert "wr0ng" not in str(raised.value)
    finally:
        rules.write_text(before)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("DROP ROLE IF EXISTS strict")


def test_a_user_without_rights_is_told_which(database: str) -> None:
    """Making the tables needs CREATE on the database."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN")
        try:
            with pytest.raises(StoreUnavailable, match="grant it CREATE on the database"):
                open_store(database.replace("postgres@", "guest@"))
        finally:
            connection.execute("DROP ROLE guest")


def test_a_newer_store_is_refused_and_left_alone(database: str) -> None:
    """A schema that this version does not know is neither read nor written."""
    open_store(database).close()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE foldaway.meta SET value = 99 WHERE name = 'schema'")
        rows = "SELECT name, value FROM foldaway.meta ORDER BY name"
        before = connection.execute(rows).fetchall()
        for read_only in (False, True):
            with pytest.raises(StoreUnavailable, match=r"newer version \(schema 99"):
                open_store(database, read_only=read_only)
        assert connection.execute(rows).fetchall() == before
        assert ("schema", 99) in before


def test_an_empty_database_cannot_be_opened_read_only(database: str) -> None:
    """Reading makes no tables."""
    with pytest.raises(StoreUnavailable, match="open it once for writing"):
        open_store(database, read_only=True)
    with psycopg.connect(database) as connection:
        schemas = "SELECT 1 FROM pg_namespace WHERE nspname = 'foldaway'"
        assert connection.execute(schemas).fetchone() is None


def test_a_store_that_is_only_read_is_brought_up_to_date_first(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks at sessions after an update has no other command to give before."""
    known = dict(connections.migrations("postgres"))
    with monkeypatch.context() as earlier:
        del known[newest()]
        earlier.setattr(connections, "migrations", lambda backend: known)
        with closing(open_store(database)) as store:
            session = store.create(NEW)
            assert store.health().schema == max(known)
    with closing(open_store(database, read_only=True)) as store:
        assert store.session(session.id).id == session.id
        assert store.health().schema == newest()


def test_a_standby_is_told_apart(database: str) -> None:
    """A server that only reads cannot be opened for writing, but for reading."""
    with closing(open_store(database)) as store:
        session = store.create(NEW)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ALTER DATABASE opening SET default_transaction_read_only = on")
    with pytest.raises(StoreUnavailable, match="the server is read-only"):
        open_store(database, tenant="new")
    with closing(open_store(database, read_only=True)) as store:
        assert store.session(session.id) == session


def test_tables_of_others_in_the_same_database_are_left_alone(database: str) -> None:
    """Ours stand in a schema of their own."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE sessions (mine text)")
        with closing(open_store(database)) as store:
            store.create(NEW)
        assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (0,)


@pytest.mark.slow
def test_processes_that_open_an_empty_database_at_once_all_succeed(database: str) -> None:
    """The tables are made once."""
    script = (
        "import sys; from foldaway.stores.open import open_store; sys.stdin.read();"
        "store = open_store(sys.argv[1]); print(store.health().schema); store.close()"
    )
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", script, database],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    assert [opener.communicate()[0] for opener in openers] == [f"{newest()}\n"] * 3


def test_without_psycopg_the_extra_is_named(tmp_path: Path) -> None:
    """A plain install says what to add."""
    (tmp_path / "psycopg.py").write_text("raise ImportError('not here')")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from foldaway.errors import MissingExtra\n"
        "from foldaway.stores.open import open_store\n"
        "try:\n    open_store('postgresql://localhost/x')\n"
        "except MissingExtra as error:\n    print(error)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == str(MissingExtra("postgres", "a store on a PostgreSQL server"))
