"""The next view: head, summary in its frame, tail; a role that breaks no rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Reason, Reference, ReferenceKind
from foldaway.compaction.measure import by_category, message_tokens
from foldaway.compaction.partition import (
    Partition,
    Selection,
    is_native,
    newest_request,
    system_stop,
)
from foldaway.compaction.references import reference_of, reference_to
from foldaway.compaction.thinking import results_as_text, stays_from, strip_thinking
from foldaway.compaction.work import CompactionInput
from foldaway.facts import Summary, mark_text, merged_summaries, recognize, summary_text
from foldaway.transcript import (
    Folded,
    Item,
    Kept,
    Media,
    Message,
    Opaque,
    Rewritten,
    Role,
    Text,
    ToolCall,
    ToolResult,
    View,
    Violation,
    render,
    text_length,
)


class Problem(Struct, frozen=True):
    """Why the original stays."""

    reason: Reason
    detail: str


def verify(work: CompactionInput, made: Assembled, tokens_before: int) -> Problem | None:
    """Return what is wrong with a candidate, None where every law holds.

    Coverage holds by construction of the view. What the input already broke in the same way
    (calls still pending at its end) does not count as a problem of the result.
    """
    if made.tokens_after >= tokens_before:
        return Problem(
            "not smaller", f"{made.tokens_after:,} tokens after, {tokens_before:,} before"
        )
    first = next((found for found in made.violations if found.rule != "call-pending"), None)
    if first is not None:
        return Problem("cannot", _why(first))
    if not _ask_is_live(work, made):
        return Problem("cannot", "the latest user message would not stay as it is")
    return None


def _why(found: Violation) -> str:
    return f"the result would break {found.rule!r}: {found.message}; {found.remedy}"


def _ask_is_live(work: CompactionInput, made: Assembled) -> bool:
    at = newest_request(work.log)
    if at < 0:
        return True
    ask = work.log[at]
    wanted = _words_and_media(ask)
    return any(
        message.position == ask.position
        and message.role == "user"
        and _words_and_media(message)[-len(wanted) :] == wanted
        for message in made.messages
    )


def _words_and_media(message: Message) -> list[str]:
    return [
        part.text if isinstance(part, Text) else f"{part.kind} {part.url}{part.data}"
        for part in message.parts
        if isinstance(part, (Text, Media))
    ]


_SAMPLED = 256
"""Compare a long range by its ends and by the lengths of this many messages between them."""
Placing: TypeAlias = Literal[
    "user", "assistant", "bridged", "after", "before", "native", "native merge"
]
_MOST_PLACES = 8
"""Folds that are tried for the summary, from the first on, and the last; chosen."""
_BRIDGE = "what came between is in the summary"
"""What stands between two messages of one role that a fold would leave side by side."""


class Assembled(Struct, frozen=True):
    """A candidate for the next view."""

    view: View
    messages: tuple[Message, ...]
    tokens_after: int
    summary_text: str
    summary_tokens: int
    references: tuple[Reference, ...]
    shown: dict[str, int]
    """The tokens of what the model sees, by category."""
    violations: tuple[Violation, ...] = ()
    known_faults: tuple[str, ...] = ()
    """Rules that what was given breaks already, and the result too."""


def assemble(
    work: CompactionInput, choice: Selection, summary: Summary, native: tuple[Message, ...] = ()
) -> Assembled:
    """Return the next view with the summary placed where its role breaks no rule.

    What a provider's own compaction gave takes its place as it came, before all that is kept of
    the messages that it tells of; the summary is made all the same.
    """
    partition = choice.partition
    rewritten = _kept_changes(work, choice)
    folds = partition.folds()
    body = summary.render(work.counter, choice.summary_tokens) if folds else ""
    body = work.redact(body)
    reference = _fold_reference(work, folds)
    framed = summary_text(body, reference, brief=work.is_brief) if folds else ""
    best: Assembled | None = None
    for place in _native_places(partition, native) if native else _places(work, folds):
        made = _placed(work, choice, rewritten, framed, reference, place, native)
        fresh, known = _violations(work, made.messages)
        made = replace(made, violations=fresh, known_faults=known)
        if not fresh and (native or not folds or _is_known_again(work, made.messages)):
            return made
        if best is None or (best.violations and not fresh):
            best = made
    assert best is not None
    return best


def _is_known_again(work: CompactionInput, messages: Sequence[Message]) -> bool:
    """Return whether the next run knows the summary as ours, if it is given these messages."""
    head = work.policy.protect_first
    given = [replace(one, origin="real") if one.origin == "summary" else one for one in messages]
    found = recognize(given, head=head)
    return any(one.origin == "summary" for one in found) or bool(merged_summaries(found, head=head))


def _violations(
    work: CompactionInput, messages: Sequence[Message]
) -> tuple[tuple[Violation, ...], tuple[str, ...]]:
    """Return what only a candidate breaks, and the rules that what the model sees now breaks too.

    A host may hand in a call that was interrupted; that must not switch compaction off.
    """
    found = work.rules.check(messages)
    if not found:
        return (), ()
    now = tuple(render(work.view, work.log))
    known = {(one.rule, now[one.index].position) for one in work.rules.check(now) if one.index >= 0}
    fresh = [one for one in found if (one.rule, messages[one.index].position) not in known]
    return tuple(fresh), tuple({one.rule: None for one in found if one not in fresh})


class SummaryPlace(Struct, frozen=True):
    """Where the summary goes: into which fold, as whom, or into the user's message beside it."""

    fold: int
    placing: Placing


