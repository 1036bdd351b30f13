"""A session as the lab reads it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

Message = dict[str, Any]
"""A message of OpenAI chat, as parsed from JSON."""


class OwnSummary(Struct, frozen=True):
    """A compaction that the agent of the session made itself: before which message, and its text.

    The text is empty where the agent's file does not hold it.
    """

    at: int
    text: str


class Session(Struct, frozen=True):
    """One real session; `messages` is an OpenAI chat list.

    `family` says whose sessions are averaged together, `project` in which sessions a fact is no
    news.
    """

    id: str
    family: str
    project: str
    messages: list[Message]
    tokens: int = 0
    """As counted by whoever made the set; 0 where nobody did."""
    own: tuple[OwnSummary, ...] = ()
    tools: list[Any] = []
