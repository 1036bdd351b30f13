"""inspect: where the context goes, without a word of what was said."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("own_folder")

SECRET = "the-words-that-were-said"


def session() -> list[dict[str, Any]]:
    """Return a chat that reads the same file twice, and something longer once."""
    found: list[dict[str, Any]] = [{"role": "user", "content": SECRET}]
    for n, (tool, text) in enumerate(
        [("read_file", f"{SECRET} " * 100), ("grep", "line " * 2000),
         ("read_file", f"{SECRET} " * 100)]
    ):  # fmt: skip
        call = {"name": tool, "arguments": json.dumps({"path": SECRET})}
        found += [
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": f"c{n}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": text},
        ]  # fmt: skip
    return found


def test_a_measured_total_counts_instead_of_the_estimate(foldaway: Any, put: Any) -> None:
    """The parts are scaled to it; the total of several transcripts is nobody's."""
    file = put("s.json", session())
    (estimated,) = foldaway("inspect", "--json", file).reports
    (row,) = foldaway("inspect", "--json", file, "--measured", 2 * estimated["tokens"]).reports
    assert (row["tokens"], row["tokens_source"]) == (2 * estimated["tokens"], "measured")
    assert sum(share["tokens"] for share in row["categories"]) == row["tokens"]
    seen = foldaway("inspect", file, "--measured", 9_000)
    assert "the total was measured" in seen.out.decode()
    lines = "\n".join(json.dumps({"messages": session()}) for _ in range(2))
    assert foldaway("inspect", put("two.jsonl", lines.encode()), "--measured", 9_000).code == 2


def test_the_breakdown_adds_up(foldaway: Any, put: Any) -> None:
    """Categories sum to the whole; tools and the system prompt outside the list count."""
    body = {"model": "zz", "messages": session(), "tools": [
        {"type": "function", "function": {"name": "grep", "parameters": {}}}]}  # fmt: skip
    seen = foldaway("inspect", "--json", put("s.json", body), "--context-length", 100_000)
    (row,) = seen.reports
    assert seen.code == 0
    assert sum(share["tokens"] for share in row["categories"]) == row["tokens"]
    assert {"tools", "tool results", "agent", "user"} <= {c["name"] for c in row["categories"]}
    assert (row["is_estimate"], row["context_length"]) == (True, 100_000)
    (bare,) = foldaway("inspect", "--json", put("bare.json", session())).reports
    (beside,) = (one["tokens"] for one in row["categories"] if one["name"] == "tools")
    assert (bare["outside_tokens"], row["outside_tokens"]) == (0, beside)
    assert row["tokens"] - beside == bare["tokens"]
    seen = foldaway("inspect", put("s.json", body), "--context-length", 100_000)
    assert f"7 messages, {bare['tokens']:,} tokens, {beside} beside them" in seen.text


def test_the_longest_messages_have_place_role_and_tool(foldaway: Any, put: Any) -> None:
    """The longest first, as many as asked for."""
    (row,) = foldaway("inspect", "--json", "--top", 2, put("s.json", session())).reports
    assert [(one["position"], one["role"], one["tools"]) for one in row["longest"]] == [
        (4, "tool", ["grep"]), (2, "tool", ["read_file"]),
    ]  # fmt: skip
    assert row["longest"][0]["tokens"] > row["longest"][1]["tokens"] > 0


def test_a_place_stands_on_one_line_where_no_tool_is_named(foldaway: Any, put: Any) -> None:
    """A column with nothing in it takes no room from the others."""
    talk = [{"role": "user", "content": "hello there"}, {"role": "assistant", "content": "hi"}]
    seen = foldaway("inspect", put("s.json", talk))
    assert "m0  user" in seen.text
    assert "m1  assistant" in seen.text


def test_a_result_is_a_tools_message_whoever_sends_it(foldaway: Any, put: Any) -> None:
    """Anthropic's results come in messages of the user; they are no words of his."""
    use = {"type": "tool_use", "id": "c1", "name": "Read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "word " * 90}
    talk = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]}]  # fmt: skip
    (row,) = foldaway("inspect", "--json", "--top", 1, put("s.json", talk)).reports
    assert [(one["position"], one["role"], one["tools"]) for one in row["longest"]] == [
        (2, "tool", ["Read"]),
    ]  # fmt: skip


def test_identical_tool_results_are_found(foldaway: Any, put: Any) -> None:
    """All places of one text, and what the copies cost."""
    (row,) = foldaway("inspect", "--json", put("s.json", session())).reports
    (copies,) = row["duplicates"]
    assert (copies["positions"], copies["tool"]) == ([2, 6], "read_file")
    assert copies["tokens"] > 100


@pytest.mark.parametrize(
    ("window", "urgency", "fits", "words"),
    [
        (1_000_000, "none", True, "no need for compaction"),
        (5_000, "soft", True, "compaction is due"),
        (2_000, "hard", False, "it does not fit the window"),
    ],
)
def test_pressure_is_held_against_the_threshold(
    foldaway: Any, put: Any, window: int, urgency: str, fits: bool, words: str
) -> None:
    """The share of the threshold, and in words what follows."""
    path = put("s.json", session())
    arguments = ("--context-length", window, "--config", put("c.toml", b"[compression]\n"
                 b"floor_tokens = 0\nhard_threshold = 0.99\nthreshold = 0.5"))  # fmt: skip
    (row,) = foldaway("inspect", "--json", path, *arguments).reports
    assert (row["urgency"], row["fits_window"]) == (urgency, fits)
    assert row["pressure"] == pytest.approx(row["tokens"] / row["threshold_tokens"], abs=1e-3)
    assert words in foldaway("inspect", path, *arguments).text


def test_what_is_early_is_said_as_plan_says_it(foldaway: Any, put: Any) -> None:
    """Both ask the same decision."""
    words = " ".join(f"word{n}" for n in range(4_000))
    path = put("s.json", [{"role": "user", "content": f"{n} {words}"} for n in range(5)])
    (row,) = foldaway("inspect", "--json", path, "--context-length", 200_000).reports
    assert row["urgency"] == "early"
    assert "`foldaway plan` says" in foldaway("inspect", path, "--context-length", 200_000).text


def test_the_picture_has_no_words_of_anybody(foldaway: Any, put: Any) -> None:
    """Bars, places, roles and tools; what was said stays unsaid."""
    seen = foldaway("inspect", put("s.json", session()))
    assert seen.code == 0
    for words in (
        "tool results", "█", "longest messages", "m4", "grep", "identical tool results", "m2, m6",
        "pressure", "token figures are estimates", "window assumed 200,000",
    ):  # fmt: skip
        assert words in seen.text
    assert SECRET not in seen.text


def test_every_transcript_of_a_file_is_shown(foldaway: Any, put: Any) -> None:
    """One object a transcript, with its record and line."""
    line = json.dumps({"messages": session()}).encode() + b"\n"
    path = put("s.jsonl", line * 2)
    rows = foldaway("inspect", "--json", path).reports
    assert [(row["record"], row["line"]) for row in rows] == [(0, 1), (1, 2)]
    assert "line 2: 7 messages" in foldaway("inspect", path).text


def test_what_cannot_be_read_is_said_in_one_sentence(foldaway: Any, put: Any) -> None:
    """Exit 2, as with every command."""
    seen = foldaway("inspect", put("x.json", b"["))
    assert (seen.code, seen.out) == (2, b"")
    assert seen.err.count("\n") == 1
    (row,) = foldaway("inspect", "--json", put("x.json", b"[")).reports
    assert "error" in row
