"""The gate: a model's note, sentence by sentence, checked against what was really said.

| section                  | what must hold                        | otherwise          |
| ------------------------ | ------------------------------------- | ------------------ |
| task, goal, pending      | the user wrote it; the newest request | the entry is gone  |
|                          | and the first one are the ledger's    | or it is pending   |
| constraints              | the user wrote it                     | the entry is gone  |
| files                    | every path in it was there            | the entry is gone  |
| any: path, url, command  | it was there                          | the sentence goes  |
| any: identifier          | it was there                          | the sentence goes  |
| any: number              | the message that is cited has it      | the sentence goes  |
|   without a source       | beside another word of its sentence   | the sentence goes  |
| any: the current state   | the ledger says so (`known_state.py`) | the sentence goes  |
| any: source              | it shares a word with its sentence    | the source is gone |
| any: order to the reader | never, but in the sections above      | the sentence goes  |
| any: "let me …"          | never: it was not done then           | the sentence goes  |
| any: "the user asked …"  | it quotes what the user wrote         | the sentence goes  |
| other: the user's words  | never: an ask is not a fact           | the sentence goes  |
| other: a bare word, none | never                                 | the entry is gone  |
| any: piece of a secret   | never                                 | the sentence goes  |

A sentence that names nothing cannot be checked; it stays, and is counted apart.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import read_words
from foldaway.errors import SummarizerFailed
from foldaway.facts import (
    SECTIONS,
    Entry,
    Name,
    Section,
    Summary,
    due_later,
    names_in,
    sentences,
    words_in,
)
from foldaway.facts.languages import Phrases, phrases_for
from foldaway.summarizers.gate.evidence import (
    MARKS,
    Evidence,
    SentenceTerms,
    evidence_of,
    hidden_in,
    holds,
    is_about,
    is_counted,
    is_placed,
    terms_in,
)
from foldaway.summarizers.gate.judge import wrong_language
from foldaway.summarizers.gate.known_state import contradicts
from foldaway.summarizers.gate.quotes import QuoteFinder, UserQuote
from foldaway.summarizers.material import Material

_BY_USER: frozenset[Section] = frozenset({"task", "goal", "pending"})
_OPEN: frozenset[Section] = frozenset({"blocked", "in_progress", "remaining", "resolved"})
_BARE = 2
"""An entry of at most this many plain words is a heading, and tells nothing."""
_LEAST_QUOTED = 3
"""Words from which on a sentence is somebody's."""
_EARLIER = "earlier "
"""How the source of an entry begins that is in no message of this log."""
_ENTRY_CHARS = 2_400
"""The rest of a longer entry is left out."""

_PHRASES = read_words("phrases", "foldaway.summarizers.gate")
_NOTHING = tuple(_PHRASES["nothing"])
_INTENTS = _PHRASES["intents"]

Verdict: TypeAlias = Literal["verified", "unchecked", "dropped", "contradicted"]


class Checked(Struct, frozen=True):
    """A note that says nothing that was not there, and what became of its sentences.

    An entry that quotes the user counts as one sentence.
    """

    summary: Summary
    verified: int = 0
    """All that they name was there."""
    dropped: int = 0
    unchecked: int = 0
    """They name nothing that could be looked up."""
    contradicted: int = 0
    """They contradict the ledger on the current state, and are gone."""


def check_note(prose: Summary, material: Material, *, now: str, name: str) -> Checked:
    """Return what `check` does of the note of a summarizer about some material, on a day."""
    return check(prose, evidence_of(material, now=now, name=name))


def check(prose: Summary, evidence: Evidence) -> Checked:
    """Return the note as far as it holds; raises `SummarizerFailed` if nothing of it does, or if it
    is in another language than the user's. Checking twice is checking once.
    """
    if wrong_language(prose, evidence.language, evidence.languages):
        raise SummarizerFailed("bad answer", evidence.name, "it is in another language")
    gate = _Gate(evidence, phrases_for(evidence.language))
    found: dict[Section, dict[Entry, None]] = {}
    for section in SECTIONS:
        kept = (gate.entry(section, entry) for entry in prose.sections.get(section, ()))
        rows = dict.fromkeys(entry for entry in kept if entry is not None)
        # the newest request and the first one are the ledger's to tell
        found.setdefault("pending" if section in _BY_USER else section, {}).update(rows)
    sections = {name: tuple(found[name]) for name in SECTIONS if found.get(name)}
    if not sections:
        raise SummarizerFailed("bad answer", evidence.name, "nothing in it could be verified")
    counts = gate.counts
    return Checked(
        replace(prose, sections=sections, language=evidence.language),
        counts["verified"],
        counts["dropped"],
        counts["unchecked"],
        counts["contradicted"],
    )


