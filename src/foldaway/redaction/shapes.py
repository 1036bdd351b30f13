"""The rules without a literal: all of their patterns are looked for at once, everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

from foldaway._core import Regex
from foldaway.redaction.matchers import RuleMatcher
from foldaway.redaction.matching import Pattern, PatternSet, Range
from foldaway.redaction.policy import SecretRule

Find: TypeAlias = "Callable[[bytes, int], Range | None]"
"""Returns the first place of a text that starts at an offset or after it."""

REACH = 1200
"""Longest shape in bytes, with the character before it."""


class Shapes:
    """Finds the shapes that rules without an anchor have, in the order of the text."""

    def __init__(self, rules: Sequence[RuleMatcher]) -> None:
        self._rules = rules
        self._needs = sorted({one.rule.needs.encode() for one in rules if one.rule.needs})
        self._ways = [_way_of(one.rule) for one in rules]
        self._finds: dict[tuple[bytes, ...], list[Find]] = {}

    def places(self, data: bytes) -> ShapeSearch | None:
        """Return a search for the places of `data` that may be shapes; none if it can have none."""
        missing = tuple([need for need in self._needs if need not in data])
        if missing not in self._finds:
            self._finds[missing] = self._build(missing)
        finds = self._finds[missing]
        return ShapeSearch(data, finds, self._first_at) if finds else None

    def at(self, data: bytes, start: int, end: int) -> tuple[RuleMatcher, Range, Range] | None:
        """Return the rule of a place, the range of its match and that of its value."""
        is_line = start == 0 or data[start - 1] == 10
        text = data[start:end]
        number = (self._on_line if is_line else self._in_line).first(text)
        if number is None:
            return None
        one, way = self._rules[number], self._ways[number]
        if way and (not is_line or _BEFORE[text[0]] == 0):
            whole = (start if is_line else start + 1, end)
            if way == _WHOLE:
                return one, whole, whole
            return one, whole, (start + len(text.rstrip(b"0123456789")), end)
        # what stands before it is part of the place, except at the start of a line
        for first in (start, start + 1) if is_line or one.rule.inside_word else (start + 1,):
            found = one.pattern.at(data, first, end)
            if found is not None and found[0][1] == end:
                return one, found[0], found[one.group]
        return None

    def _build(self, missing: tuple[bytes, ...]) -> list[Find]:
        """Return the searches for the rules that a text without these literals can match."""
        used = [one.rule for one in self._rules if one.rule.needs.encode() not in missing]
        joined = [_write(rule, rule.pattern) for rule in used if not rule.pivot]
        finds = [_find_by(Pattern(_join(joined)))] if joined else []
        return finds + [Pivot(rule).after for rule in used if rule.pivot]

    def _first_at(self, data: bytes, at: int) -> Range:
        """Return the place that starts at `at`; the first of the rules wins."""
        found = self._all.at(data, at, at + REACH)
        assert found is not None  # two rules were found there
        return found[0]

    @cached_property
    def _all(self) -> Pattern:
        return Pattern(_join([_write(one.rule, one.rule.pattern) for one in self._rules]))

    @cached_property
    def _on_line(self) -> PatternSet:
        return PatternSet([_join([_write(o.rule, o.rule.pattern)]) for o in self._rules])

    @cached_property
    def _in_line(self) -> PatternSet:
        return PatternSet([_join([_write(o.rule, o.rule.pattern, start="")]) for o in self._rules])


class ShapeSearch:
    """A search for shapes in one text, at ascending offsets.

    Each way to find them is called again only when the offset has passed its last result.
    """

    def __init__(
        self, data: bytes, finds: Sequence[Find], first_at: Callable[[bytes, int], Range]
    ) -> None:
        self._data = data
        self._finds = list(finds)
        self._first_at = first_at
        self._next: list[Range] = [_BEHIND] * len(finds)

    def after(self, pos: int = 0) -> Range | None:
        """Return the first place that starts at `pos` or after it."""
        if len(self._finds) == 1:
            return self._finds[0](self._data, pos)
        for number in reversed(range(len(self._finds))):
            if self._next[number][0] < pos:
                place = self._finds[number](self._data, pos)
                if place is None:
                    del self._finds[number], self._next[number]
                else:
                    self._next[number] = place
        found = self._next
        if len(found) < 2:
            return found[0] if found else None
        first = min(found)
        if sum(place[0] == first[0] for place in found) > 1:
            return self._first_at(self._data, first[0])
        return first


_BEHIND = (-1, -1)


def _find_by(pattern: Pattern) -> Find:
    def find(data: bytes, pos: int) -> Range | None:
        found = pattern.after(data, pos)
        return None if found is None else found[0]

    return find


class Pivot:
    """A rule that is found by the literal in its middle.

    Counting along every word of a text is slow. Instead the literal and what follows it are looked
    for, and the characters before the pivot are read backwards.
    """

    def __init__(self, rule: SecretRule) -> None:
        head, _, tail = rule.pattern.partition(rule.pivot)
        parts = _HEAD.fullmatch(head)
        assert parts is not None, rule.pattern
        first, run, least, most = parts.groups()
        self._run = bytes(c for c in range(256) if re.match(run.encode(), bytes((c,))))
        self._least = int(least) + bool(first)
        self._most = int(most or least) + bool(first)
        self._pivot = rule.pivot.encode()
        self._tail = Pattern("(?m)" + (rule.pivot + tail).replace("?P<value>", "?:"))
        need = rule.needs or rule.pivot
        self._rest = Pattern("(?m)" + need + rule.pattern.rpartition(need)[2])
        self._first = re.compile(rf"(?<![A-Za-z0-9_/.-]){first or run}".encode())

    def after(self, data: bytes, pos: int) -> Range | None:
        """Return the first place that starts at `pos` or after it."""
        next_at = pos
        while (found := self._rest.after(data, next_at)) is not None:
            at, end = found[0]
            next_at = at + 1 + self._least  # the literal is none of the characters that are counted
            if not data.startswith(self._pivot, at):
                at = data.rfind(self._pivot, max(pos, at - REACH), at)
                tail = self._tail.at(data, at, at + REACH) if at >= 0 else None
                if tail is None:
                    continue
                end = tail[0][1]
            start = self._start(data, at, pos) if data[at - 1] in self._run else None
            if start is not None:
                return start, end
        return None

    def _start(self, data: bytes, at: int, pos: int) -> int | None:
        """Return where the place with its pivot at `at` starts: one before its match."""
        low = max(pos, at - self._most)
        low += len(data[low:at].rstrip(self._run))
        high = at - self._least + 1
        first = self._first.search(data, low, high)
        if first is not None and first.start() == pos and pos and data[pos - 1] != 10:
            first = self._first.search(data, pos + 1, high)
        if first is None:
            return None
        return max(first.start() - 1, pos)


_HEAD = Regex(r"(\[[^\]]+\])?(\[[^\]]+\])\{(\d+)(?:,(\d+))?\}")
"""How a pattern with a pivot starts: one character, then a counted run of others."""


def _write(rule: SecretRule, pattern: str, start: str = "^|") -> str:
    before = "" if rule.inside_word else f"(?:{start}[^A-Za-z0-9_/.-])"
    case = "i" if rule.ignore_case else "-i"
    return f"{before}(?:(?{case}:{pattern}))".replace("?P<value>", "?:")


_BEFORE = bytes(re.match(rb"[^A-Za-z0-9_/.-]", bytes((c,))) is not None for c in range(256))
"""For each character, whether it may be before a shape as part of its place."""


def _join(parts: Sequence[str]) -> str:
    return "(?m)(?:" + "|".join(parts) + ")"


_WHOLE, _DIGITS = 1, 2


def _way_of(rule: SecretRule) -> int:
    """Return how to get the value of a place without another match, 0 if that is impossible.

    A pattern that does not look at its surroundings matches its place as it did in the text. Then
    the value is all of it, or the digits at its end after another character.
    """
    if rule.inside_word or _ASSERTS.search(rule.pattern.replace("[^", "[")):
        return 0
    if "?P<value>" not in rule.pattern:
        return _WHOLE
    return _DIGITS if _ENDS_IN_DIGITS.search(rule.pattern) else 0


_ASSERTS = Regex(r"[\^$]|\\[AzbB]")
_ENDS_IN_DIGITS = Regex(r"\[\^0-9[^\]]*\]\(\?P<value>\\d\{[0-9,]+\}\)$")
