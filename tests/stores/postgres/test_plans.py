"""What a server knows of its tables after a fill."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest
from tests.testing.postgres_server import PostgresServer, postgres_database

from foldaway.agents.importers import sessions_in
from foldaway.agents.importers.take import take_all
from foldaway.stores.open import open_store


def counted(url: str) -> float:
    """Return the messages that the server plans for, -1 if it never looked."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT reltuples FROM pg_class WHERE oid = 'foldaway.messages'::regclass"
        ).fetchone()
    assert row is not None
    return float(row[0])


@pytest.mark.parametrize(("messages", "known"), [(1_200, 1_200), (20, -1)])
def test_the_server_knows_what_a_large_import_wrote(
    server: PostgresServer, tmp_path: Path, messages: int, known: int
) -> None:
    """Or it plans for empty tables until it looks by itself, minutes later. A small one leaves it
    to the server.
    """
    said = [
        {"role": "assistant" if at % 2 else "user", "content": f"word {at}"}
        for at in range(messages)
    ]
    path = tmp_path / "one.json"
    path.write_text(json.dumps(said))
    with postgres_database(server.url()) as url:
        with open_store(url) as store:
            [taken] = take_all(store, sessions_in(path))
        assert taken.added == messages
        assert counted(url) == known
