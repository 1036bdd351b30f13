"""The redactor: text in, the text without its secrets and what was found out.

A text that comes in pieces is redacted in constant memory: a piece is read together with what was
before it, and what is near its end waits for the next one. So a secret is found wherever the pieces
are cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from foldaway.errors import InvalidSetting, NotReadable
from foldaway.redaction.finder import Finder, finder_for
from foldaway.redaction.gates import GATES
from foldaway.redaction.mask import Dressing, Vault, placeholder
from foldaway.redaction.matching import Hit, Pattern
from foldaway.redaction.policy import STRUCTURES, RedactionPolicy
from foldaway.redaction.rules import built_in_rules, check_kinds, check_names, check_own, read_rules
from foldaway.redaction.text import LINE, Span, merge_spans, to_reader_text, unify_line_breaks


class Finding(Struct, frozen=True):
    """One secret that was hidden, without its content."""

    kind: str
    start: int
    """Where it was in the text that was given, in characters (in bytes if bytes were given)."""
    end: int
    rule: str = ""
    """The name of the rule that found it, or of `policy.STRUCTURES` if its structure did."""
    gate: str = ""
    """The test that its value passed, if a rule found it; `gates.py` says what each means."""


class Redacted(Struct, frozen=True):
    """A text without its secrets, and what was found."""

    text: str
    findings: tuple[Finding, ...]

    def counts(self) -> Mapping[str, int]:
        """Return how many secrets of each kind were found, most first."""
        return dict(Counter(finding.kind for finding in self.findings).most_common())


class Redactor:
    """Hides secrets as its policy says. A redactor is a function: it fits the port `Redact`."""

    def __init__(
        self,
        policy: RedactionPolicy | None = None,
        *,
        vault: Vault | None = None,
        on_hidden: Callable[[int, int], object] | None = None,
    ) -> None:
        """Take a policy; raise `UnknownName` for a kind or rule that does not exist.

        `on_hidden` is told how many secrets were hidden in how many bytes.
        Raises `NotReadable` or `InvalidSetting` for rules of the user's that cannot be used.
        """
        self.policy = policy = RedactionPolicy() if policy is None else policy
        if not isinstance(cast("object", policy), RedactionPolicy):
            what = f"policy is of type {type(policy).__name__}; give a RedactionPolicy"
            raise InvalidSetting("policy", policy, "a RedactionPolicy", message=what)
        own = (*policy.rules, *(rule for file in policy.rules_files for rule in read_rules(file)))
        check_own(own)
        self.rules = (*own, *built_in_rules())
        """The user's own rules and the built-in ones, those that are off among them."""
        check_kinds(policy.keep, self.rules)
        check_names(policy.without, self.rules)
        self._finder: Finder = finder_for(replace(policy, rules=own, rules_files=()))
        self._vault = vault
        self._on_hidden = on_hidden

    def __call__(self, text: str) -> str:
        """Return `text` without its secrets; raise `NotReadable` for anything but a text."""
        data = _encoded(text)
        spans = self.spans(data)
        return text if not spans else decoded(self.masked(data, spans))

    def redact(self, text: str) -> Redacted:
        """Return `text` without its secrets, and what was found where."""
        data = _encoded(text)
        spans = self.spans(data)
        if not spans:
            return Redacted(text, ())
        findings = tuple(self._findings(data, text, spans))
        return Redacted(decoded(self.masked(data, spans)), findings)

    def spans(self, data: bytes) -> list[Span]:
        """Return the secrets of `data` in order, as offsets into it."""
        text = unify_line_breaks(data)
        hits, signs = self._finder.hits(text)
        view = to_reader_text(text, signs) if signs else None
        if view is None:
            spans = self._settled(text, hits)
        else:
            spans = self._settled(view.data, self._finder.hits_in(view, hits))
        if view is None and data.isascii() and b"\\" not in data:
            return spans
        found: list[Span] = []
        last = 0
        for start, end, kind, rank in spans:
            if view is not None:
                start, end = view.original(start, end)
            start, end = _whole(data, start, end)
            if end > last:
                found.append(Span(max(start, last), end, kind, rank))
                last = end
        return found

    def _settled(self, data: bytes, hits: Sequence[Hit] | None = None) -> list[Span]:
        """Return the secrets of `data`, and those that show only when the first are hidden.

        Hiding a secret changes what stands around the next, and how much a line may cost. So the
        neighbourhoods are read again, or all of the text, until nothing more is found: what comes
        out of a redactor is what it would leave alone.
        """
        found, slack = self._finder.search(data, hits)
        for left in range(MAX_ROUNDS if found else 0, 0, -1):
            data = _blanked(data, found)
            near = _neighbourhoods(data, found) if _weight(found) < slack else data
            if len(near) < len(data) and not self._finder.search(near).spans:
                break
            more, slack = self._finder.search(data)
            if not more:
                break
            if left == 1:
                more = [_from_line(data, more[0])]
            elif len(more) > MAX_MORE + len(data) // 256:
                more = _lines_of(data, more)
            found = merge_spans([*found, *more])
        return found

    def masked(self, data: bytes, spans: Sequence[Span], dressing: Dressing | None = None) -> bytes:
        """Return `data` with a placeholder in place of each span."""
        if self._on_hidden is not None:
            self._on_hidden(len(spans), len(data))
        pieces: list[bytes] = []
        dressing = dressing or Dressing(data)
        last = 0
        for start, end, kind, _ in spans:
            pieces.append(data[last:start])
            last = end
            if kind == LINE:
                pieces.append(dressing.hidden_lines(start, end))
                continue
            mask = placeholder(kind, data[start:end], self.policy.key)
            dressed = dressing.dressed(mask, start, end)
            if self._vault is not None:
                # a number has got quotes, an object a name and its value
                whole = decoded(dressed) if mask in dressed and dressed != mask else ""
                quoted = not whole and data[max(start, 1) - 1 : start] in _QUOTES
                self._vault.put(decoded(mask), data[start:end], whole, quoted=quoted)
            pieces.append(dressed)
        return b"".join((*pieces, data[last:]))

    def finding(self, span: Span) -> Finding:
        """Return a span of `spans` as a finding, with the names of its rule and its gate."""
        return Finding(span.kind, span.start, span.end, *self._finder.rule_of(span))

    def explain(self, name: str) -> str:
        """Return what a rule, or a structure, that a finding names looks for, with an example."""
        rule = next((rule for rule in self.rules if rule.name == name), None)
        if rule is None:
            return STRUCTURES[name]
        from foldaway.redaction.examples import load_examples  # read for nothing else

        examples = load_examples().get(name)
        such = f"; finds {''.join(examples.true[0])!r}" if examples else ""
        return f"gate {rule.gate} is {GATES[rule.gate].meaning}{such}"

    def _findings(self, data: bytes, text: str, spans: Sequence[Span]) -> Iterator[Finding]:
        """Yield the findings with their places in characters."""
        shift = at = 0
        for span in spans:
            if len(data) != len(text):
                before, inside = data[at : span.start], data[span.start : span.end]
                shift += len(before) - len(decoded(before))
                start = span.start - shift
                shift += len(inside) - len(decoded(inside))
                at = span.end
                span = span._replace(start=start, end=span.end - shift)
            yield self.finding(span)

    def stream(self, on_finding: Callable[[Finding, int], object] | None = None) -> Stream:
        """Return a redactor for one long text that comes in pieces.

        `on_finding` is told of each secret: its place is in bytes of all pieces, with its line.
        """
        if on_finding is None:
            return Stream(self)
        return Stream(self, on_span=lambda span, line: on_finding(self.finding(span), line))


