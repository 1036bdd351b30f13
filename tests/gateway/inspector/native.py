"""Files as Claude Code writes them, and the pages of `foldaway open` over them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from foldaway.gateway.guard import PAGE_KEY
from foldaway.gateway.inspector.app import OpenServer
from foldaway.gateway.options import GatewayOptions
from foldaway.stores import Store

MODEL = "claude-sonnet-4-5"


def write_session(
    folder: Path, name: str, *words: str, project: str = "/work/app", day: str = "2026-01-15",
    parent: str = "",
) -> Path:  # fmt: skip
    """Write a session: what the user says in turn, each with an answer that repeats it."""
    lines: list[dict[str, Any]] = []
    for at, text in enumerate(words):
        for role in ("user", "assistant"):
            number = len(lines)
            message: dict[str, Any] = {"role": role, "content": text}
            if role == "assistant":
                message |= {
                    "id": f"msg_{name}_{number}", "model": MODEL,
                    "content": [{"type": "text", "text": f"About {text}"}],
                    "usage": {"input_tokens": 10 + at, "output_tokens": 5,
                              "cache_creation_input_tokens": 1000,
                              "cache_read_input_tokens": 2000 * at},
                }  # fmt: skip
            line = {
                "type": role, "uuid": f"{name}-{number}", "sessionId": parent or name,
                "parentUuid": f"{name}-{number - 1}" if number else None, "cwd": project,
                "timestamp": f"{day}T12:{number:02}:00Z", "message": message,
            }  # fmt: skip
            lines.append(line | ({"isSidechain": True, "agentId": name} if parent else {}))
    path = folder / (f"agent-{name}.jsonl" if parent else f"{name}.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


class Visit:
    """A server over files and maybe a store, and somebody who was let in."""

    def __init__(self, server: OpenServer) -> None:
        self.server = server
        self.client = TestClient(server.app(), "http://127.0.0.1:80", follow_redirects=False)
        self.client.post("/inspector/enter", data={"token": server.terms.token})

    def get(self, path: str, status: int = 200, **query: Any) -> str:
        """Return a page."""
        found = self.client.get(path, params=query or None, headers={"accept": "text/html"})
        assert found.status_code == status, found.text
        return found.text

    def copy_files(self, status: int = 200, *, with_key: bool = True) -> None:
        """Press the button that copies the files for the search, and wait for its end."""
        headers = {"origin": "http://127.0.0.1:80"}
        if with_key:
            headers[PAGE_KEY] = self.server.terms.page_key
        found = self.client.post("/inspector/search/files", json={}, headers=headers)
        assert found.status_code == status, found.text
        self.copied()

    def copied(self) -> None:
        """Wait until no file is copied any more."""
        assert self.server.shelf.copying.progress.wait("copying", 60).step != "copying"

    def read(self) -> None:
        """Wait until all files are read."""
        reader = self.server.spending
        reader.start(with_store=True)
        for step in ("reading", "replaying"):
            reader.progress.wait(step, 60)
        assert reader.progress.state.step == "ready"


@contextmanager
def visit(store: Store | None, places: list[Path], cache: Path) -> Iterator[Visit]:
    """Open the inspector, and read everything."""
    server = OpenServer(store, places, GatewayOptions(), cache_folder=cache, version="1")
    try:
        made = Visit(server)
        made.read()
        yield made
    finally:
        server.shelf.close()
