"""The failures that no success resolved, as entries that fit into their room."""

from __future__ import annotations

from collections.abc import Sequence

from foldaway._core import Regex
from foldaway.facts.ledger.fact import Fact, Ledger
from foldaway.facts.ledger.lines import cut
from foldaway.facts.summary import FAILURE, MUST, Entry, EntryPiece, of_pieces

_NAME_CHARS = (70, 24)
"""How much of the name of what failed is shown: the first that leaves room for every failure."""
_ENTRY_CHARS = 18
"""What stands around an entry: mark, marks of code, source."""
_LINE_CHARS = 3
"""What stands around an entry, and before a further line of it."""
_MOVED_ON = 6
"""After so many commands that went well the agent works on something else; chosen."""
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
    """Return the open failures: each with all its lines where there is room for that.

    Otherwise every one has its first line before any has a second, and short names; a line that
    several tell stands once. Where not even the first lines fit, those of one tool stand together.
    """
    failures = [row for row in _apart(ledger) if _is_open(ledger, row[1][0])]
    if not failures:
        return []
    for name_chars in _NAME_CHARS:
        names = [_name(key, lines[0].text, name_chars) for key, lines in failures]
        left = room - sum(
            len(name) + len(lines[0].text) + _ENTRY_CHARS
            for name, (_, lines) in zip(names, failures, strict=True)
        )
        if left >= 0:
            return _told(names, failures, left)
    return _by_tool(failures, room) if len(failures) > 1 else _told([""], failures, 0)


def _is_open(ledger: Ledger, fact: Fact) -> bool:
    """Return whether a failure still stands in the way: nobody spoke since, the agent did not go on
    to other work, and it was more than a mistyped call.
    """
    asked = ledger.asks[-1].fact.at if ledger.asks else -1
    later = sum(not one.failed and one.at > fact.at for one in ledger.commands[-2 * _MOVED_ON :])
    mistyped = _MISTYPED.search(fact.text) or (" {" in fact.key and _UNKNOWN.search(fact.text))
    return fact.at > asked and later < _MOVED_ON and not mistyped


def _told(
    names: Sequence[str], failures: Sequence[tuple[str, tuple[Fact, ...]]], room: float
) -> list[Entry]:
    """Return every failure with its first line, and with further ones as far as the room goes."""
    sizes = [[len(one.text) + _LINE_CHARS for one in lines] for _, lines in failures]
    return [
        _failure(name, [one.text for one in lines[:count]], lines[0].source)
        for name, count, (_, lines) in zip(names, _in_turn(sizes, room), failures, strict=True)
    ]


def _apart(ledger: Ledger) -> list[tuple[str, tuple[Fact, ...]]]:
    """Return the failures, the newest last, without lines that a newer one tells too."""
    told: set[str] = set()
    found: list[tuple[str, tuple[Fact, ...]]] = []
    for key, facts in reversed(ledger.errors.items()):
        own = tuple([fact for fact in facts if fact.text not in told])
        if own:
            found.append((key, own))
            told.update([fact.text for fact in own])
    return found[::-1]


def _name(key: str, first: str, most: int) -> str:
    return f"`{cut(key, most)}`" if most and key and not first.startswith(key) else ""


def _in_turn(sizes: Sequence[Sequence[int]], room: float) -> list[int]:
    """Return how many lines each failure has: one each, then the newest has its second, and so on.

    A line that does not fit ends its failure.
    """
    counts = [1] * len(sizes)
    open_ones = list(range(len(sizes) - 1, -1, -1))
    while open_ones and room > 0:
        going = list[int]()
        for at in open_ones:
            if counts[at] < len(sizes[at]) and sizes[at][counts[at]] <= room:
                room -= sizes[at][counts[at]]
                counts[at] += 1
                going.append(at)
        open_ones = going
    return counts


def _failure(name: str, lines: Sequence[str], source: str, *, first_alone: bool = True) -> Entry:
    pieces = [
        EntryPiece(line, FAILURE if not number or not first_alone else _OTHER_LINES - number / 100)
        for number, line in enumerate(lines)
    ]
    return of_pieces(name, tuple(pieces), source)


def _by_tool(rows: Sequence[tuple[str, tuple[Fact, ...]]], room: float) -> list[Entry]:
    """Return the first lines of all failures under the first word of what failed.

    Each tool has the same room: the newest of its failures.
    """
    tools: dict[str, dict[str, str]] = {}
    for key, facts in rows:
        held = tools.setdefault(key.partition(" ")[0], {})
        held.pop(facts[0].text, None)
        held[facts[0].text] = facts[0].source
    return [
        _failure(f"`{name}`" if name else "", _newest(list(lines), room / len(tools)),
                 list(lines.values())[-1], first_alone=False)
        for name, lines in tools.items()
    ]  # fmt: skip


def _newest(lines: list[str], room: float) -> list[str]:
    """Return the last lines that fit, one at least."""
    first = len(lines) - 1
    room -= len(lines[first])
    while first and (room := room - len(lines[first - 1])) >= 0:
        first -= 1
    return lines[first:]
