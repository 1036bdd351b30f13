"""The laws of the ledger over real sessions; skipped where the shared data is not there."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foldaway import load
from foldaway._core.policy import Policy
from foldaway.compaction.work import FrozenLog
from foldaway.facts.effects.calls import effects_of_call, use_of
from foldaway.facts.languages import counted, phrases_for
from foldaway.facts.ledger import Around, Fact, Ledger, summarize, update
from foldaway.facts.ledger.lines import terms_of
from foldaway.facts.reading import LogReading
from foldaway.facts.summary import SECTIONS, parse_summary
from foldaway.reduction.lines import plain
from foldaway.transcript import Estimator, Message, Text, ToolCall, ToolResult, whole_view

REPOSITORY = Path(__file__).resolve().parents[3]
SESSIONS = Path(os.environ.get("FOLDAWAY_DATA", REPOSITORY.parent / "shared" / "data")) / "sessions"
FILES = sorted(SESSIONS.glob("*.jsonl.gz"))
SAMPLED = 2
MOST_CHARS = 250_000
COUNT = re.compile(r"\((?:\d+ to )?\d+ of [\d,]+\)")
"""Which of how many items of a list a line tells."""

if not FILES:
    pytest.skip(f"no shared data at {SESSIONS}; set FOLDAWAY_DATA", allow_module_level=True)
pytestmark = pytest.mark.shared

EVERY_FILE = pytest.mark.parametrize("path", FILES, ids=[path.name.split(".")[0] for path in FILES])


@cache
def sample(path: Path) -> list[tuple[Sequence[Message], list[Fact]]]:
    """A few sessions of a file, not the longest, with their facts."""
    return [read(log) for log in islice(sessions(path, MOST_CHARS), SAMPLED)]


def sessions(path: Path, most_chars: int) -> Iterator[Sequence[Message]]:
    with gzip.open(path, "rt", encoding="utf-8") as rows:
        for row in rows:
            if len(row) <= most_chars:
                yield load(json.loads(row)["messages"]).messages


def read(log: Sequence[Message]) -> tuple[Sequence[Message], list[Fact]]:
    index = FrozenLog(log, whole_view(len(log)), LogReading(Estimator(), Policy()))
    return log, index.facts(0, len(log))


@EVERY_FILE
def test_a_session_in_any_rounds_is_a_session_at_once(path: Path) -> None:
    """Message by message, in chunks and whole: the same ledger, and it is read back as written."""
    for log, facts in sample(path):
        at_once = msgspec.json.encode(update(Ledger(), facts))
        for chunk in (1, 7, max(len(log) // 2, 1)):
            ledger = Ledger()
            for start in range(0, len(log), chunk):
                rows = [fact for fact in facts if start <= fact.at < start + chunk]
                ledger = update(ledger, rows)
            assert msgspec.json.encode(ledger) == at_once
        assert msgspec.json.encode(msgspec.json.decode(at_once, type=Ledger)) == at_once


def source_of(log: Sequence[Message]) -> str:
    """All that a session says, as written and as read; paths also without what `.` adds."""
    said: list[str] = []
    for message in log:
        for part in message.parts:
            if isinstance(part, Text):
                said.append(part.text)
            elif isinstance(part, ToolCall):
                said += [part.name, part.arguments, *strings_in(use_of(part).arguments)]
                for effect in effects_of_call(part.name, use_of(part).arguments):
                    said += [os.path.normpath(effect.path), os.path.normpath(effect.to)]
            elif isinstance(part, ToolResult):
                said += [inner.text for inner in part.parts if isinstance(inner, Text)]
    for text in list(said):
        if "\x1b" in text or "\r" in text:
            said.append(plain(text))
        if text[:1] in ("{", "[", '"'):
            said.append(text.replace("\\n", "\n").replace('\\"', '"'))
            with contextlib.suppress(msgspec.DecodeError, UnicodeEncodeError):
                said.extend(strings_in(msgspec.json.decode(text)))
    return "\n".join(said)


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_in(inner)
    elif value is not None:
        yield json.dumps(value)


@EVERY_FILE
def test_no_summary_of_a_session_invents_a_term(path: Path) -> None:
    """Every name, path and number of every entry stands in the session or is one of our words."""
    for log, facts in sample(path):
        source = source_of(log)
        made = summarize(update(Ledger(), facts), Around(20_000))
        phrases = phrases_for(made.language)
        times = [counted(phrases, phrases.times, n) for n in range(999)]
        ours = f"{msgspec.to_builtins(phrases)} {times} {[message.label for message in log]}"
        entries = [entry for rows in made.sections.values() for entry in rows]
        invented = [
            (term, entry)
            for entry in entries
            for term in terms_of(COUNT.sub(" ", entry.text), 10_000)
            if term not in source
            and term not in ours
            and re.sub(r":\d+(-\d+)?\Z", "", term) not in source  # the lines of a file
        ]
        assert invented == []


@EVERY_FILE
def test_a_summary_of_a_session_fits_and_comes_back(path: Path) -> None:
    """Within a tight and a wide budget; every entry names a message and is read as it was."""
    counter = Estimator()
    for log, facts in sample(path):
        labels = {message.label for message in log}
        made = summarize(update(Ledger(), facts), Around(12_000))
        for budget in (150, 900, 4_000):
            assert counter.count(made.render(counter, budget)) <= budget
        found = parse_summary(made.render(counter, 100_000))
        for section in SECTIONS:
            rows = made.sections.get(section, ())
            assert [row.text.strip() for row in found.sections.get(section, ())] == [
                row.text.strip() for row in rows
            ]
            assert all(row.source in labels or not row.source for row in rows)
