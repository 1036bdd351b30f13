"""Every shared original: counted by hand once, imported, imported again, exported to chat."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.dialects.check import check_transcript
from holdfast.dialects.convert import convert_transcript
from holdfast.dialects.profiles import profile_for
from holdfast.dialects.repair import repair_transcript
from holdfast.importers import ImportedSession, message_keys, read_file
from holdfast.transcript import survey

NATIVE = Path(os.environ.get("HOLDFAST_DATA", Path(__file__).parents[3] / "shared" / "data"))
NATIVE = NATIVE / "native"
HERE = Path(__file__).parent / "data"

COUNTS = {
    "aider-chat-history/chat-history.first60chats.md.gz": (45, 307, 0, 0),
    "claude-code/cli-2026-01-06-cacf6cfb-e843-47af-9dc2-6a5af.jsonl.gz": (1, 63, 18, 18),
    "claude-code/cli-2026-01-15-19abe528-a510-4c89-a1f8-13895.jsonl.gz": (1, 199, 53, 53),
    "claude-code/cli-e5933dce-dc0c-4367-9158-04a9eadedc83.jsonl.gz": (1, 45, 18, 18),
    "claude-code/fixture-edge_cases.jsonl.gz": (2, 12, 3, 1),
    "claude-code/fixture-representative_messages.jsonl.gz": (1, 11, 2, 2),
    "claude-code/fixture-sample_session.jsonl.gz": (1, 7, 2, 2),
    "claude-code/fixture-todowrite_examples.jsonl.gz": (1, 11, 3, 3),
    "codex/git-sync-019dfead-9906-7420-96ec-f04e451e3a4e.jsonl.gz": (1, 168, 58, 58),
    "codex/git-sync-019ed5f2-a17e-77b2-a9c1-feeeee44d333.jsonl.gz": (1, 75, 25, 25),
    "codex/git-sync-019ed659-91da-7b22-ba5d-08a16fb8bfc4.jsonl.gz": (1, 31, 9, 9),
    "mini-swe-agent/github_issue.traj.json.gz": (1, 22, 0, 0),
    "opencode/nimbus-ses_32c5e58a8ffegUybzBiu3LCBd4.json.gz": (1, 16, 11, 11),
    "opencode/nimbus-ses_33afe1784ffe0kskahi1Xo4iZ6.json.gz": (1, 18, 52, 52),
    "openhands/fncall-llm-message.json.gz": (1, 14, 6, 6),
    "openhands/llm-logs__litellm_proxy__anthropic__claude-sonnet-4-20250514-1757015046.707.json.gz":
        (1, 13, 6, 5),
    "openhands/nonfncall-llm-logs__litellm_proxy__deepseek__deepseek-chat-1757015076.651.json.gz":
        (1, 9, 4, 3),
    "openhands/nonfncall-llm-message.json.gz": (1, 10, 4, 4),
    "pi/large-session.jsonl.gz": (1, 900, 391, 373),
    "sharegpt-hermes/derived-from-dev-12.jsonl.gz": (12, 1044, 667, 667),
    "sharegpt-hermes/trajectory_samples.jsonl.gz": (13, 39, 0, 0),
    "sharegpt/glaive_toolcall_en_demo.json.gz": (300, 1914, 211, 211),
    "sharegpt/reason_tool_use_demo_50.jsonl.gz": (50, 280, 68, 48),
    "swe-agent-traj/crypto__katy.traj.gz": (1, 37, 0, 0),
    "swe-agent-traj/demonstrations__function_calling_simple.traj.gz": (1, 12, 5, 5),
    "swe-agent-traj/gpt4__swe-bench-dev-easy_first_only__default__t-0.00__p-0.95__"
    "pydicom__pydicom-1458.traj.gz": (1, 26, 0, 0),
    "swe-agent-traj/replay__marshmallow-code__marshmallow-1867__function_calling__"
    "marshmallow-code__marshmallow-1867.traj.gz": (1, 28, 13, 13),
    "tau-bench/gpt-4o-airline.first5.json.gz": (5, 156, 41, 41),
    "tau2-bench/whissle_airline_run1.first3.json.gz": (3, 64, 16, 16),
}  # fmt: skip
"""Sessions, messages, calls and results: counted by a script that knows nothing of the project."""

AGENTS = {
    "aider-chat-history": "aider", "sharegpt-hermes": "sharegpt", "swe-agent-traj": "swe-agent",
}  # fmt: skip

FILES = sorted(NATIVE.glob("*/*")) if NATIVE.is_dir() else []
OURS = sorted(path for path in HERE.iterdir() if path.suffix in (".json", ".jsonl"))


def native(name: str) -> Path:
    if not NATIVE.is_dir():
        pytest.skip(f"no shared data at {NATIVE}; set HOLDFAST_DATA")
    return NATIVE / name


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


def test_every_original_is_in_the_table() -> None:
    """A file that is added to the shared data needs its counts here."""
    native("")
    assert {str(path.relative_to(NATIVE)) for path in FILES} == set(COUNTS)


@pytest.mark.parametrize("path", [*FILES, *OURS], ids=lambda path: path.name[:40])
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[:40])
def test_importing_an_original_twice_gives_the_same_keys(path: Path) -> None:
    """No message is new the second time, and no two of a session share a key."""
    once, twice = list(read_file(path)), list(read_file(path))
    assert [message_keys(session) for session in once] == [message_keys(each) for each in twice]
    assert len({session.source_id for session in once}) == len(once)
    for session in once:
        assert len(set(message_keys(session))) == len(session.transcript.messages)
