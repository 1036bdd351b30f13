"""Questions to the user."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "AskUserQuestion",
        {
            "questions": [
                {"question": "Which version?", "header": "Version", "options": []},
                {"question": "Push now?"},
            ]
        },
        (
            'User has answered your questions: "Which version?"="0.6.0", "Push now?"="No, '
            "wait\". You can now continue with the user's answers in mind."
        ),
        "AskUserQuestion 'Which version?': '0.6.0'; 'Push now?': 'No, wait'",
    ),
    (
        "ask_followup_question",
        {"question": "Tabs or spaces?"},
        "<answer>\nspaces, please\n</answer>",
        "ask_followup_question 'Tabs or spaces?': spaces, please",
    ),
    (
        "clarify",
        {"question": "Which?"},
        '{"question": "Which?", "user_response": "the second"}',
        "clarify 'Which?': user_response=the second",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_question_keeps_the_answer(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """Each question with the words of the user to it."""
    assert digest(tool, arguments, output) == line
