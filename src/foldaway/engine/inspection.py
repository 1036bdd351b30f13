"""Where the context of one transcript goes: by category, by message, in copies; never its words.
And what became of every message between two versions of it.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Budget, Category, Policy, TokenCounter, Urgency
from foldaway.compaction import (
    Costs,
    by_category,
    carried_tokens,
    category,
    compared,
    fixed_categories,
    message_tokens,
    payload_bytes,
    with_sections,
)
from foldaway.engine.oneshot import Compressed
from foldaway.engine.trigger import Moment, decide
from foldaway.facts import answered_calls, merged_summaries, recognize
from foldaway.transcript import (
    Estimator,
    Message,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
    whole_view,
)

_Calls: TypeAlias = Mapping[int, Mapping[str, ToolCall]]
"""For each position with results the calls that they answer, by id."""


class Share(Struct, frozen=True):
    """One category of the context with its tokens."""

    name: str
    tokens: int


class Long(Struct, frozen=True):
    """One message by its size; `tools` are the tools that it calls or whose results it holds."""

    position: int
    id: str
    role: str
    tools: tuple[str, ...]
    tokens: int


class Copies(Struct, frozen=True):
    """Tool results with the same text; `tokens` is what all but one of them cost."""

    positions: tuple[int, ...]
    tool: str
    tokens: int


_Sized = TypeVar("_Sized", Share, Long, Copies)

_FIRST_CHARS = 80
"""By which a text is known that was shortened at its end: about a line."""


class Inspection(Struct, frozen=True, kw_only=True):
    """What one transcript costs, and how near it is to a compaction."""

    messages: int
    tokens: int
    """What the provider measured, if that is known; then categories, longest messages and copies
    are estimates that are scaled to it."""
    outside_tokens: int
    """How many of them are a system prompt or tools beside the messages: what a store counts of the
    session is the rest."""
    tokens_source: Literal["measured", "estimated"] = "estimated"
    counter: str
    is_estimate: bool
    categories: tuple[Share, ...]
    longest: tuple[Long, ...]
    duplicates: tuple[Copies, ...]
    context_length: int
    effective_window: int
    threshold_tokens: int
    pressure: float
    """Tokens as a share of the threshold."""
    warning: bool
    """Whether the pressure is high enough for a warning."""
    urgency: Urgency
    fits_window: bool


def inspect_transcript(
    transcript: Transcript,
    policy: Policy,
    budget: Budget,
    counter: TokenCounter,
    *,
    most: int = 10,
    measured_tokens: int | None = None,
) -> Inspection:
    """Return what the transcript costs, with its `most` longest messages and most costly copies.

    `measured_tokens` is what the provider counted for it.
    """
    log = recognize(transcript.messages)
    tokens = [message_tokens(message, counter) for message in log]
    shares = _shares(transcript, log, tokens, counter)
    calls = answered_calls(log)
    longest, copies = _longest(log, tokens, calls, most), _duplicates(log, calls, counter)[:most]
    total = sum(share.tokens for share in shares)
    outside = total - sum(tokens)
    if measured_tokens and total:
        ratio, total = measured_tokens / total, measured_tokens
        outside = round(outside * ratio)
        shares, longest, copies = (
            _scale(shares, ratio),
            _scale(longest, ratio),
            _scale(copies, ratio),
        )
        rest = total - sum(share.tokens for share in shares)
        shares = (replace(shares[0], tokens=shares[0].tokens + rest), *shares[1:])
    source: Literal["measured", "estimated"] = "measured" if measured_tokens else "estimated"
    decision = decide(Moment(prompt_tokens=total, source=source), policy, budget)
    return Inspection(
        messages=len(log),
        tokens=total,
        outside_tokens=outside,
        tokens_source=source,
        counter=counter.name,
        is_estimate=counter.is_estimate,
        categories=shares,
        longest=longest,
        duplicates=tuple(copies),
        context_length=budget.context_length,
        effective_window=budget.effective_window,
        threshold_tokens=budget.threshold_tokens,
        pressure=round(total / budget.threshold_tokens, 4) if budget.threshold_tokens else 0.0,
        warning=decision.pressure,
        urgency=decision.urgency,
        fits_window=total <= budget.effective_window,
    )


def _scale(rows: Sequence[_Sized], ratio: float) -> tuple[_Sized, ...]:
    return tuple(replace(row, tokens=round(row.tokens * ratio)) for row in rows)


def shares_of(transcript: Transcript, counter: TokenCounter) -> tuple[Share, ...]:
    """Return the tokens of a transcript by category, the largest first."""
    log = recognize(transcript.messages)
    tokens = [message_tokens(message, counter) for message in log]
    return _shares(transcript, log, tokens, counter)


def _shares(
    transcript: Transcript, log: Sequence[Message], tokens: Sequence[int], counter: TokenCounter
) -> tuple[Share, ...]:
    costs = Costs(log, counter, tokens)
    shown = by_category(whole_view(len(log)), log, costs, {}, counter)
    for at in merged_summaries(log):
        carried = carried_tokens(log[at], counter)
        shown[category(log[at])] -= carried
        shown["summary"] = shown.get("summary", 0) + carried
    fixed = fixed_categories(transcript, counter)
    found = with_sections((*fixed, *compared(shown, shown)), log, counter)
    shares = [Share(one.name, one.tokens_before) for one in found]
    return tuple(sorted(shares, key=lambda share: -share.tokens))


def _longest(
    log: Sequence[Message], tokens: Sequence[int], calls: _Calls, most: int
) -> tuple[Long, ...]:
    order = sorted(range(len(log)), key=lambda at: (-tokens[at], at))[:most]
    return tuple(
        Long(at, log[at].id, _speaker(log[at]), _tools(at, log[at], calls), tokens[at])
        for at in order
    )


def _speaker(message: Message) -> str:
    """Return whose message it is; one that holds results and nothing else is a tool's."""
    is_result = {type(part) for part in message.parts} == {ToolResult}
    return "tool" if is_result else message.role


