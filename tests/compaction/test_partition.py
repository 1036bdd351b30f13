"""Head, folded ranges, islands and tail: where a cut falls, and what is never folded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.long_lists import Exchange, written
from tests.testing.strategies import logs

from foldaway import Options, load
from foldaway._core.policy import Policy
from foldaway.compaction.partition import (
    Anchors,
    Partition,
    allowed_cuts,
    head_stop,
    islands,
    nth_last_ask,
    snapped_back,
    system_stop,
)
from foldaway.engine.oneshot import compress
from foldaway.testing import assistant, call, result, system, talk, user
from foldaway.transcript import Message, Opaque, groups


@given(log=logs(max_size=20), data=st.data())
def test_head_folds_islands_and_tail_are_the_whole(
    log: tuple[Message, ...], data: st.DataObject
) -> None:
    """Each position of the log is in exactly one of them, in order; no group is split."""
    parts = groups(log)
    cuts = allowed_cuts(parts)
    head = head_stop(log, cuts, first=data.draw(st.integers(0, 5)))
    start = max(data.draw(st.sampled_from(cuts)), head)
    found = islands(Anchors(log).positions(frozenset(), len(log)), parts, least=head, before=start)
    partition = Partition(head, start, found, 0)
    ranges = sorted([(0, head), *partition.folds(), *partition.islands, (start, len(log))])
    covered = [index for begin, end in ranges for index in range(begin, end)]
    assert covered == list(range(len(log)))
    edges = {0, len(log), *(group.start for group in parts)}
    assert {edge for pair in ranges for edge in pair} <= edges


@given(log=logs(max_size=20))
def test_a_cut_never_parts_a_call_from_its_result(log: tuple[Message, ...]) -> None:
    """Allowed cuts are edges of groups, 0 is always among them, and none is behind a pending
    call."""
    parts = groups(log)
    cuts = allowed_cuts(parts)
    assert cuts == sorted(set(cuts))
    assert cuts[:1] == [0]
    assert set(cuts) <= {0, len(log), *(group.start for group in parts)}
    pending = next((group.start for group in parts if group.pending), len(log))
    assert all(cut <= pending for cut in cuts)


def test_the_head_is_the_system_prompt_and_the_first_messages() -> None:
    """It ends at an allowed cut, so a call in it takes its result along."""
    log = talk(
        system("Rules."), user("Ask."), assistant(call("bash")), result("ok"), assistant("Done."),
    ).messages  # fmt: skip
    cuts = allowed_cuts(groups(log))
    assert system_stop(log) == 1
    assert [head_stop(log, cuts, first=n) for n in range(5)] == [1, 2, 4, 4, 5]


def test_a_head_that_is_large_beside_the_threshold_is_folded() -> None:
    """The first messages stay up to 15 % of the threshold; where they are larger, keeping them
    would keep most of what the compaction is for."""
    policy = Policy(floor_tokens=2_000)
    for chars, stays in ((200, True), (8_000, False)):
        items = [
            {"role": "user", "content": "Begin. " + "word " * (chars // 5)},
            {"role": "assistant", "content": "Begun."},
            *written("openai-chat", [Exchange(2, 1, 900)] * 12),
        ]
        made = compress(items, context_length=8_000, policy=policy)
        assert made.report.status == "compacted"
        assert (made.messages[:2] == items[:2]) == stays


def test_what_is_never_folded() -> None:
    """A person's latest request, pins, and a provider's compaction block."""
    log = [
        *talk(user("One."), assistant("Yes."), user("Two."), assistant(call("bash")), result("x"),
              assistant(call("bash")), result("y")).messages,
        Message("user", (Opaque("compaction"),), 7),
    ]  # fmt: skip
    assert Anchors(log).positions(frozenset({0, 99}), len(log)) == (0, 2, 7)
    parts = groups(log)
    assert islands((0, 3), parts, least=0, before=7) == ((0, 1), (3, 5))
    assert islands((0, 3), parts, least=1, before=3) == ()


@given(log=logs())
def test_anchors_of_a_whole_log_are_those_of_one_that_grew(log: tuple[Message, ...]) -> None:
    """Looked for from the end, or kept as messages come."""
    grown = Anchors()
    for at, message in enumerate(log):
        grown.take(message, at)
    assert Anchors(log).ask == grown.ask
    none = frozenset[int]()
    assert Anchors(log).positions(none, len(log)) == grown.positions(none, len(log))


def test_exchanges_are_counted_from_the_end() -> None:
    """The n-th newest ask, -1 where there are fewer; generated messages do not count."""
    log = list(talk(user("One."), assistant("a"), user("Two."), assistant("b")).messages)
    log.append(Message("user", log[0].parts, 4, origin="summary"))
    assert [nth_last_ask(log, n) for n in (1, 2, 3)] == [2, 0, -1]


def test_a_wish_falls_back_to_the_nearest_cut() -> None:
    """Never forward, so that nothing more is folded than was wished."""
    assert [snapped_back([0, 2, 5], at) for at in (0, 1, 2, 4, 9)] == [0, 0, 2, 2, 5]


def test_keeping_the_last_exchanges_starts_the_tail_at_a_user_message() -> None:
    """`keep_last=2` keeps the last two asks and everything after them."""
    items = written("openai-chat", [Exchange(2, 1, 900)] * 5, ending="reply")
    made = compress(items, options=Options(keep_last=2), policy=Policy(protect_first=0))
    start = [at for at, item in enumerate(items) if item["role"] == "user"][-2]
    assert made.report.boundary == (0, start)
    first, *rest = made.messages[-(len(items) - start) :]
    assert rest == items[start + 1 :]
    assert first["content"][-1]["text"] == items[start]["content"]  # the summary stands before it


def test_folding_above_a_message_keeps_it_and_what_follows() -> None:
    """`above` is the first message of the tail, or the group that holds it."""
    items = written("openai-chat", [Exchange(2, 1, 900)] * 5, ending="reply")
    made = compress(
        items, options=Options(above=13), policy=Policy(protect_first=0, protect_last=30)
    )
    assert made.report.boundary is not None
    start = made.report.boundary[1]
    assert start in (12, 13)
    assert made.messages[-(len(items) - start) :] == items[start:]


NOTICE = "<task-notification>done</task-notification>"
SPOKEN = (NOTICE, "Base directory for this skill: /s\n\n# S", "yes", "?", "!",
          "<command-name>/pr</command-name>", "Now read the parser and " * 4)  # fmt: skip


@given(words=st.lists(st.sampled_from(SPOKEN), min_size=1, max_size=12))
def test_who_speaks_is_the_same_at_once_and_as_a_log_grows(words: list[str]) -> None:
    """Persons, hosts, or the agent with a question or a statement."""
    said = [{"role": "assistant", "content": f"Fine{one}"} if one in "?!"
            else {"role": "user", "content": one} for one in words]  # fmt: skip
    log = load(said).messages
    grown, whole = Anchors(), Anchors(log)
    for at, message in enumerate(log):
        grown.take(message, at)
    for name in ("ask", "by_person", "instructions"):
        assert getattr(grown, name) == getattr(whole, name)


def test_instructions_stay_until_their_task_is_reported_done() -> None:
    """Words before a call are no report; whatever a person says after one is another matter."""
    skill = {"role": "user", "content": SPOKEN[1]}
    step = [{"role": "assistant", "content": "Reading."},
            *written("openai-chat", [Exchange(steps=1)], ending="step")[1:]]  # fmt: skip
    done = {"role": "assistant", "content": "Done."}
    asked = {"role": "assistant", "content": "Which one?"}
    yes = {"role": "user", "content": "yes"}
    for rows, at in [([skill, *step], 0), ([skill, *step, asked, yes], 0), ([skill, done], -1),
                     ([skill, done, *step], 0), ([skill, done, yes, *step], -1)]:  # fmt: skip
        assert Anchors(load(rows).messages).instructions == at


def test_a_persons_request_stays_whatever_a_host_adds() -> None:
    """It is a message of theirs, and so is the text of the skill that was launched for it."""
    ask = "Fix that one issue, create a commit."
    skill = f"Base directory for this skill: /s\n{'rule ' * 40}"
    worked = written("openai-chat", [Exchange(steps=4)] * 8)
    work_on_it = written("openai-chat", [Exchange(steps=12)], start=8, ending="step")[1:]
    log = [*worked[:-1], {"role": "user", "content": ask}, {"role": "user", "content": skill},
           *work_on_it, {"role": "user", "content": NOTICE}]  # fmt: skip
    shown = [str(one["content"]) for one in compress(log, target_tokens=2_500).messages]
    assert any(ask in content for content in shown)
    rules = skill.split("\n")[1]
    assert sum(content.count(rules) for content in shown) == 1  # not in the summary again


def test_what_a_host_noted_before_anybody_spoke_is_no_head() -> None:
    """A command of the host and what it printed stay at the start for nothing."""
    noted = [
        "<local-command-caveat>Do not answer.</local-command-caveat>",
        "<command-name>/model</command-name>",
        "<local-command-stdout>set</local-command-stdout>",
    ]
    log = [{"role": "user", "content": text} for text in noted]
    for turn in range(40):
        log.append({"role": "user", "content": f"Look into part {turn}, please. " * 9})
        log.append({"role": "assistant", "content": f"Part {turn} is fine: value_{turn}. " * 9})
    kept = compress(log, target_tokens=2_000).messages
    assert not any(text in str(message["content"]) for text in noted for message in kept)
