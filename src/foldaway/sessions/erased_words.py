"""Words that are looked for in whatever form they are kept, and messages without their words."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, Final, cast

import ahocorasick_rs
import msgspec
from msgspec.structs import replace

from foldaway.dialects import dialect_named, dump_bytes, parse
from foldaway.errors import NotReadable
from foldaway.sessions.too_long import fields_of
from foldaway.transcript import (
    Media,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    bare,
    bare_message,
)

ERASED: Final = "[erased]"
"""What is in the place of words that were taken out."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_MEANT = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_LETTERS = re.compile(r"[^\W_]+")
_NEEDED_WORDS = 3
_ODD_LETTER = re.compile(r"\\u(?:00[3-7]|00df|01(?:30|49|7f|f0)|1e9|212[ab]|fb0)", re.IGNORECASE)
"""An escape of a letter or digit of ASCII, or of what is folded to one."""
_STRETCH = re.compile(r"[!-\[\]-~]+|[\u4e00-\u9fff]+")
"""What has one spelling, escapes, letter case and `_ODD_BYTES` aside."""
_ODD_BYTES: Final = (
    *(char.encode() for char in "ßİŉſǰ\u037eẖẗẘẙẚẞ\u1fef\u212aﬀﬁﬂﬃﬄﬅﬆ"),
    *(bytes((0xEF, second)) for second in range(0xA4, 0xAC)),
    b"\xf0\xaf",
)
"""All that is folded to such a stretch: letters, two signs, ideographs with a code for
compatibility.
"""
_ODD_ESCAPE = re.compile(
    rb"\\u(?:00[2-7]|00df|01(?:30|49|7f|f0)|037e|1e9|1fef|212a|f[9ab]|d87e)", re.IGNORECASE
)
"""An escape of one of them, or of a sign of ASCII."""
_CODE = re.compile(rb"\\+u([0-9a-fA-F]{4})")
_NESTED = 4
"""How often JSON is looked for in texts of JSON: a call's arguments are one level, and what an
agent writes into a file by such a call another one."""
_AUTHOR_KEYS = ("name", "author", "user", "sender")
_IDENTITY_KEYS = ("id", "name", "username", "key")
_OVERLAP_CHUNK = 8_000_000
"""Bytes of a file that are in memory at a time."""


