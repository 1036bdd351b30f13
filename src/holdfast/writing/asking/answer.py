"""An answer as a note: JSON or Markdown, whole or cut, in our headings or another's."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from holdfast.compaction.weights import PROSE_WEIGHTS
from holdfast.facts.frame import (
    SUMMARY_AFTERWORD,
    SUMMARY_BRIEF,
    SUMMARY_CLOSE,
    SUMMARY_OPEN,
    SUMMARY_PREAMBLE,
)
from holdfast.facts.languages import Language, phrases_for
from holdfast.facts.ledger.lines import whole_words
from holdfast.facts.summary import SECTIONS, Entry, Section, Summary
from holdfast.writing.asking.headings import is_own_heading, section_named
from holdfast.writing.asking.loose_json import Value, read_json

Form: TypeAlias = Literal["json", "markdown", "words"]

_READ_CHARS = 200_000
"""No note is longer; the rest of a longer answer is not read."""
_ENTRY_CHARS = 1_200
_MOST_ENTRIES = 60
_HEADING = re.compile(r"#{1,6}[ \t]*(?=\S)")
_BOLD = re.compile(r"\*\*([^*\n]{1,80})\*\*:?\s*\Z")
_MARK = re.compile(r"\s*(?:[-*•+]|\d{1,6}[.)])[ \t]+(?:\[[ xX]\] )?")
_SOURCE = re.compile(r"\s?(?:\[((?:earlier )?(?=[^\]]*\d)[\w.:-]{1,80})\]|\((m\d{1,9})\))\.?\Z")
_ID = re.compile(r"(?:earlier )?[\w.:-]{1,80}\Z")
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_FRAME = re.compile(
    "|".join(
        map(
            re.escape,
            (SUMMARY_OPEN, SUMMARY_CLOSE, SUMMARY_PREAMBLE, SUMMARY_BRIEF, SUMMARY_AFTERWORD),
        )
    )
    + r"|\[holdfast (?:note|digest|duplicate|placeholder)[^\]\n]{0,200}\]"
    + r"|(?:The o|O)riginals: recall hf-[0-9a-f]{10}\.?|\bhf-[0-9a-f]{10}\b"
    + r"|</?(?:note|record)>|\[CONTEXT (?:COMPACTION|SUMMARY)[^\]\n]{0,40}\]:?"
)
"""What stands around a summary and in our marks: a note has none of it, and no reference, since
only what is kept may be promised."""
_EMPTY = frozenset(phrases_for(one).none.casefold().rstrip(".。") for one in get_args(Language)) | {
    "", "none", "(none)", "n/a", "nothing", "empty", "null", "-", "—", "…", "...", "unknown",
    "not applicable",
}  # fmt: skip
_TEXT_KEYS = ("text", "content", "entry", "item", "quote", "description", "action", "value")
_SOURCE_KEYS = ("source", "id", "source_id", "message_id", "message", "ref")
_NAME_KEYS = ("section", "name", "heading", "title", "key")
_ROW_KEYS = ("entries", "items", "rows", "content", "values")
_DEEPEST = 4


class Read(Struct, frozen=True):
    """What was found in an answer; `words` is a text without any section."""

    summary: Summary
    form: Form

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return sum(map(len, self.summary.sections.values()))


def read_answer(text: str, language: Language, *, is_cut: bool = False) -> Read:
    """Return the note in an answer. Never raises; linear, and bounded in what it returns.

    A summary inside an entry is laid flat, and the frame of one falls away. Where the answer was
    cut off, its last entry is left out, since nobody knows how it would have ended.
    """
    body = text[:_READ_CHARS]
    found = _Found()
    form: Form = "json"
    value = read_json(body)
    if value is None or not _take(found, value, 0):
        form = "markdown" if _markdown(found, body) else "words"
    if is_cut or len(text) > _READ_CHARS:
        found.drop_last()
    sections: dict[Section, tuple[Entry, ...]] = {
        name: tuple(rows) for name in SECTIONS if (rows := found.sections.get(name))
    }
    numbered = len(sections.get("completed", ()))
    return Read(Summary(sections, "model", numbered, language), form)


class _Found:
    """Sections while they are read."""

    def __init__(self) -> None:
        self.sections: dict[Section, list[Entry]] = {}
        self._last: Section | None = None

    def put(self, section: Section, text: str, source: str = "", *, nested: bool = False) -> None:
        """Add an entry; a summary in its words is laid flat."""
        if not nested and "\n" in text and _holds_headings(text):
            _markdown(self, text, here=section, nested=True)
            return
        entry = _entry(text, source, section)
        rows = self.sections.setdefault(section, [])
        if entry is not None and len(rows) < _MOST_ENTRIES:
            rows.append(entry)
            self._last = section

    def drop_last(self) -> None:
        """Remove the entry that was read last."""
        if self._last is not None:
            self.sections[self._last].pop()


def _entry(text: str, source: str, section: Section) -> Entry | None:
    words = _FRAME.sub("", _UNWRITABLE.sub("\ufffd", text[: 2 * _ENTRY_CHARS]))
    words = "\n".join(filter(None, (" ".join(line.split()) for line in words.split("\n"))))
    found = _SOURCE.search(words[-120:])
    if found:
        source = source or found.group(1) or found.group(2)
        words = words[: len(words) - len(found.group())].rstrip()
    if words.casefold().rstrip(".。") in _EMPTY:
        return None
    if len(words) > _ENTRY_CHARS:
        words = f"{whole_words(words[:_ENTRY_CHARS], _ENTRY_CHARS)}…"
    source = source.strip(" []()")
    weight = PROSE_WEIGHTS[section]
    return Entry(words, source if _ID.match(source) else "", weight)


def _take(found: _Found, value: Value, depth: int) -> bool:
    """Put the sections of a JSON value, whatever is wrapped around them; False where none are."""
    if depth > _DEEPEST or isinstance(value, str):
        return False
    if isinstance(value, list):
        return sum(_take_row(found, row, depth) for row in value) > 0
    taken = False
    for key, inner in value.items():
        if isinstance(inner, dict) and _take(found, inner, depth + 1):
            taken = True
            continue
        section = section_named(key)
        if section is not None and (depth == 0 or is_own_heading(key)):
            taken = True
            _put_rows(found, section, inner)
        elif not isinstance(inner, str):
            taken = _take(found, inner, depth + 1) or taken
    return taken


def _take_row(found: _Found, row: Value, depth: int) -> bool:
    """Put a row that names its section."""
    if not isinstance(row, dict):
        return False
    name = _first(row, _NAME_KEYS)
    section = section_named(name) if name else None
    if section is None:
        return _take(found, row, depth + 1)
    rows = next((row[key] for key in _ROW_KEYS if isinstance(row.get(key), list)), None)
    _put_rows(found, section, row if rows is None else rows)
    return True


def _put_rows(found: _Found, section: Section, value: Value) -> None:
    rows = value if isinstance(value, list) else [value]
    for row in rows:
        if isinstance(row, str):
            found.put(section, row)
        elif isinstance(row, dict):
            words = _first(row, _TEXT_KEYS) or ": ".join(
                one for key, one in row.items() if isinstance(one, str) and key not in _SOURCE_KEYS
            )
            found.put(section, words, _source(row))


def _first(row: dict[str, Value], keys: tuple[str, ...]) -> str:
    return next((one for key in keys if isinstance(one := row.get(key), str) and one), "")


def _source(row: dict[str, Value]) -> str:
    for key in _SOURCE_KEYS:
        value = row.get(key)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str) and value:
            return value
    return ""


def _markdown(
    found: _Found, text: str, here: Section = "critical", *, nested: bool = False
) -> bool:
    """Put the entries under each heading; False where no heading is one of a note.

    What stands before the first of them is talk. A line that is neither heading nor entry belongs
    to the entry before.
    """
    known = nested
    rows: list[str] = []
    for line in text.split("\n"):
        bare = line.strip()
        if not bare or bare.startswith("```"):
            continue
        heading = _heading(bare)
        mark = None if heading else _MARK.match(line)
        if heading or mark:
            if rows and known:
                found.put(here, "\n".join(rows), nested=nested)
            rows = []
        if heading:
            section = section_named(heading[0])
            known = known or section is not None
            here = section or "critical"
            rows = [heading[1]] if heading[1] else []
        else:
            rows.append(line[mark.end() :] if mark else bare)
    if rows and known:
        found.put(here, "\n".join(rows), nested=nested)
    return known


def _heading(line: str) -> tuple[str, str] | None:
    """Return a heading, and what stands behind it on its line; None for other lines."""
    mark = _HEADING.match(line)
    if mark:
        return line[mark.end() :].rstrip("# "), ""
    bold = _BOLD.match(line)
    if bold:
        return bold.group(1), ""
    name, colon, rest = line[:120].partition(":")
    if colon and is_own_heading(name):
        return name, line[len(name) + 1 :].strip(" *") if rest.strip(" *") else ""
    return None


def _holds_headings(text: str) -> bool:
    return any(
        (found := _heading(line.strip())) is not None and section_named(found[0]) is not None
        for line in text[: 2 * _ENTRY_CHARS].split("\n")
    )
