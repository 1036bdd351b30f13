"""What an importer gives: a session of another agent, in the project's model, and what was off."""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.dialects.dialect import FreshIds
from holdfast.dialects.jsontext import dump
from holdfast.transcript import Transcript

Agent: TypeAlias = Literal[
    "claude-code", "codex", "opencode", "pi", "hermes", "openhands", "swe-agent", "mini-swe-agent",
    "tau-bench", "tau2-bench", "aider", "sharegpt", "openai-chat", "openai-responses", "anthropic",
    "gemini",
]  # fmt: skip
"""Whose file it was; the name of a dialect where it is a plain transcript."""

Relation: TypeAlias = Literal["sidechain", "subagent", "branch", "resumed", "compression"]
"""`sidechain`: a subagent in its parent's file; `subagent`: one in a file of its own; `branch`:
the user went back and on from there; `resumed`: goes on where the other one ended; `compression`:
goes on after the other one was compacted."""

NoteKind: TypeAlias = Literal[
    "torn", "duplicate", "unanswered", "without call", "left out", "taken back"
]
"""`torn`: a line that is not whole; `duplicate`: an entry that was there already; `unanswered`: a
call without a result; `without call`: a result without a call; `left out`: an entry that holds no
message; `taken back`: what the user undid in the agent."""

_DIGITS = 32


class Note(Struct, frozen=True, gc=False):
    """What was survived while reading, without content; `where` is a line, an entry or a path."""

    kind: NoteKind
    where: str
    said: str


class Lineage(Struct, frozen=True, gc=False):
    """Where a session comes from: the `source_id` of its parent, and how.

    `at` is the id of the parent's last entry before it, "" where the file does not say.
    """

    parent_id: str
    relation: Relation
    at: str = ""


class ImportedSession(Struct, frozen=True, kw_only=True):
    """One conversation of a file. A branch or sidechain holds only its own messages."""

    source_id: str
    """The id that the file gave, otherwise the name of the file."""
    agent: Agent
    path: str
    transcript: Transcript
    entry_ids: tuple[str, ...]
    """For each message the id that the file gave it, "" where it gave none."""
    times: tuple[float | None, ...]
    """For each message when it was written, in seconds since 1970."""
    summaries: tuple[int, ...] = ()
    """Positions of messages that the agent's own compaction wrote, not the user."""
    title: str = ""
    started: float | None = None
    ended: float | None = None
    model: str = ""
    cwd: str = ""
    lineage: Lineage | None = None
    notes: tuple[Note, ...] = ()

    @property
    def parent_id(self) -> str:
        """The `source_id` of the session that this one comes from, "" where there is none."""
        return "" if self.lineage is None else self.lineage.parent_id


def message_keys(session: ImportedSession) -> tuple[str, ...]:
    """Return a stable key for each message, unique within the session.

    It is the entry's id, otherwise a hash of the payload, numbered where it comes again. A file
    that only grew gives the same keys and then new ones; so what is new is what has a new key.
    """
    fresh = FreshIds(())
    return tuple(
        fresh.make(entry_id or _hash(message.wire))
        for entry_id, message in zip(session.entry_ids, session.transcript.messages, strict=True)
    )


def _hash(wire: object) -> str:
    return "sha256:" + hashlib.sha256(dump(wire)).hexdigest()[:_DIGITS]
