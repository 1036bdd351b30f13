"""A recorded session, measured once, as the series of model calls that it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from holdfast.compaction.measure import Estimator, message_tokens, tools_tokens
from holdfast.ports import TokenCounter
from holdfast.transcript import Payload, ToolResult, Transcript, is_ask


class Entry(Struct, frozen=True, gc=False):
    """One message with its size, and what the replay must know of it."""

    wire: Any
    tokens: int
    role: str
    is_ask: bool
    """Whether a user speaks: a pause may lie before it."""
    results: bool
    """Whether it is nothing but tool results."""


class Recording(Struct, frozen=True):
    """A session as it can be replayed; `outside_tokens` are tools and a system prompt outside."""

    dialect: str
    entries: tuple[Entry, ...]
    outside_tokens: int = 0
    tools: tuple[Payload, ...] = ()

    @property
    def tokens(self) -> int:
        """The whole session in one prompt."""
        return self.outside_tokens + sum(entry.tokens for entry in self.entries)

    @property
    def system_stop(self) -> int:
        """How many system messages lead the list."""
        for at, entry in enumerate(self.entries):
            if entry.role not in ("system", "developer"):
                return at
        return len(self.entries)

    def calls(self) -> Iterator[tuple[tuple[Entry, ...], tuple[Entry, ...]]]:
        """Yield for each call of the model what is new in its prompt, and its answer.

        A run of agent messages is one answer: some formats write text and calls apart. The answer
        is not part of the next pair; it is in the next prompt all the same. Messages before which
        nothing was said have no call, nor have those after the last answer.
        """
        new: list[Entry] = []
        at, entries = 0, self.entries
        while at < len(entries):
            if entries[at].role != "assistant":
                new.append(entries[at])
                at += 1
                continue
            stop = at
            while stop < len(entries) and entries[stop].role == "assistant":
                stop += 1
            if at:
                yield tuple(new), entries[at:stop]
                new = []
            else:
                new.extend(entries[:stop])
            at = stop


def record(transcript: Transcript, counter: TokenCounter | None = None) -> Recording:
    """Return a transcript as a recording; each message is measured once."""
    counts = counter or Estimator()
    system = message_tokens(transcript.system, counts) if transcript.system else 0
    entries = tuple(
        Entry(
            message.wire, message_tokens(message, counts), message.role, is_ask(message),
            bool(message.parts) and all(isinstance(part, ToolResult) for part in message.parts),
        )
        for message in transcript.messages
    )  # fmt: skip
    outside = system + tools_tokens(transcript.tools, counts)
    return Recording(transcript.dialect, entries, outside, transcript.tools)
