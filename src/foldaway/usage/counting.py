"""Answers counted once, in columns: as objects they would take ten times the memory."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isnan, nan

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldaway.caching import PriceList
from foldaway.usage.record import PromptFigures, SpentAnswer, SpentSession

_SAME_ANSWER_SECONDS = 600
"""A gateway and the agent behind it write the same answer down within minutes."""
_NOTHING = PromptFigures()
_FOLLOWS, _IS_TOTAL = 1, 2
Key = tuple[str, str]


class CountedAnswer(Struct, frozen=True, gc=False):
    """An answer that counts, its session and its cost."""

    session: SpentSession
    root: SpentSession
    """The session that a person began: for a subagent the one that called it."""
    answer: SpentAnswer
    cost: float | None
    is_alone: bool = False
    """Whether its session is a root that no subagent worked for: its answers come in a row."""

    @property
    def time(self) -> float | None:
        """When it was written; the start of its session if the file does not say."""
        return self.answer.time or self.session.started


class _Columns(Struct, frozen=True):
    """Answers that may count. An unknown number is not a number."""

    owners: array[int]
    models: array[int]
    names: dict[str, int]
    """Of models."""
    times: array[float]
    costs: array[float]
    figures: array[int]
    """Four of each answer."""
    flags: array[int]


class AnswerTable:
    """Answers, the oldest session first, those of a session in a row. Each is made when it is
    asked for, without its mark; a stored session is kept without its answers.
    """

    def __init__(self) -> None:
        """Begin without answers."""
        self._sessions: list[SpentSession] = []
        self._packed, self._ends = bytearray(), array("q", [0])
        self._roots: Sequence[int] = ()
        self._starts = array("q", [0])
        self._all = _Columns(
            array("i"), array("i"), {}, array("d"), array("d"), array("q"), array("B")
        )
        self._rows: Sequence[int] = array("q")

    def __len__(self) -> int:
        """How many answers there are."""
        return len(self._rows)

    def __iter__(self) -> Iterator[CountedAnswer]:
        """Yield the answers."""
        sessions, names, figures = self._sessions, list(self._all.names), self._all.figures
        served = {root for at, root in enumerate(self._roots) if root != at}
        for at in self._rows:
            owner, time, cost = self._all.owners[at], self._all.times[at], self._all.costs[at]
            given, read, flags = at * 4, at * 4 + 2, self._all.flags[at]
            answer = SpentAnswer(
                mark=b"",
                time=None if isnan(time) else time,
                model=names[self._all.models[at]],
                input_tokens=figures[given],
                output_tokens=figures[given + 1],
                cache_read_tokens=figures[read],
                cache_write_tokens=figures[read + 1],
                follows_compaction=bool(flags & _FOLLOWS),
                is_total=bool(flags & _IS_TOTAL),
            )
            root, paid = self._roots[owner], None if isnan(cost) else cost
            is_alone = root == owner and root not in served
            yield CountedAnswer(sessions[owner], sessions[root], answer, paid, is_alone)

    def where(self, is_wanted: Callable[[CountedAnswer], bool]) -> AnswerTable:
        """Return some of the answers."""
        made = AnswerTable()
        made.__dict__ |= self.__dict__
        kept = (at for at, row in zip(self._rows, self, strict=True) if is_wanted(row))
        made._rows = array("q", kept)
        return made

    def sessions(self, *, silent: bool = False) -> Iterator[SpentSession]:
        """Yield the sessions of these answers; with `silent` also those that have none at all."""
        has_answers = bytearray(len(self._sessions))
        for at in self._rows:
            has_answers[self._all.owners[at]] = 1
        for at, one in enumerate(self._sessions):
            is_silent = silent and self._starts[at] == self._starts[at + 1]
            if not has_answers[at] and not is_silent:
                continue
            if packed := self._packed[self._ends[at] : self._ends[at + 1]]:
                one = replace(one, prompts=msgspec.msgpack.decode(packed, type=PromptFigures))
            yield one

    def take(self, session: SpentSession, prices: PriceList) -> None:
        """Add the answers of a session, each as one that may count."""
        for one in session.answers:
            cost = prices.cost(one, is_total=one.is_total)
            self._all.owners.append(len(self._sessions))
            self._all.models.append(self._all.names.setdefault(one.model, len(self._all.names)))
            self._all.times.append(nan if one.time is None else one.time)
            self._all.costs.append(nan if cost is None else cost)
            self._all.figures.extend(one.figures)
            self._all.flags.append(_FOLLOWS * one.follows_compaction | _IS_TOTAL * one.is_total)
        self._starts.append(len(self._all.owners))
        if session.is_stored:
            self._packed += msgspec.msgpack.encode(session.prompts)
            session = replace(session, answers=(), prompts=_NOTHING)
        self._ends.append(len(self._packed))
        self._sessions.append(session)

    def count(self, marks: bytes, native: int) -> None:
        """Choose what counts, by the marks of all; the first `native` sessions are of files."""
        sessions, starts = self._sessions, self._starts
        order = sorted(range(native), key=lambda at: sessions[at].started or 0.0)
        late = sorted(range(native, len(sessions)), key=lambda at: sessions[at].started or 0.0)
        parents = {(one.agent, one.parent_id) for one in sessions if one.parent_id}
        by_key = {
            key: at for at in (*late, *order) if parents and (key := sessions[at].key) in parents
        }
        self._roots = array("i", (self._root_of(at, by_key) for at in range(len(sessions))))
        all_marks = array("Q", marks)
        repeated = {one for one, other in pairwise(sorted(all_marks)) if one == other}
        seen, found = set[int](), array("q")
        times: defaultdict[tuple[int, ...], list[float]] = defaultdict(list)
        for owner in (*order, *late):
            session = sessions[owner]
            parent = by_key.get((session.agent, session.parent_id))
            for at in range(starts[owner] + self._repeated(owner, parent), starts[owner + 1]):
                if all_marks[at] in repeated:  # a set of all would be the largest thing here
                    if all_marks[at] in seen:
                        continue
                    seen.add(all_marks[at])
                when = self._all.times[at]
                figures = tuple(self._all.figures[at * 4 : at * 4 + 4])
                if owner < native:
                    times[figures].append(0.0 if isnan(when) else when)
                elif _was_recorded(times.get(figures, []), 0.0 if isnan(when) else when):
                    continue
                found.append(at)
        self._rows = found

    def _root_of(self, at: int, by_key: Mapping[Key, int]) -> int:
        """Return the session that a subagent worked for in the end; for others the session."""
        sessions, seen = self._sessions, {at}
        while (session := sessions[at]).is_subagent:
            parent = by_key.get((session.agent, session.parent_id))
            if parent is None or parent in seen:
                break
            seen.add(parent)
            at = parent
        return at

    def _repeated(self, at: int, parent: int | None) -> int:
        """Return how many answers at its start a fork took over from its parent."""
        if parent is None or parent == at or self._sessions[at].is_subagent:
            return 0
        same, own, given = 0, *(self._starts[one] for one in (at, parent))
        most = min(self._starts[at + 1] - own, self._starts[parent + 1] - given)
        while same < most and self._like(own + same) == self._like(given + same):
            same += 1
        return same

    def _like(self, at: int) -> tuple[int, array[int]]:
        return self._all.models[at], self._all.figures[at * 4 : at * 4 + 4]


def count_once(
    native: Iterable[SpentSession], stored: Iterable[SpentSession], prices: PriceList
) -> AnswerTable:
    """Return every answer once, the oldest session first.

    Copies in resumed and forked files are left out, and so is what a gateway wrote down of an
    answer that the agent has in its own file.
    """
    made, marks, count = AnswerTable(), bytearray(), 0
    for one in native:
        made.take(one, prices)
        marks += b"".join(answer.mark for answer in one.answers)
        count += 1
    for one in stored:
        made.take(one, prices)
        marks += b"".join(answer.mark for answer in one.answers)
    made.count(bytes(marks), count)
    return made


def _was_recorded(times: list[float], time: float) -> bool:
    for at, other in enumerate(times):
        if abs(other - time) <= _SAME_ANSWER_SECONDS:
            del times[at]
            return True
    return False
