"""What a memory provider is: a base class whose methods do nothing, and the values it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from foldaway._core import Redact, read_table


class MemoryTurn(Struct, frozen=True, kw_only=True):
    """One exchange, after it: the user's own words without templates, and the agent's answer."""

    session_id: str
    number: int
    user: str
    agent: str


Turn = MemoryTurn
"""The name that earlier providers import."""


class Switch(Struct, frozen=True, kw_only=True):
    """The conversation goes on under another id, or starts over."""

    session_id: str
    parent_id: str = ""
    reset: bool = False
    """Whether it starts with nothing."""
    rewound: bool = False
    """Whether turns were taken back: what was remembered of them may be wrong now."""


class MemoryProvider:
    """A memory. Overwrite what yours can do; everything else does nothing.

    No method is called by two threads at once. All may be slow, fail or hang: the manager calls
    them with a deadline, away from the turn. Only the built-in one is asked for its `system_text`
    and `tools` in the turn.
    """

    name: str = ""
    """Short and unique: `files`, `mem0`."""

    def does(self, method: str) -> bool:
        """Return whether it does anything there; if it does not, nobody calls or waits.

        Asked once, when the manager is made; of the built-in provider at every turn.
        """
        return getattr(type(self), method) is not getattr(MemoryProvider, method)

    def hide_with(self, redact: Redact) -> None:
        """Take the redactor of the conversation if none was given.

        Only the built-in provider is called: what the others get is redacted already.
        """

    def system_text(self) -> str:
        """Return what belongs in the system prompt: the same bytes until a memory changed."""
        return ""

    def tools(self) -> Sequence[Mapping[str, object]]:
        """Return the tools for the model: `name`, `description`, `parameters`; constant."""
        return ()

    def call(self, name: str, arguments: Mapping[str, object]) -> str:
        """Answer a call of one of the tools; raise for what cannot be done."""
        raise LookupError(name)

    def prefetch(self, query: str, session_id: str) -> str:
        """Return what is known about what the user just said, for the model to read."""
        return ""

    def sync(self, turn: MemoryTurn) -> None:
        """Keep a turn. When this returns, it is durable."""

    def turn_started(self, number: int, text: str) -> None:
        """Hear that a turn begins."""

    def session_ended(self, session_id: str, messages: Sequence[object]) -> None:
        """Hear that a session is over."""

    def session_switched(self, switch: Switch) -> None:
        """Hear that the conversation goes on elsewhere."""

    def before_compaction(self, messages: Sequence[object]) -> str:
        """Take what matters from messages that are about to be folded.

        What is returned goes into the request for the summary.
        """
        return ""

    def forget(self, holds: Callable[[str], bool], *, dry_run: bool = False) -> int:
        """Remove every note that `holds` says yes to, for good, old versions too; return how many
        there are or were.
        """
        return 0

    def close(self) -> None:
        """Let go of everything."""


def provider_tools(name: str) -> tuple[Mapping[str, object], ...]:
    """Return the tools of one of our providers; constant, so that prompts stay cached."""
    return tuple(read_table("tools", dict[str, list[dict[str, object]]], "foldaway.memory")[name])