def redact(text: str) -> str:
    """Return `text` without its secrets, under the default policy.

    Redacting twice is redacting once, and JSON stays JSON.
    """
    return _default()(text)


@cache
def _default() -> Redactor:
    return Redactor()


def _encoded(text: str) -> bytes:
    if not isinstance(cast("object", text), str):
        kind = type(text).__name__
        is_bytes = isinstance(text, (bytes, bytearray, memoryview))
        remedy = "decode it first, or feed it to a stream" if is_bytes else "redact each text of it"
        raise NotReadable(f"is of type {kind}, not a text", where="$", remedy=remedy)
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    """Return bytes that came from a text as text again, lone surrogates included."""
    return data.decode("utf-8", "surrogatepass")


MAX_ROUNDS = 4
MAX_MORE = 16
"""So many may show up in a second round, and more in a long text; else their lines are hidden."""
NEAR = 512


A_LINE = 128
"""What a line can lose by rounding: the bytes that give it one try of a field."""


def _weight(spans: Sequence[Span]) -> int:
    """Return by how many bytes, at most, hiding these spans shortens what lines may cost."""
    return sum([span.end - span.start for span in spans]) + A_LINE * len(spans)


def _lines_of(data: bytes, spans: Sequence[Span]) -> list[Span]:
    lines: list[Span] = []
    end = -1
    for span in spans:
        if span.start > end:
            start = data.rfind(b"\n", max(end, 0), span.start) + 1
            end = data.find(b"\n", span.end)
            end = len(data) if end < 0 else end
            lines.append(Span(start, end, LINE, -1))
    return lines


