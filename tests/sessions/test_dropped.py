"""What the last compaction left out: ours, or the agent's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from foldaway.dialects.loading import load
from foldaway.sessions.dropped import Dropped, DroppedFact
from foldaway.sessions.library import Library
from foldaway.sessions.session import Session
from foldaway.sessions.tools import answer
from foldaway.stores.store import Store
from foldaway.transcript import Message

Begin = Callable[..., Session]
PROMPT = "Never be the unlisted assistant; port 9418."
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
RULES = ["Never touch legacy.py.", "Always run the tests before you commit."]
TALK: list[Any] = [
    {"role": "user", "content": "\n".join(["Fix the parser in parser.py.", *RULES])},
    {"role": "assistant", "content": "I'll use a table instead of regular expressions.",
     "tool_calls": [{"id": "c1", "type": "function", "function": {
         "name": "edit", "arguments": '{"path": "parser.py", "old": "re", "new": "table"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    {"role": "user", "content": "Good. Take 8192 bytes a line."},
    {"role": "assistant", "content": "The buffer has 8192 bytes now. Port 9417 is taken."},
    {"role": "user", "content": "And the docs?"},
]  # fmt: skip


def compacted(summary: str, *later: Any) -> list[Message]:
    """Return a talk that its agent compacted by itself."""
    said = [*TALK, {"role": "user", "content": summary}, *later]
    log = list(load(said).messages)
    log[len(TALK)] = replace(log[len(TALK)], origin="summary")
    return log


def words(said: str) -> list[Any]:
    return [{"role": role, "content": f"{role} {at}: {said} took {1000 + at} ms. " + "so " * 300}
            for at in range(30) for role in ("user", "assistant")]  # fmt: skip


def lost(found: Dropped, kind: str) -> list[str]:
    return [fact.text for fact in found.facts if fact.kind == kind]


def test_what_a_summary_says_is_not_lost() -> None:
    """A rule is lost unless it is said: that its file is named is not enough."""
    found = Dropped.of(
        compacted(f"The parser in parser.py is done; legacy.py stays. {RULES[1]}"), str
    )
    assert (found.by, found.at, found.folded) == ("agent", 6, 6)
    assert lost(found, "rule") == [RULES[0]]
    assert lost(Dropped.of(compacted(f"User: {RULES[0]}\n{RULES[1]}"), str), "rule") == []


def test_a_line_of_several_rules_is_lost_with_one_of_them() -> None:
    """A short line of the user stands whole."""
    log = compacted(f"Fix the parser. {RULES[1]}")
    log[0] = load([{"role": "user", "content": " ".join(RULES)}]).messages[0]
    assert lost(Dropped.of(log, str), "rule") == [" ".join(RULES)]


def test_commitments_come_first_and_name_their_message() -> None:
    """Rules, decisions, numbers, then the others."""
    found = Dropped.of(compacted("We worked on the parser."), str)
    kinds = list(dict.fromkeys(fact.kind for fact in found.facts))
    assert kinds[:3] == ["rule", "decision", "number"]
    assert {fact.position for fact in found.facts if fact.kind == "rule"} == {0}
    assert any("Port 9417" in text for text in lost(found, "number"))
    (decided,) = (fact for fact in found.facts if fact.kind == "decision")
    assert decided == DroppedFact(
        kind="decision", text="I'll use a table instead of regular expressions.", position=1
    )


def test_the_last_of_several_compactions_counts() -> None:
    """What an earlier summary told may be lost by the next."""
    log = compacted(f"Rules: {' '.join(RULES)}", {"role": "assistant", "content": "Docs are done."})
    again = [*log, *load([{"role": "user", "content": "Docs and parser are done."}]).messages]
    again[-1] = replace(again[-1], position=len(log), origin="summary")
    assert lost(Dropped.of(log, str), "rule") == []
    assert lost(Dropped.of(again, str), "rule") == RULES


def test_who_never_compacted_lost_nothing() -> None:
    assert Dropped.of(load(TALK).messages, str) == Dropped()


def test_what_we_folded_is_recalled_by_its_reference(kept: Store, begin: Begin) -> None:
    """And what stayed in sight is not lost."""
    session = begin()
    session.append(*TALK, *words("choice"))
    assert session.compact(force=True).folded
    info = kept.session(session.id)
    found = Dropped.of_session(kept, info, str)
    assert (found.by, found.at) == ("foldaway", info.length)
    assert found.facts
    for fact in found.facts:
        place = next(iter(kept.places(fact.reference)))
        start, stop = place.reference.positions
        assert start <= fact.position < stop
    seen = json.dumps(session.messages)
    assert all(text not in seen for kind in ("rule", "decision") for text in lost(found, kind))


def test_an_agent_that_lost_the_thread_can_ask(kept: Store, begin: Begin) -> None:
    """Within the size that it gives; secrets are hidden, and nobody is told of nothing."""
    session = begin()
    session.append({"role": "system", "content": PROMPT}, *TALK, *words(SECRET))
    library = Library(kept, show=lambda text: text.replace(SECRET, "[secret]"))
    before = json.loads(answer(library, "foldaway_sessions_dropped", {}).text)
    assert (before["by"], before["dropped"]) == ("nobody", [])
    assert session.compact(force=True).folded
    done = answer(library, "foldaway_sessions_dropped", {"max_tokens": 500})
    assert not done.failed
    assert SECRET not in done.text
    assert PROMPT not in done.text
    found = json.loads(done.text)
    assert found["session"] == session.id
    assert found["folded"] > 0
    assert all({"kind", "text", "position", "ref"} == set(row) for row in found["dropped"])
