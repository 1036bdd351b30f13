"""The user's own words in messages that agents filled in."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.memory.messages import GONE, KEPT, extract_user_words

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="<>[]"), min_size=1).filter(
    lambda text: (
        text == text.strip() and "ARGUMENTS: " not in text and not text.startswith("Base directory")
    )
)
COMMAND = (
    "<command-message>{name} is running…</command-message>\n<command-name>/{name}</command-name>\n"
    "<command-args>{words}</command-args>"
)
SKILL = "Base directory for this skill: /x/{name}\n\n# {name}\n\nDo it well.\n\nARGUMENTS: {words}"
HERMES = (
    '[IMPORTANT: The user has invoked the "{name}" skill, indicating they want it.]\n\n# Body\n'
    "Rules of it.\n\nThe user has provided the following instruction alongside the skill "
    "invocation: {words}"
)
AGENTS_OWN = (
    "[Request interrupted", "This session is being continued", "Full transcript available",
    "Read the output file to retrieve", "Caveat: ",
)  # fmt: skip
"""How texts begin that the shared sessions hold as the user's, and that no user wrote."""
REMINDER = "{words}\n<system-reminder>\nThe list of todos is empty.\n</system-reminder>"


@given(WORDS, st.sampled_from([COMMAND, SKILL, HERMES, REMINDER]))
def test_exactly_the_users_words_are_left(words: str, form: str) -> None:
    """Of every template that is known, whatever the user wrote."""
    assert extract_user_words(form.format(name="review", words=words)) == words


@given(st.text(st.characters(codec="utf-8", exclude_characters="<[")).filter(
    lambda text: not text.startswith("Base directory")))  # fmt: skip
def test_a_plain_message_comes_back_as_it_is(text: str) -> None:
    """Letter for letter, white space too."""
    assert extract_user_words(text) == text


@given(st.lists(st.sampled_from([COMMAND, SKILL, REMINDER, "plain", "<b>x</b>"]), max_size=4))
def test_doing_it_twice_is_doing_it_once(forms: list[str]) -> None:
    """What is left holds no template."""
    text = "\n".join(form.format(name="a", words="do it") for form in forms)
    once = extract_user_words(text)
    assert extract_user_words(once) == once


@each_row(
    ("text", "expected"),
    [
        ("<command-name>/exit</command-name>\n   <command-message>exit</command-message>\n"
         "   <command-args></command-args>", ""),
        ("<local-command-stdout>Catch you later!</local-command-stdout>", ""),
        ("<bash-input>go test ./...</bash-input>", "go test ./..."),
        ("<environment_context>\n<cwd>/x</cwd>\n</environment_context>", ""),
        ("Base directory for this skill: /x\n\n# Brainstorm\n\nAsk.", ""),
        ("fix <b>this</b> please", "fix <b>this</b> please"),
        ("<system-reminder>never closed", "<system-reminder>never closed"),
        ("<bash-stdout>a</bash-stdout><bash-stderr>b</bash-stderr>", ""),
        ("[Request interrupted by user for tool use]", ""),
        ("This session is being continued from a previous conversation that ran out of context. "
         "The summary below covers the earlier portion.\n\nAnalysis:\nthe user likes tea", ""),
        ("<task-notification>\n<status>completed</status>\n</task-notification>\n"
         "Full transcript available at: /x/y.output", ""),
        ("<task-notification>\nx</task-notification>\nRead the output file to retrieve the "
         "result: /x\nand then stop", "and then stop"),
        ("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe terse.\n</INSTRUCTIONS>", ""),
        ("Review the code changes against the base branch 'main'. The merge base commit for this "
         "comparison is 368750ce. Run `git diff 368750ce` to inspect the changes relative to main. "
         "Provide prioritized, actionable findings.", ""),
        ("Review the code changes against the base branch 'main' and tell me",
         "Review the code changes against the base branch 'main' and tell me"),
        ("```\nunclosed code\n<system-reminder>x</system-reminder>", "```\nunclosed code"),
    ],
)  # fmt: skip
def test_real_forms(text: str, expected: str) -> None:
    """As the agents write them."""
    assert extract_user_words(text) == expected


@given(st.sampled_from([*GONE, *KEPT]), st.sampled_from(["`{}`", "what is {}?", "> {}", "x {} y"]))
def test_a_message_that_speaks_of_a_mark_keeps_it(name: str, form: str) -> None:
    """Within a line and in fenced code a mark is the user's own word."""
    mark = f"<{name}>a</{name}>"
    for text in (form.format(mark), f"see:\n```\n{mark}\n```\nwhy?", f"~~~xml\n{mark}\n~~~"):
        assert extract_user_words(text) == text
        assert extract_user_words(f"{text}\n<system-reminder>b</system-reminder>") == text


def test_a_host_adds_its_own() -> None:
    """A pattern with a group of the user's words."""
    own = re.compile(r"\A## Skill .*?## Request\n(?P<words>.*)\Z", re.DOTALL)
    assert extract_user_words("## Skill x\nbody\n## Request\nmend it", [own]) == "mend it"


@pytest.mark.slow
@pytest.mark.parametrize("times", [20_000, pytest.param(100_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", [*GONE, *KEPT])
def test_a_mark_that_is_never_closed_stays_and_costs_little(name: str, times: int) -> None:
    """However many of them there are, they are read once."""
    for text in (f"<{name}>" * times + " x", f"<{name}>\n" * times, "```\n" * (times + 1)):
        assert extract_user_words(text) == text


@pytest.mark.shared
def test_real_messages_keep_their_words_and_no_template() -> None:
    """Of the shared sessions: what has no mark is unchanged, what is left of others has none."""
    data = Path(os.environ.get("FOLDAWAY_DATA") or Path(__file__).parents[2] / "../shared/data")
    paths = sorted((data / "sessions").glob("claude-code__*.jsonl.gz"))
    if not paths:
        pytest.skip("no shared data; set FOLDAWAY_DATA or put it at ../shared/data")
    stripped = 0
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                for message in json.loads(line)["messages"]:
                    text = message.get("content")
                    if message["role"] != "user" or not isinstance(text, str):
                        continue
                    words = extract_user_words(text)
                    stripped += words != text
                    assert words in text
                    assert not any(f"<{name}>" in words and f"</{name}>" in words for name in GONE)
                    assert not words.startswith(AGENTS_OWN)
    assert stripped > 50
