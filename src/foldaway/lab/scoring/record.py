"""A record as a reader takes it: where it stands in a view, its sections and their entries.

Nothing here knows how a record is written. Headings are recognized by the words of
`statements.toml`; a section that has none of them is `""` and is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from foldaway.lab.scoring.session import Message, text_parts
from foldaway.lab.scoring.words import pattern

_KINDS = {
    name: pattern("headings", name)
    for name in ("blockers", "constraints", "story", "files", "request", "state", "quotes")
}
_BACKGROUND = pattern("headings", "background")
_HEADING = re.compile(r"(#{1,4})\s+(\S.{0,120})|\*\*(\S.{0,80}?)\*\*:?")
_BULLET = re.compile(r"(?:[-*•]|\d{1,4}[.)])\s+")
_QUOTED = re.compile(r"^\s*> ?")
_FENCE = re.compile(r"(?:```|~~~)")
"""At the margin; one that is indented is part of what an entry quotes."""
_LABEL = re.compile(r"\s?\[(?:earlier )?m(\d{1,9})(?:[–-]m?(\d{1,9}))?(?:, m\d{1,9})*\]")
_NOTHING = re.compile(r"\W*(?:none|nothing|n/?a)?\W*", re.IGNORECASE)
_MUTATED = re.compile(
    r"\b(?:created|changed|deleted|renamed|written|edited|modified|added|removed|moved)\b", re.I
)
_READ = re.compile(r"\b(?:read|viewed|looked at|seen|searched|listed|opened)\b", re.IGNORECASE)
_PATH = re.compile(r"`([^`\n]{1,300})`|((?:[\w@.+~$()\[\]-]*/)*[\w@.+$()\[\]-]*\.\w{1,12}\b)")
_TIMES = re.compile(r"\([^()]{0,60}\)")
_RENAMED = re.compile(r"renamed (?:from|to) `?([^\s`,;]+)")
_OPENING_CHARS = 80


class RecordEntry(Struct, frozen=True):
    """One statement of a record: a bullet with the lines below it."""

    text: str
    labels: tuple[int, ...] = ()
    """The messages that it names as its source."""

    @property
    def first(self) -> str:
        """Its first line."""
        return self.text.partition("\n")[0]


class RecordSection(Struct, frozen=True):
    """A heading with its entries; `kind` is empty if a reader cannot tell what it is about."""

    heading: str
    kind: str
    is_background: bool
    entries: tuple[RecordEntry, ...]
    text: str = ""
    """As it stands, without the marks of a quotation."""


class ReadRecord(Struct, frozen=True):
    """A view as it is read: the record in it, and what is next to it."""

    at: int
    """The message that holds the record; -1 if there is none."""
    sections: tuple[RecordSection, ...]
    spoken: tuple[tuple[int, str], ...]
    """Texts of the role user outside the record, each with its message."""
    text: str = ""

    def entries(self, kind: str) -> Iterator[RecordEntry]:
        """Yield the entries of all sections of a kind."""
        for section in self.sections:
            if section.kind == kind:
                yield from section.entries

    @property
    def unknown(self) -> list[str]:
        """Headings whose kind a reader cannot tell."""
        return [
            section.heading
            for section in self.sections
            if section.heading and section.entries and not section.kind
        ]


def read_view(view: Sequence[Message], source: Sequence[Message]) -> ReadRecord:
    """Return what a view says, read beside the messages that it was made from."""
    texts = {text for message in source for text in text_parts(message) if text.strip()}
    openings = {text.lstrip()[:_OPENING_CHARS] for text in texts}
    asked = [text for row in source if row["role"] == "user" for text in text_parts(row)]
    at, records, spoken = -1, list[str](), list[tuple[int, str]]()
    for index, message in enumerate(view):
        if message["role"] in ("tool", "system", "developer"):
            continue
        for text in text_parts(message):
            rest = text
            if text not in texts and _is_record(text, openings):
                rest = _read_user_words(text, asked)
                records.append(text.removesuffix(rest) if rest else text)
                at = index if at < 0 else at
            if message["role"] == "user" and rest.strip() and (rest != text or text not in records):
                spoken.append((index, rest))
    body = "\n\n".join(records)
    return ReadRecord(at, tuple(sections_of(body)), tuple(spoken), body)


def _is_record(text: str, openings: set[str]) -> bool:
    """Return whether a text has headings of a record and is not a cut message of the source."""
    if text.lstrip()[:_OPENING_CHARS] in openings:
        return False
    return any(section.kind and section.heading for section in sections_of(text))


def _read_user_words(text: str, asked: Sequence[str]) -> str:
    """Return the words of a user that follow a record in one text; empty if there are none."""
    found = ""
    for words in asked:
        stripped = words.strip()
        if len(stripped) > len(found) and text.rstrip().endswith(f"\n{stripped}"):
            found = stripped
    return text[text.rfind(found) :] if found else ""


def sections_of(text: str) -> Iterator[RecordSection]:
    """Yield the sections of a text; what stands before the first heading is one without any.

    The first heading that says what its section is about gives the form of all: a heading of
    another level is part of what a section quotes.
    """
    heading, lines, in_fence = "", list[str](), False
    form = _form(text)
    for line in text.split("\n"):
        in_fence ^= bool(_FENCE.match(line))
        found = None if in_fence else _HEADING.fullmatch(line.rstrip())
        if found and found.group(1) == form:
            yield _section(heading, lines)
            heading, lines = (found.group(2) or found.group(3)).strip("# :"), []
        else:
            lines.append(line)
    yield _section(heading, lines)


def _form(text: str) -> str | None:
    """Return how the headings of a text are marked: so many #, or None for bold lines."""
    found = [row for line in text.split("\n") if (row := _HEADING.fullmatch(line.rstrip()))]
    known = [row for row in found if kind_of_heading(row.group(2) or row.group(3))]
    marked = [row.group(1) for row in known if row.group(1)]
    return marked[0] if marked else None


