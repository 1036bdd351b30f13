from __future__ import annotations

import sys
from types import ModuleType

import pytest

from foldaway.errors import ExactCountingUnavailable
from foldaway.transcript import exact_counter


class WordEncoding:
    def encode_ordinary(self, text: str) -> list[int]:
        return [len(word) for word in text.split()]


class FakeTiktoken(ModuleType):
    """Stands where tiktoken stands; knows one model, and fails like the real one elsewhere."""

    def encoding_for_model(self, model_name: str) -> WordEncoding:
        match model_name:
            case "known":
                return WordEncoding()
            case "offline":
                raise ConnectionError("no route")
            case _:
                raise KeyError(model_name)


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package is named together with the command that installs it."""
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ExactCountingUnavailable, match=r"pip install 'foldaway\[exact\]'"):
        exact_counter("gpt-4o")


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        ("offline", "TIKTOKEN_CACHE_DIR"),
        ("claude", "leave exact counting off"),
        ("", "no model is named"),
    ],
)
def test_without_a_vocabulary_the_error_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, model: str, remedy: str
) -> None:
    """A vocabulary that cannot be loaded or does not exist is an error with a remedy."""
    monkeypatch.setitem(sys.modules, "tiktoken", FakeTiktoken("tiktoken"))
    with pytest.raises(ExactCountingUnavailable, match=remedy) as caught:
        exact_counter(model)
    assert caught.value.model == model


def test_with_both_the_counter_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counter gives the number of tokens of the encoding."""
    monkeypatch.setitem(sys.modules, "tiktoken", FakeTiktoken("tiktoken"))
    counter = exact_counter("known")
    assert counter.count("one two three") == 3
    assert not counter.is_estimate
