"""Notes that go on from each other: nothing erodes, nothing nests, numbers go on."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from foldaway.facts.summary import SECTIONS, Entry, Section, Summary
from foldaway.summarizers.asking.answer import merge_prose

KEPT: tuple[Section, ...] = ("goal", "constraints", "completed", "decisions", "resolved", "files",
                             "critical")  # fmt: skip
FACTS = st.integers(0, 60).map(lambda n: f"Set option_{n} in conf_{n}.toml to {n * 37 + 100}.")


def note(**sections: list[str]) -> Summary:
    found: dict[Section, tuple[Entry, ...]] = {
        name: tuple(map(Entry, sections[name])) for name in SECTIONS if sections.get(name)
    }
    return Summary(found, "model", len(sections.get("completed", [])))


def told(summary: Summary) -> dict[str, list[str]]:
    return {name: [row.text for row in rows] for name, rows in summary.sections.items()}


def test_finished_work_moves() -> None:
    """From under way to done, from open to answered; it stands once."""
    before = note(
        in_progress=["Fixing the login redirect in auth.py"], remaining=["Write docs for the API"],
        pending=["Which database should be used?"], blocked=["Docker build fails on arm64"],
    )  # fmt: skip
    after = note(
        completed=["Fixed the login redirect in auth.py on 2026-11-15"],
        in_progress=["Writing docs for the API"],
        resolved=["Which database should be used: SQLite", "Docker build fails on arm64: fixed"],
    )  # fmt: skip
    assert told(merge_prose(before, after)) == told(after)


def test_what_a_forgetful_model_leaves_out_stays() -> None:
    """An empty or missing section takes nothing away."""
    before = note(goal=["Ship v2"], decisions=["Use msgspec"], files=["a.py: changed"],
                  in_progress=["Testing the parser"], critical=["Port 8443"])  # fmt: skip
    after = merge_prose(before, note(state=["On branch main"]))
    assert told(after) == {**told(before), "state": ["On branch main"]}


def test_how_things_stand_is_written_anew() -> None:
    """An older state beside the new one would be a contradiction."""
    before = note(state=["On branch main"], task=["First ask"])
    after = merge_prose(before, note(state=["On branch dev"]))
    assert told(after) == {"task": ["First ask"], "state": ["On branch dev"]}


def test_an_entry_that_names_less_does_not_replace_one_that_names_more() -> None:
    """Facts do not erode by being told again in fewer words."""
    before = note(decisions=["Set the timeout in server.toml to 4500 ms for the proxy"])
    after = merge_prose(before, note(decisions=["Set the timeout for the proxy"]))
    assert told(after) == told(before)
    more = note(decisions=["Set the timeout in server.toml to 4500 ms for the proxy of edge_7"])
    assert told(merge_prose(before, more)) == told(more)


def test_entries_about_different_things_both_stay() -> None:
    """The same words about another file are another fact."""
    before = note(completed=["Fixed the import order in a.py"])
    after = merge_prose(before, note(completed=["Fixed the import order in b.py"]))
    assert len(after.sections["completed"]) == 2
    assert after.numbered == 2


@given(rounds=st.lists(st.dictionaries(st.sampled_from(KEPT), st.lists(FACTS, max_size=2),
                                       max_size=2), min_size=8, max_size=8))  # fmt: skip
def test_nothing_erodes_in_eight_rounds(rounds: list[dict[str, list[str]]]) -> None:
    """Whatever was told once in a section that keeps is still told at the end; numbers only grow,
    and a fact stands once in its section."""
    so_far: Summary | None = None
    for sections in rounds:
        numbered = so_far.numbered if so_far else 0
        so_far = merge_prose(so_far, note(**sections))
        assert numbered <= so_far.numbered
    assert so_far is not None
    for name in KEPT:
        expected = {fact for sections in rounds for fact in sections.get(name, [])}
        found = [row.text for row in so_far.sections.get(name, ())]
        assert set(found) == expected
        assert len(found) == len(expected)
    assert so_far.numbered == len({f for s in rounds for f in s.get("completed", [])})


@given(st.dictionaries(st.sampled_from(SECTIONS), st.lists(FACTS, min_size=1, max_size=4)))
def test_merging_a_note_with_itself_changes_nothing(sections: dict[str, list[str]]) -> None:
    """Nothing doubles, nothing nests, nothing is counted twice."""
    once = merge_prose(None, note(**{k: list(dict.fromkeys(v)) for k, v in sections.items()}))
    again = merge_prose(once, once)
    assert told(again) == told(once)
    assert again.numbered == once.numbered


def test_many_rounds_stay_bounded() -> None:
    """Thirty rounds of long entries take no more than a few do, and hardly any time."""
    so_far: Summary | None = None
    started = time.process_time()
    for number in range(30):
        rows = {name: [f"item_{number}_{k} " + f"w{number}_{k} " * 180 for k in range(10)]
                for name in SECTIONS}  # fmt: skip
        so_far = merge_prose(so_far, note(**rows))
    assert so_far is not None
    assert sum(len(row.text) for rows in so_far.sections.values() for row in rows) <= 24_000
    assert so_far.numbered == 300
    assert time.process_time() - started < 4
