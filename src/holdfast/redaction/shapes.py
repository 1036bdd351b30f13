"""The rules without a literal: all of their patterns are looked for at once, everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

from holdfast.redaction.matching import Pattern, PatternSet, compiled
from holdfast.redaction.rule import Rule
from holdfast.redaction.tries import RuleTry

Place: TypeAlias = "tuple[int, int]"

REACH = 1200
"""No shape is longer."""
SHORT = 32
"""So short a place is the same in both forms of a pattern."""
BLOCK = 256
"""So much is read exactly where a place was none after all."""


class Shapes:
    """Finds the shapes that rules without an anchor have, in the order of the text."""

    def __init__(self, rules: Sequence[RuleTry]) -> None:
        self._rules = rules
        self._needs = sorted({one.rule.needs.encode() for one in rules if one.rule.needs})
        self._ways = [_way_of(one.rule) for one in rules]
        self._scanners: dict[tuple[bytes, ...], Pattern] = {}
        self._exact: dict[tuple[bytes, ...], Pattern] = {}

    def places(self, data: bytes) -> Places | None:
        """Return what finds the places of `data` to ask about; none where there are no rules."""
        missing = tuple([need for need in self._needs if need not in data])
        scanner = self._scanners.get(missing)
        if scanner is None:
            used = self._used(missing)
            if not used:
                return None
            parts = [_written(one.rule, one.rule.loose or one.rule.pattern) for one in used]
            scanner = self._scanners[missing] = compiled(_joined(parts))
        return Places(data, scanner, lambda: self._exactly(missing))

    def at(self, data: bytes, start: int, end: int) -> tuple[RuleTry, Place, Place] | None:
        """Return the rule of a place, where all of its match stands and where its value does."""
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

    def _used(self, missing: tuple[bytes, ...]) -> list[RuleTry]:
        return [
            one
            for one in self._rules
            if not one.rule.needs or one.rule.needs.encode() not in missing
        ]

    def _exactly(self, missing: tuple[bytes, ...]) -> Pattern:
        if missing not in self._exact:
            parts = [_written(one.rule, one.rule.pattern) for one in self._used(missing)]
            self._exact[missing] = compiled(_joined(parts))
        return self._exact[missing]

    @cached_property
    def _on_line(self) -> PatternSet:
        return PatternSet([_joined([_written(o.rule, o.rule.pattern)]) for o in self._rules])

    @cached_property
    def _in_line(self) -> PatternSet:
        return PatternSet(
            [_joined([_written(o.rule, o.rule.pattern, start="")]) for o in self._rules]
        )


class Places:
    """Where shapes stand in one text, asked for ascending places.

    Some patterns are looked for in a looser form, which is quicker. What that finds starts no later
    than what the patterns themselves would find: from there on these are asked, as far as the loose
    match reaches. So the places are those that the patterns alone would give.
    """

    def __init__(self, data: bytes, loose: Pattern, exact: Callable[[], Pattern]) -> None:
        self._data = data
        self._loose = loose
        self._exact = exact
        self._read = 0
        """What starts before it is looked for exactly."""

    def after(self, pos: int = 0) -> Place | None:
        """Return the first place that starts at `pos` or after it."""
        data = self._data
        while True:
            if pos < self._read:
                found = self._exact().after(data, pos, self._read + REACH)
                if found is not None and found[0][0] < self._read:
                    return found[0]
                pos = self._read
            found = self._loose.after(data, pos)
            if found is None:
                return None
            pos, end = found[0]
            if end - pos <= SHORT:
                return found[0]
            found = self._exact().at(data, pos, pos + REACH)
            self._read = end if found else max(end, pos + BLOCK)
            if found is not None:
                return found[0]


def _written(rule: Rule, pattern: str, start: str = "^|") -> str:
    before = "" if rule.inside_word else f"(?:{start}[^A-Za-z0-9_/.-])"
    case = "i" if rule.ignore_case else "-i"
    return f"{before}(?:(?{case}:{pattern}))".replace("?P<value>", "?:")


_BEFORE = bytes(re.match(rb"[^A-Za-z0-9_/.-]", bytes((c,))) is not None for c in range(256))
"""For each character, whether it may stand before a shape as part of its place."""


def _joined(parts: Sequence[str]) -> str:
    return "(?m)(?:" + "|".join(parts) + ")"


_WHOLE, _DIGITS = 1, 2


def _way_of(rule: Rule) -> int:
    """Return how the value of a place is told without another match, 0 where it is not.

    A pattern that does not look at what stands around it matches its place as it did in the text.
    Then the value is all of it, or the digits at its end that something else stands before.
    """
    if rule.inside_word or _ASSERTS.search(rule.pattern.replace("[^", "[")):
        return 0
    if "?P<value>" not in rule.pattern:
        return _WHOLE
    return _DIGITS if _ENDS_IN_DIGITS.search(rule.pattern) else 0


_ASSERTS = re.compile(r"[\^$]|\\[AzbB]")
_ENDS_IN_DIGITS = re.compile(r"\[\^0-9[^\]]*\]\(\?P<value>\\d\{[0-9,]+\}\)$")
