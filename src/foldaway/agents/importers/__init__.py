"""Sessions that other agents wrote, read into the project's model; nothing is ever written."""

from foldaway.agents.importers.find import bytes_in, files_in, sessions_in, usual_places
from foldaway.agents.importers.imported import (
    Agent,
    AnswerUsage,
    ImportedSession,
    Lineage,
    Note,
    NoteKind,
    Relation,
    message_keys,
)
from foldaway.agents.importers.read import read_bytes, read_file, read_native

__all__ = [
    "Agent", "AnswerUsage", "ImportedSession", "Lineage", "Note", "NoteKind", "Relation",
    "bytes_in", "files_in", "message_keys", "read_bytes", "read_file", "read_native",
    "sessions_in", "usual_places",
]  # fmt: skip
