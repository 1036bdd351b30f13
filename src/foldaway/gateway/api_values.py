"""What requests to the REST API hold, and what its answers hold.

Requests are checked against these types, and the OpenAPI description is made from them.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Raw, Struct

from foldaway._core import Report
from foldaway.engine import Comparison, Fate
from foldaway.search import Sort
from foldaway.sessions import AROUND, Hit, SessionRow, ViewRow
from foldaway.stores import Erased, Pin, SessionKind
from foldaway.usage import SessionDetails

MOST_NUMBER: Final = 2**31 - 1
"""The largest number that PostgreSQL compares with a position."""

# What requests hold

Natural = Annotated[int, Meta(ge=0, le=MOST_NUMBER)]
Positive = Annotated[int, Meta(ge=1, le=MOST_NUMBER)]
Amount = Annotated[float, Meta(ge=0, le=MOST_NUMBER)]
Id = Annotated[str, Meta(description="A session: its id, the beginning of it, or the agent's id.")]
Most = Annotated[int, Meta(ge=1, le=500, description="How many of them.")]
Start = Annotated[Natural, Meta(description="Where to begin; `next` of the page before.")]
Redact = Annotated[
    bool, Meta(description="Hide secrets. Without it the gateway must have a token.")
]
Since = Annotated[float | None, Meta(description="Not older; seconds since 1970.")]
Until = Annotated[float | None, Meta(description="Not newer; seconds since 1970.")]
Position = Annotated[Natural, Meta(description="A place in the log, from 0.")]
Focus = Annotated[str, Meta(description="What the summary should focus on.")]
KeepLast = Annotated[
    Positive | None,
    Meta(
        description="How many of the newest exchanges stay; one begins with a message of the user."
    ),
]

TargetTokens = Annotated[
    Positive | None, Meta(description="The size to reach; by default as the settings say.")
]
Before = Annotated[
    Positive | None,
    Meta(description="The number of a view: try it on the session as it stood before that one."),
]
Percent = Annotated[int, Meta(ge=1, le=100)]
MOST_BUDGETS: Final = 20
"""Sizes of one request; a slider has about nine, and each costs as much as a compaction."""


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request holds: in its path, its query or its body."""


class NothingAsked(Asked, frozen=True):
    """A request without parameters."""


class SessionsAsked(Asked, frozen=True):
    """Which sessions."""

    source: Annotated[str, Meta(description="Only of this agent.")] = ""
    kind: Annotated[SessionKind | Literal["any"], Meta(description="Whose.")] = "main"
    text: Annotated[str, Meta(description="Part of the title or of the first request.")] = ""
    since: Since = None
    until: Until = None
    newest: Annotated[bool, Meta(description="Only the newest of each lineage.")] = False
    most: Most = 50
    after: Annotated[str, Meta(description="`next` of the page before.")] = ""


class SessionAsked(Asked, frozen=True):
    """One session."""

    id: Id


class MessagesAsked(Asked, frozen=True):
    """Messages of a log."""

    id: Id
    start: Start = 0
    most: Most = 50
    redact: Redact = True


class ViewAsked(Asked, frozen=True):
    """What the model sees, or saw."""

    id: Id
    number: Annotated[
        Natural | None,
        Meta(description="Of a view; 0 is the log as it is. By default the current one."),
    ] = None
    start: Start = 0
    most: Most = 50
    redact: Redact = True


class StepAsked(Asked, frozen=True):
    """One view of a session."""

    id: Id
    number: Annotated[Positive, Meta(description="Of the view.")]
    redact: Redact = True