def kind_of_heading(heading: str) -> str:
    """Return what a section is about by its heading; empty if no word is known."""
    return next((kind for kind, words in _KINDS.items() if words.search(heading)), "")


def _section(heading: str, lines: Sequence[str]) -> RecordSection:
    found = [entry for entry in map(_entry, _blocks(lines)) if not _NOTHING.fullmatch(entry.text)]
    kind = kind_of_heading(heading) if heading else ""
    text = "\n".join(_QUOTED.sub("", line) for line in lines if not _FENCE.match(line))
    return RecordSection(heading, kind, bool(_BACKGROUND.search(heading)), tuple(found), text)


def _blocks(lines: Sequence[str]) -> Iterator[str]:
    """Yield the entries of a section: a bullet, and what is indented or fenced below it."""
    block: list[str] = []
    in_fence = False
    for line in lines:
        is_fence = bool(_FENCE.match(line))
        continues = in_fence or is_fence or (line[:1] in " \t>" and bool(block))
        if not continues and block:
            yield "\n".join(block)
            block = []
        if line.strip() or in_fence:
            block.append(line if continues else _BULLET.sub("", line, count=1))
        in_fence ^= is_fence
    if block:
        yield "\n".join(block)


def _entry(text: str) -> RecordEntry:
    if all(_QUOTED.match(line) for line in text.split("\n")):
        text = "\n".join(_QUOTED.sub("", line) for line in text.split("\n"))
    labels = [int(number) for pair in _LABEL.findall(text) for number in pair if number]
    return RecordEntry(_LABEL.sub("", text).strip(), tuple(labels))


def read_changed_files(record: ReadRecord) -> set[str]:
    """Return the files that a record says were changed, created, deleted or renamed."""
    return _read_changed(record.sections)


def read_claimed_files(text: str) -> set[str]:
    """Return the same of the text of a record."""
    return _read_changed(sections_of(text))


def _read_changed(sections: Iterable[RecordSection]) -> set[str]:
    """Read three layouts: `path: changed 3 times`, `changed: path, path; read: path`, and bare
    paths under a heading such as `Changed files`.
    """
    found: set[str] = set()
    for section in sections:
        if section.kind == "files":
            by_heading = bool(_MUTATED.search(section.heading))
            for entry in section.entries:
                for line in entry.text.split("\n"):
                    found |= _read_claimed(line, by_heading=by_heading)
    return found


def _read_claimed(line: str, *, by_heading: bool) -> set[str]:
    path, mark, words = line.strip().removeprefix("- ").partition(": ")
    if mark and not _MUTATED.search(path) and not _READ.fullmatch(path.strip("* `")):
        if not (_MUTATED.search(words) or (by_heading and not _READ.match(words))):
            return set()
        named = {path.strip("` *")} if not _is_pattern(path) else set(_paths(path))
        return named | set(_RENAMED.findall(words))
    found: set[str] = set()
    is_changed = by_heading
    for segment in re.split(r";|(?<=\w)\. ", line):
        head = segment.partition(":")[0] if ":" in segment else segment
        changes, reads = bool(_MUTATED.search(head)), bool(_READ.search(head))
        is_changed = changes or (is_changed and not reads)
        if is_changed:
            found.update(_paths(segment.partition(":")[2] if ":" in segment else segment))
    return found


def _is_pattern(path: str) -> bool:
    return ", " in path or path.count("`") > 2


def _paths(text: str) -> Iterator[str]:
    """Yield the paths of a list, with `{a,b}` spelled out."""
    for ticked, bare in _PATH.findall(_TIMES.sub(" ", _expand_braces(text))):
        yield (ticked or bare).strip()


def _expand_braces(text: str) -> str:
    while (found := re.search(r"([^\s,`{}]*)\{([^{}\n]{1,300})\}([^\s,`{}]*)", text)) is not None:
        before, names, after = found.groups()
        rows = [f"{before}{name.strip()}{after}" for name in names.split(",")]
        text = f"{text[: found.start()]}{', '.join(rows)}{text[found.end() :]}"
    return text