class Words:
    """Texts to look for. Letter case, the width of blanks and JSON's escapes make no difference."""

    def __init__(self, texts: Iterable[str]) -> None:
        clean = (text.encode("utf-8", "replace").decode() for text in texts)
        self.spelled = {folded: text for text in clean if (folded := fold(text))}
        """Each of them as it was given, by what it is compared by."""
        self.texts = tuple(self.spelled)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.spelled.values(), key=len, reverse=True)
        pieces = (r"\s+".join(map(re.escape, text.split())) for text in longest_first)
        return re.compile("|".join(pieces) or r"(?!)", re.IGNORECASE)

    def holds(self, data: bytes) -> bool:
        """Return whether JSON, or a text in UTF-8, has one of them."""
        return bool(self.texts) and next(self._find(data), None) is not None

    def sift(self, several: Sequence[bytes]) -> Iterable[int]:
        """Return the numbers of all that have one of them, and few others, in a fraction of the
        time: what has the longest stretch of one, signs of escapes aside.
        """
        if not all(self._stretches):
            return range(len(several))
        has_ideographs = not all(map(bytes.isascii, self._stretches))
        found, spelled = set[int](), list[bytes]()
        for at, data in enumerate(several):
            if b"\\" in data:
                if b"\\u" in data:
                    if _ODD_ESCAPE.search(data):
                        found.add(at)
                    if has_ideographs:
                        data += b"\n" + _CODE.sub(_unescape_code, data)
                data = data.replace(b"\\", b"")
            spelled.append(data)
        if matches := self._stretch_automaton.find_matches_as_indexes(b"\n".join(spelled).lower()):
            ends = list(accumulate(len(data) + 1 for data in spelled))
            found.update(bisect_right(ends, match[1]) for match in matches)
        return sorted(found)

    @cached_property
    def _stretches(self) -> list[bytes]:
        """The longest stretch of each that every reading has as it is."""
        spelled = ([one.encode() for one in _STRETCH.findall(text)] for text in self.texts)
        return list(dict.fromkeys(max(some, key=len, default=b"") for some in spelled))

    @cached_property
    def _stretch_automaton(self) -> ahocorasick_rs.BytesAhoCorasick:
        return ahocorasick_rs.BytesAhoCorasick(
            [*self._stretches, *_ODD_BYTES] if self._stretches else []
        )

    def among(self, data: bytes) -> set[str]:
        """Return those that JSON or a text has, folded."""
        return set(self._find(data))

    def _find(self, data: bytes) -> Iterator[str]:
        spelled = data.decode("utf-8", "replace")
        if texts := self._possible(spelled):
            for reading in _read_folded(spelled):
                yield from (text for text in texts if text in reading)

    def _possible(self, spelled: str) -> Sequence[str]:
        """Return those whose longest words are all there, in whatever order: far cheaper than to
        read a text in every way, and no reading has a word that is not there without its signs.
        """
        if "\\u" in spelled and (not self._are_ascii or _ODD_LETTER.search(spelled)):
            return self.texts
        words = _fold_case(spelled).replace("\\", "")
        there = {found[0] for found in self._automaton.find_matches_as_indexes(words, True)}
        return [text for text, needed in self._needed.items() if needed <= there]

    @cached_property
    def _are_ascii(self) -> bool:
        return all(word.isascii() for word in self._words)

    @cached_property
    def _needed(self) -> dict[str, set[int]]:
        """What must be there of each text: the numbers of its longest words."""
        number = {word: at for at, word in enumerate(self._words)}
        return {text: {number[word] for word in _longest_words(text)} for text in self.texts}

    @cached_property
    def _words(self) -> list[str]:
        return list(dict.fromkeys(word for text in self.texts for word in _longest_words(text)))

    @cached_property
    def _automaton(self) -> ahocorasick_rs.AhoCorasick:
        return ahocorasick_rs.AhoCorasick(self._words)

    def mend(self, data: bytes) -> bytes:
        """Return JSON with `ERASED` in their place."""
        try:
            return dump_bytes(self.mend_value(parse(data)))
        except NotReadable:
            return b"{}"

    def mend_value(self, value: Any) -> Any:
        """Return a JSON value with `ERASED` in their place, or in that of a whole text that has
        them in another spelling.
        """
        if isinstance(value, str):
            if not self.holds(value.encode("utf-8", "replace")):
                return value
            mended = self._pattern.sub(ERASED, value)
            return ERASED if self.holds(mended.encode("utf-8", "replace")) else mended
        if isinstance(value, dict):
            pairs = cast("dict[str, Any]", value).items()
            return {self.mend_value(key): self.mend_value(inner) for key, inner in pairs}
        if isinstance(value, list):
            return [self.mend_value(inner) for inner in cast("list[Any]", value)]
        return value

    def count_in(self, file: Any) -> int:
        """Return how many of them an open file has as bytes: in UTF-8, or as JSON escapes it."""
        forms = [
            (form, at)
            for at, (folded, text) in enumerate(self.spelled.items())
            for form in _as_bytes(text) | _as_bytes(folded)
        ]
        if not forms:
            return 0
        longest = max(len(form) for form, _ in forms)
        automaton = ahocorasick_rs.BytesAhoCorasick([form for form, _ in forms])
        found: set[int] = set()
        before = b""
        while chunk := file.read(_OVERLAP_CHUNK):
            held = before + chunk.lower()
            matches = automaton.find_matches_as_indexes(held, True)
            found.update(forms[match[0]][1] for match in matches)
            before = held[-longest:]
        return len(found)


def _as_bytes(text: str) -> set[bytes]:
    """Return how a text may be in a file, letters of ASCII in lower case."""
    single = " ".join(text.split())
    if single.isascii():
        cased = {single}
    else:
        cased = {
            unicodedata.normalize(form, one)
            for form in ("NFC", "NFD")
            for one in (single, single.lower(), single.upper())
        }
    return {
        form.lower()
        for one in cased
        for form in (one.encode(), msgspec.json.encode(one)[1:-1], _ascii_json(one))
    }


