"""diff: what became of every message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.engine.inspection import difference
from foldaway.transcript import Message, Text

pytestmark = pytest.mark.usefixtures("own_folder")


def talk(*texts: str) -> list[dict[str, str]]:
    return [
        {"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(texts)
    ]


def test_the_same_file_is_kept_whole(foldaway: Any, put: Any) -> None:
    """Nothing changed, nothing else reported."""
    path = put("a.json", talk("a", "b", "c"))
    (row,) = foldaway("diff", "--json", path, path).reports
    assert (row["kept"], row["rewritten"], row["folded"], row["added"]) == (3, 0, 0, 0)


def test_a_compression_is_told_from_its_two_files(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """The same counts as in the report of the run that made it, and its tokens but for rounding."""
    call = [{"id": "c%d", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]
    found: list[Any] = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "ask 1 " * 20},
    ]
    for n in range(40):
        found += [
            {"role": "assistant", "content": None, "tool_calls": json.loads(
                json.dumps(call).replace("c%d", f"c{n}"))},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"out {n}\n" * (200 if n else 1)},
        ]  # fmt: skip
    found.append({"role": "assistant", "content": "done"})
    before, after = put("before.json", found), tmp_path / "after.json"
    (report,) = foldaway("compress", "--json", before, "-o", after, "--target-tokens", 1500).reports
    (row,) = foldaway("diff", "--json", before, after).reports
    for key in ("kept", "rewritten", "folded", "messages_before", "messages_after"):
        assert row[key] == report[key], key
    assert row["added"] == 1
    for key in ("tokens_before", "tokens_after"):
        assert row[key] == pytest.approx(report[key], rel=0.02)
        assert sum(one[key] for one in row["categories"]) == row[key]
    assert {one["name"] for one in row["categories"]} == {
        one["name"] for one in report["categories"]
    }
    text = foldaway("diff", before, after).text
    for words in ("before ", "after ", "tool results", f"{row['folded']} folded", "1 added", " → "):
        assert words in text
    assert "ask 1" not in text


def test_the_session_of_the_demo_has_the_counts_of_its_compaction(
    foldaway: Any, tmp_path: Path
) -> None:
    """Also of texts that were shortened at their end, which have no id in this file."""
    before, after = Path(__file__).parents[2] / "examples/session.json.gz", tmp_path / "after.json"
    window = ("--context-length", 64_000)
    (report,) = foldaway("compact", "--json", before, "-o", after, *window).reports
    (row,) = foldaway("diff", "--json", after).reports
    for key in ("kept", "rewritten", "folded", "messages_after"):
        assert row[key] == report[key], key


def test_a_compacted_file_is_told_from_what_it_was(foldaway: Any, put: Any, tmp_path: Path) -> None:
    """The same as of the two files, from the originals beside it; without them the remedy."""
    before, after = put("before.json", talk(*["words " * 200] * 30)), tmp_path / "after.json"
    assert foldaway("compact", before, "-o", after, "--target-tokens", 900).code == 0
    (both,) = foldaway("diff", "--json", before, after).reports
    (alone,) = foldaway("diff", "--json", after).reports
    assert alone == both | {"before": str(after)}
    assert both["folded"]
    seen = foldaway("diff", before)
    assert (seen.code, seen.out) == (2, b"")
    assert "before.json.originals.jsonl is next to it" in seen.err
    assert "--views is for a stored session" in foldaway("diff", after, "--views", 0, 1).err


def test_files_of_two_dialects_are_refused(foldaway: Any, put: Any) -> None:
    """Comparing payloads of two formats says nothing."""
    other = [{"role": "user", "parts": [{"text": "a"}]}]
    seen = foldaway("diff", put("a.json", talk("a")), put("b.json", {"contents": other}))
    assert (seen.code, seen.out) == (2, b"")
    assert "convert one of them first" in seen.err


def test_a_file_of_several_transcripts_is_refused(foldaway: Any, put: Any) -> None:
    """One against one."""
    lines = put("s.jsonl", (json.dumps({"messages": talk("a")}).encode() + b"\n") * 2)
    seen = foldaway("diff", put("a.json", talk("a")), lines)
    assert seen.code == 2
    assert "holds 2 transcripts" in seen.err


MESSAGES = st.lists(
    st.builds(
        lambda text: Message("user", (Text(text),), wire={"role": "user", "content": text}),
        st.sampled_from("abcde"),
    ),
    max_size=12,
)


@given(MESSAGES, MESSAGES)
def test_both_sides_agree(before: list[Message], after: list[Message]) -> None:
    """Every message has one fate; as many are kept, and rewritten, on both sides."""
    made = difference(before, after)
    assert (len(made.before), len(made.after)) == (len(before), len(after))
    for fate in ("kept", "rewritten"):
        assert made.before.count(fate) == made.after.count(fate)
    assert "added" not in made.before
    assert "folded" not in made.after


@given(MESSAGES, st.data())
def test_leaving_messages_out_is_folding_them(before: list[Message], data: st.DataObject) -> None:
    """A part of the messages, in order, is kept; none is added."""
    stay = data.draw(st.lists(st.booleans(), min_size=len(before), max_size=len(before)))
    after = [message for message, stays in zip(before, stay, strict=True) if stays]
    made = difference(before, after)
    assert made.count("added") == 0
    assert made.count("kept") + made.count("rewritten") == len(after)