class _Gate:
    """What is asked of every entry, and what came of it."""

    def __init__(self, evidence: Evidence, phrases: Phrases) -> None:
        self.counts: dict[Verdict, int] = {
            "verified": 0,
            "unchecked": 0,
            "dropped": 0,
            "contradicted": 0,
        }
        self._evidence = evidence
        self._quotes = QuoteFinder(evidence)
        self._phrases = phrases
        self._first = next(iter(evidence.asks), "")

    def entry(self, section: Section, entry: Entry) -> Entry | None:
        """Return what is left of an entry, None if nothing is."""
        text = _unmarked(entry.text[:_ENTRY_CHARS])
        source = self._evidence.labels.get(entry.source, "")
        if entry.source.startswith(_EARLIER):
            source = entry.source
        if section in _BY_USER or section == "constraints":
            return self._by_user(section, replace(entry, text=text, source=source))
        if section == "files" and not self._is_known_file(text):
            self.counts["dropped"] += 1
            return None
        if _tells_nothing(section, text):
            self.counts["dropped"] += 1
            return None
        rows = text.split("\n")
        lines = [line for row in rows if (line := self._line(section, row, source))]
        words = self._evidence.redact("\n".join(" ".join(one for one, _ in row) for row in lines))
        if not source.startswith(_EARLIER) and not any(cites for row in lines for _, cites in row):
            source = ""
        return replace(entry, text=words, source=source) if words.strip() else None

    def _by_user(self, section: Section, entry: Entry) -> Entry | None:
        found = self._quotes.find(entry.text, entry.source)
        if found is None or hidden_in(self._evidence, found.text):
            self.counts["dropped"] += 1
            return None
        self.counts["verified"] += 1
        if found.ask.live:
            return None
        words = found.text if section == "constraints" else self._as_ask(found)
        return replace(entry, text=self._evidence.redact(words), source=found.ask.label)

    def _as_ask(self, found: UserQuote) -> str:
        phrases, ask = self._phrases, found.ask
        lead = phrases.first_request if ask.label == self._first else phrases.user_wrote
        is_over = ask.answered and not due_later(found.text)
        state = f" ({phrases.answered})" if is_over else ""
        return f"{lead}{state}: {found.text}"

    def _is_known_file(self, text: str) -> bool:
        paths = [name for name in names_in(text) if name.kind == "path"]
        if paths:
            return all(holds(self._evidence, name) for name in paths)
        name = words_in(text.partition(":")[0])
        return bool(name) and self._evidence.words.issuperset(name)

    def _line(self, section: Section, line: str, source: str) -> list[tuple[str, bool]]:
        """Return the sentences that may stand, each with whether the source is about it."""
        rows = [one.strip() for one in sentences(line)]
        return [kept for row in rows if (kept := self._sentence(section, row, source))]

    def _sentence(self, section: Section, text: str, source: str) -> tuple[str, bool] | None:
        if not text:
            return None
        places, terms = self._evidence.places, terms_in(text.casefold())
        label = source if source in places.by_label and is_about(places, terms, source) else ""
        verdict = self._verdict(text, terms, label)
        if verdict != "dropped":
            at = places.by_label[label] if label else None
            if contradicts(self._evidence.state, section, text, label=label, at=at):
                verdict = "contradicted"
        self.counts[verdict] += 1
        return (text, bool(label)) if verdict in ("verified", "unchecked") else None

    def _verdict(self, text: str, terms: SentenceTerms, label: str) -> Verdict:
        evidence = self._evidence
        if hidden_in(evidence, text):
            return "dropped"
        if (is_order(text) or _says(text, _INTENTS)) and not self._quotes.has(text):
            return "dropped"
        if is_claim(text) and self._quotes.find(text, "") is None:
            return "dropped"
        if len(text.split()) >= _LEAST_QUOTED and self._quotes.has(text):
            return "dropped"  # what the user asked for is told as a fact
        names = names_in(text)
        if not all(self._holds(name, terms, label) for name in names):
            return "dropped"
        return "verified" if names else "unchecked"

    def _holds(self, name: Name, terms: SentenceTerms, label: str) -> bool:
        if not holds(self._evidence, name):
            return False
        text = name.text.casefold()
        return not is_counted(text) or is_placed(self._evidence.places, text, terms, label)


def _tells_nothing(section: Section, text: str) -> bool:
    """Return whether an entry is a bare word, or only says that its section is empty."""
    small = text.casefold().strip()
    if section in _OPEN and small.startswith(_NOTHING):
        return True
    words = small.split()
    return len(words) <= _BARE and all(word.isalpha() and word.isascii() for word in words)


def is_order(text: str) -> bool:
    """Return whether a sentence speaks to its reader."""
    return _says(text, _PHRASES["orders"])


def is_claim(text: str) -> bool:
    """Return whether a sentence says what the user wanted."""
    return _says(text, _PHRASES["claims"])


def _says(text: str, phrases: frozenset[str]) -> bool:
    small = " ".join(text.casefold().split())
    return any(words in small for words in phrases)


def _unmarked(text: str) -> str:
    """Return a text without the marks that earlier checks put behind sentences."""
    for mark in MARKS:
        if mark in text:
            text = text.replace(f" {mark}", "").replace(mark, "")
    return text
