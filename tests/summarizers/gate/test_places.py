"""A number is held against what its sentence is about, and a source against its sentence."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.compaction.compact import Plan
from foldaway.compaction.work import CompactionState
from foldaway.facts.summary import Entry, Summary
from foldaway.summarizers.gate.check import Checked, check
from foldaway.summarizers.gate.evidence import TermIndexBuilder, evidence_of, numbers_in, terms_in
from foldaway.summarizers.material import material_of
from foldaway.testing import assistant, call, result, talk, user
from foldaway.transcript import Message

Planned = Callable[..., Plan]
LOG = talk(
    user("How long do sessions live, and what failed?"),
    assistant("Looking.", call("bash", command="grep -rn lifetime src\n900")),
    result("src/session.py:118: lifetime = 3600"),
    assistant("The cache holds 4096 entries and version 1.12.3 of the driver."),
    user("And the port?"),
    assistant("The server listens on port 8443 since 2026-01-31."),
    user("Thanks, go on."),
    assistant("The tail mentions lifetime 7777."),
    user("Last words."),
).messages


def checked(planned: Planned, log: tuple[Message, ...], *rows: tuple[str, str]) -> Checked:
    note = Summary({"decisions": tuple(Entry(*row) for row in rows)}, "model")
    return check(note, evidence_of(material_of(planned(log, keep_last=2)), now="2026-11-15"))


def told(made: Checked) -> list[tuple[str, str]]:
    return [(row.text, row.source) for row in made.summary.sections["decisions"]]


@each_row(("text", "source"), [
    ("The lifetime is 3600.", "m2"),
    ("Sessions live 3600 seconds, see src/session.py.", ""),
    ("It is 3600.", "m2"),
    ("The cache holds 4096 entries.", ""),
    ("The driver has version 1.12.", "m3"),
    ("Version 1.12.3 of the driver.", ""),
    ("Line 118 of session.py sets it.", ""),
    ("It listens on 8443 since 2026-01-31.", ""),
    ("The lifetime was looked for with 900.", ""),
    ("All of it was checked on 2026-11-15.", "m3"),
])  # fmt: skip
def test_a_number_beside_its_subject_is_verified(planned: Planned, text: str, source: str) -> None:
    """In the message that is cited, else in one with another word of the sentence; the date that
    the model was given holds anywhere."""
    made = checked(planned, LOG, (text, source))
    assert made.verified == 1
    assert told(made)[0][0] == text


@each_row(("text", "source"), [
    ("The lifetime is 4096.", ""),
    ("The lifetime is 4096.", "m2"),
    ("The lifetime is 8443, as the grep shows.", "m2"),
    ("The port is 3600.", ""),
    ("The port is 1.12.", ""),
    ("It is 3600.", ""),
    ("The lifetime is 7777.", ""),
    ("The lifetime is 360.", "m2"),
    ("The port is 3600ms.", ""),
])  # fmt: skip
def test_a_number_from_elsewhere_is_dropped(planned: Planned, text: str, source: str) -> None:
    """Although it is in the log; also if only the messages that stay live have it."""
    made = checked(planned, LOG, (text, source), ("So it was.", ""))
    assert (made.verified, made.dropped) == (0, 1)
    assert told(made) == [("So it was.", "")]


@each_row(("row", "left"), [
    (("The lifetime is kept.", "m2"), "m2"),
    (("The lifetime is kept.", "m5"), ""),
    (("Caching was left as it was.", "m3"), "m3"),
    (("So it was.", "m3"), "m3"),
    (("The port is open. The lifetime is kept.", "m5"), "m5"),
    (("src/session.py was read.", "m5"), ""),
])  # fmt: skip
def test_a_source_shares_a_word_with_its_sentence(
    planned: Planned, row: tuple[str, str], left: str
) -> None:
    """Otherwise it is taken off, and nothing else; words that stand everywhere tell nothing."""
    assert told(checked(planned, LOG, row)) == [(row[0], left)]


def test_a_sentence_without_its_source_is_judged_as_if_it_cited_none(planned: Planned) -> None:
    """A wrong id does not cost a right number its place."""
    made = checked(planned, LOG, ("The lifetime is 3600.", "m5"))
    assert told(made) == [("The lifetime is 3600.", "")]
    assert made.verified == 1


def test_what_an_earlier_note_said_of_a_number_still_holds(planned: Planned) -> None:
    """Also where the log no longer shows it; a mark of then counts as no evidence."""
    rows = (Entry("The quota of workers is 5120."), Entry("The depth is 6144. (not verified)"))
    state = CompactionState(prose=Summary({"decisions": rows}))
    evidence = evidence_of(material_of(planned(LOG, state=state)))
    note = Summary({"decisions": (Entry("Workers have a quota of 5120."), Entry("Depth: 6144."))})
    made = check(note, evidence)
    assert (made.verified, made.dropped) == (1, 1)


TOPICS = ("harbour", "lantern", "meadow", "violin", "glacier", "pepper")
OTHERS = ("bucket", "stirrup", "compass", "thunder", "walnut", "ribbon")
WORDS = {
    name: st.lists(st.sampled_from(words), min_size=1, max_size=4, unique=True)
    for name, words in (("topic", TOPICS), ("other", OTHERS))
}
NUMBERS = st.one_of(
    st.integers(100, 10**9).map(str),
    st.tuples(st.integers(10, 99), st.integers(10, 99)).map(lambda row: f"{row[0]}.{row[1]}"),
    st.dates().map(str),
    st.integers(100, 9_999).map(lambda number: f"{number}ms"),
)
AROUND = st.sampled_from(("{}", "={}", "({})", "{}, 7", "x: {}", "`{}`", "\n{}\n", "#{}"))


@given(number=NUMBERS, around=AROUND, source=st.sampled_from(("", "m1", "m2", "m99")), **WORDS)
def test_a_number_of_an_unrelated_message_is_never_verified(
    planned: Planned, number: str, around: str, source: str, topic: list[str], other: list[str]
) -> None:
    """However it is written there, and whichever message the sentence cites but that one."""
    log = talk(
        user("Begin, please."), assistant(f"About {' '.join(topic)}."),
        user("And then?"), assistant(f"{' '.join(other)} {around.format(number)}"),
        user("Good."), assistant("Yes."), user("Last words."),
    ).messages  # fmt: skip
    lie = Entry(f"The {' '.join(topic)} has {number}.", source)
    note = Summary({"decisions": (lie, Entry("So it was."))})
    made = check(note, evidence_of(material_of(planned(log)), now=""))
    assert made.verified == 0
    related = Summary({"decisions": (Entry(f"The {other[0]} has {number}.", ""),)})
    assert check(related, evidence_of(material_of(planned(log)), now="")).verified == 1


PIECES = st.sampled_from((
    "The lifetime is 3600.", "The port is 3600.", "It listens on 8443.", "See src/session.py.",
    "Wrote src/ghost.py.", "The cache is 4096ms.", "So it was.", "Version 1.12.",
))  # fmt: skip
ENTRIES = st.builds(
    Entry,
    st.lists(PIECES, min_size=1, max_size=3).map(" ".join),
    st.sampled_from(("", "m2", "m3", "m5", "m7", "m99", "earlier m2")),
)


@given(rows=st.lists(ENTRIES, min_size=1, max_size=4))
def test_checking_twice_is_checking_once(planned: Planned, rows: list[Entry]) -> None:
    """Also where a source is taken off, or held by a sentence that is dropped."""
    evidence = evidence_of(material_of(planned(LOG, keep_last=2)))
    first = check(Summary({"decisions": (*rows, Entry("So it was."))}), evidence)
    assert check(first.summary, evidence).summary == first.summary


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a", "1", "1.", "1:2-", "漢", "12 ", "a1 ", "é", "\ud800", "_"])
def test_the_index_is_linear_in_the_log(piece: str) -> None:
    """Endless words and numbers too."""
    text = piece * (1_000_000 // len(piece))
    started = time.process_time()
    TermIndexBuilder().add(text, 0)
    terms_in(text)
    numbers_in(text)
    assert time.process_time() - started < 4
