"""The worker's side of the protocol, with small drivers of our own on this Python."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

import peers
from peers.worker import Answer, Failure, Reply, Request, Worker

WORKERS = Path(peers.__file__).parent / "workers"
REQUEST = Request(
    messages=[{"role": "user", "content": "a"}], budget_tokens=1, context_length=10, mode="x"
)


def ask(folder: Path, body: str) -> Reply:
    """Return what a driver with this body of `compress` answers."""
    script = folder / "driver.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(WORKERS)!r})\n"
        "import os, socket\n"
        "from loop import Cannot, serve, measure_time\n"
        f"def compress(request):\n    {body}\n"
        "serve(compress)\n"
    )
    with closing(Worker([sys.executable, str(script)], timeout_seconds=60.0)) as one:
        return one.ask(REQUEST)


def test_what_a_driver_returns_is_the_answer(tmp_path: Path) -> None:
    """The driver sees the request as it was asked."""
    found = ask(tmp_path, "return {'messages': request['messages'], 'note': request['mode']}")
    assert found == Answer(({"role": "user", "content": "a"},), 0.0, "x")


@pytest.mark.parametrize("saying", ["print('hello')", "os.write(1, b'hello')", "os.system('echo')"])
def test_what_a_peer_prints_is_no_part_of_the_answer(tmp_path: Path, saying: str) -> None:
    """Neither from Python nor below it."""
    found = ask(tmp_path, f"{saying}; return {{'messages': []}}")
    assert found == Answer((), 0.0)


def test_what_a_peer_cannot_do_is_said_in_its_words(tmp_path: Path) -> None:
    """A sentence for the table."""
    found = ask(tmp_path, "raise Cannot('it needs weights')")
    assert found == Failure("it needs weights")


def test_what_a_peer_raises_is_named(tmp_path: Path) -> None:
    """An error of the peer is its answer, and not the worker's end."""
    found = ask(tmp_path, "return 1 / 0")
    assert found == Failure("it raised ZeroDivisionError: division by zero")


def test_of_a_long_complaint_the_first_line_is_enough(tmp_path: Path) -> None:
    """The table has room for a sentence, and no place for the messages of a session."""
    found = ask(tmp_path, "raise ValueError('1 error in a message\\n  its value was: ...')")
    assert found == Failure("it raised ValueError: 1 error in a message")


@pytest.mark.parametrize("reaching", ["create_connection(('127.0.0.1', 9))", "getaddrinfo('a', 1)"])
def test_there_is_no_network(tmp_path: Path, reaching: str) -> None:
    """A peer that would ask a server fails at once, the same on every machine."""
    found = ask(tmp_path, f"socket.{reaching}")
    assert found == Failure("it raised OSError: the lab runs peers without a network")


def test_the_first_request_pays_for_no_imports(tmp_path: Path) -> None:
    """A small request of ours has gone through before it."""
    found = ask(tmp_path, "compress.seen = getattr(compress, 'seen', 0) + 1;"
                " return {'messages': [], 'note': str(compress.seen)}")  # fmt: skip
    assert found == Answer((), 0.0, "2")
