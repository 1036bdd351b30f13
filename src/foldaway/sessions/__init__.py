"""Conversations that outlive their process: taken in, compacted when due, found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.sessions.chat import Chat
    from foldaway.sessions.delegations import Delegated
    from foldaway.sessions.details import SessionRow, ViewRow
    from foldaway.sessions.dropped import Dropped
    from foldaway.sessions.erasing import Erasure, erase_words
    from foldaway.sessions.exporting import add_frame, brief_session, export, transcript_of
    from foldaway.sessions.finding import (
        AROUND,
        Hit,
        ShownMessage,
        discover,
        message_at,
        read,
        recall_from,
        scroll,
    )
    from foldaway.sessions.following import Followed, Insert, Keep, Replace
    from foldaway.sessions.hiding import (
        PLACEHOLDER,
        Show,
        as_it_is,
        redactor_of,
        reveal_text,
        show_json,
    )
    from foldaway.sessions.hooks import (
        Hooks,
        SessionEvent,
        Switched,
        call_hook,
        session_environment,
    )
    from foldaway.sessions.idle import Retention, Tended, compact_idle, expire, find_expired
    from foldaway.sessions.inbox import Inbox, InboxTurn, InboxWorker, waiting_inboxes
    from foldaway.sessions.last_view import LastView
    from foldaway.sessions.library import (
        MARK,
        TOOL_CHARS,
        Library,
        Project,
        beginning,
        date_of,
        name_in_words,
        short_title,
    )
    from foldaway.sessions.lineage import Handed
    from foldaway.sessions.matching import digest
    from foldaway.sessions.place import GivenSettings, SessionOptions, SessionSettings, find_by_key
    from foldaway.sessions.pool import Pool
    from foldaway.sessions.rows import (
        decode_rows,
        frame_of,
        new_message,
        payloads,
        tool_names,
        turn_usage,
        usage_in,
    )
    from foldaway.sessions.session import Session, internals, warm
    from foldaway.sessions.too_long import Refusal, RefusedRequest
    from foldaway.sessions.tools import answer, past_tools

__all__ = [
    "Chat",
    "Delegated",
    "Dropped",
    "Erasure",
    "Followed",
    "Handed",
    "Hooks",
    "Inbox",
    "InboxTurn",
    "InboxWorker",
    "Insert",
    "Keep",
    "Replace",
    "Retention",
    "Session",
    "SessionEvent",
    "SessionOptions",
    "Switched",
    "Tended",
    "compact_idle",
    "erase_words",
    "expire",
    "find_expired",
    "redactor_of",
    "session_environment",
    "waiting_inboxes",
]


__getattr__ = import_later(
    __name__,
    {
        "chat": "Chat",
        "delegations": "Delegated",
        "details": "SessionRow ViewRow",
        "dropped": "Dropped",
        "erasing": "Erasure erase_words",
        "exporting": "add_frame brief_session export transcript_of",
        "finding": "AROUND Hit ShownMessage discover message_at read recall_from scroll",
        "following": "Followed Insert Keep Replace",
        "hiding": "PLACEHOLDER Show as_it_is redactor_of reveal_text show_json",
        "hooks": "Hooks SessionEvent Switched call_hook session_environment",
        "idle": "compact_idle expire find_expired Retention Tended",
        "inbox": "Inbox InboxTurn InboxWorker waiting_inboxes",
        "last_view": "LastView",
        "library": "beginning date_of Library MARK name_in_words Project short_title TOOL_CHARS",
        "lineage": "Handed",
        "matching": "digest",
        "place": "GivenSettings SessionOptions SessionSettings find_by_key",
        "pool": "Pool",
        "rows": "decode_rows frame_of new_message payloads tool_names turn_usage usage_in",
        "session": "Session internals warm",
        "too_long": "Refusal RefusedRequest",
        "tools": "answer past_tools",
    },
)
