"""Other users of the machine: they reach the port, and nothing that shows or changes sessions."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from starlette.routing import BaseRoute, Mount, Route
from starlette.testclient import TestClient

from foldaway.errors import StoreUnavailable
from foldaway.gateway.api_token import make_token, read_token
from foldaway.gateway.app import make_app, make_server
from foldaway.gateway.audit import Audit
from foldaway.gateway.guard import Owner
from foldaway.gateway.inspector.app import pages_beside
from foldaway.gateway.inspector.lazy_pages import LazyPages, gateway_pages
from foldaway.gateway.options import GatewayOptions
from foldaway.gateway.unix_socket import listen_on_path
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store

OPEN = {"/healthz", "/readyz", "/metrics", "/inspector/enter", ""}
"""What needs no secret; the last is the way to the providers."""
TOKEN = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
NOBODY = 65_534
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def addresses(routes: Sequence[BaseRoute], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield a method and an address for each route of an application."""
    for one in routes:
        if isinstance(one, LazyPages):
            yield from addresses(one.load().routes)
        elif isinstance(one, Mount) and one.routes:
            yield from addresses(one.routes, before + one.path)
        elif isinstance(one, (Route, Mount)):
            path = before + one.path
            for method in sorted(getattr(one, "methods", None) or {"GET"}):
                yield method, path


def ask(address: str, method: str, **headers: str) -> tuple[int, str]:
    """Return the status and the text of an answer."""
    data = b"{}" if method in ("POST", "DELETE") else None
    sent = {"content-type": "application/json", **headers}
    try:
        with urlopen(Request(address, data, sent, method=method), timeout=30) as got:
            return got.status, got.read(1_000_000).decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


@contextmanager
def running(folder: Path, *sockets: socket.socket, **options: Any) -> Iterator[tuple[Any, str]]:
    """Give the application of a gateway with pages and the id of its one session."""
    owner = Owner(token=TOKEN, file="/home/alice/api-token", audit=Audit(folder / "audit.jsonl"))
    with open_store(folder / "store") as store:
        session = Session(store, "one", context_length=8_000)
        session.append({"role": "user", "content": "Zebulon"})
        chosen = GatewayOptions(upstreams={"": "http://127.0.0.1:9"}, **options)
        server = make_server(
            store, chosen, pages=gateway_pages(lambda: pages_beside, folder, "0"), owner=owner
        )
        if not sockets:
            yield server.config.app, session.id
            return
        thread = threading.Thread(target=server.run, kwargs={"sockets": list(sockets)})
        thread.start()
        try:
            yield server.config.app, session.id
        finally:
            server.should_exit = True
            thread.join()


def test_no_route_answers_without_the_token(tmp_path: Path) -> None:
    """Each route of the application is asked: a new one cannot be forgotten."""
    with running(tmp_path) as (app, session):
        found = set(addresses(app.app.routes))
        assert len({path for _, path in found}) > 35
        client = TestClient(app, "http://127.0.0.1", follow_redirects=False)
        closed = 0
        for method, path in found:
            if path in OPEN:
                continue
            address = re.sub(r"\{\w+(:path)?\}", session, path)
            wants = {"accept": "text/html"} if path == "/" else {}
            for sent in ({}, {"x-foldaway-token": "wrong"}, {"cookie": "foldaway-80=wrong"}):
                answer = client.request(method, address, headers={**sent, **wants})
                is_redirect = answer.headers.get("location") == "/inspector/enter"
                assert answer.status_code == 403 or is_redirect, (method, address)
                assert "Zebulon" not in answer.text
            closed += 1
        assert closed > 40
        for path in ("/healthz", "/readyz", "/metrics"):
            assert client.get(path).status_code == 200
            assert "one" not in re.findall(r'"([^"]*)"', client.get(path).text)


def test_a_refusal_says_where_the_token_is(tmp_path: Path) -> None:
    """Whoever can read that file is let in."""
    with running(tmp_path) as (app, session):
        client = TestClient(app, "http://127.0.0.1")
        said = client.get("/foldaway/sessions").json()["error"]["message"]
        assert "x-foldaway-token" in said
        assert "/home/alice/api-token" in said
        given = {"x-foldaway-token": TOKEN}
        assert session in client.get("/foldaway/sessions", headers=given).text
        client.post("/inspector/enter", data={"token": TOKEN})
        assert session in client.get("/foldaway/sessions").text


def test_a_gateway_without_an_owner_shows_nothing() -> None:
    """Nobody has the secret then."""
    with open_store(":memory:") as store:
        client = TestClient(make_app(store, GatewayOptions()), "http://127.0.0.1")
        assert client.get("/foldaway/sessions").status_code == 403


