"""Token counts without a tokenizer: characters, runs and dense stretches, each at its mean cost.

A byte-pair vocabulary parts a text where the kind of character changes (a word after a space, a
digit after a letter, camel case) and then splits what is rare (long numbers, consonants in a row,
base64). Both can be counted: every byte becomes a set of class bits, the whole text one integer,
and shifts and population counts find the places.
"""

from __future__ import annotations

from importlib import import_module
from operator import mul
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


__all__ = [
    "FEATURES",
    "IMAGE_TOKENS",
    "MESSAGE_OVERHEAD_TOKENS",
    "REPLY_PRIMING_TOKENS",
    "SCRIPTS",
    "TABLES",
    "TOOL_CALL_OVERHEAD_TOKENS",
    "estimate_text",
    "feature_counts",
]

IMAGE_TOKENS: Final = 1_600
"""One image part, flat: about 1,092 x 1,092 pixels at width x height / 750 (Anthropic's rule)."""

MESSAGE_OVERHEAD_TOKENS: Final = 4
"""Start mark, role, body mark and end mark around every message (OpenAI's chat format)."""

TOOL_CALL_OVERHEAD_TOKENS: Final = 9
"""`channel`, `commentary to=functions.` and `constrain json` of a call (OpenAI's harmony)."""

REPLY_PRIMING_TOKENS: Final = 3
"""The opened assistant message at the end of every request (OpenAI's chat format)."""

FEATURES: Final[dict[str, float]] = {
    "symbols": 0.276,
    "numbers": 1.343,
    "phrases": 0.571,
    "capitals": 0.409,
    "gaps": 0.414,
    "long numbers": 0.202,
    "dense triples": 0.118,
    "consonants": 0.059,
    "consonant fours": 1.214,
    "long words": 0.053,
}
"""Tokens per occurrence of each feature of `feature_counts`.

symbols          punctuation, line breaks and tabs; from the eighth in a row on they are free
numbers          runs of digits
phrases          runs of letters and spaces: what stands between symbols and numbers
capitals         runs of capitals and spaces: a word after a space, a hump of camel case
gaps             runs of symbols and spaces
long numbers     digits with three more behind them
dense triples    three in a row of capitals, digits and small consonants: hex, base64, ids
consonants       each of them: the length of words
consonant fours  four in a row: letters that spell nothing; at most four of them a run
long words       letters with seven more behind them

Non-negative least squares on the tuning half of the sessions, random base64, hex and numbers, and
Django's translations; `python bench/tokens.py --fit` measures them again.
"""

SCRIPTS: Final[dict[str, float]] = {
    "latin": 1.000,
    "greek": 0.262,
    "cyrillic": 0.177,
    "hebrew": 0.252,
    "arabic": 0.184,
    "indic": 0.271,
    "other": 0.224,
    "signs": 1.202,
    "kana": 0.571,
    "han": 0.714,
    "hangul": 0.416,
    "forms": 0.736,
    "emoji": 2.174,
    "thai": 0.052,
}
"""Tokens per character beyond ASCII, by script (`thai` comes on top of `indic`, with which it
shares its lead byte); from the same fit as `FEATURES`."""

FULL_CHARS: Final = 8_192
"""Texts up to this length are counted whole; longer ones through a sample."""

WINDOW_CHARS: Final = 256
"""Length of one piece of the sample."""

WIDEST_STRIDE_CHARS: Final = 2_048
"""Even the longest text gives one window per so many characters."""

LONGEST_TOKEN_CHARS: Final = 128
"""The longest entries of o200k_base are runs of 128 spaces: no text costs less than this gives."""


def estimate_text(text: str) -> int:
    """Return the estimated o200k_base tokens of one text; 0 for the empty text, else at least 1.

    The same text always gives the same number. Up to `FULL_CHARS` the estimate never falls when
    text is appended; beyond, a fixed sample is counted and scaled, which moves the estimate of
    real texts by about 1 % (`bench/tokens.py`). The time is linear in the text.
    Images and other media never come through here: see `IMAGE_TOKENS`.
    """
    size = len(text)
    if size == 0:
        return 0
    if size <= FULL_CHARS:
        return int(max(_weigh(text), size / LONGEST_TOKEN_CHARS) + 0.5) or 1
    sample = _sample(text)
    density = max(_weigh(sample) / len(sample), 1 / LONGEST_TOKEN_CHARS)
    return int(density * size + 0.5)


def feature_counts(text: str) -> list[int]:
    """Return how often each of `FEATURES`, then each of `SCRIPTS`, occurs in the whole text."""
    raw = text.encode("utf-8", "surrogatepass")
    blocks = [_count(raw[at : at + _BLOCK_BYTES]) for at in range(0, len(raw), _BLOCK_BYTES)]
    sums = [sum(column) for column in zip(*blocks, strict=True)] or [0] * len(FEATURES)
    return [*sums, *_count_scripts(raw)]


