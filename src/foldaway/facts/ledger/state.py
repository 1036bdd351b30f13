"""What a summary tells in order: files by one name each, what was done, the current state; and
lines of one message as an entry; and what an earlier summary told.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice

from msgspec import Struct

from foldaway._core import Regex
from foldaway.facts.dialogue.statements import is_order
from foldaway.facts.languages import Phrases, counted
from foldaway.facts.ledger.fact import KEPT_COMMANDS, LOOKED, Fact, FactKind, FileState, Ledger
from foldaway.facts.ledger.lines import cut, terms_of
from foldaway.facts.ledger.update import update
from foldaway.facts.summary import (
    FAILURE,
    MUST,
    NOTES_WITHOUT_MODEL,
    SECTIONS,
    STATE,
    Entry,
    EntryPiece,
    Section,
    Summary,
    of_pieces,
)

_MOST_CHANGED = 8
"""Files that are named as changed since the last test run; all of them are in the list of files."""


def state_of(ledger: Ledger, phrases: Phrases) -> list[Entry]:
    """Return the state at the end of the log, what matters most last."""
    found = [
        Entry(f"{phrases.running}: {fact.text}", fact.source, STATE)
        for fact in ledger.running_now()
    ]
    for words, fact in (
        (phrases.working_directory, ledger.directory),
        (phrases.branch, ledger.branch),
        (phrases.pull_request, ledger.pull_request),
    ):
        if fact is not None:
            found.append(Entry(f"{words}: {fact.text}", fact.source, STATE))
    if ledger.commits:
        head = ledger.commits[-1]
        pushed = phrases.pushed if ledger.pushed is not None else phrases.not_pushed
        found.append(Entry(f"git commit: {title_of(head)} ({pushed})", head.source, STATE))
    if (tested := _tested(ledger, phrases)) is not None:
        found.append(tested)
    return found


def _tested(ledger: Ledger, phrases: Phrases) -> Entry | None:
    """Return what the last test run said, and what changed since."""
    last = ledger.last_test()
    if last is None:
        return None
    later = [
        path
        for path, state in ledger.known_files().items()
        if state.is_touched and state.at > last.at
    ]
    names = ", ".join(posixpath.basename(path) for path in later[-_MOST_CHANGED:])
    since = f"{phrases.changed_since}: {names}" if later else phrases.unchanged_since
    text = f"{phrases.last_test}: {last.text}; {since}"
    return Entry(text, last.source, STATE + 1)


def file_line(path: str, state: FileState, phrases: Phrases) -> str:
    """Return a file that was changed, with what was done to it."""
    done: list[str] = []
    if state.renamed_from:
        done.append(f"{phrases.renamed_to} {path}")
        path = state.renamed_from
    if state.created:
        done.append(phrases.created)
    edits = state.changed - state.created
    if edits > 1:
        done.append(f"{phrases.changed} {counted(phrases, phrases.times, edits)}")
    elif edits:
        done.append(phrases.changed)
    if state.deleted:
        done.append(phrases.deleted)
    return f"{path}: {', '.join(done)}"


def by_folder(paths: Iterable[str]) -> list[list[str]]:
    """Return paths in groups, those of one folder together, in their order."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(posixpath.dirname(path), []).append(path)
    return list(groups.values())


_REPLY_CHARS = 200
"""Of an older reply, in the story."""
_MOST_NAMES = 8
"""Names that came or went, of one file in one step; chosen, about a line."""
_LOOKED = 0.1
"""What a command is worth that only looked (`result.py`): no part of the story."""


class Deed(Struct, frozen=True, gc=False):
    """One thing that was done, and where."""

    at: int
    text: str
    source: str


def story(ledger: Ledger, phrases: Phrases, *, brief: bool, replies: bool = True) -> list[Deed]:
    """Return what was done, in order; without what commands printed if it must be brief, and then
    also without older `replies`.
    """
    found = [*_edited(ledger, phrases), *_ran(ledger, brief=brief)]
    found.extend(
        Deed(fact.at, f"git commit: {title_of(fact)}", fact.source) for fact in ledger.commits
    )
    if replies and not brief:
        found.extend(
            Deed(fact.at, f"{phrases.agent_wrote}: {cut(fact.text, _REPLY_CHARS)}", fact.source)
            for fact in ledger.replies[:-1]
        )
    return sorted(found, key=lambda deed: deed.at)


def title_of(commit: Fact) -> str:
    """Return the first line of what was said of a commit."""
    return commit.text.partition("\n")[0]


