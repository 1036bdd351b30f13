"""Facts taken into a ledger: in rounds as at once, bounded, written and read back."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldaway.facts.effects.effect import Action, Effect
from foldaway.facts.ledger import Fact, FactKind, Ledger, update

KINDS: tuple[FactKind, ...] = get_args(FactKind)
ACTIONS: tuple[Action, ...] = get_args(Action)
WORDS = ("", "a", "b", "a b", "x/y.py", "é ü", "长", "two\nlines", "w" * 90)
KEYS = ("", "k", "other", "chdir", "branch", "commit", "start", "stop")
PATHS = ("", "a.py", "./a.py", "b/../a.py", "b.py", "/", "..")

EFFECTS = st.builds(
    Effect, st.sampled_from(ACTIONS), st.sampled_from(PATHS), st.sampled_from(PATHS),
    st.sampled_from(WORDS),
)  # fmt: skip
TERMS = st.lists(st.sampled_from(("t1", "t2", "t3", "t4")), max_size=4).map(tuple)
FACTS = st.builds(
    Fact, st.sampled_from(KINDS), st.sampled_from(WORDS), st.sampled_from(("m0", "m1", "m2")),
    st.integers(0, 9), st.sampled_from(KEYS), st.booleans(), TERMS, st.none() | EFFECTS,
    st.sampled_from(WORDS), st.sampled_from(("", "agent", "user")),
)  # fmt: skip


def written(ledger: Ledger) -> bytes:
    """The ledger with the order of everything in it: `==` on dicts does not see that."""
    return msgspec.json.encode(ledger)


@given(first=st.lists(FACTS, max_size=40), second=st.lists(FACTS, max_size=40))
def test_facts_in_two_rounds_are_facts_in_one(first: list[Fact], second: list[Fact]) -> None:
    """update(update(empty, a), b) equals update(empty, a + b), in order too."""
    rounds = update(update(Ledger(), first), second)
    assert rounds == update(Ledger(), first + second)
    assert written(rounds) == written(update(Ledger(), first + second))


@given(rows=st.lists(FACTS, max_size=60))
def test_facts_one_by_one_are_facts_at_once(rows: list[Fact]) -> None:
    """A round for each fact gives the same ledger, and no facts change nothing."""
    ledger = Ledger()
    for row in rows:
        ledger = update(ledger, [row])
    assert written(update(ledger, ())) == written(update(Ledger(), rows))


@given(rows=st.lists(FACTS, max_size=40))
def test_a_ledger_comes_back_from_json(rows: list[Fact]) -> None:
    """It is written with the state of a session, and what is read is what was written."""
    ledger = update(Ledger(), rows)
    found = msgspec.json.decode(written(ledger), type=Ledger)
    assert found == ledger
    assert written(found) == written(ledger)


def many(seed: int, count: int, kinds: tuple[FactKind, ...] = KINDS) -> list[Fact]:
    """Facts that pass every bound: thousands of texts, keys and paths, many of them twice."""
    chance = random.Random(seed)
    made: list[Fact] = []
    for at in range(count):
        number = chance.randrange(count // 2)
        terms = tuple(f"t{chance.randrange(9)}" for _ in range(chance.randrange(4)))
        action = chance.choice(ACTIONS)
        effect = Effect(action, f"d/f{number}.py", f"d/f{chance.randrange(count)}.py")
        key = chance.choice((f"k{number}", *KEYS))
        made.append(
            Fact(chance.choice(kinds), f"text {number} {'x' * (number % 9)}",
                 f"m{at}", at, key, chance.random() < 0.3, terms, effect)
        )  # fmt: skip
    return made


@settings(max_examples=6)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(0, 12_000), min_size=1, max_size=3))
@pytest.mark.soak
def test_rounds_make_no_difference_where_bounds_are_passed(seed: int, cuts: list[int]) -> None:
    """What was let go in an earlier round would have been let go at the end, and nothing else."""
    rows = many(seed, 12_000)
    ledger, start = Ledger(), 0
    for stop in (*sorted(cuts), len(rows)):
        ledger = update(ledger, rows[start:stop])
        start = stop
    assert written(ledger) == written(update(Ledger(), rows))


@settings(max_examples=4)
@given(seed=st.integers(0, 10**6), cut=st.integers(1, 12_000))
@pytest.mark.parametrize("kind", [("line",), ("file",), ("error", "command"), ("ask",)])
def test_rounds_make_no_difference_for_one_kind_far_above_its_bound(
    kind: tuple[FactKind, ...], seed: int, cut: int
) -> None:
    """Also where a single kind passes its bound many times over."""
    rows = many(seed, 12_000, kind)
    rounds = update(update(Ledger(), rows[:cut]), rows[cut:])
    assert written(rounds) == written(update(Ledger(), rows))


def test_a_line_that_comes_again_with_less_in_it_makes_no_difference_between_rounds() -> None:
    """It keeps what it was worth: otherwise one that was let go would be missed only in rounds."""
    good = [Fact("line", f"line {n}", "m1", 1, terms=("t1", "t2")) for n in range(9_000)]
    good = good[: len(update(Ledger(), good).lines)]
    poor = Fact("line", "poor one", "m0", 0, terms=("t1",))
    again = Fact("line", good[0].text, "m2", 2)
    rounds = update(update(Ledger(), [poor, *good]), [again])
    assert written(rounds) == written(update(Ledger(), [poor, *good, again]))


def sizes(ledger: Ledger) -> dict[str, int]:
    return {
        name: len(value)
        for name in ledger.__struct_fields__
        if isinstance(value := getattr(ledger, name), (tuple, dict))
    }


def test_every_part_of_a_ledger_is_bounded() -> None:
    """Whatever comes, and however much of it."""
    full = sizes(update(Ledger(), many(1, 12_000)))
    assert max(full.values()) <= 4_000
    for kind in ("line", "file", "ask", "error", "place"):
        rows = many(2, 12_000, (kind,))
        assert max(sizes(update(Ledger(), rows)).values()) <= 4_000, kind


@given(sizes=st.lists(st.integers(0, 6), min_size=1, max_size=6), extra=st.integers(1, 40))
@settings(max_examples=20)
def test_the_lines_that_stay_hold_most_for_their_length(sizes: list[int], extra: int) -> None:
    """Of those that hold as much, the newest; all in the order in which they came."""
    rows = [
        Fact("line", f"line {n:05}", "m1", n // 3, terms=("term",) * sizes[n % len(sizes)])
        for n in range(1_500 + extra)
    ]
    order = sorted(rows, key=lambda row: (len(row.terms), row.at, row.text), reverse=True)
    best = {row.text for row in order[:1_500]}
    assert list(update(Ledger(), rows).lines) == [row.text for row in rows if row.text in best]


def test_the_first_ask_stays_however_many_follow() -> None:
    """It is what all of it is about."""
    asks = update(Ledger(), [Fact("ask", f"Ask {n}.", f"m{n}", n) for n in range(5_000)]).asks
    assert [ask.fact.text for ask in asks[:2]] == ["Ask 0.", f"Ask {5_001 - len(asks)}."]
    assert asks[-1].fact.text == "Ask 4999."


def test_one_failure_with_very_many_lines_is_bounded() -> None:
    """Thousands of error lines under one key in one message: the first are kept."""
    rows = [Fact("error", f"line {n}", "m1", 1, "make") for n in range(5_000)]
    [held] = update(Ledger(), rows).errors.values()
    assert len(held) <= 24
    assert held[0].text == "line 0"


def test_a_changed_file_stays_where_thousands_are_only_read() -> None:
    """Of very many files those that were only read go first."""
    changed = Fact("file", "kept.py", "m0", 0, effect=Effect("change", "kept.py"))
    reads = [
        Fact("file", f"f{n}", f"m{n}", n, effect=Effect("read", f"f{n}")) for n in range(9_000)
    ]
    files = update(Ledger(), [changed, *reads]).files
    assert files["kept.py"].changed == 1
    assert "f8999" in files
    assert "f0" not in files


def calls_in(work: Callable[[], object]) -> int:
    """The calls of functions, in Python and in C, that some work makes."""
    count = 0

    def seen(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("kind", ["line", "file", "ask", "error", "command", "place"])
@pytest.mark.soak
def test_three_times_the_facts_are_three_times_the_work(kind: FactKind) -> None:
    """Counted in calls: nothing is walked again for each fact; quadratic work would be nine."""
    few, more = many(3, 10_000, (kind,)), many(3, 30_000, (kind,))
    work = [calls_in(lambda rows=rows: update(Ledger(), rows)) for rows in (few, more)]
    assert work[1] < 5 * work[0]


def test_a_line_that_comes_again_is_the_newest() -> None:
    """It stands at its last place, with its last message."""
    rows = [
        Fact("line", "alpha_1", "m1", 1, terms=("alpha_1",)),
        Fact("line", "beta_2", "m2", 2, terms=("beta_2",)),
        Fact("line", "alpha_1", "m3", 3, terms=("alpha_1",)),
    ]
    lines = update(Ledger(), rows).lines
    assert [(text, fact.source) for text, fact in lines.items()] == [
        ("beta_2", "m2"),
        ("alpha_1", "m3"),
    ]


def test_of_too_many_lines_those_of_worth_stay() -> None:
    """What a line is worth beside its terms counts where lines are let go, too."""
    first = Fact("line", "cat: notes: No such file", "m0", 0, worth=40.0)
    rows = [Fact("line", f"name_{n}", "m1", 1, terms=(f"name_{n}",)) for n in range(6_000)]
    assert first.text in update(Ledger(), [first, *rows]).lines
