"""What is looked for and what is found, as values. A store fills and reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

TermKind: TypeAlias = Literal["word", "prefix", "phrase", "substring"]
"""How a term is found: by its stem; as the beginning of a word; as words side by side or as
characters side by side; as characters only. All of them letter case aside."""

Sort: TypeAlias = Literal["relevance", "newest", "oldest"]
HIDDEN = "\ua66e"
"""What stands for a placeholder where words are looked for: a letter, so that what touches it is no
word of its own and what it parts is not side by side. It is in no alphabet."""


class Term(Struct, frozen=True, kw_only=True, gc=False):
    """One thing that a message must hold."""

    kind: TermKind
    text: str
    """As it was typed, without quotes and operators; never empty, no NUL, no lone surrogate."""
    words: tuple[str, ...] = ()
    """The words that it falls into, in small letters; none if it is punctuation alone."""
    quoted: bool = False
    """Whether it stood in quotes; then every hit has it."""
    small: bool = False
    """Whether it is a small word such as `the` or `when`, which says nothing by itself."""


class Filters(Struct, frozen=True, kw_only=True):
    """Which messages may be found at all; an empty field asks nothing, except `folders`."""

    roles: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Names of tools that the message calls or answers for."""
    sessions: tuple[str, ...] = ()
    """Ids or beginnings of ids; what a session shares with its parent belongs to it."""
    folders: tuple[str, ...] | None = None
    """Folders that sessions ran in, spelled as `Store.folders` has them. None is any folder or
    none; an empty tuple finds nothing."""
    since: float | None = None
    """Seconds since 1970, this one included."""
    until: float | None = None
    """Seconds since 1970, this one not included."""


class Query(Struct, frozen=True, kw_only=True):
    """A query as it was read; at most 32 terms."""

    text: str = ""
    terms: tuple[Term, ...] = ()
    without: tuple[Term, ...] = ()
    """What no hit may hold."""
    filters: Filters = Filters()
    """Those that were typed into the query."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What a store is asked for: a query and all that narrows it. Both filters hold."""

    query: Query
    filters: Filters = Filters()
    kinds: tuple[str, ...] = ("main",)
    """Kinds of sessions; empty is any."""
    without_roots: tuple[str, ...] = ()
    """Root ids of lineages that are left out: the one that is talking."""
    without_places: tuple[tuple[str, int, int], ...] = ()
    """Messages that are left out: the session that owns them, the first and one past the last."""
    generated: bool = False
    """Whether what another agent's compaction wrote is found too."""
    sort: Sort = "relevance"
    recency: float = 0.1
    """How much being new weighs against the words, 0 to 1."""
    lineages: bool = False
    """Whether only the best message of each lineage is found."""


class Match(Struct, frozen=True, kw_only=True):
    """A message that was found."""

    session_id: str
    """The session that it was appended to; a child may share it."""
    root_id: str
    position: int
    role: str
    time: float
    score: float
    """Larger is better; comparable within one search only."""
    text: str
    """The text that a search sees, for the snippet; as it is shown, if secrets are hidden."""
    more: int = 0
    """Further hits in the same lineage, if only its best message is found."""


class Written(Struct, frozen=True, gc=False):
    """A message as it was stored."""

    dialect: str
    body: bytes
    text: str
    """The text that a search sees."""
    calls: bool = False
    """Whether it calls tools."""


class Revealed(Struct, frozen=True, gc=False):
    """A text as it is shown. `words` is what it can be found by: the same without placeholders."""

    text: str
    words: str


Reveal: TypeAlias = Callable[[Written], Revealed]
"""What a message becomes before it is shown: where secrets are hidden, it is found only by the
rest."""
