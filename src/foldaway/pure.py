"""Single steps of a compaction as functions: lists of messages in, plain values out.

Each works alone, keeps no state and changes nothing that it is given. `foldaway.compress` does all
of them together, and checks the result; use these where a host does the rest itself. The marks and
prices of prompt caching, and what makes one tool result smaller, are here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from foldaway._core import Budget, Policy, budget_for
from foldaway.caching import (
    CacheHint,
    Prices,
    cache_hints,
    prefix_key,
    wants_breakpoints,
    with_breakpoints,
)
from foldaway.compaction import message_tokens
from foldaway.dialects import load, repair
from foldaway.errors import InvalidSetting
from foldaway.facts import summary_body
from foldaway.reduction import Reduced, Truncation, reduce_on_arrival, render_result
from foldaway.transcript import (
    Estimator,
    Groups,
    Media,
    Message,
    Text,
    ToolCall,
    ToolResult,
    is_ask,
    texts,
)

__all__ = [
    "CacheHint",
    "Prices",
    "Reduced",
    "Truncation",
    "cache_hints",
    "digest_result",
    "effective_window",
    "estimate_tokens",
    "find_duplicates",
    "join_checked",
    "map_tool_calls",
    "mark_duplicates",
    "prefix_key",
    "reduce_on_arrival",
    "render_result",
    "select_tail",
    "shrink_arguments",
    "split_for_partial",
    "strip_summary",
    "threshold_tokens",
    "wants_breakpoints",
    "with_breakpoints",
]

DUPLICATE = "[the same result as that of call {call}]"


class _WithMedia(Estimator):
    """An estimate in which the caller says what media cost."""

    def __init__(self, media: Callable[[Mapping[str, object]], int]) -> None:
        self._media = media

    def count_media(self, part: Media) -> int:
        """Return what the caller says."""
        return self._media(part.wire or {})


def estimate_tokens(
    messages: Sequence[Any], media: Callable[[Mapping[str, object]], int] | None = None
) -> int:
    """Return about what messages cost, with their envelopes. Media cost 1,600 tokens each, or what
    `media` says of their block; never by the length of their data.
    """
    counter = Estimator() if media is None else _WithMedia(media)
    return sum(message_tokens(message, counter) for message in _read(messages))


def effective_window(context_length: int, output_tokens: int = 0) -> int:
    """Return what a prompt may have of a window of which the answer has `output_tokens`."""
    return _budget(context_length, output_tokens, None).effective_window


def threshold_tokens(
    context_length: int, output_tokens: int = 0, policy: Policy | None = None
) -> int:
    """Return the size from which on a conversation is compacted."""
    return _budget(context_length, output_tokens, policy).threshold_tokens


def _budget(context_length: int, output_tokens: int, policy: Policy | None) -> Budget:
    return budget_for(policy or Policy(), context_length, output_tokens=output_tokens)


def select_tail(messages: Sequence[Any], budget_tokens: int, at_least: int = 3) -> int:
    """Return where the newest messages within a budget begin, at least so many of them; no call is
    parted from its result.
    """
    read, counter = _read(messages), Estimator()
    start, room = len(read), budget_tokens
    while start and (
        len(read) - start < at_least or room >= message_tokens(read[start - 1], counter)
    ):
        start -= 1
        room -= message_tokens(read[start], counter)
    return max((cut for cut in (*Groups(read).starts, 0) if cut <= start), default=0)


def split_for_partial(messages: Sequence[Any], keep_exchanges: int) -> tuple[list[Any], list[Any]]:
    """Return what to compact and the newest exchanges, each from a person's message on; the first
    list is empty if there are no more exchanges than that.
    """
    asks = [at for at, message in enumerate(_read(messages)) if is_ask(message)]
    if keep_exchanges < 1 or len(asks) <= keep_exchanges:
        return ([], list(messages)) if keep_exchanges > 0 else (list(messages), [])
    cut = asks[-keep_exchanges]
    return list(messages[:cut]), list(messages[cut:])


def join_checked(
    head: Sequence[Any], tail: Sequence[Any], provider: str | None = None
) -> list[Any]:
    """Return both lists as one that its provider accepts: neighbors of one role are joined if it
    wants that, and no result is without its call. Raises `CannotRepair` if that is not possible.
    """
    return list(repair([*head, *tail], provider=provider).messages)


def map_tool_calls(messages: Sequence[Any]) -> dict[str, tuple[str, str]]:
    """Return the name and the arguments of each call by its id."""
    return {
        part.id: (part.name, part.arguments)
        for message in _read(messages)
        for part in message.parts
        if isinstance(part, ToolCall)
    }


def digest_result(name: str, arguments: Mapping[str, object], output: str, chars: int = 300) -> str:
    """Return the digest of an old result: what was called, how it ended, and a little of it, about
    `chars` long; the output itself if that is no longer. Values of secrets are hidden.
    """
    if len(output) <= chars:
        return output
    shown = render_result(name, arguments, output, most_chars=chars)
    return shown if len(shown) < len(output) else output


def find_duplicates(messages: Sequence[Any]) -> dict[int, int]:
    """Return the positions of tool results that come again, each with that of the newest one."""
    newest: dict[str, int] = {}
    found: dict[int, int] = {}
    for at in range(len(messages) - 1, -1, -1):
        text = _sole_result(_read(messages[at : at + 1])[0])
        if text and newest.setdefault(text, at) != at:
            found[at] = newest[text]
    return dict(sorted(found.items()))


def mark_duplicates(messages: Sequence[Any]) -> list[Any]:
    """Return the list with a short mark in the place of each result in a chat list that comes
    again; the newest one stays.
    """
    made = list(messages)
    for at, newest in find_duplicates(messages).items():
        if isinstance(made[at].get("content"), str):
            call = messages[newest].get("tool_call_id", "")
            made[at] = {**made[at], "content": DUPLICATE.format(call=call)}
    return made


def _sole_result(message: Message) -> str:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    if len(results) != 1 or len(message.parts) != 1:
        return ""
    return "\n".join(part.text for part in results[0].parts if isinstance(part, Text))


def shrink_arguments(arguments: str, most_chars: int = 200) -> str:
    """Return JSON arguments with long texts in them cut to `most_chars`; they stay valid JSON. What
    is not JSON stays as it is.
    """
    try:
        value = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments
    shrunk = _shrink(value, most_chars)
    return arguments if shrunk == value else msgspec.json.encode(shrunk).decode()


def _shrink(value: Any, most: int) -> Any:
    match value:
        case str():
            return value if len(value) <= most else f"{value[:most]}… [{len(value) - most} more]"
        case list():
            return [_shrink(one, most) for one in value]  # pyright: ignore[reportUnknownVariableType]
        case dict():
            return {key: _shrink(one, most) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


def strip_summary(message: Any) -> str:
    """Return the words of a summary message without the frame that ours and those of known
    programs, older ones too, put around them; other messages keep their words.
    """
    words = "\n".join(texts(_read([message])[0]))
    body = summary_body(words)
    return words if body is None else body


def _read(messages: Sequence[Any]) -> tuple[Message, ...]:
    InvalidSetting.check_type("messages", messages, Sequence, "a list; of a request give its list")
    return load(list(messages)).messages if messages else ()
