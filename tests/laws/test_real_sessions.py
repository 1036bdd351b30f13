"""The laws over the real sessions of the shared data; skipped where the data is not there."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from foldaway.dialects.checking import check_transcript, repair_transcript
from foldaway.dialects.document import Document
from foldaway.dialects.loading import dump
from foldaway.dialects.profiles import profile_for
from foldaway.transcript import groups

REPOSITORY = Path(__file__).resolve().parents[2]
SESSIONS = Path(os.environ.get("FOLDAWAY_DATA", REPOSITORY.parent / "shared" / "data")) / "sessions"
FILES = sorted(SESSIONS.glob("*.jsonl.gz"))

if not FILES:
    pytest.skip(f"no shared data at {SESSIONS}; set FOLDAWAY_DATA", allow_module_level=True)
pytestmark = pytest.mark.shared


@pytest.fixture(scope="module", params=FILES, ids=[path.name.split(".")[0] for path in FILES])
def session_file(request: pytest.FixtureRequest) -> tuple[bytes, Document]:
    """Return the bytes of a file of sessions and the document in it."""
    packed: bytes = request.param.read_bytes()
    return gzip.decompress(packed), Document.read(packed)


def test_every_session_is_written_as_it_was_read(session_file: tuple[bytes, Document]) -> None:
    """Values are equal to what `json` reads from the same line, and bytes are the same bytes."""
    data, document = session_file
    for line, record in zip(data.splitlines(), document.records, strict=True):
        assert dump(record.transcript) == json.loads(line)
    assert document.write([record.transcript for record in document.records]) == data


def test_every_session_is_valid_or_can_be_repaired(session_file: tuple[bytes, Document]) -> None:
    """Check explains every session; after a repair it finds nothing, and untouched messages are
    the same objects."""
    _, document = session_file
    for record in document.records:
        transcript = record.transcript
        profile = profile_for(transcript.dialect)
        violations = check_transcript(transcript, profile)
        assert all(found.message and found.remedy and found.path for found in violations)
        mended, actions = repair_transcript(transcript, profile)
        assert (mended is transcript) == (not violations) == (not actions)
        assert check_transcript(mended, profile) == []
        kept = {id(message) for message in transcript.messages}
        assert all(
            id(message) in kept
            for message in mended.messages
            if message.intact and not message.is_generated
        )


def test_the_groups_of_every_session_cover_it(session_file: tuple[bytes, Document]) -> None:
    """Each message is in exactly one group, in order."""
    _, document = session_file
    for record in document.records:
        messages = record.transcript.messages
        covered = [at for group in groups(messages) for at in range(group.start, group.stop)]
        assert covered == list(range(len(messages)))
