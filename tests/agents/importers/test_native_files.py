"""Every shared original: counted by hand once, imported, imported again, exported to chat."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from foldaway.agents.importers import ImportedSession, message_keys, read_file
from foldaway.dialects.checking import check_transcript, repair_transcript
from foldaway.dialects.conversion import convert_transcript
from foldaway.dialects.profiles import profile_for
from foldaway.transcript import survey

NATIVE = Path(os.environ.get("FOLDAWAY_DATA", Path(__file__).parents[4] / "shared" / "data"))
NATIVE = NATIVE / "native"
HERE = Path(__file__).parent / "data"

COUNTS = {
    name: tuple(row)
    for name, row in json.loads((HERE.parent / "native_counts.json").read_text()).items()
}
"""Sessions, messages, calls and results: counted by a script that knows nothing of the project."""

AGENTS = {
    "aider-chat-history": "aider", "sharegpt-hermes": "sharegpt", "swe-agent-traj": "swe-agent",
}  # fmt: skip

FILES = sorted(NATIVE.glob("*/*")) if NATIVE.is_dir() else []
OURS = sorted(path for path in HERE.iterdir() if path.suffix in (".json", ".jsonl"))


def native(name: str) -> Path:
    if not NATIVE.is_dir():
        pytest.skip(f"no shared data at {NATIVE}; set FOLDAWAY_DATA")
    return NATIVE / name


@pytest.mark.shared
@pytest.mark.parametrize("name", COUNTS)
def test_every_original_reads_with_the_counts_that_were_taken_by_hand(name: str) -> None:
    """Sessions, messages, calls and results are those of the file, under the agent that wrote."""
    sessions = list(read_file(native(name)))
    surveys = [survey(session.transcript.messages) for session in sessions]
    messages = sum(len(session.transcript.messages) for session in sessions)
    calls = sum(len(found.calls) for found in surveys)
    results = sum(len(found.results) for found in surveys)
    folder = name.split("/")[0]
    assert (len(sessions), messages, calls, results) == COUNTS[name]
    assert {session.agent for session in sessions} == {AGENTS.get(folder, folder)}


@pytest.mark.shared
def test_every_original_is_in_the_table() -> None:
    """A file that is added to the shared data needs its counts here."""
    native("")
    assert {str(path.relative_to(NATIVE)) for path in FILES} == set(COUNTS)


@pytest.mark.parametrize(
    "path",
    [*(pytest.param(path, marks=pytest.mark.shared) for path in FILES), *OURS],
    ids=lambda path: path.name[:40],
)
def test_every_session_goes_to_openai_chat_and_passes_check(path: Path) -> None:
    """What is broken in the file itself is mended, and only that."""
    profile = profile_for("openai-chat")
    for session in read_file(path):
        chat = convert_transcript(session.transcript, "openai-chat").transcript
        broken = check_transcript(chat, profile)
        mended, _ = repair_transcript(chat, profile)
        assert check_transcript(mended, profile) == []
        assert {found.rule for found in broken} <= explained(session)


def explained(session: ImportedSession) -> set[str]:
    """Rules that what the notes say may break: unanswered calls, and ids that come twice."""
    kinds = {note.kind for note in session.notes}
    calls = [call.id for _, call in survey(session.transcript.messages).calls]
    rules: set[str] = set()
    if "unanswered" in kinds:
        rules |= {"call-answered", "call-pending"}
    if len(set(calls)) < len(calls):
        rules |= {"id-unique"}
    return rules


@pytest.mark.shared
@pytest.mark.skipif(not FILES, reason="no shared data: set FOLDAWAY_DATA")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[:40])
def test_importing_an_original_twice_gives_the_same_keys(path: Path) -> None:
    """No message is new the second time, and no two of a session share a key."""
    once, twice = list(read_file(path)), list(read_file(path))
    assert [message_keys(session) for session in once] == [message_keys(each) for each in twice]
    assert len({session.source_id for session in once}) == len(once)
    for session in once:
        assert len(set(message_keys(session))) == len(session.transcript.messages)
