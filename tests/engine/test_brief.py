"""The record of a transcript as one text."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.long_lists import Exchange, written

from foldaway.dialects.loading import load
from foldaway.engine.oneshot import brief_of, handoff_prompt
from foldaway.facts.frame import split_summary
from foldaway.transcript import Transcript

LONG = load(written("openai-chat", [Exchange(2, 2, 900)] * 8, with_system=True))
TOPICS = ("login", "parser", "billing", "search", "export")


def talk() -> Transcript:
    said: list[Any] = []
    for topic in TOPICS * 8:
        said += [{"role": "user", "content": f"Always test the {topic} page in {topic}.py first."},
                 {"role": "assistant", "content": f"I decided to keep {topic}_v2."}]  # fmt: skip
    return load(said)


@given(tokens=st.integers(100, 6_000))
def test_a_brief_is_as_long_as_was_asked_for(tokens: int) -> None:
    """By the estimate that it names; it is never empty, and it changes nothing."""
    made = brief_of(LONG, tokens=tokens)
    assert 0 < made.tokens <= tokens
    assert made.messages == len(LONG.messages)
    assert brief_of(LONG, tokens=tokens) == made


def test_what_speaks_of_the_focus_comes_first() -> None:
    """If there is no room for all, the others go."""
    for topic in TOPICS:
        plain, focused = (brief_of(talk(), tokens=150, focus=one).text for one in ("", topic))
        assert focused.count(topic) > plain.count(topic)


def test_what_the_newest_requests_are_about_comes_first_without_a_focus() -> None:
    """Three of them say what the work is about now."""
    for topic in TOPICS:
        said: list[Any] = []
        for number, one in enumerate(TOPICS * 6):
            lines = "\n".join(f"def {one}_{number}_{at}(x): ..." for at in range(9))
            said += [{"role": "user", "content": f"Read {one} part {number}."}]
            said += called("read_file", {"path": f"{one}/part_{number}.py"}, lines)
            said += [{"role": "assistant", "content": f"It has {one}_{number}_0 and others."}]
        told = [
            brief_of(load([*said, *({"role": "user", "content": words} for words in newest)]),
                     tokens=1_500).text.count(f"{topic}_")
            for newest in (["Go on."] * 3, [f"Go on with {topic}."] * 3)
        ]  # fmt: skip
        assert told[1] > told[0]


def test_a_small_record_has_the_tests_and_the_last_report() -> None:
    """Before the requests in between, and whatever the list of files is."""
    asked = [f"Please change module_{number} so that it says hello." for number in range(8)]
    said: list[Any] = []
    for number, ask in enumerate(asked):
        edit = {"path": f"src/package/module_{number}.py", "old": "bye", "new": "hello"}
        said += [{"role": "user", "content": ask}, *called("edit", edit, "ok")]
        said += [{"role": "assistant", "content": f"module_{number} says hello now."}]
    said[-1:] = [
        *called("bash", {"command": "pytest -q"}, "2 failed, 6 passed in 1.2s"),
        {"role": "assistant", "content": "Two tests fail because of the greeting in the index."},
    ]
    text = brief_of(load(said), tokens=300).text
    assert "2 failed" in text
    assert "because of the greeting in the index" in text


HEADINGS = ["Task", "State", "Done", "Open", "Files", "Decisions", "Facts"]


def test_a_person_reads_seven_headings_without_the_output_of_tools() -> None:
    """Choices are decisions, what was found out is a fact, and a rule belongs to the task."""
    said: list[Any] = [
        {"role": "user", "content": "Fix the login. Never touch legacy.py."},
        {"role": "assistant", "content": "Let me look at auth.py first."},
        *called("grep", {"pattern": "login"}, "auth.py:12: def login(user):\n" * 9),
        {"role": "assistant", "content": "The cause is a stale cookie in `auth.py`. I'll use the "
         "session store instead of cookies."},
        *called("edit", {"path": "auth.py", "old": "cookie", "new": "session"}, "ok"),
        *called("bash", {"command": "pytest -q"}, "1 failed, 6 passed in 1.2s"),
        {"role": "assistant", "content": "One test still fails: test_logout."},
        {"role": "user", "content": "Now fix test_logout."},
        {"role": "assistant", "content": "It passes now."},
    ]  # fmt: skip
    text = brief_of(load(said), for_person=True).text
    found = dict(part.split("\n", 1) for part in text.removeprefix("## ").split("\n## "))
    assert list(found) == [one for one in HEADINGS if one in found]
    assert "Never touch legacy.py." in found["Task"]
    assert "session store instead of cookies" in found["Decisions"]
    assert "stale cookie" in found["Facts"]
    assert "stale cookie" not in found["Decisions"]
    assert "It passes now." in found["State"]
    assert "auth.py" in found["Files"]
    assert "def login" not in text
    assert "Let me look" not in text
    assert "def login" in brief_of(load(said)).text


def called(name: str, arguments: dict[str, str], result: str) -> list[Any]:
    """Return a call and its result."""
    key = f"call_{json.dumps(arguments)}"
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [
        {
            "role": "assistant",
            "tool_calls": [{"id": key, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": key, "content": result},
    ]


def test_an_empty_transcript_has_no_record() -> None:
    """There is nothing to tell."""
    made = brief_of(Transcript("openai-chat", ()))
    assert (made.text, made.messages) == ("", 0)


@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_handoff_is_recognized_as_a_record_when_it_is_compacted(text: str) -> None:
    """The next session carries it on, and does not take its words for those of a user."""
    framed = split_summary(handoff_prompt(f"## Goal\n- {text}\n- the end"))
    assert framed is not None
    assert framed.rest.startswith("Tell me in a few lines")
    assert framed.body.endswith("- the end")
