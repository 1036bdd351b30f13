"""A session while it is being read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from holdfast.dialects.registry import dialect_named
from holdfast.errors import NotReadable
from holdfast.importers.imported import Agent, ImportedSession, Lineage, Note, NoteKind
from holdfast.transcript import Frame, Payload, Transcript, survey

MOST_MESSAGES = 1_000_000
"""Messages of one session: a hundred times the longest that was seen, and a gigabyte in memory."""


class DraftRow(Struct, frozen=True, gc=False):
    """One message as the dialect writes it, with what the file says about it."""

    item: Any
    entry_id: str
    time: float | None
    place: str


class SessionDraft:
    """Takes messages in the order of the file, and leaves out an entry that comes again."""

    __slots__ = ("_at", "cwd", "lineage", "model", "notes", "rows", "source_id", "summaries",
                 "title")  # fmt: skip

    def __init__(self, source_id: str = "", lineage: Lineage | None = None) -> None:
        """Start without messages."""
        self.source_id = source_id
        self.lineage = lineage
        self.title = self.model = self.cwd = ""
        self.rows: list[DraftRow] = []
        self.summaries: list[int] = []
        self.notes: list[Note] = []
        self._at: dict[str, int] = {}

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
        if summary:
            self.summaries.append(len(self.rows))
        self.rows.append(DraftRow(item, entry_id, time, place))

    def note(self, kind: NoteKind, where: str, said: str) -> None:
        """Note what was survived."""
        self.notes.append(Note(kind, where, said))

    def finish(
        self, agent: Agent, dialect: str, path: str, *, system: Payload | None = None
    ) -> ImportedSession:
        """Return the session; `system` is a field of the request that holds its system prompt."""
        items = [row.item for row in self.rows]
        spoken = dialect_named(dialect)
        frame = Frame(spoken.list_key, {**system, spoken.list_key: items}) if system else Frame()
        prompt = spoken.decode_system(system) if system and spoken.decode_system else None
        transcript = Transcript(dialect, spoken.decode(items), frame, prompt)
        times = tuple(row.time for row in self.rows)
        known = [time for time in times if time is not None]
        return ImportedSession(
            source_id=self.source_id or file_stem(path),
            agent=agent,
            path=path,
            transcript=transcript,
            entry_ids=tuple(row.entry_id for row in self.rows),
            times=times,
            summaries=tuple(self.summaries),
            title=self.title,
            started=known[0] if known else None,
            ended=known[-1] if known else None,
            model=self.model,
            cwd=self.cwd,
            lineage=self.lineage,
            notes=(*self.notes, *pairing_notes(transcript, [row.place for row in self.rows])),
        )


def refuse_too_many(count: int) -> None:
    """Raise `NotReadable` for a session of so many messages."""
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
    """Return the id of the record with this number (from 1) in a file, where it gives none.

    The first has the name of the file: it may be the only one today and not tomorrow.
    """
    return file_stem(path) if number == 1 else f"{file_stem(path)}#{number}"
