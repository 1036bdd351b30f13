"""Digests of real tool results; runs where the shared data is."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from foldaway.facts.digests import digest_of
from foldaway.facts.digests.line import LIMIT_CHARS
from foldaway.facts.tools import family_of
from foldaway.reduction.signals import exit_status
from foldaway.transcript import ToolCall

DATA = Path(os.environ.get("FOLDAWAY_DATA", Path(__file__).parents[4] / "shared" / "data"))
OUTPUTS = DATA / "tool_outputs" / "tool_outputs.jsonl.gz"
if not OUTPUTS.exists():
    pytest.skip(f"no shared data at {DATA}; set FOLDAWAY_DATA", allow_module_level=True)
pytestmark = pytest.mark.shared


class Recorded(Struct):
    """One result of a tool, as it was recorded."""

    tool: str
    arguments: str
    text: str


RECORDED = [
    msgspec.json.decode(line, type=Recorded)
    for line in gzip.decompress(OUTPUTS.read_bytes()).splitlines()
]


def test_every_recorded_result_has_a_safe_and_smaller_line() -> None:
    """One line, bounded, and never more than what it stands for where that is long."""
    for record in RECORDED:
        line = digest_of(ToolCall("c", record.tool, record.arguments), record.text)
        assert len(line) <= LIMIT_CHARS
        assert line.isprintable() or len(line.splitlines()) == 1
        if len(record.text) > LIMIT_CHARS:
            assert len(line) < len(record.text)


def test_a_command_that_failed_is_told_from_one_that_did_not() -> None:
    """Wherever a recorded result of a shell reports its exit status, its line does so too."""
    reported = 0
    for record in RECORDED:
        status = exit_status(record.text)
        if family_of(record.tool) == "shell" and status is not None:
            line = digest_of(ToolCall("c", record.tool, record.arguments), record.text)
            assert f"exit {status}, " in line, line
            reported += 1
    assert reported > 0
