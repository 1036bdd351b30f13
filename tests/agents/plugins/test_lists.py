"""Edits of Anthropic's messages become edits of the agent's own list, and say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.plugins.agent_lists import LISTS, opencode_list, pi_list

from foldaway.agents.importers.blocks import content_of
from foldaway.agents.plugins.answering import FORMS
from foldaway.agents.plugins.list_edits import Built, ConvertedList
from foldaway.sessions.following import Edit, Insert, Keep, Replace, apply_edits, keep_all

SUMMARY = {"role": "user", "content": "what was folded"}
FATES = st.lists(st.sampled_from(("keep", "drop", "shorten", "retell", "merge")), max_size=6)


def edits_for(given: ConvertedList, fates: Sequence[str]) -> list[Edit]:
    """Edits as a compaction makes them: a call stays with its results."""
    edits: list[Edit] = [Keep(0, 1)]
    starts = [at for at, one in enumerate(given.messages) if one["role"] == "assistant"]
    for fate, start, stop in zip(
        fates, starts, [*starts[1:], len(given.messages)], strict=False
    ):  # fmt: skip
        if fate == "keep":
            edits.append(Keep(start, stop))
            continue
        if fate == "drop":
            edits.append(Insert(SUMMARY))
            continue
        said, *results = given.messages[start:stop]
        if fate == "retell":
            blocks = [
                {**one, "input": {"command": "cut"}} if one["type"] == "tool_use" else one
                for one in said["content"]
            ]  # fmt: skip
            edits.append(Replace(start, {**said, "content": blocks}))
            edits.append(Keep(start + 1, stop))
            continue
        edits.append(Keep(start, start + 1))
        for at, result in enumerate(results, start + 1):
            short = [{**one, "content": "short"} for one in result["content"]]
            told = content_of(SUMMARY) if fate == "merge" and at == stop - 1 else []
            edits.append(Replace(at, {**result, "content": [*short, *told]}))
    return edits


def said(messages: Sequence[Any]) -> list[Any]:
    """The blocks of messages in a row, texts of results as text."""
    found: list[Any] = []
    for message in messages:
        for block in content_of(message):
            content = block.get("content")
            text = [{"type": "text", "text": content}] if isinstance(content, str) else content
            found.append({**block, "content": text} if content is not None else block)
    return found


@pytest.mark.parametrize("agent", LISTS)
@given(fates=FATES)
def test_the_agents_list_after_its_edits_says_what_the_view_says(
    agent: str, fates: list[str]
) -> None:
    """Whatever was kept, dropped or rewritten; and what was kept is named by its place."""
    form, own = FORMS[agent], LISTS[agent](len(fates), words=2)
    given = ConvertedList(own, form)
    edits = edits_for(given, fates)
    made: list[Any] = []
    for one in given.convert_edits(edits):
        made += one.messages if isinstance(one, Built) else own[one.start : one.stop]
    assert said(ConvertedList(made, form).messages) == said(apply_edits(edits, given.messages))


@pytest.mark.parametrize("agent", LISTS)
def test_a_view_that_changes_nothing_keeps_every_message(agent: str) -> None:
    """Also those that no model sees."""
    form, own = FORMS[agent], LISTS[agent](3)
    given = ConvertedList(own, form)
    assert given.convert_edits(keep_all(given.messages)) == [Keep(0, len(own))]
    hidden = [one for one in own if not form.messages_of(one)]
    assert ConvertedList(hidden, form).convert_edits(()) == ([Keep(0, 1)] if hidden else [])


def test_a_block_of_pi_that_stayed_keeps_what_only_pi_knows() -> None:
    """Signatures of texts and calls would be lost on their way there and back."""
    own = pi_list(1)
    answer = own[2]
    retold = {
        "role": "assistant",
        "content": [
            one if one["type"] != "tool_use" else {**one, "input": {}}
            for one in FORMS["pi"].messages_of(answer)[0]["content"]
        ],
    }  # fmt: skip
    (made,) = FORMS["pi"].built([retold], answer, own)
    assert made["content"][:2] == answer["content"][:2]
    assert {**made["content"][2], "arguments": None} == {**answer["content"][2], "arguments": None}
    assert (made["api"], made["model"]) == (answer["api"], answer["model"])


def test_a_result_of_pi_that_was_shortened_is_still_its_own() -> None:
    """With what Pi keeps beside the text; one in another place gets the name of its tool."""
    own = pi_list(1, calls=1)
    short = {"type": "tool_result", "tool_use_id": "c0-0", "content": "short"}
    told = {"role": "user", "content": [short]}
    content = [{"type": "text", "text": "short"}]
    assert FORMS["pi"].built([told], own[3], own) == [{**own[3], "content": content}]
    (made,) = FORMS["pi"].built([told], own[0], own)
    assert made == {
        "role": "toolResult", "toolCallId": "c0-0", "toolName": "bash", "content": content,
        "isError": False, "timestamp": 1,
    }  # fmt: skip


def test_an_answer_of_opencode_may_stay_in_part() -> None:
    """It may have several steps; those that were folded are left out."""
    form, own = FORMS["opencode"], opencode_list(2, words=2)
    parts = [*own[1]["parts"], *own[2]["parts"]]
    given = ConvertedList([own[0], {"info": own[1]["info"], "parts": parts}], form)
    assert given.owners == [0, 1, 1, 1, 1]
    edits = [Keep(0, 1), Insert(SUMMARY), Keep(3, 5)]
    first, *rest = given.convert_edits(edits)
    made = [own[0], *(one for built in rest for one in getattr(built, "messages", ()))]
    assert first == Keep(0, 1)
    assert said(ConvertedList(made, form).messages) == said(apply_edits(edits, given.messages))


def test_an_answer_that_pi_does_not_send_is_none() -> None:
    """Pi leaves out what was aborted or failed."""
    for reason in ("aborted", "error"):
        assert FORMS["pi"].messages_of({**pi_list(1)[2], "stopReason": reason}) == []


def test_a_result_of_opencode_keeps_the_files_that_stayed() -> None:
    """A file that the view has dropped is dropped, and a call that failed says why in its error."""
    form, own = FORMS["opencode"], opencode_list(1, calls=2)
    states = [own[1]["parts"][at]["state"] for at in (3, 4)]
    file = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA=="}
    states[0]["attachments"] = [file, {**file, "url": "data:image/png;base64,BB=="}]
    states[1] |= {"status": "error", "error": "failed"}
    call, results = form.messages_of(own[1])
    first, second = results["content"]
    kept = {**first, "content": first["content"][1:2]}
    (made,) = form.built([call, {"role": "user", "content": [kept, second]}], own[1], own)
    after = [one["state"] for one in made["parts"] if one["type"] == "tool"]
    assert (after[0]["output"], after[0]["attachments"]) == ("", [file])
    assert after[1]["error"] == "failed"
    (made,) = form.built([call, {"role": "user", "content": [{**first, "content": "x"}]}], own[1],
                         own)  # fmt: skip
    assert "attachments" not in next(one for one in made["parts"] if "state" in one)["state"]
