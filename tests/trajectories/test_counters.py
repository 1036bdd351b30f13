"""Who counts: a file, a name, or the estimate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.errors import ExactCountingUnavailable, NotReadable
from foldaway.trajectories.counting import Remembering, counter_for


def _file(path: Path) -> str:
    model = {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "?": 2}, "unk_token": "?"}
    path.write_text(json.dumps({
        "version": "1.0", "truncation": {"direction": "Right", "max_length": 2,
        "strategy": "LongestFirst", "stride": 0}, "padding": None, "added_tokens": [],
        "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None,
        "decoder": None, "model": model,
    }))  # fmt: skip
    return str(path)


def test_a_tokenizer_file_counts_whole_texts(tmp_path: Path):
    """Whatever truncation it was saved with; half a surrogate pair is no error."""
    pytest.importorskip("tokenizers", reason="needs foldaway[trajectories]")
    counter = counter_for(_file(tmp_path / "tokenizer.json"))
    assert counter.count("a b a b") == 4
    assert counter.count("") == 0
    assert counter.count("a \ud800 b") == 3
    assert not counter.is_estimate
    assert counter.name == "tokenizers, tokenizer.json"


class _Letters:
    """Counts letters, and notes what it was asked."""

    name = "letters"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        """Return the letters of `text`."""
        self.asked.append(text)
        return len(text)


@given(st.lists(st.integers(190, 1_100), max_size=60))
def test_a_count_is_remembered_and_memory_is_bounded(sizes: list[int]):
    """It is always that of the text; one of the texts that were asked for last is not counted
    again; those that are remembered are at most 2,000 characters together."""
    letters = _Letters()
    counter = Remembering(letters, most_chars=2_000)
    kept: list[int] = []
    for size in sizes:
        letters.asked.clear()
        assert counter.count("x" * size) == size
        assert (size in kept) == (not letters.asked)
        if size >= 200:
            kept = [*(one for one in kept if one != size), size]
        while sum(kept) > 2_000:
            kept.pop(0)


def test_without_a_tokenizer_it_is_the_estimate_and_says_so():
    """The report shows it."""
    counter = counter_for("")
    assert (counter.name, counter.is_estimate) == ("estimate", True)


def test_what_is_no_tokenizer_is_refused_with_the_remedy(tmp_path: Path):
    """A missing file, a file of something else, a name that nobody knows."""
    pytest.importorskip("tokenizers", reason="needs foldaway[trajectories]")
    with pytest.raises(NotReadable, match=r"does not exist; name a tokenizer\.json"):
        counter_for(str(tmp_path / "no.json"))
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(NotReadable, match="is no tokenizer file"):
        counter_for(str(tmp_path / "other.json"))
    pytest.importorskip("tiktoken", reason="needs foldaway[exact]")
    with pytest.raises(ExactCountingUnavailable, match="no such model or vocabulary"):
        counter_for("nobody-knows")
