"""What the provider counted: the figures of its reports, and what they say of our estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from foldaway.transcript import Calibration

_MILLION = 1_000_000
"""A count large enough that its ratio to the calibrated one is exact to six digits."""


def figures_of(usage: object) -> Mapping[str, Any]:
    """Return a usage report as a mapping; clients have objects of their own for it, or None."""
    if isinstance(usage, Mapping):
        return cast("Mapping[str, Any]", usage)
    dumped = getattr(usage, "model_dump", None)
    if callable(dumped):
        return cast("Callable[[], dict[str, Any]]", dumped)()
    return getattr(usage, "__dict__", {})


def prompt_tokens_of(usage: Mapping[str, Any]) -> int:
    """Return the whole prompt of a usage report: Anthropic counts cached tokens apart."""
    if first_int(usage, "prompt_tokens"):
        return first_int(usage, "prompt_tokens")
    cached = first_int(usage, "cache_read_input_tokens") + first_int(
        usage, "cache_creation_input_tokens"
    )
    return first_int(usage, "input_tokens", "promptTokenCount", "prompt_token_count") + cached


def answer_tokens_of(usage: Mapping[str, Any]) -> int:
    """Return the tokens of the answer."""
    names = ("completion_tokens", "output_tokens", "candidatesTokenCount", "candidates_token_count")
    return first_int(usage, *names)


def first_int(usage: Mapping[str, Any], *names: str) -> int:
    """Return the first of these figures that is there and above zero, 0 if none is."""
    for name in names:
        found = usage.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and found > 0:
            return found
    return 0


def answer_limit(request: Mapping[str, Any]) -> int:
    """Return how many tokens a request reserves for the answer, 0 if it does not say."""
    found = first_int(request, "max_tokens", "max_completion_tokens", "max_output_tokens")
    nested = request.get("generationConfig")
    if not found and isinstance(nested, Mapping):
        found = first_int(cast("Mapping[str, Any]", nested), "maxOutputTokens")
    return found


class Usage(Struct, frozen=True, kw_only=True):
    """What the provider reported last, and how far the log reached then."""

    prompt_tokens: int = 0
    at_estimate: int = 0
    """Our own estimate of the same prompt."""
    at_length: int = 0
    """How many messages the log had."""
    confirmed: bool = True
    """Whether a report came since the last compaction."""
    runs_ahead: bool = False
    """Whether the report is about messages that the log does not hold yet."""


class UsageMeter:
    """The last report of the provider, and the calibration that all of them made."""

    def __init__(self) -> None:
        self.last = Usage()
        self.calibration = Calibration()

    def reset(self) -> None:
        """Forget the last report; the calibration belongs to the model and stays."""
        self.last = Usage()

    def report(
        self, model: str, prompt_tokens: int, *, estimate: int, length: int, corrects: bool
    ) -> None:
        """Take a count of a prompt that we estimate so; it corrects later estimates if it may.

        A host that hands its list over only now and then reports on messages that have not been
        seen yet: such a report runs ahead, and says nothing about the estimate.
        """
        was = self.last
        same = was.confirmed and was.prompt_tokens > 0 and was.at_length == length
        self.last = Usage(
            prompt_tokens=prompt_tokens,
            at_estimate=estimate,
            at_length=length,
            runs_ahead=same and prompt_tokens > was.prompt_tokens,
        )
        if corrects and not self.last.runs_ahead:
            self.calibration = self.calibration.observe(model, estimate, prompt_tokens)

    def catch_up(self, estimate: int) -> None:
        """Note that the log now holds what a report that ran ahead was about."""
        if self.last.runs_ahead:
            self.last = replace(self.last, at_estimate=estimate, runs_ahead=False)

    def note_change(self, estimate: int) -> None:
        """Note that a compaction or an undo left a prompt that nobody has counted yet."""
        self.last = Usage(at_estimate=estimate, confirmed=False)

    def prompt_tokens(
        self, model: str, estimate: int
    ) -> tuple[int, Literal["measured", "estimated"]]:
        """Return the tokens of the next prompt, and whether the provider measured them."""
        usage = self.last
        if usage.prompt_tokens and usage.confirmed:
            grown = self.calibration.apply(model, max(estimate - usage.at_estimate, 0))
            return usage.prompt_tokens + grown, "measured"
        return self.calibration.apply(model, estimate), "estimated"

    def cached_tokens(self, estimate: int) -> int:
        """Return how much of the next prompt the provider has read already, as far as is known."""
        usage = self.last
        return usage.prompt_tokens if usage.confirmed and usage.prompt_tokens else estimate

    def ratio(self, model: str) -> float:
        """Return how many tokens the provider counts for each that we estimate."""
        return self.calibration.apply(model, _MILLION) / _MILLION
