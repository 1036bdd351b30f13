"""What a note is held against: everything that was really said, as sets of what it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, get_args

from msgspec import Struct

from holdfast.facts.dialogue.cues import language_of
from holdfast.facts.languages import Language, phrases_for
from holdfast.facts.ledger.injected import own_words
from holdfast.facts.names import RUNS, Name, bare, words_in
from holdfast.facts.summary import Summary
from holdfast.ports import Redact
from holdfast.transcript import Message, Text, ToolCall, ToolResult, is_ask, texts
from holdfast.writing.gate.places import Places, PlacesBuilder, numbers_in

if TYPE_CHECKING:
    from holdfast.compaction.compact import Plan

_ASK_CHARS = 6_000
_LONGEST_RUN_CHARS = 2_000
"""Longer ones are data."""
_LEAST_HIDDEN_CHARS = 4
_LATEST = 8
MARKS = tuple(f"({phrases_for(one).not_verified})" for one in get_args(Language))
"""What stands behind a sentence that could not be verified."""
_LEAST_WORDS = 4
"""An ask of fewer words says nothing of its language."""


class SaidByUser(Struct, frozen=True, gc=False):
    """What the user wrote in one message, without what agents put into it."""

    label: str
    text: str
    answered: bool = False
    live: bool = False
    """Whether it stands outside the summary, word for word."""


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
    places: Places
    hidden: frozenset[str]
    """What stands only in secrets."""
    languages: frozenset[Language]
    """Those that the user wrote in; empty where nothing tells."""
    language: Language
    """The one of the note."""
    redact: Redact
    name: str = "summarizer"
    """Who wrote, for errors."""


def evidence_of(plan: Plan, *, now: str = "", name: str = "summarizer") -> Evidence:
    """Return what is known before a note is checked; one pass over the log, linear.

    The whole log counts, also what stays live, and the ledger's paths, which may be longer than
    those in the log; so does what an earlier note said and the log no longer shows, unless it was
    marked as not verified. `now` is the date that the model was given.
    """
    work = plan.work
    gathered = _Gathered(work.redact)
    for at, message in enumerate(work.log):
        gathered.message(message, at)
    carried = tuple(_carried(plan))
    for at, text in enumerate(carried, len(work.log)):
        gathered.known(text, at)
    for text in (now, work.wish.focus, *plan.told.files):
        gathered.known(text)
    asks = _asks(plan)
    places = _places(plan, gathered, len(carried), f"{now} {work.wish.focus}")
    blob = "\n".join(gathered.runs)
    last = "\n".join(ask.fact.text[:400] for ask in plan.told.asks[-4:])
    return Evidence(
        asks=asks, labels=_labels(work.log), runs=frozenset(gathered.runs),
        words=frozenset(words_in(blob)), blob=f"\n{blob}\n", hidden=gathered.only_hidden(),
        places=places,
        languages=languages_of(plan), language=language_of(last), redact=work.redact, name=name,
    )  # fmt: skip


def languages_of(plan: Plan) -> frozenset[Language]:
    """Return the languages that the user wrote in lately; none where too little tells."""
    asks = [ask.fact.text for ask in plan.told.asks[-_LATEST:]]
    return frozenset(language_of(text) for text in asks if _tells(text))


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
    """Return whether a text stands in the blob with no letter or digit directly beside it."""
    at = blob.find(text)
    while at >= 0:
        before, after = blob[at - 1], blob[at + len(text)]
        if not (before.isalnum() and text[0].isalnum()):
            digits = text[-1].isdigit()
            if not (after.isdigit() if digits else after.isalnum() and text[-1].isalnum()):
                return True
        at = blob.find(text, at + 1)
    return False


class _Gathered:
    """Runs while they are gathered."""

    def __init__(self, redact: Redact) -> None:
        self.runs: dict[str, None] = {}
        self.places = PlacesBuilder()
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
        """Add a text; `at` is the place at which it stands."""
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
        """Return the pieces of secrets that stand nowhere else."""
        shown = {piece for run in self.runs for piece in _pieces(run)}
        return frozenset(
            piece for piece in self._hidden - shown if len(piece) >= _LEAST_HIDDEN_CHARS
        )


def _pieces(text: str) -> Iterator[str]:
    for run in RUNS.findall(text.casefold()):
        yield bare(run)
        yield from words_in(run)


def hidden_in(evidence: Evidence, text: str) -> bool:
    """Return whether a text says something that stands only in secrets."""
    return bool(evidence.hidden) and not evidence.hidden.isdisjoint(_pieces(text))


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


def _asks(plan: Plan) -> dict[str, SaidByUser]:
    partition, log = plan.choice.partition, plan.work.log
    answered = {ask.fact.source for ask in plan.told.asks if ask.answered_by}
    live = {
        at for start, stop in (partition.islands if partition else ()) for at in range(start, stop)
    }
    head, tail = (partition.head_stop, partition.tail_start) if partition else (0, len(log))
    found: dict[str, SaidByUser] = {}
    for at, message in enumerate(log):
        if is_ask(message):
            words = max((own_words(one) for one in texts(message)), key=len, default="")
            text = plan.work.redact(words[:_ASK_CHARS]) if words else ""
            is_live = at < head or at >= tail or at in live
            if text:
                label = message.label
                found[label] = SaidByUser(label, text, label in answered, is_live)
    return found


def _labels(log: Sequence[Message]) -> dict[str, str]:
    """Return the labels, also by place: a record names a message by it where its id is no word."""
    found = {f"m{message.position}": message.label for message in log}
    found.update({message.label: message.label for message in log})
    return found


def _places(plan: Plan, gathered: _Gathered, carried: int, given: str) -> Places:
    partition, log = plan.choice.partition, plan.work.log
    folds = partition.folds() if partition else [(0, len(log))]
    return Places(
        by_term=gathered.places.by_term,
        by_label={message.label: at for at, message in enumerate(log)},
        folded=(*folds, (len(log), len(log) + carried)),
        given=numbers_in(given),
    )


def _carried(plan: Plan) -> Iterator[str]:
    state = plan.work.state
    for summary in (state.carried, state.prose):
        if isinstance(summary, Summary):
            for rows in summary.sections.values():
                yield from (row.text for row in rows if not row.text.endswith(MARKS))


def _tells(text: str) -> bool:
    return len(text.split()) >= _LEAST_WORDS or not text.isascii()
