"""The record that a model reads: messages as turns, in pieces that fit into its requests.

A turn says who, which id, and what; long texts are cut, secrets hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from foldaway._core import Redact, Regex, TokenCounter
from foldaway.facts import cleaned, own_words, without_blocks
from foldaway.reduction import plain
from foldaway.transcript import Media, Message, Opaque, Part, Text, ToolCall, ToolResult

_RESULT_CHARS = (6_000, 4_000, 1_500)
_ARGUMENTS_CHARS = (1_500, 1_200, 0)
_WORDS_CHARS = (12_000, 8_000, 3_000)
"""From how many characters on a text is cut, and how many stay of its head and its tail."""
_ALL_CHARS = (120_000, 80_000, 30_000)
"""A message of many parts."""
_READ_CHARS = 40_000
"""How much of a text is read at each end: secrets are hidden also around what may be shown."""
_OVERSHOOT = 1.2
"""How much more than the excess is taken away at once: parts do not add up to the whole."""
_BETWEEN_TOKENS = 2
"""The empty line between two turns."""
_LEAST_CHARS = 200
"""A shorter text is not cut further."""
_LABEL = Regex(r"[\w.:-]{1,80}\Z")
_UNWRITABLE = Regex("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_SPEAKERS = {"user": "user", "assistant": "agent", "system": "system", "developer": "system"}


def turn(message: Message, names: Mapping[str, str], redact: Redact) -> str:
    """Return a message as a turn of the record, "" if it shows nothing.

    `names` are the tools by the ids of their calls. Generated messages have no turn, nor has
    thinking: what is reported is what was said and done.
    """
    if message.is_generated:
        return ""
    shown = cleaned(_ends(message), redact)
    blocks = [block for part in shown.parts if (block := _block(part, names))]
    if not blocks:
        return ""
    speaker = _SPEAKERS.get(message.role, "tool")
    if speaker == "user" and not _is_by_user(shown):
        speaker = "program"
    body = cut("\n".join(blocks), *_ALL_CHARS).replace("</record>", "</ record>")
    # once more as a whole: what makes a secret one may be in another part
    return redact(f"[{label_of(message)}] {speaker}:\n{body}")


def _is_by_user(message: Message) -> bool:
    """Return whether anything in a message of the user's was not put there by a program."""
    return any(not isinstance(part, Text) or own_words(part.text) for part in message.parts)


def label_of(message: Message) -> str:
    """Return the id by which a record names a message: its label, if that is one word."""
    return message.label if _LABEL.match(message.label) else f"m{message.position}"


def tool_names(messages: Iterable[Message]) -> dict[str, str]:
    """Return the names of the tools by the ids of their calls."""
    return {
        part.id: part.name
        for message in messages
        for part in message.parts
        if type(part) is ToolCall
    }


def cut(text: str, most: int, head: int, tail: int) -> str:
    """Return a text of at most `most` characters: its head, what is left out, its tail."""
    if len(text) <= most:
        return text
    end = text[len(text) - tail :] if tail else ""
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters …]\n{end}".rstrip("\n")


def _ends(message: Message) -> Message:
    """Return a message whose very long texts have only their ends: the rest is never shown."""
    return message.with_parts(tuple(_short(part) for part in message.parts))


def _short(part: Part) -> Part:
    match part:
        case Text(text=text):
            return Text(_both_ends(text))
        case ToolCall(arguments=text):
            return ToolCall(part.id, part.name, _both_ends(text), part.kind)
        case ToolResult(parts=inner):
            return ToolResult(part.call_id, tuple(map(_short, inner)), part.is_error, part.name)
        case _:
            return part


def _both_ends(text: str) -> str:
    return cut(text, 2 * _READ_CHARS, _READ_CHARS, _READ_CHARS)


def _block(part: Part, names: Mapping[str, str]) -> str:
    match part:
        case Text(text=text):
            return _readable(text, *_WORDS_CHARS)
        case ToolCall(name=name, arguments=arguments):
            return f"calls {_one_line(name)} {_readable(arguments, *_ARGUMENTS_CHARS)}"
        case ToolResult():
            return _result(part, names)
        case Media(kind=kind):
            return f"[{kind}]"
        case Opaque(kind=kind):
            return f"[{_one_line(kind)}]"
        case _:
            return ""


