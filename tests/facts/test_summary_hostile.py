"""Summaries of others may hold anything: they are read in linear time."""

from __future__ import annotations

import time

import pytest
from tests.testing.rows import each_row

from foldaway.facts.frame import SUMMARY_AFTERWORD, summary_body, summary_text
from foldaway.facts.summary import parse_summary


@each_row("text", [
    "## a" + " " * 400_000 + "b", "Just words.\n" * 100_000, "- x\n" + "  more\n" * 100_000,
    "#" * 400_000, "## " * 100_000, " [" * 200_000, "- " * 200_000,
])  # fmt: skip
def test_a_hostile_summary_is_read_in_linear_time(text: str) -> None:
    """Another compressor's text may hold anything."""
    started = time.process_time()
    parse_summary(text)
    assert time.process_time() - started < 2


def test_a_hostile_foreign_summary_is_told_in_linear_time() -> None:
    """Also where its end is never found."""
    started = time.process_time()
    for piece in ("\n", "-", "---", "## "):
        summary_body("[CONTEXT SUMMARY]: x" + piece * (400_000 // len(piece)) + "y")
    assert time.process_time() - started < 2


@pytest.mark.parametrize("brief", [False, True])
def test_a_body_that_quotes_the_afterword_comes_out_whole(brief: bool) -> None:
    """A user may have quoted it."""
    body = f"## Goal\n- {SUMMARY_AFTERWORD} [m0]\n- And more. [m1]"
    assert summary_body(summary_text(body, "", brief=brief)) == body
