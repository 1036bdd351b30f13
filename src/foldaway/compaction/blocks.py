"""Messages as blocks that stay or go: an agent's turn, long words, arguments, pieces of outputs.

A turn, or any other message, is shown bare: its words, its calls, and of long texts the beginning.
What follows in those, and what tools gave, is cut into pieces at line ends. Everything competes for
one room by its worth for each token; a piece brings its turn along.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Redact, Regex, TokenCounter
from foldaway.compaction.measure import message_tokens
from foldaway.compaction.references import without_media
from foldaway.compaction.worth import (
    FAMILY_WORTH,
    SIGNS,
    SIZES,
    BlockKind,
    first_worth,
    named,
    worth_of,
)
from foldaway.facts import (
    ARGUMENTS,
    GAP,
    Speaker,
    data_rows,
    family_of,
    gap_mark,
    origin_of,
    part_text,
    read_arguments,
    report_told,
    shown_part,
    terms_of,
    use_of,
    without_blocks,
)
from foldaway.facts.ledger import Topic
from foldaway.transcript import Message, Part, Text, ToolCall, ToolResult, text_length, texts

Leaf: TypeAlias = tuple[str | int, ...]
"""Where a text is in the arguments of a call."""
_MOST_PIECES, _OLDER_PIECES = 400, 8
"""Of one text, and of an output that is older than what is looked at whole: the first three
quarters of them and the last; chosen, more than would be taken."""
_MOST_ROWS, _ROW_CHARS = 400, 1_200
"""Items of data, and the characters of one."""
_SHORT_CHARS = 200
"""An output of no more is not cut (tests/coverage.md, B6)."""
_ARGUMENT_CHARS = 200
"""Of a long text in a call's arguments, what stays with the call (tests/coverage.md, B8)."""
_MOST_DATA_CHARS = 2_000_000
"""Of data; more is read as text. Chosen, to bound time and memory."""
_LEAST_OF_TEXT = 0.2
"""Of data, what its rows are at least; JSON has about twice as many characters as its rows."""
_MOST_NAMES = 400
"""Of one message; chosen, more is data."""
_DEEPEST = 64
"""Arguments nested deeper are left alone; chosen, far above any tool's schema, to bound
recursion."""
_LIFTED: frozenset[BlockKind] = frozenset({"person", "turn", "call"})
"""Bare messages that are worth more if they speak of the topic."""
_TOPIC_CHARS = 2_000
"""Of such a message, where the topic is looked for; chosen."""
_LOOSE = 0.6
"""A piece whose turn is not taken must be worth so much of itself together with the turn."""
_OLD_KEYS = frozenset(ARGUMENTS["old_texts"])
_SEAM = Regex(r"(?<=[}\]]),|(?<=[.;!?]) |, (?=[\"{])")


class BlockPiece(Struct, frozen=True, gc=False):
    """A part of a text that may be left out: the `order`-th piece of its cut."""

    cut: int
    order: int
    tokens: int
    worth: float
    """Of an output without what its names are worth, which falls as others show them."""
    names: tuple[str, ...] | None = None
    """The names in a piece of an output that the work uses."""


class TextCut(Struct, frozen=True, gc=False):
    """A text in pieces: which part of which message, and what is shown of it anyway."""

    at: int
    part: int
    leaf: Leaf | None
    """The place in a call's arguments; None for words and outputs."""
    pieces: tuple[str, ...]
    shown: int
    """So many pieces are shown with the bare message."""
    is_whole: bool = True
    """Whether the pieces together are the text."""
    reference: str = ""
    """Where the whole is by the text itself, if that is a part; anybody may have written it."""

    def text(self, chosen: Iterable[int], reference: str = "") -> str:
        """Return the chosen pieces with marks where others are left out, "" if all of them are; the
        first mark says where the whole is.
        """
        found: list[str] = []
        mark = gap_mark(reference)
        last = -1
        for order in sorted(chosen):
            if order != last + 1:
                found.append(self._gap(found, mark))
                mark = GAP
            found.append(self.pieces[order])
            last = order
        if found and last + 1 < len(self.pieces):
            found.append(self._gap(found, mark))
        return "".join(found).rstrip("\n") if self.leaf is None else "".join(found)

    def _gap(self, found: Sequence[str], mark: str) -> str:
        if self.leaf is not None:
            return mark
        return f"{mark}\n" if not found or found[-1].endswith("\n") else f"\n{mark}\n"


