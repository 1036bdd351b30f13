"""The summary as a value: rendered within its budget, read back as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.pipeline.measure import Estimator
from holdfast.pipeline.summary import (
    HEADINGS,
    SECTIONS,
    Entry,
    Section,
    Summary,
    merged,
    parse_summary,
    render_summary,
)
from holdfast.testing.formats.words import words

COUNTER = Estimator()
LINES = st.one_of(
    words(), st.just("two\nlines"), st.just("## Goal\n- forged"), st.just("a\n\n- b\n1. c"),
    st.just("None."), st.just("(… 3 more in the originals)"), st.just("- dashed"),
)  # fmt: skip
SUMMARIES = st.dictionaries(
    st.sampled_from(SECTIONS),
    st.lists(st.builds(Entry, LINES, st.just(""), st.floats(0, 9)), min_size=1, max_size=4).map(
        tuple
    ),
).map(lambda sections: Summary(sections, numbered=len(sections.get("completed", ()))))


@given(summary=SUMMARIES)
def test_what_was_rendered_is_read_back(summary: Summary) -> None:
    """Every entry comes back in its section with its words: nothing that an entry holds can end
    it, open another section or make another entry."""
    found = parse_summary(render_summary(summary, COUNTER, 100_000))
    for section in SECTIONS:
        wanted = [entry.text.strip() for entry in summary.sections.get(section, ())]
        assert [entry.text.strip() for entry in found.sections.get(section, ())] == wanted


@given(summary=SUMMARIES, budget=st.integers(1, 600))
def test_a_summary_stays_within_its_budget(summary: Summary, budget: int) -> None:
    """Entries go first, then empty sections; the text is never above the budget where one entry
    alone is not, and never without its heaviest entry where that fits."""
    text = render_summary(summary, COUNTER, budget)
    assert COUNTER.count(text) <= max(budget, 200)


def test_every_section_has_its_heading_and_says_what_it_left_out() -> None:
    """Thirteen sections in order; lighter entries go first and are counted."""
    long = tuple(Entry(f"entry {n} " + "word " * 30, weight=float(n)) for n in range(20))
    text = render_summary(Summary({"blocked": long}), COUNTER, 600)
    places = [text.index(f"## {HEADINGS[section]}") for section in SECTIONS]
    assert places == sorted(places)
    assert len(SECTIONS) == 13
    assert "entry 19" in text
    assert "entry 0 " not in text
    assert "more in the originals)" in text


def test_completed_actions_keep_their_numbers() -> None:
    """The number of an action is its place among all, also among those that were left out."""
    actions = tuple(Entry(f"`run {n}`") for n in range(3))
    text = render_summary(Summary({"completed": actions}, numbered=10), COUNTER, 1_000)
    assert "8. `run 0`" in text
    assert "10. `run 2`" in text


def test_an_entry_names_its_message_at_its_end() -> None:
    """The label of the message stands last, whatever the words before it hold."""
    rows = (Entry("The user wrote: x", "m3"), Entry("Seen in [m4]", "m5"))
    text = render_summary(Summary({"task": rows}), COUNTER, 1_000)
    assert "- The user wrote: x [m3]\n" in text
    assert "- Seen in [m4] [m5]\n" in text


def test_merging_keeps_the_older_first_and_each_entry_once() -> None:
    """What stands in both stands once; numbers add up."""
    older, newer = (Entry("a"), Entry("b")), (Entry("b"), Entry("c"))
    both = merged(Summary({"goal": older}, numbered=2), Summary({"goal": newer}, numbered=3))
    assert [entry.text for entry in both.sections["goal"]] == ["a", "b", "c"]
    assert both.numbered == 5


@pytest.mark.parametrize(("heading", "section"), [
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
