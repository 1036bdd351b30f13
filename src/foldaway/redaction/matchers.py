"""Matchers: what is tried where a literal occurs. A rule is one bounded match, then a gate."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import TypeAlias

from foldaway._core import Regex
from foldaway.redaction.gates import GATES, is_unnamed
from foldaway.redaction.keys import KeySearch
from foldaway.redaction.matching import Pattern, Range
from foldaway.redaction.policy import SecretRule
from foldaway.redaction.text import PRIVATE_KEY, MatchResult, Span
from foldaway.redaction.values import is_unspeakable, looks_random

REACH = 8192
"""No rule looks further than this from its anchor, except over the body of a private key."""

KEY_READ = 128
"""What the search for the end of a key costs at least, in bytes: as much as three matches."""


_FAILED = MatchResult((), 0)


Matcher: TypeAlias = Callable[[bytes, int, int, int], "MatchResult | None"]
"""What is tried where a literal occurs: it takes the text, where the literal starts and ends, and
up to where the text is covered by secrets. `None` if there was nothing to try."""


class RuleMatcher:
    """A rule, tried at each of its literals."""

    def __init__(self, rule: SecretRule, anchor: str, rank: int) -> None:
        self.rule = rule
        self._rank = rank
        self._literal = b"" if rule.ignore_case else anchor.encode()
        self._gate = GATES[rule.gate].accepts
        self.starts_word = not rule.inside_word and not rule.before
        self._is_breakable = rule.family == "vendor" and rule.before == 0

    @cached_property
    def pattern(self) -> Pattern:
        """The rule's own pattern, compiled when it is first needed."""
        return _shared_pattern(("(?i)" if self.rule.ignore_case else "") + self.rule.pattern)

    @cached_property
    def group(self) -> int:
        """The number of the group that is hidden."""
        return self.pattern.groups.get(b"value", 0)

    def __call__(self, data: bytes, start: int, end: int, covered: int) -> MatchResult | None:
        """Match the rule; a token that is broken in two gives two spans."""
        if self._literal and data[start:end] != self._literal:
            return None
        if self.rule.before:
            return MatchResult(self._match_around(data, start, end, covered), 2 * self.rule.before)
        if self.starts_word and start and not starts_word(data, start):
            return None
        found = self.pattern.at(data, start, start + REACH)
        if found is None and not self._is_breakable:
            return _FAILED
        read = 0
        if found is not None:
            read = found[0][1] - start
            over = _is_over_mask(data, start, found[0][1])
            span = None if over else self.judge(data, found[0][1], *found[self.group])
            if span is not None:
                if found[0][1] == start + REACH and (more := _MORE.at(data, start + REACH)):
                    return MatchResult([span._replace(end=more[0][1])], read)
                if self.rule.in_pieces:
                    spread = pieces_after(data, span.start, span.end)
                    return MatchResult([span._replace(start=a, end=b) for a, b in spread], read)
                broken = self._match_broken(data, start, span.end) if self._is_breakable else None
                return MatchResult(broken or [span], read)
        return MatchResult(self._match_broken(data, start, 0) if self._is_breakable else [], read)

    def judge(self, data: bytes, whole_end: int, start: int, end: int) -> Span | None:
        """Return the secret at `start` to `end`, if it is one; the match ends at `whole_end`."""
        if not self.rule.open_end and _goes_on(data, whole_end):
            return None
        if _is_after_string(data, start) or not self._gate(data[start:end]):
            return None
        if self.rule.not_after:
            line = data.rfind(b"\n", max(0, start - 80), start) + 1
            not_after = _shared_pattern(f"(?i)(?:{self.rule.not_after})$")
            if not_after.after(data[max(line, start - 80) : start]):
                return None
        return Span(start, end, self.rule.kind, self._rank)

    def _match_around(self, data: bytes, start: int, end: int, covered: int) -> list[Span]:
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
                span = self.judge(data, stop, *found[self.group])
                if span is not None:
                    return [span]
            at = max(at + 1, stop if stop <= start else 0)
        return []

    def _match_broken(self, data: bytes, start: int, known: int) -> list[Span]:
        """Match the pattern across a break in the token: the end of a line or of a string."""
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
def _shared_pattern(pattern: str) -> Pattern:
    """Return a pattern; the anchors of a rule, and the redactors, share one."""
    return Pattern(pattern)


def _is_after_string(data: bytes, start: int) -> bool:
    """Whether the quote before a value closes a JSON string, and another item follows."""
    return start > 0 and data[start - 1] in b"\"'`" and _JOINT.match(data, start) is not None


_JOINT = Regex(rb"[ \t]{0,4}[,:\]}]")


def _is_over_mask(data: bytes, start: int, end: int) -> bool:
    """Whether a match includes something hidden; before that was hidden it would not have."""
    return data.find(b"\x00", start, end) >= 0


_MOST_TRIES = 3
"""From how many places before an anchor a pattern is tried: a later one mostly finds the same."""
_MORE = Pattern(r"[A-Za-z0-9_.+/=-]*")
_BROKEN = Regex(
    rb"([A-Za-z0-9_.+/=-]{4,400}+)"
    rb"(?:\\{1,4}+[nr]|\\?\r?\n[ \t]{0,24}+|\\{0,6}+[\"'`]\s{0,4}+[+.&]?\s{0,24}+\\{0,6}+[\"'`])"
    rb"([A-Za-z0-9_.+/=-]{4,400}+)"
)