def _from_line(data: bytes, span: Span) -> Span:
    """Return all from the line of `span` on: if no end is in sight, the rest is hidden."""
    return Span(data.rfind(b"\n", 0, span.start) + 1, len(data), LINE, -1)


def _blanked(data: bytes, spans: Sequence[Span]) -> bytes:
    pieces: list[bytes] = []
    last = 0
    for span in spans:
        pieces += (data[last : span.start], bytes(span.end - span.start))
        last = span.end
    return b"".join((*pieces, data[last:]))


def _neighbourhoods(data: bytes, spans: Sequence[Span]) -> bytes:
    """Return what stands near the spans, as one text."""
    pieces: list[bytes] = []
    start = end = -1
    for span in spans:
        if span.start - NEAR > end:
            pieces.append(data[max(start, 0) : max(end, 0)])
            start = max(0, span.start - NEAR)
        end = span.end + NEAR
    return b"\n\n".join((*pieces, data[max(start, 0) : end]))


def _whole(data: bytes, start: int, end: int) -> tuple[int, int]:
    r"""Move a span off the middle of a character or of an escape such as `\u0041` or `\n`."""
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    while start > 0 and data[start] & 0xC0 == 0x80:
        start -= 1
    slash = data.rfind(b"\\u", max(0, start - 5), start + 1)
    if slash >= 0 and _is_escape(data, slash):
        start = min(max(start, slash + 6), end)
    if data[start : start + 1] in _ESCAPED:
        before = data[max(0, start - 64) : start]
        start -= len(before) - len(before.rstrip(b"\\"))
    tail = data.rfind(b"\\", max(start, end - 6), end)
    if tail >= 0 and _is_escape(data, tail):
        end = max(end, tail + (6 if data[tail + 1 : tail + 2] == b"u" else 2))
    return start, min(end, len(data))


_QUOTES = (b'"', b"'")
_ESCAPED = (b"n", b"r", b"t", b"b", b"f")


def _is_escape(data: bytes, at: int) -> bool:
    """Whether the backslash at `at` is not itself escaped."""
    count = 0
    while at - count > 0 and count < 64 and data[at - count - 1] == 92:
        count += 1
    return count % 2 == 0


BLOCK = 1 << 19
"""Bytes that are read at once; smaller pieces wait, larger ones are cut. So few that the account of
a text pays for a secret on every line."""
CONTEXT = 16_384
"""Bytes before a piece that its rules may look back to: more than any of them does."""
HOLD = 32_768
"""Bytes at the end of a piece that wait for the next: more than any rule reads ahead."""
LONGEST = 1 << 19
"""A secret that is still open after this many bytes is hidden so far, and then to its end."""
NEAR_END = 64
"""A secret that ends so near to the end of a piece may go on in the next."""
_REST = Pattern(r"[A-Za-z0-9+/=_.~%-]*")
_REST_OF_KEY = Pattern(r"(?:[A-Za-z0-9+/=\s]|\\{1,6}[nr])*")


