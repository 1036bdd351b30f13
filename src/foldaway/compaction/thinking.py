"""Thinking that is bound to the messages before it: what of it may stay when they change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foldaway.compaction.work import CompactionInput
from foldaway.facts import RESULT_OPEN
from foldaway.transcript import (
    Media,
    Message,
    Part,
    Rewritten,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    View,
    grow,
    is_ask,
)

_SHOWN_ARGUMENTS = 200
"""Characters of a call's arguments before its result as a text; chosen."""


def loop_start(work: CompactionInput) -> int:
    """Return where the tool loop in progress starts, if it must have thinking; otherwise the end
    of the log.
    """
    log = work.log
    if not log or not work.rules.loop_thinks or not has_results(log[-1]):
        return len(log)
    return next((at + 1 for at in range(len(log) - 2, -1, -1) if is_ask(log[at])), 0)


def is_stuck(work: CompactionInput) -> bool:
    """Return whether a tool loop in progress can neither keep its thinking nor lose it: then all of
    it that the model has seen is folded.
    """
    rules, options = work.rules, work.options
    is_free = options.above is None and options.keep_last is None
    return is_free and rules.strips_thinking and not rules.drops_stale and is_looping(work)


def is_looping(work: CompactionInput) -> bool:
    """Return whether a tool loop is in progress that must have thinking."""
    return loop_start(work) < len(work.log)


def unseen_from(work: CompactionInput) -> int:
    """Return where the results begin that no model has seen; the end of the log if one is pinned:
    then it may not become a text.
    """
    log, at = work.log, len(work.log)
    while at > 0 and log[at - 1].role != "assistant":
        at -= 1
    return at if work.options.pinned.isdisjoint(range(at, len(log))) else len(log)


def results_as_text(message: Message, calls: Message) -> Message:
    """Return a message with its results as texts, each with the call of `calls` that it answers."""
    named = {call.id: call for call in calls.parts if isinstance(call, ToolCall)}
    parts: list[Part] = []
    for part in message.parts:
        if not isinstance(part, ToolResult):
            parts.append(part)
            continue
        call = named.get(part.call_id)
        called = f"{call.name} {call.arguments[:_SHOWN_ARGUMENTS]}" if call else part.name
        said = "\n".join(one.text for one in part.parts if isinstance(one, Text))
        parts.append(Text(f"{RESULT_OPEN}{called}]\n{said}"))
        parts += [one for one in part.parts if isinstance(one, Media)]
    return message.with_parts(tuple(parts))


def stays_from(work: CompactionInput) -> int:
    """Return from where on thinking stays though it is bound to what changed: the provider drops
    it, and must see it.
    """
    return loop_start(work) if work.rules.drops_stale else len(work.log)


def keeps_stale(work: CompactionInput, messages: Sequence[Message]) -> bool:
    """Return whether thinking is left in a result that is bound to what changed."""
    start = stays_from(work)
    return work.rules.strips_thinking and any(
        start <= one.position and strip_thinking(one) is not one for one in messages
    )


def unbound_since(view: View, log: Sequence[Message]) -> View:
    """Return a view grown to the whole log, without the thinking of what came since it was made:
    that is bound to what the model saw before.
    """
    return grow(view, len(log), list(_stripped(log, view.length)))


def _stripped(log: Sequence[Message], start: int) -> Iterator[Rewritten]:
    for at in range(start, len(log)):
        message = strip_thinking(log[at])
        if message is not log[at] and message.parts:
            yield Rewritten(at, message)


def strip_thinking(message: Message) -> Message:
    """Return the message without its thinking; the same object if there is none."""
    parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
    return message if len(parts) == len(message.parts) else message.with_parts(parts)


def has_results(message: Message) -> bool:
    """Return whether a message holds tool results."""
    return any(isinstance(part, ToolResult) for part in message.parts)


def words_alone(message: Message) -> Message:
    """Return a message without its tool results."""
    parts = tuple(part for part in message.parts if not isinstance(part, ToolResult))
    return message.with_parts(parts)