def _edited(ledger: Ledger, phrases: Phrases) -> Iterator[Deed]:
    """Yield the edits; those that were made for one sentence of the agent stand together."""
    for (head, _), rows in groupby(
        ledger.edits, key=lambda fact: (fact.head, fact.key if not fact.head else "")
    ):
        facts = list(rows)
        changes: dict[str, dict[str, None]] = {}
        for fact in facts:
            names = fact.text.partition(": ")[2]
            told = changes.setdefault(posixpath.basename(fact.key), {})
            told.update(dict.fromkeys(names.split(", ") if names else ()))
        text = "; ".join(
            f"{name} ({', '.join(islice(names, _MOST_NAMES))})" if names else name
            for name, names in changes.items()
        )
        if head or any(changes.values()):  # the list of files tells the others
            yield Deed(facts[-1].at, f"{head or phrases.changed}: {text}", facts[-1].source)


def _ran(ledger: Ledger, *, brief: bool) -> Iterator[Deed]:
    """Yield the commands that did something, the newest run of each, with how its tests ended."""
    tests = {fact.at: fact.text for fact in ledger.tests.values()}
    commits = {fact.at for fact in ledger.commits}
    for fact in {fact.text: fact for fact in ledger.commands}.values():
        if (not fact.worth or fact.worth > _LOOKED) and fact.at not in commits:
            printed = f"{fact.text}: {fact.head}" if fact.head and not brief else fact.text
            yield Deed(fact.at, tests.get(fact.at, printed), fact.source)


_ARGUMENT = Regex(r" \(\w+\)\Z")
"""At the end of a head: what is quoted is an argument of the call."""
SPOKEN = frozenset({"agent", "user"})
"""Heads of lines that are not from a tool's result."""


class Quotes:
    """Makes entries of lines; a path is written out once, and then by the end of it.

    A number is given as long as it is true: not if the file was changed after it was read.
    """

    def __init__(self, ledger: Ledger, quoted: str) -> None:
        """Take the words for what is quoted and no instruction."""
        self._mark = f"({quoted}) "
        self._files = ledger.files
        self._named = {path for path, state in ledger.files.items() if state.is_touched}
        self._names = Counter(map(posixpath.basename, ledger.files))

    def entry(self, head: str, rows: Sequence[tuple[float, Fact]]) -> Entry:
        """Return lines, each with its weight, in their order, as one entry."""
        facts = [fact for _, fact in rows]
        tool, _, path = head.partition(" ")
        state = self._files.get(path)
        if state is not None:
            head = f"{tool} {self._name(path)}"
        if state is None or (state.is_touched and state.at > facts[0].at):
            texts = [fact.text for fact in facts]
        else:
            texts = list(_numbered(facts))
        is_carried = facts[0].at < 0  # it stays as it was told
        if not (is_carried or head in SPOKEN or _ARGUMENT.search(head)):
            head += " says"
            texts = [
                self._mark + text if is_order(fact.text) else text
                for text, fact in zip(texts, facts, strict=True)
            ]
        weights = [weight for weight, _ in rows]
        pieces = tuple(map(EntryPiece, texts, weights))
        return of_pieces(head, pieces, facts[0].source)

    def _name(self, path: str) -> str:
        name = posixpath.basename(path)
        if path in self._named and self._names[name] == 1:
            return name
        self._named.add(path)
        return path


def _numbered(facts: Iterable[Fact]) -> Iterable[str]:
    """Yield lines, with their number if they do not follow the one before."""
    following = 0
    for fact in facts:
        is_new = fact.number > 0 and fact.number != following
        yield f"{fact.number}: {fact.text}" if is_new else fact.text
        following = fact.number + 1


_RANKED: dict[Section, FactKind] = {
    "critical": "line",
    "completed": "command",
    "decisions": "decision",
    "resolved": "question",
}
_ASKED: tuple[Section, ...] = ("goal", "task", "pending")
_MOST_TERMS = 24
"""Of one carried line."""


def carried_facts(summary: Summary) -> tuple[Fact, ...]:
    """Return what a summary merely ranked, in its order, before all positions of the log.

    Lines that stood under one head stand for themselves again, so that each is weighed for what
    it adds.
    """
    rows = [row for section, kind in _RANKED.items() for row in _facts(summary, section, kind)]
    return tuple(
        [
            Fact(
                kind, text, source, number - len(rows), terms=terms_of(text, _MOST_TERMS), head=head
            )
            for number, (kind, text, source, head) in enumerate(rows)
        ]
    )


def carried_entries(summary: Summary) -> Iterator[tuple[Section, Entry]]:
    """Yield the entries that stand before anything is ranked, each once."""
    for section in SECTIONS:
        if section not in _RANKED:
            rows = summary.sections.get(section, ())
            for entry in {entry.text: entry for entry in rows}.values():
                yield section, entry


def asked_in(summary: Summary) -> str:
    """Return the words of the user's asks in a summary."""
    return "\n".join(row.text for name in _ASKED for row in summary.sections.get(name, ()))


def _facts(
    summary: Summary, section: Section, kind: FactKind
) -> Iterator[tuple[FactKind, str, str, str]]:
    for entry in summary.sections.get(section, ()):
        if entry.text in NOTES_WITHOUT_MODEL:
            continue
        head, mark, below = entry.text.partition(":\n")
        if section == "critical" and mark and "\n" not in head:
            for line in below.split("\n"):
                yield kind, line, entry.source, head
        else:
            yield kind, entry.text, entry.source, ""


