"""One rule tried at one place: a bounded match, then a gate."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

from holdfast.redaction.cookies import cookies, is_hidden
from holdfast.redaction.gates import GATES
from holdfast.redaction.keyblocks import Key
from holdfast.redaction.manifests import values_of_secret
from holdfast.redaction.matching import Pattern, compiled
from holdfast.redaction.pieces import pieces_after
from holdfast.redaction.randomness import is_unspeakable, looks_random
from holdfast.redaction.rule import STRUCTURE_RANK, SecretRule
from holdfast.redaction.span import PRIVATE_KEY, Span
from holdfast.redaction.tables import cells_below

REACH = 8192
"""No rule looks further than this from its anchor, except over the body of a private key."""

KEY_READ = 128
"""What the search for the end of a key counts for: it costs as much as three tries."""


class Tried(NamedTuple):
    """What a try gave: the secrets, none where it failed, and how many bytes it read."""

    spans: Sequence[Span]
    read: int
    covers: bool = True
    """Whether there is nothing else to look for up to the end of the last of them."""


_FAILED = Tried((), 0)


class Try(Protocol):
    """What is done where a literal stands."""

    def __call__(self, data: bytes, start: int, end: int, covered: int) -> Tried | None:
        """Try a rule at a hit; `None` where there was nothing to try."""
        ...


class RuleTry:
    """A rule, tried where its literal stands."""

    def __init__(self, rule: SecretRule, anchor: str, rank: int) -> None:
        self.rule = rule
        self._rank = rank
        self._literal = b"" if rule.ignore_case else anchor.encode()
        self._gate = GATES[rule.gate]
        self.starts_word = not rule.inside_word and not rule.before
        self._joins = rule.family == "vendor" and rule.before == 0

    @cached_property
    def pattern(self) -> Pattern:
        """The rule's own pattern, compiled when it is first needed."""
        return _shared(("(?i)" if self.rule.ignore_case else "") + self.rule.pattern)

    @cached_property
    def group(self) -> int:
        """The number of the group that is hidden."""
        return self.pattern.groups.get(b"value", 0)

    def __call__(self, data: bytes, start: int, end: int, covered: int) -> Tried | None:
        """Try the rule; a token that is broken in two gives two spans."""
        if self._literal and data[start:end] != self._literal:
            return None
        if self.rule.before:
            return Tried(self._around(data, start, end, covered), 2 * self.rule.before)
        if self.starts_word and start and not starts_word(data, start):
            return None
        found = self.pattern.at(data, start, start + REACH)
        if found is None and not self._joins:
            return _FAILED
        read = 0
        if found is not None:
            read = found[0][1] - start
            over = _is_over_mask(data, start, found[0][1])
            span = None if over else self.judged(data, found[0][1], *found[self.group])
            if span is not None:
                if found[0][1] == start + REACH and (more := _MORE.at(data, start + REACH)):
                    return Tried([span._replace(end=more[0][1])], read)
                if self.rule.in_pieces:
                    spread = pieces_after(data, span.start, span.end)
                    return Tried([span._replace(start=a, end=b) for a, b in spread], read)
                joined = self._joined(data, start, span.end) if self._joins else None
                return Tried(joined or [span], read)
        return Tried(self._joined(data, start, 0) if self._joins else [], read)

    def judged(self, data: bytes, whole_end: int, start: int, end: int) -> Span | None:
        """Return the secret of a match that ends at `whole_end`, if its value is one."""
        if not self.rule.open_end and _goes_on(data, whole_end):
            return None
        if _is_after_string(data, start) or not self._gate(data[start:end]):
            return None
        if self.rule.not_after:
            line = data.rfind(b"\n", max(0, start - 80), start) + 1
            not_after = _shared(f"(?i)(?:{self.rule.not_after})$")
            if not_after.after(data[max(line, start - 80) : start]):
                return None
        return Span(start, end, self.rule.kind, self._rank)

    def _around(self, data: bytes, start: int, end: int, covered: int) -> list[Span]:
        at = max(covered, start - self.rule.before)
        for _ in range(_MOST_TRIES):
            if at > start:
                break
            found = self.pattern.after(data, at, end + 1024)
            if found is None or found[0][0] > start:
                return []
            at, stop = found[0]
            if (
                stop >= end
                and (self.rule.inside_word or at == 0 or starts_word(data, at))
                and not _is_over_mask(data, at, stop)
            ):
                span = self.judged(data, stop, *found[self.group])
                if span is not None:
                    return [span]
            at = max(at + 1, stop if stop <= start else 0)
        return []

    def _joined(self, data: bytes, start: int, known: int) -> list[Span]:
        """Try the pattern over a break in the token: a line end, or a string put together."""
        parts = None if self.group else _BROKEN.match(data, start)
        if parts is None or (known and known != parts.end(1)):
            return []
        first_end = parts.end(1)
        second_start, rest = parts.start(2), parts[2]
        whole = data[start:first_end] + rest
        found = self.pattern.at(whole, 0)
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


