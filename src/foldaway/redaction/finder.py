"""Finds every secret of a text, in linear time.

An automaton finds the literals of the rules, re2 the shapes that have none and the fields. Each
hit costs one bounded match and one gate. What was found covers the text up to its end, and a line
on which too many tries fail is hidden as a whole: no input can make the work grow faster than its
length, and none can switch the search off.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

from msgspec.structs import replace

from foldaway._core import Regex
from foldaway.redaction.budget import ANY, Log, Price, SearchBudget
from foldaway.redaction.field_secrets import secrets_at
from foldaway.redaction.fields import Candidate, is_value_hidden, next_candidate
from foldaway.redaction.keys import (
    BEGINS,
    BODIES,
    ENDS,
    OBJECTS,
    key_block,
    key_body,
    key_object,
    key_tail,
)
from foldaway.redaction.matchers import REACH, Matcher, RuleMatcher, is_within_word, match_key
from foldaway.redaction.matching import Automaton, Hit, Range
from foldaway.redaction.near import find_paired_ids, find_repeats
from foldaway.redaction.policy import DEFAULT_KEY, RedactionPolicy, SecretRule
from foldaway.redaction.rules import COMPANIONS, COOKIE, built_in_rules, select_rules
from foldaway.redaction.shapes import Shapes, ShapeSearch
from foldaway.redaction.structures import (
    COOKIES,
    HEADINGS,
    MANIFESTS,
    match_cookies,
    match_manifest,
    match_table,
)
from foldaway.redaction.text import (
    LINE,
    PRIVATE_KEY,
    SIGNS,
    STRUCTURE_RANK,
    ReaderText,
    Span,
    cut_at_strings,
    is_full_of_codes,
    merge_spans,
    move_hits,
)


class Search(NamedTuple):
    """The secrets of a text, in order; none overlaps another."""

    spans: list[Span]
    slack: int
    """How many bytes could be hidden without a line being too much that is not now."""


class _Pass(NamedTuple):
    """What one of the three passes over a text found, with what it paid."""

    spans: list[Span]
    slack: int
    log: Log


class Finder:
    """The rules of one policy, compiled. Patterns are compiled when their literal first occurs."""

    def __init__(self, policy: RedactionPolicy, rules: Sequence[SecretRule] | None = None) -> None:
        """Take a policy, and the built-in rules if they are not to be all; its own come first."""
        rules = (*policy.rules, *(built_in_rules() if rules is None else rules))
        off = policy.families_off()
        left = select_rules(rules, keep=policy.keep, without=policy.without)
        self._rules = used = [rule for rule in left if rule.family not in off]
        self._personal = frozenset((LINE, *(r.kind for r in rules if r.family in _PERSONAL)))
        self._code = policy.code
        self._keep = policy.keep
        self._anchored: dict[bytes, list[Matcher]] = defaultdict(list)
        for rank, rule in enumerate(used):
            for anchor in rule.anchors:
                self._anchored[anchor.encode().lower()].append(RuleMatcher(rule, anchor, rank))
        for anchors, matcher in _STRUCTURES:
            for anchor in anchors:
                self._anchored[anchor.encode()].append(matcher)
        self._shapes = Shapes(
            [RuleMatcher(rule, "", rank) for rank, rule in enumerate(used) if not rule.anchors]
        )

    def hits(self, data: bytes) -> tuple[list[Hit] | None, Sequence[int]]:
        """Return where literals stand, and where signs that a reader may see something else.

        Where such signs are too many to move the literals, these are not looked for.
        """
        if is_full_of_codes(data):
            return None, range(len(data))
        found = self._automaton.hits(data)
        first = len(self._anchored)
        signs = sorted([start for number, start, _ in found if number >= first])
        return ([hit for hit in found if hit[0] < first] if signs else found), signs

    def hits_in(self, view: ReaderText, hits: Sequence[Hit] | None) -> list[Hit]:
        """Return where literals stand in a view of the text that `hits` are of."""
        if hits is None:
            return self._literals(view.data)
        return move_hits(hits, view, self._literals, self._longest)

    def _literals(self, data: bytes) -> list[Hit]:
        first = len(self._anchored)
        return [hit for hit in self._automaton.hits(data) if hit[0] < first]

    def search(self, data: bytes, hits: Sequence[Hit] | None = None) -> Search:
        """Return the secrets of `data`; `hits` are its literals."""
        hits = self._automaton.hits(data) if hits is None else hits
        anchored = self._by_anchor(data, hits) if hits else _NOTHING
        known = merge_spans(anchored.spans) if anchored.spans else anchored.spans
        places = self._shapes.places(data)
        place = None if places is None else places.after()
        candidate = next_candidate(data, 0)
        paid = [anchored.log]
        shaped = self._by_shape(data, known, paid, places, place) if places and place else _NOTHING
        paid.append(shaped.log)
        fields = self._by_field(data, known, paid, candidate) if candidate else _NOTHING
        if shaped.spans or fields.spans:
            known = merge_spans([*known, *shaped.spans, *fields.spans])
        if known:
            beside = find_paired_ids(data, known, self._personal)
            known = merge_spans([*known, *beside, *find_repeats(data, known, self._personal)])
            known = cut_at_strings(data, known)
        if self._keep:
            known = [span for span in known if span.kind not in self._keep]
        return Search(known, min(anchored.slack, shaped.slack, fields.slack))

    def rule_of(self, span: Span) -> tuple[str, str]:
        """Return the names of the rule that found a secret and of its gate.

        What its structure gave away has no gate, and a name of `STRUCTURES` in place of a rule.
        """
        if 0 <= span.rank < len(self._rules):
            rule = self._rules[span.rank]
            return rule.name, rule.gate
        if span.rank > STRUCTURE_RANK:
            return "companion" if span.kind in COMPANIONS else "repeat", ""
        return _STRUCTURE_OF.get(span.kind, "field"), ""

    @cached_property
    def _tries(self) -> list[list[Matcher]]:
        return [*self._anchored.values(), *([] for _ in SIGNS)]

    @cached_property
    def _words(self) -> list[bool]:
        """For each literal, whether all of its tries want it at the start of a word."""
        return [
            all(isinstance(one, RuleMatcher) and one.starts_word for one in tries)
            for tries in self._tries
        ]

    @cached_property
    def _longest(self) -> int:
        return max(map(len, (*self._anchored, *SIGNS)))

    @cached_property
    def _automaton(self) -> Automaton:
        return Automaton([*self._anchored, *SIGNS])

    def _by_anchor(self, data: bytes, hits: Sequence[Hit]) -> _Pass:
        found: list[Span] = []
        budget = SearchBudget(data, ANCHORED)
        covered = 0
        blanked = b"\x00" in data
        tries, words = self._tries, self._words
        for number, start, end in hits:
            if start < covered < start + REACH and budget.is_empty:
                found.append(budget.line(covered))  # what is named in a block may stand behind it
                covered = found[-1].end
            if start < covered or (words[number] and is_within_word(data, start)):
                continue
            for one in tries[number]:
                tried = one(data, start, end, covered)
                if tried is None:
                    continue
                spans, read, covers = tried
                found += spans
                if spans:
                    covered = max(covered, spans[-1].end) if covers else covered
                    over = budget.is_full(start, len(spans), max(0, spans[-1].end - start))
                elif blanked and _is_beside_hidden(data, start):
                    over = budget.met_hidden(start)
                else:
                    over = budget.spent(start, read)
                if over:
                    found.append(budget.line(start))
                    covered = max(covered, found[-1].end)
                if spans or over:
                    break
        return _Pass(found, budget.slack, budget.log)

    def _by_shape(
        self,
        data: bytes,
        known: Sequence[Span],
        paid: Sequence[Log],
        places: ShapeSearch,
        place: Range | None,
    ) -> _Pass:
        found: list[Span] = []
        done = _Known(known)
        budget = SearchBudget(data, SHAPED, paid)
        covered = 0
        while place is not None:
            first, last = place
            hit = self._shapes.at(data, first, last) if last > covered else None
            if hit is not None:
                one, (at, whole_end), (start, end) = hit
                over = done.over(start)
                if over.kind == LINE and at < over.end:
                    last = over.end
                elif at >= covered and end > over.end:
                    span = one.judge(data, whole_end, start, end)
                    if span is not None:
                        found.append(span)
                        covered = span.end
                    if budget.is_full(at, 1, end - at) if span is not None else budget.spent(at):
                        found.append(budget.line(at))
                        last = covered = max(covered, found[-1].end)
            place = places.after(last)
        return _Pass(found, budget.slack, budget.log)

    def _by_field(
        self, data: bytes, known: Sequence[Span], paid: Sequence[Log], candidate: Candidate | None
    ) -> _Pass:
        found: list[Span] = []
        done = _Known(known)
        budget = SearchBudget(data, FIELDS, paid)
        covered = 0
        blanked = b"\x00" in data
        while candidate is not None:
            start, at = candidate
            skip = at <= covered or (blanked and is_value_hidden(data, at))
            if not skip and known:
                span = done.over(at)
                skip = at < span.end and _AFTER_BARE.match(data, span.end) is not None
                at = span.end if skip and span.kind == LINE else at
            if not skip:
                values, read, resume = secrets_at(data, candidate, code=self._code)
                at = min(at, resume)
                if values:
                    found += values
                    covered = values[-1].end
                    over = budget.is_full(start, len(values), read)
                elif blanked and _is_beside_hidden(data, start):
                    over = budget.met_hidden(start)
                else:
                    over = budget.spent(start, read)
                if over:
                    found.append(budget.line(start))
                    at = covered = max(covered, found[-1].end)
            candidate = next_candidate(data, at)
        return _Pass(found, budget.slack, budget.log)


def _is_beside_hidden(data: bytes, at: int) -> bool:
    return data.find(0, max(0, at - BESIDE), at + BESIDE) >= 0


BESIDE = 512
"""So far from its literal a value stands at most, but for a few."""
_AFTER_BARE = Regex(rb";?(?:[ \r\n]|\Z)|&")
"""What ends a value without quotes, so that nothing of it is left beside the secret in it."""
_STRUCTURES: tuple[tuple[Sequence[str], Matcher], ...] = (
    (BEGINS, partial(match_key, key_block)),
    (ENDS, partial(match_key, key_tail)),
    (BODIES, partial(match_key, key_body)),
    (OBJECTS, partial(match_key, key_object)),
    (COOKIES, match_cookies),
    (HEADINGS, match_table),
    (MANIFESTS, match_manifest),
)
"""What is tried at the literals of structures."""
_NONE = Span(-1, -1, "", 0)
_STRUCTURE_OF = {LINE: "line", PRIVATE_KEY: "key-block", COOKIE: "cookie-header"}
_PERSONAL = ("personal", "mention")
"""Families next to whose secrets an id is not half of a credential."""
_NOTHING = _Pass([], ANY, [])
ANCHORED = Price(line=64, failed=192, found=140)
SHAPED = Price(line=16, failed=100, found=120)
FIELDS = Price(line=128, failed=320, found=250)
"""A tenth of a microsecond each; a literal that leads to nothing costs less, and is rarer."""


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


def finder_for(policy: RedactionPolicy) -> Finder:
    """Return the finder of a policy; policies that differ in their key alone share one."""
    return _finder(replace(policy, key=DEFAULT_KEY))


@lru_cache(maxsize=16)
def _finder(policy: RedactionPolicy) -> Finder:
    return Finder(policy)
