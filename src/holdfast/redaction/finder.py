"""Finds every secret of a text, in linear time.

An automaton finds the literals of the rules, re2 the shapes that have none and the fields. Each
hit costs one bounded match and one gate. What was found covers the text up to its end, and a line
on which too many tries fail is hidden as a whole: no input can make the work grow faster than its
length, and none can switch the search off.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

from holdfast.redaction.cookies import COOKIES, cookies
from holdfast.redaction.field_scan import is_hidden, next_candidate
from holdfast.redaction.fields import values_at
from holdfast.redaction.gates import GATES, is_unspeakable, looks_random
from holdfast.redaction.keyblocks import BEGINS, BODIES, ENDS, key_block, key_body, key_tail
from holdfast.redaction.matching import Automaton, Pattern, compiled
from holdfast.redaction.policy import RedactionPolicy
from holdfast.redaction.rule import Rule
from holdfast.redaction.rules.registry import RULES

REACH = 8192
"""No rule looks further than this from its anchor, except over the body of a private key."""
PRIVATE_KEY = "private-key"
LINE = "line"


class Span(NamedTuple):
    """A secret: where it stands, what it is, and how early its rule comes."""

    start: int
    end: int
    kind: str
    rank: int


class Finder:
    """The rules of one policy, compiled. Patterns are compiled when their literal first occurs."""

    def __init__(self, policy: RedactionPolicy, rules: Sequence[Rule] = RULES) -> None:
        off = policy.families_off()
        used = [r for r in rules if r.family not in off and r.kind not in policy.keep]
        self._code = policy.code
        self._keep = policy.keep
        self._anchored: dict[bytes, list[_Try]] = defaultdict(list)
        for rank, rule in enumerate(used):
            for anchor in rule.anchors:
                self._anchored[anchor.lower().encode()].append(_RuleTry(rule, anchor, rank))
        for anchors, block in ((BEGINS, key_block), (ENDS, key_tail), (BODIES, key_body)):
            for anchor in anchors:
                self._anchored[anchor.encode()].append(_KeyTry(block))
        for anchor in COOKIES:
            self._anchored[anchor.encode()].append(_CookieTry())
        self._scanned = [
            _RuleTry(rule, "", rank) for rank, rule in enumerate(used) if not rule.anchors
        ]

    def spans(self, data: bytes) -> list[Span]:
        """Return the secrets in order; none overlaps another."""
        anchored = merged(self._by_anchor(data))
        found = [*anchored, *self._by_shape(data, anchored), *self._by_field(data, anchored)]
        return merged(span for span in found if span.kind not in self._keep)

    @cached_property
    def _tries(self) -> list[list[_Try]]:
        return list(self._anchored.values())

    @cached_property
    def _automaton(self) -> Automaton:
        return Automaton(list(self._anchored))

    @cached_property
    def _shapes(self) -> Pattern | None:
        parts = [
            ("" if t.rule.inside_word else "(?:^|[^A-Za-z0-9_/.-])")
            + f"(?P<r{n}>(?{'i' if t.rule.ignore_case else '-i'}:{t.rule.pattern}))".replace(
                "?P<value>", f"?P<v{n}>"
            )
            for n, t in enumerate(self._scanned)
        ]
        return compiled("(?m)(?:" + "|".join(parts) + ")") if parts else None

    @cached_property
    def _shape_groups(self) -> list[tuple[_RuleTry, int, int]]:
        """For each shape, the numbers of the groups that hold all of it and its value."""
        names = {} if self._shapes is None else self._shapes.groups
        return [
            (one, names[f"r{n}".encode()], names.get(f"v{n}".encode(), names[f"r{n}".encode()]))
            for n, one in enumerate(self._scanned)
        ]

    def _by_anchor(self, data: bytes) -> list[Span]:
        found: list[Span] = []
        budget = Budget(data, 32)
        covered = 0
        tries = self._tries
        for number, start, end in self._automaton.hits(data):
            if start < covered:
                continue
            for one in tries[number]:
                spans = one(data, start, end, covered)
                if spans:
                    found += spans
                    covered = max(covered, spans[-1].end)
                    break
                if spans is not None and budget.spent(start, one.read):
                    found.append(budget.line())
                    covered = found[-1].end
                    break
        return found

    def _by_shape(self, data: bytes, known: Sequence[Span]) -> list[Span]:
        found: list[Span] = []
        done = _Known(known)
        if self._shapes is None:
            return found
        budget = Budget(data, 8)
        covered = 0
        groups = self._shape_groups
        for hit in self._shapes.all(data):
            number = 0
            while hit[groups[number][1]][0] < 0:
                number += 1
            one, whole, value = groups[number]
            at = hit[whole][0]
            start, end = hit[value]
            if at < covered or end <= done.over(start).end:
                continue
            span = one.judged(data, hit[whole][1], start, end)
            if span is not None:
                found.append(span)
                covered = span.end
            elif budget.spent(at):
                found.append(budget.line())
                covered = found[-1].end
        return found

    def _by_field(self, data: bytes, known: Sequence[Span]) -> list[Span]:
        found: list[Span] = []
        done = _Known(known)
        budget = Budget(data, 64)
        covered = 0
        at = 0
        while (candidate := next_candidate(data, at)) is not None:
            at = candidate.end
            if at <= covered or is_hidden(data, at):
                continue
            span = done.over(at)
            if at < span.end and data[span.end : span.end + 1] in _AFTER_BARE:
                continue
            values, read = values_at(data, candidate, code=self._code)
            if values:
                found += (Span(v.start, v.end, v.kind, len(RULES)) for v in values)
                covered = values[-1].end
            elif budget.spent(candidate.start, read):
                found.append(budget.line())
                at = covered = found[-1].end
        return found


_AFTER_BARE = frozenset((b"", b" ", b"\n", b"\r", b"&"))
"""What ends a value without quotes, so that nothing of it is left beside the secret in it."""
_NONE = Span(-1, -1, "", 0)


class _Known:
    """Spans in order, asked for ascending places."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._rest = iter(spans)
        self._next = next(self._rest, None)
        self._last = _NONE

    def over(self, at: int) -> Span:
        """Return the last span that starts at or before `at`."""
        while self._next is not None and self._next.start <= at:
            self._last = self._next
            self._next = next(self._rest, None)
        return self._last


