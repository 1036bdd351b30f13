"""What a strategy leaves of a history: what the model would see in its place."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from holdfast.lab.scoring.session import Message


class Shown(Struct, frozen=True, kw_only=True):
    """A view. `text` is all of it but the system prompt, rendered; budgets count its `tokens`."""

    text: str
    tokens: int
    messages: tuple[Message, ...] = ()
    """The view as a message list; empty where the strategy gives only text."""
    summaries: tuple[str, ...] = ()
    """Texts that the strategy wrote itself: every fact in them must stand in the source."""
    resolves: Callable[[str], bool] | None = None
    """Whether a reference of the view leads to its originals; None where it has none."""
    positions: int = 0
    """How many messages the labels of the summaries count among; 0: those that were given."""
    archived: bool = False
    """Whether what was left out can still be searched by the agent."""
    cpu_ms: float = 0.0
    note: str = ""
    failed: str = ""
    """Why there is no view; one sentence, in place of figures."""
