"""Whose words a message of the role user holds."""

from __future__ import annotations

from tests.testing.rows import each_row

from foldaway.lab.scoring.person_words import extract_person_words, person_words
from foldaway.lab.scoring.session import Message


def user(text: str) -> Message:
    return {"role": "user", "content": text}


@each_row(
    ("text", "words"),
    [
        ("yes", "yes"),
        ("<system-reminder>x</system-reminder>\nfix it", "fix it"),
        ("<command-message>pr</command-message>\n<command-name>/pr</command-name>"
         "\n<command-args>for v2</command-args>", "for v2"),
        ("<command-message>pr</command-message>\n<command-name>/pr</command-name>", "/pr"),
        ("\n# Files mentioned by the user:\n\n## a.png\n\n## My request for Codex:\nadd it\n",
         "add it"),
        ("❯ go test\nFAIL", "❯ go test\nFAIL"),
    ],
)  # fmt: skip
def test_what_a_person_wrote_is_theirs(text: str, words: str) -> None:
    """Also a command that they typed, and words in a message that a host wrapped."""
    assert person_words(text) == words


def test_the_body_of_a_command_or_skill_is_a_hosts() -> None:
    """It follows the command that the person typed, or the result of the tool."""
    typed = user("<command-message>pr</command-message>\n<command-name>/pr</command-name>")
    launched = {"role": "tool", "tool_call_id": "c", "content": "Launching skill: ship"}
    log = [typed, user("Generate a PR title."), launched, user("# Ship\nPush it.")]
    assert [said.text for said in extract_person_words(log)] == ["/pr"]


def test_what_a_shell_of_swe_agent_printed_is_not_a_persons() -> None:
    """It ends with the prompt; so does the task, which is one's first message."""
    prompt = "(Open file: n/a)\n(Current directory: /w)\nbash-$"
    log = [user(f"Solve this issue.\n{prompt}"), user(f"[File: a.py]\n1:x\n{prompt}")]
    assert [said.at for said in extract_person_words(log)] == [0]
