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

from holdfast.memory.scaffolding import GONE, KEPT, users_words

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
REMINDER = "{words}\n<system-reminder>\nThe list of todos is empty.\n</system-reminder>"


@given(WORDS, st.sampled_from([COMMAND, SKILL, HERMES, REMINDER]))
def test_exactly_the_users_words_are_left(words: str, form: str) -> None:
    """Of every template that is known, whatever the user wrote."""
    assert users_words(form.format(name="review", words=words)) == words


@given(st.text(st.characters(codec="utf-8", exclude_characters="<[")).filter(
    lambda text: not text.startswith("Base directory")))  # fmt: skip
def test_a_plain_message_comes_back_as_it_is(text: str) -> None:
    """Letter for letter, white space too."""
    assert users_words(text) == text


@given(st.lists(st.sampled_from([COMMAND, SKILL, REMINDER, "plain", "<b>x</b>"]), max_size=4))
def test_doing_it_twice_is_doing_it_once(forms: list[str]) -> None:
    """What is left holds no template."""
    text = "\n".join(form.format(name="a", words="do it") for form in forms)
    once = users_words(text)
    assert users_words(once) == once


@pytest.mark.parametrize(
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
    ],
)  # fmt: skip
def test_real_forms(text: str, expected: str) -> None:
    """As the agents write them."""
    assert users_words(text) == expected


def test_a_host_adds_its_own() -> None:
    """A pattern with a group of the user's words."""
    own = re.compile(r"\A## Skill .*?## Request\n(?P<words>.*)\Z", re.DOTALL)
    assert users_words("## Skill x\nbody\n## Request\nmend it", [own]) == "mend it"


@pytest.mark.parametrize("name", [*GONE, *KEPT])
def test_a_mark_that_is_never_closed_stays_and_costs_little(name: str) -> None:
    """A hundred thousand of them are read once."""
    text = f"<{name}>" * 100_000 + " x"
    assert users_words(text) == text


def test_real_messages_keep_their_words_and_no_template() -> None:
    """Of the shared sessions: what has no mark is unchanged, what is left of others has none."""
    data = Path(os.environ.get("HOLDFAST_DATA") or Path(__file__).parents[2] / "../shared/data")
    paths = sorted((data / "sessions").glob("claude-code__*.jsonl.gz"))
    if not paths:
        pytest.skip("no shared data; set HOLDFAST_DATA or put it at ../shared/data")
    stripped = 0
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                for message in json.loads(line)["messages"]:
                    text = message.get("content")
                    if message["role"] != "user" or not isinstance(text, str):
                        continue
                    words = users_words(text)
                    stripped += words != text
                    assert words in text
                    assert not any(f"<{name}>" in words and f"</{name}>" in words for name in GONE)
    assert stripped > 50
