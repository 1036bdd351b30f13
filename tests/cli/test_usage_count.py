"""`foldaway usage` against a count of the shared native files that shares no code with it."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import count_usage

NATIVE = Path(os.environ.get("FOLDAWAY_DATA", Path(__file__).parents[3] / "shared" / "data"))
KEYS = ("agent", "model", "session", "project", "day")
COPIED = ("claude-code", "codex", "pi")
"""Agents whose sessions are files that a user may copy."""
WITHOUT_TURNS = ("aider", "swe-agent")
"""Agents that record what a whole session used, which is no request of its own."""


@pytest.fixture
def counted(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[count_usage.Answer]:
    """The answers of the shared files, laid out in a home as their agents do it."""
    if not (NATIVE / "native").is_dir():
        pytest.skip(f"no shared data at {NATIVE}; set FOLDAWAY_DATA")
    count_usage.lay_out(NATIVE / "native", home)
    monkeypatch.chdir(home / "work")
    return list(count_usage.answers(home))


def rows_of(report: Any, key: str) -> dict[str, list[float]]:
    """The rows of a report; subagents and branches are added to the session that they are of."""
    found: dict[str, list[float]] = {}
    for row in report["rows"]:
        name = row["period" if key == "day" else key]
        if key == "session" and row["agent"] == "claude-code":
            name = name.partition("/")[0]
        counts = (row["input_tokens"], row["output_tokens"], row["cache_write_tokens"],
                  row["cache_read_tokens"], row["requests"], row["cost"])  # fmt: skip
        before = found.get(name, [0] * len(counts))
        found[name] = [have + more for have, more in zip(before, counts, strict=True)]
    return found


@pytest.mark.shared
@pytest.mark.soak
def test_usage_is_what_was_counted_independently(
    foldaway: Any, home: Path, counted: list[count_usage.Answer]
) -> None:
    """By every key: tokens and requests to the last one, money to a hundredth of a cent."""
    assert len({one.agent for one in counted}) == len(count_usage.COUNTERS)
    for key in KEYS:
        by = ["--daily"] if key == "day" else ["--by", key]
        (seen,) = foldaway("usage", "--json", *by).reports
        rows, expected = rows_of(seen, key), count_usage.sums(counted, key)
        assert {name: row[:5] for name, row in rows.items()} == {
            name: row[:5] for name, row in expected.items()
        }
        for name, row in rows.items():
            assert row[5] == pytest.approx(expected[name][5], abs=1e-4)
    (whole,) = foldaway("--json").reports
    assert whole["total"]["requests"] == len(counted)
    assert whole["total"]["cost"] == pytest.approx(sum(one.cost or 0 for one in counted), abs=1e-4)
    for agent in COPIED:
        place = home / count_usage.PLACES[agent]
        shutil.copytree(place, place.parent / "copied")
    (again,) = foldaway("--json").reports
    assert (again["total"], again["agents"]) == (whole["total"], whole["agents"])


@pytest.mark.shared
@pytest.mark.soak
def test_every_command_says_the_same_of_a_session(
    foldaway: Any, counted: list[count_usage.Answer]
) -> None:
    """Requests and money of one session, with its branches and subagents, are those of the count;
    its size in the list is that of `inspect`.
    """
    expected, seen = count_usage.sums(counted, "session"), dict[str, list[Any]]()
    assert foldaway("import").code == 0
    page = foldaway("sessions", "list", "--all", "--json", "--most", 500).reports[0]["sessions"]
    named = {row["session"]: row["source_id"] for row in page}
    for row in page:
        (shown,) = foldaway("sessions", "show", "--json", row["session"]).reports
        assert (shown["tokens"], shown["messages"]) == (row["tokens"], row["messages"])
        if row["messages"]:
            (found,) = foldaway("inspect", "--json", row["session"]).reports
            assert found["tokens"] - found["outside_tokens"] == row["tokens"]
            assert found["messages"] == row["messages"]
        if row["source"] not in WITHOUT_TURNS:
            whole = seen.setdefault(named[row["root"]], [row["source"], 0, 0])
            whole[1] += len(shown["turns"])
            whole[2] += sum(turn["cost"] for turn in shown["turns"])
    assert len({source for source, requests, _ in seen.values() if requests}) >= 5
    parted = {name.partition("@")[0] for name in seen if "@" in name}
    for name in seen.keys() - parted:  # of a file with two trees, which share an answer, the later
        _, requests, cost = seen[name]
        *_, counted_requests, counted_cost = expected.get(name.partition("@")[0], (0, 0))
        assert requests == counted_requests
        assert cost == pytest.approx(counted_cost, abs=1e-4)


@pytest.mark.shared
@pytest.mark.soak
def test_blocks_are_those_of_an_independent_count(
    foldaway: Any, counted: list[count_usage.Answer]
) -> None:
    """By the rule of ccusage, with the hours of UTC."""
    expected: list[list[Any]] = []
    for agent in sorted({one.agent for one in counted}):
        block: list[Any] = []
        for one in sorted((one for one in counted if one.agent == agent and one.time),
                          key=lambda one: one.time or 0.0):  # fmt: skip
            now = one.time or 0.0
            if not block or now > block[1] + 5 * 3600 or now > block[4] + 5 * 3600:
                began = datetime.fromtimestamp(now, UTC).replace(minute=0, second=0, microsecond=0)
                block = [agent, began.timestamp(), 0, 0, now]
                expected.append(block)
            block[2] += 1
            block[3] += one.plain + one.output + one.written + one.read
            block[4] = now
    (seen,) = foldaway("usage", "--blocks", "--json").reports
    found = [
        (row["agent"], row["start"], row["requests"], row["total_tokens"])
        for row in seen["blocks"]
        if row["agent"] not in WITHOUT_TURNS
    ]
    assert len(found) >= 10
    assert sorted(found) == sorted(
        tuple(one[:4]) for one in expected if one[0] not in WITHOUT_TURNS
    )
