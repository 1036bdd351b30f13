"""Groups: a cut between two of them never parts what belongs together."""

from __future__ import annotations

from hypothesis import given
from tests.testing.strategies import logs

from foldaway.testing import assistant, call, result, talk, think, user
from foldaway.transcript import Message, Text, Thinking, ToolCall, ToolResult, groups, survey


@given(logs())
def test_every_message_is_in_exactly_one_group_in_order(log: tuple[Message, ...]) -> None:
    """The groups of a log are the log: no gap, no overlap, none empty."""
    found = groups(log)
    covered = [at for group in found for at in range(group.start, group.stop)]
    assert covered == list(range(len(log)))
    assert all(len(group) > 0 for group in found)


@given(logs())
def test_a_call_is_never_parted_from_its_result(log: tuple[Message, ...]) -> None:
    """Whatever stands between them, a call and its answer are in one group."""
    index = survey(log)
    group_of = {
        at: number
        for number, group in enumerate(groups(log))
        for at in range(group.start, group.stop)
    }
    for (at, _), answer in zip(index.calls, index.answer_of, strict=True):
        if answer >= 0:
            assert group_of[at] == group_of[index.results[answer][0]]


@given(logs())
def test_every_cut_that_parts_nothing_is_allowed(log: tuple[Message, ...]) -> None:
    """Groups are the smallest: where no pair and no reasoning reaches over a place, one ends."""
    index = survey(log)
    bonds = [
        (at, index.results[answer][0])
        for (at, _), answer in zip(index.calls, index.answer_of, strict=True)
        if answer >= 0
    ]
    bonds += [(at, at + 1) for at, message in enumerate(log[:-1]) if _only_reasons(message)]
    free = [cut for cut in range(1, len(log)) if not any(a < cut <= b for a, b in bonds)]
    assert [group.start for group in groups(log)][1:] == free


@given(logs())
def test_pending_means_an_unanswered_call_in_the_last_group(log: tuple[Message, ...]) -> None:
    """Only the end of a log can wait for a result."""
    index = survey(log)
    waiting = {
        at for (at, _), answer in zip(index.calls, index.answer_of, strict=True) if answer < 0
    }
    found = groups(log)
    assert not any(group.pending for group in found[:-1])
    for group in found[-1:]:
        assert group.pending == any(at in waiting for at in range(group.start, group.stop))


@given(logs(), logs())
def test_groups_of_a_closed_log_stay_when_more_is_appended(
    log: tuple[Message, ...], more: tuple[Message, ...]
) -> None:
    """Appending can only join groups from one that waits or reasons on; all before it stay."""
    found = groups(log)
    grown = groups((*log, *more))
    open_from = min(
        (at for at, message in enumerate(log)
         if _only_reasons(message) or any(isinstance(p, ToolCall) for p in message.parts)),
        default=len(log),
    )  # fmt: skip
    settled = [group for group in found if group.stop <= open_from]
    assert list(grown[: len(settled)]) == settled


def test_parallel_calls_with_answers_in_several_messages_are_one_group() -> None:
    """All results of one turn stay with it, whichever messages they came in."""
    log = (
        *talk(user("a"), assistant(call("x"), call("y"))).messages,
        Message("tool", (ToolResult("call_2", (Text("2"),)),)),
        Message("tool", (ToolResult("call_1", (Text("1"),)),)),
        Message("assistant", (Text("done"),)),
    )
    assert [(g.start, g.stop) for g in groups(log)] == [(0, 1), (1, 4), (4, 5)]


def test_results_and_words_in_one_user_message_stay_with_the_call() -> None:
    """An Anthropic user message that mixes results and text cannot be cut in two."""
    mixed = Message("user", (ToolResult("call_1", (Text("1"),)), Text("and now this")))
    log = (*talk(user("a"), assistant(call("x"))).messages, mixed, *talk(user("b")).messages)
    assert [(g.start, g.stop) for g in groups(log)] == [(0, 1), (1, 3), (3, 4)]


def test_reasoning_stays_with_the_item_that_follows_it() -> None:
    """A Responses reasoning item, its call and the output are one group."""
    log = (
        *talk(user("a")).messages,
        Message("assistant", (Thinking("hm", "sig"),)),
        Message("assistant", (ToolCall("c", "x"),)),
        Message("tool", (ToolResult("c"),)),
    )
    assert [(g.start, g.stop) for g in groups(log)] == [(0, 1), (1, 4)]


def test_an_orphaned_call_binds_nothing_and_one_at_the_end_is_pending() -> None:
    """One call without answer must not make the rest of the log uncuttable."""
    log = talk(
        user("a"),
        assistant(call("x", call_id="lost")),
        user("b"),
        assistant(think("hm"), call("y")),
    ).messages
    assert [(g.start, g.stop, g.pending) for g in groups(log)] == [
        (0, 1, False), (1, 2, False), (2, 3, False), (3, 4, True),
    ]  # fmt: skip


def test_an_answered_turn_is_not_pending() -> None:
    """Nothing waits where every call has its result."""
    log = talk(user("a"), assistant(call("x")), result("1")).messages
    assert [group.pending for group in groups(log)] == [False, False]


def _only_reasons(message: Message) -> bool:
    thinks = any(isinstance(part, Thinking) for part in message.parts)
    return thinks and all(
        isinstance(part, Thinking) or (isinstance(part, Text) and not part.text.strip())
        for part in message.parts
    )