class BlockGroup(Struct, frozen=True):
    """Messages that stay together, bare, and the pieces that may stand in them."""

    start: int
    stop: int
    tokens: int
    worth: float
    cuts: tuple[TextCut, ...]
    pieces: tuple[BlockPiece, ...]
    names: frozenset[str] = frozenset()
    """What the bare messages name."""


class Zone(Struct, frozen=True):
    """What the blocks are made of, and how."""

    log: Sequence[Message]
    counter: TokenCounter
    speaker: Callable[[int], Speaker | None]
    reference: Callable[[Message], str]
    intact: frozenset[int]
    """Messages that are shown whole or not at all: pinned, a person's newest request."""
    with_media: frozenset[int]
    """Messages whose media stay."""
    most_chars: int = 1 << 30
    """How much of the log, from its end, is near: of older outputs a few pieces may be shown."""
    redact: Redact = str
    failures: Mapping[int, Sequence[str]] = {}
    """The lines of open failures, by position."""
    topic: Topic | None = None
    """What the work is about now, or a focus."""
    unclean: frozenset[int] = frozenset()
    """Messages that may hold secrets: they are hidden before a text is cut, because no piece of one
    is known as such."""

    def on_topic(self, text: str) -> float:
        """Return what the worth of a text is multiplied by for what it speaks of."""
        if self.topic is None:
            return 1.0
        if self.topic.is_given:
            return 1 + (SIGNS.focus - 1) * self.topic.share_in(text)
        return SIGNS.topic if self.topic.is_in(text) else 1.0

    def focus_in(self, start: int, stop: int) -> float:
        """Return how much of a focus the words of some messages speak of; 0.0 without a focus."""
        if self.topic is None or not self.topic.is_given:
            return 0.0
        words = (_words(self.log[at])[:_TOPIC_CHARS] for at in range(start, stop))
        return self.topic.share_in("\n".join(words))

    def cleaned(self, at: int, text: str) -> str:
        """Return a text of a message as it may be cut, without secrets."""
        return self.redact(text) if at in self.unclean else text


def cut_groups(
    zone: Zone, ranges: Sequence[tuple[int, int]], used: Mapping[str, float]
) -> list[BlockGroup]:
    """Return the groups of a log as blocks, the newest first; `ranges` are theirs, in order.

    What no agent has answered yet is unseen; `used` are the names that count.
    """
    newer = _Newer(set(), set())
    found: list[BlockGroup] = []
    for start, stop in reversed(ranges):
        messages = [zone.log[at] for at in range(start, stop)]
        newer.turns += any(message.role == "assistant" for message in messages)
        maker = _GroupMaker(zone, used, newer, is_unseen=stop == len(zone.log))
        found.append(maker.made(start, stop))
        for message in messages:
            newer.chars += text_length(message)
            if message.role == "assistant":
                newer.files.update(_files(message))
    return found


def used_names(zone: Zone, ranges: Sequence[tuple[int, int]]) -> dict[str, float]:
    """Return the names that persons and the agent use, each with what it is worth."""
    found: dict[str, float] = {}
    log = zone.log
    for start, stop in ranges:
        for at in range(start, stop):
            if log[at].role == "assistant" or zone.speaker(at) == "person":
                worth = SIGNS.recent if at >= len(log) - SIZES.newest else SIGNS.used
                for name in terms_of(_words(log[at]), _MOST_NAMES):
                    found[name] = min(found.get(name, 0.0) + worth, SIGNS.most)
    return found


class _Newer(Struct):
    """What the groups after one hold, while groups are cut from the newest on."""

    files: set[str]
    """What the agent has read or changed."""
    outputs: set[str]
    """The pieces of outputs."""
    turns: int = 0
    """Of the agent, with that of the group itself."""
    chars: int = 0


