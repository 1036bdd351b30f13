"""The listener of an agent answers whatever becomes of the gateway behind it."""

from __future__ import annotations

import asyncio
import http.client
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.agents.running.front import Front, redirect
from foldaway.agents.running.totals import RunTotals

pytestmark = pytest.mark.slow

GATEWAY = (sys.executable, "-IS", str(Path(__file__).with_name("gateway.py")), "0")


class Running:
    """A listener, asked as an agent asks."""

    def __init__(self, front: Front, port: int) -> None:
        self.front, self.port, self.totals = front, port, RunTotals()

    def ask(self, body: str, path: str = "/x/v1/chat/completions?a=b") -> str:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        link.request("POST", path, body.encode(), {"x-foldaway-session": "one", "x-key": "k"})
        with closing(link):
            return link.getresponse().read().decode()


@contextmanager
def running(provider: Any, *command: str, other: int = 0) -> Generator[Running]:
    listening = socket.create_server(("127.0.0.1", 0))
    front = Front(listening, command, other, lambda: {"/x": f"{provider.url}/base"},
                  lambda: "the token", lambda _: None)  # fmt: skip
    front.start()
    found = Running(front, listening.getsockname()[1])
    try:
        yield found
    finally:
        found.totals = front.stop()
        listening.close()


def test_requests_pass_to_the_gateway_that_it_starts(provider: Any) -> None:
    """The first waits until it listens; what it tells is counted; it ends with the listener."""
    with running(provider, *GATEWAY) as one:
        assert [one.ask(f"hello {number}") for number in range(3)] == [
            "hello 0",
            "hello 1",
            "hello 2",
        ]
    assert (one.totals.requests, one.totals.bytes_in, one.totals.bytes_out) == (1, 9, 4)
    assert (one.totals.ends, one.totals.direct, provider.asked) == (0, 0, [])


def test_a_request_that_kills_the_gateway_is_answered_by_the_provider(provider: Any) -> None:
    """It is tried once more first; the agent sees one answer, and others pass as before."""
    with running(provider, *GATEWAY) as one:
        assert one.ask("hello") == "hello"
        assert one.ask("die") == "provider"
        assert one.ask("again") == "again"
    assert (one.totals.ends, one.totals.direct) == (2, 1)
    ((path, headers, body),) = provider.asked
    assert (path, body) == ("/base/v1/chat/completions?a=b", b"die")
    assert headers["host"] == provider.url.partition("//")[2]
    assert headers["x-key"] == "k"
    assert "x-foldaway-session" not in headers


def test_an_answer_that_has_begun_is_cut_and_not_asked_for_again(provider: Any) -> None:
    """As if the provider had cut it; the next request finds another gateway."""
    with running(provider, *GATEWAY) as one:
        with pytest.raises(http.client.IncompleteRead):
            one.ask("cut")
        assert one.ask("hello") == "hello"
    assert (one.totals.ends, one.totals.direct) == (1, 0)


@pytest.mark.parametrize("how", ["fail", "refuse"])
def test_without_a_gateway_the_provider_is_asked(provider: Any, how: str) -> None:
    """If it cannot start, and if it wants a token; it is not started again."""
    with running(provider, *GATEWAY, how) as one:
        assert one.ask("hello") == one.ask("again") == "provider"
    assert (one.totals.gave_up, one.totals.direct, one.totals.ends) == (True, 2, 0)
    assert one.totals.trouble == ("no store" if how == "fail" else "")


