"""What the model saw of a session, in tokens, for any view and any length of its log."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import takewhile

import msgspec

from foldaway._core import Report
from foldaway.engine import unpack_view
from foldaway.errors import InvalidView
from foldaway.inspector.kinds import (
    NOTHING,
    Amounts,
    LogSums,
    category_amounts,
    first_amounts,
    fixed_amounts,
    only_around,
    plus,
)
from foldaway.stores import OutlineRow, SessionInfo, Store, StoredView
from foldaway.transcript import Item


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
        self._lead = self._sums.span(0, self._lead_stop)
        self._packed: Mapping[int, StoredView] = {view.number: view for view in views}
        self._dialect = info.dialect
        self._bases: dict[int, tuple[Amounts, tuple[Item, ...], int]] = {}
        self._tails: dict[int, int] = {}
        self.fixed = fixed_amounts(info)
        """What stands around the messages."""
        if not any(self.fixed):
            self.fixed = self._reported(views)

    def shown(self, view: int, position: int) -> Amounts:
        """Return the tokens of the messages that a view shows of the log before `position`."""
        if view not in self._packed:
            at = bisect_left(self.own, position) - 1
            if at < 0:
                return self._sums.span(0, position)
            start = self._tails.get(self.own[at], self.own[at])
            return plus(self._lead, self._sums.span(start, position))
        base, items, length = self._base(view)
        if position < length:
            return self._sums.items(items, position)
        return plus(base, self._sums.span(length, position))

    def keep_tail(self, position: int, tokens: int) -> None:
        """Assume that the agent's last compaction before `position` kept the newest messages
        before its summary, up to this many tokens.
        """
        own = self.own[bisect_left(self.own, position) - 1]
        self._tails.setdefault(own, max(self._sums.start_of(tokens, own), self._lead_stop))

    def _reported(self, views: Sequence[StoredView]) -> Amounts:
        """Return what the last compaction was told to stand around the messages."""
        for view in reversed(views):
            if (found := report_of(view)) is not None and found.categories:
                shown, _, _ = self._base(view.number)
                told = only_around(category_amounts(found.categories))
                return tuple(
                    max(there - in_log, 0) for there, in_log in zip(told, shown, strict=True)
                )
        return NOTHING

    def _base(self, number: int) -> tuple[Amounts, tuple[Item, ...], int]:
        """Return what a view shows of what it covers, read once."""
        if number not in self._bases:
            try:
                view = unpack_view(self._packed[number].items, self._dialect)
                made = self._sums.items(view.items, view.length), view.items, view.length
            except InvalidView:  # of another version, or damaged: the log as it is
                made = NOTHING, (), 0
            self._bases[number] = made
        return self._bases[number]


def report_of(view: StoredView) -> Report | None:
    """Return the report of the compaction that made a view, None if this version cannot read it."""
    try:
        return msgspec.json.decode(view.report, type=Report)
    except msgspec.DecodeError:  # none, or one of another version
        return None


def last_report(views: Sequence[StoredView]) -> Report | None:
    """Return the newest report, None if there is none."""
    return next((found for view in reversed(views) if (found := report_of(view))), None)
