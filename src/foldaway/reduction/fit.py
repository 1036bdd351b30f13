"""One text reduced to a number of tokens: the laws that hold for every kind."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

from msgspec.structs import replace

from foldaway._core import SettingsStruct, TokenCounter
from foldaway.errors import InvalidSetting, UnknownName
from foldaway.reduction.code import reduce_code
from foldaway.reduction.diff import reduce_diff
from foldaway.reduction.json_values import reduce_json, reduce_json_lines
from foldaway.reduction.kinds import body_start, detect_kind, is_json
from foldaway.reduction.lines import read_raw_json
from foldaway.reduction.listings import reduce_listing, reduce_search
from foldaway.reduction.prose import reduce_html, reduce_prose
from foldaway.reduction.ranking import reduce_log
from foldaway.reduction.reduced import (
    KINDS,
    Kind,
    Reduced,
    Reducer,
    ReductionDraft,
    ReductionRequest,
    Render,
    TextReducer,
    closing,
    is_only_marks,
    plural,
)
from foldaway.reduction.runs import reduce_build, reduce_test, reduce_trace
from foldaway.reduction.signals import status_spans
from foldaway.reduction.tables import reduce_table

REDUCERS: Final[Mapping[Kind, Reducer]] = {
    "json": reduce_json,
    "jsonl": reduce_json_lines,
    "log": reduce_log,
    "test": reduce_test,
    "build": reduce_build,
    "trace": reduce_trace,
    "diff": reduce_diff,
    "code": reduce_code,
    "search": reduce_search,
    "listing": reduce_listing,
    "csv": reduce_table,
    "html": reduce_html,
    "prose": reduce_prose,
}


def reduce_text(
    text: str,
    kind: Kind | None = None,
    budget_tokens: int = 2_000,
    reference: str = "",
    *,
    counter: TokenCounter,
    hint: str = "",
    reducer: TextReducer | None = None,
) -> Reduced:
    """Return a text in at most `budget_tokens`; as it is if it fits.

    The result never has more tokens or characters than the text, reducing it again changes
    nothing, and where its kind is `json` it is valid JSON. `hint`, the name of a file or a media
    type, helps to find the kind. A `reducer` from elsewhere goes first; ours follow if it does
    not keep the budget. Raises `InvalidSetting` and `UnknownName`.
    """
    if budget_tokens < 1:
        raise InvalidSetting("budget_tokens", budget_tokens, "at least 1")
    if kind is not None and kind not in KINDS:
        raise UnknownName("kind", kind, KINDS)
    before = tokens_of(text, counter)
    if before <= budget_tokens:
        return Reduced(text=text, kind=None, tokens_before=before, tokens_after=before)
    found = kind or detect_kind(text, hint)
    draft = _guest(text, found, budget_tokens, counter, reducer) if reducer else None
    if draft is None:
        found, draft = _reduce_by_kind(text, found, budget_tokens, reference, counter)
    return Reduced(
        text=draft.text,
        kind=found,
        tokens_before=before,
        tokens_after=counter.count(draft.text),
        left_out=draft.left_out,
        counts=draft.counts,
        notes=draft.notes,
        reference=reference,
    )


_WHOLE_CHARS = 200_000
_SAMPLE_CHARS = 4_000
_TRIES = 6
_GOOD_SHARE = 0.85


def tokens_of(text: str, counter: TokenCounter) -> int:
    """Return the tokens of a text; those of a long one from a sample where counting is exact."""
    if counter.is_estimate or len(text) <= _WHOLE_CHARS:
        return counter.count(text)
    stride = len(text) // 32
    sample = "".join(text[at : at + _SAMPLE_CHARS] for at in range(0, len(text), stride))
    return counter.count(sample) * len(text) // len(sample)


def _guest(
    text: str, kind: Kind, budget_tokens: int, counter: TokenCounter, reducer: TextReducer
) -> ReductionDraft | None:
    """Return what a reducer from elsewhere made, None if it breaks a law."""
    made = reducer(text, kind, budget_tokens)
    if len(made) >= len(text) or counter.count(made) > budget_tokens:
        return None
    if kind == "json" and not is_json(made):
        return None
    if kind == "jsonl" and any(read_raw_json(line) is None for line in made.splitlines()):
        return None
    missing = len(text) - len(made)
    return ReductionDraft(made, (plural(missing, "character"),), {"characters": missing})


def _reduce_by_kind(
    text: str, kind: Kind, budget_tokens: int, reference: str, counter: TokenCounter
) -> tuple[Kind, ReductionDraft]:
    """Return the reduction by our own reducers, and the kind as which the text was read."""
    start = 0 if kind in _VALID else body_start(text)
    opening = "".join(line for line in text[:start].splitlines(True) if status_spans(line))
    body = text[start:] if start else text
    sample = text[:_SAMPLE_CHARS]
    density = max(counter.count(sample), 1) / max(len(sample), 1)
    ask = ReductionRequest(max(int(budget_tokens / density) - len(opening), 8), reference)
    render = REDUCERS[kind](body, ask)
    if render is None:
        kind = detect_kind(text)
        kind = "log" if kind in (*_VALID, "diff") else kind
        render = REDUCERS[kind](body, ask) or reduce_log(body, ask)
    if opening:
        render = _prepend_opening(opening, render)
    draft = _find_largest(render, ask.room_chars, len(text), budget_tokens, counter)
    if kind in _VALID:
        return kind, draft or _empty_json(text)
    is_bare = draft is not None and is_only_marks(draft.text) and not text.isspace()
    if draft is None or is_bare:  # each line is longer than the whole budget
        draft = _ends(text, budget_tokens, reference, counter)
    return kind, draft


_VALID = ("json", "jsonl")
"""Kinds whose result must be valid: nothing is put before or behind it."""


def _prepend_opening(opening: str, render: Render) -> Render:
    """Return a render with the status lines of the tool before what it gives."""

    def opened(budget_chars: int) -> ReductionDraft:
        draft = render(budget_chars)
        return replace(draft, text=opening + draft.text)

    return opened


def _find_largest(
    render: Render, room: int, most_chars: int, budget_tokens: int, counter: TokenCounter
) -> ReductionDraft | None:
    """Return the largest draft that was found to keep the budget, None if none does."""
    best: tuple[int, ReductionDraft] | None = None
    for _ in range(_TRIES):
        draft = render(room)
        tokens = max(counter.count(draft.text), 1)
        fits = tokens <= budget_tokens and len(draft.text) < most_chars
        if fits and (best is None or tokens > best[0]):
            best = (tokens, draft)
        if fits and (tokens >= _GOOD_SHARE * budget_tokens or not draft.left_out):
            break
        room = int(room * min(max(0.94 * budget_tokens / tokens, 0.2), 3.0))
        if room < 8:
            break
    return best[1] if best is not None else None


def _ends(text: str, budget_tokens: int, reference: str, counter: TokenCounter) -> ReductionDraft:
    """Return the start and the end of a text; if there is no room for a mark between them, the
    start alone; where even that is too much, less and less.
    """
    mark = closing((plural(len(text), "character"),), reference)
    has_room = budget_tokens >= 2 * counter.count(mark)
    keep = min(len(text) * 3 // 4, 8 * budget_tokens) if has_room else 0
    while keep > 0:
        head, tail = keep * 2 // 3, keep - keep * 2 // 3
        left_out = (plural(len(text) - keep, "character"),)
        made = f"{text[:head]}\n{closing(left_out, reference)}\n{text[len(text) - tail :]}"
        if len(made) < len(text) and counter.count(made) <= budget_tokens:
            return ReductionDraft(made, left_out, {"characters": len(text) - keep})
        keep = keep * 5 // 6
    keep = min(len(text) * 3 // 4, 4 * budget_tokens)
    while keep > 0 and counter.count(text[:keep]) > budget_tokens:
        keep = keep * 2 // 3
    missing = len(text) - keep
    return ReductionDraft(text[:keep], (plural(missing, "character"),), {"characters": missing})


def _empty_json(text: str) -> ReductionDraft:
    left_out = (plural(len(text), "character"),)
    made = "[]" if text.lstrip()[:1] == "[" else "{}"
    return ReductionDraft(made, left_out, {"characters": len(text)})


class Truncation(SettingsStruct, frozen=True, kw_only=True):
    """How much of a tool's result stays."""

    default_tokens: int = 10_000
    """For tools that no pattern names; 0 leaves them whole."""
    tools: Mapping[str, int] = {}
    """Tokens by tool: names, or patterns with `*` and `?`, in any case. The first that fits
    counts, for the whole name or for its last part, as in `mcp__server__read_file`; 0 leaves the
    tool's results whole."""

    def __post_init__(self) -> None:
        for name, tokens in (("default_tokens", self.default_tokens), *self.tools.items()):
            if tokens < 0:
                raise InvalidSetting(f"truncation of {name}", tokens, "0 or more")

    def limit(self, tool: str) -> int:
        """Return the tokens that a result of this tool may have, 0 for no limit."""
        names = {tool.lower(), tool.lower().rpartition("__")[2].rpartition(".")[2]}
        for pattern, tokens in self.tools.items():
            if any(fnmatchcase(name, pattern.lower()) for name in names):
                return tokens
        return self.default_tokens


def reduce_on_arrival(
    policy: Truncation,
    tool: str,
    text: str,
    *,
    counter: TokenCounter,
    reference: str = "",
    hint: str = "",
    reducer: TextReducer | None = None,
) -> Reduced:
    """Return a result as it should enter the log: whole, or reduced to the tool's limit.

    The same result always gives the same text, so a cached prefix stays valid.
    """
    limit = policy.limit(tool)
    if limit == 0:
        tokens = tokens_of(text, counter)
        return Reduced(text=text, kind=None, tokens_before=tokens, tokens_after=tokens)
    return reduce_text(text, None, limit, reference, counter=counter, hint=hint, reducer=reducer)
