"""The scripted player: what it finds in a request, and that it knows nothing else."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace
from tests.lab.play.playing import play
from tests.testing.rows import each_row

from foldaway.lab.play.scripted import Scripted, find
from foldaway.lab.play.task import Move, Need, PlayerTurn, Request, Task, TaskCall
from foldaway.lab.play.tasks import FAMILIES

LIMIT = Need("limit", r"\b(\d+\.\d\d)\b", ("refund", "above|limit"), "1.00", "rule")
MOVE = Move(TaskCall("book", {"limit": "{limit}"}), needs=(LIMIT,))
FACT = "Refunds above 250.00 EUR need approval."


def asked(*contents: str, tools: tuple[str, ...] = ()) -> Request:
    """Return a request with messages of a person."""
    messages: list[Any] = [{"role": "user", "content": one} for one in contents]
    return Request(messages, [{"type": "function", "function": {"name": one}} for one in tools])


def answered(turn: PlayerTurn, result: str) -> list[Any]:
    """Return the messages of a call and its result."""
    (call,) = turn.calls
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return [
        {"role": "assistant", "tool_calls": [{"id": result, "function": function}]},
        {"role": "tool", "tool_call_id": result, "content": result},
    ]


def player_of(*moves: Move) -> Scripted:
    """Return a player with a script of its own."""
    task = FAMILIES["desk"](1, 1)
    return Scripted(replace(task, script=moves))


@each_row(
    "text, value",
    [
        (FACT, "250.00"),
        ("| refund limit | 250.00 EUR |\n| voucher | 7.50 EUR |", "250.00"),
        (
            '[{"rule": "refund limit", "value": "250.00"}, {"rule": "voucher", "value": "7.50"}]',
            "250.00",
        ),
        ("- voucher 7.50\n- refunds are ours up to a limit of 250.00\n- parcel 4.90", "250.00"),
        ("Refund limit:\n250.00 EUR", "250.00"),
        ("The refund limit is 250.00 EUR instead of 120.00 EUR.", "250.00"),
        ("The refund limit (was 120.00) is 250.00.", "250.00"),
        (
            "From now on the refund limit is 250.00.\nIn the morning the refund limit was 120.00.",
            "250.00",
        ),
        ("The refund limit was said in the morning. A voucher of 7.50 went out.\n\n\n", "7.50"),
        ("Refunds go out on Friday. Vouchers are 7.50.", None),
    ],
)
def test_a_value_is_read_in_whatever_form_it_is_told(text: str, value: str | None) -> None:
    """A sentence, a table, rows of JSON or a list; the nearest one, and not what it replaced."""
    assert find([text], LIMIT.shape, LIMIT.near) == value


def test_the_newest_of_two_decisions_counts() -> None:
    """In the order of the request, whichever of the two comes first."""
    later = "One change: refunds above 400.00 EUR need approval from now on."
    assert find([FACT, "ok", later, "thanks"], LIMIT.shape, LIMIT.near) == "400.00"
    assert find([later, "ok", FACT], LIMIT.shape, LIMIT.near) == "250.00"


def test_an_entry_of_a_record_is_as_old_as_its_message() -> None:
    """All of its lines: what it quotes of the first message is not newer than a correction."""
    later = "One change: refunds above 400.00 EUR need approval from now on."
    record = f"Goal\n- First request: the rules.\n  {FACT}\n\n  That is all. [m1]\n\nNext"
    player = player_of(MOVE)
    assert player.act(asked("hello", "go on", later, "ok", record)).calls == (
        TaskCall("book", {"limit": "400.00"}),
    )


def test_words_match_from_their_beginning() -> None:
    """A name that ends as another one does is somebody else."""
    rows = "JD1 Lena Ekberg\nJD2 Elena Ekberg"
    assert find([rows], r"(JD\d)", ("Lena Ekberg",)) == "JD1"


def test_what_is_out_of_the_request_is_unknown() -> None:
    """The player read the fact a request before, and still guesses if it is gone."""
    player = player_of(MOVE, MOVE)
    assert player.act(asked(FACT)).calls == (TaskCall("book", {"limit": "250.00"}),)
    assert player.act(asked("go on")).calls == (TaskCall("book", {"limit": "1.00"}),)
    assert player.guesses == 1


def test_a_need_is_searched_for_then_recalled() -> None:
    """By its words, then by the references that the search returned; then it acts."""
    player, request = player_of(MOVE), asked("go on", tools=("foldaway_search", "foldaway_recall"))
    turns: list[PlayerTurn] = []
    for result in ("fa-0123456789: Refunds abo…\nfa-abcdef0123: …", "?", FACT):
        turns.append(player.act(request))
        messages = [*request.messages, *answered(turns[-1], result)]
        request = Request(messages, request.tools)
    assert [turn.calls for turn in turns] == [
        (TaskCall("foldaway_search", {"text": "refund above"}),),
        (TaskCall("foldaway_recall", {"ref": "fa-0123456789"}),),
        (TaskCall("foldaway_recall", {"ref": "fa-abcdef0123"}),),
    ]
    assert player.act(request).calls == (TaskCall("book", {"limit": "250.00"}),)
    assert (player.lookups, player.guesses) == (3, 0)


def test_no_need_is_searched_for_without_end() -> None:
    """Three calls at most, then the world, then a guess."""
    need = replace(LIMIT, again=TaskCall("read_article", {"title": "limits"}))
    player = player_of(replace(MOVE, needs=(need,)))
    request, names = asked("go on", tools=("foldaway_search", "foldaway_recall")), list[str]()
    for at in range(5):
        turn = player.act(request)
        names.append(turn.calls[0].name)
        messages = [*request.messages, *answered(turn, f"result {at}: m1 m2 m3 m4")]
        request = Request(messages, request.tools)
    assert names == [
        "foldaway_search",
        "foldaway_recall",
        "foldaway_recall",
        "read_article",
        "book",
    ]


def test_what_the_world_can_show_again_is_looked_up() -> None:
    """Once; it costs a request, and then the value is in view."""
    need = replace(LIMIT, again=TaskCall("read_article", {"title": "limits"}))
    player = player_of(replace(MOVE, needs=(need,)))
    assert player.act(asked("go on")).calls == (need.again,)
    assert player.act(asked("go on", FACT)).calls == (TaskCall("book", {"limit": "250.00"}),)
    assert (player.lookups, player.guesses) == (1, 0)


@each_row("family", sorted(FAMILIES))
def test_a_fact_that_is_cut_from_the_request_is_acted_on_wrongly(family: str) -> None:
    """The rules that were only said: without the first message they are guessed, and wrong."""

    def unsaid(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [messages[0], *messages[2:]]

    task: Task = FAMILIES[family](2, 0)
    player = Scripted(task)
    played = play(task, player, shown=unsaid)
    assert player.guesses > 0
    assert played.world.wrong > 0
    assert played.unmet
    assert play(task).unmet == []
