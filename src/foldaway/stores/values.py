"""What a store keeps and gives, as values. Positions are places in a session's log, from 0."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import DecodeError, Raw, Struct, json

from foldaway._core import Reference, Report, SettingsStruct
from foldaway.caching import RequestUsage
from foldaway.search import Written

Descent: TypeAlias = Literal["", "compression", "branch", "delegation", "reset"]
"""Why a session has a parent: `compression` goes on after it was compacted; `branch` goes another
way from one of its messages; `delegation` is a subagent's; `reset` begins again in its place."""

SessionKind: TypeAlias = Literal["main", "subagent", "tool"]
"""Who talks: a person, or another agent or a tool; the latter are found only on request."""

ViewReason: TypeAlias = Literal["compaction", "undo", "rotation", "import", "erasure"]


class NewSession(SettingsStruct, frozen=True, kw_only=True):
    """A session to be made. An empty `id` is filled in: the time and random digits."""

    id: str = ""
    dialect: str = ""
    """That of its messages; empty until the first of them tell."""
    title: str = ""
    goal: str = ""
    model: str = ""
    source: str = ""
    """Its origin: the agent that wrote it, or the host's own name."""
    source_id: str = ""
    """The id that the source gave it, or one made from its file; unique within a source."""
    kind: SessionKind = "main"
    cwd: str = ""
    started: float | None = None
    """When it began, in seconds since 1970; None is now, by the clock of the database."""
    frame: bytes = b""
    """What is outside the message list, as JSON: system text, tools."""
    mode: Literal["in-place", "rotate"] = "in-place"


class SessionInfo(Struct, frozen=True, kw_only=True):
    """One session as it stands."""

    id: str
    profile: str
    parent_id: str = ""
    root_id: str
    descent: Descent = ""
    forked_at: int = 0
    """How many messages it shares with its parent."""
    dialect: str
    title: str = ""
    goal: str = ""
    model: str = ""
    source: str = ""
    source_id: str = ""
    kind: SessionKind = "main"
    cwd: str = ""
    mode: Literal["in-place", "rotate"] = "in-place"
    started: float
    updated: float
    """When it was last appended to; a compaction does not count."""
    ended: float | None = None
    end_reason: str = ""
    length: int = 0
    """Messages in the log, those shared with the parent included."""
    view: int = 0
    """The number of the current view; 0 shows the log as it is."""
    compactions: int = 0
    tokens: int = 0
    """Estimated tokens of the log."""
    frame: bytes = b""
    first_ask: str = ""
    """The beginning of the first words of the user, for lists; at most 200 characters."""
    requests: int | None = 0
    """Of it and of its subagents, as they were counted last; None while they are to be counted."""
    used_tokens: int = 0
    """That these requests sent, and that were answered."""
    cost: float = 0.0
    """Of these requests, in dollars."""
    unpriced: int = 0
    """Requests whose price nobody knows; they are not in the cost."""

    def branch(self, title: str = "") -> NewSession:
        """Return what a branch of it is made from; a store fills in what it leaves out."""
        return NewSession(
            dialect=self.dialect, title=title, source=self.source, kind=self.kind, mode=self.mode
        )


class NewMessage(Struct, frozen=True, kw_only=True):
    """A message to be appended."""

    body: bytes | Raw
    """Its payload as JSON; it comes back byte for byte."""
    role: str
    text: str = ""
    """What a search finds it by."""
    tools: tuple[str, ...] = ()
    """Names of the tools that it calls or answers for."""
    time: float | None = None
    """When it was written; None is now, by the clock of the database."""
    key: str = ""
    """Unique within the session if it is not empty: a second append of it is passed over."""
    tokens: int = 0
    generated: bool = False
    """Whether another agent's compaction wrote it, not a person, model or tool."""


class StoredMessage(Struct, frozen=True, kw_only=True):
    """A message of a log."""

    position: int
    body: bytes
    role: str
    tools: tuple[str, ...] = ()
    time: float
    key: str = ""
    tokens: int = 0
    generated: bool = False
    owner_id: str = ""
    """The session that it was appended to: an ancestor where the log is shared."""


class OutlineRow(Struct, frozen=True, gc=False):
    """A message of a log without its body."""

    position: int
    role: str
    tools: tuple[str, ...]
    time: float
    tokens: int
    generated: bool
    """Whether another agent's compaction wrote it."""
    owner_id: str
    """The session that it was appended to: an ancestor if the log is shared."""