class SearchAsked(Asked, frozen=True):
    """What to look for, and among which messages."""

    q: Annotated[str, Meta(min_length=1, description='Words, "phrases", prefix*, -without.')]
    role: Annotated[tuple[str, ...], Meta(description="Only messages of these roles.")] = ()
    source: Annotated[tuple[str, ...], Meta(description="Only of these agents.")] = ()
    tool: Annotated[tuple[str, ...], Meta(description="Only calls of these tools.")] = ()
    session: Annotated[tuple[str, ...], Meta(description="Only in these sessions.")] = ()
    since: Since = None
    until: Until = None
    subagents: Annotated[bool, Meta(description="Also sessions of subagents and tools.")] = False
    sort: Annotated[Sort, Meta(description="What comes first.")] = "relevance"
    most: Annotated[int, Meta(ge=1, le=100, description="How many hits.")] = 10
    skip: Annotated[int, Meta(ge=0, le=900, description="The best to leave out.")] = 0
    around: Annotated[int, Meta(ge=0, le=50, description="Messages beside a hit.")] = AROUND
    redact: Redact = True


class RecallAsked(Asked, frozen=True):
    """A reference."""

    ref: Annotated[str, Meta(description="Such as fa-0123456789.")]
    session: Annotated[str, Meta(description="Only if this session gave it out.")] = ""
    start: Start = 0
    most: Most = 50
    redact: Redact = True


class CompactAsked(Asked, frozen=True):
    """How to compact a session."""

    id: Id
    focus: Focus = ""
    keep_last: KeepLast = None
    target_tokens: TargetTokens = None
    force: Annotated[bool, Meta(description="Also if it is not due.")] = True


class FoldAsked(Asked, frozen=True):
    """Messages with results that the model need not see any more; pinned ones stay."""

    id: Id
    positions: Annotated[tuple[Position, ...], Meta(min_length=1, max_length=500)]


class PreviewAsked(CompactAsked, frozen=True):
    """What compaction to try."""

    before: Before = None


class BudgetsAsked(Asked, frozen=True):
    """To which sizes compactions are tried."""

    id: Id
    budgets: Annotated[
        tuple[Percent, ...],
        Meta(
            min_length=1,
            max_length=MOST_BUDGETS,
            description="Shares of what the model sees, in per cent.",
        ),
    ]
    focus: Focus = ""
    before: Before = None


class PinAsked(Asked, frozen=True):
    """A message that no compaction folds."""

    id: Id
    position: Position
    note: Annotated[str, Meta(description="Why; at most 1,000 characters.")] = ""


class UnpinAsked(Asked, frozen=True):
    """A message that compactions may fold again."""

    id: Id
    position: Position


class ForkAsked(Asked, frozen=True):
    """Where to go another way."""

    id: Id
    at: Annotated[
        Natural | None, Meta(description="How many messages it shares; by default all.")
    ] = None
    title: Annotated[str, Meta(description="By default that of the session, numbered.")] = ""


class DeleteAsked(Asked, frozen=True):
    """One session."""

    id: Annotated[str, Meta(description="The whole id of a session.")]


class RetentionAsked(Asked, frozen=True):
    """Which lineages are too old; what is not given is as the settings say."""

    days: Annotated[
        Amount | None,
        Meta(description="Days without a new message after which a session goes; 0 keeps all."),
    ] = None
    megabytes: Annotated[
        Amount | None, Meta(description="The oldest beyond this size; 0 keeps all.")
    ] = None
    dry_run: Annotated[bool, Meta(description="Only say what would be deleted.")] = False


class ListAsked(Asked, frozen=True):
    """A list of messages to make smaller."""

    messages: Annotated[
        list[Any] | dict[str, Any],
        Meta(description="A list of messages, or a whole request that holds one."),
    ]
    key: Annotated[
        str,
        Meta(
            max_length=200,
            description="Your name for the conversation, the same each time. "
            "Without it nothing is kept.",
        ),
    ] = ""
    model: Annotated[str, Meta(description="Whose window counts.")] = ""
    context_length: Annotated[Positive | None, Meta(description="Its window, in tokens.")] = None
    focus: Focus = ""
    force: Annotated[bool, Meta(description="With a key: also if it is not due.")] = False


# What answers hold


class SessionsPage(Struct, frozen=True):
    """Sessions, the last used first; `next` is "" at the end."""

    sessions: list[SessionRow]
    next: str


