"""The report: what a caller may rely on, as values and as JSON."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.testing.long_lists import Exchange, written

from foldaway._core.report import Report
from foldaway.engine.oneshot import compress

ITEMS = written("openai-chat", [Exchange(2, 1, 900)] * 6, with_system=True)
COMPACTED = compress(ITEMS, target_tokens=900).report
UNCHANGED = compress(ITEMS[:2]).report


@pytest.mark.parametrize("report", [COMPACTED, UNCHANGED])
def test_a_report_as_json_has_what_is_promised(report: Report) -> None:
    """At least these fields, and it reads back as the same value."""
    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(report))
    assert {
        "status", "reason", "tokens_before", "tokens_after", "prompt_tokens",
        "prompt_tokens_source", "effective_window", "threshold_tokens", "messages_before",
        "messages_after", "boundary", "kept", "rewritten", "folded", "compaction_count",
        "recoverable", "references", "persistence", "summary_source",
    } <= set(data)  # fmt: skip
    assert {
        "source", "name", "confidence", "failure", "retry_class", "calls", "verified",
        "unchecked", "dropped", "contradicted", "added",
    } == set(data["summary_source"])  # fmt: skip
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report


def test_the_headline_of_a_compaction_has_the_numbers() -> None:
    """Messages and tokens before and after, and the share saved."""
    headline = COMPACTED.headline
    assert f"{COMPACTED.tokens_before:,} tokens" in headline
    assert f"{COMPACTED.tokens_after:,} tokens" in headline
    assert f"{COMPACTED.saved:.0%}" in headline


def test_no_headline_says_that_everything_was_saved() -> None:
    """Nearly all is 99 %: something is always left."""
    most = replace(COMPACTED, tokens_before=1_000_000, tokens_after=1)
    assert "(−99%)" in most.headline


def test_the_headline_of_a_run_that_changed_nothing_says_why() -> None:
    """The reason from the closed set and its sentence."""
    assert UNCHANGED.status == "unchanged"
    assert UNCHANGED.headline.startswith(f"Nothing changed: {UNCHANGED.reason}")
    assert UNCHANGED.detail in UNCHANGED.headline
    assert UNCHANGED.saved == 0
    assert UNCHANGED.tokens_after == UNCHANGED.tokens_before


def test_a_provider_that_counts_more_than_promised_is_news() -> None:
    """From ten per cent above the estimate there is a note; below, the same report."""
    promised = COMPACTED.tokens_after
    assert COMPACTED.confirmed_by(promised) is COMPACTED
    assert COMPACTED.confirmed_by(int(promised * 1.09)) is COMPACTED
    [note] = COMPACTED.confirmed_by(promised * 2).notes[len(COMPACTED.notes) :]
    assert f"{promised * 2:,}" in note
    assert UNCHANGED.confirmed_by(10**9) is UNCHANGED


def test_every_message_is_kept_rewritten_or_folded() -> None:
    """The three add up to the list, and the boundary lies in it."""
    assert COMPACTED.kept + COMPACTED.rewritten + COMPACTED.folded == COMPACTED.messages_before
    assert COMPACTED.boundary is not None
    start, stop = COMPACTED.boundary
    assert 0 <= start < stop <= COMPACTED.messages_before
    assert COMPACTED.summary_source.source == "ledger"
    assert COMPACTED.recoverable
