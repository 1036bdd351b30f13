"""What the model saw of a session, in tokens by kind, for any view and any length of its log.

It is read from the outline of the log: only the frame and the first few messages are decoded,
because they contain the rules files.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile
from operator import add, sub
from typing import Final, TypeAlias

from foldaway._core import Category, Report
from foldaway.compaction import (
    carried_tokens,
    category,
    fixed_categories,
    message_tokens,
    system_shares,
)
from foldaway.engine import unpack_view
from foldaway.errors import InvalidView
from foldaway.facts import recognize
from foldaway.memory import extract_user_words
from foldaway.sessions import add_frame, decode_rows, frame_of
from foldaway.stores import OutlineRow, SessionInfo, Store, StoredView, TokenSum
from foldaway.transcript import Estimator, Folded, Item, Kept, Message, texts
from foldaway.usage import KINDS, Kind, kind_in_report, kind_of_role

Amounts: TypeAlias = tuple[int, ...]
"""Tokens in the order of `KINDS`."""
NOTHING: Final[Amounts] = (0,) * len(KINDS)

FIRST: Final = 8
"""Messages at the beginning of a log that are decoded: agents put rules files before the first
answer, in one to four messages."""
_FRAMES = 32
"""Frames whose tokens are remembered: a page shows 30 sessions, and most of them share a frame."""
_AROUND: Final[tuple[Kind, ...]] = ("system", "tools", "rules")
_AT: Mapping[Kind, int] = {kind: at for at, kind in enumerate(KINDS)}


def kind_of(row: OutlineRow) -> Kind:
    """Return the kind that a message of a log counts under, as far as its outline tells."""
    return kind_of_role(row.role, has_tools=bool(row.tools), is_generated=row.generated)


def sum_amounts(sums: Iterable[TokenSum]) -> Amounts:
    """Return sums of messages by kind."""
    found: dict[Kind, int] = {}
    for one in sums:
        kind = kind_of_role(one.role, has_tools=one.has_tools, is_generated=one.generated)
        found[kind] = found.get(kind, 0) + one.tokens
    return amounts(found)


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
                else count_written(item),
            )
        return found


def count_written(item: Item) -> Amounts:
    """Return the tokens of the messages that a view has in place of those of the log."""
    if isinstance(item, Kept):
        return NOTHING
    found: dict[Kind, int] = {}
    counter = Estimator()
    for message in item.messages if isinstance(item, Folded) else (item.message,):
        carried = carried_tokens(message, counter)
        kind = kind_in_report(category(message))
        found[kind] = found.get(kind, 0) + message_tokens(message, counter) - carried
        found["summary"] = found.get("summary", 0) + carried
    return amounts(found)


def category_amounts(categories: Iterable[Category]) -> Amounts:
    """Return the tokens after a compaction that its report has by category."""
    found: dict[Kind, int] = {}
    for one in categories:
        kind = kind_in_report(one.name)
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
    """Return the tokens of the messages before the first answer, by position. Rules files that an
    agent puts there are not counted as words of the user. `rows` begin at position 0.
    """
    head = list(takewhile(lambda row: row.role != "assistant" and not row.generated, rows[:FIRST]))
    if not head or not info.dialect or head[0].position:
        return {}
    messages = recognize(decode_rows(store.read(info.id, 0, len(head)), info.dialect))
    return {
        row.position: _first(message, row) for row, message in zip(head, messages, strict=False)
    }


def _first(message: Message, row: OutlineRow) -> Amounts:
    kind = kind_in_report(category(message))
    if kind not in ("system", "user"):
        return amounts({kind: row.tokens})
    text = "\n".join(texts(message))
    found: dict[Kind, int] = {}
    for name, tokens in system_shares(text, row.tokens).items():
        of = kind_in_report(name)
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
    info = SessionInfo(
        id="", profile="", root_id="", dialect=dialect, started=0, updated=0, frame=frame
    )
    counter = Estimator()
    found: dict[Kind, int] = {}
    for one in fixed_categories(add_frame(info), counter):
        kind = kind_in_report(one.name, "system")
        found[kind] = found.get(kind, 0) + one.tokens_after
    system = frame_of(info).get("system")
    if isinstance(system, str):  # what a host's hook says, beside or in place of a field
        for name, tokens in system_shares(system, counter.count(system)).items():
            kind = kind_in_report(name, "system")
            found[kind] = found.get(kind, 0) + tokens
    return amounts(found)


def scale(estimate: Amounts, fixed: Amounts, total: int) -> Amounts:
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


class ViewAmounts:
    """The tokens of what views show, each read once."""

    def __init__(self, sums: LogSums, views: Sequence[StoredView], dialect: str) -> None:
        """Take the views on a log."""
        self._sums, self._dialect = sums, dialect
        self._packed = {view.number: view for view in views}
        self._bases: dict[int, tuple[Amounts, tuple[Item, ...], int]] = {}

    def measure(self, number: int, position: int) -> Amounts | None:
        """Return the tokens of what a view shows of the log before `position`; None if there is no
        such view.
        """
        if number not in self._packed:
            return None
        base, items, length = self._base(number)
        if position < length:
            return self._sums.items(items, position)
        return plus(base, self._sums.span(length, position))

    def covered(self, number: int) -> Amounts:
        """Return the tokens of what a view shows of the messages that it covers."""
        return self._base(number)[0]

    def _base(self, number: int) -> tuple[Amounts, tuple[Item, ...], int]:
        if number not in self._bases:
            try:
                view = unpack_view(self._packed[number].items, self._dialect)
                made = self._sums.items(view.items, view.length), view.items, view.length
            except InvalidView:  # of another version, or damaged: the log as it is
                made = NOTHING, (), 0
            self._bases[number] = made
        return self._bases[number]


class Context:
    """The tokens of what the model saw, by view and length of the log."""

    def __init__(
        self,
        store: Store,
        info: SessionInfo,
        rows: Sequence[OutlineRow],
        views: Sequence[StoredView],
    ) -> None:
        """Take the outline of the log and the views on it."""
        self.own: list[int] = [
            row.position
            for at, row in enumerate(rows)
            if row.generated and not (at and rows[at - 1].generated)
        ]
        """Where the agent's own compactions begin."""
        self._sums = LogSums(rows, first_amounts(store, info, rows))
        lead = takewhile(lambda row: row.role in ("system", "developer"), rows)
        self._lead_stop = sum(1 for _ in lead)
        self._views = ViewAmounts(self._sums, views, info.dialect)
        self._tails: dict[int, int] = {}
        self.fixed = fixed_amounts(info)
        """What stands around the messages."""
        if not any(self.fixed):
            self.fixed = self._amounts_in_report(views)

    def measure_view(self, view: int, position: int) -> Amounts:
        """Return the tokens of the messages that a view shows of the log before `position`."""
        if (seen := self._views.measure(view, position)) is None:
            at = bisect_left(self.own, position) - 1
            if at < 0:
                return self._sums.span(0, position)
            start = self._tails.get(self.own[at], self.own[at])
            lead = self._sums.span(0, self._lead_stop)
            return plus(lead, self._sums.span(start, position))
        return seen

    def keep_tail(self, position: int, tokens: int) -> None:
        """Assume that the agent's last compaction before `position` kept the newest messages
        before its summary, up to this many tokens.
        """
        own = self.own[bisect_left(self.own, position) - 1]
        self._tails.setdefault(own, max(self._sums.start_of(tokens, own), self._lead_stop))

    def _amounts_in_report(self, views: Sequence[StoredView]) -> Amounts:
        """Return what the last compaction was told to stand around the messages."""
        for view in reversed(views):
            if (found := view.told) is not None and found.categories:
                shown = self._views.covered(view.number)
                told = only_around(category_amounts(found.categories))
                return tuple(
                    max(there - in_log, 0) for there, in_log in zip(told, shown, strict=True)
                )
        return NOTHING


def last_report(views: Sequence[StoredView]) -> Report | None:
    """Return the newest report, None if there is none."""
    return next((found for view in reversed(views) if (found := view.told)), None)
