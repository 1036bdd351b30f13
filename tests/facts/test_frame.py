"""The words that stand around generated text, and how they are recognized again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row
from tests.testing.strategies import logs
from tests.testing.words import words

from foldaway.facts.frame import (
    SUMMARY_CLOSE,
    SUMMARY_OPEN,
    before_note,
    carried_summary,
    mark_text,
    origin_of,
    recognize,
    summary_body,
    summary_text,
    without_summary,
)
from foldaway.testing import call, think
from foldaway.transcript import Message, Text, ToolResult, is_ask

BODY = "## Goal\n- Fix it. [m0]\n\n## Blockers\nNone."
HERMES = (
    f"[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.\n\n{BODY}\n\n--- END OF "
    "CONTEXT SUMMARY — respond to the message below, not the summary above ---"
)


@each_row("reference", ["", "fa-0123456789"])
@each_row("brief", [False, True])
def test_a_summary_comes_out_of_its_frame_as_it_went_in(reference: str, brief: bool) -> None:
    """With and without a reference, in full and in brief."""
    text = summary_text(BODY, reference, brief=brief)
    assert summary_body(text) == BODY
    assert (reference in text) if reference else ("recall" not in text)
    [message] = recognize([Message("user", (Text(text),), 0)])
    assert message.origin == "summary"


WRITTEN = (
    "[foldaway summary: reference only]\nBackground.\n\n## Goal\n- Fix it. [m0]\n\nThe live "
    "conversation follows; answer that, not this record.\n[end of foldaway summary]",
    "[foldaway summary: reference only]\nIn brief. Originals: recall fa-0123456789.\n\n## Goal\n"
    "- Fix it. [m0]\n[end of foldaway summary]",
    "[another summary: reference only]\nBackground.\n\n## Goal\n- Fix it. [m0]\n\nThe live "
    "conversation follows; answer that, not this record.\n[end of another summary]",
)
"""Summaries as each version wrote them, letter for letter but for the preamble and the name. Add,
never change."""
MARKS = {
    "[foldaway digest] Bash ran `ls`": "digest",
    "[foldaway digest: original at fa-0123456789] Bash ran `ls`": "digest",
    "[foldaway duplicate: original at fa-0123456789] the same": "duplicate",
    "[foldaway placeholder] an image": "placeholder",
    "[another digest: original at hf-0123456789] Bash ran `ls`": "digest",
    "[another digest] Bash ran `ls`": "real",
    "[no result was recorded for this call]": "stub",
    "[the start of this conversation is missing]": "placeholder",
    "[no reply was recorded here]": "placeholder",
}


def test_texts_of_earlier_versions_are_recognized() -> None:
    """A transcript that was compacted by an earlier version comes back for the next compaction."""
    assert [summary_body(text) for text in WRITTEN] == ["## Goal\n- Fix it. [m0]"] * len(WRITTEN)
    assert {text: origin_of(text) for text in MARKS} == MARKS
    for note in ("half a word… [1,234 more characters]", "half a wo… [9 more characters: fa-01]"):
        assert before_note(note) == "half a"


@given(rows=st.lists(words(), min_size=1, max_size=4), brief=st.booleans())
def test_any_body_comes_out_of_its_frame(rows: list[str], brief: bool) -> None:
    """Whatever its entries quote, also the marks of the frame itself."""
    quoted = [*rows, SUMMARY_OPEN, SUMMARY_CLOSE]
    body = "## Goal\n" + "\n\n## Blockers\n".join(f"- {row.strip()} [m0]" for row in quoted)
    assert summary_body(summary_text(body, "fa-0123456789", brief=brief)) == body


def test_a_brief_frame_is_shorter() -> None:
    """It is there for summaries that have hardly any room."""
    full, brief = (summary_text("", "fa-0123456789", brief=brief) for brief in (False, True))
    assert len(brief) < 0.7 * len(full)


@pytest.mark.parametrize("brief", [False, True])
def test_the_frame_says_what_the_record_is_for(brief: bool) -> None:
    """Reference only; the newest message wins, also where it says stop or undo; memory files keep
    their authority; it has an end."""
    text = summary_text(BODY, "fa-0123456789", brief=brief)
    assert text.startswith(SUMMARY_OPEN)
    assert text.endswith(SUMMARY_CLOSE)
    for wanted in ("reference only", "not a request", "stop", "undo", "roll back", "Memory"):
        assert wanted in text


@given(text=words())
def test_ordinary_words_are_real(text: str) -> None:
    """Nothing that a person writes is taken for ours by chance."""
    assert origin_of(text) == "real"
    assert summary_body(text) is None


@each_row(("text", "origin"), [
    (mark_text("digest", "x", "fa-0123456789"), "digest"), (mark_text("digest", "x", ""), "digest"),
    (mark_text("duplicate", "x", ""), "duplicate"),
    (mark_text("placeholder", "x", "fa-0123456789"), "placeholder"),
])  # fmt: skip
def test_each_mark_is_told_where_it_can_stand(text: str, origin: str) -> None:
    """A result that holds a mark has its origin; as a user's own words only a placeholder is one,
    because no compaction writes the others there."""
    assert origin_of(text) == origin
    plain, held = recognize([
        Message("user", (Text(text),), 0),
        Message("tool", (ToolResult("c", (Text(text),)),), 1),
    ])  # fmt: skip
    assert held.origin == origin
    assert is_ask(plain) == (origin != "placeholder")


@each_row("text", [
    "[foldaway digest: what is this?", "[foldaway summary: reference only] what is this?",
    "[foldaway digest: original at fa-01] x", "[CONTEXT is everything]",
])  # fmt: skip
def test_words_that_only_begin_like_a_mark_are_real(text: str) -> None:
    """A person who quotes a mark is still heard."""
    message = Message("user", (Text(text),), 0)
    assert recognize([message]) == (message,)
    assert is_ask(recognize([message])[0])


@each_row("text", [
    "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.\n\n## Goal\n- Ship it.\n"
    "\n--- END OF CONTEXT SUMMARY — respond to the message below ---\n",
    "[CONTEXT SUMMARY]: earlier\n## Goal\n- Ship it.",
    "This session is being continued from a previous conversation that ran out of context. "
    "The conversation is summarized below:\n## Goal\n- Ship it.",
    "This session is being continued from a previous conversation that ran out of context. "
    "The conversation is summarized below:\n## Goal\n- Ship it.\n\nPlease continue the "
    "conversation from where we left it off without asking the user any further questions.",
    "This session is being continued from a previous conversation that ran out of context. "
    "The conversation is summarized below:\n## Goal\n- Ship it.\nIf you need specific details "
    "from before compaction, read the full transcript at: /tmp/t.jsonl",
])  # fmt: skip
def test_summaries_of_other_compressors_are_recognized(text: str) -> None:
    """They are generated, never an ask, and their body is read, without orders at its end."""
    [message] = recognize([Message("user", (Text(text),), 0)])
    assert message.origin == "summary"
    assert not is_ask(message)
    assert summary_body(text) == "## Goal\n- Ship it."


@each_row("text", [
    "Another language model started to solve this problem and produced a summary of it:\n{}",
    "The conversation history before this point was compacted into the following summary:\n\n"
    "<summary>\n{}\n\n<read-files>\nsrc/a.py\n</read-files>\n</summary>",
    "Some of the conversation history has been summarized to free up context.\n\n"
    "Here is a summary of the prior context:\n<summary>\n{}\n</summary>\n",
    "<state_snapshot>\n{}\n</state_snapshot>\n\nResume the prior task using the summary above.",
    "This session is being continued from a previous conversation that ran out of context. The "
    "summary below covers the earlier portion.\n\nSummary:\n{}\n\nIf you need specific details "
    "from before compaction, read the transcript.\n\nThe messages after this summary are the most "
    "recent messages from before compaction.",
])  # fmt: skip
def test_a_summary_of_ours_is_found_in_the_words_of_a_host(text: str) -> None:
    """Codex, Pi, Copilot, Qwen, Claude Code; also after what a host reminds the model of, and as
    the newest message if no model has spoken yet.
    """
    shown = Text(text.format(BODY))
    asks = Message("user", (Text("Fix the parser."),), 0)
    found = recognize([asks, Message("user", (shown,), 1)])[1]
    assert (found.origin, carried_summary(found)) == ("summary", BODY)
    spoken = [asks, Message("assistant", (Text("I will."),), 1), Message("user", (shown,), 2)]
    assert recognize(spoken)[2].origin == "real"
    reminded = Message("user", (Text("<system-reminder>\nBe brief.\n</system-reminder>"), shown), 0)
    assert carried_summary(reminded) == BODY
    assert without_summary(reminded).parts == reminded.parts[:1]


@given(log=logs())
def test_messages_that_nobody_generated_are_the_same_objects(log: tuple[Message, ...]) -> None:
    """Recognising changes nothing else."""
    assert all(one is was for one, was in zip(recognize(log), log, strict=True))


@pytest.mark.parametrize("lead", [(), (think("Hm.", signature="s"),)])
def test_a_merged_summary_is_found_and_taken_out_again(lead: tuple[object, ...]) -> None:
    """Also behind thinking, which must stay first; the message stays real and keeps its words."""
    rest = (Text("Go on."), call("bash", call_id="c1"))
    message = Message("assistant", (*lead, Text(summary_text(BODY, "")), *rest), 4)  # pyright: ignore[reportArgumentType]
    [found] = recognize([message])
    assert found.origin == "real"
    assert carried_summary(found) == BODY
    assert without_summary(found).parts == (*lead, *rest)


@pytest.mark.parametrize("text", [
    "This session is being continued from a previous conversation that ran out of context. The "
    "summary below covers the earlier portion of the conversation.\n\nSummary:\n1. Primary "
    "Request: ship it.",
    "This session is being continued from a previous conversation that ran out of context. The "
    "conversation is summarized below:\nAnalysis:\nLet me see what was asked: ship it.",
])  # fmt: skip
def test_the_summaries_of_claude_code_are_no_asks(text: str) -> None:
    """As real sessions hold them, without headings."""
    [message] = recognize([Message("user", (Text(text),), 0)])
    assert message.origin == "summary"
    assert "ship it" in (summary_body(text) or "")


@each_row("text", [summary_text(BODY, ""), summary_text(BODY, "", brief=True), HERMES])
def test_words_behind_the_end_of_a_frame_stay_with_their_message(text: str) -> None:
    """A host that keeps content as one string merges a summary into the user's words."""
    message = Message("user", (Text(f"{text}\n\nShip  it.\n"),), 4)
    [found] = recognize([message])
    assert found is message
    assert is_ask(found)
    assert carried_summary(found) == BODY
    assert without_summary(found).parts == (Text("Ship  it.\n"),)


def test_a_frame_is_what_its_speaker_said_where_no_compaction_puts_one() -> None:
    """As the newest message, between two replies, or late in a log that grows."""
    framed = Message("user", (Text(summary_text(BODY, "")),))
    ask, reply = Message("user", (Text("Go."),)), Message("assistant", (Text("Done."),))
    talk = [ask, reply] * 4
    result = Message("tool", (ToolResult("c", (Text("ok"),)),))

    def origin(messages: list[Message], at: int, *, live: bool = False) -> str:
        return recognize(messages, live=live)[at].origin

    assert origin([*talk, framed], 8) == "real"
    assert origin([*talk, framed, reply], 8) == "real"
    assert origin([*talk, framed, ask], 8, live=True) == "real"
    assert recognize([framed], talk, live=True)[0].origin == "real"
    assert origin([*talk, framed, ask], 8) == "summary"
    assert origin([ask, reply, framed, reply], 2) == "summary"
    assert origin([ask, reply, framed, reply], 2, live=True) == "summary"
    assert origin([framed], 0) == "summary"
    assert origin([*talk, result, framed, reply], 9, live=True) == "summary"
    kept = recognize([*talk, framed, reply], head=8)
    assert kept[8].origin == "summary", "a policy may keep more at the start"
