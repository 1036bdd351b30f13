"""Redaction of a text that comes in pieces, in constant memory.

A piece is read together with what stood before it, and what stands near its end waits for the next
one; so a secret is found wherever the pieces are cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from holdfast.redaction.mask import Dressing
from holdfast.redaction.matching import Pattern
from holdfast.redaction.text import Span

BLOCK = 1 << 19
"""Bytes that are read at once; smaller pieces wait, larger ones are cut. So few that the account of
a text pays for a secret on every line."""
CONTEXT = 16_384
"""Bytes before a piece that its rules may look back to: more than any of them does."""
HOLD = 32_768
"""Bytes at the end of a piece that wait for the next: more than any rule reads ahead."""
LONGEST = 1 << 19
"""A secret that is still open after so many bytes is hidden so far, and then to its end."""
NEAR_END = 64
"""A secret that ends so near to the end of a piece may go on in the next."""
_REST = Pattern(r"[A-Za-z0-9+/=_.~%-]*")
_REST_OF_KEY = Pattern(r"(?:[A-Za-z0-9+/=\s]|\\{1,6}[nr])*")


class SpanRedactor(Protocol):
    """What a stream asks of a redactor."""

    def spans(self, data: bytes) -> list[Span]:
        """Return the secrets of `data` in order, as offsets into it."""
        ...

    def masked(self, data: bytes, spans: Sequence[Span], dressing: Dressing | None = None) -> bytes:
        """Return `data` with a placeholder in place of each span."""
        ...


class Stream:
    """Takes bytes in pieces and gives back bytes without secrets; keeps about a block of them."""

    def __init__(
        self,
        redactor: SpanRedactor,
        *,
        block: int = BLOCK,
        hold: int = HOLD,
        context: int = CONTEXT,
        on_span: Callable[[Span, int], object] | None = None,
    ) -> None:
        """Take a redactor, and who is told of each secret: its place in the input, its line."""
        self.counts: Counter[str] = Counter()
        """How many secrets of each kind were found so far."""
        self._redactor = redactor
        self._on_span = on_span
        self._passed, self._line = 0, 1
        self._block = block
        self._hold = hold
        self._context = context
        self._before = b""
        self._waiting: list[bytes] = []
        self._size = 0
        self._starts_line = True
        self._open = ""
        self._inside = False

    def feed(self, piece: bytes) -> bytes:
        """Take the next piece; return what is settled, often nothing."""
        out: list[bytes] = []
        enough = self._block + self._hold
        at = 0
        while at < len(piece):
            part = piece[at : at + max(self._hold, enough - self._size)]
            self._waiting.append(part)
            self._size += len(part)
            at += len(part)
            if self._size >= enough:
                out.append(self._settled(last=False))
        return b"".join(out)

    def finish(self) -> bytes:
        """Return the rest. Afterwards the stream is as new."""
        rest = self._settled(last=True)
        self._before, self._starts_line, self._open, self._inside = b"", True, "", False
        self._passed, self._line = 0, 1
        return rest

    def _settled(self, *, last: bool) -> bytes:
        waiting = self._without_rest(b"".join(self._waiting))
        window = self._before + waiting
        floor = len(self._before)
        spans = [span for span in self._redactor.spans(window) if span.end > floor]
        cut = len(window) if last else max(floor, len(window) - self._hold)
        cut = self._wait_for(spans, window, cut, floor, last=last)
        cut = cut if last else _between(window, cut, floor)
        taken = [span._replace(start=max(span.start, floor)) for span in spans if span.start < cut]
        if taken:
            cut = max(cut, taken[-1].end)
        self.counts.update(span.kind for span in taken)
        if self._on_span is not None:
            self._tell(window, taken, floor, cut)
        dressing = Dressing(
            window, from_line_start=self._starts_line, floor=floor, inside=self._inside
        )
        out = self._redactor.masked(window[:cut], taken, dressing)[floor:]
        self._inside = dressing.is_inside_string(cut)
        start = max(0, cut - self._context)
        self._starts_line = (self._starts_line and start == 0) or window[start - 1 : start] == b"\n"
        self._before = window[start:cut]
        self._waiting = [window[cut:]]
        self._size = len(window) - cut
        return out

    def _tell(self, window: bytes, spans: Sequence[Span], floor: int, cut: int) -> None:
        """Say where the secrets are, and count what has passed."""
        at = floor
        for span in spans:
            self._line += window.count(b"\n", at, span.start)
            at = span.start
            shift = self._passed - floor
            if self._on_span is not None:
                moved = span._replace(start=span.start + shift, end=span.end + shift)
                self._on_span(moved, self._line)
        self._line += window.count(b"\n", at, cut)
        self._passed += cut - floor

    def _wait_for(
        self, spans: list[Span], window: bytes, cut: int, floor: int, *, last: bool
    ) -> int:
        """Return where to cut so that a secret that may go on is not cut off."""
        if last or not spans:
            return cut
        span = next((span for span in reversed(spans) if span.start < cut), None)
        if span is None or span.end < len(window) - NEAR_END:
            return cut
        if len(window) - max(span.start, floor) < LONGEST:
            return max(span.start, floor)
        self._open = span.kind
        return cut

    def _without_rest(self, waiting: bytes) -> bytes:
        """Leave out what belongs to a secret that was hidden before it ended."""
        if not self._open:
            return waiting
        rest = (_REST_OF_KEY if self._open == "private-key" else _REST).at(waiting, 0)
        size = 0 if rest is None else rest[0][1]
        self._passed += size
        self._line += waiting.count(b"\n", 0, size)
        waiting = waiting[size:]
        if waiting:
            self._open = ""
        return waiting


def _between(window: bytes, cut: int, floor: int) -> int:
    """Return a cut that parts no number, no word and no escape, if there is one near."""
    near = max(floor, cut - NEAR_END)
    return near + len(window[near:cut].rstrip(_WORD)) or cut


_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.+-\\"