def _tools(at: int, message: Message, calls: _Calls) -> tuple[str, ...]:
    names: list[str] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            names.append(part.name)
        elif isinstance(part, ToolResult):
            names.append(_tool(at, part, calls))
    return tuple(dict.fromkeys(name for name in names if name))


def _tool(at: int, result: ToolResult, calls: _Calls) -> str:
    call = calls.get(at, {}).get(result.call_id)
    return call.name if call is not None else result.name


def _duplicates(log: Sequence[Message], calls: _Calls, counter: TokenCounter) -> list[Copies]:
    places: dict[bytes, list[tuple[int, ToolResult]]] = {}
    for at, message in enumerate(log):
        for part in message.parts:
            if isinstance(part, ToolResult) and message.origin == "real":
                text = "\n".join(inner.text for inner in part.parts if isinstance(inner, Text))
                if text:
                    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
                    places.setdefault(mark, []).append((at, part))
    found = [
        Copies(
            tuple(at for at, _ in copies),
            _tool(*copies[0], calls),
            (len(copies) - 1) * message_tokens(Message("tool", (copies[0][1],)), counter),
        )
        for copies in places.values()
        if len(copies) > 1
    ]
    return sorted(found, key=lambda copies: (-copies.tokens, copies.positions))


Fate: TypeAlias = Literal["kept", "rewritten", "folded", "added"]


class ViewDifference(Struct, frozen=True):
    """A fate for every message: before they are kept, rewritten or folded, after they are kept,
    rewritten or added.

    Law: as many are kept, and as many rewritten, on both sides.
    """

    before: tuple[Fate, ...]
    after: tuple[Fate, ...]

    def count(self, fate: Fate) -> int:
        """Return how many messages met a fate; those that were there before, or were added."""
        return (self.after if fate == "added" else self.before).count(fate)


class Comparison(Struct, frozen=True, kw_only=True):
    """Two transcripts: counts and tokens by category on both sides, a fate for each message."""

    before: str
    after: str
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    fixed_tokens: int
    """Of `tokens_after`, those that are not part of the messages."""
    kept: int
    rewritten: int
    folded: int
    added: int
    categories: tuple[Category, ...]
    fates_before: tuple[Fate, ...]
    fates_after: tuple[Fate, ...]


def find_difference(done: Compressed) -> ViewDifference:
    """Return what a compression did with its messages, as they were after a repair."""
    before: list[Fate] = ["folded"] * len(done.originals)
    after: list[Fate] = []
    for message in done.transcript.messages:
        fate: Fate = "added"
        if 0 <= message.position < len(before):
            is_same = message.parts == done.originals[message.position].parts
            fate = "kept" if message.intact or is_same else "rewritten"
            before[message.position] = fate
        after.append(fate)
    return ViewDifference(tuple(before), tuple(after))


