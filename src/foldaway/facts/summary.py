"""The handoff as a typed value: thirteen sections of entries, rendered to text and read back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Regex, TokenCounter
from foldaway.facts.dialogue.text import sentences
from foldaway.facts.languages import Language, phrases_for
from foldaway.facts.names import Known, likeness, names_in

Section: TypeAlias = Literal[
    "task",
    "goal",
    "constraints",
    "state",
    "in_progress",
    "remaining",
    "blocked",
    "completed",
    "files",
    "decisions",
    "resolved",
    "pending",
    "critical",
]

SECTIONS: tuple[Section, ...] = get_args(Section)

BRIEF_NOTE = "Made without a model."
"""The note that no model wrote a summary, in few words; the long one is in the language files."""
NOTES_WITHOUT_MODEL = frozenset(
    {BRIEF_NOTE, *(phrases_for(one).made_without_model for one in get_args(Language))}
)
"""Those notes in all languages. They are about one summary and are not carried into the next."""

MUST = 100.0
"""From this weight on an entry is there before anything that is ranked. These weights
only put what must be there in an order: their distances mean nothing."""
FAILURE = MUST + 35
"""The first line of every open failure."""
STATE = MUST + 32
"""Where things stand: tests, branch, commit, what runs; short, and limited by its share."""
RULE = MUST + 30
"""A rule of the user."""
FILE = MUST + 29
"""A file that was changed; limited by its share of the room, so it stands before the asks."""
REPORT = MUST + 28.5
"""What the agent reported last."""
ASK = MUST + 28
"""An ask between the first and the newest."""
_FOR_PERSON: dict[str, tuple[Section, ...]] = {
    "task": ("goal", "task", "constraints"),
    "state": ("state", "in_progress"),
    "done": ("completed", "resolved"),
    "open": ("blocked", "remaining", "pending"),
    "files": ("files",),
    "decisions": ("decisions",),
    "facts": ("critical",),
}
"""The sections under each heading of a record for a person."""
_NUMBERED: frozenset[Section] = frozenset({"completed"})
_BY_HEADING: dict[str, Section] = {
    phrases_for(language).headings[section].lower(): section
    for language in get_args(Language)
    for section in SECTIONS
}
_EMPTY: frozenset[str] = frozenset(phrases_for(one).none for one in get_args(Language))
_BY_WORD: tuple[tuple[str, Section], ...] = (
    ("task", "task"),
    ("goal", "goal"),
    ("constraint", "constraints"),
    ("complet", "completed"),
    ("active state", "state"),
    ("progress", "in_progress"),
    ("block", "blocked"),
    ("decision", "decisions"),
    ("resolved", "resolved"),
    ("pending", "pending"),
    ("file", "files"),
    ("remaining", "remaining"),
    ("next", "remaining"),
)
"""How other compressors' headings are read."""
_ASKED: frozenset[Section] = frozenset({"goal", "task", "pending", "resolved"})
_COMMITTED: frozenset[Section] = frozenset(
    {"constraints", "decisions", "pending", "remaining", "blocked"}
)
"""What is lost unless it is said: that its names are there is not enough."""
_HEADING = Regex(r"#{1,4} +(?=\S)")
_ENTRY = Regex(r"^(?:[-*] |\d{1,6}[.)] )")
_SOURCE = Regex(r" \[((?:earlier )?[\w.:-]{1,80})\]\Z")
_INDENT = "  "
_CARRIED_WEIGHTS: dict[Section, float] = {
    "goal": 190.0,
    "constraints": RULE - 1,
    "pending": ASK - 1,
    "blocked": FAILURE - 1,
    "task": 150.0,
    "files": FILE - 1,
    "decisions": 70.0,
    "state": 60.0,
    "critical": 55.0,
    "in_progress": 40.0,
    "completed": 30.0,
    "remaining": 60.0,
    "resolved": 20.0,
}
"""What is carried over counts a little less than the same if it is found again. The first request
and the task of a live log weigh 200."""
_GOAL_WEIGHT = 1_000.0
"""Above everything that is found in a log."""
_LEAST_ENTRY_CHARS = 16
"""In less room nothing can be said."""
_ENTRY_CHARS = 10
"""Mark, brackets and line break around an entry."""
_PIECE_CHARS = 3
"""Line break and indent before a piece, or what stands between two fields."""
_HEADING_CHARS = 32
"""A heading with its blank line."""
_LEAST_TOKENS_PER_CHAR = 1 / 128
"""The longest entry of a vocabulary."""
_ROUNDS = 60
"""Most attempts to fit a budget; two are usual."""
_OVERSHOOT = 1.3
"""Entries are cut whole; a little more than what is too much goes."""
_REFILLS = (1.0, 0.5)
"""The share of what is left over for further entries; half of it if that was too much."""
_LEAST_CHARS = 40
"""Not even in a budget of a few tokens a summary is cut to less."""
_FOCUS_WEIGHT = 120.0
"""Lifts an entry on the topic above what is ranked and below the task itself (200)."""