def _is_piece(rest: bytes) -> bool:
    return not rest.isalpha() or looks_random(rest) or is_unspeakable(rest)


def match_key(
    find: Callable[[bytes, int, int], KeySearch], data: bytes, start: int, end: int, covered: int
) -> MatchResult | None:
    """Match a private key at a line that begins or ends one, or within its body."""
    span, read = find(data, start, covered)
    return MatchResult([] if span is None else [Span(*span, PRIVATE_KEY, -1)], max(KEY_READ, read))


def _goes_on(data: bytes, at: int) -> bool:
    """Whether a word goes on at `at`, or a number with its fraction."""
    after = data[at : at + 1]
    return after.isalnum() or (
        after == b"." and data[at - 1 : at].isdigit() and data[at + 1 : at + 2].isdigit()
    )


def starts_word(data: bytes, at: int) -> bool:
    r"""Whether no word is before `at`; `\n`, `\x00`, `\u0022`, `%3D` are not words."""
    before = data[at - 1]
    if not _IN_WORD[before]:
        return True
    if at >= 2 and data[at - 2] == 92:
        return before in b"nrtbfv0"
    if at >= 4 and data[at - 4] == 92:
        return data[at - 3] == 120 or data[at - 3 : at] == b"000"
    return (at >= 3 and data[at - 3] == 37) or (at >= 6 and data[at - 6 : at - 4] == b"\\u")


def is_within_word(data: bytes, at: int) -> bool:
    """Whether a word goes on at `at`, by a quick look: most literals are within one."""
    return (
        at > 5
        and _IN_WORD[data[at - 1]] == 1
        and data[at - 2] != 92
        and data[at - 3] != 37
        and data[at - 4] != 92
        and data[at - 6] != 92
    )


_IN_WORD = bytes(c < 128 and (c == 95 or chr(c).isalnum()) for c in range(256))


MAX_PIECES = 64
"""Most pieces of one token."""
PIECE_REACH = 4_096
"""Longest piece, with what separates it from the one before."""
DOTS = 2
"""Fewest dots of a token."""


def pieces_after(data: bytes, start: int, end: int) -> list[Range]:
    """Return the pieces of the token that starts at `start`, also those after `end`.

    JSON Web Tokens are long, so people break them into strings that are joined, or into lines of a
    comment or a document: `"eyJ…" + ".eyJ…" + ".sig"`.
    """
    quote = _OPENED.search(data, max(0, start - 8), start)
    end = _own_end(data, end)
    found = [(start, end)]
    dots = data.count(b".", start, end)
    while len(found) <= MAX_PIECES:
        piece = _STRING.match(data, end, end + PIECE_REACH) if quote else None
        strings = piece is not None
        if piece is None and (quote is None or data[end : end + 1] in (b"\n", b"\r")):
            piece = _LINE.match(data, end, end + PIECE_REACH)
        if piece is None or not _belongs(data, piece, dots, strings=strings):
            break
        end = piece.end(2)
        dots += piece[0].count(b".")
        found.append(piece.span(2))
    return found


def _own_end(data: bytes, end: int) -> int:
    """Return the end of the first piece: a dot at `end` belongs to it if nothing is signed or the
    token goes on elsewhere, and so do one or two letters after the dot.
    """
    more = _DOT.match(data, end)
    return end if more is None else more.end()


def _belongs(data: bytes, piece: re.Match[bytes], dots: int, *, strings: bool) -> bool:
    joint, value = piece[1], piece[2]
    if strings and not _PARTS.search(joint):
        return True
    if strings and dots >= DOTS and data[piece.start() - 1] != ord("."):
        return False
    if strings and value == b"." and dots < DOTS:
        return True
    is_dotted = value.startswith(b".") or (dots < DOTS and (b"." in joint or b"." in value))
    return (is_dotted or is_unnamed(value) or is_unspeakable(value)) and len(value) > 1


_PARTS = Regex(rb",|\\[nr]$")
"""What may be between two strings that are unrelated."""
_OPENED = Regex(rb"""["'`]$""")
_DOT = Regex(rb"""\.[A-Za-z0-9_-]{0,2}(?=\\{0,6}["'`]|\\{1,2}[nr]|[ \t]{0,4}\\?\r?\n)""")
_PART = rb"(\.{0,2}[A-Za-z0-9_=-][A-Za-z0-9_=.-]*+|\.)"
_STRING = Regex(
    rb"""((?:\\{0,6}["'`]\s{0,40}+"""
    rb"""(?:\)?\.append\(|<<|\|\||[+.&,])?[ \t]{0,4}+\\?\s{0,40}+[bruf]?\\{0,6}["'`]"""
    rb"""|\\\r?\n[ \t]{0,40}+|\\{1,2}[nr]))"""
    + _PART
    + rb"""(?=\\{0,6}["'`](?!\s{0,4}:)|\\\r?\n)"""
)
_LINE = Regex(
    rb"([ \t]{0,4}\\?\r?\n[ \t]{0,40}+(?:(?:\#|//|\*|>|;)[ \t]{1,8})?(?:\.\r?\n[ \t]{0,40}+)?)"
    + _PART
    + rb"""(?=[ \t]{0,4}\\?(?:\r?\n|\Z)|["'`<),])"""
)
