"""Claude Code: tree, sidechains, compaction, and what a killed writer leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from foldaway.agents.importers import ImportedSession, Lineage, read_bytes, read_file
from foldaway.transcript import Media

FILE = Path(__file__).parent / "data" / "claude-code.jsonl"
OWN = "11111111-aaaa-4bbb-8ccc-000000000001"


def by_id() -> dict[str, ImportedSession]:
    return {session.source_id: session for session in read_file(FILE)}


def line(uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": f"words of {uuid}"}
    return {
        "type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message,
        **more,
    }  # fmt: skip


def read(*lines: dict[str, Any]) -> list[ImportedSession]:
    return list(read_bytes("\n".join(map(json.dumps, lines)).encode(), "file.jsonl"))


def test_a_sidechain_is_a_session_of_its_own() -> None:
    """What a subagent said is not among the messages of its parent."""
    side = by_id()[f"{OWN}/s1"]
    assert side.entry_ids == ("s1", "s2", "s3", "s4")
    assert side.lineage == Lineage(OWN, "sidechain")
    assert "s1" not in by_id()[OWN].entry_ids


def test_going_back_starts_a_branch_and_parallel_calls_do_not() -> None:
    """A second prompt below an entry is a branch; a second result below a call is not."""
    found = by_id()
    assert found[OWN].entry_ids == ("u1", "a1", "a2", "r1", "a3", "r2", "a4", "u2", "a5")
    branch = found[f"{OWN}/u3"]
    assert branch.lineage == Lineage(OWN, "branch", "a4")
    assert branch.entry_ids == ("u3", "a6", "r3", "c1", "a7", "u5", "a8")
    assert branch.title == "Red build: include path"


def test_a_compaction_goes_on_in_the_same_session_and_its_summary_is_known() -> None:
    """The boundary has no parent, only a logical one; the summary is not the user's words."""
    branch = by_id()[f"{OWN}/u3"]
    assert [branch.entry_ids[at] for at in branch.summaries] == ["c1"]


def test_what_was_torn_doubled_and_unanswered_is_said() -> None:
    """The line behind a torn one is kept, the one that comes twice is taken once."""
    found = by_id()
    assert [(note.kind, note.where) for note in found[OWN].notes] == [
        ("torn", "line 22"), ("torn", "line 25"), ("duplicate", "line 13"),
    ]  # fmt: skip
    assert [note.kind for note in found[f"{OWN}/u3"].notes] == ["unanswered"]


def test_messages_are_the_payloads_of_the_lines() -> None:
    """Media, thinking and unknown fields come through as they were written."""
    session = by_id()[OWN]
    payloads = [json.loads(text)["message"] for text in FILE.read_text().splitlines()[1:12]]
    assert session.transcript.messages[1].wire == payloads[1]
    assert isinstance(session.transcript.messages[7].parts[1], Media)
    assert (session.model, session.cwd) == ("claude-opus-4-5-20251101", "/work/app")
    assert session.started == 1768478460.0


def test_a_resumed_session_names_the_one_that_it_goes_on_from() -> None:
    """Lines of the old session in the new file stay with the old one."""
    old, new = read(line("a", None), line("b", "a", sessionId="t"))
    assert (old.source_id, old.entry_ids) == ("s", ("a",))
    assert (new.source_id, new.lineage) == ("t", Lineage("s", "resumed", "a"))


def test_a_file_of_one_line_and_one_agent_is_read() -> None:
    """A session that was just begun, and the file of a subagent."""
    assert [session.entry_ids for session in read(line("a", None))] == [("a",)]
    (agent,) = read(line("a", None, isSidechain=True, agentId="x1"))
    assert (agent.source_id, agent.lineage) == ("s/x1", Lineage("s", "sidechain"))


def test_roots_without_parents_are_no_branches() -> None:
    """Old files have `parentUuid` null in every line."""
    assert len(read(line("a", None), line("b", None), line("c", None))) == 1


def test_a_line_whose_parent_was_torn_stays_with_its_neighbours() -> None:
    """Behind a gap the file goes on in the branch that it was in."""
    main, branch = read(
        line("a", None), line("b", "a"), line("c", "a"), line("e", "gone"), line("f", "e")
    )
    assert (main.entry_ids, branch.entry_ids) == (("a", "b"), ("c", "e", "f"))
