"""The protocol of the lab's peers, with a small worker that behaves in every way."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

from peers.worker import Answer, Failure, Request, Worker

FAKE = Path(__file__).with_name("fake_worker.py")
PATIENT = 60.0
SHORT = 1.0


def worker(manner: str, timeout_seconds: float = PATIENT) -> Worker:
    return Worker([sys.executable, str(FAKE), manner], timeout_seconds=timeout_seconds)


def asking(*texts: str, budget_tokens: int = 2) -> Request:
    messages = [{"role": "user", "content": text} for text in texts]
    return Request(messages=messages, budget_tokens=budget_tokens, context_length=1_000)


def test_an_answer_comes_back_as_a_value() -> None:
    """Messages, CPU and the note are what the worker said."""
    with closing(worker("answers")) as one:
        found = one.ask(asking("a", "b", "c"))
    kept = ({"role": "user", "content": "b"}, {"role": "user", "content": "c"})
    assert found == Answer(kept, 1.5, "kept 2")


def test_one_process_answers_many_requests() -> None:
    """What one request loaded, the next has."""
    with closing(worker("answers")) as one:
        for size in range(1, 4):
            found = one.ask(asking("a", "b", "c", budget_tokens=size))
            assert isinstance(found, Answer)
            assert len(found.messages) == size


texts = st.text(st.characters(codec=None), max_size=40) | st.sampled_from(
    ["\ud800", "a\nb\r\n\u2028c", "\x00\x1b[31m", "é漢字😀"]
)
contents = st.none() | texts | st.lists(st.fixed_dictionaries({"text": texts}), max_size=3)


@pytest.fixture(scope="module")
def echo() -> Any:
    with closing(worker("answers")) as one:
        yield one


@given(st.lists(st.fixed_dictionaries({"role": texts, "content": contents}), max_size=5))
def test_any_message_goes_through_the_pipe_and_back(echo: Worker, messages: list[Any]) -> None:
    """No text of a session breaks a line or the coding of the pipe."""
    request = Request(messages=messages, budget_tokens=10, context_length=1_000)
    found = echo.ask(request)
    assert isinstance(found, Answer)
    assert list(found.messages) == messages


def test_a_request_larger_than_the_pipe_is_answered() -> None:
    """Sizes have no part in the protocol."""
    with closing(worker("answers")) as one:
        found = one.ask(asking("x" * 3_000_000))
    assert isinstance(found, Answer)
    assert len(found.messages[0]["content"]) == 3_000_000


def test_what_a_peer_cannot_do_is_its_own_sentence() -> None:
    """The table prints the error of a worker instead of a number; the worker lives on."""
    with closing(worker("refuses")) as one:
        assert one.ask(asking("a")) == Failure("it needs a network")
        assert one.ask(asking("a")) == Failure("it needs a network")


@each_row("manner", ["writes_garbage", "writes_a_list", "says_nothing_of_use"])
def test_a_line_that_is_no_answer_is_a_failure(manner: str) -> None:
    """A library that prints where it should not is told, not guessed at."""
    with closing(worker(manner)) as one:
        found = one.ask(asking("a"))
    assert isinstance(found, Failure)
    assert found.error.startswith("the worker")


def test_a_worker_that_dies_says_why() -> None:
    """The last line of its standard error stands in the sentence."""
    with closing(worker("dies")) as one:
        found = one.ask(asking("a"))
    assert found == Failure("the worker ended: RuntimeError: no more tokens")


def test_a_death_costs_one_request() -> None:
    """The next one gets a fresh process."""
    with closing(worker("dies_once")) as one:
        assert isinstance(one.ask(asking("die")), Failure)
        assert isinstance(one.ask(asking("live")), Answer)


def test_a_worker_that_hangs_is_stopped_when_its_time_is_up() -> None:
    """A hung peer is a value."""
    with closing(worker("hangs", SHORT)) as one:
        assert one.ask(asking("a")) == Failure("no answer within 1 seconds")


def test_a_worker_that_never_reads_is_stopped_too() -> None:
    """Also a request that does not fit into the pipe does not wait for ever."""
    with closing(worker("deaf", SHORT)) as one:
        found = one.ask(asking("x" * 3_000_000))
    assert isinstance(found, Failure)
    assert found.error == "no answer within 1 seconds"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_children_of_a_worker_go_with_it() -> None:
    """A child that holds the pipes open keeps nobody waiting."""
    with closing(worker("leaves_a_child", SHORT)) as one:
        found = one.ask(asking("a"))
    assert isinstance(found, Failure)
    assert found.error == "no answer within 1 seconds"


def test_errors_by_the_megabyte_are_read_away() -> None:
    """A worker never waits for somebody to read its warnings."""
    with closing(worker("floods_errors")) as one:
        assert isinstance(one.ask(asking("a")), Answer)


def test_an_interpreter_that_is_not_there_is_a_failure() -> None:
    """A venv that somebody removed is told in a sentence."""
    with closing(Worker([str(FAKE.with_name("no-python"))])) as one:
        found = one.ask(asking("a"))
    assert isinstance(found, Failure)
    assert "could not be started" in found.error


def test_a_worker_sees_nothing_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of the environment, and a home that is removed with the worker."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-seen")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with closing(worker("tells_its_surroundings")) as one:
        found = one.ask(asking("a"))
        assert isinstance(found, Answer)
        said = found.messages[0]
        home = Path(said["home"])
        assert (home / "kept.txt").exists()
    assert not {"OPENAI_API_KEY", "HTTPS_PROXY"} & set(said["environment"])
    assert Path(said["environment"]["HERMES_HOME"]).parent == home
    assert home.resolve() == Path(said["folder"]).resolve()
    assert not home.exists()


IN_A_POOL = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
sys.path.insert(0, sys.argv[2])
from peers.worker import Request, Worker

LEFT_OPEN = []

def ask(fake):
    LEFT_OPEN.append(Worker([sys.executable, fake, "tells_its_surroundings"]))
    request = Request(messages=[], budget_tokens=1, context_length=1)
    return LEFT_OPEN[0].ask(request).messages[0]["home"]

context = multiprocessing.get_context("fork")
with ProcessPoolExecutor(1, mp_context=context) as pool:
    print(pool.submit(ask, sys.argv[1]).result())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_process_of_a_pool_leaves_no_folder_behind() -> None:
    """Nobody closes what a process of a pool has open; its end does."""
    bench = str(Path(__file__).resolve().parents[3] / "bench")
    done = subprocess.run(
        [sys.executable, "-c", IN_A_POOL, str(FAKE), bench],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    home = Path(done.stdout.strip())
    assert home.name.startswith("foldaway-peer-")
    assert not home.exists()