def test_a_gateway_that_runs_already_is_used_and_replaced_when_it_dies(provider: Any) -> None:
    """It is left running at the end; a gateway of our own takes its place."""
    with subprocess.Popen(GATEWAY, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as other:
        assert other.stderr is not None
        port = int(other.stderr.readline().rpartition(b":")[2])
        with running(provider, *GATEWAY, "fail", other=port) as one:
            assert one.ask("hello") == "hello"
        assert other.poll() is None
        with running(provider, *GATEWAY, other=port) as one:
            assert one.ask("hello") == "hello"
            other.kill()
            assert one.ask("again") == "again"
        assert (one.totals.ends, one.totals.direct) == (1, 0)


NAMES = st.sampled_from(["accept", "X-Key", "Host", "connection", "x-foldaway-token", "x-api-key"])
HEADERS = st.lists(st.tuples(NAMES, st.from_regex(r"[!-~]{1,9}", fullmatch=True)))


@given(headers=HEADERS, body=st.binary(), path=st.sampled_from(["/v1/messages", "/v1/responses"]))
def test_a_direct_request_says_what_the_agent_said(
    headers: list[tuple[str, str]], body: bytes, path: str
) -> None:
    """The same body and headers in their order, but for those of the connection and our own."""
    head = "\r\n".join([f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)])
    target, sent = redirect(head.encode() + b"\r\n\r\n" + body, {"": "https://example.com:1/a"})
    first, *lines = sent.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    assert sent.partition(b"\r\n\r\n")[2] == body
    assert first == f"POST /a{path} HTTP/1.1"
    assert (target.host, target.port, target.is_secure) == ("example.com", 1, True)
    kept = [f"{name}: {value}" for name, value in headers
            if name not in ("Host", "connection", "x-foldaway-token")]  # fmt: skip
    assert lines[:-2] == kept


def test_compactions_are_counted_from_the_first_request_on() -> None:
    """A conversation that is resumed has had some before."""
    totals = RunTotals()
    for note in ("compacted 2", "pass; nothing is due", "compacted 4"):
        totals.add(f'data: {{"kind":"request","conversation":"a","note":"{note}"}}'.encode())
    totals.add(b'data: {"kind":"request","conversation":"b","note":"pass"}')
    totals.add(b'data: {"kind":"request","conversation":"b","note":"compacted 1"}')
    totals.add(b'data: {"kind":"changed"}')
    totals.add(b"data: not json")
    assert (totals.requests, totals.compacted) == (5, 3)


def test_an_agent_that_ends_while_the_gateway_starts_leaves_no_traceback(
    provider: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """A connection that waits is closed, and nothing is printed into the terminal."""
    caplog.set_level("INFO")  # whatever level other tests left
    with running(provider, sys.executable, "-IS", "-c", "input()") as one:
        link = socket.create_connection(("127.0.0.1", one.port), timeout=30)
        link.sendall(b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n")
        # a second connection is accepted after the first: the first one waits by then
        socket.create_connection(("127.0.0.1", one.port), timeout=30).close()
        while not any("_serve" in str(task) for task in tasks_of(one.front)):
            pass
    with closing(link):
        assert link.recv(100) == b""
    assert (capfd.readouterr().err, caplog.records) == ("", [])


def tasks_of(front: Front) -> set[asyncio.Task[Any]]:
    loop = front._loop  # pyright: ignore[reportPrivateUsage]
    assert loop is not None
    return asyncio.all_tasks(loop)


def test_a_subscription_is_told_by_its_log_in_and_its_limits() -> None:
    """Claude tells a share of each limit, ChatGPT percent; an API key tells neither."""
    totals = RunTotals()
    answer = (
        b"HTTP/1.1 200 OK\r\nanthropic-ratelimit-unified-5h-utilization: 0.42\r\n"
        b"Anthropic-Ratelimit-Unified-7d-Utilization: 0.1\r\nx-codex-primary-used-percent: 17.5"
        b"\r\n\r\nanthropic-ratelimit-unified-9h-utilization: 1\r\n"
    )
    totals.add_heads(b"POST / HTTP/1.1\r\nx-api-key: sk-ant-api\r\n\r\nbearer sk-ant-oat", b"HTTP")
    assert (totals.subscribed, totals.limits) == (False, {})
    totals.add_heads(b"POST / HTTP/1.1\r\nAuthorization: Bearer sk-ant-oat01-x\r\n\r\n", answer)
    assert totals.subscribed
    assert totals.limits == {"5h": 42, "7d": 10, "primary": 18}
