"""All settings of a compaction in one frozen value, and the budgets that follow from a window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from msgspec import Struct, StructMeta
from msgspec.structs import replace

from foldaway.errors import InvalidSetting

ASSUMED_CONTEXT_LENGTH = 200_000
"""The window that is assumed, and said to be assumed, where neither model nor window is given."""


ArrivalLevel: TypeAlias = Literal["off", "lossless", "bounded"]
"""How tool results are shown from their arrival on."""


Saving: TypeAlias = Literal["off", "little", "normal", "most"]
"""How much a host cares for money beside the words that each compaction loses."""
SAVES_FROM: Mapping[Saving, int] = {"little": 90_000, "normal": 40_000, "most": 20_000}
"""Prompts of fewer tokens are left alone. Agents of 150 steps are compacted once, three to five
times, and seven to twelve times (`python bench/bills.py`)."""


_PROTECTED_SHARE = 0.5
"""The most of the room that the newest messages have to stay whole; a reader is indifferent from 0
to 50 % (`bench/notes/worth.md`), and an agent reads no file again that it has just read."""
_WHOLE_SHARE = 0.5
"""Of the threshold, or of what there is now: as long as the result has no more, the newest messages
stay whole, and what is older has half of its room beside them. Chosen: the next compaction is at
least as far away as the last one saved. Not before the threshold: there it costs a run of 150 steps
of Claude Code 14 % of its bill (`python bench/bills.py`)."""
_EARLY_SUMMARY = 0.4
"""Of the room of an early compaction, what a summary may have."""
PRESSURE = 0.85
"""Share of the threshold at which a warning is due (tests/coverage.md, A3)."""
LEAST_SAVING = 0.10
"""A compaction that saves a smaller share counts as ineffective (tests/coverage.md, A24)."""
_SMALL_WINDOW = 0.85
"""Share of a window that is not larger than the floor (tests/coverage.md, A10)."""
_SUMMARY_SHARE = 0.20
"""Of what is folded, what its summary may have (tests/coverage.md, A13)."""
_SUMMARY_LEAST = 2_000
"""A summary may have this much however little is folded, unless its most is less."""
_SUMMARY_WINDOW = 0.05
"""Share of the window that no summary exceeds."""


class _NamesUnknown(StructMeta):
    """What makes these structs. Decoding and `replace` do not go through it."""

    if not TYPE_CHECKING:  # the types of a constructor are those of its fields

        def __call__(self, *values, **settings):
            try:
                return super().__call__(*values, **settings)
            except TypeError:
                known = self.__struct_fields__
                for name, value in settings.items():
                    if name not in known:
                        setting = f"{self.__name__}.{name}"
                        raise InvalidSetting.unknown(setting, known, value=value) from None
                raise


class SettingsStruct(Struct, frozen=True, metaclass=_NamesUnknown):
    """A struct whose constructor raises `InvalidSetting` for a field that it does not have."""


class Policy(SettingsStruct, frozen=True, kw_only=True):
    """When to act, what to keep, how much room a summary gets.

    Construction raises `InvalidSetting` for a value out of its range. Fields that a policy of an
    older version was stored with are passed over when it is read.
    """

    enabled: bool = True
    """Whether automatic compaction runs at all; a forced run ignores it."""
    threshold: float = 0.50
    """Share of the effective window at which compaction is due."""
    save: Saving = "normal"
    """How early a compaction is made to save money: from 90,000 tokens on if it pays (`little`),
    40,000 (`normal`), 20,000 (`most`), or by the threshold alone (`off`)."""
    floor_tokens: int = 64_000
    """The threshold is never below this; if it would reach the window, the threshold is 85 % of
    the window."""
    hard_threshold: float = 0.85
    """Share of the effective window at which the next turn may not fit."""
    target_ratio: float = 0.20
    """Tail budget as a share of the threshold."""
    protect_first: int = 3
    """Messages beyond the system prompt that the first compaction keeps, unless they are large:
    more than 15 % of the threshold, or of a size asked for."""
    protect_last: int = 20
    """Newest messages that stay whole: all if the result has at most half of the threshold then,
    otherwise, and in a compaction before the threshold, those that take half of the room."""
    min_tail: int = 3
    """Newest messages that are always kept, whatever their size."""
    summary_tokens: int = 12_000
    """The most that a summary may have. Up to it and to 5 % of the window it may have a fifth of
    what is folded, and 2,000 at least."""
    arrival: ArrivalLevel = "lossless"
    """What becomes of tool results before they are first sent: nothing (`off`), what loses nothing
    (`lossless`: repeated results as markers, JSON of tools that read no files without its
    spaces), or also cuts at a limit (`bounded`)."""
    follow_arrival: ArrivalLevel = "off"
    """The same in lists that are followed, for results that no model has seen yet; from the first
    request of a conversation on."""
    arrival_tools: Mapping[str, int] = {}
    """What a result may have where results are `bounded`, in tokens by tool; 0 is no limit. Names
    may have `*` and `?`, and the first that fits counts; 10,000 if none does."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("threshold", "hard_threshold"):
            _require_within(name, getattr(self, name), 0.0, 1.0)
        _require_within("target_ratio", self.target_ratio, 0.10, 0.80)
        for name, least in (
            ("protect_last", 1),
            ("protect_first", 0),
            ("min_tail", 1),
            ("floor_tokens", 0),
            ("summary_tokens", 1),
        ):
            if getattr(self, name) < least:
                raise InvalidSetting(name, getattr(self, name), f"at least {least}")
        for name in ("arrival", "follow_arrival"):
            if getattr(self, name) not in get_args(ArrivalLevel):
                levels = ", ".join(get_args(ArrivalLevel))
                raise InvalidSetting(name, getattr(self, name), f"one of {levels}")
        if self.save not in get_args(Saving):
            raise InvalidSetting("save", self.save, f"one of {', '.join(get_args(Saving))}")
        if any(tokens < 0 for tokens in self.arrival_tools.values()):
            raise InvalidSetting("arrival_tools", dict(self.arrival_tools), "limits of 0 or more")


