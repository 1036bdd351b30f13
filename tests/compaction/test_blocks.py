"""Blocks: texts in pieces, what is taken of them, and how a cut message reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.laws import broken_laws
from tests.testing.long_lists import long_lists
from tests.testing.rows import each_row

from foldaway import check, load
from foldaway.compaction.blocks import (
    GAP,
    BlockGroup,
    BlockPiece,
    Zone,
    cut_groups,
    show,
    take,
    used_names,
)
from foldaway.compaction.worth import FAMILY_WORTH, BlockKind, worth_of
from foldaway.engine.oneshot import compress
from foldaway.facts.frame import gap_mark
from foldaway.facts.tools import Family
from foldaway.testing import assistant, call, result, talk, user
from foldaway.transcript import Estimator, Message, Text, ToolCall, ToolResult

PROVIDERS = ("openai-chat", "openai-responses", "anthropic", "gemini", "strict")
LINES = st.lists(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=300)
    | st.sampled_from(("x" * 3_000, "one word after another " * 40, "", "value_1 = 2", "Ends. ")),
    max_size=60,
).map("\n".join)
NOTE = f"<system-reminder>{'Mind this. ' * 900}</system-reminder>"
ROWS = "\n".join(f"row {n} of table_{n} is odd" for n in range(9_000))


def zone(log: Sequence[Message]) -> Zone:
    return Zone(
        log, Estimator(), lambda at: "person" if log[at].role == "user" else None,
        lambda _: "fa-0123456789", frozenset(), frozenset(range(len(log))),
    )  # fmt: skip


def groups_of(*steps: Any) -> tuple[Zone, list[BlockGroup]]:
    made = zone(talk(*steps).messages)
    ranges = [(at, at + 1) for at in range(len(made.log))]
    return made, cut_groups(made, ranges, used_names(made, ranges))


def shown(made: Zone, group: BlockGroup, orders: set[int]) -> str:
    """Return the text of the only cut of a group with those of its pieces."""
    found = show(made, group.start, group.stop, group.cuts, {0: orders})
    part = found.get(group.start, made.log[group.start]).parts[0]
    inner = part.parts[0] if isinstance(part, ToolResult) else part
    assert isinstance(inner, Text)
    return inner.text


@given(LINES)
def test_the_pieces_of_a_text_are_the_text(text: str) -> None:
    """Words, arguments and outputs; only data is told in rows instead."""
    _, groups = groups_of(
        user(text), assistant(text, call("write_file", content=text)), result(text)
    )
    for group in groups:
        for cut in group.cuts:
            if cut.is_whole:
                assert "".join(cut.pieces) == text


@pytest.mark.parametrize("text", [ROWS * 4, f"{ROWS[:2_000]}\n{NOTE}"])
def test_a_text_is_not_whole_if_its_pieces_are_not_the_text(text: str) -> None:
    """The middle of an enormous output, or what a host put into one: with all its pieces taken, no
    more is shown than they hold."""
    made, groups = groups_of(user("Go."), assistant(call("bash")), result(text))
    group = groups[0]
    (cut,) = group.cuts
    everything = shown(made, group, set(range(len(cut.pieces))))
    assert len(everything) <= sum(map(len, cut.pieces)) + 40


@each_row("first", ["", "[INFO] ", "{ "])
def test_an_enormous_text_has_a_bounded_number_of_pieces(first: str) -> None:
    """Also if it begins as data does, and is none."""
    text = "\n".join(f"{first}row {n} of table_{n} is odd" for n in range(30_000))
    _, groups = groups_of(user("Go."), assistant(call("bash")), result(text))
    assert len(groups[0].cuts[0].pieces) <= 450


@given(text=LINES, data=st.data())
def test_a_cut_text_shows_pieces_and_gaps_alone(text: str, data: st.DataObject) -> None:
    """In their order, each as it was; of an output after the way back to the whole."""
    made, groups = groups_of(user("Go."), assistant(call("bash")), result(text), user(text))
    for group in (groups[0], groups[1]):
        for cut in group.cuts:
            everything = range(len(cut.pieces))
            chosen = data.draw(st.sets(st.sampled_from(everything)))
            seen = shown(made, group, chosen)
            stands = chosen | set(range(cut.shown))
            if cut.is_whole and len(stands) == len(cut.pieces):
                assert seen == text
                continue
            seen = seen.removeprefix("[in part: fa-0123456789]\n")
            seen = seen.removeprefix("[left out: fa-0123456789]")
            for order in sorted(stands):
                piece = cut.pieces[order].strip("\n")
                assert piece in seen
                seen = seen[seen.index(piece) + len(piece) :] if piece else seen
            assert not seen.replace(gap_mark("fa-0123456789"), "").replace(GAP, "").strip()


USED = {"alpha_1": 3.0, "beta_2": 1.0, "gamma_3": 0.5}
NAMES = st.none() | st.lists(st.sampled_from(sorted(USED)), unique=True).map(tuple)
PIECES = st.lists(st.tuples(st.integers(1, 80), st.floats(0, 60), NAMES), max_size=6)


@given(
    st.lists(st.tuples(st.integers(1, 200), st.floats(0, 60), PIECES), max_size=12),
    st.integers(0, 1_500),
    st.data(),
)
def test_what_is_taken_is_within_the_room(
    rows: list[tuple[int, float, list[tuple[int, float, tuple[str, ...] | None]]]],
    room: int,
    data: st.DataObject,
) -> None:
    """But for what must stay, which is there whatever it costs, and then nothing else is."""
    groups = [
        BlockGroup(n, n + 1, tokens, worth, (), tuple(
            BlockPiece(0, order, cost, value, names)
            for order, (cost, value, names) in enumerate(pieces)))
        for n, (tokens, worth, pieces) in enumerate(rows)
    ]  # fmt: skip
    numbers = st.sets(st.sampled_from(range(len(groups)))) if groups else st.just(set[int]())
    must = data.draw(numbers)
    taken = take(groups, room, must, USED)
    needed = sum(groups[n].tokens for n in must)
    size = sum(groups[n].tokens + sum(one.tokens for one in taken[n]) for n in taken)
    assert must <= set(taken)
    assert size <= max(room, needed)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | LINES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=6), JSON, max_size=4), st.data())
def test_cut_arguments_are_json_of_the_same_shape(fields: Any, data: st.DataObject) -> None:
    """Keys, numbers and short texts stay, whichever pieces do; a long text keeps its beginning."""
    log = talk(user("Go."), assistant(call("write_file"))).messages
    called = ToolCall("c1", "write_file", json.dumps(fields))
    made = zone([log[0], log[1].with_parts((called,))])
    (group,) = cut_groups(made, [(1, 2)], {})
    chosen = {
        number: data.draw(st.sets(st.sampled_from(range(len(cut.pieces)))))
        for number, cut in enumerate(group.cuts)
    }
    message = show(made, 1, 2, group.cuts, chosen).get(1, made.log[1])
    (part,) = message.parts
    assert isinstance(part, ToolCall)
    assert _is_cut_from(json.loads(part.arguments), fields)


def _is_cut_from(now: Any, was: Any) -> bool:
    if isinstance(was, dict):
        return list(now) == list(was) and all(_is_cut_from(now[key], was[key]) for key in was)
    if isinstance(was, list):
        return len(now) == len(was) and all(map(_is_cut_from, now, was))
    if isinstance(was, str) and len(was) > 200:
        return now[:200] == was[:200]
    return now == was and type(now) is type(was)


def test_a_worth_is_that_of_a_family_that_there_is() -> None:
    """A name in `worth.toml` that `tools.toml` does not have would change nothing."""
    known = set(get_args(Family))
    assert {name for name in FAMILY_WORTH if name not in known} == set()


@each_row("kind", get_args(BlockKind))
def test_worth_falls_with_age(kind: BlockKind) -> None:
    values = [worth_of(kind, back) for back in range(60)]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1] >= 0


def test_a_name_that_is_shown_adds_nothing_more() -> None:
    """Of two pieces with the same name one is taken, and then the one with another name."""
    pieces = (
        BlockPiece(0, 0, 40, 5.0, ("alpha_1",)),
        BlockPiece(0, 1, 40, 4.9, ("alpha_1",)),
        BlockPiece(0, 2, 40, 4.8, ("beta_2",)),
    )
    taken = take([BlockGroup(0, 1, 10, 20.0, (), pieces)], 90, (), USED)
    assert {piece.order for piece in taken[0]} == {0, 2}


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
def test_a_size_that_was_asked_for_is_kept_and_every_law_with_it(
    provider: str, data: st.DataObject
) -> None:
    """Valid, all recallable, the newest request verbatim; no larger if the least there is fits."""
    items = data.draw(long_lists(provider))
    size = data.draw(st.integers(400, 6_000))
    made = compress(items, provider=provider, target_tokens=size)
    laws = broken_laws(items, made.messages, made.report, made.recall, provider=provider)
    assert laws == []
    least = compress(items, provider=provider, target_tokens=1).report.tokens_after
    if least <= 0.9 * size:
        assert made.report.tokens_after <= size


def test_a_size_is_kept_if_there_are_many_gaps() -> None:
    """Each of them may need a word between two messages of one role."""
    items: list[dict[str, Any]] = [{"role": "system", "content": "Be exact."}]
    for at in range(12):
        items += [
            {"role": "user", "content": f"Ask {at}: change value_{at} in file_{at}.py"},
            {"role": "assistant", "content": f"Step {at}. " + "It went on for a while. " * 30},
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": f"Reply {at}: value_{at} is changed."},
        ]
    items.append({"role": "user", "content": "Ask 12: go on, and mind file_0.py"})
    for size in range(500, 1_400, 25):
        assert (
            compress(items, provider="openai-chat", target_tokens=size).report.tokens_after <= size
        )


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
def test_the_same_size_twice_changes_nothing_more(provider: str, data: st.DataObject) -> None:
    """What is within a size comes back as it is; what cannot be is valid all the same."""
    items = data.draw(long_lists(provider))
    size = data.draw(st.sampled_from((500, 1_500, 4_000)))
    once = compress(items, provider=provider, target_tokens=size)
    again = compress(once.messages, provider=provider, target_tokens=size)
    if once.report.tokens_after <= size:
        assert again.messages is once.messages
    else:
        assert again.report.tokens_after <= once.report.tokens_after
    wrong = {found.rule for found in check(again.messages, provider=provider)}
    assert wrong <= {found.rule for found in check(items, provider=provider)}
    assert load(again.messages)