class _GroupMaker:
    """Cuts one group."""

    def __init__(
        self, zone: Zone, used: Mapping[str, float], newer: _Newer, *, is_unseen: bool
    ) -> None:
        self.zone, self.used, self.newer, self.is_unseen = zone, used, newer, is_unseen
        self.cuts: list[TextCut] = []
        self.pieces: list[BlockPiece] = []

    def made(self, start: int, stop: int) -> BlockGroup:
        """Return the group; its worth is that of the best message in it."""
        log, worth = self.zone.log, 0.0
        calls: dict[str, ToolCall] = {}
        for at in range(start, stop):
            calls |= {part.id: part for part in log[at].parts if type(part) is ToolCall}
            kind = _kind(log[at], self.zone.speaker(at))
            lift = self.zone.on_topic(_words(log[at])[:_TOPIC_CHARS]) if kind in _LIFTED else 1.0
            worth = max(worth, worth_of(kind, self.newer.turns) * lift)
            if at not in self.zone.intact:
                self._cut(at, log[at], kind, calls)
        cuts = tuple(self.cuts)
        bare = show(self.zone, start, stop, cuts, {})
        tokens = sum(
            message_tokens(bare.get(at, log[at]), self.zone.counter) for at in range(start, stop)
        )
        names = frozenset(
            name
            for at in range(start, stop)
            for name in terms_of(_words(bare.get(at, log[at])), _MOST_NAMES)
            if name in self.used
        )
        return BlockGroup(start, stop, tokens, worth, cuts, tuple(self.pieces), names)

    def _cut(
        self, at: int, message: Message, kind: BlockKind, calls: Mapping[str, ToolCall]
    ) -> None:
        for number, part in enumerate(message.parts):
            if type(part) is Text:
                following: BlockKind = (
                    "prose"
                    if message.role == "assistant"
                    else "paste"
                    if kind == "person"
                    else kind
                )
                self._text(at, number, None, part.text, following)
            elif type(part) is ToolCall and message.role == "assistant":
                self._arguments(at, number, part)
            elif type(part) is ToolResult and part.kind not in ("server", "hosted"):
                self._output(at, number, part, calls.get(part.call_id))

    def _text(self, at: int, part: int, leaf: Leaf | None, text: str, kind: BlockKind) -> None:
        ratio = _ratio(text, self.zone.counter)
        if leaf is None and len(text) * ratio <= SIZES.whole_text:
            return
        ends = _ends(text, int(SIZES.text / ratio))
        is_all, text = ends is text, self.zone.cleaned(at, ends)
        first = _ARGUMENT_CHARS if leaf is not None else 0
        pieces = tuple(_pieces(text[first:], int(SIZES.text / ratio)))
        pieces = (text[:first], *pieces) if first else pieces
        worth = worth_of(kind, self.newer.turns)
        cut = TextCut(at, part, leaf, pieces, 1, is_all and "".join(pieces) == text)
        self._add(cut, ratio, lambda _, __: (worth, None))

    def _arguments(self, at: int, number: int, call: ToolCall) -> None:
        if len(call.arguments) <= _ARGUMENT_CHARS:
            return None
        if call.kind == "custom":
            return self._text(at, number, (), call.arguments, "new_text")
        if call.kind != "function":
            return None
        value = read_arguments(call.arguments)
        if _is_unreadable(value):
            return None
        for leaf, text in _leaves(value, _ARGUMENT_CHARS):
            old = any(key in _OLD_KEYS for key in leaf)
            self._text(at, number, leaf, text, "old_text" if old else "new_text")
        return None

    def _output(self, at: int, number: int, result: ToolResult, call: ToolCall | None) -> None:
        whole = result_text(result)
        reference, text = shown_part(whole)
        if len(text) <= _SHORT_CHARS or origin_of(text) != "real":
            return
        ratio = _ratio(text, self.zone.counter)
        most = int(SIZES.output / ratio)
        pieces = tuple(_in_rows(self.zone.cleaned(at, text), most) if _is_data(text) else ())
        said = _said_in(text, self.zone.failures.get(at, ()))
        is_whole, is_older = False, self.newer.chars > self.zone.most_chars
        if not pieces or (said and not _holding(pieces, said)):
            ends = _ends(text, most, _OLDER_PIECES if is_older else _MOST_PIECES)
            text = self.zone.cleaned(at, ends)
            pieces = tuple(_pieces(without_blocks(text), most))
            is_whole = ends is whole and "".join(pieces) == text
        file = _file(call) if call is not None else ""
        family = family_of(call.name) if call is not None else "other"
        back = max(self.newer.turns - 1, 0)
        failing = _holding(pieces, said)
        worth = worth_of("output", back) * FAMILY_WORTH.get(family, 1.0)
        worth *= SIGNS.outdated if family == "read" and file in self.newer.files else 1.0
        cut = TextCut(at, number, None, pieces, int(self.is_unseen), is_whole, reference)

        def judged(piece: str, order: int) -> tuple[float, tuple[str, ...] | None]:
            if order in failing:
                return worth_of("failure", back), None
            names = tuple(name for name in terms_of(piece) if name in self.used)
            return self._output_worth(worth, piece, order), names

        self._add(cut, ratio, judged)

    def _output_worth(self, worth: float, piece: str, order: int) -> float:
        found = worth * first_worth(order) * self.zone.on_topic(piece)
        words = piece.strip()
        if words in self.newer.outputs:
            return found * SIGNS.repeated
        self.newer.outputs.add(words)
        return found

    def _add(
        self,
        cut: TextCut,
        ratio: float,
        judged: Callable[[str, int], tuple[float, tuple[str, ...] | None]],
    ) -> None:
        """Add a cut with its pieces; `judged` gives what one is worth, and its names."""
        number = len(self.cuts)
        self.cuts.append(cut)
        for order in range(cut.shown, len(cut.pieces)):
            piece = cut.pieces[order]
            tokens = max(int(len(piece) * ratio), 1)
            self.pieces.append(BlockPiece(number, order, tokens, *judged(piece, order)))


