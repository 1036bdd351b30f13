"""The facts of a log, without secrets: the end line by line, of what is older what was done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Policy, Redact, TokenCounter
from foldaway.facts.ledger.fact import KEPT_ASKS, Fact, Ledger, Past, is_piece, without_secrets
from foldaway.facts.ledger.state import open_lines
from foldaway.facts.ledger.take import facts_of, is_beside_calls
from foldaway.facts.ledger.update import update
from foldaway.facts.speakers import Speaker, speaker_of
from foldaway.transcript import Message, Part, Text, ToolCall, ToolResult, text_length

LINES_OF_CHARS = 100_000
"""So much at the end of a log is read line by line for a single run; of what is older only what
was asked, done, and went wrong. Twice as much finds nothing more, in the room that a record has."""
_TOGETHER_CHARS = 16_000
"""Text is searched for secrets in pieces of this size. A piece with a secret is searched again,
message by message."""
_STRETCH = 500
"""Older messages whose facts are read together, from the end backwards; chosen."""
_NO_CALLS: dict[str, ToolCall] = {}
_NOTHING = Ledger()


class LogReading(Struct, frozen=True):
    """How a log is read: the counter, the settings, what hides secrets."""

    counter: TokenCounter
    policy: Policy
    redact: Redact = str

    def facts(
        self, message: Message, calls: Mapping[str, ToolCall], speaker: Speaker | None = None
    ) -> tuple[Fact, ...]:
        """Return the facts of one message, without secrets: a ledger is kept and written.

        The words are cleaned before they are read: what identifies a secret may be next to it.
        Of calls only those that are answered here are read.
        """
        clean = self.are_clean(words_looked_at(message, calls))
        row = (message, calls) if clean else self.cleaned(message, calls)
        return facts_of(*row, speaker=speaker)

    def cleaned(
        self, message: Message, calls: Mapping[str, ToolCall]
    ) -> tuple[Message, Mapping[str, ToolCall]]:
        """Return a message without its secrets, and the calls that it answers without theirs."""
        answered = {
            part.call_id: cleaned_call(calls[part.call_id], self.redact)
            for part in message.parts
            if type(part) is ToolResult and part.call_id in calls
        }
        return cleaned(message, self.redact, calls=False), answered

    def are_clean(self, words: Iterable[str]) -> bool:
        """Return whether texts hold no secret; they are looked through together."""
        if self.redact is str:
            return True
        text = "\n\n".join(words)
        return self.redact(text) == text


class FactReader:
    """The facts of a log, read when they are first asked for and kept from then on.

    `answered` gives the calls that the message at a position answers, by id; found in the log if it
    is not given.
    """

    def __init__(
        self,
        log: Sequence[Message],
        readings: LogReading,
        answered: Callable[[int], Mapping[str, ToolCall]] | None = None,
        *,
        lines_of: int = LINES_OF_CHARS,
    ) -> None:
        self._log = log
        self._readings = readings
        self._answered = answered or _calls_of(log)
        self._lines_of = lines_of
        self._facts: dict[int, tuple[Fact, ...]] = {}
        self._looked: set[int] = set()
        """Messages that were looked through for secrets, and of them those that hold none."""
        self._clean: set[int] = set()

    def facts(self, start: int, stop: int) -> list[Fact]:
        """Return the facts of a stretch; of a very long one lines only at its end."""
        stretch = range(start, stop)
        lines_from = self._lines_from(stretch, self._lines_of)
        newer = self._read_all(stretch[lines_from:])
        return [*self._older(start, start + lines_from, newer), *newer] if lines_from else newer

    def facts_at(self, positions: Sequence[int]) -> list[Fact]:
        """Return the facts of some messages of the tail, in order; lines only of the newest."""
        newest = text_length(self._log[positions[-1]]) if positions else 0
        most = max(self._lines_of // 2, min(newest, self._lines_of))
        lines_from = self._lines_from(positions, most)
        newer = self._read_all(positions[lines_from:])
        return [*self._deeds(positions[:lines_from], rules=True), *newer] if lines_from else newer

    def _read_all(self, positions: Sequence[int]) -> list[Fact]:
        if len(positions) > 1:
            self._look_through(positions)
        return [fact for at in positions for fact in self._read(at)]

    def _older(self, start: int, stop: int, newer: Iterable[Fact]) -> list[Fact]:
        """Return the facts of a stretch beside its lines, and of the rules in it the newest.

        It is read from its end: what a ledger lets go for newer rules, requests and edits, and
        what a command printed that ran again, is not looked for.
        """
        redact = self._readings.redact
        past = Past(all_edits=start > 0)  # nothing is known before the first message
        past.take([fact for fact in newer if fact.kind in ("command", "test", "edit")])
        found: list[Sequence[Fact]] = []
        for last in range(stop, start, -_STRETCH):
            positions = range(last - 1, max(start, last - _STRETCH) - 1, -1)
            before = past.copy()
            stretch, doubtful = self._deeds_of(positions, past)
            if doubtful and not self._readings.are_clean(doubtful):
                past = before
                stretch, _ = self._deeds_of(positions, past, one_by_one=True)
            together = [fact for facts in reversed(stretch) for fact in facts]
            found.append(without_secrets(together, redact))
        older = [fact for facts in reversed(found) for fact in facts]
        return older if past.asked <= KEPT_ASKS else self._with_first_ask(older)

    def _deeds_of(
        self, positions: Sequence[int], past: Past, *, one_by_one: bool = False
    ) -> tuple[list[Sequence[Fact]], list[str]]:
        """Return the facts of messages from the last one on, and words in which a secret may be.

        Most have none, so the words are searched together; `one_by_one` if there is one.
        """
        stretch: list[Sequence[Fact]] = []
        doubtful: list[str] = []
        for at in positions:
            facts = self._deeds_at(at, past=past, doubtful=None if one_by_one else doubtful)
            if facts:
                stretch.append(facts)
                past.take(facts)
        return stretch, doubtful

    def _with_first_ask(self, facts: list[Fact]) -> list[Fact]:
        """Return facts with the words of the first request, which a ledger always keeps."""
        number = next(number for number, fact in enumerate(facts) if fact.kind == "ask")
        asked = [fact for fact in self.deeds((facts[number].at,)) if fact.kind == "ask"]
        return [*facts[:number], *asked, *facts[number + 1 :]]

    def deeds(self, positions: Sequence[int]) -> list[Fact]:
        """Return the facts of some messages, in order, without their lines and rules."""
        return self._deeds(positions, rules=False)

    def _deeds(self, positions: Sequence[int], *, rules: bool) -> list[Fact]:
        found = [fact for at in positions for fact in self._deeds_at(at, rules=rules)]
        return list(without_secrets(found, self._readings.redact))

    def _deeds_at(
        self,
        at: int,
        *,
        rules: bool = True,
        past: Past | None = None,
        doubtful: list[str] | None = None,
    ) -> tuple[Fact, ...]:
        """Return the facts of one message without its lines; no piece of a secret is among them.

        A piece is nothing that the redactor knows, so where a fact is one, words and calls are
        looked through as a whole. Of an output whole words are taken, or nothing. With `doubtful`
        it is left to the caller to look through the words that are added there.
        """
        message = self._log[at]
        if message.role == "assistant" and is_beside_calls(message):
            return ()
        readings, row = self._readings, (message, self._answered(at))
        speaker = self._speaker(at) if message.role == "user" else None

        def read(message: Message, calls: Mapping[str, ToolCall]) -> tuple[Fact, ...]:
            return facts_of(message, calls, lines=False, rules=rules, past=past, speaker=speaker)

        found = read(*row)
        if readings.redact is str or at in self._clean or not any(map(is_piece, found)):
            return found
        if doubtful is not None:
            doubtful += words_looked_at(*row, outputs=False)
            return found
        clean = readings.are_clean(words_looked_at(*row, outputs=False))
        return found if clean else read(*readings.cleaned(*row))

    def open_lines(self, most_chars: float) -> dict[int, list[str]]:
        """Return the lines of the failures that are open at the end, as they are in the log: by
        position, of the newest so many characters.
        """

        def read(at: int) -> tuple[Fact, ...]:
            message = self._log[at]
            speaker = self._speaker(at) if message.role == "user" else None
            return facts_of(message, self._answered(at), lines=False, rules=False, speaker=speaker)

        return open_lines(map(read, range(len(self._log) - 1, -1, -1)), most_chars)

    def ledger(self, stop: int, known: Ledger = _NOTHING, known_to: int = 0) -> Ledger:
        """Return the ledger of the log up to `stop`; `known` is the one up to `known_to`."""
        return update(known, self.facts(known_to, stop))

    def _look_through(self, positions: Sequence[int]) -> None:
        """Note which messages hold no secret, many at once."""
        some: list[int] = []
        words: list[str] = []
        chars = 0
        unseen = [at for at in positions if at not in self._looked]
        for at in unseen:
            some.append(at)
            words += words_looked_at(self._log[at], self._answered(at))
            chars += text_length(self._log[at])
            if chars > _TOGETHER_CHARS or at == unseen[-1]:
                self._looked.update(some)
                if self._readings.are_clean(words):
                    self._clean.update(some)
                some, words, chars = [], [], 0

    def clean_among(self, positions: Sequence[int]) -> Collection[int]:
        """Return messages that hold no secret, all that are known; these are looked through."""
        self._look_through(positions)
        return self._clean

    def _read(self, at: int) -> tuple[Fact, ...]:
        found = self._facts.get(at)
        if found is None:
            message, calls = self._log[at], self._answered(at)
            read = facts_of if at in self._clean else self._readings.facts
            found = self._facts[at] = read(message, calls, speaker=self._speaker(at))
        return found

    def _speaker(self, at: int) -> Speaker | None:
        return speaker_of(self._log[at], self._log[at - 1] if at else None)

    def _lines_from(self, positions: Sequence[int], most: int) -> int:
        """Return from which of the messages on every line is read: `most` characters of them."""
        read = 0
        for number in range(len(positions) - 1, -1, -1):
            read += text_length(self._log[positions[number]])
            if read > most:
                return number + 1
        return 0


def answered_calls(messages: Sequence[Message]) -> dict[int, dict[str, ToolCall]]:
    """Return, for each index of a message with results, the calls that they answer, by id.

    A result answers the nearest call before it that has its id: ids may be used again.
    """
    latest: dict[str, ToolCall] = {}
    found: dict[int, dict[str, ToolCall]] = {}
    for at, message in enumerate(messages):
        for part in message.parts:
            if type(part) is ToolCall:
                latest[part.id] = part
            elif type(part) is ToolResult and part.call_id in latest:
                found.setdefault(at, {})[part.call_id] = latest[part.call_id]
    return found


def _calls_of(log: Sequence[Message]) -> Callable[[int], Mapping[str, ToolCall]]:
    """Return what gives the answered calls of a log, which is looked through when first asked."""
    found: list[dict[int, dict[str, ToolCall]]] = []

    def answered(at: int) -> Mapping[str, ToolCall]:
        if not found:
            found.append(answered_calls(log))
        return found[0].get(at, _NO_CALLS)

    return answered


def cleaned(message: Message, redact: Redact, *, calls: bool = True) -> Message:
    """Return the message with the secrets in its words hidden; the same object if there are
    none. Only for reading: what the model sees is not changed by it. Without `calls` those are
    left as they are, for a reader who does not look at them.
    """
    parts = tuple(
        part if not calls and type(part) is ToolCall else _part(part, redact)
        for part in message.parts
    )
    if all(new is old for new, old in zip(parts, message.parts, strict=True)):
        return message
    return replace(message, parts=parts)


def words_looked_at(
    message: Message, calls: Mapping[str, ToolCall], *, outputs: bool = True
) -> list[str]:
    """Return all that `cleaned` looks at of a message, but not its calls, and the names and
    arguments of the calls that it answers; without `outputs` not what those gave.
    """
    found: list[str] = []
    for part in message.parts:
        if type(part) is ToolResult and part.call_id in calls:
            call = calls[part.call_id]
            found += (call.name, call.arguments)
        if type(part) is not ToolCall and (outputs or type(part) is not ToolResult):
            found.extend(_words(part))
    return found


def _words(part: Part) -> Iterator[str]:
    match part:
        case Text(text=text):
            yield text
        case ToolCall(arguments=arguments):
            yield arguments
        case ToolResult(parts=inner):
            for one in inner:
                yield from _words(one)
        case _:
            pass


def cleaned_call(call: ToolCall, redact: Redact) -> ToolCall:
    """Return the call with the secrets in its name and its arguments hidden."""
    name, arguments = redact(call.name), redact(call.arguments)
    if name == call.name and arguments == call.arguments:
        return call
    return replace(call, name=name, arguments=arguments)


def cleaned_result(result: ToolResult, redact: Redact) -> ToolResult:
    """Return the result with the secrets in its words hidden; the same object if none are."""
    made = tuple(_part(one, redact) for one in result.parts)
    same = all(new is old for new, old in zip(made, result.parts, strict=True))
    return result if same else replace(result, parts=made)


def _part(part: Part, redact: Redact) -> Part:
    match part:
        case Text(text=text):
            clean = redact(text)
            return part if clean == text else replace(part, text=clean)
        case ToolCall():
            return cleaned_call(part, redact)
        case ToolResult():
            return cleaned_result(part, redact)
        case _:
            return part
