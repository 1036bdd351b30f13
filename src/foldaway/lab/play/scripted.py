"""A player without a model: it knows a procedure, and every fact from the request alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

from foldaway.lab.play.task import Move, Need, PlayerTurn, Request, Task, TaskCall, fill, fill_call

SEARCH, RECALL = ("foldaway_search", "text"), ("foldaway_recall", "ref")
"""The tools, and their arguments, that reach what is out of the request."""
MOST_LOOKUPS = 3
"""Calls that search or recall for one need; a model gives up too."""
_PIECES = re.compile(
    r"\n|\\n|(?<=[.!?;])\s+(?=[A-Z\"'*`(-])|(?<=\}),\s*(?=\{)|\s+(?=[-*•] )", re.ASCII
)
"""Ends of lines, of sentences, of rows of JSON and of items."""
_RADII = (0, 1, 5)
"""How many pieces around a value the words may be: its own piece first."""
_REPLACED = re.compile(
    r"(\b(was|were|not|instead of|rather than|formerly|previously|before it was|replac\w+|"
    r"supersed\w+|old|earlier|no longer|from)\b[\s:\"'`(~$€]*|~~|→\s*not\s+)$",
    re.I,
)
"""Words before a value that no longer holds."""
_CHANGED = re.compile(
    r"\b(now|from now on|from here on|instead|changed?|no longer|new|updated?|correct\w*|reversed|"
    r"supersedes|replaces|latest|current)\b",
    re.I,
)
"""What says that a line is newer than others of its message."""
_PLACES = re.compile(r"(?m)^message (\d+):")
"""How a search names the messages that it found."""
_SOURCE = re.compile(r"\[m(\d+)[^\]]*\]")
"""How a record names the message that an entry comes from."""
_ENTRY_STARTS = re.compile(r"\n(?! |$)", re.M)
"""Line ends within an entry of a record are followed by a blank, or by an empty line."""
_ITEM = re.compile(r"\s*[-*•] \S")
"""The beginning of an item of a list: the next one is about something else."""
_REFERENCE = re.compile(r"\b(?:[a-z]{1,4}-[0-9a-f]{6,}|m\d+)\b")


class Scripted:
    """Plays the script of a task; between two requests it keeps its place and nothing that it read.

    A need that is not in the request is searched for and recalled if there are tools for that, then
    looked up once more in the world, then guessed.
    """

    def __init__(
        self, task: Task, search: tuple[str, str] = SEARCH, recall: tuple[str, str] = RECALL
    ) -> None:
        self._script = task.script
        self._search, self._recall = search, recall
        self._place = 0
        self._lookups: dict[str, int] = {}
        self._looked_again: set[str] = set()
        self.guesses = 0
        """Needs that were found nowhere."""
        self.lookups = 0
        """Calls that searched, recalled, or asked the world for what was known before."""

    def act(self, request: Request) -> PlayerTurn:
        """Return the next move, or a lookup of what it needs."""
        if self._place >= len(self._script):
            return PlayerTurn(text="That is all from me.")
        move = self._script[self._place]
        past, found = read(request, frozenset((self._search[0], self._recall[0])))
        texts = [*past, *found]
        values: dict[str, str] = {}
        guessed = 0
        for need in move.needs:
            words = tuple(fill(word, values) for word in need.near)
            value = find(texts, need.shape, words)
            if value is None:
                lookup = self._next_lookup(need, words, request, past, values)
                if lookup is not None:
                    self.lookups += 1
                    return PlayerTurn(calls=(lookup,))
                guessed += 1
            values[need.name] = need.guess if value is None else value
        self._place += 1
        self._lookups, self._looked_again = {}, set()
        self.guesses += guessed
        return turn_of(move, values)

    def _next_lookup(
        self,
        need: Need,
        words: Sequence[str],
        request: Request,
        past: Sequence[str],
        values: Mapping[str, str],
    ) -> TaskCall | None:
        """Return what to call for a need that is not in the request; None: guess."""
        made = self._lookups.get(need.name, 0)
        offered = {one.get("function", one).get("name") for one in request.tools}
        if made < MOST_LOOKUPS:
            self._lookups[need.name] = made + 1
            if made == 0 and self._search[0] in offered:
                query = " ".join(word.partition("|")[0] for word in words)
                return TaskCall(self._search[0], {self._search[1]: query})
            # the answers to the search and to the recalls after it
            shown = "\n".join(past[-made:]) if made else ""
            references = list(dict.fromkeys(_REFERENCE.findall(shown)))
            if self._recall[0] in offered and 0 < made <= len(references):
                return TaskCall(self._recall[0], {self._recall[1]: references[made - 1]})
        if need.again is not None and need.name not in self._looked_again:
            self._looked_again.add(need.name)
            return fill_call(need.again, values)
        return None


def turn_of(move: Move, values: Mapping[str, str]) -> PlayerTurn:
    """Return a move with its holes filled."""
    call = move.call
    if move.above is not None:
        first, second = (_number(values[name]) for name in move.above)
        call = call if first > second else move.otherwise
    calls = () if call is None else (fill_call(call, values),)
    return PlayerTurn(text=fill(move.text, values), calls=calls)


def texts_of(request: Request) -> list[str]:
    """Return every text of a request, in order: contents, and the arguments of calls."""
    return read(request, frozenset())[1]


def read(request: Request, lookups: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return what these tools brought back, and every other text of a request, the oldest first.

    What a search or a recall brought back is of the past, although it comes last in the request:
    all else is newer. An entry of a record that names its message is as old as that one; a message
    that is still there is at least as new as its place.
    """
    past, found, made = list[str](), list[tuple[int, bool, str]](), set[str]()
    for at, message in enumerate(request.messages):
        texts = list(_texts_in(message.get("content")))
        if message.get("tool_call_id") in made:
            past.extend(map(_in_time, texts))
        else:
            found.extend(aged for text in texts for aged in _with_age(text, at))
        for call in message.get("tool_calls") or ():
            function = call.get("function", {})
            found.append((at, True, str(function.get("arguments", ""))))
            if function.get("name") in lookups:
                made.add(str(call.get("id")))
    return past, [text for _, _, text in sorted(found, key=lambda aged: aged[:2])]


