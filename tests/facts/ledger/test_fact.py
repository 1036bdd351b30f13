"""Facts without secrets, and facts that can be written."""

from __future__ import annotations

from typing import get_args

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from foldaway.facts.effects.effect import Effect
from foldaway.facts.ledger import Fact, FactKind
from foldaway.facts.ledger.fact import encodable, redact_fact, without_secrets

SECRET = "hush-4f9a2c"
WORDS = st.sampled_from(
    ("", "plain", SECRET, f"a {SECRET} b", f"x/{SECRET}.py", "\ud800 é", "\udc00")
)
TERMS = st.lists(st.sampled_from(("plain", SECRET, "a_b", "\ud800")), max_size=3).map(tuple)
EFFECTS = st.builds(
    Effect, st.sampled_from(("read", "rename", "commit")), WORDS, WORDS, detail=WORDS
)
FACTS = st.builds(
    Fact, st.sampled_from(get_args(FactKind)), WORDS, st.just("m1"), st.just(1), WORDS,
    st.booleans(), TERMS, st.none() | EFFECTS, WORDS, WORDS,
)  # fmt: skip


def masked(text: str) -> str:
    return text.replace(SECRET, "***")


def in_order(fact: Fact) -> Fact:
    """A fact as it is taken: its terms stand in its text."""
    return msgspec.structs.replace(
        fact, terms=tuple(term for term in fact.terms if term in fact.text)
    )


@given(fact=FACTS.map(in_order))
def test_no_part_of_a_redacted_fact_holds_a_secret(fact: Fact) -> None:
    """Text, key, head, terms and what its effect names; twice is once."""
    made = redact_fact(fact, masked)
    assert SECRET not in repr(made)
    assert redact_fact(made, masked) == made
    assert (made.kind, made.source, made.at, made.failed) == (
        fact.kind, fact.source, fact.at, fact.failed,
    )  # fmt: skip


@example(rows=[Fact("file", "a", "m1", 1, effect=Effect("rename", "a", SECRET))], times=1)
@example(rows=[Fact("place", "a", "m1", 1, effect=Effect("commit", detail=SECRET))], times=1)
@given(rows=st.lists(FACTS.map(in_order), max_size=9), times=st.sampled_from((1, 60)))
def test_facts_are_redacted_together_as_one_by_one(rows: list[Fact], times: int) -> None:
    """Looking at many at once overlooks none."""
    rows = rows * times
    assert list(without_secrets(rows, masked)) == [redact_fact(row, masked) for row in rows]
    assert without_secrets(rows, str) is rows


@given(fact=FACTS.map(in_order))
def test_every_fact_can_be_written(fact: Fact) -> None:
    """A lone surrogate becomes the mark for an unknown letter; nothing else changes."""
    made = encodable(fact)
    assert msgspec.json.decode(msgspec.json.encode(made), type=Fact) == made
    assert repr(made) == repr(fact).replace("\\ud800", "\ufffd").replace("\\udc00", "\ufffd")