@lru_cache(maxsize=4096)  # more than there are rules
def _shared(pattern: str) -> Pattern:
    """Return a compiled pattern; the anchors of a rule, and the redactors, share one."""
    return compiled(pattern)


def _is_after_string(data: bytes, start: int) -> bool:
    """Whether the quote before a value closes a string of JSON, and another item follows."""
    return start > 0 and data[start - 1] in b"\"'`" and _JOINT.match(data, start) is not None


_JOINT = re.compile(rb"[ \t]{0,4}[,:\]}]")


def _is_over_mask(data: bytes, start: int, end: int) -> bool:
    """Whether a match reaches over what is hidden already; the same text read first would not."""
    return data.find(b"\x00", start, end) >= 0


_MOST_TRIES = 3
"""From so many places before an anchor a pattern is tried: a later one mostly finds the same."""
_MORE = compiled(r"[A-Za-z0-9_.+/=-]*")
_BROKEN = re.compile(
    rb"([A-Za-z0-9_.+/=-]{4,400}+)"
    rb"(?:\\{1,4}+[nr]|\\?\r?\n[ \t]{0,24}+|\\{0,6}+[\"'`]\s{0,4}+[+.&]?\s{0,24}+\\{0,6}+[\"'`])"
    rb"([A-Za-z0-9_.+/=-]{4,400}+)"
)


def _is_piece(rest: bytes) -> bool:
    return not rest.isalpha() or looks_random(rest) or is_unspeakable(rest)


class KeyTry:
    """A private key, tried where a line begins or ends one."""

    def __init__(self, block: Callable[[bytes, int, int], Key]) -> None:
        self._block = block

    def __call__(self, data: bytes, start: int, end: int, covered: int) -> Tried | None:
        """Return the whole key."""
        span, read = self._block(data, start, covered)
        return Tried([] if span is None else [Span(*span, PRIVATE_KEY, -1)], max(KEY_READ, read))


class CookieTry:
    """A header of cookies."""

    def __call__(self, data: bytes, start: int, end: int, covered: int) -> Tried | None:
        """Return the values of the header that are secrets."""
        if is_hidden(data, start):
            return None
        found, read = cookies(data, start)
        return Tried([Span(a, b, "cookie", STRUCTURE_RANK) for a, b in found], read)


class TableTry:
    """A column of secrets below its heading; other columns may have others."""

    def __call__(self, data: bytes, start: int, end: int, covered: int) -> Tried | None:
        """Return the cells of the column that are secrets."""
        found, read = cells_below(data, start)
        return Tried([Span(*cell, STRUCTURE_RANK) for cell in found], read, covers=False)


class ManifestTry:
    """A Kubernetes Secret, tried where it says what it is."""

    def __call__(self, data: bytes, start: int, end: int, covered: int) -> Tried | None:
        """Return its values; they may stand before its kind."""
        found, read = values_of_secret(data, start)
        return Tried([Span(a, b, "secret", STRUCTURE_RANK) for a, b in found], read, covers=False)


def _goes_on(data: bytes, at: int) -> bool:
    """Whether a word goes on at `at`, or a number with its fraction."""
    after = data[at : at + 1]
    return after.isalnum() or (
        after == b"." and data[at - 1 : at].isdigit() and data[at + 1 : at + 2].isdigit()
    )


def starts_word(data: bytes, at: int) -> bool:
    r"""Whether nothing of a word stands before `at`; `\n`, `\x00`, `\u0022`, `%3D` are none."""
    before = data[at - 1]
    if not _IN_WORD[before]:
        return True
    if at >= 2 and data[at - 2] == 92:
        return before in b"nrtbfv0"
    if at >= 4 and data[at - 4] == 92:
        return data[at - 3] == 120 or data[at - 3 : at] == b"000"
    return (at >= 3 and data[at - 3] == 37) or (at >= 6 and data[at - 6 : at - 4] == b"\\u")


def is_within_word(data: bytes, at: int) -> bool:
    """Whether a word goes on at `at`, as far as one look tells: most literals are met so."""
    return (
        at > 5
        and _IN_WORD[data[at - 1]] == 1
        and data[at - 2] != 92
        and data[at - 3] != 37
        and data[at - 4] != 92
        and data[at - 6] != 92
    )


_IN_WORD = bytes(c < 128 and (c == 95 or chr(c).isalnum()) for c in range(256))