@lru_cache(maxsize=16)
def finder_for(policy: RedactionPolicy) -> Finder:
    """Return the finder of a policy; equal policies share one."""
    return Finder(policy)


RESERVE = 8192
"""Failed tries that a text may have beyond what its length gives, over all of its lines."""
BLOCK = 4096
"""Lines of a text that has used up its reserve are hidden in blocks of so many bytes."""


class Budget:
    """Counts the tries that failed; a line of ordinary text has few for its length.

    Short lines may have more, but not all lines of a long text: what they have beyond their length
    is taken from a reserve.
    """

    def __init__(self, data: bytes, bytes_a_try: int) -> None:
        self._data = data
        self._bytes_a_try = bytes_a_try
        self._start = self._end = -1
        self._left = 0
        self._reserve = RESERVE

    def spent(self, at: int, read: int = 0) -> bool:
        """Count one failed try at `at` that read so many bytes; whether it was one too many."""
        if at > self._end:
            self._start = self._data.rfind(b"\n", max(0, self._end), at) + 1
            end = self._data.find(b"\n", at)
            self._end = len(self._data) if end < 0 else end
            earned = (self._end - self._start) // self._bytes_a_try
            self._left = 32 + earned
            self._reserve = min(RESERVE, self._reserve + earned)
        cost = 1 + read // 64
        self._left -= cost
        self._reserve -= cost
        return self._left < 0 or self._reserve < 0

    def line(self) -> Span:
        """Return the span of the line that was one too much, and of more where many are."""
        if self._reserve < 0:
            end = self._data.find(b"\n", self._end + BLOCK)
            self._end = len(self._data) if end < 0 else end
        return Span(self._start, self._end, LINE, -1)


class _Try(Protocol):
    read: int
    """How many bytes the last try read that failed."""

    def __call__(self, data: bytes, start: int, end: int, covered: int) -> list[Span] | None:
        """Try a rule at a hit: the secrets, empty where it failed, `None` where not even tried."""
        ...


