"""Sessions that other agents wrote, read into the project's model; nothing is ever written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.agents.importers.aider import CONSOLE_MARK
    from foldaway.agents.importers.files import elements, fields, text
    from foldaway.agents.importers.find import (
        SUBAGENT_FILE,
        bytes_in,
        files_in,
        sessions_in,
        usual_places,
    )
    from foldaway.agents.importers.goose import find_last_compaction, read_stored
    from foldaway.agents.importers.imported import (
        PARTIAL,
        SUBAGENTS,
        AnswerUsage,
        ImportedSession,
        Lineage,
        Note,
        NoteKind,
        Relation,
        message_keys,
    )
    from foldaway.agents.importers.opencode import prompt_blocks, step_blocks, steps_in
    from foldaway.agents.importers.pi import block_of, message_of
    from foldaway.agents.importers.read import (
        is_native_value,
        is_one_session,
        read_bytes,
        read_file,
        read_native,
        read_value,
    )
    from foldaway.agents.importers.usage import usage_of

__all__ = [
    "AnswerUsage", "ImportedSession", "Lineage", "Note", "NoteKind", "Relation",
    "bytes_in", "files_in", "message_keys", "read_bytes", "read_file", "read_native",
    "sessions_in", "usual_places",
]  # fmt: skip


__getattr__ = import_later(
    __name__,
    {
        "aider": "CONSOLE_MARK",
        "files": "elements fields text",
        "find": "SUBAGENT_FILE bytes_in files_in sessions_in usual_places",
        "goose": "find_last_compaction read_stored",
        "imported": "AnswerUsage ImportedSession Lineage Note NoteKind PARTIAL Relation "
        "SUBAGENTS message_keys",
        "opencode": "prompt_blocks step_blocks steps_in",
        "pi": "block_of message_of",
        "read": "is_native_value is_one_session read_bytes read_file read_native read_value",
        "usage": "usage_of",
    },
)
