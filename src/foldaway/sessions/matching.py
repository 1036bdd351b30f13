"""Which messages of a host's list a session knows: by what they say, not by how they are spelled.

Two messages are the same if they have the same role and the same content: words, calls with their
arguments, results, media. Ids, cache marks, the order of keys, fields that a host adds for itself,
thinking beside other content, and whether a text is a string or a block make no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, cast

import msgspec
from msgspec import Struct

from foldaway.dialects import dump_text
from foldaway.facts import carried_summary, without_summary
from foldaway.transcript import (
    Media,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_ask,
)

_DIGEST_BYTES = 16
"""Enough that two messages of one conversation never collide by chance."""
_PIECE_CHARS = 1 << 20
_MARKS = frozenset({"cache_control", "cachePoint"})
"""Fields by which hosts mark what is to be cached; they move from request to request."""
_LEAST_TOLD, _MOST_MISSED = 2, 1
"""Messages that a text must hold to be about a conversation, and how many in a row may be missing
in it; chosen, Pi, OpenCode and Hermes leave out none."""
_LEAST_CHARS, _TELLING_CHARS = 12, 60
"""Of the words by which a message is found in a text: shorter ones are found anywhere, longer ones
may be cut; chosen, Pi cuts results after 2,000 and Hermes after 4,000."""
_HEADING = "## "
"""With what a summary begins that a host shows as an answer of the model."""
_MOST_MERGED = 4
"""How many neighbors a host may have merged into one message; chosen, hosts merge two."""


def digest(message: Message) -> bytes:
    """Return what a message says, as a few bytes."""
    role = "system" if message.role == "developer" else message.role
    said = tuple((kind, _short(text)) for kind, text in _pieces(message.parts))
    if not said:
        said = tuple(
            f"thinking {part.text}{part.signature}"
            for part in message.parts
            if isinstance(part, Thinking)
        )
    return _hash(repr((role, said)))


def find_told(text: str, log: Sequence[Message], *, is_named: bool) -> int:
    """Return up to where a text tells what is in a log, 0 if it tells something else.

    Hosts write their list as a text in their own way, and shorten results: a message is in it if
    some of its words are, after those of the one before it; words of the user and earlier summaries
    may be in other places. Unless the host named the conversation, all that the user said must be,
    so that nobody is told what another one said.
    """
    at = found = missed = stop = 0
    for index, message in enumerate(log):
        words = list(_words_of(message))
        if not words:
            continue
        is_own = is_ask(message) or message.origin == "summary"
        is_apart = is_own or words[0].startswith(_HEADING)
        places = [place for one in words if (place := text.find(one, 0 if is_apart else at)) >= 0]
        if places:
            at = at if is_apart else min(places) + 1
            found, missed, stop = found + 1, 0, index + 1
        elif is_own and not is_named:
            break
        elif found:
            missed += 1
            if missed > _MOST_MISSED:
                break
    return stop if found >= _LEAST_TOLD else 0


def _words_of(message: Message) -> Iterator[str]:
    """Yield words by which a text may tell a message; none if there are too few."""
    if message.role in ("system", "developer"):
        return
    summary = carried_summary(message) if message.origin == "summary" else None
    if summary is not None:
        yield _middle(summary)  # hosts put a frame around it, and all begin alike
    else:
        yield from _some_words(message.parts)


def _some_words(parts: Sequence[Part]) -> Iterator[str]:
    """Yield words from the start and from the middle of texts that are long enough to differ from
    others: hosts cut the end, or put their own words before those of somebody else.
    """
    for part in parts:
        if isinstance(part, ToolResult):
            yield from _some_words(part.parts)
        elif isinstance(part, Text) and len(said := part.text.strip()) >= _LEAST_CHARS:
            yield said[:_TELLING_CHARS]
            if len(said) > 2 * _TELLING_CHARS:
                yield _middle(said)


def _middle(said: str) -> str:
    return said[len(said) // 2 :][:_TELLING_CHARS]


def digest_of_key(key: object) -> bytes:
    """Return the digest of what a host's own function says of a message."""
    return _hash(repr(key))


def _short(text: str) -> str:
    """Return the digest of a text that is too long to be copied, as an image may be."""
    return text if len(text) <= _PIECE_CHARS else _hash(text).hex()


def _hash(text: str) -> bytes:
    made = blake2b(digest_size=_DIGEST_BYTES)
    for at in range(0, len(text), _PIECE_CHARS):
        made.update(text[at : at + _PIECE_CHARS].encode("utf-8", "surrogatepass"))
    return made.digest()


def _pieces(parts: Sequence[Part]) -> Iterator[tuple[str, str]]:
    """Yield what parts say; texts side by side are one."""
    words: list[str] = []
    for part in parts:
        if isinstance(part, Thinking):
            continue
        if isinstance(part, Text):
            words.append(part.text)
            continue
        if words:
            yield "text", "\n".join(words).strip()
            words = []
        yield _read_part(part)
    if words:
        yield "text", "\n".join(words).strip()


def _read_part(part: Part) -> tuple[str, str]:
    match part:
        case ToolCall(name=name, arguments=arguments):
            return f"call {name}", _sort_keys(arguments)
        case ToolResult(parts=parts):
            return "result", "\n".join(text for _, text in _pieces(parts))
        case Media(kind=kind, data=data, url=url):
            return kind, data or url
        case Opaque(kind=kind, wire=wire):
            return kind, dump_text(_drop_marks(wire))
        case Text(text=text) | Thinking(text=text):
            return "text", text


