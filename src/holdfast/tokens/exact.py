"""Exact counts through `tiktoken`, for those who have it and its vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Protocol, TypeAlias, cast

from holdfast.errors import HoldfastError

__all__ = ["ExactCountingUnavailable", "TokenCounter", "exact_counter"]

TokenCounter: TypeAlias = Callable[[str], int]
"""Text in, tokens out."""


class ExactCountingUnavailable(HoldfastError):
    """Exact counts cannot be had for this model here; the estimate still can."""

    def __init__(self, model: str, reason: str, remedy: str) -> None:
        self.model = model
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"no exact token counts for {model!r}: {reason}; {remedy}")


def exact_counter(model: str) -> TokenCounter:
    """Return a counter with the model's own vocabulary; special tokens count as plain text.

    `tiktoken` is imported here and downloads a vocabulary on its first use. Raises
    `ExactCountingUnavailable`, with the remedy, where package, model or vocabulary is missing.
    """
    tiktoken = _load_tiktoken(model)
    try:
        encoding = tiktoken.encoding_for_model(model)
    except KeyError as error:
        remedy = "use estimate_text with a Calibration"
        raise ExactCountingUnavailable(
            model, "tiktoken knows no vocabulary for it", remedy
        ) from error
    except (OSError, ValueError) as error:
        remedy = "go online once, or point TIKTOKEN_CACHE_DIR at a filled cache"
        raise ExactCountingUnavailable(
            model, f"its vocabulary could not be loaded ({type(error).__name__})", remedy
        ) from error
    return lambda text: len(encoding.encode_ordinary(text))


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
