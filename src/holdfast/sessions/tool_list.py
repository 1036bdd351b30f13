"""The tools of an agent as a model sees them: when to use each, what it takes, what it says."""

from __future__ import annotations

from typing import Any, Final, get_args

from msgspec import Struct

from holdfast.importers.imported import Agent
from holdfast.sessions.answers import LEAST_TOKENS, MARK, MOST_TOKENS, TOKENS
from holdfast.sessions.finding import AROUND
from holdfast.sessions.leaving import SPEAKERS
from holdfast.stores.views import NOTE_CHARS

MOST_HITS: Final = 20
"""Of one search; as many as the command line and a page of recent sessions show."""


def _tool(
    name: str,
    description: str,
    required: tuple[str, ...] = (),
    *,
    reads: bool = True,
    **fields: Any,
) -> SessionTool:
    parameters = {"type": "object", "properties": fields, "required": list(required)}
    return SessionTool(name, f"{description} {MARK}", parameters, reads)


class SessionTool(Struct, frozen=True):
    """A tool as a model sees it; constant, so that it never breaks a cached prefix."""

    name: str
    description: str
    parameters: dict[str, Any]
    reads: bool = True
    """Whether it changes nothing."""

    def schema(self) -> dict[str, Any]:
        """Return the tool in the form of the engines' contract."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }


_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_SESSION = {**_TEXT, "description": "The id of a session, or its beginning."}
_MAX_TOKENS = {
    **_NUMBER, "minimum": LEAST_TOKENS, "maximum": MOST_TOKENS,
    "description": f"How long the answer may be; {TOKENS:,} if not given, at most {MOST_TOKENS:,}.",
}  # fmt: skip

TOOLS: tuple[SessionTool, ...] = (
    _tool(
        "holdfast_sessions_search",
        "Search past sessions, also what compactions folded. Use it when the user refers to "
        "earlier work (\"last week\", \"as we decided\", \"that error again\"), or before you redo "
        "or ask for something that may have come up before. A query may hold words, \"phrases\", "
        "prefix*, file names and codes as they are, -without. The answer has `hits`, the best one "
        "of each session: session, title, time, position, role, `text` around the words found, "
        "and messages `around` it. With `session`, the hits within that session.",
        ("query",),
        query={**_TEXT, "description": "What to look for; a question will do."},
        role={**_TEXT, "enum": list(SPEAKERS), "description": "Only messages of this role."},
        source={**_TEXT, "enum": list(get_args(Agent)),
                "description": "Only sessions of this agent, or of plain files in this format."},
        tool={**_TEXT, "description": "Only calls of this tool and its results."},
        since={**_TEXT, "description": "Only what is not older: 2026-01-31, or with a time."},
        until={**_TEXT, "description": "Only what is not newer, the day itself included."},
        session=_SESSION,
        sort={**_TEXT, "enum": ["relevance", "newest", "oldest"]},
        most={**_NUMBER, "minimum": 1, "maximum": MOST_HITS,
              "description": f"How many hits; 5 if not given, at most {MOST_HITS}."},
        subagents={"type": "boolean", "description": "Also sessions of subagents and tools."},
        max_tokens=_MAX_TOKENS,
    ),
    _tool(
        "holdfast_sessions_read",
        "Read a past session. Use it after a search, to read on around a hit, or without "
        "`session` to list recent sessions when the user asks what was done lately. With `around` "
        "the answer has `rows`, the messages around that position, and that one in full; "
        "`earlier` and `later` are the next values for `around`. Without, it has the `first` and "
        "the `last` messages.",
        session=_SESSION,
        around={**_NUMBER, "minimum": 0,
                "description": f"The position to show, with {AROUND} messages either side."},
        max_tokens=_MAX_TOKENS,
    ),
    _tool(
        "holdfast_sessions_recall",
        "Return the original messages behind a reference such as hf-0123456789. Use it when a "
        "summary or digest names a reference and you need exactly what was there. The answer has "
        "`originals`, the messages as JSON; if it has `next`, call again with that as `offset`.",
        ("ref",),
        ref={**_TEXT, "description": "The reference."},
        offset={**_NUMBER, "minimum": 0, "description": "`next` of the answer before."},
        max_tokens=_MAX_TOKENS,
    ),
    _tool(
        "holdfast_sessions_status",
        "Say how many past sessions are offered and, with `session`, how long a session is, what "
        "it is about and what is pinned in it. Use it when a search finds nothing that should be "
        "there.",
        session=_SESSION,
    ),
    _tool(
        "holdfast_sessions_pin",
        "Keep one message of a session as it is through every compaction, or let it go again. Use "
        "it when the user asks that something is never summarized away. The answer has the `pins` "
        "of the session.",
        ("session", "position"),
        reads=False,
        session=_SESSION,
        position={**_NUMBER, "minimum": 0},
        note={**_TEXT, "maxLength": NOTE_CHARS, "description": "Why."},
        unpin={"type": "boolean", "description": "Let it go again."},
    ),
)  # fmt: skip
