"""dropped: what the last compaction left out, for people and programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("home")
DATA = Path(__file__).resolve().parents[1] / "agents" / "importers" / "data"
FILE = DATA / "codex.jsonl"
"""Its agent compacted at m6."""


def test_a_file_and_what_was_imported_of_it_lost_the_same(foldaway: Any) -> None:
    """Without a name it is the newest session; with --json a program gets all."""
    seen = foldaway("dropped", FILE, "--json").reports[0]
    assert set(seen) == {"session", "by", "at", "folded", "facts"}
    assert (seen["by"], seen["at"]) == ("agent", 6)
    assert set(seen["facts"][0]) == {"kind", "text", "position", "reference"}
    foldaway("import", FILE)
    for named in ((), ("last",)):
        stored = foldaway("dropped", *named, "--json").reports[0]
        assert {**stored, "session": seen["session"]} == seen


def test_every_fact_is_opened_by_recall(foldaway: Any) -> None:
    """From the file and from the store, and the picture says how."""
    facts = foldaway("dropped", FILE, "--json").reports[0]["facts"]
    foldaway("import", FILE)
    for fact in facts:
        label = f"m{fact['position']}"
        whole = [foldaway("recall", label, "--session", name) for name in (FILE, "last")]
        assert [one.code for one in whole] == [0, 0]
        assert json.loads(whole[0].text) == json.loads(whole[1].text)
    text = foldaway("dropped", FILE).text
    assert f"recall m{facts[0]['position']} --session" in text
    assert foldaway("recall", "m99", "--session", FILE).code == 2
    assert foldaway("recall", "m99", "--session", "last").code == 2


def test_the_picture_is_no_wider_than_eighty_columns(
    foldaway: Any, put: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However wide the terminal is; only the line to copy is as long as it has to be."""
    monkeypatch.setenv("COLUMNS", "200")
    rows = FILE.read_bytes().replace(
        b"Run the tests.", b"Run the tests. " + b"Never push it. " * 20
    )
    *lines, last = foldaway("dropped", put("s.jsonl", rows)).text.splitlines()
    assert lines
    assert all(len(line) <= 80 for line in lines)
    assert last.startswith("read one: foldaway recall ")


def test_nothing_is_lost_without_a_compaction(foldaway: Any) -> None:
    """The exit code says it."""
    seen = foldaway("dropped", DATA / "pi.jsonl")
    assert (seen.code, seen.out) == (1, b"")
    assert "never compacted" in seen.err


def test_a_file_that_we_compacted_lost_what_its_originals_have(
    foldaway: Any, tmp_path: Path
) -> None:
    """It was us, the count is that of the compaction, and each fact is read by its reference."""
    before, after = DATA.parents[3] / "examples/session.json.gz", tmp_path / "after.json"
    window = ("--context-length", 64_000)
    (report,) = foldaway("compact", "--json", before, "-o", after, *window).reports
    (seen,) = foldaway("dropped", after, "--json").reports
    assert (seen["by"], seen["at"]) == ("foldaway", 254)
    assert seen["folded"] == report["folded"] + report["rewritten"]
    originals = f"{after}.originals.jsonl"
    assert seen["facts"]
    for fact in seen["facts"]:
        assert foldaway("recall", fact["reference"], "--originals", originals).code == 0
    text = foldaway("dropped", after).text
    assert f"{seen['folded']} messages folded or shortened" in text
    assert f"recall {seen['facts'][0]['reference']} --originals" in text
