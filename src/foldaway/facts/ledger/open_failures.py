"""The failures that no success resolved, as entries that fit into their room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from foldaway._core import Regex
from foldaway.facts.ledger.fact import KEPT_COMMANDS, LOOKED, Fact, Ledger
from foldaway.facts.ledger.lines import cut
from foldaway.facts.ledger.update import update
from foldaway.facts.summary import FAILURE, MUST, Entry, EntryPiece, of_pieces

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
