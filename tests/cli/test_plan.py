"""plan: the verdict, its arithmetic, and clear errors."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("own_folder")

PRICES = ("--price", "input=3", "--price", "output=15", "--price", "cache_read=0.3",
          "--price", "cache_write_5m=3.75")  # fmt: skip
SECRET = "the-words-that-were-said"


def session(turns: int = 90) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"{n} {SECRET} " * 120}
        for n in range(turns)
    ]


def test_the_verdict_comes_with_every_term(foldaway: Any, put: Any) -> None:
    """The sentence first, then the tokens, then the sum; never a word of the session."""
    file = put("s.json", session())
    seen = foldaway("plan", file, "--context-length", "90000", "--threshold", "0.3", *PRICES)
    assert seen.code == 0
    assert "act:" in seen.text
    for term in ("tokens now", "tokens after", "cached now", "read again", "summary", "= price",
                 "next call, compacted", "next call, as it is", "paid so far"):  # fmt: skip
        assert term in seen.text
    assert SECRET not in seen.text


def test_json_has_the_same_arithmetic(foldaway: Any, put: Any) -> None:
    """One object a transcript, every term by name."""
    file = put("s.json", session())
    seen = foldaway("plan", file, "--context-length", "90000", "--cold", "--json", *PRICES)
    (row,) = seen.reports
    total = row["sum"]
    price = total["next_call_if_acting"] + total["summary_call"] - total["next_call_if_waiting"]
    assert total["price"] == pytest.approx(price)
    assert row["answer"] == "act"
    assert row["situation"]["cached_tokens"] == 0
    assert row["situation"]["reread_tokens"] > 0
    assert row["file"] == str(file)


def test_an_unknown_model_is_weighed_by_the_ratio_of_its_wire(foldaway: Any, put: Any) -> None:
    """The sum is in tokens, and the plan says so."""
    file = put("s.json", session())
    seen = foldaway("plan", file, "--model", "no-such-model", "--context-length", "80000",
                    "--threshold", "0.1", "--json")  # fmt: skip
    (row,) = seen.reports
    assert seen.code == 0
    assert row["answer"] == "act"
    assert row["situation"]["prices"]["is_ratio"]
    assert any("no prices are known for 'no-such-model'" in note for note in row["notes"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--price", "input"), "is not NAME=USD"),
        (("--price", "input=cheap"), "is not NAME=USD"),
        (("--price", "inputs=1"), "prices.inputs"),
        (("--price", "input=1"), "prices.output"),
        (("--price", "input=-1", "--price", "output=1"), "prices.input"),
        (("--save", "all"), "--save"),
        (("--ttl", "1d"), "--ttl"),
        (("--context-length", "0"), "--context-length"),
        (("--summaries", "nobody"), "--summaries"),
    ],
)
def test_wrong_calls_are_one_sentence(
    foldaway: Any, put: Any, arguments: tuple[str, ...], said: str
) -> None:
    """Exit code 2, no traceback, and the sentence names what is wrong."""
    seen = foldaway("plan", put("s.json", session(4)), *arguments)
    assert seen.code == 2
    assert said in seen.err
    assert len(seen.err.splitlines()) == 1


@pytest.mark.parametrize("content", [b"", b"{", b"\x00\xff", b"[]", b'"text"'])
def test_files_that_are_no_transcripts_are_refused(foldaway: Any, put: Any, content: bytes) -> None:
    """As by every other command."""
    file = put("s.json", content)
    assert foldaway("plan", file, *PRICES).code == 2
    seen = foldaway("plan", file, "--json", *PRICES)
    assert seen.code == 2
    assert seen.reports[0]["valid"] is False


def test_a_file_that_is_not_there_is_named(foldaway: Any) -> None:
    """The sentence says which."""
    seen = foldaway("plan", "nowhere.json")
    assert seen.code == 2
    assert "nowhere.json" in seen.err
