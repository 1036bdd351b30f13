"""Which facts go into a summary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldaway.facts.ledger import Fact, Ledger, update
from foldaway.facts.ledger.rank import Candidate, TermWeights, choose, find_topic

TERMS = st.lists(st.integers(0, 12).map(lambda n: f"term_{n}"), max_size=4).map(tuple)
CANDIDATES = st.lists(
    st.builds(
        lambda terms, size, base: Candidate(Fact("line", "x" * size, "m1", 1, terms=terms), base),
        TERMS, st.integers(1, 60), st.sampled_from((0.0, 0.05, 3.0)),
    ), max_size=20,
)  # fmt: skip


def weights(ledger: Ledger | None = None, topic: str = "") -> TermWeights:
    return TermWeights(ledger or Ledger(), frozenset(), find_topic(topic))


@given(rows=CANDIDATES, room=st.integers(0, 400))
def test_what_is_chosen_fits(rows: list[Candidate], room: int) -> None:
    """Each candidate at most once, together no longer than the room, and the same every time."""
    taken = choose(rows, weights(), room)
    assert sum(len(row.fact.text) for row in taken) <= room
    counts = [sum(row is one for one in rows) for row in taken]
    assert all(count >= 1 for count in counts)
    assert len(taken) <= len(rows)
    assert choose(rows, weights(), room) == taken


@given(rows=CANDIDATES)
def test_with_room_for_all_whatever_adds_something_is_there(rows: list[Candidate]) -> None:
    """Every term is said, and nothing is there that has neither a term nor a worth of its own."""
    taken = choose(rows, weights(), 10_000)
    said = {term for row in taken for term in row.fact.terms}
    assert said == {term for row in rows for term in row.fact.terms}
    assert all(row.fact.terms or row.base for row in taken)


@given(rows=CANDIDATES, told=st.lists(st.integers(0, 12).map(lambda n: f"term_{n}"), max_size=12))
def test_what_is_told_anyway_is_not_told_again(rows: list[Candidate], told: list[str]) -> None:
    """A candidate whose terms all stand in the summary and that has no worth of its own is out."""
    taken = choose(rows, weights(), 10_000, told)
    assert all(set(row.fact.terms) - set(told) or row.base for row in taken)


@given(rows=CANDIDATES, room=st.integers(0, 400))
def test_what_is_left_out_does_not_fit_or_adds_nothing(rows: list[Candidate], room: int) -> None:
    """The choice ends where no candidate fits, not before."""
    taken = choose(rows, weights(), room)
    left = room - sum(len(row.fact.text) + 6 for row in taken)
    said = {term for row in taken for term in row.fact.terms}
    for row in rows:
        if not any(row is one for one in taken) and (row.base or set(row.fact.terms) - said):
            assert len(row.fact.text) + 6 > left


def test_a_second_line_with_the_same_terms_adds_nothing() -> None:
    """The shorter one says it."""
    short = Candidate(Fact("line", "port_a", "m1", 1, terms=("port_a",)))
    long = Candidate(Fact("line", "port_a and so on " * 3, "m1", 1, terms=("port_a",)))
    assert choose([long, short], weights(), 1_000) == [short]


def test_what_the_user_named_comes_first() -> None:
    """Before what only a tool printed; a topic before both."""
    ask = Fact("ask", "Look at user_x.", "m0", 0, terms=("user_x",))
    ledger = update(Ledger(), [ask])
    rows = [
        Candidate(Fact("line", f"{name} here", "m1", 1, terms=(name,)))
        for name in ("tool_x", "user_x", "topic_x")
    ]
    best = choose(rows, weights(ledger), 1_000)
    assert best[0].fact.terms == ("user_x",)
    lifted = choose(rows, weights(ledger, "topic_x"), 1_000)
    assert [row.fact.terms[0] for row in lifted] == ["topic_x", "user_x", "tool_x"]