class EntryPiece(Struct, frozen=True, gc=False):
    """A line of an entry, which may go without the others."""

    text: str
    weight: float


class Entry(Struct, frozen=True, gc=False):
    """One line of a section; `source` is the label of the message that it comes from."""

    text: str
    source: str = ""
    weight: float = 1.0
    """That of its heaviest piece, if it has pieces."""
    head: str = ""
    pieces: tuple[EntryPiece, ...] = ()
    """What it is made of under its head, if that may go one by one."""


class Summary(Struct, frozen=True):
    """Sections of entries. `numbered` counts all completed actions, also those left out."""

    sections: dict[Section, tuple[Entry, ...]]
    made_by: str = "ledger"
    numbered: int = 0
    language: Language = "en"
    brief: bool = False
    """Whether it leaves out what only counts what was left out."""
    for_person: bool = False
    """Whether a person reads it, under fewer headings; it is not read back."""

    def render(self, counter: TokenCounter, budget_tokens: int) -> str:
        """Return the summary as Markdown within `budget_tokens`.

        Entries, and pieces of entries, are left out by weight, lightest first, and a section says
        how many entries it left out; a section that says nothing is left out. The heaviest entry is
        always there, cut if it must be.
        """
        rows = _ranked(self)
        per_char = _tokens_per_char(self, counter)
        room = float(budget_tokens)
        text, tokens, was = "", budget_tokens + 1, _Chosen()
        for number in range(_ROUNDS):
            chosen = _within_budget(rows, room / per_char)
            if chosen != was or not chosen:
                text = _rendered(self, chosen)
                tokens = counter.count(text)
                was = chosen
            if tokens <= budget_tokens:
                for share in _REFILLS:
                    free_chars = (budget_tokens - tokens) * share / per_char
                    fuller = _fuller(self, rows, chosen, free_chars)
                    if fuller and counter.count(fuller) <= budget_tokens:
                        return fuller
                return text
            if sum(max(len(pieces), 1) for one in chosen.values() for pieces in one.values()) == 1:
                break
            room -= (tokens - budget_tokens) * _OVERSHOOT + number
        return _squeezed(self, rows[0], counter, budget_tokens) if rows else text

    def with_focus(self, topic: str) -> Summary:
        """Return the summary with the entries that speak of `topic` ranked before the others."""
        words = [word for word in re.findall(r"\w+", topic.casefold()) if len(word) > 2]
        if not words:
            return self

        def weighed(entry: Entry) -> Entry:
            text = entry.text.casefold()
            hits = sum(word in text for word in words)
            return replace(entry, weight=entry.weight + _FOCUS_WEIGHT * hits / len(words))

        sections = {name: tuple(map(weighed, rows)) for name, rows in self.sections.items()}
        return replace(self, sections=sections)

    def with_state(self, lines: Sequence[str]) -> Summary:
        """Return the summary with these lines on the current state before the others."""
        if not lines:
            return self
        others = (one for one in self.sections.get("state", ()) if one.text not in lines)
        entries = (*(Entry(line, weight=STATE) for line in lines), *others)
        return replace(self, sections={**self.sections, "state": entries})

    def with_goal(self, goal: str, room_chars: float) -> Summary:
        """Return the summary with the goal that somebody set, letter for letter, before the others.

        It is there whatever else goes; one that would take more than half of the room is cut.
        """
        most = max(int(room_chars / 2), _LEAST_ENTRY_CHARS)
        text = goal if len(goal) <= most else f"{goal[: most - 1]}…"
        others = (entry for entry in self.sections.get("goal", ()) if entry.text != text)
        entries = (Entry(text, weight=_GOAL_WEIGHT), *others)
        return replace(self, sections={**self.sections, "goal": entries})

    def untold(self, prose: str) -> Summary:
        """Return the summary with those entries only that a text in prose does not tell.

        It tells an entry if a line or sentence of it says the same or, unless somebody is committed
        by it, if it has every name in it; of a file the last part of the path.
        """
        told = Known()
        for line in dict.fromkeys(prose.splitlines()):
            for piece in dict.fromkeys((line, *sentences(line))) if line.strip() else ():
                told.add(likeness(piece), 0)

        def is_told(section: Section, entry: Entry) -> bool:
            text = entry.text
            if text in NOTES_WITHOUT_MODEL:
                return True
            # before what the user wrote there are words of ours
            said = text.partition(": ")[2] if section in _ASKED else ""
            if any(told.find(likeness(one)) is not None for one in (text, said) if one):
                # a line may tell one sentence of several
                pieces = sentences(text) if section in _COMMITTED else ()
                like = [one for one in map(likeness, pieces) if len(one.words) > 1]
                return all(told.find(one) is not None for one in like)
            if section in _COMMITTED or not prose:
                return False
            names = [name.text for name in names_in(text)]
            if section == "files":
                names = [name.rpartition("/")[2] for name in names]
            return bool(names) and all(name in prose for name in names)

        left = {
            section: tuple(one for one in rows if not is_told(section, one))
            for section, rows in self.sections.items()
        }
        return replace(self, sections={section: rows for section, rows in left.items() if rows})

    def merge(self, newer: Summary) -> Summary:
        """Return both together, older entries first; an entry that stands in both stands once."""
        sections: dict[Section, tuple[Entry, ...]] = {}
        for section in SECTIONS:
            kept = list(self.sections.get(section, ()))
            known = {entry.text for entry in kept}
            kept.extend(
                entry for entry in newer.sections.get(section, ()) if entry.text not in known
            )
            if kept:
                sections[section] = tuple(kept)
        return replace(newer, sections=sections, numbered=self.numbered + newer.numbered)


