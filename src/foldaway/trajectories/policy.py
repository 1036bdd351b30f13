"""The settings of a record and of a batch, and what is measured of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, TypeAlias, get_args, get_type_hints

from msgspec import Struct, field
from msgspec.structs import fields

from foldaway._core import SettingsStruct
from foldaway.errors import InvalidSetting

RecordOutcome: TypeAlias = Literal["under target", "compressed", "nothing to fold", "excluded"]
"""`under target` is as it was; `nothing to fold` is over it and as it was; `excluded` is left out
because it contains, or would contain, generated text."""
Artifacts: TypeAlias = Literal["keep", "strip", "exclude"]
"""What becomes of generated text: it stays and is marked, it is taken out, or its record is."""
Counted: TypeAlias = Literal["kept", "all"]
"""Which turns are counted: those that stay, or those that are folded too."""
Summaries: TypeAlias = Literal["ledger", "none", "model"]
"""Who writes the summaries: the ledger without a model, nobody, or a model that is checked."""
Format: TypeAlias = Literal["jsonl", "jsonl.gz", "jsonl.zst", "parquet"]

_SUMMARY_SHARE = 5
"""Summaries have a fifth of the target at most, as a model's note has of a summary: 750 tokens are
less than that from 3,750 tokens on."""
_BINS = 20
"""Ratios are counted in twentieths, the bars of the picture."""


class TrajectoryPolicy(SettingsStruct, frozen=True, kw_only=True):
    """All settings that change a record; the same record and policy give the same bytes."""

    LEAST_SUMMARY_TOKENS: ClassVar = 120
    """Twice what the frame of a summary costs, so that half of the turn says something."""
    target_tokens: int
    """What a record may cost; shorter ones stay as they are."""
    summary_tokens: int = 750
    """What the summary turns of a record may cost together, frames included, up to a fifth of the
    target; counted in when turns are chosen."""
    keep_last: int = 4
    """Turns at the end that are never folded."""
    notice: bool | str = True
    """Whether the system turn says that turns were summarized, or the words that it says it in, on
    one line."""
    artifacts: Artifacts = "keep"
    count: Counted = "kept"
    """With `all`, `tokens_before` is exact and the run takes longer; the records are the same."""
    max_turns: int = 100_000
    """A record with more is refused: it is not a conversation."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        least = {"target_tokens": 1, "summary_tokens": self.LEAST_SUMMARY_TOKENS, "keep_last": 0}
        _check_least(self, {**least, "max_turns": 1})
        if isinstance(self.notice, str) and (not self.notice.strip() or "\n" in self.notice):
            raise InvalidSetting("notice", self.notice, "words on one line, or left out for none")

    @property
    def allowed_summary_tokens(self) -> int:
        """What the summary turns may cost if enough turns can be folded."""
        most = max(self.target_tokens // _SUMMARY_SHARE, self.LEAST_SUMMARY_TOKENS)
        return min(self.summary_tokens, most)


class BatchSettings(Struct, frozen=True, kw_only=True):
    """Everything that changes a byte of the output; it goes to every process and the manifest."""

    policy: TrajectoryPolicy
    tokenizer: str = ""
    """Who counts, as `counter_for` takes it."""
    summaries: Summaries = "ledger"
    summarizer: str = "none"
    """The model that writes, as `summarizer_named` takes it."""
    summarizer_url: str = ""
    summarizer_key_variable: str = ""
    """The variable with the key for that address; another one changes no byte."""
    summarizer_timeout: float = 120.0
    format: Format = "jsonl"
    shard_records: int = 1_000
    shard_bytes: int = 32 * 1024 * 1024
    redaction_key: str = ""
    """Makes the tags of placeholders; "" for the public key. Only the manifest contains it."""

    @classmethod
    def choices(cls, name: str) -> tuple[str, ...]:
        """Return the values of a setting, its policy's included, that has a closed set of them."""
        hints: dict[str, Any] = get_type_hints(TrajectoryPolicy) | get_type_hints(cls)
        return get_args(hints[name])

    @property
    def answers_of(self) -> str:
        """Who answers what a model is asked; the same name at another address may be another."""
        return f"{self.summarizer} {self.summarizer_url}"


class RequestLimits(Struct, frozen=True, kw_only=True):
    """How much a whole run may ask, over all of its processes; none of it changes the output."""

    requests: int = 8
    """Requests under way at a time."""
    requests_per_minute: int = 0
    """0 for no limit."""
    tokens_per_minute: int = 0
    """Tokens that are sent and those that an answer may have; 0 for no limit."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        _check_least(self, {"requests": 1, "requests_per_minute": 0, "tokens_per_minute": 0})


def _check_least(settings: Struct, least: Mapping[str, int]) -> None:
    for name, number in least.items():
        given = getattr(settings, name)
        if type(given) is not int or given < number:
            raise InvalidSetting(name, given, f"a whole number, at least {number}")


class Metrics(Struct, frozen=True, kw_only=True):
    """What was done with one record, without its content."""

    outcome: RecordOutcome
    turns_before: int
    turns_after: int
    tokens_before: int
    tokens_after: int
    before_is_estimate: bool = False
    """Whether folded turns were not counted: `tokens_before` has them at the rate of the others.
    `tokens_after` and whether a record was over the target are always counted."""
    regions: tuple[tuple[int, int], ...] = ()
    """The turns that were folded, in their order: of each region the first, and the one after the
    last."""
    still_over_limit: bool = False
    could_fit: bool = False
    """Whether it is still over the target although the turns that always stay leave room."""
    least_tokens: int = 0
    """If it is still over: the smallest target that it fits with the same settings."""
    over_because: str = ""
    """Why it is still over the target; "" if it is not."""
    summary_calls: int = 0
    """How often a model was asked for its summary, in this run or in one before."""
    errors: int = 0
    """How many of these calls gave nothing of use."""
    verified: int = 0
    """Sentences of the model whose names were all in the turns."""
    added: int = 0
    """Entries of the model in the summary, beside the ledger's, whose names are all in the
    turns."""
    dropped: int = 0
    """Sentences of the model that were taken out."""
    contradicted: int = 0
    """Sentences that were taken out because the turns say otherwise."""
    stripped: int = 0
    """Generated turns that were taken out."""

    @property
    def skipped(self) -> bool:
        """Whether the record was under the target and stayed as it was."""
        return self.outcome == "under target"

    @property
    def ratio(self) -> float:
        """Tokens after over tokens before."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0


class Tally(Struct, frozen=True, kw_only=True):
    """Sums over records, which add up in any order."""

    records: int = 0
    """All that were read, quarantined ones included."""
    written: int = 0
    quarantined: int = 0
    outcomes: dict[RecordOutcome, int] = field(default_factory=dict[RecordOutcome, int])
    still_over_limit: int = 0
    could_fit: int = 0
    """Of these, records whose turns that always stay leave room."""
    before_estimated: int = 0
    """Records whose folded turns were not counted: their tokens before are estimated."""
    turns_before: int = 0
    turns_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    summary_calls: int = 0
    errors: int = 0
    verified: int = 0
    added: int = 0
    dropped: int = 0
    contradicted: int = 0
    stripped: int = 0
    ratios: list[int] = field(default_factory=lambda: [0] * _BINS)
    """How many compressed records came out in each twentieth of their size."""

    @property
    def ratio(self) -> float:
        """Tokens after over tokens before, of all together."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0

    @property
    def histogram(self) -> list[tuple[float, int]]:
        """How many compressed records came out from each twentieth of their size on."""
        return [(at / _BINS, count) for at, count in enumerate(self.ratios)]


_SUMS = tuple(one.name for one in fields(Tally) if one.type is int)
_SUMS_OF_RECORD = tuple(name for name in _SUMS if name in Metrics.__struct_fields__)


def tally_of(metrics: Iterable[Metrics], quarantined: int) -> Tally:
    """Return the sums over the records of a shard; excluded ones count as read, not as tokens."""
    sums, outcomes, ratios = Counter[str](), Counter[RecordOutcome](), [0] * _BINS
    sums["records"] = sums["quarantined"] = quarantined
    for one in metrics:
        sums["records"] += 1
        outcomes[one.outcome] += 1
        if one.outcome == "excluded":
            continue
        sums["written"] += 1
        sums["before_estimated"] += one.before_is_estimate
        for name in _SUMS_OF_RECORD:
            sums[name] += getattr(one, name)
        if one.outcome == "compressed":
            ratios[min(int(one.ratio * _BINS), _BINS - 1)] += 1
    return Tally(**sums, outcomes=dict(sorted(outcomes.items())), ratios=ratios)


def add_tallies(one: Tally, other: Tally) -> Tally:
    """Return both together."""
    sums = {name: getattr(one, name) + getattr(other, name) for name in _SUMS}
    outcomes = Counter(one.outcomes) + Counter(other.outcomes)
    ratios = [mine + theirs for mine, theirs in zip(one.ratios, other.ratios, strict=True)]
    return Tally(**sums, outcomes=dict(sorted(outcomes.items())), ratios=ratios)