class SessionAnswer(Struct, frozen=True, kw_only=True):
    """One session, and all of the same root in order of their start."""

    session: SessionRow
    details: SessionDetails
    lineage: list[SessionRow]


class LoggedMessage(Struct, frozen=True, kw_only=True):
    """One message of a log."""

    position: int
    role: str
    time: float
    tokens: int
    tools: tuple[str, ...]
    generated: bool
    """Whether another agent's compaction wrote it."""
    owner: str
    """The session that it was appended to."""
    message: Raw
    """The payload, in the dialect of the session."""


class MessagesPage(Struct, frozen=True, kw_only=True):
    """Messages of a log; `next` is None at the end."""

    session: str
    dialect: str
    total: int
    messages: list[LoggedMessage]
    next: int | None


class ViewsAnswer(Struct, frozen=True, kw_only=True):
    """All views of a session, those that were undone included; `current` 0 is the log as it is."""

    session: str
    current: int
    views: list[ViewRow]


class WrittenMessage(Struct, frozen=True):
    """A message that the model sees since a compaction, and did not see before."""

    fate: Fate
    """`added`, or `rewritten` if another stood there."""
    message: Raw


class StepAnswer(Struct, frozen=True, kw_only=True):
    """What one compaction did: what the model saw before, and after it."""

    session: str
    view: ViewRow
    report: Report | None
    """None if another version of Foldaway wrote it."""
    comparison: Comparison
    written: list[WrittenMessage]
    """What it wrote: the summary, alone or within a message, and digests."""


class ViewPage(Struct, frozen=True, kw_only=True):
    """What the model sees, in the dialect of the session; `next` is None at the end."""

    session: str
    dialect: str
    view: int
    total: int
    messages: list[Raw]
    next: int | None


class SearchAnswer(Struct, frozen=True):
    """The best hit of each lineage; with `session`, every hit in these sessions."""

    hits: list[Hit]


class RecallPage(Struct, frozen=True, kw_only=True):
    """The originals behind a reference; `next` is None at the end."""

    ref: str
    session: str
    positions: tuple[int, int]
    """The first, and one past the last."""
    messages: list[LoggedMessage]
    next: int | None


class CompactAnswer(Struct, frozen=True, kw_only=True):
    """What a compaction did; another session if it goes on in a child."""

    session: str
    previous: str
    view: int
    report: Report


class PreviewAnswer(Struct, frozen=True, kw_only=True):
    """What a compaction would do without a model: nothing was changed, nobody was asked."""

    session: str
    report: Report
    comparison: Comparison
    written: list[WrittenMessage]


class FateRange(Struct, frozen=True, array_like=True):
    """Positions of the log that met the same fate: the first, one past the last, which."""

    start: int
    stop: int
    fate: Fate


class BudgetPreview(Struct, frozen=True, kw_only=True):
    """What a compaction by hand to one size would do."""

    percent: int
    target_tokens: int
    report: Report
    """Without the references, which `preview` with `target_tokens` has."""
    fates: list[FateRange]
    """Of the whole log; what was folded before is folded."""
    summary: str
    """In its frame; empty if nothing is folded."""


class BudgetsAnswer(Struct, frozen=True, kw_only=True):
    """What compactions to several sizes would do, the smallest first; nothing was changed."""

    session: str
    messages: int
    """Of the log."""
    messages_shown: int
    """What the model sees of them."""
    tokens: int
    """Estimated, of what the model sees: the budgets are shares of it."""
    budgets: list[BudgetPreview]


class PinsAnswer(Struct, frozen=True):
    """The pins of a session."""

    session: str
    pins: tuple[Pin, ...]


class DeleteAnswer(Struct, frozen=True, kw_only=True):
    """Sessions that were deleted, or would be; `erased` is None if nothing was."""

    sessions: list[SessionRow]
    messages: int
    """Those that no other session shares."""
    erased: Erased | None


class ListAnswer(Struct, frozen=True, kw_only=True):
    """The list in the same shape, and what was done."""

    messages: Raw
    is_changed: bool
    session: str
    """Its id; empty without a key."""
    report: Report