class Budget(Struct, frozen=True, kw_only=True):
    """What a policy means for one window, in tokens."""

    context_length: int
    output_tokens: int
    effective_window: int
    early_tokens: int
    """From here on a compaction is made if it pays; never above the threshold."""
    threshold_tokens: int
    hard_tokens: int
    pressure_tokens: int
    tail_tokens: int
    summary_min_tokens: int
    summary_max_tokens: int
    target_tokens: int | None = None
    """The size asked for by hand; then the tail and the summary share what it leaves."""
    is_early: bool = False
    """Whether it is of a compaction before the threshold, which is made to save money."""

    def protected_tokens(self, now: int, fixed: int, room: int) -> int:
        """Return the most tokens with which the newest messages stay whole in a prompt of `now`
        tokens, with a room beside what is `fixed`: their share of the room, or, if no size was
        asked for and the threshold is reached, what keeps the result well below it.
        """
        most = int(_PROTECTED_SHARE * room)
        if self.target_tokens is not None or self.is_early:
            return most
        result = int(_WHOLE_SHARE * min(self.threshold_tokens, now))
        return max(most, result - fixed - (room - most))

    def widen(self, room: int, newest: int) -> int:
        """Return the room if `newest` tokens of it stay whole: what is older keeps its share."""
        if self.target_tokens is not None:
            return room
        return max(room, newest + int((1 - _PROTECTED_SHARE) * room))

    def summary_room(self, folded: int, older: int = 0) -> int:
        """Return what the summary of `folded` tokens may have; an older summary counts in full."""
        wanted = older + int(folded * _SUMMARY_SHARE)
        return min(max(wanted, self.summary_min_tokens), self.summary_max_tokens)


def budget_for(
    policy: Policy, context_length: int, *, output_tokens: int = 0, target_tokens: int | None = None
) -> Budget:
    """Return the budgets of `policy` for a window.

    200,000 of context give a threshold of 100,000, a tail of 20,000 and a summary of at most
    10,000; a window of 64,000 gets a threshold below it.
    """
    if output_tokens < 0:
        raise InvalidSetting("output_tokens", output_tokens, "at least 0")
    if context_length <= output_tokens:
        raise InvalidSetting(
            "context_length", context_length, f"more than the output reservation of {output_tokens}"
        )
    if target_tokens is not None and target_tokens < 1:
        raise InvalidSetting("target_tokens", target_tokens, "at least 1")
    window = context_length - output_tokens
    threshold = max(int(window * policy.threshold), policy.floor_tokens)
    if threshold >= window:
        threshold = int(window * _SMALL_WINDOW)
    tail = int(threshold * policy.target_ratio)
    most = max(min(int(context_length * _SUMMARY_WINDOW), policy.summary_tokens), 1)
    return Budget(
        context_length=context_length,
        output_tokens=output_tokens,
        effective_window=window,
        early_tokens=min(SAVES_FROM.get(policy.save, threshold), threshold),
        threshold_tokens=threshold,
        hard_tokens=max(int(window * policy.hard_threshold), threshold),
        pressure_tokens=int(threshold * PRESSURE),
        tail_tokens=tail,
        summary_min_tokens=min(_SUMMARY_LEAST, most),
        summary_max_tokens=most,
        target_tokens=target_tokens,
    )


def fit_budget(budget: Budget, tokens: int) -> Budget:
    """Return the budget of a compaction before the threshold: tail and summary together have that
    share of the tokens which the tail has of the threshold.
    """
    if tokens >= budget.threshold_tokens:
        return budget
    room = int(budget.tail_tokens * tokens / budget.threshold_tokens)
    summary = max(min(int(room * _EARLY_SUMMARY), budget.summary_max_tokens), 1)
    return replace(
        budget,
        tail_tokens=room - summary,
        summary_max_tokens=summary,
        summary_min_tokens=min(budget.summary_min_tokens, summary),
        is_early=True,
    )


def estimate_after(budget: Budget, now: int, fixed: int, newest: int = 0) -> int:
    """Return about how many tokens a compaction of a prompt of `now` tokens leaves.

    `fixed` is what it never folds: tools, system prompt, the first messages, the latest ask;
    `newest` the other messages that `protect_last` covers. The tail gets its budget, and the
    summary its share of the rest within its bounds.
    """
    budget = fit_budget(budget, now)
    tail = min(budget.tail_tokens, max(now - fixed, 0))
    folded = max(now - fixed - tail, 0)
    room = tail + min(budget.summary_room(folded), folded)
    room = budget.widen(room, min(newest, budget.protected_tokens(now, fixed, room)))
    return min(fixed + room, now)


def scale_budget(budget: Budget, ratio: float) -> Budget:
    """Return the budget in tokens of which the provider counts `ratio` for each of ours."""
    if ratio == 1.0:
        return budget
    sizes = (
        "context_length",
        "output_tokens",
        "effective_window",
        "early_tokens",
        "threshold_tokens",
        "hard_tokens",
        "pressure_tokens",
        "tail_tokens",
    )
    return replace(budget, **{name: int(getattr(budget, name) / ratio) for name in sizes})


def _require_within(name: str, value: float, least: float, most: float) -> None:
    if not isinstance(cast("object", value), (int, float)) or not least <= value <= most:
        raise InvalidSetting(name, value, f"from {least:g} to {most:g}")