class _RuleTry:
    read = 0

    def __init__(self, rule: Rule, anchor: str, rank: int) -> None:
        self.rule = rule
        self._rank = rank
        self._literal = b"" if rule.ignore_case else anchor.encode()
        self._gate = GATES[rule.gate]
        self._joins = rule.family == "vendor" and rule.before == 0

    @cached_property
    def _pattern(self) -> Pattern:
        return compiled(("(?i)" if self.rule.ignore_case else "") + self.rule.pattern)

    @cached_property
    def _group(self) -> int:
        return self._pattern.groups.get(b"value", 0)

    def __call__(self, data: bytes, start: int, end: int, covered: int) -> list[Span] | None:
        rule = self.rule
        if self._literal and data[start:end] != self._literal:
            return None
        if rule.before:
            return self._around(data, start, end, covered)
        if not rule.inside_word and start and not starts_word(data, start):
            return None
        found = self._pattern.at(data, start, start + REACH)
        if found is not None:
            self.read = found[0][1] - start
            span = self.judged(data, found[0][1], *found[self._group])
            if span is not None:
                if found[0][1] == start + REACH and (more := _MORE.at(data, start + REACH)):
                    return [span._replace(end=more[0][1])]
                return (self._joined(data, start, span.end) if self._joins else None) or [span]
        return (self._joined(data, start, 0) if self._joins else None) or []

    def judged(self, data: bytes, whole_end: int, start: int, end: int) -> Span | None:
        """Return the secret of a match that ends at `whole_end`, if its value is one."""
        if not self.rule.open_end and _goes_on(data, whole_end):
            return None
        return Span(start, end, self.rule.kind, self._rank) if self._gate(data[start:end]) else None

    def _around(self, data: bytes, start: int, end: int, covered: int) -> list[Span]:
        at = max(covered, start - self.rule.before)
        while at <= start:
            found = self._pattern.after(data, at, end + 1024)
            if found is None or found[0][0] > start:
                return []
            at, stop = found[0]
            if stop >= end and (self.rule.inside_word or at == 0 or starts_word(data, at)):
                span = self.judged(data, stop, *found[self._group])
                if span is not None:
                    return [span]
            at = max(at + 1, stop if stop <= start else 0)
        return []

    def _joined(self, data: bytes, start: int, known: int) -> list[Span]:
        """Try the pattern over a break in the token: a line end, or a string put together."""
        parts = None if self._group else _BROKEN.match(data, start)
        if parts is None or (known and known != parts.end(1)):
            return []
        first_end = parts.end(1)
        second_start, rest = parts.start(2), parts[2]
        whole = data[start:first_end] + rest
        found = self._pattern.at(whole, 0)
        if found is None or found[0][1] <= first_end - start:
            return []
        size = found[0][1]
        taken = size - (first_end - start)
        if not (self.rule.open_end or not rest[taken : taken + 1].isalnum()):
            return []
        if known and not (taken == len(rest) and len(rest) >= 8 and looks_random(rest)):
            return []
        quoted = data[second_start - 1] in b"\"'`"
        if not self._gate(whole[:size]) or not (quoted or _is_piece(rest[:taken])):
            return []
        kind, rank = self.rule.kind, self._rank
        return [
            Span(start, first_end, kind, rank),
            Span(second_start, second_start + taken, kind, rank),
        ]


_MORE = compiled(r"[A-Za-z0-9_.+/=-]*")
_BROKEN = re.compile(
    rb"([A-Za-z0-9_.+/=-]{4,400}+)"
    rb"(?:\\{1,4}+[nr]|\\?\r?\n[ \t]{0,24}+|\\{0,6}+[\"'`]\s{0,4}+[+.&]?\s{0,24}+\\{0,6}+[\"'`])"
    rb"([A-Za-z0-9_.+/=-]{4,400}+)"
)


def _is_piece(rest: bytes) -> bool:
    return not rest.isalpha() or looks_random(rest) or is_unspeakable(rest)


class _KeyTry:
    read = 0

    def __init__(self, block: Callable[[bytes, int, int], tuple[int, int] | None]) -> None:
        self._block = block

    def __call__(self, data: bytes, start: int, end: int, covered: int) -> list[Span] | None:
        span = self._block(data, start, covered)
        return [] if span is None else [Span(*span, PRIVATE_KEY, -1)]


class _CookieTry:
    read = 0

    def __call__(self, data: bytes, start: int, end: int, covered: int) -> list[Span] | None:
        found, self.read = cookies(data, start)
        return [Span(a, b, "cookie", len(RULES)) for a, b in found]


def _goes_on(data: bytes, at: int) -> bool:
    """Whether a word goes on at `at`, or a number with its fraction."""
    after = data[at : at + 1]
    return after.isalnum() or (
        after == b"." and data[at - 1 : at].isdigit() and data[at + 1 : at + 2].isdigit()
    )


def starts_word(data: bytes, at: int) -> bool:
    r"""Whether nothing that belongs to a word stands before `at`; `\n`, `\u0022`, `%3D` do not."""
    before = data[at - 1]
    if not (before == 95 or chr(before).isalnum()) or before > 127:
        return True
    if at >= 2 and data[at - 2] == 92:
        return before in b"nrtbf"
    if at >= 3 and data[at - 3] == 37:
        return True
    return at >= 6 and data[at - 6 : at - 4] == b"\\u"


def merged(spans: Iterable[Span]) -> list[Span]:
    """Join what overlaps into one span, with the kind of the largest, or of the earlier rule."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            best = min(last, span, key=lambda s: (s.start - s.end, s.rank))
            merged[-1] = Span(last.start, max(last.end, span.end), best.kind, best.rank)
        else:
            merged.append(span)
    return merged