def _places(work: CompactionInput, folds: Sequence[tuple[int, int]]) -> list[SummaryPlace]:
    """Return the ways to place the summary, best first: in a role that neither neighbor has, or in
    a message of the user beside the fold, never in one of the assistant. Where a provider wants
    the assistant's reply to a result first, a word of the assistant goes before it.

    The first fold comes before the last, and the message after a fold before the one in front of
    it: that one may still be in the provider's cache. What is pinned comes last.
    """
    if not folds:
        return [SummaryPlace(0, "user")]
    order = dict.fromkeys((0, len(folds) - 1, *range(min(len(folds), _MOST_PLACES))))
    fitting = [SummaryPlace(fold, role) for fold in order for role in _fitting(work, folds[fold])]
    sides: tuple[Placing, ...] = ("after", "before")
    beside = [
        SummaryPlace(fold, side)
        for side in sides
        for fold in order
        if _role_at(work, _beside(folds[fold], side)) == "user"
    ]
    free = [one for one in beside if not _is_pinned(work, folds, one)]
    alone: tuple[Placing, ...] = ("assistant", "user", "bridged")
    others = [SummaryPlace(fold, role) for role in alone for fold in order]
    return list(dict.fromkeys([*fitting, *free, *others, *beside]))


def _is_pinned(
    work: CompactionInput, folds: Sequence[tuple[int, int]], place: SummaryPlace
) -> bool:
    return _beside(folds[place.fold], place.placing) in work.options.pinned


def _fitting(work: CompactionInput, fold: tuple[int, int]) -> list[Placing]:
    """Return the roles that neither neighbor of a fold has; the assistant never has the last word,
    nor the first.
    """
    start, stop = fold
    neighbors = (_role_at(work, start - 1), _role_at(work, stop))
    is_inside = system_stop(work.log) < start and stop < len(work.log)
    roles: list[Placing] = ["user", "assistant"] if is_inside else ["user"]
    return [role for role in roles if role not in neighbors]


def _beside(fold: tuple[int, int], side: Placing) -> int:
    return fold[1] if side == "after" else fold[0] - 1


def _role_at(work: CompactionInput, at: int) -> str:
    return work.log[at].role if 0 <= at < len(work.log) else ""


def _native_places(partition: Partition, native: tuple[Message, ...]) -> list[SummaryPlace]:
    """Return the ways to place a provider's item: by itself, or into an anchor before all folds.

    A signed one takes the place of all messages before it, so nothing may come before it.
    """
    folds = partition.folds()
    if not folds or folds[0][0] == partition.head_stop:
        return [SummaryPlace(0, "native")]
    ways = [SummaryPlace(0, "native"), SummaryPlace(0, "native merge")]
    return ways[::-1] if any(map(_is_signed, native)) else ways


def _is_signed(message: Message) -> bool:
    first = message.parts[0] if message.parts else None
    return isinstance(first, Opaque) and "signature" in first.wire


def _placed(
    work: CompactionInput,
    choice: Selection,
    rewritten: dict[int, Message],
    framed: str,
    reference: str,
    place: SummaryPlace,
    native: tuple[Message, ...] = (),
) -> Assembled:
    partition = choice.partition
    folds = partition.folds()
    rewritten = dict(rewritten)
    summary: tuple[Message, ...] = ()
    if folds and place.placing in ("after", "before"):
        at = _beside(folds[place.fold], place.placing)
        rewritten[at] = _merged(rewritten.get(at, work.log[at]), framed)
    elif folds and place.placing == "native merge":
        at = partition.head_stop
        rewritten[at] = _led(rewritten.get(at, work.log[at]), native)
    elif folds and native:
        summary = native
    elif folds:
        role: Role = "assistant" if place.placing == "assistant" else "user"
        summary = (Message(role, (Text(framed),), origin="summary"),)
        if place.placing == "bridged":
            summary = (_word("assistant", reference), *summary)
    named = _named(work, choice, rewritten)
    items = _items(work, partition, rewritten, (place.fold, summary), reference, named)
    view = View(tuple(items), len(work.log))
    messages = tuple(render(view, work.log))
    costs = {
        index: choice.costs[index]
        if choice.rewritten.get(index) is message
        else message_tokens(message, work.counter)
        for index, message in rewritten.items()
    }
    shown = by_category(view, work.log, work.costs, costs, work.counter)
    return Assembled(
        view=view,
        messages=messages,
        tokens_after=work.outside_tokens + sum(shown.values()),
        summary_text=framed,
        summary_tokens=sum(message_tokens(message, work.counter) for message in native)
        if native
        else work.counter.count(framed),
        references=_references(work, partition, rewritten, reference, named),
        shown=shown,
    )


