"""Conversations that outlive their process: taken in, compacted when due, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.sessions.briefs import brief_session
    from foldaway.sessions.changes import SMALLER
    from foldaway.sessions.chat import Chat
    from foldaway.sessions.delegations import Delegated
    from foldaway.sessions.details import (
        SessionRow,
        ViewRow,
        session_row,
        view_rows,
    )
    from foldaway.sessions.erasing import Erasure, Proof, Tell, erase_words
    from foldaway.sessions.events import SessionEvent
    from foldaway.sessions.exporting import Exported, add_frame, export, transcript_of
    from foldaway.sessions.finding import (
        AROUND,
        Hit,
        SessionReading,
        ShownMessage,
        discover,
        message_at,
        read,
        recall_from,
        scroll,
    )
    from foldaway.sessions.following import Edit, Followed, Insert, Keep, Replace
    from foldaway.sessions.hiding import (
        PLACEHOLDER,
        Show,
        as_it_is,
        redactor_of,
        reveal_text,
        show_json,
    )
    from foldaway.sessions.hooks import Hooks, Switched, call_hook, session_environment
    from foldaway.sessions.idle import Tended, compact_idle, expire
    from foldaway.sessions.importing import Taken, take_all
    from foldaway.sessions.inbox import Inbox, InboxTurn, InboxWorker, waiting_inboxes
    from foldaway.sessions.last_view import LastView, unpack_last_view
    from foldaway.sessions.library import Library, name_in_words
    from foldaway.sessions.markdown import show_controls
    from foldaway.sessions.matching import count_same, digest
    from foldaway.sessions.options import SessionOptions
    from foldaway.sessions.place import find_by_key
    from foldaway.sessions.pool import Pool
    from foldaway.sessions.project import Project, project_at, project_of
    from foldaway.sessions.retention import Expiring, Retention, find_expired, keep_limits
    from foldaway.sessions.rows import (
        decode_rows,
        frame_of,
        new_message,
        payloads,
        tool_names,
        turn_usage,
        usage_in,
    )
    from foldaway.sessions.salvaging import salvage
    from foldaway.sessions.session import Session, warm
    from foldaway.sessions.task_context import Handed
    from foldaway.sessions.too_long import (
        Refusal,
        RefusedRequest,
        find_telling,
        refusal_in,
        refusal_of,
    )
    from foldaway.sessions.tool_rows import TOOL_CHARS, beginning, date_of
    from foldaway.sessions.tools import MARK, TOOLS, answer

__all__ = [
    "Delegated", "Erasure", "Followed", "Handed", "Hooks", "Inbox", "InboxTurn", "InboxWorker",
    "Insert", "Keep", "Replace", "Retention", "Session", "SessionEvent", "Switched", "Tended",
    "compact_idle", "erase_words", "expire", "find_expired", "redactor_of", "session_environment",
    "waiting_inboxes",
]  # fmt: skip


__getattr__ = import_later(
    __name__,
    {
        "briefs": "brief_session",
        "changes": "SMALLER",
        "chat": "Chat",
        "delegations": "Delegated",
        "details": "SessionRow ViewRow session_row view_rows",
        "erasing": "Erasure Proof Tell erase_words",
        "events": "SessionEvent",
        "exporting": "Exported export add_frame transcript_of",
        "finding": "AROUND Hit SessionReading ShownMessage discover message_at read recall_from "
        "scroll",
        "following": "Edit Followed Insert Keep Replace",
        "hiding": "PLACEHOLDER Show as_it_is redactor_of show_json reveal_text",
        "hooks": "Hooks Switched call_hook session_environment",
        "idle": "Tended compact_idle expire",
        "importing": "Taken take_all",
        "inbox": "Inbox InboxTurn InboxWorker waiting_inboxes",
        "last_view": "LastView unpack_last_view",
        "library": "Library name_in_words",
        "markdown": "show_controls",
        "matching": "digest count_same",
        "options": "SessionOptions",
        "place": "find_by_key",
        "pool": "Pool",
        "project": "Project project_at project_of",
        "retention": "Expiring Retention find_expired keep_limits",
        "rows": "decode_rows frame_of new_message payloads tool_names turn_usage usage_in",
        "salvaging": "salvage",
        "session": "Session warm",
        "task_context": "Handed",
        "too_long": "Refusal RefusedRequest find_telling refusal_in refusal_of",
        "tool_rows": "TOOL_CHARS beginning date_of",
        "tools": "MARK TOOLS answer",
    },
)