def take(
    groups: Sequence[BlockGroup], room: int, must: Iterable[int], used: Mapping[str, float]
) -> dict[int, set[BlockPiece]]:
    """Return the numbers of the groups that are taken, each with its pieces.

    The worthiest come first, until the room is full; `must` are taken whatever they cost. A name of
    the `used` ones adds worth to a piece until something shows it.
    """
    taking = _Taking(groups, room, used)
    for number in must:
        taking.take(number)
    taking.fill()
    return taking.taken


class _Taking:
    """What is taken, what room is left, and which names are shown by it."""

    def __init__(self, groups: Sequence[BlockGroup], room: int, used: Mapping[str, float]) -> None:
        self.groups, self.room, self.used = groups, room, used
        self.taken: dict[int, set[BlockPiece]] = {}
        self.shown: set[str] = set()

    def take(self, number: int) -> None:
        if number not in self.taken:
            self.taken[number] = set()
            self.shown |= self.groups[number].names
            self.room -= self.groups[number].tokens

    def fill(self) -> None:
        """Take what is worth most, until the room is full."""
        order: list[tuple[float, int, int]] = []
        for number, group in enumerate(self.groups):
            order.append((-group.worth, number, -1))
            order += [(-self._worth(one), number, place) for place, one in enumerate(group.pieces)]
        heapify(order)
        while order:
            worth, number, place = heappop(order)
            if -worth < SIGNS.least:
                break
            if place < 0:
                if self.groups[number].tokens <= self.room:
                    self.take(number)
                continue
            now = self._worth(self.groups[number].pieces[place])
            if now < -worth:  # others have shown its names since
                heappush(order, (-now, number, place))
            else:
                self._piece(number, place, now)

    def _piece(self, number: int, place: int, worth: float) -> None:
        group = self.groups[number]
        piece = group.pieces[place]
        cost = piece.tokens
        if number not in self.taken:
            cost += group.tokens
            together = worth * piece.tokens + group.worth * group.tokens
            if together < _LOOSE * worth * cost:
                return
        if cost <= self.room:
            self.take(number)
            self.taken[number].add(piece)
            self.shown.update(piece.names or ())
            self.room -= piece.tokens

    def _worth(self, piece: BlockPiece) -> float:
        if piece.names is None:
            return piece.worth
        new = [self.used[name] for name in piece.names if name not in self.shown]
        return piece.worth * named(new)


