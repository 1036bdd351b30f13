"""A play: what it costs, what its contexts send, how it ends."""

from __future__ import annotations

import json

import pytest
from tests.lab.play.tiny import SECRET, play_tiny, terms, tiny_task
from tests.testing.rows import each_row

from foldaway.dialects.checking import check
from foldaway.errors import UnknownName
from foldaway.lab.play.contexts import CLEARS_FROM, LiveContext, measure
from foldaway.lab.play.game import PlayerUnreachable, play
from foldaway.lab.play.own_context import OwnContext
from foldaway.lab.play.strategies import OWN, STRATEGIES, choose_play_strategies
from foldaway.lab.play.task import PlayerTurn, Request, TaskCall

NAMES = [one.name for one in STRATEGIES]
LONG = {"reads": 150, "lines": 60, "window": 120_000}
"""About 150,000 tokens: more than the window, so that every strategy but `full` acts."""


def test_a_bill_is_that_of_its_requests_one_by_one() -> None:
    """What was sent is read from the cache, what is new is written, what is said is output."""
    played, reader = play_tiny("full", reads=2, lines=3)
    context = LiveContext(tiny_task().tools, terms())
    outside, before, expected = context.prompt.tokens, 0, 0.0
    for at, request in enumerate(reader.requests):
        sizes = [measure(wire) for wire in request.messages]
        prompt = outside + sum(sizes)
        following = reader.requests[at + 1].messages if at + 1 < len(reader.requests) else ()
        answer = measure(following[len(sizes)]) if following else measure_done()
        expected += 0.1 * before + 1.25 * (prompt - before) + 10 * answer
        before = prompt
    assert len(reader.requests) == played.steps == 4
    assert played.bill.usd == pytest.approx(expected / 1e6)
    assert (played.is_solved, played.wrong, played.missed) == (True, 0, ())


def measure_done() -> int:
    return measure({"role": "assistant", "content": "done"})


@each_row("name", NAMES)
def test_every_request_of_a_play_keeps_the_rules_of_providers(name: str) -> None:
    """Also right after something was dropped, masked or folded. Hermes lets a user's message follow
    a result, which servers that insist on turns refuse.
    """
    played, reader = play_tiny(name, **LONG)
    assert played.compactions or name == "full"
    for provider in ("openai-chat", *(("strict",) if name != "like hermes" else ())):
        for request in reader.requests:
            found = check(list(request.messages), provider=provider)
            assert [row for row in found if row.rule != "call-pending"] == []


@each_row("name", NAMES)
def test_the_size_of_a_prompt_is_that_of_its_messages(name: str) -> None:
    """However often something was changed in it."""
    task, sizes = tiny_task(LONG["reads"], LONG["lines"]), []
    context = choose_play_strategies([name])[name].start(task.tools, terms(LONG["window"]))
    outside = context.prompt.tokens

    class Weighs:
        """Reads on, and weighs what it is shown."""

        def act(self, request: Request) -> PlayerTurn:
            sizes.append(outside + sum(map(measure, request.messages)) - context.prompt.tokens)
            return inner.act(request)

    _, inner = play_tiny("full", 0)
    inner = type(inner)(LONG["reads"])
    play(name, task, Weighs(), context)
    assert set(sizes) == {0}


def test_what_does_not_fit_ends_the_play() -> None:
    """Nothing is sent that is larger than the window."""
    played, _ = play_tiny("full", **LONG)
    assert played.ending == "did not fit"
    assert not played.is_solved
    assert played.is_counted
    assert played.bill.prompt_tokens < LONG["window"] * played.steps


def test_what_was_folded_comes_back_by_the_tools() -> None:
    """The number of the first file is searched for, and the search is counted."""
    played, reader = play_tiny(OWN, **LONG)
    names = [tool["function"]["name"] for tool in reader.requests[0].tools]
    assert names == ["read_file", "note", "foldaway_recall", "foldaway_search"]
    assert played.compactions > 0
    assert played.is_solved
    shown = json.dumps([dict(one) for one in reader.requests[LONG["reads"]].messages])
    assert SECRET in shown or played.recalls == 1


def test_a_recall_gives_the_original_of_a_reference_or_a_place() -> None:
    """And a sentence for what is none."""
    task = tiny_task()
    context = OwnContext(task.tools, terms())
    context.take([{"role": "user", "content": f"the service has {SECRET}"}])
    assert SECRET in str(context.answer(TaskCall("foldaway_recall", {"ref": "m0"})))
    assert "fa-0000000000" in str(
        context.answer(TaskCall("foldaway_recall", {"ref": "fa-0000000000"}))
    )
    assert context.answer(TaskCall("note", {"text": ""})) is None


def test_masking_and_dropping_lose_what_was_read_first() -> None:
    """And what is guessed then is a wrong action after a compaction."""
    for name in ("masking", "keep tail", "clearing"):
        played, _ = play_tiny(name, **LONG)
        assert (played.is_solved, played.wrong, played.wrong_after) == (False, 1, 1), name
        assert played.missed == ("the port is noted",)


def test_clearing_waits_for_a_large_prompt() -> None:
    """The provider clears nothing below its trigger."""
    assert play_tiny("clearing", 40, 60)[0].compactions == 0
    assert CLEARS_FROM == 100_000


def test_a_play_that_goes_in_circles_ends_unsolved() -> None:
    """After two and a half times the steps of its task."""

    class Circles:
        """Always says the same."""

        def act(self, request: Request) -> PlayerTurn:
            return PlayerTurn("what now?")

    task = tiny_task(2)
    played = play("full", task, Circles(), LiveContext(task.tools, terms()))
    assert (played.ending, played.steps) == ("out of steps", 10)


def test_a_network_that_fails_says_nothing_of_a_strategy() -> None:
    """The play is told apart from one that is unsolved."""

    class Gone:
        """Cannot be reached."""

        def act(self, request: Request) -> PlayerTurn:
            raise PlayerUnreachable("no network; check the address")

    task = tiny_task(2)
    played = play("full", task, Gone(), LiveContext(task.tools, terms()))
    assert (played.ending, played.why) == ("no answer", "no network; check the address")
    assert not played.is_counted


def test_an_unknown_strategy_is_named_with_those_that_there_are() -> None:
    """And ours is always played: the others are compared with it."""
    with pytest.raises(UnknownName, match="masking"):
        choose_play_strategies(["maskin"])
    assert list(choose_play_strategies(["masking"])) == [OWN, "masking"]
