"""A session as a file: its log or what the model sees, as lines, Markdown or in any dialect."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from foldaway import check, convert
from foldaway.dialects.loading import DIALECTS
from foldaway.sessions.exporting import export, transcript_of
from foldaway.sessions.session import Session
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession

CALL = [
    {"role": "user", "content": "list it"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}]},
    {"role": "tool", "tool_call_id": "a", "content": "README.md"},
    {"role": "assistant", "content": "One file.", "x_note": {"keep": [1.50]}},
]  # fmt: skip


def test_lines_are_the_bodies_byte_for_byte(kept: Store) -> None:
    """What came in goes out, whatever else stands in a message."""
    info = kept.create(NewSession(dialect="openai-chat"))
    bodies = [json.dumps(one, separators=(",", ":")).encode() for one in CALL]
    kept.append(info.id, [
        NewMessage(body=body, role=str(one["role"]), text="")
        for body, one in zip(bodies, CALL, strict=True)
    ])  # fmt: skip
    made = export(kept, kept.session(info.id), "jsonl")
    assert made.data.splitlines() == bodies
    assert (made.messages, made.losses) == (4, ())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_session_goes_out_in_every_dialect(
    kept: Store, begin: Callable[..., Session], dialect: str
) -> None:
    """It is valid there, and the same as converting the list itself."""
    session = begin(*CALL)
    made = export(kept, session.info, dialect)
    whole = json.loads(made.data)
    assert check(whole, dialect=dialect) == []
    assert whole == json.loads(json.dumps(convert(CALL, dialect, dialect="openai-chat").messages))


def test_the_view_is_what_the_model_sees_and_the_log_is_all(
    kept: Store, begin: Callable[..., Session]
) -> None:
    """A compaction changes the one and not the other."""
    session = begin()
    before = export(kept, session.info, "openai-chat")
    assert session.compact(force=True).status == "compacted"
    after = export(kept, session.info, "openai-chat")
    view = export(kept, session.info, "openai-chat", what="view")
    assert before == after
    assert json.loads(view.data) == session.messages
    assert view.messages < after.messages


def test_what_a_compaction_wrote_is_left_out_on_request(
    kept: Store, begin: Callable[..., Session]
) -> None:
    """Of the view only messages of people, models and tools are left."""
    session = begin()
    session.compact(force=True)
    shown = transcript_of(kept, session.info, what="view")
    written = sum(message.is_generated for message in shown.messages)
    real = export(kept, session.info, "openai-chat", what="view", generated=False)
    assert written > 0
    assert real.messages == len(shown.messages) - written


def test_an_earlier_view_can_be_had(kept: Store, begin: Callable[..., Session]) -> None:
    """By its number; 0 is the log as it is."""
    session = begin()
    session.compact(force=True)
    log = transcript_of(kept, session.info)
    assert transcript_of(kept, session.info, what="view", number=0).messages == log.messages
    shown = transcript_of(kept, session.info, what="view", number=1).messages
    assert len(shown) < len(log.messages)


def test_a_page_for_people_names_who_spoke(kept: Store, begin: Callable[..., Session]) -> None:
    """Words whole, calls and results in fences, generated messages marked."""
    session = begin(*CALL, {"role": "user", "content": "half a pair: \ud800"})
    page = export(kept, session.info, "markdown").data.decode()
    assert page.startswith("# Modules\n")
    assert "## User" in page
    assert "**ls**" in page
    assert "README.md" in page
    assert "half a pair: ?" in page
    long: Any = begin()
    long.compact(force=True)
    view = export(kept, long.info, "markdown", what="view").data.decode()
    assert "of a compaction" in view


def test_an_empty_session_goes_out_empty(kept: Store, begin: Callable[..., Session]) -> None:
    """No message is invented."""
    info = kept.create(NewSession(dialect="anthropic"))
    assert export(kept, info, "jsonl").data == b""
    assert json.loads(export(kept, info, "openai-chat").data) == []
    assert export(kept, info, "markdown").messages == 0


def test_a_view_without_what_was_generated_keeps_what_stands_for_something_said(
    kept: Store, begin: Callable[..., Session]
) -> None:
    """The summary goes, also one that was merged into a message; digests of results stay, so that
    no call is left without its answer."""
    long = [
        one
        for number in range(12)
        for one in (
            {"role": "user", "content": f"step {number} " + "word " * 60},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": f"c{number}", "type": "function",
                 "function": {"name": "cat", "arguments": '{"path": "a"}'}}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number}\n" * 120},
        )
    ]  # fmt: skip
    session = begin(*long, {"role": "assistant", "content": "done"})
    assert session.compact(force=True).status == "compacted"
    made = export(kept, session.info, "openai-chat", what="view", generated=False)
    assert b"[foldaway summary" in export(kept, session.info, "jsonl", what="view").data
    assert b"[foldaway summary" not in made.data
    assert made.mended == ()
    assert check(json.loads(made.data)) == []
