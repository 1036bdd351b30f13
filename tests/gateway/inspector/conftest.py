"""The pages over a small store, and somebody who was let in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from foldaway.gateway.guard import PAGE_KEY
from foldaway.gateway.inspector.app import OpenServer
from foldaway.gateway.options import GatewayOptions
from foldaway.sessions import Session, SessionOptions
from foldaway.stores import NewSession, Store, open_store

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
WINDOW = 8_000


def talk(count: int) -> list[dict[str, Any]]:
    """Return messages of a user and a model; the third one has a secret in it."""
    return [
        {"role": "user" if at % 2 == 0 else "assistant",
         "content": f"zebra {at} {SECRET if at == 2 else ''} " + "word " * 150}
        for at in range(count)
    ]  # fmt: skip


class Pages:
    """A store with one compacted session, its pages, and a client that was let in."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        session = Session(
            store,
            "long",
            context_length=WINDOW,
            model="m",
            options=SessionOptions(
                new=NewSession(dialect="openai-chat", title="The long one", source="claude-code")
            ),
        )
        session.append(*talk(30))
        session.used({"prompt_tokens": 6_000, "completion_tokens": 40})
        assert session.compact(force=True).status == "compacted"
        self.id = session.id
        self.address = f"/inspector/session/{self.id}"
        options = GatewayOptions(context_length=WINDOW)
        self.server = OpenServer(store, (), options, cache_folder=folder, version="1")
        self.app = self.server.app()
        self.client = self.enter()

    def stranger(self, **headers: str) -> TestClient:
        """Return a client that nobody let in."""
        return TestClient(self.app, "http://127.0.0.1:80", headers=headers, follow_redirects=False)

    def enter(self) -> TestClient:
        """Return a client with the cookie."""
        client = self.stranger()
        found = client.post("/inspector/enter", data={"token": self.server.terms.token})
        assert found.status_code == 303
        return client

    def get(self, path: str, status: int = 200, **headers: str) -> str:
        """Return a page."""
        found = self.client.get(path, headers=headers)
        assert found.status_code == status, found.text
        return found.text

    def post(self, path: str, status: int = 200, *, with_key: bool = True, **body: Any) -> Any:
        """Send what a script of a page sends."""
        headers = {"origin": "http://127.0.0.1:80"}
        if with_key:
            headers[PAGE_KEY] = self.server.terms.page_key
        found = self.client.post(path, json=body, headers=headers)
        assert found.status_code == status, found.text
        return found.json()


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Pages]:
    """The pages of a small store."""
    with open_store(":memory:") as store:
        made = Pages(store, tmp_path)
        yield made
        made.server.shelf.close()
