"""A stored session in few words, as an agent asks for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.sessions import SessionOptions
from foldaway.sessions.library import Library
from foldaway.sessions.session import Session
from foldaway.sessions.tools import answer
from foldaway.stores.store import Store
from foldaway.stores.values import NewSession
from foldaway.testing import ScriptedSummarizer
from foldaway.transcript import estimate_text

Begin = Callable[..., Session]
PROMPT = {"role": "system", "content": "You are the unlisted assistant."}
RULE = {"role": "user", "content": "Fix the parser. Never touch legacy.py."}


def words(count: int) -> list[Any]:
    return [{"role": role, "content": f"{role} {at} on module_{at}.py " + "so on " * 120}
            for at in range(count) for role in ("user", "assistant")]  # fmt: skip


def asked(store: Store, name: str, **arguments: Any) -> dict[str, Any]:
    library = Library(store, show=Redactor(RedactionPolicy(personal=False)))
    done = answer(library, f"foldaway_sessions_{name}", arguments)
    assert not done.failed, done.text
    assert estimate_text(done.text) <= arguments.get("max_tokens", 2_000)
    return json.loads(done.text)


def test_a_brief_tells_of_all_that_was_said_by_its_position(kept: Store, begin: Begin) -> None:
    """Also of what was folded, and of what came since; a goal letter for letter; no prompt."""
    session = begin(PROMPT, RULE, *words(20), goal="A parser for v2.")
    assert session.compact(force=True).folded
    session.append({"role": "user", "content": "And document module_99.py."})
    found = asked(kept, "brief")
    assert found["session"] == session.id
    assert "Never touch legacy.py. [m1]" in found["brief"]
    assert "module_99.py. [m42]" in found["brief"]
    assert "A parser for v2." in found["brief"]
    assert "unlisted" not in found["brief"]


def test_a_brief_has_what_a_model_wrote(kept: Store) -> None:
    """It is kept with the session, and nobody pays for it twice."""
    prose = '{"decisions": [{"text": "Everything was checked before it was changed."}]}'
    session = Session(
        kept,
        context_length=12_000,
        summarizer=ScriptedSummarizer([prose]),
        options=SessionOptions(new=NewSession(dialect="openai-chat")),
    )
    session.append(*words(20))
    assert session.compact(force=True).summary_source.source == "model"
    for name, key in (("brief", "brief"), ("compact", "summary")):
        text = asked(kept, name, session=session.id)[key]
        assert "Everything was checked before it was changed." in text


@pytest.mark.parametrize("max_tokens", [500, 2_000, 10_000])
@pytest.mark.parametrize("is_compacted", [False, True])
def test_what_a_compaction_would_leave_is_all_of_the_session(
    kept: Store, begin: Begin, max_tokens: int, is_compacted: bool
) -> None:
    """Each message is there under its position, or told of in the summary; nothing changes."""
    session = begin(PROMPT, RULE, *words(40))
    if is_compacted:
        session.compact(force=True)
    before = (kept.session(session.id), kept.view(session.id))
    found = asked(kept, "compact", session=session.id, max_tokens=max_tokens)
    assert (kept.session(session.id), kept.view(session.id)) == before
    assert found["tokens_after"] < found["tokens_before"]
    assert (
        len(found["messages"]) + found.get("not_shown", 0) + found["folded"] == session.info.length
    )
    assert "legacy.py" in json.dumps(found)
    assert "unlisted" not in json.dumps(found)
    for row in found["messages"]:
        whole = asked(kept, "read", session=session.id, around=row["position"], max_tokens=10_000)
        (same,) = (one for one in whole["rows"] if one["position"] == row["position"])
        assert row["role"] == same["role"]
        assert row.get("text", "")[:200] == same.get("text", "")[:200]


def test_a_short_session_is_whole(kept: Store, begin: Begin) -> None:
    """And it says why nothing would be folded."""
    begin(RULE, {"role": "assistant", "content": "Done."})
    found = asked(kept, "compact")
    assert [row["text"] for row in found["messages"]] == [RULE["content"], "Done."]
    assert (found["folded"], found["summary"], bool(found["unchanged"])) == (0, "", True)


def test_without_sessions_there_is_a_sentence(kept: Store) -> None:
    """There is no newest one."""
    for name in ("brief", "compact"):
        done = answer(Library(kept), f"foldaway_sessions_{name}", {})
        assert done.failed
        assert "no session is offered" in done.text


def test_a_message_that_is_pinned_stays(kept: Store, begin: Begin) -> None:
    """As it would in a compaction."""
    session = begin(PROMPT, RULE, *words(40))
    kept.pin(session.id, 30, "")
    found = asked(kept, "compact", session=session.id, max_tokens=3_000)
    assert 30 in [row["position"] for row in found["messages"]]