def _with_age(text: str, at: int) -> Iterator[tuple[int, bool, str]]:
    """Yield a message of a place, and the entries of a record apart; these are older than a message
    of the same place.
    """
    if not _SOURCE.search(text):
        yield at, True, text
        return
    rest = list[str]()
    for entry in _ENTRY_STARTS.split(text):
        if source := _SOURCE.search(entry):
            yield min(int(source[1]), at), False, entry
        else:
            rest.append(entry)
    yield at, True, "\n".join(rest)


def _in_time(text: str) -> str:
    """Return places that a search found in the order of the conversation."""
    first, *places = _PLACES.split(text)
    numbered = sorted(zip(map(int, places[::2]), places[1::2], strict=True))
    return first + "\n".join(f"message {number}:{said.strip()}" for number, said in numbered)


def _texts_in(content: Any) -> Iterator[str]:
    """Yield the texts of a content: a string, or parts."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in cast(list[Any], content):
            if isinstance(part, dict):
                fields = cast(dict[str, Any], part)
                if fields.get("type") == "tool_use":
                    yield json.dumps(fields.get("input"))
                yield from _texts_in(fields.get("text", fields.get("content")))


def find(texts: Sequence[str], shape: str, words: Sequence[str]) -> str | None:
    """Return the newest value of a shape with all words around it, those on its own line first."""
    pattern, ways = re.compile(shape), [_Word(word.lower().split("|")) for word in words]
    for radius in _RADII:
        for text in reversed(texts):
            lowered = text.lower()
            if all(way.is_in(lowered) for way in ways):
                value = _value_in(text, pattern, ways, radius)
                if value is not None:
                    return value
    return None


class _Word:
    """Ways to say one thing; each may be the beginning of a word."""

    def __init__(self, ways: Sequence[str]) -> None:
        self.ways = ways
        self.pattern = re.compile(
            "|".join(
                ("(?<![a-z0-9])" if way[:1].isalnum() else "") + re.escape(way) for way in ways
            )
        )

    def is_in(self, lowered: str) -> bool:
        """Return whether a text in small letters has it."""
        return any(way in lowered for way in self.ways) and bool(self.pattern.search(lowered))


class _Found(NamedTuple):
    """A value in a text, and what speaks for it, the strongest first; the largest wins."""

    nearness: int
    is_change: bool
    place: int
    nearness_in_piece: int
    value: str
    is_current: bool


def _value_in(
    text: str, pattern: re.Pattern[str], ways: Sequence[_Word], radius: int
) -> str | None:
    """Return the best value of one text with the words at most this many pieces off."""
    pieces = _pieces(text)
    found = [
        one
        for at, piece in enumerate(pieces)
        if pattern.search(piece)
        for one in _values_at(pieces, at, pattern, ways, radius)
    ]
    found = [one for one in found if one.is_current] or found
    return max(found).value if found else None


def _values_at(
    pieces: Sequence[str], at: int, pattern: re.Pattern[str], ways: Sequence[_Word], radius: int
) -> Iterator[_Found]:
    """Yield the values of one piece if the words are in it or around it."""
    for around in range(radius + 1):
        window = " ".join(_around(pieces, at, around)).lower()
        if all(way.is_in(window) for way in ways):
            break
    else:
        return
    piece = pieces[at]
    lowered = piece.lower()
    spots = [spot.span() for way in ways for spot in way.pattern.finditer(lowered)]
    for match in pattern.finditer(piece):
        value = next((group for group in match.groups() if group), match[0])
        start, end = match.span()
        yield _Found(
            -around,
            _CHANGED.search(piece) is not None,
            at,
            -min((max(start - last, first - end, 0) for first, last in spots), default=0),
            value.strip(),
            _REPLACED.search(piece[:start]) is None,
        )


def _around(pieces: Sequence[str], at: int, most: int) -> Sequence[str]:
    """Return a piece with its neighbours, up to a number on each side; an item ends before the
    next one.
    """
    start = stop = at
    while start > max(0, at - most) and not _ITEM.match(pieces[start]):
        start -= 1
    while stop < min(len(pieces) - 1, at + most) and not _ITEM.match(pieces[stop + 1]):
        stop += 1
    return pieces[start : stop + 1]


@lru_cache(maxsize=512)
def _pieces(text: str) -> tuple[str, ...]:
    """Return the lines, sentences and rows of a text."""
    return tuple(piece for piece in _PIECES.split(text) if piece and piece.strip())


def _number(text: str) -> float:
    """Return the number of a value; 0 if there is none."""
    digits = re.sub(r"[^\d.]", "", text)
    return float(digits) if digits.replace(".", "", 1).isdigit() else 0.0
