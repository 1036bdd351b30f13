"""Token counts of a model: estimates calibrated by reported usage, or its own vocabulary."""

from __future__ import annotations

from importlib import import_module
from typing import Final, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from foldaway.errors import ExactCountingUnavailable

LOWEST_RATIO: Final = 0.5
"""No known tokenizer counts less than half of o200k_base on the same text."""

HIGHEST_RATIO: Final = 3.0
"""Old vocabularies on CJK text come near; more is another quantity, not another tokenizer."""

KEPT_OBSERVATIONS: Final = 5
"""Enough for the median to outvote two wrong reports."""

AGREEMENT: Final = 0.15
"""Observations further than this from the median do not count."""


class ModelRatio(Struct, frozen=True):
    """Reported over estimated tokens of one model."""

    model: str

    ratio: float = 1.0
    """What to multiply an estimate by."""

    samples: int = 0
    """How many reports were taken into account since the start."""

    recent: tuple[float, ...] = ()
    """The newest single ratios, oldest first."""


class Calibration(Struct, frozen=True):
    """What is known of every model's ratio; an unknown model has the ratio 1."""

    models: tuple[ModelRatio, ...] = ()

    def observe(self, model: str, estimated_tokens: int, reported_tokens: int) -> Calibration:
        """Return the calibration with one more report; nonsense (zero or less) changes nothing.

        Three equal ratios within the limits are met exactly; among three, one outlier is ignored.
        """
        if estimated_tokens <= 0 or reported_tokens <= 0:
            return self
        known = self._ratio_of(model)
        single = min(max(reported_tokens / estimated_tokens, LOWEST_RATIO), HIGHEST_RATIO)
        recent = (*known.recent, single)[-KEPT_OBSERVATIONS:]
        updated = replace(known, ratio=_smooth(recent), samples=known.samples + 1, recent=recent)
        others = tuple(other for other in self.models if other.model != model)
        return Calibration((*others, updated))

    def apply(self, model: str, tokens: int) -> int:
        """Return an estimate in the model's own tokens; at least 1 where `tokens` is."""
        if tokens <= 0:
            return 0
        return max(1, round(tokens * self.ratio(model)))

    def ratio(self, model: str) -> float:
        """Return the factor between an estimate and the model's own count."""
        return self._ratio_of(model).ratio

    def _ratio_of(self, model: str) -> ModelRatio:
        return next((known for known in self.models if known.model == model), ModelRatio(model))


def _smooth(recent: tuple[float, ...]) -> float:
    """Return the mean of the ratios near the median, each half as heavy as the next newer one."""
    ordered = sorted(recent)
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    total = weights = 0.0
    for age, single in enumerate(reversed(recent)):
        if abs(single / middle - 1) <= AGREEMENT:
            weight = 0.5**age
            total += weight * single
            weights += weight
    return total / weights if weights else middle


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
            model, "tiktoken is not installed", "run `pip install 'foldaway[exact]'`"
        ) from error