def _sort_keys(arguments: str) -> str:
    """Return arguments whose keys are in order; unchanged if they are invalid JSON."""
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments), order="deterministic").decode()
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return arguments


def _drop_marks(value: Any) -> Any:
    """Return a payload without the marks of caches, its keys in order."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: _drop_marks(fields[key]) for key in sorted(fields) if key not in _MARKS}
    return (
        [_drop_marks(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value
    )


class Alignment(Struct, frozen=True):
    """How far a host's list and a known one are the same.

    The first `same` messages are, one by one. `spans` has, for each of the host's messages after
    them that was found, the first known one that it holds and one past the last. `rest` is what
    the last of them says beyond, if a host merged something new into what it knew.
    """

    same: int
    spans: tuple[tuple[int, int], ...] = ()
    rest: Message | None = None

    @property
    def given(self) -> int:
        """How many of the host's messages were found."""
        return self.same + len(self.spans)

    @property
    def known(self) -> int:
        """How many known messages they hold."""
        return self.spans[-1][1] if self.spans else self.same


def count_same(given: Sequence[bytes], known: Sequence[bytes]) -> int:
    """Return how many digests are the same, from the first on."""
    most = min(len(given), len(known))
    if given[:most] == known[:most]:
        return most
    return next(at for at in range(most) if given[at] != known[at])


def align(
    given: Sequence[bytes],
    known: Sequence[bytes],
    message_given: Callable[[int], Message],
    message_known: Callable[[int], Message],
    heads: tuple[int, int],
    joined: set[tuple[bytes, bytes]],
) -> Alignment:
    """Return how far a host's list is the same as a known one, from the first message on.

    The messages themselves are asked for only if digests differ: the host may have merged
    neighbors, or have put our summary and words of its user into one message. `heads` says how
    many messages of each are the same by their place, whatever they say. `joined` has pairs of
    digests that were found to say the same; what is found here is added.
    """
    own, at = heads
    same, spans = min(heads), list[tuple[int, int]]()
    if own == at:
        at = same = own + count_same(given[own:], known[own:])
    else:
        spans += [(at, at)] * (own - same)
    for index in range(max(same, own), len(given)):
        if at >= len(known):
            break
        both = (given[index], known[at])
        found = (at + 1, None) if both[0] == both[1] or both in joined else None
        found = found or _find_merged(message_given(index), at, len(known), message_known)
        if found is None:
            break
        if found == (at + 1, None) and both[0] != both[1]:
            joined.add(both)
        spans.append((at, found[0]))
        at, rest = found
        if rest is not None:
            return Alignment(same, tuple(spans), rest)
    return Alignment(same, tuple(spans))


def _find_merged(
    given: Message, at: int, length: int, message_known: Callable[[int], Message]
) -> tuple[int, Message | None] | None:
    """Return where the known messages end that one of the host's holds, and what else it says."""
    first = message_known(at)
    if _is_joined(given, first):
        return at + 1, None
    if given.role not in ("user", "assistant", "system", "developer"):
        return None
    whole = _squash(given)
    joined: list[str] = []
    for stop in range(at, min(at + _MOST_MERGED, length)):
        one = message_known(stop)
        if one.role != given.role:
            break
        joined.append(_squash(one))
        if stop > at and "".join(joined) == whole:
            return stop + 1, None
    if first.origin == "summary" and carried_summary(given) is not None:
        alone = without_summary(given)
        held = whole.removesuffix(_squash(alone))
        if held == _squash(first) and alone.parts:
            return _after_summary(alone, at + 1, length, message_known)
    rest = _find_rest(given, first) if at + 1 == length else None
    return None if rest is None else (length, rest)


def _is_joined(one: Message, other: Message) -> bool:
    """Return whether two messages say the same in another number of texts: hosts join them, with
    blanks of their own between.
    """
    return (
        one.role == other.role
        and _count_texts(one.parts) != _count_texts(other.parts)
        and _drop_spaces(one) == _drop_spaces(other)
    )


def _count_texts(parts: Sequence[Part]) -> int:
    return sum(
        _count_texts(part.parts) if isinstance(part, ToolResult) else isinstance(part, Text)
        for part in parts
    )


def _find_rest(given: Message, known: Message) -> Message | None:
    """Return what a user's message says after a known one that it begins with, None if nothing:
    hosts merge the next request into one that nobody answered, or into a result.
    """
    if given.role != "user" or known.role != "user":
        return None
    count = len(known.parts)
    if len(given.parts) > count and digest(given.with_parts(given.parts[:count])) == digest(known):
        return given.with_parts(given.parts[count:])
    match known.parts, given.parts:
        case (Text(text=said),), (Text(text=whole), *others) if said.strip():
            rest = whole.removeprefix(said.rstrip())
            if rest != whole and rest.lstrip(" ").startswith("\n") and rest.strip():
                return given.with_parts((Text(rest.strip()), *others))
        case _:
            pass
    return None


def _after_summary(
    alone: Message, at: int, length: int, message_known: Callable[[int], Message]
) -> tuple[int, Message | None]:
    """Return the same for what a message says beside our summary: known words, or new ones."""
    if at < length:
        if digest(alone) == digest(message_known(at)):
            return at + 1, None
        found = _find_merged(alone, at, length, message_known)
        if found is not None:
            return found
    return at, alone


def _squash(message: Message) -> str:
    """Return all that a message says without blanks: a merge puts some between."""
    return "".join(text for _, text in _drop_spaces(message))


def _drop_spaces(message: Message) -> list[tuple[str, str]]:
    return [(kind, "".join(text.split())) for kind, text in _pieces(message.parts)]