def _items(
    work: CompactionInput,
    partition: Partition,
    rewritten: dict[int, Message],
    summary: tuple[int, tuple[Message, ...]],
    reference: str,
    named: dict[int, str],
) -> Iterator[Item]:
    folds = partition.folds()
    at = 0
    for number, (start, stop) in enumerate(folds):
        yield from _kept(at, start, rewritten, named)
        home, messages = summary
        shown = messages if number == home else ()
        yield Folded(start, stop, shown or _bridge(work, start, stop, reference), reference)
        at = stop
    yield from _kept(at, len(work.log), rewritten, named)


def _bridge(work: CompactionInput, start: int, stop: int, reference: str) -> tuple[Message, ...]:
    """Return a word of the other one, if a fold would leave two messages of one role in a row."""
    role = _role_at(work, start - 1)
    if role not in ("user", "assistant") or role != _role_at(work, stop):
        return ()
    return (_word("assistant" if role == "user" else "user", reference),)


def _word(role: Role, reference: str) -> Message:
    words = mark_text("placeholder", _BRIDGE, reference)
    return Message(role, (Text(words),), origin="placeholder")


def _kept(
    start: int, stop: int, rewritten: dict[int, Message], named: dict[int, str]
) -> Iterator[Item]:
    at = start
    for index in sorted(index for index in rewritten if start <= index < stop):
        if index > at:
            yield Kept(at, index)
        yield Rewritten(index, rewritten[index], named.get(index, ""))
        at = index + 1
    if stop > at:
        yield Kept(at, stop)


def _kept_changes(work: CompactionInput, choice: Selection) -> dict[int, Message]:
    """Return the messages outside the folds that are rendered otherwise than they were.

    Any change before a message breaks what binds its thinking, so all of that goes, except for what
    the provider itself drops and must see.
    """
    changes, log = dict(choice.rewritten), work.log
    if not work.options.keeps_turn:  # their calls are folded
        start = choice.partition.tail_start
        for at in range(start, len(log)):
            changes[at] = results_as_text(changes.get(at, log[at]), log[start - 1])
    changed = [*changes, *(start for start, _ in choice.partition.folds())]
    if not work.rules.strips_thinking or not changed:
        return changes
    first, stays = min(changed), stays_from(work)
    for start, stop in choice.partition.kept(len(work.log)):
        for index in range(max(start, first), min(stop, stays)):
            message = changes.get(index, work.log[index])
            stripped = strip_thinking(message)
            if stripped is not message and stripped.parts:
                changes[index] = stripped
    return changes


def _merged(message: Message, framed: str) -> Message:
    """Return a message with a summary before its words; results come first."""
    lead = 0
    while lead < len(message.parts) and isinstance(message.parts[lead], ToolResult):
        lead += 1
    parts = (*message.parts[:lead], Text(framed), *message.parts[lead:])
    return message.with_parts(parts)


def _led(message: Message, native: tuple[Message, ...]) -> Message:
    """Return a message with a provider's item before its own parts, in place of an older one."""
    first = tuple(part for one in native for part in one.parts)
    own = tuple(part for part in message.parts if not is_native(part))
    return message.with_parts((*first, *own))


def _fold_reference(work: CompactionInput, folds: Sequence[tuple[int, int]]) -> str:
    """Return the reference of all folds: their place, their ends, the lengths in between."""
    if not folds or not work.options.references:
        return ""
    start, stop = folds[0][0], folds[-1][1]
    stride = max((stop - start) // _SAMPLED, 1)
    lengths = [text_length(message) for message in work.log[start:stop:stride]]
    return reference_to(f"{start}:{stop}:{lengths}", work.log[start], work.log[stop - 1])


def _named(
    work: CompactionInput, choice: Selection, rewritten: dict[int, Message]
) -> dict[int, str]:
    """Return the references of what is rendered otherwise than it was, by position."""
    if not work.options.references:
        return {}
    made = choice.references
    return {index: made.get(index) or reference_of(work.log[index]) for index in rewritten}


def _references(
    work: CompactionInput,
    partition: Partition,
    rewritten: dict[int, Message],
    reference: str,
    named: dict[int, str],
) -> tuple[Reference, ...]:
    if not work.options.references:
        return ()
    folds = partition.folds()
    known = {reference.ref for reference in work.state.references}
    found: list[Reference] = []
    if folds:
        found.append(Reference(reference, (folds[0][0], folds[-1][1]), "fold"))
    found.extend(
        Reference(named[index], (index, index + 1), _kind(message))
        for index, message in sorted(rewritten.items())
        if message is not work.log[index]
    )
    return tuple(row for row in found if row.ref not in known)


def _kind(message: Message) -> ReferenceKind:
    match message.origin:
        case "digest" | "duplicate" | "placeholder" | "arrival":
            return message.origin
        case _:
            calls = any(isinstance(part, ToolCall) and not part.intact for part in message.parts)
            return "arguments" if calls else "other"
