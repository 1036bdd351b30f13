"""What an importer gives: a session of another agent in the project's model, and what was off.

`SessionDraft` is a session while it is being read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway.caching import RequestUsage
from foldaway.dialects import FreshIds, dialect_named, dump_bytes
from foldaway.errors import NotReadable
from foldaway.transcript import Frame, Payload, Transcript, survey

Relation: TypeAlias = Literal["sidechain", "subagent", "branch", "resumed", "compression"]
"""`sidechain`: a subagent in its parent's file; `subagent`: one in a file of its own; `branch`:
the user went back and on from there; `resumed`: goes on where the other one ended; `compression`:
goes on after the other one was compacted."""

NoteKind: TypeAlias = Literal[
    "torn", "too long", "duplicate", "unanswered", "without call", "left out", "taken back"
]
"""`torn`: a line that is not whole; `too long`: a line beyond the limit; `duplicate`: an entry that
was there already; `unanswered`: a call without a result; `without call`: a result without a call;
`left out`: an entry that holds no message; `taken back`: what the user undid in the agent."""

_DIGITS = 32
MOST_MESSAGES = 1_000_000
"""Messages of one session: a hundred times the longest that was seen, and a gigabyte in memory."""


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


class AnswerUsage(RequestUsage, frozen=True, kw_only=True, gc=False):
    """What the provider counted for one answer, as the agent recorded it."""

    reasoning_tokens: int = 0


class ImportedSession(Struct, frozen=True, kw_only=True):
    """One conversation of a file. A branch or sidechain holds only its own messages."""

    source_id: str
    """The id that the file gave, otherwise the name of the file."""
    agent: str
    """Whose file it was: a name of `agents/known`, a benchmark, or the dialect of a plain file."""
    path: str
    transcript: Transcript
    entry_ids: tuple[str, ...]
    """For each message the id that the file gave it, "" if it gave none."""
    times: tuple[float | None, ...]
    """For each message when it was written, in seconds since 1970."""
    summaries: tuple[int, ...] = ()
    """Positions of messages that the agent's own compaction wrote, not the user."""
    usage: tuple[AnswerUsage, ...] = ()
    """What the answers used, in their order; empty if the file does not say."""
    total_usage: AnswerUsage | None = None
    """What the session used beside `usage`: all of it, if the agent records only sums."""
    window_tokens: int = 0
    """The context window that the agent assumes, if its file says; 0 if not."""
    title: str = ""
    started: float | None = None
    ended: float | None = None
    model: str = ""
    cwd: str = ""
    lineage: Lineage | None = None
    notes: tuple[Note, ...] = ()

    @property
    def parent_id(self) -> str:
        """The `source_id` of the session that this one comes from, "" if there is none."""
        return "" if self.lineage is None else self.lineage.parent_id

    @property
    def is_partial(self) -> bool:
        """Whether it has only what came after the messages of another session."""
        return self._relation in ("branch", "resumed", "compression")

    @property
    def is_subagent(self) -> bool:
        """Whether another session called it."""
        return self._relation in ("sidechain", "subagent")

    @property
    def _relation(self) -> Relation | None:
        return None if self.lineage is None else self.lineage.relation


def message_keys(session: ImportedSession) -> tuple[str, ...]:
    """Return a stable key for each message, unique within the session.

    It is the entry's id, otherwise a hash of the payload, numbered if it comes again. A file
    that only grew gives the same keys and then new ones: messages with a new key are new.
    """
    fresh = FreshIds(())
    return tuple(
        fresh.make(entry_id or _hash(message.wire))
        for entry_id, message in zip(session.entry_ids, session.transcript.messages, strict=True)
    )


def _hash(wire: object) -> str:
    return "sha256:" + hashlib.sha256(dump_bytes(wire)).hexdigest()[:_DIGITS]


class DraftRow(Struct, frozen=True, gc=False):
    """One message as the dialect writes it, with what the file says about it."""

    item: Any
    entry_id: str
    time: float | None
    place: str
    is_summary: bool


