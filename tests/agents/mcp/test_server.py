"""The server as the official client sees it, as a process of its own: over pipes and over HTTP."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from foldaway.agents.mcp_server import make_server
from foldaway.cli import run
from foldaway.config import open_store
from foldaway.sessions.hiding import redactor_of
from foldaway.sessions.tools import MARK, TOOLS, Library
from foldaway.stores.values import NewMessage, NewSession, SessionFilter
from foldaway.transcript import estimate_text

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).resolve().parents[3] / "src"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
NAMES = [tool.name for tool in TOOLS]


def environment(home: Path) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if "FOLDAWAY" not in key}
    return {**inherited, "PYTHONPATH": str(SOURCE), "FOLDAWAY_HOME": str(home), "HOME": str(home)}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one session, compacted, that holds a secret."""
    folder = tmp_path_factory.mktemp("home")
    messages = [
        {"role": "user" if at % 2 == 0 else "assistant",
         "content": f"zebra {at} {SECRET if at in (0, 12) else ''} " + "word " * 150}
        for at in range(40)
    ]  # fmt: skip
    path = folder / "talk.json"
    path.write_text(json.dumps(messages))
    place = ["--home", str(folder)]
    assert run(["import", str(path), *place]) == 0
    with open_store(folder / "sessions") as store:
        (info,) = store.sessions(SessionFilter()).sessions
    assert run(["sessions", "compact", info.id, "--context-length", "8000", *place]) == 0
    return folder


@pytest.fixture(scope="module")
def facts(home: Path) -> dict[str, Any]:
    """The id of the session, one of its references, and what stands for its secret."""
    with open_store(home / "sessions", read_only=True) as store:
        (info,) = store.sessions(SessionFilter()).sessions
        view = store.view(info.id)
        assert view is not None
        (ref, *_) = re.findall(rb"fa-[0-9a-f]{10}", view.items)
        hidden = redactor_of(store)(SECRET)
        assert store.redaction_key()
    return {"session": info.id, "ref": ref.decode(), "hidden": hidden}


def over_pipes(home: Path, *options: str, cwd: Path | None = None) -> Any:
    """Start a server that offers all sessions or, in a folder, those that it offers by itself."""
    limit = ["--all-projects"] if cwd is None else []
    return stdio_client(StdioServerParameters(
        command=sys.executable, args=["-m", "foldaway", "mcp", *limit, *options],
        env=environment(home), cwd=cwd,
    ))  # fmt: skip


@contextmanager
def over_http(home: Path, *options: str) -> Iterator[str]:
    """Start a server on a free port; yield its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "foldaway", "mcp", "--all-projects", "--http", "0", *options],
        env=environment(home), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found is not None, line
        yield found[0]
    finally:
        process.terminate()
        process.communicate()


def ask(transport: Any, work: Callable[[Client], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        async with Client(transport) as client:
            return await work(client)

    return anyio.run(main)


async def every_tool(client: Client, facts: dict[str, Any]) -> None:
    """List the tools, call each, and hold every answer against what is promised."""
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == NAMES
    assert all(MARK in (tool.description or "") for tool in listed.tools)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "zebra"}),
        ("read", {}),
        ("read", {"session": facts["session"]}),
        ("read", {"session": facts["session"], "around": 12}),
        ("search", {"query": "zebra", "max_tokens": 10_000}),
        ("recall", {"ref": facts["ref"]}),
        ("brief", {}),
        ("brief", {"session": facts["session"], "focus": "zebra 12", "max_tokens": 600}),
        ("compact", {"session": facts["session"], "max_tokens": 3_000}),
        ("status", {"session": facts["session"]}),
        ("pin", {"session": facts["session"], "position": 3}),
        ("pin", {"session": facts["session"], "position": 3, "unpin": True}),
    ]
    for name, arguments in calls:
        done = await client.call_tool(f"foldaway_sessions_{name}", arguments)
        text = told(done)
        assert not done.is_error, text
        assert json.loads(text)["note"] == MARK
        assert SECRET not in text
        assert set(re.findall(r"\[redacted:[^]]+\]", text)) <= {facts["hidden"]}
        assert facts["hidden"] in text or name in ("recall", "status", "pin")
        # the whole answer is redacted once more, which may make it a little longer
        assert estimate_text(text) <= 1.05 * arguments.get("max_tokens", 2_000)
    for name, arguments in (("search", {}), ("recall", {"ref": "fa-0"}), ("fly", {})):
        done = await client.call_tool(f"foldaway_sessions_{name}", arguments)
        assert done.is_error


def told(done: Any) -> str:
    (part,) = done.content
    return part.text


def test_the_official_client_calls_every_tool_over_pipes(home: Path, facts: dict[str, Any]) -> None:
    """Listed, called, answered with past material that is marked and without secrets."""
    ask(over_pipes(home), lambda client: every_tool(client, facts))


@pytest.fixture(scope="module")
def url(home: Path) -> Iterator[str]:
    """The address of a server over HTTP."""
    with over_http(home) as address:
        yield address


@pytest.fixture(scope="module")
def bearer(home: Path, url: str) -> dict[str, str]:
    """What the owner sends; the server made the token."""
    token = next(home.rglob("api-token")).read_text()
    return {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def with_headers(url: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    async with (
        create_mcp_http_client(headers=headers) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


def test_the_official_client_calls_every_tool_over_http(
    url: str, bearer: dict[str, str], facts: dict[str, Any]
) -> None:
    """The same, at an address of this machine."""
    assert url.startswith("http://127.0.0.1:")
    ask(with_headers(url, bearer), lambda client: every_tool(client, facts))


@pytest.mark.parametrize("given", [{}, {"Authorization": "Bearer wrong"}, {"cookie": "x=y"}])
def test_another_user_of_the_machine_is_not_answered(url: str, given: dict[str, str]) -> None:
    """Whoever cannot read the token of the owner learns nothing, not even which tools there are."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    seen = httpx.post(url, json=body, headers={**accept, **given})
    assert (seen.status_code, "foldaway_sessions" in seen.text) == (401, False)


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_a_page_in_a_browser_cannot_reach_it(
    url: str, bearer: dict[str, str], header: dict[str, str]
) -> None:
    """Another Host or Origin is refused, whatever name leads to this machine."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    seen = httpx.post(url, json=body, headers={**accept, **bearer, **header})
    assert seen.status_code in (403, 421)
    assert "foldaway" not in seen.text


async def only_reads(client: Client, session: str) -> None:
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == [tool.name for tool in TOOLS if tool.reads]
    arguments = {"session": session, "position": 1}
    assert (await client.call_tool("foldaway_sessions_pin", arguments)).is_error


def test_read_only_offers_no_tool_that_changes(home: Path, facts: dict[str, Any]) -> None:
    """Neither listed nor callable."""
    with open_store(home / "sessions", read_only=True) as store:
        server = make_server(Library(store), "1")
        ask(server, lambda client: only_reads(client, facts["session"]))


def test_another_profile_is_only_read(home: Path, facts: dict[str, Any]) -> None:
    """What is not one's own is not pinned either."""
    assert run(["import", str(home / "talk.json"), "--home", str(home), "--profile", "work"]) == 0
    work = over_pipes(home, "--profile", "work")
    ask(work, lambda client: only_reads(client, facts["session"]))