_Row: TypeAlias = tuple[Section, int, int, Entry, float]
"""Section, place in it, which piece (-1 for all of an entry), the entry, the weight."""
_Chosen: TypeAlias = dict[Section, dict[int, list[int]]]
"""By section and place the pieces that are shown; none where an entry has no pieces."""


def of_pieces(head: str, pieces: tuple[EntryPiece, ...], source: str = "") -> Entry:
    """Return an entry of several lines under a head."""
    text = _composed(head, [piece.text for piece in pieces])
    weight = max([piece.weight for piece in pieces])
    return Entry(text, source, weight, head, pieces)


def _composed(head: str, texts: Sequence[str]) -> str:
    if not head:
        return "\n".join(texts)
    return f"{head}: {texts[0]}" if len(texts) == 1 else f"{head}:\n" + "\n".join(texts)


def _fuller(summary: Summary, rows: Sequence[_Row], chosen: _Chosen, free_chars: float) -> str:
    """Return the summary with further entries in the room that is left, "" if none fits."""
    more = _within_budget(rows, free_chars, beside=chosen)
    return _rendered(summary, more) if more != chosen else ""


def _squeezed(summary: Summary, row: _Row, counter: TokenCounter, budget_tokens: int) -> str:
    """Return the heaviest entry alone, its words cut until it fits; its source stays.

    Only if not even that fits, in a budget of a few tokens, the text is cut as it is.
    """
    section, _, _, entry, _ = row
    words = entry.text
    while True:
        cut = Entry(words, entry.source)
        alone = replace(summary, sections={section: (cut,)}, brief=True)
        text = _rendered(alone, {section: {0: []}})
        tokens = counter.count(text)
        if tokens <= budget_tokens or len(words) <= _LEAST_ENTRY_CHARS:
            break
        room = int(len(words) * min(budget_tokens / tokens, 0.9))
        words = f"{words[: max(room, _LEAST_ENTRY_CHARS) - 1].rstrip()}…"
    while tokens > budget_tokens and len(text) > _LEAST_CHARS:
        text = f"{text[: int(len(text) * min(budget_tokens / tokens, 0.95))]}…"
        tokens = counter.count(text)
    return text


def parse_summary(text: str) -> Summary:
    """Return the summary in a Markdown text; what is under no known heading is critical.

    Entries that `render_summary` wrote come back letter for letter: their further lines are
    indented, so that no words of an entry can be taken for another entry or a heading. Lines of
    other compressors that are neither headings nor entries belong to the entry before.
    """
    found: dict[Section, list[list[str]]] = {section: [] for section in SECTIONS}
    here: Section = "critical"
    for line in text.split("\n"):
        entries = found[here]
        if line.startswith(_INDENT) and entries:
            entries[-1].append(line[len(_INDENT) :])
            continue
        heading = _HEADING.match(line)
        if heading:
            here = _section_of(line[heading.end() :].rstrip(" ").removesuffix(":"))
            continue
        if not line.strip() or line.strip() in _EMPTY or line.startswith("(… "):
            continue
        mark = _ENTRY.match(line)
        if mark or not entries:
            entries.append([line[mark.end() :] if mark else line.strip()])
        else:
            entries[-1].append(line.strip())
    return Summary(
        {
            name: tuple(_sourced(Entry("\n".join(row)), name) for row in rows)
            for name, rows in found.items()
            if rows
        },
        "parsed",
        len(found["completed"]),
    )


def _sourced(entry: Entry, section: Section) -> Entry:
    """Return a carried entry with its source marked as one of an earlier list, and its weight."""
    weight = _CARRIED_WEIGHTS.get(section, 1.0)
    found = _SOURCE.search(entry.text)
    if found is None:
        return Entry(entry.text, weight=weight)
    source = found.group(1)
    label = source if source.startswith("earlier ") else f"earlier {source}"
    return Entry(entry.text[: found.start()], label, weight)


