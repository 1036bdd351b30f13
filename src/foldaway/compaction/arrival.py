"""Results as they are shown from their arrival on, before they are part of a cached prefix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence

from msgspec import Struct, json
from msgspec.structs import replace

from foldaway._core import ArrivalLevel, Policy, TokenCounter
from foldaway.compaction.measure import message_tokens
from foldaway.compaction.references import reference_of
from foldaway.facts import carried_summary, family_of, mark_text, origin_of
from foldaway.reduction import without_spaces
from foldaway.transcript import (
    Kept,
    Message,
    Part,
    Rewritten,
    Text,
    ToolCall,
    ToolResult,
    View,
    grow,
)

_LEAST_COPY_CHARS = 200
"""A shorter result costs hardly more than the marker."""
_MOST_RESULT_TOKENS = 10_000
"""What a bounded result may have if no limit fits its tool."""
_OWN_TOOLS = "foldaway_"
"""What our own tools bring back is what somebody asked for, and stays whole."""


class ResultPolicy(Struct, frozen=True, kw_only=True):
    """How results are shown from their arrival on.

    It is kept with a session: as long as it holds, the same log gives the same bytes.
    """

    level: ArrivalLevel = "off"
    tokens: int = 0
    tools: Mapping[str, int] = {}
    start: int = 0
    """From this position of the log on; what stands before was sent as it came."""


json.Decoder(ResultPolicy)  # a class that several threads convert to must have been read before


def arriving_by(policy: Policy) -> ResultPolicy:
    """Return what a policy says of results that arrive."""
    return ResultPolicy(
        level=policy.arrival, tokens=_MOST_RESULT_TOKENS, tools=policy.arrival_tools
    )


class ShortResult(Struct, frozen=True, gc=False):
    """A message as it is shown for itself, whatever stands before it."""

    message: Message
    tokens: int
    given_tokens: int
    """What it costs as it came."""
    is_whole: bool
    """Whether nothing in it was left out."""


Copy = tuple[bool, str]
"""What two results have in common that are the same: whether they failed, and the text."""
Whole = MutableMapping[Copy, str]
"""Results that are shown whole, each with the call that it answers."""


def arrived(
    message: Message,
    calls: Mapping[str, ToolCall],
    tokens: int,
    arriving: ResultPolicy,
    counter: TokenCounter,
) -> ShortResult | None:
    """Return how a message is shown for itself; None if it stays as it came.

    `tokens` is what it costs as it came. JSON loses its spaces, except from tools that show files:
    an agent that edits those needs them as they stand. Only where results are bounded is anything
    left out, and then the text names the reference of the original.
    """
    if arriving.level == "off" or not _may_change(message):
        return None
    parts: list[Part] = []
    is_whole = True
    for part in message.parts:
        text, call = _sole_text(part), calls.get(getattr(part, "call_id", ""))
        if text is None or call is None or call.name.startswith(_OWN_TOOLS):
            parts.append(part)
            continue
        shown = without_spaces(text) if family_of(call.name) == "other" else text
        if arriving.level == "bounded":
            cut = _cut(message, call, shown, arriving, counter)
            is_whole, shown = is_whole and cut == shown, cut
        parts.append(part if shown == text else _with_text(part, shown))
    return _smaller(message, parts, tokens, counter, is_whole)


def _smaller(
    message: Message, parts: list[Part], tokens: int, counter: TokenCounter, is_whole: bool
) -> ShortResult | None:
    if all(new is old for new, old in zip(parts, message.parts, strict=True)):
        return None
    made = replace(message.with_parts(tuple(parts)), origin="arrival")
    after = message_tokens(made, counter)
    return ShortResult(made, after, tokens, is_whole) if after < tokens else None


def _cut(
    message: Message, call: ToolCall, text: str, arriving: ResultPolicy, counter: TokenCounter
) -> str:
    from foldaway.reduction import Truncation, reduce_on_arrival  # brings every reducer with it

    limits = Truncation(default_tokens=arriving.tokens, tools=arriving.tools)
    if not limits.limit(call.name):
        return text
    return reduce_on_arrival(
        limits, call.name, text, counter=counter, reference=reference_of(message)
    ).text


class GrownView(Struct, frozen=True):
    """A view on a whole log, and what in it is shown whole."""

    view: View
    whole: Whole
    tokens: Mapping[int, int]
    """The tokens of what is shown otherwise than the log has it, by position."""


def shown_from(
    view: View,
    log: Sequence[Message],
    form: Callable[[int], ShortResult | None],
    cost: Callable[[int], int],
    arrives: Callable[[int], bool],
    counter: TokenCounter,
    given: Mapping[int, Message],
) -> GrownView:
    """Return a view grown to its whole log, with what has come since as it is shown on arrival.

    It depends on nothing else: the same view and log give the same result. `form` gives
    how a message is shown for itself, `cost` what that costs, `arrives` whether it may be changed.
    `given` are messages that came with more than the log keeps of them.
    """
    whole = whole_in(view, log, form)
    items: list[Rewritten] = []
    tokens: dict[int, int] = {}
    for at in range(view.length, len(log)):
        if at in given:
            items.append(Rewritten(at, given[at]))
            tokens[at] = message_tokens(given[at], counter)
        elif not arrives(at):
            note_whole(log[at], log[at], None, whole)
        else:
            made, size = as_shown(log[at], form(at), cost(at), whole, counter)
            if made is not log[at]:
                items.append(Rewritten(at, made, reference_of(log[at])))
                tokens[at] = size
    return GrownView(grow(view, len(log), items), whole, tokens)


def whole_in(
    view: View, log: Sequence[Message], form: Callable[[int], ShortResult | None]
) -> dict[Copy, str]:
    """Return the results that a view shows whole."""
    whole: dict[Copy, str] = {}
    for item in view.items:
        if isinstance(item, Kept):
            for at in range(item.start, item.stop):
                note_whole(log[at], log[at], None, whole)
        elif isinstance(item, Rewritten) and is_on_arrival(item):
            note_whole(log[item.start], item.message, form(item.start), whole)
    return whole


def is_on_arrival(item: Rewritten) -> bool:
    """Return whether a position is shown as it was on arrival, by no compaction."""
    return item.message.origin == "arrival" and carried_summary(item.message) is None


def as_shown(
    message: Message, form: ShortResult | None, tokens: int, whole: Whole, counter: TokenCounter
) -> tuple[Message, int]:
    """Return a new message as it is shown after what is `whole` already, and its tokens.

    A result that is shown above becomes a marker; `whole` is brought up to date. `tokens` is what
    it costs otherwise.
    """
    if not _has_results(message):
        return message, tokens
    base = message if form is None else form.message
    made = _marked(message, base, whole, is_whole=form is None or form.is_whole)
    if made is not base:
        after = message_tokens(made, counter)
        made, tokens = (made, after) if after < tokens else (base, tokens)
    note_whole(message, made, form, whole)
    return made, tokens


def note_whole(message: Message, shown: Message, form: ShortResult | None, whole: Whole) -> None:
    """Take in the results of a message that are shown whole."""
    if (form is not None and not form.is_whole) or not _has_results(message):
        return
    base = message if form is None else form.message
    for given, as_is, now in zip(message.parts, base.parts, shown.parts, strict=False):
        copy = _copy(given)
        if copy is not None and _sole_text(now) == _sole_text(as_is):
            whole.setdefault(copy, getattr(given, "call_id", ""))


def _marked(
    message: Message, base: Message, whole: Mapping[Copy, str], *, is_whole: bool
) -> Message:
    if not _may_change(message):
        return base
    here: dict[Copy, str] = {}
    parts: list[Part] = []
    for given, part in zip(message.parts, base.parts, strict=True):
        copy = _copy(given)
        above = None if copy is None else whole.get(copy, here.get(copy))
        if copy is None or above is None:
            parts.append(part)
            if copy is not None and is_whole:
                here[copy] = getattr(given, "call_id", "")
            continue
        where = "in an older result" if above.startswith("~") else f"in the result of {above}"
        words = f"the same content stands above, {where}"
        parts.append(_with_text(part, mark_text("duplicate", words, reference_of(message))))
    if all(new is old for new, old in zip(parts, base.parts, strict=True)):
        return base
    return replace(base.with_parts(tuple(parts)), origin="arrival")


def _may_change(message: Message) -> bool:
    """Return whether there are results here that a tool gave, in a sound message."""
    return message.origin == "real" and not message.flaws and _has_results(message)


def _has_results(message: Message) -> bool:
    return ToolResult in map(type, message.parts)


def _copy(part: Part) -> Copy | None:
    text = _sole_text(part)
    if text is None or len(text) <= _LEAST_COPY_CHARS:
        return None
    return getattr(part, "is_error", False), text


def _sole_text(part: Part) -> str | None:
    """Return the text of a result that is nothing else, and that no compaction wrote."""
    if not isinstance(part, ToolResult) or part.kind not in ("function", "custom"):
        return None
    if len(part.parts) != 1 or not isinstance(part.parts[0], Text):
        return None
    text = part.parts[0].text
    return text if origin_of(text) == "real" else None


def _with_text(part: Part, text: str) -> Part:
    assert isinstance(part, ToolResult)
    inner = part.parts[0]
    assert isinstance(inner, Text)
    return replace(part, parts=(replace(inner, text=text, intact=False),), intact=False)
