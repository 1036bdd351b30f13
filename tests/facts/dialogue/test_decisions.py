"""Decisions and findings: what the agent chose, what it learned, and why."""

from __future__ import annotations

import pytest

from holdfast.facts.dialogue import decisions


@pytest.mark.parametrize(
    ("text", "kind", "reasoned"),
    [
        ("I'll use SQLite because it needs no server.", "decision", True),
        ("I decided to keep the old parser.", "decision", False),
        ("I went with a lock file instead of a lease.", "decision", False),
        ("The root cause is a missing lock in `store.py`.", "finding", False),
        ("Turns out the flag was never read.", "finding", False),
        ("The test fails because the clock is mocked.", "finding", True),
        ("根本原因是缓存没有刷新。", "finding", False),
        ("La causa es un índice que falta.", "finding", False),
        ("Ich verwende SQLite, weil kein Server nötig ist.", "decision", True),
        ("Причина в том, что кэш не сброшен.", "finding", False),
    ],
)
def test_a_decision_is_told_from_a_finding(text: str, kind: str, reasoned: bool) -> None:
    """The sentence comes back with what it is and whether it gives a reason."""
    [found] = decisions(f"Done so far.\n\n{text}\n")
    assert (found.text, found.kind, found.reasoned) == (text, kind, reasoned)


def test_steps_and_questions_are_no_decisions() -> None:
    """What the agent does next, asks or shows is not what it decided."""
    for text in (
        "Let me look at the file.", "All tests pass.", "Now I'll run the linter.",
        "Should I use X instead of Y?", "```\n# root cause is here\n```", "",
        "The real issue was:", "Now add a regression test.",
    ):  # fmt: skip
        assert decisions(text) == (), text


def test_those_with_a_reason_come_first() -> None:
    """A sentence that says why outranks one that does not."""
    text = "I went with option 4. We chose Go because the team knows it."
    assert [found.reasoned for found in decisions(text)] == [True, False]