def test_the_token_of_the_clients_opens_the_api_too(tmp_path: Path) -> None:
    """A gateway for other machines has owners there; its providers need it as well."""
    with running(tmp_path, token="open") as (app, session):
        client = TestClient(app, "http://127.0.0.1")
        assert client.get("/v1/models").status_code == 403
        given = {"x-foldaway-token": "open"}
        assert session in client.get("/foldaway/sessions", headers=given).text


# The file


def test_the_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    """Several gateways that start at once agree on it."""
    folder = tmp_path / "new" / "home"
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(make_token(folder))) for _ in range(16)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(set(found)) == 1
    assert len(found) == 16
    assert read_token(folder) == found[0]
    assert stat.S_IMODE((folder / "api-token").stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == ["api-token"]


@pytest.mark.parametrize("fault", ["mode", "link", "short", "folder", "owner"])
def test_a_token_that_others_may_know_is_refused(tmp_path: Path, fault: str) -> None:
    """What another user can read, or may have written, is no secret."""
    token = make_token(tmp_path)
    path = tmp_path / "api-token"
    if fault == "mode":
        path.chmod(0o640)
    elif fault == "short":
        path.write_text("abc")
    elif fault == "owner":
        if not IS_ROOT:
            pytest.skip("only root can give a file away")
        os.chown(path, NOBODY, NOBODY)
    else:
        path.unlink()
        (tmp_path / "other").write_text(token)
        (tmp_path / "other").chmod(0o600)
        if fault == "link":
            path.symlink_to(tmp_path / "other")
        else:
            path.mkdir()
    for read in (read_token, make_token):
        with pytest.raises(StoreUnavailable, match="delete it"):
            read(tmp_path)


# The log of who asked


def test_each_read_change_and_deletion_is_one_line_without_content(tmp_path: Path) -> None:
    """Who, what, which session, and how it ended."""
    given = {"x-foldaway-token": TOKEN}
    with (
        running(tmp_path) as (app, session),
        TestClient(app, "http://127.0.0.1", headers=given) as client,
    ):
        client.get(f"/foldaway/sessions/{session}/messages")
        client.get("/foldaway/search", params={"q": "Zebulon"})
        client.get("/foldaway/sessions/unknown")
        client.post(f"/foldaway/sessions/{session}/pins/0", json={"note": "Zebulon"})
        client.request("DELETE", f"/foldaway/sessions/{session}", json={})
        client.get("/v1/models")  # goes to a provider
        client.get("/foldaway/sessions", headers={"x-foldaway-token": "wrong"})
    path = tmp_path / "audit.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(one["what"], one["sessions"], one["status"]) for one in lines] == [
        (f"GET /foldaway/sessions/{session}/messages", [session], 200),
        ("GET /foldaway/search", [], 200),
        ("GET /foldaway/sessions/unknown", ["unknown"], 404),
        (f"POST /foldaway/sessions/{session}/pins/0", [session], 200),
        (f"DELETE /foldaway/sessions/{session}", [session], 200),
    ]
    assert {one["who"] for one in lines} == {"token"}
    assert all(1e9 < one["time"] < 1e10 for one in lines)
    assert "Zebulon" not in path.read_text()
    assert TOKEN not in path.read_text()


def test_the_log_keeps_one_older_file(tmp_path: Path) -> None:
    """So it has a largest size."""
    audit = Audit(tmp_path / "audit.jsonl", most_bytes=1_000)
    for number in range(100):
        audit.add("token", f"GET /{number}", (), 200)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.jsonl", "audit.jsonl.1"]
    assert all(path.stat().st_size < 1_200 for path in tmp_path.iterdir())
    newest = (tmp_path / "audit.jsonl").read_text() or (tmp_path / "audit.jsonl.1").read_text()
    assert "GET /99" in newest


# The socket