def fold(text: str) -> str:
    """Return a text, letter case aside, with single blanks."""
    return " ".join(_fold_case(text).split())


def _fold_case(text: str) -> str:
    """Return a text, letter case aside."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).casefold()
    return text.lower()


def _longest_words(text: str) -> list[str]:
    return sorted(set(_LETTERS.findall(text)), key=len)[-_NEEDED_WORDS:]


def _read_folded(text: str) -> Iterator[str]:
    """Yield a text folded: as it is, and as JSON in it reads."""
    yield fold(text)
    for _ in range(_NESTED):
        if "\\" not in text:
            return
        text = _ESCAPE.sub(_unescape, text)
        yield fold(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _unescape_code(found: re.Match[bytes]) -> bytes:
    return chr(int(found[1], 16)).encode("utf-8", "replace")


def _unescape(found: re.Match[str]) -> str:
    code, sign = found.groups()
    return chr(int(code, 16)) if code else _MEANT.get(sign, sign)


def _ascii_json(text: str) -> bytes:
    """Return a text as JSON writes it in ASCII alone."""
    quoted = msgspec.json.encode(text)[1:-1].decode()
    pairs = quoted.encode("utf-16-be")
    units = (int.from_bytes(pairs[at : at + 2], "big") for at in range(0, len(pairs), 2))
    return "".join(chr(one) if one < 0x80 else f"\\u{one:04x}" for one in units).encode()


def is_by(person: str, body: bytes) -> bool:
    """Return whether a message names a person as its author: in `name`, `author`, `user` or
    `sender`, of itself or of its `metadata`, as a text or as an object with an `id` or a name.
    """
    try:
        payload: Any = parse(body)
    except NotReadable:
        return False
    held = fields_of(payload)
    authors = (
        _author(one.get(key))
        for one in (held, fields_of(held.get("metadata")))
        for key in _AUTHOR_KEYS
    )
    names = {str(name).casefold() for some in authors for name in some if name is not None}
    return held.get("role") != "tool" and person.casefold() in names


def is_by_user(body: bytes) -> bool:
    """Return whether a message is a user's."""
    try:
        return fields_of(parse(body)).get("role") == "user"
    except NotReadable:
        return False


def _author(value: Any) -> list[Any]:
    return [fields_of(value).get(key) for key in _IDENTITY_KEYS] if fields_of(value) else [value]


def erase_message(message: Message, dialect: str, words: Words) -> Message:
    """Return a message that says `ERASED`: its role, its calls and what they are answered for stay,
    so that the list it is in keeps its shape; every other field goes. A system prompt keeps the
    rest of its words: an agent works by them.
    """
    known = dialect_named(dialect)
    if message.role == "unknown":
        wire = words.mend_value(message.wire)
    else:
        parts: list[Part] = []
        is_prompt = message.role in ("system", "developer")
        erased = _erase_in_prompt if is_prompt else _erase_part
        for new in (erased(part, words) for part in message.parts):
            if new is not None and not (isinstance(new, Text) and new in parts):
                parts.append(new)
        parts = parts or [Text(ERASED)]
        wire = known.encode(replace(bare_message(message), parts=tuple(parts), intact=False))
    (made,) = known.decode([wire], max(message.position, 0))
    return made


def _erase_in_prompt(part: Part, words: Words) -> Part | None:
    """Return a part of a prompt without the words."""
    if isinstance(part, Text):
        return Text(words.mend_value(part.text))
    return _erase_part(part, words)


def _erase_part(part: Part, words: Words) -> Part | None:
    match part:
        case Text() | Media():
            return Text(ERASED)
        case ToolCall(kind="function"):
            return replace(bare(part), arguments="{}", signature="")
        case ToolCall(kind="custom"):
            return replace(bare(part), arguments=ERASED, signature="")
        case ToolResult(kind="function" | "custom"):
            return replace(bare(part), parts=(Text(ERASED),))
        case Thinking() | Opaque():
            return None
        case ToolCall() | ToolResult():
            return replace(part, wire=words.mend_value(part.wire))
