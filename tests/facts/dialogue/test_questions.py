"""Questions: which sentences ask, and which only look like it."""

from __future__ import annotations

from foldaway.facts.dialogue.statements import questions


def test_a_question_is_taken_without_its_neighbours() -> None:
    """The sentence with the mark, not the line around it."""
    text = "I found two ways. Should I keep the old API, e.g. for tests? I would."
    assert questions(text) == ("Should I keep the old API, e.g. for tests?",)


def test_every_script_has_its_mark() -> None:
    """Full-width, Arabic and plain marks, and endings that ask without one."""
    for text in (
        "可以继续吗？", "続けてもいいですか？", "続けてもいいですか。", "可以继续吗",
        "계속할까요?", "계속할까요",
        "هل تريد المتابعة؟", "¿Quieres continuar?", "Quel port ?", "Продолжать?",
    ):  # fmt: skip
        assert questions(text) == (text,), text


def test_people_leave_the_mark_out() -> None:
    """A line that begins as questions do is one, a heading or a story is not."""
    assert questions("can you fix the lint errors") == ("can you fix the lint errors",)
    assert questions("ok, why is the test red") == ("ok, why is the test red",)
    for text in ("What was wrong", "What is new:", "How to run", "Is", "can you"):
        assert questions(text) == (), text


def test_code_and_addresses_do_not_ask() -> None:
    """A mark in code, in a URL or in backticks is none of a question."""
    for text in (
        "See https://example.com/a?b=1 for more.", "```\nis it?\n```", "Use `a?` there.",
        "const x = a ? b : c;", "???", "(?:a|b)?",
    ):  # fmt: skip
        assert questions(text) == (), text


def test_of_very_many_the_last_stay() -> None:
    """The end of a message is where its open questions stand; they keep their order."""
    text = "\n".join(f"Is step {n} done?" for n in range(100))
    assert questions(text) == tuple(f"Is step {n} done?" for n in range(70, 100))
