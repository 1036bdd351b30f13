"""Servers that crash under their writers."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from tests.testing.postgres_server import PostgresServer

from foldaway.stores.open import open_store
from foldaway.stores.values import NewSession

pytestmark = pytest.mark.slow

WRITER = """
import itertools
import sys
from foldaway.errors import StoreUnavailable
from foldaway.stores.open import open_store
from foldaway.stores.values import NewMessage, NewView

def say(line):  # in one write: two processes share the pipe
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()

url, tenant, session, name = sys.argv[1:]
store = open_store(url, tenant=tenant)
for number in itertools.count():
    text = f"{name} {number}"
    try:
        places = store.append(session, [NewMessage(body=text.encode(), role="user", text=text)])
        say(f"append {places.start} {text}")
        if number % 5 == 4 and name == "0":
            info = store.session(session)
            new = NewView(items=text.encode(), length=info.length)
            say(f"view {store.commit(session, new, expect=info.view).view} {text}")
    except StoreUnavailable:
        pass  # the server took too long to come back: nothing was promised
"""


@pytest.mark.parametrize("crashes", [2, pytest.param(40, marks=pytest.mark.soak)])
def test_nothing_acknowledged_is_lost_when_the_server_crashes(
    server: PostgresServer, crashes: int
) -> None:
    """What two processes were told is kept is there once, at its place, after any crash; they go
    on with the server that comes back.
    """
    tenant = f"crashes {crashes}"
    with closing(open_store(server.url(), tenant=tenant)) as store:
        session = store.create(NewSession(dialect="openai-chat")).id
        heard: list[tuple[str, int, str]] = []
        with _writers(server, tenant, session) as lines:
            for _ in range(crashes):
                heard += (next(lines) for _ in range(random.randrange(10, 40)))
                server.stop("immediate")
                server.start()
                heard += (next(lines) for _ in range(10))
        log = {message.position: message.body.decode() for message in store.read(session)}
        views = {view.number: view.items.decode() for view in store.views(session)}
        for kind, place, text in heard:
            assert (log if kind == "append" else views)[place] == text
        assert len(set(log.values())) == len(log)
        assert store.health(deep=True).problems == ()


@contextmanager
def _writers(
    server: PostgresServer, tenant: str, session: str
) -> Iterator[Iterator[tuple[str, int, str]]]:
    """Two processes that append, and yield what they were told is kept."""
    reading, writing = os.pipe()
    arguments = [sys.executable, "-c", WRITER, server.url(), tenant, session]
    writers = [subprocess.Popen([*arguments, name], stdout=writing) for name in ("0", "1")]
    os.close(writing)
    with open(reading, encoding="utf-8") as told:
        try:
            yield (_heard(line) for line in told)
        finally:
            for writer in writers:
                writer.kill()
                writer.wait()


def _heard(line: str) -> tuple[str, int, str]:
    kind, place, text = line.rstrip("\n").split(" ", 2)
    return kind, int(place), text