def source_position(message: Message, done: Compressed) -> int:
    """Return where a message of the result stood in what was given, -1 for a generated one.

    A repair may have moved messages before they were compressed.
    """
    if not 0 <= message.position < len(done.originals):
        return -1
    return done.originals[message.position].position


def difference(before: Sequence[Message], after: Sequence[Message]) -> ViewDifference:
    """Return what became of every message of `before`, by comparing payloads in order.

    Kept messages have the same payload and the same order. A rewritten one is found by its id, its
    call ids, its first or last words, or by being the system prompt.
    """
    pairs = _same(_marks(before), _marks(after))
    fates_before: list[Fate] = ["folded"] * len(before)
    fates_after: list[Fate] = ["added"] * len(after)
    for old, new in pairs:
        fates_before[old] = fates_after[new] = "kept"
    gone: dict[tuple[str, ...], list[int]] = {}
    for index, message in enumerate(before):
        if fates_before[index] == "folded":
            for name in _names(message):
                gone.setdefault(name, []).append(index)
    for index, message in enumerate(after):
        if fates_after[index] == "added":
            old = _find_rewritten(message, gone, fates_before)
            if old >= 0:
                fates_before[old] = fates_after[index] = "rewritten"
    return ViewDifference(tuple(fates_before), tuple(fates_after))


def compare(
    names: tuple[str, str], sides: tuple[Transcript, Transcript], made: ViewDifference
) -> Comparison:
    """Return two transcripts beside each other, in numbers."""
    was, now = (
        {share.name: share.tokens for share in shares_of(side, Estimator())} for side in sides
    )
    return Comparison(
        before=names[0],
        after=names[1],
        messages_before=len(made.before),
        messages_after=len(made.after),
        tokens_before=sum(was.values()),
        tokens_after=sum(now.values()),
        fixed_tokens=sum(one.tokens_after for one in fixed_categories(sides[1], Estimator())),
        kept=made.count("kept"),
        rewritten=made.count("rewritten"),
        folded=made.count("folded"),
        added=made.count("added"),
        categories=tuple(
            Category(name, was.get(name, 0), now.get(name, 0)) for name in {**was, **now}
        ),
        fates_before=made.before,
        fates_after=made.after,
    )


def _marks(messages: Sequence[Message]) -> list[bytes]:
    """Return a mark of what each message says; one that was changed still has its old payload."""
    told = (one if one.intact else replace(one, wire=None) for one in messages)
    return [hashlib.sha256(payload_bytes(message)).digest() for message in told]


def _same(before: list[bytes], after: list[bytes]) -> list[tuple[int, int]]:
    """Return pairs of equal messages in order: the common start, the common end, then the rest."""
    shorter = min(len(before), len(after))
    start = 0
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    pairs = [(at, at) for at in range(start)]
    places: dict[bytes, list[int]] = {}
    for at in range(start, len(before) - end):
        places.setdefault(before[at], []).append(at)
    least = start
    for at in range(start, len(after) - end):
        known = places.get(after[at], [])
        next_ = bisect_left(known, least)
        if next_ < len(known):
            pairs.append((known[next_], at))
            least = known[next_] + 1
    pairs.extend((len(before) - end + at, len(after) - end + at) for at in range(end))
    return pairs


def _names(message: Message) -> Iterator[tuple[str, ...]]:
    """Yield what a message is known by also after it was rewritten, the surest first."""
    if message.id:
        yield ("id", message.id)
    calls = [part.id for part in message.parts if isinstance(part, ToolCall)]
    results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
    if calls or results:
        yield ("calls", *calls, "results", *results)
    if message.role in ("system", "developer"):
        yield ("role", message.role)
    last = message.parts[-1] if message.parts else None
    if isinstance(last, Text) and last.text:
        yield ("words", message.role, last.text)
        if message.origin == "real" and len(last.text) > _FIRST_CHARS:
            yield ("first words", message.role, last.text[:_FIRST_CHARS])


def _find_rewritten(
    message: Message, gone: dict[tuple[str, ...], list[int]], fates: Sequence[Fate]
) -> int:
    for name in _names(message):
        for index in gone.get(name, ()):
            if fates[index] == "folded":
                return index
    return -1
