"""The client: each question once, so many at a time, at the provider's pace, and when to stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway._core.ports import SummaryAnswer, SummaryRequest
from foldaway.errors import BatchStopped, FailureKind, SummarizerFailed
from foldaway.testing import ScriptedSummarizer
from foldaway.trajectories.model_client import RATE_TRIES, TRIES, ClientSettings, ModelClient
from foldaway.trajectories.policy import RequestLimits
from foldaway.trajectories.summaries import ModelQuestion
from foldaway.transcript import Estimator


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)


def _question(words: str = "turns") -> ModelQuestion:
    return ModelQuestion(SummaryRequest(instructions="do", prompt=words, max_tokens=100))


@contextmanager
def _client(model: Any, **options: Any) -> Generator[tuple[ModelClient, Clock]]:
    clock = Clock()
    bureau = ClientSettings(
        summarizer=model, who="m", counter=Estimator(), clock=clock.time, sleep=clock.sleep,
        **options,
    )  # fmt: skip
    client = ModelClient(bureau)
    try:
        yield client, clock
    finally:
        client.close()


def _failed(kind: FailureKind, retry_after: float = 0.0) -> SummarizerFailed:
    return SummarizerFailed(kind, "m", retry_after=retry_after)


def test_the_same_question_is_asked_once(tmp_path: Path):
    """By two who ask at the same time, and by whoever asks later, in another run too."""
    model = ScriptedSummarizer(["said"], hold=True)
    with _client(model, answers=tmp_path) as (client, _):
        coming = [client.ask(_question()) for _ in range(5)]
        assert model.asked.wait(10)
        model.release()
        assert {one.result(10).answer for one in coming} == {SummaryAnswer(text="said")}
        assert client.ask(_question()).result(10).answer == SummaryAnswer(text="said")
    with _client(model, answers=tmp_path) as (client, _):
        assert client.ask(_question()).result(10).answer == SummaryAnswer(text="said")
        assert (client.spent.calls, client.spent.kept) == (0, 1)
    assert len(model.requests) == 1


def test_no_more_are_under_way_than_was_said():
    """Five askers, two seats: never three at once, and in the end all have their answer."""
    under_way, most, both, lock = 0, 0, threading.Barrier(2), threading.Lock()

    class Model:
        name, context_length = "m", 0

        async def asummarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
            nonlocal under_way, most
            with lock:
                under_way += 1
                most = max(most, under_way)
            await asyncio.to_thread(both.wait, 10)  # two are there at the same time
            with lock:
                under_way -= 1
            return SummaryAnswer(text=request.prompt)

    with _client(Model(), limits=RequestLimits(requests=2)) as (client, _):
        coming = [client.ask(_question(f"{at}")) for at in range(6)]
        said = [one.result(20).answer for one in coming]
    assert [one.text for one in said if one] == [f"{at}" for at in range(6)]
    assert most == 2


def test_a_failure_that_may_pass_is_tried_again():
    """After the pause that the provider asks for, otherwise after growing ones; an answer of no
    use at once.
    """
    script = [_failed("rate limited", 7.0), _failed("overloaded"), _failed("timed out"),
              _failed("empty answer"), "said"]  # fmt: skip
    with _client(ScriptedSummarizer(script)) as (client, clock):
        found = client.ask(_question()).result(10)
    assert (found.answer, found.failed) == (SummaryAnswer(text="said"), 4)
    assert clock.slept == [7.0, 4.0, 8.0, 0.0]
    assert (client.spent.calls, client.spent.failed) == (5, 4)


def test_where_one_is_turned_away_all_wait():
    """The pause that a provider asks for is for everybody."""
    began: list[tuple[str, float]] = []

    def said(request: SummaryRequest) -> str | SummarizerFailed:
        began.append((request.prompt, clock.now))
        return _failed("rate limited", 30.0) if len(began) == 1 else "said"

    with _client(ScriptedSummarizer(said), limits=RequestLimits(requests=1)) as (client, clock):
        for one in [client.ask(_question(words)) for words in ("a", "b")]:
            one.result(10)
    assert began[0] == ("a", 0.0)
    assert [at for _, at in began[1:]] == [30.0, 30.0]


@each_row(("kind", "tries"), [
    ("overloaded", TRIES), ("timed out", TRIES), ("broken answer", TRIES), ("too long", 1),
    ("rate limited", RATE_TRIES),
])  # fmt: skip
def test_a_question_that_nobody_answers_is_given_up(kind: FailureKind, tries: int):
    """After its tries, and what would fail the same way at once; others are asked on."""

    def answers(asked: SummaryRequest) -> Any:
        return "said" if asked.prompt == "other" else _failed(kind)

    with _client(ScriptedSummarizer(answers)) as (client, _):
        found = client.ask(_question()).result(10)
        assert (found.answer, found.failed) == (None, tries)
        assert client.ask(_question("other")).result(10).answer == SummaryAnswer(text="said")


@each_row(("failure", "tries", "remedy"), [
    (_failed("refused"), 1, "check the key"),
    (_failed("not found"), 1, "check the name of the model"),
    (_failed("unreachable"), TRIES, "check the network"),
    (_failed("rate limited", 7_200.0), 1, "asked again"),
])  # fmt: skip
def test_what_no_record_can_mend_stops_everything(failure: Any, tries: int, remedy: str):
    """Nothing more is asked; every question says why, and what to do."""
    model = ScriptedSummarizer(lambda _: failure)
    with _client(model) as (client, _):
        for words in ("a", "b"):
            with pytest.raises(BatchStopped, match=f"{failure.kind}.*{remedy}.*run the same"):
                client.ask(_question(words)).result(10)
    assert len(model.requests) == tries


def test_answers_under_way_are_kept_when_everything_stops(tmp_path: Path):
    """They are paid for: who waits for the bad news waits until they have come."""
    come = threading.Event()

    class Model:
        name, context_length = "m", 0

        async def asummarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
            if request.prompt == "refused":
                raise _failed("refused")
            await asyncio.to_thread(come.wait, 10)
            return SummaryAnswer(text="said")

    with _client(Model(), answers=tmp_path) as (client, _):
        slow, refused = client.ask(_question("slow")), client.ask(_question("refused"))
        assert not refused.done()
        come.set()
        with pytest.raises(BatchStopped):
            refused.result(10)
        assert slow.result(10).answer == SummaryAnswer(text="said")
    with _client(ScriptedSummarizer(), answers=tmp_path) as (client, _):
        assert client.ask(_question("slow")).result(10).answer == SummaryAnswer(text="said")


def test_a_disk_that_refuses_an_answer_stops_everything(tmp_path: Path):
    """What cannot be kept would be paid for again."""
    (tmp_path / "answers").write_bytes(b"in the way")
    with (
        _client(ScriptedSummarizer(["said"]), answers=tmp_path / "answers") as (client, _),
        pytest.raises(BatchStopped, match="answers"),
    ):
        client.ask(_question()).result(10)


def test_words_that_no_file_can_hold_are_the_same_before_and_after(tmp_path: Path):
    """A lone surrogate in an answer is replaced on arrival, not only on the disk."""
    with _client(ScriptedSummarizer(["a\ud800b"]), answers=tmp_path) as (client, _):
        assert client.ask(_question()).result() == client.ask(_question()).result()


def test_the_pace_of_a_run_is_kept():
    """By the clock of the client: three a minute, over all questions and tries."""
    began: list[float] = []

    def said(_: SummaryRequest) -> str:
        began.append(clock.now)
        return "said"

    limits = RequestLimits(requests=4, requests_per_minute=3)
    with _client(ScriptedSummarizer(said), limits=limits) as (client, clock):
        for one in [client.ask(_question(f"{at}")) for at in range(8)]:
            one.result(10)
    assert began == [0, 0, 0, 60, 60, 60, 120, 120]
