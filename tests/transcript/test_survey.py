"""The survey: one pass that finds calls, results, thinking and media, and pairs them."""

from __future__ import annotations

from hypothesis import given
from tests.testing.strategies import logs

from foldaway.testing import assistant, call, result, talk, user
from foldaway.transcript import Flaw, Media, Message, Text, Thinking, ToolCall, ToolResult, survey


@given(logs())
def test_every_part_is_listed_once_in_order(log: tuple[Message, ...]) -> None:
    """The four lists hold exactly the parts of their kind, with the index of their message."""
    index = survey(log)
    for kind, listed in (
        (ToolCall, index.calls),
        (ToolResult, index.results),
        (Thinking, index.thinking),
        (Media, index.media),
    ):
        expected = [
            (at, part)
            for at, message in enumerate(log)
            for part in message.parts
            if isinstance(part, kind)
        ]
        assert [(at, id(part)) for at, part in listed] == [(at, id(part)) for at, part in expected]


@given(logs())
def test_a_result_answers_the_nearest_earlier_open_call_with_its_id(
    log: tuple[Message, ...],
) -> None:
    """Pairing agrees with a search from each result backwards over everything before it."""
    index = survey(log)
    flat = [
        part
        for message in log
        for part in message.parts
        if isinstance(part, (ToolCall, ToolResult))
    ]
    answered: dict[int, int] = {}
    for place, part in enumerate(flat):
        if isinstance(part, ToolResult):
            before = [
                at
                for at in range(place - 1, -1, -1)
                if isinstance(found := flat[at], ToolCall)
                and found.id == part.call_id
                and at not in answered
            ]
            if before:
                answered[before[0]] = place
    calls = [at for at, part in enumerate(flat) if isinstance(part, ToolCall)]
    results = [at for at, part in enumerate(flat) if isinstance(part, ToolResult)]
    assert index.answer_of == [
        results.index(answered[at]) if at in answered else -1 for at in calls
    ]


@given(logs())
def test_the_two_directions_of_a_pair_agree(log: tuple[Message, ...]) -> None:
    """Where a call has an answer, that answer has the call, and the other way round."""
    index = survey(log)
    there = {(call, answer) for call, answer in enumerate(index.answer_of) if answer >= 0}
    back = {(call, answer) for answer, call in enumerate(index.call_of) if call >= 0}
    assert there == back


def test_repeated_ids_pair_turn_by_turn() -> None:
    """An id that a later turn uses again belongs to the later call."""
    log = talk(
        user("a"),
        assistant(call("x", call_id="c")),
        result("1", of="c"),
        assistant(call("x", call_id="c")),
        result("2", of="c"),
    ).messages
    index = survey(log)
    assert (index.answer_of, index.call_of) == ([0, 1], [0, 1])


def test_flawed_and_generated_messages_are_noted() -> None:
    """Rules find them without looking at every message again."""
    log = (
        Message("user", (Text("a"),)),
        Message("user", (Text("b"),), origin="summary"),
        Message("user", (), flaws=(Flaw("role-known", "role", "is off", "mend it"),)),
    )
    index = survey(log)
    assert (index.generated, index.flawed) == ([1], [2])
