"""Decisions and findings: what the agent chose, what it learned, and why."""

from __future__ import annotations

from tests.testing.rows import each_row

from foldaway.facts.dialogue.statements import decisions, is_choice


@each_row(
    "text",
    [
        "I'll use SQLite because it needs no server.",
        "I decided to keep the old parser.",
        "I went with a lock file instead of a lease.",
        "The root cause is a missing lock in `store.py`.",
        "Turns out the flag was never read.",
        "The test fails because the clock is mocked.",
        "根本原因是缓存没有刷新。",
        "La causa es un índice que falta.",
        "Ich verwende SQLite, weil kein Server nötig ist.",
        "Причина в том, что кэш не сброшен.",
    ],
)
def test_a_choice_or_a_finding_is_found(text: str) -> None:
    """The sentence comes back letter for letter."""
    assert decisions(f"Done so far.\n\n{text}\n") == (text,)


def test_steps_and_questions_are_no_decisions() -> None:
    """What the agent does next, asks or shows is not what it decided."""
    for text in (
        "Let me look at the file.", "All tests pass.", "Now I'll run the linter.",
        "Should I use X instead of Y?", "```\n# root cause is here\n```", "",
        "The real issue was:", "Now add a regression test.",
        "Maybe the cause is that we use the old parser instead of the new one.",
        "Next I'm going to use the cache instead of the file.",
        "The linter is currently unavailable, so the tests are blocked by that.",
    ):  # fmt: skip
        assert decisions(text) == (), text


def test_a_choice_is_no_finding() -> None:
    """A contrast is a choice only in what somebody says that they do."""
    for text in (
        "I'll use SQLite.",
        "I replaced the cookie with a session.",
        "We decided on one table a tenant.",
        "Use the pool instead of a connection.",
        "Ich verwende SQLite.",
    ):
        assert decisions(text) == (text,)
        assert is_choice(text), text
    for text in (
        "The root cause is a stale cookie.",
        "Now it shows 71.4% instead of 100%.",
        "The field is missing from the struct.",
        "Der Fehler ist im Cache, statt im Code.",
    ):
        assert decisions(text) == (text,)
        assert not is_choice(text), text