_ENTRY_CHARS = 18
"""What stands around an entry: mark, marks of code, source."""
_LINE_CHARS = 3
"""What stands before a further line."""
_NAME_CHARS = 70
"""Of the name of what failed."""
_LEAST_NAME_CHARS = 12
"""A shorter one says nothing."""
_MOVED_ON = 6
"""Successful commands after which the agent works on something else; chosen. Those that only look
at something do not count: who reads on has not moved on."""
_MISTYPED = Regex(
    r"unrecognized (?:subcommand|option|argument)"
    r"|[Uu]nknown (?:command|option|flag|argument|switch)"
    r"|command not found|[Ss]yntax error|parse error|^[Uu]sage:|invalid option|illegal option"
    r"|[Cc]ancelled: parallel|is not a git command|unexpected (?:token|argument|EOF)"
    r"|[Uu]nknown column|Table '[^']*' doesn't exist|no such (?:table|column)|ambiguous argument"
    r"|missing required|InputValidationError|tool_use_error"
)
"""How a call says that it was wrong itself: the next one is another."""
_UNKNOWN = Regex(r"^Error: [\w ]{1,40} not found\W{0,2}\Z")
"""How a tool says that one of its arguments names nothing."""
_OTHER_LINES = MUST + 10
"""A further line of a failure: behind the rules, the files and the asks."""


def open_failures(ledger: Ledger, room: float) -> list[Entry]:
    """Return the open failures, the newest last: each its first line and a name, as far as there is
    room for names, and the newest as many more lines as fit. What several tell stands once.
    """
    found = list(_open(ledger))
    room -= sum(len(lines[0].text) + _ENTRY_CHARS for _, lines in found)
    most = int(min(room / max(len(found), 1), _NAME_CHARS))
    entries: list[Entry] = []
    for key, lines in found:
        is_told = most < _LEAST_NAME_CHARS or not key or lines[0].text.startswith(key)
        name = "" if is_told else f"`{cut(key, most)}`"
        room -= len(name)
        pieces = [EntryPiece(lines[0].text, FAILURE)]
        for number, fact in enumerate(lines[1:], 1):
            room -= len(fact.text) + _LINE_CHARS
            if room < 0:
                break
            pieces.append(EntryPiece(fact.text, _OTHER_LINES - number / 100))
        entries.append(of_pieces(name, tuple(pieces), lines[0].source))
    return entries[::-1]


def open_lines(newest_first: Iterable[Sequence[Fact]], most_chars: float) -> dict[int, list[str]]:
    """Return the lines of the failures that are open at the end of a log, by position, of the
    newest ones so many characters; `newest_first` are the facts of its messages from the end on.

    No more of these are read than it takes: to the last request, or to work on something else.
    """
    read: list[Sequence[Fact]] = []
    ran = worked = 0
    for facts in newest_first:
        read.append(facts)
        ran += sum(fact.kind == "command" for fact in facts)
        worked += sum(fact.kind == "command" and _is_work(fact) for fact in facts)
        is_asked = any(fact.kind == "ask" for fact in facts)
        if is_asked or worked >= _MOVED_ON or ran >= KEPT_COMMANDS:
            break
    found: dict[int, list[str]] = {}
    for _, lines in _open(update(Ledger(), chain.from_iterable(reversed(read)))):
        for fact in lines:
            most_chars -= len(fact.text)
            if most_chars < 0:
                return found
            found.setdefault(fact.at, []).append(fact.text)
    return found


def _open(ledger: Ledger) -> Iterator[tuple[str, list[Fact]]]:
    """Yield the open failures, the newest first: what failed, and those of its lines that no newer
    one tells.
    """
    told: set[str] = set()
    for key, facts in reversed(ledger.errors.items()):
        lines = [fact for fact in facts if fact.text not in told]
        if lines and _is_open(ledger, lines[0]):
            told.update(fact.text for fact in lines)
            yield key, lines


def _is_open(ledger: Ledger, fact: Fact) -> bool:
    """Return whether a failure still stands in the way: nobody spoke since, the agent did not go on
    to other work, and it was more than a mistyped call.
    """
    asked = ledger.asks[-1].fact.at if ledger.asks else -1
    if ledger.command_count > len(ledger.commands) and fact.at < ledger.commands[0].at:
        return False  # it is not known what ran since, but much did
    later = sum(one.at > fact.at and _is_work(one) for one in ledger.commands)
    mistyped = _MISTYPED.search(fact.text) or (" {" in fact.key and _UNKNOWN.search(fact.text))
    return fact.at > asked and later < _MOVED_ON and not mistyped


def _is_work(command: Fact) -> bool:
    """Return whether a command went well and did more than look at something."""
    return not command.failed and bool(command.text) and command.worth != LOOKED