class TokenSum(Struct, frozen=True, gc=False):
    """The tokens of messages of one role."""

    role: str
    has_tools: bool
    """Whether they call tools or answer for them."""
    generated: bool
    tokens: int


class Stretch(Struct, frozen=True, gc=False):
    """Messages of a log from `start` up to `stop`, or to its end."""

    session_id: str
    start: int
    stop: int | None = None


class Line(Struct, frozen=True, kw_only=True):
    """A message as far as a list shows it."""

    position: int
    role: str
    tools: tuple[str, ...] = ()
    time: float
    generated: bool = False
    written: Written


class NewView(Struct, frozen=True, kw_only=True):
    """What the model sees from now on, ready to be swapped in."""

    items: bytes
    """The items of the view, packed; opaque to the store."""
    length: int
    """How much of the log they cover; what came after is kept."""
    state: bytes = b""
    """The compaction state that goes with it; opaque to the store."""
    report: bytes = b""
    references: tuple[Reference, ...] = ()
    """Those that this compaction gave out for the first time."""
    reason: ViewReason = "compaction"


class StoredView(Struct, frozen=True, kw_only=True):
    """One view of a session; `previous` is the one that an undo goes back to."""

    number: int
    previous: int
    created: float
    reason: ViewReason
    length: int
    items: bytes
    state: bytes = b""
    report: bytes = b""

    @property
    def told(self) -> Report | None:
        """What its compaction reported; None if there was none, or of another version."""
        try:
            return json.decode(self.report, type=Report)
        except DecodeError:
            return None


class Place(Struct, frozen=True, gc=False):
    """Where a reference leads: a range of a session's log."""

    session_id: str
    reference: Reference


class Pin(Struct, frozen=True, gc=False):
    """A message that no compaction folds."""

    position: int
    note: str = ""


class TurnUsage(RequestUsage, frozen=True, kw_only=True, gc=False):
    """What the provider counted for one request of a session."""

    view: int = 0
    """The number of the view that was sent."""


class Lease(Struct, frozen=True, gc=False):
    """The right to compact a session, until it expires by the clock of the database."""

    session_id: str
    fence: int
    """Grows with every lease of the session; a commit with an older one is refused."""
    holder: str
    """Host, process, thread and a nonce, readable by a person."""
    ttl: float


class Held(Struct, frozen=True, gc=False):
    """Somebody else has the lease."""

    holder: str
    expires_in: float
    """Seconds."""


SessionOrder: TypeAlias = Literal[
    "updated", "cost", "used_tokens", "compactions", "cwd", "model", "source"
]
"""What a list is sorted by: names from the first letter on, all else with the most first."""
NAMES_FIRST: Final = ("cwd", "model", "source")


class SessionFilter(Struct, frozen=True, kw_only=True):
    """Which sessions; an empty field asks nothing."""

    source: str = ""
    kind: SessionKind | Literal["any"] = "main"
    since: float | None = None
    until: float | None = None
    root_id: str = ""
    text: str = ""
    """Part of the title or of the first ask, letter case aside."""
    only_leaves: bool = False
    """Only the newest of each lineage."""
    folders: tuple[str, ...] | None = None
    """As in the `Filters` of a search: None is any folder, an empty tuple finds nothing."""
    model: str = ""


class Page(Struct, frozen=True):
    """Some sessions, the newest first, and where the next page begins ("" at the end)."""

    sessions: tuple[SessionInfo, ...]
    next: str = ""


class LineageSize(Struct, frozen=True):
    """Sessions of one root, and what they take."""

    ids: tuple[str, ...]
    updated: float
    """When one of them was last appended to."""
    bytes: int
    """Its share of what the store takes on disk."""
    folders: tuple[str, ...]
    """The folders that they ran in, "" if unknown."""


class Erased(Struct, frozen=True, kw_only=True, gc=False):
    """What is really gone."""

    sessions: int = 0
    messages: int = 0
    bodies: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    kept_for: tuple[str, ...] = ()
    """Sessions that still share messages of an erased one; these messages stay with them."""


class Health(Struct, frozen=True, kw_only=True):
    """What `doctor` shows of a store."""

    backend: str
    version: str
    """Of the database."""
    where: str
    """The file, or the server without its password."""
    schema: int
    written_by: str = ""
    """Which version of the program made the store, and which ones brought it up to date."""
    sessions: int
    messages: int
    text_bytes: int
    stored_bytes: int
    unindexed: int = 0
    """Messages whose substring index is not complete yet."""
    problems: tuple[str, ...] = ()
    """What an integrity check found; empty if all is well."""