class _Behind(Struct):
    """What has passed of a stream: how much, and how its end is read together with what comes."""

    size: int = 0
    lines: int = 0
    tail: bytes = b""
    starts_line: bool = True
    in_string: bool = False
    open_kind: str = ""
    """The kind of a secret that was hidden before its end came."""


class Stream:
    """Takes bytes in pieces and gives back bytes without secrets; keeps about a block of them."""

    def __init__(
        self,
        redactor: Redactor,
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
        self._enough = block + hold
        self._hold = hold
        self._context = context
        self._behind = _Behind()
        self._waiting = bytearray()

    def feed(self, piece: bytes | bytearray | memoryview) -> bytes:
        """Take the next piece; return what is settled, often nothing."""
        if not isinstance(cast("object", piece), (bytes, bytearray, memoryview)):
            kind = type(piece).__name__
            remedy = "encode it first" if isinstance(piece, str) else "feed it in pieces of bytes"
            raise NotReadable(f"is of type {kind}, not bytes", where="$", remedy=remedy)
        out: list[bytes] = []
        at = 0
        while at < len(piece):
            part = piece[at : at + max(self._hold, self._enough - len(self._waiting))]
            self._waiting += part
            at += len(part)
            if len(self._waiting) >= self._enough:
                out.append(self._settled(last=False))
        return b"".join(out)

    def finish(self) -> bytes:
        """Return the rest. Afterwards the stream is as new."""
        rest = self._settled(last=True)
        self._behind = _Behind()
        return rest

    def _settled(self, *, last: bool) -> bytes:
        behind = self._behind
        waiting = self._without_rest(bytes(self._waiting))
        window = behind.tail + waiting
        floor = len(behind.tail)
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
            window, from_line_start=behind.starts_line, floor=floor, inside=behind.in_string
        )
        out = self._redactor.masked(window[:cut], taken, dressing)[floor:]
        behind.in_string = dressing.is_inside_string(cut)
        start = max(0, cut - self._context)
        starts_line = (behind.starts_line and start == 0) or window[start - 1 : start] == b"\n"
        behind.starts_line, behind.tail = starts_line, window[start:cut]
        self._waiting = bytearray(window[cut:])
        return out

    def _tell(self, window: bytes, spans: Sequence[Span], floor: int, cut: int) -> None:
        """Say where the secrets are, and count what has passed."""
        at, behind = floor, self._behind
        shift = behind.size - floor
        for span in spans:
            behind.lines += window.count(b"\n", at, span.start)
            at = span.start
            if self._on_span is not None:
                moved = span._replace(start=span.start + shift, end=span.end + shift)
                self._on_span(moved, behind.lines + 1)
        behind.lines += window.count(b"\n", at, cut)
        behind.size += cut - floor

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
        self._behind.open_kind = span.kind
        return cut

    def _without_rest(self, waiting: bytes) -> bytes:
        """Leave out what belongs to a secret that was hidden before it ended."""
        if not self._behind.open_kind:
            return waiting
        rest = (_REST_OF_KEY if self._behind.open_kind == "private-key" else _REST).at(waiting, 0)
        size = 0 if rest is None else rest[0][1]
        self._behind.size += size
        self._behind.lines += waiting.count(b"\n", 0, size)
        waiting = waiting[size:]
        if waiting:
            self._behind.open_kind = ""
        return waiting


def _between(window: bytes, cut: int, floor: int) -> int:
    """Return a cut that parts no number, no word and no escape, if there is one near."""
    near = max(floor, cut - NEAR_END)
    return near + len(window[near:cut].rstrip(_WORD)) or cut


_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.+-\\"
