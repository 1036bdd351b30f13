"""What a worker is asked and what comes of it, as values; on the pipe each is one line of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.transcript import Payload

Why: TypeAlias = Literal["not installed", "refused", "hung", "died", "garbled"]


class Request(Struct, frozen=True, kw_only=True):
    """One history to make small, as an OpenAI chat list without system prompts."""

    messages: Sequence[Payload]
    system: str | None = None
    tools: Sequence[Payload] = ()
    budget_tokens: int
    """What the result is to come to; the worker hands it to the peer's nearest setting."""
    context_length: int
    mode: str = ""
    """Which of the peer's ways, by its short name; `Peers` sets it."""
    pressed: bool = False
    """Whether nothing fitted before: now the peer's own floors of messages are lowered too."""


class Answer(Struct, frozen=True):
    """What a peer made of a history; nothing in it is mended."""

    messages: tuple[Payload, ...]
    cpu_ms: float
    """CPU of the peer's own call alone."""
    note: str = ""
    """How it was driven, where that is not plain."""
    moves: bool = True
    """Whether another budget could have given another result."""


class Failure(Struct, frozen=True):
    """Why there is no answer, in one sentence; `why` sorts it, "refused" is the worker's own."""

    why: Why
    error: str


Outcome: TypeAlias = Answer | Failure
