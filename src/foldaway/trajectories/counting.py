"""What the turns of a record cost, and who counts their tokens."""

# pyright: reportMissingImports=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

from foldaway._core import TokenCounter
from foldaway.compaction import message_tokens, tools_tokens
from foldaway.dialects import dump_text
from foldaway.errors import ExactCountingUnavailable, MissingExtra, NotReadable
from foldaway.trajectories.tokenizer_file import counter_of
from foldaway.transcript import (
    MESSAGE_OVERHEAD_TOKENS,
    Estimator,
    ExactCounter,
    Message,
    Text,
    ToolResult,
    Transcript,
    exact_counter,
    text_length,
)

SHAREGPT = "sharegpt"
_MUCH_LONGER = 9
"""A text with this many characters for each token that it may cost is surely too long: prose
and code have about 4."""
_READ_CHARS = 6
"""Characters counted for each of these tokens to show it: more than would do in most texts."""
_SURELY, _SURELY_TOKENS = 1.02, 16
"""The tokens of a part must be more by this factor and number: at its end the text may be split
otherwise than the whole."""
_HEAD_TURNS = 4
"""The first system, human, gpt and tool turn are mostly at the front."""
_REMEMBERED_CHARS = 4_000_000
"""Texts whose counts are remembered: system prompts and tools are in thousands of records."""
_SHORT_CHARS = 200
"""Counting a shorter text takes no longer than looking it up."""


def turn_tokens(message: Message, dialect: str, counter: TokenCounter) -> int:
    """Return the tokens of one turn with its envelope.

    A ShareGPT turn costs what its text costs, tags and all: that is what is trained on.
    """
    value = _value(message, dialect)
    if value is not None:
        return MESSAGE_OVERHEAD_TOKENS + counter.count(value)
    return message_tokens(message, counter)


def turn_chars(message: Message, dialect: str) -> int:
    """Return the characters of one turn: what is known of its size without counting."""
    value = _value(message, dialect)
    return text_length(message) if value is None else len(value)


def turn_text(message: Message, dialect: str) -> str | None:
    """Return the text whose tokens, with the envelope, are those of the turn; None if there is
    no single one.
    """
    value = _value(message, dialect)
    if value is not None:
        return value
    parts = message.parts
    if len(parts) == 1 and type(parts[0]) is ToolResult:
        parts = parts[0].parts
    return parts[0].text if len(parts) == 1 and type(parts[0]) is Text else None


def _value(message: Message, dialect: str) -> str | None:
    """Return the text of a ShareGPT turn as it was given."""
    if dialect != SHAREGPT or not message.intact or not _is_object(message.wire):
        return None
    value = message.wire.get("value")
    return value if isinstance(value, str) else None


def count_outside_turns(transcript: Transcript, counter: TokenCounter) -> int:
    """Return the tokens of the system prompt and tools beside the turns."""
    if transcript.dialect == SHAREGPT:
        body = transcript.frame.body or {}
        return sum(_field_tokens(body.get(name), counter) for name in ("system", "tools"))
    system = message_tokens(transcript.system, counter) if transcript.system else 0
    return system + tools_tokens(transcript.tools, counter)


def record_tokens(transcript: Transcript, counter: TokenCounter) -> int:
    """Return the tokens of a whole record, every turn counted."""
    dialect = transcript.dialect
    turns = (turn_tokens(message, dialect, counter) for message in transcript.messages)
    return count_outside_turns(transcript, counter) + sum(turns)


def _field_tokens(value: Any, counter: TokenCounter) -> int:
    if not value:
        return 0
    return counter.count(value if isinstance(value, str) else dump_text(value))


def _is_object(wire: Any) -> bool:
    return isinstance(wire, dict)


