"""A note and the ledger as one summary: the ledger first, each fact once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldaway.compaction.join import NOW, PROSE_SHARE, joined, lasting
from foldaway.facts.languages import phrases_for
from foldaway.facts.summary import SECTIONS, Entry, Section, Summary
from foldaway.transcript import Estimator

NOTE = phrases_for("en").made_without_model
LEDGER = Summary(
    {
        "goal": (Entry("First request: Fix the login in auth.py.", "m1", 200.0),),
        "completed": (Entry("changed: auth.py (check_session)", "m8", 104.0),),
        "files": (Entry("src/auth.py: changed 3 times", "m9", 120.0),),
        "critical": (Entry("bash: token lifetime is 3600 seconds", "m5", 40.0),
                     Entry(NOTE, "", 200.0)),
    },
    "ledger", 7,
)  # fmt: skip


def prose(**sections: list[str]) -> Summary:
    found: dict[Section, tuple[Entry, ...]] = {
        name: tuple(Entry(text, "m2", 50.0) for text in sections[name])
        for name in SECTIONS
        if sections.get(name)
    }
    return Summary(found, "model")


def texts(summary: Summary, section: Section) -> list[str]:
    return [row.text for row in summary.sections.get(section, ())]


def test_both_stand_in_one_summary() -> None:
    """The note first in its section, the ledger's words for what both tell, and no word that it
    was made without a model."""
    made = joined(
        prose(decisions=["Chose cookies, since headers are lost at the proxy."],
              critical=["The token lifetime is 3600 seconds in bash", "The proxy drops headers."]),
        LEDGER, 10_000,
    ).summary  # fmt: skip
    assert made.made_by == "model"
    assert list(made.sections) == ["goal", "completed", "files", "decisions", "critical"]
    assert texts(made, "critical") == [
        "The proxy drops headers.", "bash: token lifetime is 3600 seconds",
    ]  # fmt: skip


def test_an_ask_that_the_ledger_quotes_is_not_quoted_again() -> None:
    """By the message that it comes from."""
    note = Summary({"pending": (Entry("The user wrote: Fix the login", "m1"),)})
    assert joined(note, LEDGER, 10_000).summary is LEDGER


def test_a_note_that_adds_nothing_changes_nothing() -> None:
    """Then the summary is the ledger's, and says so."""
    assert joined(Summary({}), LEDGER, 10_000).summary is LEDGER


def test_a_better_sentence_takes_the_place_of_the_ledgers() -> None:
    """If it names all that the ledger's line names; weight and source stay. One that names less,
    or tells it a second time, does not."""
    better = "Changed check_session in auth.py, as it lost the cookie."
    made = joined(prose(completed=[better, f"{better} Again."]), LEDGER, 10_000).summary
    assert made.sections["completed"] == (Entry(better, "m8", 104.0),)
    worse = prose(completed=["Changed auth.py"])
    assert joined(worse, LEDGER, 10_000).summary is LEDGER


def test_what_is_said_of_a_changed_file_follows_the_ledgers_line() -> None:
    """One line for a file; what the ledger counted comes first."""
    made = joined(
        prose(files=["src/auth.py: holds the redirect", "src/web.py: routes"]), LEDGER, 10_000
    ).summary
    assert texts(made, "files") == [
        "src/web.py: routes", "src/auth.py: changed 3 times; holds the redirect",
    ]  # fmt: skip


def test_what_was_done_begins_with_the_ledgers_lines() -> None:
    """They are in order; where a sentence of the note belongs nobody knows."""
    made = joined(prose(completed=["The proxy_timeout was raised."]), LEDGER, 10_000).summary
    assert texts(made, "completed") == [
        "changed: auth.py (check_session)", "The proxy_timeout was raised.",
    ]  # fmt: skip


def test_what_was_added_and_verified_is_counted() -> None:
    """Entries that are in the text and name something, or quote the user; not those without a
    name, and not those that a budget left out."""
    note = prose(
        decisions=["Kept check_session, as tests use it.", "It went well."],
        constraints=["Never push."], critical=["The proxy_timeout is short."],
    )  # fmt: skip
    made = joined(note, LEDGER, 10_000)
    text = "- Kept check_session, as tests use it. [m2]\n- It went well.\n- Never push."
    assert len(made.added) == 4
    assert made.count_verified(text) == 2


def test_an_older_note_does_not_say_how_things_stand() -> None:
    """What happened since is only in the ledger."""
    note = prose(**{name: [f"Something about {name}."] for name in SECTIONS})
    assert set(note.sections) - set(lasting(note).sections) == NOW


@given(facts=st.lists(st.integers(0, 10_000), unique=True, max_size=60),
       words=st.lists(st.integers(20_000, 30_000), unique=True, min_size=1, max_size=60),
       budget=st.integers(150, 2_000))  # fmt: skip
def test_no_note_takes_the_room_of_what_is_needed(
    facts: list[int], words: list[int], budget: int
) -> None:
    """Whatever the note holds, every needed entry that the ledger alone would show is shown; the
    budget is kept, and the note has at most its share of the room."""
    counter = Estimator()
    needed = {f"value_{n} is needed for module_{n}.py" for n in facts[:10]}
    rows = [Entry(text, "m1", 120.0) for text in sorted(needed)]
    rows += [
        Entry(f"line_{n} of module_{n}.py", "m2", 90.0 - at) for at, n in enumerate(facts[10:])
    ]
    ledger = Summary({"critical": tuple(rows)} if rows else {})
    note = prose(decisions=[f"Decided option_{n} for part_{n}, as it fits." for n in words])
    room = budget * 3.0
    made = joined(note, ledger, room).summary
    added = sum(len(text) for text in texts(made, "decisions"))
    assert added <= room * PROSE_SHARE
    alone, both = (one.render(counter, budget) for one in (ledger, made))
    assert counter.count(both) <= budget
    shown = {text for text in needed if text in alone}
    assert len(shown - {text for text in needed if text in both}) <= 1