def _result(result: ToolResult, names: Mapping[str, str]) -> str:
    texts = "\n".join(_inner(part) for part in result.parts)
    name = _one_line(result.name or names.get(result.call_id, "")) or "a tool"
    failed = ", an error" if result.is_error else ""
    return f"result of {name}{failed}:\n{_readable(texts, *_RESULT_CHARS)}"


def _inner(part: Part) -> str:
    match part:
        case Text(text=text):
            return text
        case Media(kind=kind):
            return f"[{kind}]"
        case _:
            return ""


def _readable(text: str, most: int, head: int, tail: int) -> str:
    words = without_blocks(text)
    if "\x1b" in words or "\r" in words:
        words = plain(words)
    return cut(_UNWRITABLE.sub("\ufffd", words).strip(), most, head, tail)


def _one_line(name: str) -> str:
    return " ".join(_UNWRITABLE.sub("", name[:120]).split())


# In pieces


class Chunk(Struct, frozen=True):
    """A stretch of the record that goes into one request."""

    record: str
    positions: tuple[int, ...]
    """The log positions of its turns, in order."""


class PackedRecord(Struct, frozen=True):
    """All chunks, oldest first, and the positions that are left to the ledger, the oldest."""

    chunks: tuple[Chunk, ...] = ()
    left: tuple[int, ...] = ()


def pack(
    positions: Sequence[int],
    turn_at: Callable[[int], str],
    counter: TokenCounter,
    *,
    room_tokens: int,
    most: int,
) -> PackedRecord:
    """Return at most `most` chunks of at most `room_tokens`, the newest positions first served.

    Turns are made from the newest to the oldest, and only as many as fit. A turn that is longer
    than a whole chunk is cut. Positions without a turn are in no chunk and not left over.
    """
    chunks: list[Chunk] = []
    stop = len(positions)
    while stop > 0 and len(chunks) < most:
        rows = _filled(positions, stop, turn_at, counter, room_tokens)
        rows = _fitted(rows, counter, room_tokens)
        if not rows:
            stop = 0
            break
        stop = rows[-1].index
        rows.reverse()
        chunks.append(Chunk(_record(rows), tuple(positions[row.index] for row in rows)))
    chunks.reverse()
    return PackedRecord(tuple(chunks), tuple(positions[:stop]))


class _Row(Struct, frozen=True, gc=False):
    index: int
    text: str
    tokens: int


def _filled(
    positions: Sequence[int],
    stop: int,
    turn_at: Callable[[int], str],
    counter: TokenCounter,
    room_tokens: int,
) -> list[_Row]:
    """Return turns from `stop` on towards the oldest until the room is full; at least one."""
    rows: list[_Row] = []
    spent = 0
    for index in range(stop - 1, -1, -1):
        text = turn_at(positions[index])
        if not text:
            continue
        tokens = counter.count(text) + _BETWEEN_TOKENS
        if rows and spent + tokens > room_tokens:
            break
        rows.append(_Row(index, text, tokens))
        spent += tokens
        if spent >= room_tokens:
            break
    return rows


def _fitted(rows: list[_Row], counter: TokenCounter, room_tokens: int) -> list[_Row]:
    """Return the newest of the rows that fit as one text: together they may count otherwise."""
    while len(rows) > 1 and (total := counter.count(_record(rows))) > room_tokens:
        excess = (total - room_tokens) * _OVERSHOOT
        while len(rows) > 1 and excess > 0:
            excess -= rows.pop().tokens
    if len(rows) == 1:
        row = rows[0]
        return [_Row(row.index, shorten(row.text, counter, room_tokens), row.tokens)]
    return rows


def shorten(text: str, counter: TokenCounter, most_tokens: int) -> str:
    """Return a text cut in its middle until it is within `most_tokens`."""
    tokens = counter.count(text)
    while tokens > most_tokens and len(text) > _LEAST_CHARS:
        keep = int(len(text) * min(most_tokens / tokens, 0.9)) - 40
        text = f"{text[: keep * 3 // 4]}\n[…]\n{text[len(text) - keep // 4 :]}"
        tokens = counter.count(text)
    return text


def _record(rows: Sequence[_Row]) -> str:
    return "\n\n".join([row.text for row in rows])