def show(
    zone: Zone, start: int, stop: int, cuts: Sequence[TextCut], chosen: Mapping[int, Iterable[int]]
) -> dict[int, Message]:
    """Return the messages of a group that are not shown as they are, by position.

    `chosen` are the pieces that stand, by the number of their cut.
    """
    changed: dict[int, dict[int, Part]] = {}
    for number, cut in enumerate(cuts):
        pieces = {*range(cut.shown), *chosen.get(number, ())}
        if cut.is_whole and len(pieces) == len(cut.pieces):
            continue
        message = zone.log[cut.at]
        parts = changed.setdefault(cut.at, {})
        part = parts.get(cut.part, message.parts[cut.part])
        parts[cut.part] = _shown(part, cut, pieces, zone.reference(message) or cut.reference)
    found: dict[int, Message] = {}
    for at in range(start, stop):
        message = zone.log[at]
        made = changed.get(at, {})
        parts = tuple(made.get(number, part) for number, part in enumerate(message.parts))
        if at not in zone.with_media:
            parts = without_media(parts, zone.reference(message))
        if any(new is not old for new, old in zip(parts, message.parts, strict=True)):
            is_result = any(type(part) is ToolResult for part in parts)
            origin = "digest" if is_result else message.origin
            found[at] = replace(message.with_parts(parts), origin=origin)
    return found


def _shown(part: Part, cut: TextCut, pieces: set[int], reference: str) -> Part:
    words = cut.text(pieces, "" if type(part) is ToolResult else reference)
    match part:
        case Text():
            return replace(part, text=words, intact=False)
        case ToolResult():
            return replace(part, parts=(Text(part_text(words, reference)),), intact=False)
        case ToolCall():
            if not cut.leaf:
                return replace(part, arguments=words, intact=False)
            value = _with_leaf(msgspec.json.decode(part.arguments), cut.leaf, words)
            return replace(part, arguments=msgspec.json.encode(value).decode(), intact=False)
        case _:
            return part


def _kind(message: Message, speaker: Speaker | None) -> BlockKind:
    if message.role == "assistant":
        return "turn" if any(text.strip() for text in texts(message)) else "call"
    if speaker is None:
        return "call"
    if speaker != "host":
        return speaker
    return "report" if any(map(report_told, texts(message))) else "host"


def _words(message: Message) -> str:
    """Return the words, arguments and outputs of a message."""
    found: list[str] = []
    for part in message.parts:
        match part:
            case Text(text=text):
                found.append(text)
            case ToolCall(name=name, arguments=arguments):
                found.append(f"{name} {arguments}")
            case ToolResult():
                found.append(result_text(part))
            case _:
                pass
    return "\n".join(found)


def result_text(result: ToolResult) -> str:
    """Return the words of a result."""
    return "\n".join(part.text for part in result.parts if isinstance(part, Text))


def _files(message: Message) -> Iterator[str]:
    """Yield the files that a message reads or changes by its calls."""
    for part in message.parts:
        if type(part) is ToolCall and family_of(part.name) in ("read", "edit", "write"):
            file = _file(part)
            if file:
                yield file


def _file(call: ToolCall) -> str:
    return use_of(call).first("paths") if call.kind == "function" else ""


def _ratio(text: str, counter: TokenCounter) -> float:
    """Return the tokens of a character of a text, by its ends if it is long."""
    sample = text if len(text) <= 8_000 else f"{text[:4_000]}\n{text[-4_000:]}"
    return max(counter.count(sample), 1) / max(len(sample), 1)


