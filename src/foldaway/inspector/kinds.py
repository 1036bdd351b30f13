"""What a prompt is made of, by kind, from the outline of a log: no body of it is unpacked.

Only the frame and the first few messages are decoded, because rules files stand there.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile
from operator import add, sub
from typing import Final, Literal, TypeAlias

from foldaway._core import Category
from foldaway.compaction import (
    carried_tokens,
    category,
    fixed_categories,
    message_tokens,
    system_shares,
)
from foldaway.facts import recognize
from foldaway.memory import extract_user_words
from foldaway.sessions import decoded, frame_of, framed
from foldaway.stores import OutlineRow, SessionInfo, Store, TokenSum
from foldaway.tokens import Estimator
from foldaway.transcript import Folded, Item, Kept, Message, texts

Kind: TypeAlias = Literal[
    "unrecorded", "system", "tools", "rules", "summary", "user", "agent", "results"
]
"""`unrecorded` is what the provider counted and no record holds: system prompt and tools of an
agent that does not write them down, or what came before a session that is a part."""
KINDS: Final[tuple[Kind, ...]] = (
    "unrecorded", "system", "tools", "rules", "summary", "user", "agent", "results",
)  # fmt: skip
KIND_NAMES: Final[Mapping[str, str]] = {
    "unrecorded": "not recorded by the agent", "system": "system prompt",
    "tools": "tool definitions", "rules": "rules files", "summary": "summary",
    "user": "your words", "agent": "the agent's words and calls", "results": "tool results",
    "free": "free",
}  # fmt: skip
"""What pages call the kinds; `free` is the rest of a window."""
Amounts: TypeAlias = tuple[int, ...]
"""Tokens in the order of `KINDS`."""
NOTHING: Final[Amounts] = (0,) * len(KINDS)

FIRST: Final = 8
"""Messages at the beginning of a log that are decoded: agents put rules files before the first
answer, in one to four messages."""
_FRAMES = 32
"""Frames whose tokens are remembered: a page shows 30 sessions, and most of them share a frame."""
_OF_CATEGORY: Mapping[str, Kind] = {
    "system prompt": "system",
    "skills": "system",
    "memory": "rules",
    "rules files": "rules",
    "tools": "tools",
    "MCP tools": "tools",
    "subagents": "tools",
    "summary": "summary",
    "agent": "agent",
    "tool results": "results",
}
"""Kinds of the categories of a compaction; any other one is talk of the user."""
_OF_ROLE: Mapping[str, Kind] = {
    "system": "system",
    "developer": "system",
    "assistant": "agent",
    "tool": "results",
}
_AROUND: Final[tuple[Kind, ...]] = ("system", "tools", "rules")
_AT: Mapping[Kind, int] = {kind: at for at, kind in enumerate(KINDS)}


def kind_of(row: OutlineRow) -> Kind:
    """Return the kind that a message of a log counts under, as far as its outline tells."""
    return _kind(row.role, bool(row.tools), row.generated)


def sum_amounts(sums: Iterable[TokenSum]) -> Amounts:
    """Return sums of messages by kind."""
    found: dict[Kind, int] = {}
    for one in sums:
        kind = _kind(one.role, one.has_tools, one.generated)
        found[kind] = found.get(kind, 0) + one.tokens
    return amounts(found)


def _kind(role: str, has_tools: bool, generated: bool) -> Kind:
    if generated:
        return "summary"
    return "results" if has_tools and role == "user" else _OF_ROLE.get(role, "user")


def amounts(found: Mapping[Kind, int]) -> Amounts:
    """Return tokens in the order of `KINDS`."""
    return tuple(found.get(kind, 0) for kind in KINDS)


def plus(one: Sequence[int], other: Sequence[int]) -> Amounts:
    """Return two amounts together."""
    return tuple(map(add, one, other))


class LogSums:
    """The tokens of any range of a log by kind, in constant time."""

    __slots__ = ("_sums", "_totals", "length")

    def __init__(self, rows: Sequence[OutlineRow], first: Mapping[int, Amounts]) -> None:
        """Take the outline of a whole log; `first` are the amounts of messages that were decoded,
        by position.
        """
        self.length = len(rows)
        grown = [array("q", bytes(8 * (len(rows) + 1))) for _ in KINDS]
        for row in rows:
            if row.position in first:
                for tokens, column in zip(first[row.position], grown, strict=True):
                    column[row.position + 1] = tokens
            else:
                grown[_AT[kind_of(row)]][row.position + 1] = row.tokens
        self._sums = [array("q", accumulate(column)) for column in grown]
        self._totals = array("q", map(sum, zip(*self._sums, strict=True)))

    def span(self, start: int, stop: int) -> Amounts:
        """Return the tokens of the messages from `start` up to `stop`."""
        if stop > self.length:
            start, stop = min(start, self.length), self.length
        return tuple([column[stop] - column[start] for column in self._sums])

    def start_of(self, tokens: int, stop: int) -> int:
        """Return where the newest messages before `stop` begin that have at most `tokens`."""
        stop = min(stop, self.length)
        return min(bisect_left(self._totals, self._totals[stop] - tokens), stop)

    def items(self, items: Iterable[Item], stop: int) -> Amounts:
        """Return the tokens of what items of a view show of the log before `stop`."""
        found = NOTHING
        for item in items:
            if item.start >= stop:
                break
            found = plus(
                found,
                self.span(item.start, min(item.stop, stop))
                if isinstance(item, Kept)
                else written(item),
            )
        return found


def written(item: Item) -> Amounts:
    """Return the tokens of the messages that a view has in place of those of the log."""
    if isinstance(item, Kept):
        return NOTHING
    found: dict[Kind, int] = {}
    counter = Estimator()
    for message in item.messages if isinstance(item, Folded) else (item.message,):
        carried = carried_tokens(message, counter)
        kind: Kind = _OF_CATEGORY.get(category(message), "user")
        found[kind] = found.get(kind, 0) + message_tokens(message, counter) - carried
        found["summary"] = found.get("summary", 0) + carried
    return amounts(found)


def category_amounts(categories: Iterable[Category]) -> Amounts:
    """Return the tokens after a compaction that its report has by category."""
    found: dict[Kind, int] = {}
    for one in categories:
        kind: Kind = _OF_CATEGORY.get(one.name, "user")
        found[kind] = found.get(kind, 0) + one.tokens_after
    return amounts(found)


def only_around(found: Amounts) -> Amounts:
    """Return the amounts without the kinds that are in messages only."""
    return tuple(
        tokens if kind in _AROUND else 0 for kind, tokens in zip(KINDS, found, strict=True)
    )


def first_amounts(
    store: Store, info: SessionInfo, rows: Sequence[OutlineRow]
) -> dict[int, Amounts]:
    """Return the tokens of the messages before the first answer, by position: rules files that an
    agent puts there are told from the words of the user. `rows` begin at position 0.
    """
    head = list(takewhile(lambda row: row.role != "assistant" and not row.generated, rows[:FIRST]))
    if not head or not info.dialect or head[0].position:
        return {}
    messages = recognize(decoded(store.read(info.id, 0, len(head)), info.dialect))
    return {
        row.position: _first(message, row) for row, message in zip(head, messages, strict=False)
    }


def _first(message: Message, row: OutlineRow) -> Amounts:
    kind: Kind = _OF_CATEGORY.get(category(message), "user")
    if kind not in ("system", "user"):
        return amounts({kind: row.tokens})
    text = "\n".join(texts(message))
    found: dict[Kind, int] = {}
    for name, tokens in system_shares(text, row.tokens).items():
        of: Kind = _OF_CATEGORY.get(name, "user")
        of = of if kind == "system" or of == "rules" else "user"
        found[of] = found.get(of, 0) + tokens
    if kind == "user" and found.get("rules"):
        # what the user wrote about a rules file is no rules file
        most = row.tokens * (len(text) - len(extract_user_words(text))) // max(len(text), 1)
        rules = min(found["rules"], most)
        found = {"rules": rules, "user": row.tokens - rules}
    return amounts(found)


def fixed_amounts(info: SessionInfo) -> Amounts:
    """Return the tokens of what stands around the messages: system prompt, rules files, tools."""
    return _fixed(info.frame, info.dialect) if info.frame else NOTHING


@lru_cache(maxsize=_FRAMES)
def _fixed(frame: bytes, dialect: str) -> Amounts:
    info = SessionInfo(id="", profile="", root_id="", dialect=dialect, started=0, updated=0,
                       frame=frame)  # fmt: skip
    counter = Estimator()
    found: dict[Kind, int] = {}
    for one in fixed_categories(framed(info), counter):
        kind: Kind = _OF_CATEGORY.get(one.name, "system")
        found[kind] = found.get(kind, 0) + one.tokens_after
    system = frame_of(info).get("system")
    if isinstance(system, str):  # what a host's hook says, beside or in place of a field
        for name, tokens in system_shares(system, counter.count(system)).items():
            kind = _OF_CATEGORY.get(name, "system")
            found[kind] = found.get(kind, 0) + tokens
    return amounts(found)


def scaled(estimate: Amounts, fixed: Amounts, total: int) -> Amounts:
    """Return an estimate brought to what the provider counted, to the token.

    What stands around the messages stays as it is if it fits: it does not change from request to
    request. The rest is scaled; if there is no rest, what is missing is `unrecorded`.
    """
    known, whole = sum(fixed), sum(estimate)
    if total < known:
        fixed, known = NOTHING, 0
    rest, to_share = whole - known, total - known
    if not rest:
        return plus(fixed, (to_share, *NOTHING[1:]))
    more = list(map(sub, estimate, fixed))
    shared = [one * to_share // rest for one in more]
    shared[more.index(max(more))] += to_share - sum(shared)
    return plus(fixed, shared)
