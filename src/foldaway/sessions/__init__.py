"""Conversations that outlive their process: taken in, compacted when due, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.sessions.answers import TOOL_CHARS, beginning, date_of
    from foldaway.sessions.briefs import stored_brief
    from foldaway.sessions.chat import Chat
    from foldaway.sessions.delegations import Delegated
    from foldaway.sessions.details import (
        RequestRow,
        RequestTotals,
        SessionDetails,
        SessionRow,
        ViewRow,
        recorded_usage,
        request_rows,
        request_totals,
        session_details,
        session_row,
        view_rows,
    )
    from foldaway.sessions.erasing import Erasure, Proof, Tell, erase_words
    from foldaway.sessions.events import SessionEvent
    from foldaway.sessions.exporting import Exported, export, framed, transcript_of
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
    from foldaway.sessions.handing import Handed
    from foldaway.sessions.hooks import Hooks, Switched, session_environment, told
    from foldaway.sessions.importing import Taken, take_all
    from foldaway.sessions.last_view import LastView, unpack_last_view
    from foldaway.sessions.leaving import Project, project_at, project_of
    from foldaway.sessions.library import Library, name_in_words
    from foldaway.sessions.life import Tended, compact_idle, expire
    from foldaway.sessions.markdown import show_controls
    from foldaway.sessions.matching import digest, same_start
    from foldaway.sessions.options import SessionOptions
    from foldaway.sessions.pool import Pool
    from foldaway.sessions.retention import Expiring, Retention, find_expired, keep_limits
    from foldaway.sessions.rows import (
        decoded,
        frame_of,
        new_message,
        payloads,
        tool_names,
        turn_usage,
        usage_in,
    )
    from foldaway.sessions.salvaging import salvage
    from foldaway.sessions.session import SMALLER, Session, warm
    from foldaway.sessions.showing import (
        PLACEHOLDER,
        Show,
        as_it_is,
        redactor_of,
        show_json,
        shown_text,
    )
    from foldaway.sessions.standing import find_by_key
    from foldaway.sessions.too_long import (
        Refusal,
        RefusedRequest,
        find_telling,
        refusal_in,
        refusal_of,
    )
    from foldaway.sessions.tools import MARK, TOOLS, answer
    from foldaway.sessions.trying import engine_before
    from foldaway.sessions.turns import Inbox, InboxTurn, InboxWorker, waiting_inboxes

__all__ = [
    "Delegated", "Erasure", "Followed", "Handed", "Hooks", "Inbox", "InboxTurn", "InboxWorker",
    "Insert", "Keep", "Replace", "Retention", "Session", "SessionEvent", "Switched", "Tended",
    "compact_idle", "erase_words", "expire", "find_expired", "redactor_of", "session_environment",
    "waiting_inboxes",
]  # fmt: skip


__getattr__ = import_later(
    __name__,
    {
        "answers": "TOOL_CHARS beginning date_of",
        "briefs": "stored_brief",
        "chat": "Chat",
        "delegations": "Delegated",
        "details": "RequestRow RequestTotals SessionDetails SessionRow ViewRow recorded_usage "
        "request_rows request_totals session_details session_row view_rows",
        "erasing": "Erasure Proof Tell erase_words",
        "events": "SessionEvent",
        "exporting": "Exported export framed transcript_of",
        "finding": "AROUND Hit SessionReading ShownMessage discover message_at read recall_from "
        "scroll",
        "following": "Edit Followed Insert Keep Replace",
        "handing": "Handed",
        "hooks": "Hooks Switched session_environment told",
        "importing": "Taken take_all",
        "last_view": "LastView unpack_last_view",
        "leaving": "Project project_at project_of",
        "library": "Library name_in_words",
        "life": "Tended compact_idle expire",
        "markdown": "show_controls",
        "matching": "digest same_start",
        "options": "SessionOptions",
        "pool": "Pool",
        "retention": "Expiring Retention find_expired keep_limits",
        "rows": "decoded frame_of new_message payloads tool_names turn_usage usage_in",
        "salvaging": "salvage",
        "session": "SMALLER Session warm",
        "showing": "PLACEHOLDER Show as_it_is redactor_of show_json shown_text",
        "standing": "find_by_key",
        "too_long": "Refusal RefusedRequest find_telling refusal_in refusal_of",
        "tools": "MARK TOOLS answer",
        "trying": "engine_before",
        "turns": "Inbox InboxTurn InboxWorker waiting_inboxes",
    },
)
