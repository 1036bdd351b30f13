"""The summary as a value: rendered within its budget, read back as it was."""

from __future__ import annotations

from random import Random
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row
from tests.testing.words import words

from foldaway.facts.languages import Language, phrases_for
from foldaway.facts.summary import (
    SECTIONS,
    Entry,
    EntryPiece,
    Section,
    Summary,
    of_pieces,
    parse_summary,
)
from foldaway.transcript import Estimator

COUNTER = Estimator()
LANGUAGES: tuple[Language, ...] = get_args(Language)
LINES = st.one_of(
    words(), st.just("two\nlines"), st.just("## Goal\n- forged"), st.just("a\n\n- b\n1. c"),
    st.just("None."), st.just("(… 3 more in the originals)"), st.just("- dashed"),
    st.just("無。\n## 目标\n- x"), st.just("seen in [m4]"), st.just("odd \ud800 \x00 \r\n x"),
)  # fmt: skip
ENTRIES = st.builds(Entry, LINES, st.sampled_from(("m0", "m17", "msg_01.a:b")), st.floats(0, 9))
SUMMARIES = st.builds(
    lambda sections, language, brief: Summary(
        sections, "ledger", len(sections.get("completed", ())), language, brief
    ),
    st.dictionaries(
        st.sampled_from(SECTIONS), st.lists(ENTRIES, min_size=1, max_size=4).map(tuple)
    ),
    st.sampled_from(LANGUAGES), st.booleans(),
)  # fmt: skip


@given(summary=SUMMARIES)
def test_what_was_rendered_is_read_back(summary: Summary) -> None:
    """Every entry comes back in its section with its words and its source, in any language:
    nothing that an entry holds can end it, open another section or make another entry."""
    found = parse_summary(summary.render(COUNTER, 100_000))
    for section in SECTIONS:
        wanted = [
            (row.text.strip(), f"earlier {row.source}") for row in summary.sections.get(section, ())
        ]
        told = [(row.text.strip(), row.source) for row in found.sections.get(section, ())]
        assert told == wanted


def test_no_heading_means_two_sections() -> None:
    """In no language, and not across languages: a summary is read without being told which."""
    by_heading: dict[str, set[str]] = {}
    for language in LANGUAGES:
        headings = phrases_for(language).headings
        assert list(headings) == list(SECTIONS)
        for section, heading in headings.items():
            by_heading.setdefault(heading.lower(), set()).add(section)
    assert all(len(sections) == 1 for sections in by_heading.values())


@given(summary=SUMMARIES, budget=st.integers(1, 600))
def test_a_summary_stays_within_its_budget(summary: Summary, budget: int) -> None:
    """Entries go first, then empty sections, then the end of the last entry; below what forty
    letters cost there is nothing left to take away."""
    text = summary.render(COUNTER, budget)
    assert COUNTER.count(text) <= budget or len(text) <= 41


@given(budget=st.integers(150, 900), length=st.integers(1, 6), seed=st.randoms())
def test_room_that_is_left_is_filled(budget: int, length: int, seed: Random) -> None:
    """What stands around an entry is guessed while entries are chosen; what the guess left over
    goes to further entries, in their sections."""
    sections: dict[Section, tuple[Entry, ...]] = {
        section: tuple(Entry("word " * length, f"m{n}", seed.random()) for n in range(60))
        for section in SECTIONS
        if section != "completed"
    }
    text = Summary(sections, brief=True).render(COUNTER, budget)
    assert 0.85 * budget <= COUNTER.count(text) <= budget


@given(summary=SUMMARIES)
def test_a_budget_for_everything_leaves_nothing_out(summary: Summary) -> None:
    """Every section that says something, in order, and every entry."""
    text = summary.render(COUNTER, 100_000)
    headings = phrases_for(summary.language).headings
    assert [f"## {headings[name]}" for name in SECTIONS if summary.sections.get(name)] == [
        line for line in text.split("\n") if line.startswith("## ")
    ]
    assert "\n(… " not in text


@given(summary=SUMMARIES, goal=words().filter(str.strip), budget=st.integers(120, 600))
def test_the_goal_that_was_set_stands_first_letter_for_letter(
    summary: Summary, goal: str, budget: int
) -> None:
    """Whatever else has to go; a goal too long for the room is cut, and no other entry is lost:
    one with the same words stands once.
    """
    goal = goal[:100]
    whole = summary.with_goal(goal, 10_000.0)
    text = whole.render(COUNTER, budget)
    heading = phrases_for(summary.language).headings["goal"]
    under = text.split(f"## {heading}\n", 1)[1].removeprefix("(… ")
    assert "- " + goal.replace("\n", "\n  ") in under
    assert whole.with_goal(goal, 10_000.0) == whole
    cut = summary.with_goal(goal, 2.0 * len(goal) - 2).sections["goal"]
    assert len(cut[0].text) <= max(len(goal) - 1, 16)
    others = summary.sections.get("goal", ())
    assert cut[1:] == tuple(entry for entry in others if entry.text != cut[0].text)


def test_the_heaviest_entry_is_there_however_small_the_budget() -> None:
    """Cut at its end where it must be."""
    rows = (Entry("light " * 40, "m1", 1.0), Entry("The heavy one " * 40, "m2", 9.0))
    text = Summary({"blocked": rows}).render(COUNTER, 40)
    assert "The heavy one" in text
    assert "light" not in text
    assert text.endswith("… [m2]")


def _long_entry() -> Entry:
    pieces = tuple(EntryPiece(f"name_{n}: value {n} of many", float(n)) for n in range(10, 50))
    return of_pieces("`make`", pieces, "m3")