def ask_at(path: Path, address: str) -> bytes:
    """Return the answer to a request through a Unix socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(f"GET {address} HTTP/1.1\r\nhost: localhost\r\n"
                       "connection: close\r\n\r\n".encode())  # fmt: skip
        return b"".join(iter(lambda: client.recv(65_536), b""))


def test_the_owner_needs_no_token_at_the_socket(tmp_path: Path) -> None:
    """The system says who is at its other end."""
    place = tmp_path / "in" / "gateway.sock"
    with listen_on_path(place) as listening:
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        with running(tmp_path, listening) as (_, session):
            assert session.encode() in ask_at(place, "/foldaway/sessions")
    assert json.loads((tmp_path / "audit.jsonl").read_text())["who"] == f"uid {os.geteuid()}"
    assert not place.exists()


def test_a_socket_needs_a_folder_that_others_cannot_write(tmp_path: Path) -> None:
    """Somebody else could put a socket of their own in its place."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(StoreUnavailable, match="others can write"), listen_on_path(folder / "s"):
        pass
    folder.chmod(0o755)
    (folder / "file").write_text("mine")
    with pytest.raises(StoreUnavailable, match="not a socket"), listen_on_path(folder / "file"):
        pass
    assert (folder / "file").read_text() == "mine"
    with listen_on_path(folder / "s"):
        with pytest.raises(StoreUnavailable, match="listens"), listen_on_path(folder / "s"):
            pass
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(folder / "left"))
    with listen_on_path(folder / "left"):  # nobody listens there any more
        pass


# Another user, for real

AS_NOBODY = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
got = []
for line in sys.stdin.read().splitlines():
    kind, where, method, path = line.split(" ", 3)
    try:
        if kind == "file":
            open(where).read()
            got.append("200")
            continue
        client = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
        client.connect(where if kind == "unix" else ("127.0.0.1", int(where)))
        body = b"{}" if method in ("POST", "DELETE") else b""
        lines = (f"{method} {path} HTTP/1.1", "host: localhost", "connection: close",
                 "content-type: application/json", f"content-length: {len(body)}", "", "")
        client.sendall("\\r\\n".join(lines).encode() + body)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
        got.append("leak" if b"Zebulon" in answer else answer.split()[1].decode())
    except OSError as error:
        got.append(type(error).__name__)
print("\\n".join(got))
"""


@pytest.mark.skipif(not IS_ROOT, reason="only root can become another user")
def test_another_user_of_the_machine_gets_nothing(tmp_path: Path) -> None:
    """All routes by TCP, the socket even with open modes, and the files."""
    with socket.create_server(("127.0.0.1", 0)) as tcp, listen_on_path(tmp_path / "s") as unix:
        for folder in (tmp_path, *tmp_path.parents):
            if folder.stat().st_uid == os.geteuid() and str(folder).startswith("/tmp/"):
                folder.chmod(0o755)
        (tmp_path / "s").chmod(0o666)
        make_token(tmp_path)
        with running(tmp_path, tcp, unix) as (app, session):
            port = str(tcp.getsockname()[1])
            named = [(method, re.sub(r"\{\w+(:path)?\}", session, path))
                     for method, path in sorted(set(addresses(app.app.routes)))
                     if path not in OPEN and path != "/"]  # fmt: skip
            lines = [f"tcp {port} {method} {path}" for method, path in named]
            lines += [f"unix {tmp_path / 's'} GET /foldaway/sessions"]
            lines += [f"unix {tmp_path / 's'} GET /healthz"]
            lines += [f"file {tmp_path / 'api-token'} x x", f"file {tmp_path / 'audit.jsonl'} x x"]
            ask(f"http://127.0.0.1:{port}/foldaway/sessions", "GET", **{"x-foldaway-token": TOKEN})
            done = subprocess.run(
                [sys.executable, "-c", AS_NOBODY], input="\n".join(lines), capture_output=True,
                text=True, check=True, timeout=60,
            )  # fmt: skip
        got = done.stdout.split()
        assert len(got) == len(lines) > 40
        assert set(got[:-4]) == {"403"}
        assert got[-4:] == ["403", "403", "PermissionError", "PermissionError"]


async def test_two_host_headers_are_refused(gateway: Any) -> None:
    """One of them would be looked at and the other believed, by RFC 9112."""
    async with gateway() as stand:
        for hosts in (("evil.example", "127.0.0.1"), ("127.0.0.1", "127.0.0.1")):
            lines = "".join(f"host: {one}\r\n" for one in hosts)
            reader, writer = await stand.raw(
                f"GET /healthz HTTP/1.1\r\n{lines}connection: close\r\n\r\n".encode()
            )
            assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
            writer.close()


async def test_headers_of_one_connection_do_not_go_on(gateway: Any, kit: Any) -> None:
    """A client names them in `Connection`, by RFC 9110."""
    async with gateway() as stand:
        body = kit.packed(kit.talk("chat", 1))
        reader, writer = await stand.raw(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nx-hop: 1\r\nx-end: 2\r\n"
            b"connection: close, X-Hop\r\n" + f"content-length: {len(body)}\r\n\r\n".encode() + body
        )
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        writer.close()
        seen = {name.lower() for name in stand.upstream.headers[0]}
        assert "x-end" in seen
        assert "x-hop" not in seen
