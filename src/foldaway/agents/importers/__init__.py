"""Sessions that other agents wrote, read into the project's model; nothing is ever written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.agents.importers.files import fields
    from foldaway.agents.importers.find import (
        SUBAGENT_FILE,
        bytes_in,
        files_in,
        sessions_in,
        usual_places,
    )
    from foldaway.agents.importers.goose import find_last_compaction, read_stored
    from foldaway.agents.importers.imported import (
        AnswerUsage,
        ImportedSession,
        Lineage,
        Note,
        NoteKind,
        Relation,
        message_keys,
    )
    from foldaway.agents.importers.opencode import OpenCodeForm
    from foldaway.agents.importers.pi import PiForm
    from foldaway.agents.importers.read import (
        is_one_session,
        read_bytes,
        read_file,
        read_native,
        read_native_value,
    )
    from foldaway.agents.importers.take import Taken, take_all
    from foldaway.agents.importers.usage import usage_of

__all__ = [
    "AnswerUsage",
    "ImportedSession",
    "Lineage",
    "Note",
    "NoteKind",
    "Relation",
    "bytes_in",
    "files_in",
    "message_keys",
    "read_bytes",
    "read_file",
    "read_native",
    "sessions_in",
    "usual_places",
]


__getattr__ = import_later(
    __name__,
    {
        "files": "fields",
        "find": "SUBAGENT_FILE bytes_in files_in sessions_in usual_places",
        "goose": "find_last_compaction read_stored",
        "imported": "AnswerUsage ImportedSession Lineage Note NoteKind Relation message_keys",
        "opencode": "OpenCodeForm",
        "pi": "PiForm",
        "read": "is_one_session read_bytes read_file read_native read_native_value",
        "take": "Taken take_all",
        "usage": "usage_of",
    },
)