def _section_of(heading: str) -> Section:
    name = heading.strip().lower()
    if name in _BY_HEADING:
        return _BY_HEADING[name]
    for words, section in _BY_WORD:
        if words in name:
            return section
    return "critical"


def _ranked(summary: Summary) -> list[_Row]:
    """Return all entries and pieces with section and place in it, heaviest first, newest first.

    Lines go one by one.
    """
    rows: list[_Row] = []
    for section in SECTIONS:
        for index, entry in enumerate(summary.sections.get(section, ())):
            if not entry.pieces:
                rows.append((section, index, -1, entry, entry.weight))
                continue
            # what lifts an entry, as a focus does, lifts all its lines
            lift = entry.weight - max([piece.weight for piece in entry.pieces])
            for number, piece in enumerate(entry.pieces):
                rows.append((section, index, number, entry, piece.weight + lift))
    rows.sort(key=_heaviest_first)
    return rows


def _heaviest_first(row: _Row) -> tuple[float, int, float]:
    _, index, number, entry, weight = row
    return -weight, -index, 0.0 if number < 0 else -entry.pieces[number].weight


def _tokens_per_char(summary: Summary, counter: TokenCounter) -> float:
    """Return what a character of the entries costs; they are measured as one text."""
    text = "\n".join([entry.text for rows in summary.sections.values() for entry in rows])
    return max(counter.count(text) / len(text), _LEAST_TOKENS_PER_CHAR) if text else 1.0


def _within_budget(
    rows: Sequence[_Row], room_chars: float, beside: _Chosen | None = None
) -> _Chosen:
    """Return which entries and pieces of each section fit, heaviest first, in their own order.

    Those of `beside` are among them, and have their room already.
    """
    chosen: _Chosen = {
        section: {index: list(pieces) for index, pieces in shown.items()}
        for section, shown in (beside or {}).items()
    }
    for section, index, number, entry, _ in rows:
        if chosen and room_chars < _LEAST_ENTRY_CHARS:
            break
        shown = chosen.get(section, {}).get(index)
        if shown is not None and (number < 0 or number in shown):
            continue
        is_new = shown is None
        if number < 0:
            cost = len(entry.text)
        else:
            cost = len(entry.pieces[number].text) + _PIECE_CHARS + is_new * len(entry.head)
        if is_new:
            cost += len(entry.source) + _ENTRY_CHARS
        if section not in chosen:
            cost += _HEADING_CHARS
        if cost <= room_chars or not chosen:
            room_chars -= cost
            pieces = chosen.setdefault(section, {}).setdefault(index, [])
            if number >= 0:
                pieces.append(number)
    return chosen


def _rendered(summary: Summary, chosen: _Chosen) -> str:
    phrases = phrases_for(summary.language)
    headings: dict[str, tuple[Section, ...]] = {
        phrases.headings[section]: (section,) for section in SECTIONS
    }
    if summary.for_person:
        headings = {phrases.short_headings[name]: rows for name, rows in _FOR_PERSON.items()}
    blocks: list[str] = []
    for heading, sections in headings.items():
        entries = sum(len(summary.sections.get(one, ())) for one in sections)
        count = sum(len(chosen.get(one, ())) for one in sections)
        if not count:
            continue
        lines = [f"## {heading}"]
        if count < entries and not summary.brief:
            lines.append(f"(… {entries - count} more in the originals)")
        for section in sections:
            lines += _lines(summary, section, chosen.get(section, {}))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _lines(summary: Summary, section: Section, shown: dict[int, list[int]]) -> Iterator[str]:
    entries, is_numbered = summary.sections.get(section, ()), section in _NUMBERED
    for number, index in enumerate(sorted(shown), _first_number(summary, len(shown))):
        mark = f"{number}. " if is_numbered and not summary.for_person else "- "
        yield _line(mark, _with_pieces(entries[index], shown[index]))


def _with_pieces(entry: Entry, numbers: list[int]) -> Entry:
    """Return an entry with the pieces that are shown, in their own order."""
    if len(numbers) == len(entry.pieces):
        return entry
    texts = [entry.pieces[number].text for number in sorted(numbers)]
    return Entry(_composed(entry.head, texts), entry.source)


def _first_number(summary: Summary, shown: int) -> int:
    """Return the number of the first entry shown; where a model counts on, so do we."""
    return max(summary.numbered - shown, 0) + 1 if summary.made_by == "model" else 1


def _line(mark: str, entry: Entry) -> str:
    source = f" [{entry.source}]" if entry.source else ""
    words = entry.text.replace("\n", f"\n{_INDENT}")
    return f"{mark}{words}{source}"