class TurnCosts:
    """The tokens of a record by turn, and of what is beside them; no turn is counted twice.

    Counting takes the time of a compression. What stays has to be counted, what is folded has not.
    """

    __slots__ = ("_counter", "_known", "_order", "_partly", "_transcript", "counted", "outside")

    def __init__(self, transcript: Transcript, counter: TokenCounter) -> None:
        self.outside = count_outside_turns(transcript, counter)
        """The tokens of system text and tools beside the turns."""
        self.counted = self.outside
        """The tokens of all that was counted so far: the record costs at least this."""
        self._transcript = transcript
        self._counter = counter
        self._known: dict[int, int] = {}
        self._partly: dict[int, int] = {}
        """Of turns that are too long to stay, what a part of them costs."""
        self._order = _order(len(transcript.messages))

    def __len__(self) -> int:
        return len(self._transcript.messages)

    def __getitem__(self, at: int) -> int:
        """Return the tokens of one turn."""
        found = self._known.get(at)
        if found is None:
            given = self._transcript
            found = turn_tokens(given.messages[at], given.dialect, self._counter)
            self._known[at] = found
            self.counted += found - self._partly.pop(at, 0)
        return found

    def are_over(self, at: int, tokens: int) -> bool:
        """Return whether a turn costs more than `tokens`; of a very long one a part is counted."""
        if at not in self._known and self._partly.get(at, 0) <= tokens:
            self._count_part(at, tokens)
        return self._partly.get(at, 0) > tokens or self[at] > tokens

    def _count_part(self, at: int, tokens: int) -> None:
        """Count the start of a turn, up to the end of a word, if that surely shows enough."""
        given = self._transcript
        wanted = int(max(tokens, 0) * _SURELY) + _SURELY_TOKENS
        text = turn_text(given.messages[at], given.dialect)
        # an estimate is quick, and takes a sample of a long text: a part says nothing of the whole
        if self._counter.is_estimate or text is None or len(text) < _MUCH_LONGER * wanted:
            return
        most = _READ_CHARS * wanted
        stop = text.rfind(" ", 0, most)
        found = self._counter.count(text[: stop if stop > 0 else most])
        least = int((found - _SURELY_TOKENS) / _SURELY)
        if least > tokens:
            self.counted += least - self._partly.get(at, 0)
            self._partly[at] = least

    def exceed(self, tokens: int) -> bool:
        """Return whether the record costs more than `tokens`; counts no more than decides it.

        The front is counted first, then turns from the end: these are the ones that stay.
        """
        while self.counted <= tokens:
            at = next(self._order, None)
            if at is None:
                return self.count_all() > tokens
            self.are_over(at, tokens - self.counted)
        return True

    def count_all(self) -> int:
        """Return what the whole record costs, every turn counted."""
        return self.outside + sum(self[at] for at in range(len(self)))

    def span(self, start: int, stop: int, most: int) -> int:
        """Return the tokens of a stretch; `most` + 1 if they are more than `most`.

        Its shortest turns are counted first: one that is very long need not be.
        """
        given, total = self._transcript, 0
        chars = [turn_chars(message, given.dialect) for message in given.messages[start:stop]]
        for at in sorted(range(start, stop), key=lambda at: chars[at - start]):
            if self.are_over(at, most - total):
                return most + 1
            total += self[at]
        return total

    @property
    def all_counted(self) -> bool:
        """Whether every turn was counted, so that the whole is exact."""
        return len(self._known) == len(self)

    def whole(self) -> int:
        """Return what the record costs; turns that were not counted at the rate of those that were.

        It is never less than what was counted.
        """
        if self.all_counted:
            return self.counted
        given, known = self._transcript, self._known
        chars = seen_chars = 0
        for at, message in enumerate(given.messages):
            if at in known:
                seen_chars += turn_chars(message, given.dialect)
            else:
                chars += turn_chars(message, given.dialect)
        words = self.counted - self.outside - MESSAGE_OVERHEAD_TOKENS * len(known)
        left = MESSAGE_OVERHEAD_TOKENS * (len(self) - len(known))
        return self.counted + left + chars * words // max(seen_chars, 1)


def _order(turns: int) -> Iterator[int]:
    head = min(turns, _HEAD_TURNS)
    yield from range(head)
    yield from range(turns - 1, head - 1, -1)


def counter_for(spec: str) -> TokenCounter:
    """Return who counts by `spec`: a `tokenizers` JSON file, a name that tiktoken knows (of a
    model or a vocabulary), or "" for the estimate.

    Raises `NotReadable`, `MissingExtra` or `ExactCountingUnavailable`, each with the remedy.
    """
    if not spec:
        return Estimator()
    is_file = spec.endswith(".json") or os.path.exists(spec)
    return Remembering(_from_file(spec) if is_file else _load_counter(spec))


class _Exact(Protocol):
    name: str

    def count(self, text: str) -> int: ...


class Remembering:
    """An exact counter that does not count the same text again and again.

    The texts that were asked for last are kept, `most_chars` of them together.
    """

    is_estimate = False

    def __init__(self, counts: _Exact, most_chars: int = _REMEMBERED_CHARS) -> None:
        self.name = counts.name
        self._count = counts.count
        self._known: dict[str, int] = {}
        """By text, those that were asked for last at the end."""
        self._most = self._room = most_chars

    def count(self, text: str) -> int:
        """Return the tokens of `text`."""
        if not _SHORT_CHARS <= len(text) <= self._most:
            return self._count(text)
        found = self._known.pop(text, None)
        if found is None:
            found = self._count(text)
            self._room -= len(text)
            while self._room < 0:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._room += len(oldest)
        self._known[text] = found
        return found


def _from_file(path: str) -> _Exact:
    if not os.path.isfile(path):
        raise NotReadable("does not exist", where=path, remedy="name a tokenizer.json")
    try:
        tokenizers: Any = import_module("tokenizers")
    except ImportError:
        raise MissingExtra("trajectories", "a tokenizer file") from None
    try:
        loaded = tokenizers.Tokenizer.from_file(path)
    # the package raises a bare Exception for whatever it does not understand
    except Exception as error:  # noqa: BLE001
        what = f"is no tokenizer file ({str(error)[:120]})"
        raise NotReadable(what, where=path, remedy="name a tokenizer.json") from None
    return counter_of(f"tokenizers, {os.path.basename(path)}", loaded)


def _load_counter(name: str) -> _Exact:
    try:
        return exact_counter(name)
    except ExactCountingUnavailable as error:
        if "knows no vocabulary" not in error.reason:
            raise
    tiktoken: Any = import_module("tiktoken")
    try:
        return ExactCounter(f"tiktoken, {name}", tiktoken.get_encoding(name))
    except ValueError:
        known = ", ".join(tiktoken.list_encoding_names())
        what = "tiktoken knows no such model or vocabulary"
        remedy = f"name a tokenizer.json, a model of OpenAI's, or one of {known}"
        raise ExactCountingUnavailable(name, what, remedy) from None
    except OSError as error:
        what = f"its vocabulary could not be loaded ({type(error).__name__})"
        remedy = "go online once, or point TIKTOKEN_CACHE_DIR at a filled cache"
        raise ExactCountingUnavailable(name, what, remedy) from None
