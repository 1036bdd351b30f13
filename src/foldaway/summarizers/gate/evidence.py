"""What a note is checked against: everything that was really said, as sets of what it names, and
where in the log words and numbers are: a number is checked against what its sentence is about.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import get_args

from msgspec import Struct

from foldaway._core import Redact, Regex
from foldaway.facts import RUNS, Name, Summary, bare, lookup_terms, words_in
from foldaway.facts.languages import Language, phrases_for
from foldaway.summarizers.gate.known_state import KnownState, known_state
from foldaway.summarizers.material import Material
from foldaway.transcript import Message, Text, ToolCall, ToolResult

MARKS = tuple(f"({phrases_for(one).not_verified})" for one in get_args(Language))
"""What was put behind a sentence that could not be verified, in notes of an older state."""
_ASK_CHARS = 6_000
"""How much of an ask is read; a note quotes a sentence or two of it. Chosen."""
_LONGEST_RUN_CHARS = 2_000
"""Longer ones are data."""
_LEAST_HIDDEN_CHARS = 4
"""A shorter piece of a secret is in many other words."""
_NUMBERS = Regex(r"(?<![^\W_])\d+(?:[.:-]\d+)*")
"""With no letter before it; a unit may follow."""
_COUNTED = Regex(r"[$#+~-]?\d[\d.:%-]*[A-Za-z]{0,3}\Z")
_GROUPS = Regex(r"\d+|[.:-]")
_MOST_GROUPS = 4
"""Of figures with points between them that are also looked up in part; 1.2 is in 1.2.3."""
_LEAST_CHARS = 3
"""Shorter words and numbers are in every message."""
_LONGEST_NUMBER_CHARS = 64
"""Longer ones are data."""
_MOST_TERMS = 48
"""That a sentence is compared by, so that checking is linear."""


class SaidByUser(Struct, frozen=True, gc=False):
    """What the user wrote in one message, without what agents put into it."""

    label: str
    text: str
    answered: bool = False
    live: bool = False
    """Whether it stays outside the summary, word for word."""


class TermIndex(Struct, frozen=True, kw_only=True):
    """Where each term is. A place is the position of a message, or one behind them for what an
    earlier note said.
    """

    by_term: dict[str, list[int]]
    """Ascending."""
    by_label: dict[str, int]
    folded: tuple[tuple[int, int], ...]
    """Where a sentence without a source may have its numbers from, in order."""
    given: frozenset[str]
    """Numbers that the model was given beside the log: the date, a focus."""


class Evidence(Struct, frozen=True, kw_only=True):
    """All that a note may name, in small letters, and all that the user asked."""

    asks: dict[str, SaidByUser]
    """By label, oldest first."""
    labels: dict[str, str]
    """Every id of a message, and the label that is used for it."""
    runs: frozenset[str]
    words: frozenset[str]
    blob: str
    """The different runs, a line each: names are also found inside longer ones."""
    places: TermIndex
    hidden: frozenset[str]
    """What is only in secrets."""
    languages: frozenset[Language]
    """Those that the user wrote in; empty if nothing tells."""
    language: Language
    """The one of the note."""
    redact: Redact
    state: KnownState
    """How things stood at the end of the log."""
    name: str = "summarizer"
    """Who wrote, for errors."""


def evidence_of(material: Material, *, now: str = "", name: str = "summarizer") -> Evidence:
    """Return what is known before a note is checked; one pass over the log, linear.

    The whole log counts, also what stays live, and the ledger's paths, which may be longer than
    those in the log; so does what an earlier note said and the log no longer shows, unless it was
    marked as not verified. `now` is the date that the model was given.
    """
    log, focus = material.log, material.options.focus
    gathered = _Gathered(material.redact)
    for at, message in enumerate(log):
        gathered.message(message, at)
    carried = tuple(_carried(material))
    for at, text in enumerate(carried, len(log)):
        gathered.known(text, at)
    for text in (now, focus, *material.ledger.files):
        gathered.known(text)
    blob = "\n".join(gathered.runs)
    return Evidence(
        asks=_asks(material),
        labels=_labels(log),
        runs=frozenset(gathered.runs),
        words=frozenset(words_in(blob)),
        blob=f"\n{blob}\n",
        places=TermIndex(
            by_term=gathered.places.by_term,
            by_label={message.label: at for at, message in enumerate(log)},
            folded=(*material.partition.folds(), (len(log), len(log) + len(carried))),
            given=numbers_in(f"{now} {focus}"),
        ),
        hidden=gathered.only_hidden(),
        languages=material.languages,
        language=material.language,
        redact=material.redact,
        state=known_state(material.ledger),
        name=name,
    )


def _carried(material: Material) -> Iterator[str]:
    for summary in (material.state.carried, material.state.prose):
        if isinstance(summary, Summary):
            for rows in summary.sections.values():
                yield from (row.text for row in rows if not row.text.endswith(MARKS))


def _asks(material: Material) -> dict[str, SaidByUser]:
    partition, log = material.partition, material.log
    answered = {ask.fact.source for ask in material.ledger.asks if ask.answered_by}
    live = {at for start, stop in partition.islands for at in range(start, stop)}
    found: dict[str, SaidByUser] = {}
    for at, message in enumerate(log):
        text = material.said_by_user(at, _ASK_CHARS)
        is_live = at < partition.head_stop or at >= partition.tail_start or at in live
        if text:
            label = message.label
            found[label] = SaidByUser(label, text, label in answered, is_live)
    return found


def _labels(log: Sequence[Message]) -> dict[str, str]:
    """Return the labels, also by place: a record names a message by it if its id is no word."""
    found = {f"m{message.position}": message.label for message in log}
    found.update({message.label: message.label for message in log})
    return found


class _Gathered:
    """Runs while they are gathered."""

    def __init__(self, redact: Redact) -> None:
        self.runs: dict[str, None] = {}
        self.places = TermIndexBuilder()
        self._hidden: set[str] = set()
        self._redact = redact

    def message(self, message: Message, at: int) -> None:
        """Add what a real message shows; what only its secrets show is kept apart."""
        if message.is_generated:
            return
        for text in _texts(message):
            clean = self._redact(text)
            self.known(clean, at)
            if clean is not text and clean != text:
                self._hidden.update(_pieces(text))

    def known(self, text: str, at: int | None = None) -> None:
        """Add a text; `at` is its place."""
        small = text.casefold()
        self._take(small, at)
        if "\\" in small:
            # JSON in text: a line break is no part of the name behind it
            self._take(small.replace("\\n", " ").replace("\\t", " ").replace('\\"', " "), at)

    def _take(self, text: str, at: int | None) -> None:
        if at is not None:
            self.places.add(text, at)
        for run in RUNS.findall(text):
            if len(run) <= _LONGEST_RUN_CHARS:
                self.runs[bare(run)] = None

    def only_hidden(self) -> frozenset[str]:
        """Return the pieces of secrets that are nowhere else."""
        shown = {piece for run in self.runs for piece in _pieces(run)}
        return frozenset(
            piece for piece in self._hidden - shown if len(piece) >= _LEAST_HIDDEN_CHARS
        )


def _texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text(text=text):
                yield text
            case ToolCall(name=name, arguments=arguments):
                yield name
                yield arguments
            case ToolResult(parts=inner):
                yield from (one.text for one in inner if isinstance(one, Text))
            case _:
                pass


def _pieces(text: str) -> Iterator[str]:
    for run in RUNS.findall(text.casefold()):
        yield bare(run)
        yield from words_in(run)


# Whether something was there


def hidden_in(evidence: Evidence, text: str) -> bool:
    """Return whether a text says something that is only in secrets."""
    return bool(evidence.hidden) and not evidence.hidden.isdisjoint(_pieces(text))


def holds(evidence: Evidence, name: Name) -> bool:
    """Return whether what a text names was really there."""
    text = name.text.casefold()
    if text in evidence.runs:
        return True
    if name.kind == "command":
        return all(_has_word(evidence, word) for word in text.split())
    if not evidence.words.issuperset(words_in(text)):
        return name.kind == "path" and _has_end(evidence, text)
    return _inside(evidence.blob, text) or (name.kind == "path" and _has_end(evidence, text))


def _has_word(evidence: Evidence, word: str) -> bool:
    text = bare(word)
    return not text or text in evidence.runs or evidence.words.issuperset(words_in(text))


def _has_end(evidence: Evidence, path: str) -> bool:
    """Return whether a path is one that was there, with its place before or a line behind it."""
    parts = path.replace("\\", "/").partition(":")[0].strip("/").split("/")
    ends = ("/".join(parts[at:]) for at in range(len(parts) - 1))
    if len(parts) == 1:
        return _inside(evidence.blob, parts[0]) if parts[0] != path else False
    return any(_inside(evidence.blob, end) for end in ends)


def _inside(blob: str, text: str) -> bool:
    """Return whether a text is in the blob with no letter or digit directly beside it."""
    at = blob.find(text)
    while at >= 0:
        before, after = blob[at - 1], blob[at + len(text)]
        if not (before.isalnum() and text[0].isalnum()):
            digits = text[-1].isdigit()
            if not (after.isdigit() if digits else after.isalnum() and text[-1].isalnum()):
                return True
        at = blob.find(text, at + 1)
    return False


# Where words and numbers are


class SentenceTerms(Struct, frozen=True):
    """What a sentence is compared by, besides the words that are in every one."""

    words: frozenset[str]
    numbers: frozenset[str]


def terms_in(text: str) -> SentenceTerms:
    """Return the content words of a sentence, names among them, and its numbers apart."""
    words: dict[str, None] = {}
    for term in lookup_terms(dict.fromkeys(words_in(text))):
        words[term] = None
        if len(words) >= _MOST_TERMS:
            break
    numbers = {one for one in _NUMBERS.findall(text) if len(one) >= _LEAST_CHARS}
    return SentenceTerms(frozenset(words), frozenset(numbers))


def is_counted(name: str) -> bool:
    """Return whether a name is a number, with or without a unit."""
    return _COUNTED.match(name) is not None


def is_about(places: TermIndex, terms: SentenceTerms, label: str) -> bool:
    """Return whether a sentence shares a word, a name or a number with the message that it cites.

    One without any such word is about anything.
    """
    at = places.by_label.get(label, -1)
    every = terms.words | terms.numbers
    return not every or any(_has_place(places.by_term.get(term, ()), at) for term in every)


def is_placed(places: TermIndex, number: str, terms: SentenceTerms, label: str) -> bool:
    """Return whether a number is in the message that its sentence cites.

    If the label is "", it must be in a folded one that has another term of the sentence too.
    Linear in the places of both.
    """
    wanted = [one for one in _NUMBERS.findall(number) if len(one) >= _LEAST_CHARS]
    if places.given.issuperset(wanted):
        return True
    rows = [places.by_term.get(one, []) for one in wanted]
    if label:
        at = places.by_label.get(label, -1)
        return all(_has_place(row, at) for row in rows)
    held = reduce(lambda found, row: found.intersection(row), rows[1:], set(rows[0]))
    held = {at for at in held if any(start <= at < stop for start, stop in places.folded)}
    others = (terms.words | terms.numbers).difference(
        *map(_number_parts, wanted), lookup_terms(words_in(number))
    )
    found = (places.by_term.get(term, ()) for term in others)
    return bool(held) and any(not held.isdisjoint(row) for row in found)


def _has_place(row: Sequence[int], at: int) -> bool:
    found = bisect_left(row, at)
    return found < len(row) and row[found] == at


class TermIndexBuilder:
    """The places of terms while texts are added, in the order of their places."""

    def __init__(self) -> None:
        self.by_term: dict[str, list[int]] = {}
        self._terms: dict[str, tuple[str, ...]] = {}

    def add(self, text: str, at: int) -> None:
        """Add a text in small letters that is at a place."""
        for word in set(words_in(text)):
            if len(word) < _LEAST_CHARS and word.isascii():
                continue
            terms = self._terms.get(word)
            if terms is None:
                terms = self._terms[word] = tuple(lookup_terms((word,)))
            for term in terms:
                self._put(term, at)
        for number in set(_NUMBERS.findall(text)):
            for piece in _number_parts(number):
                self._put(piece, at)

    def _put(self, term: str, at: int) -> None:
        row = self.by_term.setdefault(term, [])
        if not row or row[-1] != at:
            row.append(at)


def numbers_in(text: str) -> frozenset[str]:
    """Return the numbers of a text, also parts of them."""
    return frozenset(part for number in _NUMBERS.findall(text) for part in _number_parts(number))


def _number_parts(number: str) -> Iterator[str]:
    """Yield a number and the numbers in it that have a meaning of their own."""
    if len(number) > _LONGEST_NUMBER_CHARS:
        return
    if number.isdecimal():
        if len(number) >= _LEAST_CHARS:
            yield number
        return
    parts = _GROUPS.findall(number)
    count = (len(parts) + 1) // 2
    widths = range(1, count + 1) if count <= _MOST_GROUPS else (1, count)
    for width in widths:
        for start in range(count - width + 1):
            piece = "".join(parts[2 * start : 2 * (start + width) - 1])
            if len(piece) >= _LEAST_CHARS:
                yield piece