class SessionDraft(Struct):
    """Takes messages in the order of the file, and leaves out an entry that comes again."""

    source_id: str = ""
    lineage: Lineage | None = None
    title: str = ""
    model: str = ""
    cwd: str = ""
    window_tokens: int = 0
    total_usage: AnswerUsage | None = None
    rows: list[DraftRow] = []
    notes: list[Note] = []
    usage: dict[str, AnswerUsage] = {}
    _at: dict[str, int] = {}
    """Where the newest message of each entry is."""

    def add(
        self,
        item: Any,
        entry_id: str = "",
        time: float | None = None,
        place: str = "",
        *,
        summary: bool = False,
    ) -> None:
        """Take one message; one with the id and payload of an earlier one is only noted.

        Raises `NotReadable` for a session that is too long to be held.
        """
        refuse_too_many(len(self.rows) + 1)
        if entry_id:
            before = self._at.get(entry_id)
            if before is not None and self.rows[before].item == item:
                self.note("duplicate", place, f"the same entry as at {self.rows[before].place}")
                return
            self._at[entry_id] = len(self.rows)
        self.rows.append(DraftRow(item, entry_id, time, place, summary))

    def add_usage(self, usage: AnswerUsage | None, key: str = "") -> None:
        """Take what the answer that was added last used.

        An agent may repeat a report with each piece of an answer, or later: of one key the last
        one counts, at the position and time of the first. A report without a single figure is no
        report. An answer without words counts at the message before it.
        """
        if usage is None:
            return
        key = key or f"#{len(self.usage)}"
        at, time = max(len(self.rows) - 1, 0), usage.time
        if time is None and self.rows:
            time = self.rows[-1].time
        if before := self.usage.get(key):
            at, time = before.position, before.time
        model = usage.model or self.model
        self.usage[key] = replace(usage, position=at, model=model, time=time)

    def note(self, kind: NoteKind, where: str, said: str) -> None:
        """Note what was survived."""
        self.notes.append(Note(kind, where, said))

    def finish(
        self, agent: str, dialect: str, path: str, *, system: Payload | None = None
    ) -> Iterator[ImportedSession]:
        """Yield the session if it has messages.

        `system` is a field of the request that holds its system prompt.
        """
        if not self.rows:
            return
        items = [row.item for row in self.rows]
        spoken = dialect_named(dialect)
        frame = Frame(spoken.list_key, {**system, spoken.list_key: items}) if system else Frame()
        prompt = spoken.decode_system(system) if system and spoken.decode_system else None
        transcript = Transcript(dialect, spoken.decode(items), frame, prompt)
        times = tuple(row.time for row in self.rows)
        known = [time for time in times if time is not None]
        yield ImportedSession(
            source_id=self.source_id or file_stem(path),
            agent=agent,
            path=path,
            transcript=transcript,
            entry_ids=tuple(row.entry_id for row in self.rows),
            times=times,
            summaries=tuple(at for at, row in enumerate(self.rows) if row.is_summary),
            usage=tuple(self.usage.values()),
            total_usage=self.total_usage,
            window_tokens=self.window_tokens,
            title=self.title,
            started=known[0] if known else None,
            ended=known[-1] if known else None,
            model=self.model,
            cwd=self.cwd,
            lineage=self.lineage,
            notes=(*self.notes, *pairing_notes(transcript, [row.place for row in self.rows])),
        )


def refuse_too_many(count: int) -> None:
    """Raise `NotReadable` if a session of `count` messages is too long."""
    if count > MOST_MESSAGES:
        raise NotReadable(
            f"holds more than {MOST_MESSAGES:,} messages in one session", remedy="split the file"
        )


def pairing_notes(transcript: Transcript, places: list[str] | None = None) -> Iterable[Note]:
    """Yield a note for each call without a result and each result without a call."""
    found = survey(transcript.messages)
    for (index, call), answer in zip(found.calls, found.answer_of, strict=True):
        if answer < 0 and call.kind != "server":
            yield Note("unanswered", _place(places, index), "a call has no result")
    for (index, result), call in zip(found.results, found.call_of, strict=True):
        if call < 0 and result.kind != "server":
            yield Note("without call", _place(places, index), "a result answers no call")


def _place(places: list[str] | None, index: int) -> str:
    return (places[index] if places else "") or f"message {index}"


def file_stem(path: str) -> str:
    """Return the name of a file without its folder and its endings."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    for ending in (".gz", ".jsonl", ".json", ".traj"):
        name = name.removesuffix(ending)
    return name or "session"


def record_name(path: str, number: int) -> str:
    """Return the id of the record with this number (from 1) in a file, if it has none.

    The first has the name of the file: it may be the only one today and not tomorrow.
    """
    return file_stem(path) if number == 1 else f"{file_stem(path)}#{number}"


def with_notes(found: Iterator[ImportedSession], notes: list[Note]) -> Iterator[ImportedSession]:
    """Yield the sessions, the notes on the file with the one that was read when they came up."""
    held: ImportedSession | None = None
    for session in found:
        if held is not None:
            yield held
        held = replace(session, notes=(*notes, *session.notes)) if notes else session
        notes.clear()
    if held is not None:
        yield replace(held, notes=(*held.notes, *notes)) if notes else held