def _ends(text: str, most: int, pieces: int = _MOST_PIECES) -> str:
    """Return the ends of a text of more pieces, of `most` characters each, without torn words."""
    longest = pieces * max(most, 1)
    if len(text) <= longest:
        return text
    stop, start = longest * 3 // 4, len(text) - longest // 4
    stop = max(text.rfind("\n", 0, stop), text.rfind(" ", 0, stop), stop // 2)
    start = min(at for at in (text.find("\n", start), text.find(" ", start), len(text)) if at >= 0)
    return f"{text[:stop]}\n{GAP}\n{text[start:]}"


def _pieces(text: str, most: int) -> Iterator[str]:
    """Yield a text in pieces of about so many characters, cut at line ends, or else at seams."""
    now: list[str] = []
    size = 0
    for line in text.splitlines(keepends=True):
        if now and size + len(line) > 1.15 * most:
            yield "".join(now)
            now, size = [], 0
        if len(line) > 1.6 * most:
            yield from _parted(line, most)
            continue
        now.append(line)
        size += len(line)
    if now:
        yield "".join(now)


def _parted(line: str, most: int) -> Iterator[str]:
    at = 0
    while len(line) - at > 1.4 * most:
        seams = [
            found.end() for found in _SEAM.finditer(line, at + most // 2, at + int(1.4 * most))
        ]
        stop = min(seams, key=lambda seam: abs(seam - at - most)) if seams else at + most
        yield line[at:stop]
        at = stop
    if at < len(line):
        yield line[at:]


def _said_in(text: str, lines: Sequence[str]) -> list[str]:
    """Return those of these lines that are in a text, as they are or as they are in JSON there."""
    whole = [line.removesuffix("…").rstrip() for line in lines]
    plain = [json.dumps(line, ensure_ascii=False)[1:-1] for line in whole]
    escaped = [json.dumps(line)[1:-1] for line in whole]
    return [form for form in dict.fromkeys((*whole, *plain, *escaped)) if form in text]


def _holding(pieces: Sequence[str], words: Sequence[str]) -> set[int]:
    """Return which pieces hold some of these words, which may go on in the next piece."""
    if not words:
        return set()
    text, found = "".join(pieces), set[int]()
    for start, stop in ((at, at + len(one)) for one in words if (at := text.find(one)) >= 0):
        end = 0
        for order, piece in enumerate(pieces):
            begin, end = end, end + len(piece)
            if begin < stop and end > start:
                found.add(order)
    return found


def _is_data(text: str) -> bool:
    """Return whether a text may be data that is read as rows."""
    return text[:1] in ("{", "[") and len(text) <= _MOST_DATA_CHARS


def _in_rows(text: str, most: int) -> list[str]:
    """Return data as rows, some short ones in a piece; nothing for any other text."""
    found: list[str] = []
    rows = data_rows(text, _MOST_ROWS, _ROW_CHARS)
    if sum(map(len, rows)) < _LEAST_OF_TEXT * len(text):
        return []  # mostly one long text
    for row in rows:
        if found and len(found[-1]) + len(row) < most:
            found[-1] += f"{row}\n"
        else:
            found.append(f"{row}\n")
    return found


def _is_unreadable(arguments: Any) -> bool:
    """Return whether a repair made arguments of invalid JSON (rule `arguments-object`):
    they are kept whole, so that a host can read them as they came.
    """
    fields = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    return list(fields) == ["value"] and isinstance(fields["value"], str)


def _leaves(value: Any, longer_than: int, where: Leaf = ()) -> Iterator[tuple[Leaf, str]]:
    """Yield the long texts of arguments with their places."""
    if len(where) > _DEEPEST:
        return
    if isinstance(value, str):
        if len(value) > longer_than:
            yield where, value
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _leaves(inner, longer_than, (*where, key))
    elif isinstance(value, list):
        for number, inner in enumerate(cast("list[Any]", value)):
            yield from _leaves(inner, longer_than, (*where, number))


def _with_leaf(value: Any, leaf: Leaf, text: str) -> Any:
    """Return arguments with another text in one place."""
    if not leaf:
        return text
    first, *rest = leaf
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {**fields, str(first): _with_leaf(fields[str(first)], tuple(rest), text)}
    items = list(cast("list[Any]", value))
    items[int(first)] = _with_leaf(items[int(first)], tuple(rest), text)
    return items