def _weigh(text: str) -> float:
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= _BLOCK_BYTES:
        total = sum(map(mul, _FEATURE_TOKENS, _count(raw)))
    else:
        blocks = (raw[at : at + _BLOCK_BYTES] for at in range(0, len(raw), _BLOCK_BYTES))
        total = sum(sum(map(mul, _FEATURE_TOKENS, _count(block))) for block in blocks)
    if text.isascii():
        return total
    return total + sum(map(mul, _SCRIPT_TOKENS, _count_scripts(raw)))


def _count(raw: bytes) -> tuple[int, ...]:
    """Return the counts of `FEATURES` in one block: a bit of `here` is one class of one byte."""
    here = int.from_bytes(raw.translate(_CLASS_TABLE), "little")
    pairs = here & (here >> 8)
    fours = pairs & (pairs >> 16)
    eights = fours & (fours >> 32)
    last = here ^ pairs
    return (
        ((here ^ eights) & _SYMBOL).bit_count(),
        (last & _DIGIT).bit_count(),
        (last & _PHRASE).bit_count(),
        (last & _CAPITAL).bit_count(),
        (last & _GAP).bit_count(),
        (fours & _DIGIT).bit_count(),
        (pairs & (here >> 16) & _DENSE).bit_count(),
        (here & _CONSONANT).bit_count(),
        ((fours ^ eights) & _CONSONANT).bit_count(),
        (eights & _LETTER).bit_count(),
    )


def _count_scripts(raw: bytes) -> list[int]:
    """Return the counts of `SCRIPTS`: a character is known by the lead byte of its UTF-8."""
    leads = raw.translate(_SCRIPT_TABLE, _NOT_LEADS)
    thai = raw.count(b"\xe0\xb8") + raw.count(b"\xe0\xb9")
    return [*map(leads.count, _SCRIPT_CODES), thai]


def _sample(text: str) -> str:
    """Return windows spread over the text, one per stride, each at its own offset.

    The stride doubles with the length, so windows stay where they are while a text grows; the
    offsets keep columns and records of a regular length from falling into step with it.
    """
    stride = WINDOW_CHARS
    while stride < WIDEST_STRIDE_CHARS and stride * _WINDOWS < len(text):
        stride *= 2
    slack = stride - WINDOW_CHARS + 1
    starts = (base + base // stride * _JUMP % slack for base in range(0, len(text), stride))
    return "".join([text[start : start + WINDOW_CHARS] for start in starts])


def _class_table() -> bytes:
    """Return the set of classes of every byte, as bits."""
    lower = set(range(ord("a"), ord("z") + 1))
    upper = set(range(ord("A"), ord("Z") + 1))
    digits = set(b"0123456789")
    space = set(b" ")
    high = set(range(128, 256))
    symbols = set(range(128)) - lower - upper - digits - space
    consonants = (lower | upper) - set(b"aeiouyAEIOUY")
    members = (
        symbols,
        digits,
        lower | upper | space | high,
        upper | space,
        symbols | space,
        digits | upper | (consonants & lower),
        consonants,
        lower | upper,
    )
    return bytes(
        sum(1 << bit for bit, member in enumerate(members) if byte in member) for byte in range(256)
    )


def _script_table() -> bytes:
    """Return the script that a UTF-8 lead byte opens, as an index into `SCRIPTS`."""
    first_bytes = (0xC2, 0xCE, 0xD0, 0xD4, 0xD8, 0xE0, 0xE1, 0xE2, 0xE3, 0xE4, 0xEA, 0xEE, 0xF0)
    table = bytearray(b"\xff" * 256)
    for index, first in enumerate(first_bytes):
        table[first:] = bytes([index]) * (256 - first)
    return bytes(table)


_WINDOWS = FULL_CHARS // WINDOW_CHARS
_JUMP = 2_654_435_761  # Knuth's multiplicative hash: scatters the window offsets
_BLOCK_BYTES = 16_384

_CLASS_TABLE = _class_table()
_SYMBOL, _DIGIT, _PHRASE, _CAPITAL, _GAP, _DENSE, _CONSONANT, _LETTER = (
    int.from_bytes(bytes([1 << bit]) * _BLOCK_BYTES, "little") for bit in range(8)
)
_FEATURE_TOKENS = tuple(FEATURES.values())
_SCRIPT_TABLE = _script_table()
_NOT_LEADS = bytes(range(0xC2))
_SCRIPT_CODES = range(len(SCRIPTS) - 1)  # thai has no lead byte of its own
_SCRIPT_TOKENS = tuple(SCRIPTS.values())
TABLES: Final = (
    FEATURES,
    SCRIPTS,
    FULL_CHARS,
    WINDOW_CHARS,
    WIDEST_STRIDE_CHARS,
    LONGEST_TOKEN_CHARS,
    _JUMP,
    _CLASS_TABLE,
    _SCRIPT_TABLE,
)
"""All that an estimate is made of: counts that were kept hold as long as it is the same."""


class Estimator:
    """The default counter: our own estimate, no vocabulary needed."""

    name = "estimate"
    is_estimate = True

    def count(self, text: str) -> int:
        """Return the estimated tokens of `text`."""
        return estimate_text(text)
