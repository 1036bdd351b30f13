"""Exact counts through `tiktoken`, for those who have it and its vocabulary."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from holdfast.errors import ExactCountingUnavailable

__all__ = ["ExactCounter", "exact_counter"]


class ExactCounter:
    """Counts with the vocabulary of a model; special tokens count as plain text."""

    is_estimate = False

    def __init__(self, name: str, encoding: _Encoding) -> None:
        """Take a vocabulary."""
        self.name = name
        self._encoding = encoding

    def count(self, text: str) -> int:
        """Return the tokens of `text`."""
        return len(self._encoding.encode_ordinary(text))


def exact_counter(model: str) -> ExactCounter:
    """Return a counter with the model's own vocabulary.

    `tiktoken` is imported here and downloads a vocabulary on its first use. Raises
    `ExactCountingUnavailable`, with the remedy, where package, model or vocabulary is missing.
    """
    if not model:
        raise ExactCountingUnavailable(model, "no model is named", "name one that tiktoken knows")
    tiktoken = _load_tiktoken(model)
    try:
        encoding = tiktoken.encoding_for_model(model)
    except KeyError as error:
        remedy = "leave exact counting off; estimates are there for every model"
        raise ExactCountingUnavailable(
            model, "tiktoken knows no vocabulary for it", remedy
        ) from error
    except (OSError, ValueError) as error:
        remedy = "go online once, or point TIKTOKEN_CACHE_DIR at a filled cache"
        raise ExactCountingUnavailable(
            model, f"its vocabulary could not be loaded ({type(error).__name__})", remedy
        ) from error
    return ExactCounter(f"tiktoken, {model}", encoding)


class _Encoding(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...


class _Tiktoken(Protocol):
    def encoding_for_model(self, model_name: str) -> _Encoding: ...


def _load_tiktoken(model: str) -> _Tiktoken:
    try:
        return cast(_Tiktoken, cast(object, import_module("tiktoken")))
    except ImportError as error:
        raise ExactCountingUnavailable(
            model, "tiktoken is not installed", "run `pip install 'holdfast[exact]'`"
        ) from error
