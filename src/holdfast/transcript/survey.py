"""Where the calls, results, thinking and media of a log are, found in one pass."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.transcript.message import Media, Message, Thinking, ToolCall, ToolResult


class Survey(Struct, frozen=True, gc=False):
    """An index over messages. Entries are `(message index, part)`, in order.

    `answer_of[k]` is the ordinal in `results` of the answer to `calls[k]`, or -1;
    `call_of[k]` is the ordinal in `calls` of the call that `results[k]` answers, or -1.
    A result answers the nearest earlier call with its id that has no answer yet.
    """

    messages: Sequence[Message]
    calls: list[tuple[int, ToolCall]]
    results: list[tuple[int, ToolResult]]
    thinking: list[tuple[int, Thinking]]
    media: list[tuple[int, Media]]
    flawed: list[int]
    generated: list[int]
    answer_of: list[int]
    call_of: list[int]


def survey(messages: Sequence[Message]) -> Survey:
    """Return the index of `messages`; linear in the number of parts."""
    calls: list[tuple[int, ToolCall]] = []
    results: list[tuple[int, ToolResult]] = []
    thinking: list[tuple[int, Thinking]] = []
    media: list[tuple[int, Media]] = []
    flawed: list[int] = []
    generated: list[int] = []
    answer_of: list[int] = []
    call_of: list[int] = []
    open_calls: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        if message.flaws:
            flawed.append(index)
        if message.origin != "real":
            generated.append(index)
        for part in message.parts:
            kind = type(part)
            if kind is ToolCall:
                assert isinstance(part, ToolCall)
                open_calls.setdefault(part.id, []).append(len(calls))
                calls.append((index, part))
                answer_of.append(-1)
            elif kind is ToolResult:
                assert isinstance(part, ToolResult)
                waiting = open_calls.get(part.call_id)
                if waiting:
                    ordinal = waiting.pop()
                    answer_of[ordinal] = len(results)
                    call_of.append(ordinal)
                else:
                    call_of.append(-1)
                results.append((index, part))
            elif kind is Thinking:
                assert isinstance(part, Thinking)
                thinking.append((index, part))
            elif kind is Media:
                assert isinstance(part, Media)
                media.append((index, part))
    return Survey(messages, calls, results, thinking, media, flawed, generated, answer_of, call_of)
