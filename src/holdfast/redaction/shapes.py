"""The rules without a literal: all of their patterns are looked for at once, everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

from holdfast.redaction.matching import Pattern, PatternSet, compiled
from holdfast.redaction.tries import RuleTry

Place: TypeAlias = "tuple[int, int]"


class Shapes:
    """Finds the shapes that rules without an anchor have, in the order of the text."""

    def __init__(self, rules: Sequence[RuleTry]) -> None:
        self._rules = rules
        self._needs = sorted({one.rule.needs.encode() for one in rules if one.rule.needs})
        self._scanners: dict[tuple[bytes, ...], Pattern] = {}

    def scanner_for(self, data: bytes) -> Pattern | None:
        """Return what finds the places of `data` to ask about; none where there are no rules."""
        missing = tuple([need for need in self._needs if need not in data])
        return self._scanners.get(missing) or self._scanner_without(missing)

    def at(self, data: bytes, start: int, end: int) -> tuple[RuleTry, Place, Place] | None:
        """Return the rule of a place, where all of its match stands and where its value does."""
        is_line = start == 0 or data[start - 1] == 10
        number = (self._on_line if is_line else self._in_line).first(data[start:end])
        if number is None:
            return None
        one = self._rules[number]
        # what stands before it is part of the place, except at the start of a line
        for first in (start, start + 1) if is_line or one.rule.inside_word else (start + 1,):
            found = one.pattern.at(data, first, end)
            if found is not None and found[0][1] == end:
                return one, found[0], found[one.group]
        return None

    def _scanner_without(self, missing: tuple[bytes, ...]) -> Pattern | None:
        parts = [
            _written(one)
            for one in self._rules
            if not one.rule.needs or one.rule.needs.encode() not in missing
        ]
        if not parts:
            return None
        self._scanners[missing] = compiled(_joined(parts))
        return self._scanners[missing]

    @cached_property
    def _on_line(self) -> PatternSet:
        return PatternSet([_joined([_written(one)]) for one in self._rules])

    @cached_property
    def _in_line(self) -> PatternSet:
        return PatternSet([_joined([_written(one, start="")]) for one in self._rules])


def _written(one: RuleTry, start: str = "^|") -> str:
    before = "" if one.rule.inside_word else f"(?:{start}[^A-Za-z0-9_/.-])"
    case = "i" if one.rule.ignore_case else "-i"
    return f"{before}(?:(?{case}:{one.rule.pattern}))".replace("?P<value>", "?:")


def _joined(parts: Sequence[str]) -> str:
    return "(?m)(?:" + "|".join(parts) + ")"
