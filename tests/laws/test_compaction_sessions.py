"""The laws of a compaction over the real sessions of the shared data; skipped where it is not."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.testing.laws import broken_laws

from foldaway import repair
from foldaway.dialects.conversion import convert
from foldaway.engine.oneshot import compress
from foldaway.transcript import Message

REPOSITORY = Path(__file__).resolve().parents[2]
SESSIONS = Path(os.environ.get("FOLDAWAY_DATA", REPOSITORY.parent / "shared" / "data")) / "sessions"
FILES = sorted(SESSIONS.glob("*.jsonl.gz"))
WINDOWS = (8_000, 64_000, 200_000)

if not FILES:
    pytest.skip(f"no shared data at {SESSIONS}; set FOLDAWAY_DATA", allow_module_level=True)
pytestmark = pytest.mark.shared


NAMES = [path.name.split(".")[0] for path in FILES]


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_sample_of_the_sessions_keeps_every_law(path: Path) -> None:
    """Every 21st session and the first of each file, at every window, to a fifth, and one of them
    in each other dialect."""
    for number, messages in _sessions(path):
        if number % 21 == 0 and len(messages) < 600:
            _assert_laws(messages, "openai-chat")
            if number % 63 == 0:
                _assert_laws_elsewhere(messages)


@pytest.mark.soak
@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_session_keeps_every_law(path: Path) -> None:
    """All of them, at every window, and every seventh in the other dialects."""
    for number, messages in _sessions(path):
        _assert_laws(messages, "openai-chat")
        if number % 7 == 0:
            _assert_laws_elsewhere(messages)


def _sessions(path: Path) -> Iterator[tuple[int, list[Any]]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            yield number, json.loads(line)["messages"]


def _assert_laws_elsewhere(messages: list[Any]) -> None:
    for provider in ("anthropic", "openai-responses", "gemini"):
        _assert_laws(convert(messages, provider, dialect="openai-chat").messages, provider)


def _assert_laws(given: Any, provider: str) -> None:
    value = repair(given, provider=provider).messages
    for window in WINDOWS:
        made = compress(value, context_length=window, provider=provider)
        assert made.report.status == "compacted" or made.messages is value
        assert made.report.status == "compacted" or made.report.reason
        found = broken_laws(value, made.messages, made.report, made.recall, provider=provider)
        assert found == []
        if made.report.status == "compacted":
            assert _new_neighbors(made.transcript.messages) == []


def _new_neighbors(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Return the positions of user messages that stand side by side and did not before."""
    return [
        (one.position, two.position)
        for one, two in pairwise(messages)
        if one.role == two.role == "user" and not 0 <= one.position == two.position - 1
    ]