async def offered(client: Client) -> list[str]:
    """Return the sessions that are listed; every other one is unknown."""
    listed = told(await client.call_tool("foldaway_sessions_read", {}))
    sessions = [one["session"] for one in json.loads(listed)["sessions"]]
    found = told(await client.call_tool("foldaway_sessions_search", {"query": "heron"}))
    assert sorted(hit["session"] for hit in json.loads(found)["hits"]) == sorted(sessions)
    for name in ("mine", "theirs", "nowhere"):
        for tool in ("read", "status"):
            done = await client.call_tool(f"foldaway_sessions_{tool}", {"session": name})
            assert done.is_error is (name not in sessions)
    return sorted(sessions)


@pytest.mark.soak
def test_the_project_that_the_server_is_started_in_is_offered(tmp_path: Path) -> None:
    """By itself only that one; another one or all of them by a flag."""
    (tmp_path / "mine" / ".git").mkdir(parents=True)
    (tmp_path / "mine" / "src").mkdir()
    (tmp_path / "theirs").mkdir()
    body = json.dumps({"role": "user", "content": "a heron"}).encode()
    with open_store(tmp_path / "home" / "sessions") as store:
        for name in ("mine", "theirs", "nowhere"):
            cwd = "" if name == "nowhere" else str(tmp_path / name)
            store.create(NewSession(dialect="openai-chat", id=name, cwd=cwd))
            store.append(name, [NewMessage(body=body, role="user", text="a heron")])
    home, here = tmp_path / "home", tmp_path / "mine" / "src"
    assert ask(over_pipes(home, cwd=here), offered) == ["mine"]
    other = ("--project", str(tmp_path / "theirs"))
    assert ask(over_pipes(home, *other, cwd=here), offered) == ["theirs"]
    with open_store(home / "sessions", read_only=True) as store:
        assert ask(make_server(Library(store), "1"), offered) == ["mine", "nowhere", "theirs"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--http", "0.0.0.0:0"], "--allow-host"),
        (["--http", "somewhere"], "not an address"),
        (["--http", "127.0.0.1:99999"], "not an address"),
        (["--store", "mysql://x"], "no store speaks this protocol"),
        (["--project", ".", "--all-projects"], "contradict each other"),
        (["--project", "/nowhere"], "'/nowhere' does not exist"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_one_sentence(
    home: Path, capfd: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    """Exit 2, nothing on standard output."""
    assert run(["mcp", "--home", str(home), *options]) == 2
    seen = capfd.readouterr()
    assert seen.out == ""
    assert said in seen.err
    assert seen.err.count("\n") == 1


def test_a_port_that_is_taken_is_one_sentence(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, with the address."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["mcp", "--home", str(home), "--http", str(port)]) == 2
    assert f"127.0.0.1:{port} cannot be listened on" in capfd.readouterr().err