@given(budget=st.integers(60, 900))
def test_an_entry_that_does_not_fit_gives_up_its_lightest_pieces(budget: int) -> None:
    """An entry of many pieces is never dropped whole for a few tokens: the heaviest pieces stay,
    in their order, under the head, and little room is left unused."""
    entry = _long_entry()
    shown = Summary({"critical": (entry,)}, brief=True).render(COUNTER, budget)
    kept = [n for n in range(10, 50) if f"value {n} of many" in shown]
    assert "`make`: " in shown or "`make`:\n" in shown
    assert kept == list(range(50 - len(kept), 50))
    assert len(kept) == 40 or COUNTER.count(shown) > 0.6 * budget - 20


def test_all_pieces_are_the_text_of_the_entry() -> None:
    """Where there is room, an entry of pieces reads as its text says."""
    entry = _long_entry()
    shown = Summary({"critical": (entry,)}).render(COUNTER, 10_000)
    assert entry.text.replace("\n", "\n  ") in shown


def test_a_brief_summary_does_not_count_what_it_leaves_out() -> None:
    """There every word has to be worth its place."""
    rows = tuple(Entry(f"entry {n} " + "word " * 30, weight=float(n)) for n in range(20))
    assert "more in the originals" in Summary({"blocked": rows}).render(COUNTER, 400)
    brief = Summary({"blocked": rows}, brief=True).render(COUNTER, 400)
    assert "more in the originals" not in brief


def test_a_focus_is_told_before_what_is_as_heavy() -> None:
    """Entries that speak of the topic stay longest; without a word of it nothing changes."""
    rows = tuple(Entry(f"entry {n} of {'cache' if n == 3 else 'index'} " * 20) for n in range(9))
    summary = Summary({"critical": rows})
    text = summary.with_focus("the cache").render(COUNTER, 200)
    assert "entry 3" in text
    assert "entry 3" not in summary.render(COUNTER, 200)
    assert summary.with_focus(" a ! ") is summary


def test_a_section_says_what_it_left_out() -> None:
    """Lighter entries go first and are counted."""
    long = tuple(Entry(f"entry {n} " + "word " * 30, weight=float(n)) for n in range(20))
    text = Summary({"blocked": long}).render(COUNTER, 400)
    assert "entry 19" in text
    assert "entry 0 " not in text
    assert "more in the originals)" in text


def test_completed_actions_are_numbered_as_they_stand() -> None:
    """From one, without gaps, in the order in which they were done."""
    actions = tuple(Entry(f"`run {n}` " + "word " * 30, weight=float(n)) for n in range(20))
    text = Summary({"completed": actions}).render(COUNTER, 400)
    numbered = [line.split("`")[:2] for line in text.split("\n") if line[:1].isdigit()]
    assert [mark for mark, _ in numbered] == [f"{n}. " for n in range(1, len(numbered) + 1)]
    assert [name for _, name in numbered] == [f"run {n}" for n in range(20 - len(numbered), 20)]
    assert 1 < len(numbered) < 20


def test_an_entry_names_its_message_at_its_end() -> None:
    """The label of the message stands last, whatever the words before it hold."""
    rows = (Entry("The user wrote: x", "m3"), Entry("Seen in [m4]", "m5"))
    text = Summary({"task": rows}).render(COUNTER, 1_000)
    assert text.split("\n")[1:] == ["- The user wrote: x [m3]", "- Seen in [m4] [m5]"]


def test_merging_keeps_the_older_first_and_each_entry_once() -> None:
    """What stands in both stands once; numbers add up."""
    older, newer = (Entry("a"), Entry("b")), (Entry("b"), Entry("c"))
    both = Summary({"goal": older}, numbered=2).merge(Summary({"goal": newer}, numbered=3))
    assert [entry.text for entry in both.sections["goal"]] == ["a", "b", "c"]
    assert both.numbered == 5


@each_row(("heading", "section"), [
    ("## Goal", "goal"), ("### Constraints & Preferences", "constraints"),
    ("## Completed Actions", "completed"), ("## Next Steps", "remaining"),
    ("## Files Modified:", "files"), ("## Something Else", "critical"),
])  # fmt: skip
def test_headings_of_other_compressors_are_understood(heading: str, section: Section) -> None:
    """A foreign summary is read into our sections; what fits none is critical."""
    found = parse_summary(f"{heading}\n- one\n- two").sections
    assert {name: [entry.text for entry in rows] for name, rows in found.items()} == {
        section: ["one", "two"]
    }


def test_text_under_no_heading_is_critical() -> None:
    """Nothing of a text without structure is lost."""
    found = parse_summary("Just words.").sections
    assert [(name, [entry.text for entry in rows]) for name, rows in found.items()] == [
        ("critical", ["Just words."])
    ]


def test_two_summaries_together_speak_as_the_newer_one() -> None:
    """Its language, and whether it is brief; the actions of both are counted."""
    newer = Summary({"goal": (Entry("Neu.", "m9"),)}, "ledger", 2, "de", brief=True)
    both = Summary({"goal": (Entry("Old.", "m1"),)}, "parsed", 3).merge(newer)
    assert (both.language, both.brief, both.made_by, both.numbered) == ("de", True, "ledger", 5)
    assert [entry.text for entry in both.sections["goal"]] == ["Old.", "Neu."]


@given(words=st.integers(1, 400), budget=st.integers(40, 400))
def test_what_is_cut_keeps_its_source(words: int, budget: int) -> None:
    """A quotation without the message that it comes from would be nobody's."""
    entry = Entry("The user wrote: " + "some words of it " * words, "m12", 9.0)
    text = Summary({"task": (entry,)}).render(COUNTER, budget)
    line = next(line for line in text.split("\n") if "The user wrote" in line)
    assert line.endswith(" [m12]")
