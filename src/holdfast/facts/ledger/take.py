"""The facts of one message, without a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from holdfast.facts.dialogue.statements import Constraint, constraints, decisions, questions
from holdfast.facts.dialogue.values import stated_values
from holdfast.facts.effects.effect import Effect
from holdfast.facts.frame import origin_of, split_summary
from holdfast.facts.ledger.fact import Fact, FactKind, encodable
from holdfast.facts.ledger.injected import (
    directory_told,
    own_words,
    report_told,
    skill_told,
)
from holdfast.facts.ledger.lines import cut, lines_of, terms_of, whole_words
from holdfast.facts.ledger.result import facts_of_result
from holdfast.facts.tools import FAMILIES, family_of
from holdfast.transcript import Message, Text, ToolCall, ToolResult, is_ask, texts

_ASK_CHARS = 6_000
"""Of an ask, verbatim; of what follows only lines."""
_SHORT_ASK_CHARS = 1_500
"""In a longer one, wishes are mostly words of something pasted."""
_SAID_CHARS = 600
"""Of what the agent said beside its calls."""
_REPLY_CHARS = 900
"""Of what the agent said at the end of its turn."""
_MOST_LINES = 24
"""Of the end of a long ask, or of a report."""
_MOST_SAID_LINES = 12
"""Of one message of the agent."""
_MOST_SLOTS = 8
"""Values that one message states."""
_MOST_SKILL_RULES = 24
"""Of one skill; its file stays where it is."""
_PASTED = 0.6
"""By so much a rule in a very long message is weaker: it may be part of something pasted."""
_TOLD = 4.0
"""What the first line of a report that came as a message is worth."""
_CLOSERS = " *_)\"'”`\n"
_FILLERS = ("Let me ", "Now let me ", "Now I'll ", "I'll now ", "Next, I'll ")
_REFUSALS = ("<tool_use_error>", "<error", "Error", "error:")
"""How the result of a look begins that found nothing, where no flag says so."""
_MANY = 8
"""From so many facts on it pays to look at the texts that they were taken from."""


def facts_of(
    message: Message,
    calls: Mapping[str, ToolCall],
    *,
    lines: bool = True,
    rules: bool = True,
    asks: bool = True,
    ran_again: Set[str] | None = None,
) -> tuple[Fact, ...]:
    """Return the facts of one message. `calls` holds the calls that its results answer.

    Generated messages have none: what they report was recorded from the originals. Without
    `lines` what is found by reading every line is left out, without `rules` the constraints,
    without `asks` the words of a request; with `ran_again`, as `facts_of_result` says, what
    later runs of a command made out of date.
    """
    if message.origin != "real" or message.role in ("system", "developer"):
        return ()
    found: list[Fact] = []
    parts = message.parts
    if message.role == "assistant" and (lines or ToolCall not in map(type, parts)):
        found.extend(_said(message, lines=lines))
    for part in parts:
        if type(part) is ToolResult:
            call = calls.get(part.call_id)
            if lines or not _only_looks(part, call):
                found.extend(facts_of_result(message, part, call, lines=lines, ran_again=ran_again))
    if message.role == "user" and is_ask(message):
        found.extend(_asked(message, lines=lines, rules=rules, asks=asks))
    if not found:
        return ()
    if len(found) >= _MANY and _is_encodable(message, calls):
        return tuple(found)
    return tuple(map(encodable, found))


def _is_encodable(message: Message, calls: Mapping[str, ToolCall]) -> bool:
    """Return whether all that facts are taken from can surely be written as JSON.

    Then the facts can be too: only an escape can make half of a surrogate pair out of whole text.
    """
    given = [message.id]
    for part in message.parts:
        if type(part) is Text:
            given.append(part.text)
        elif type(part) is ToolResult:
            given.extend([inner.text for inner in part.parts if type(inner) is Text])
            call = calls.get(part.call_id)
            given += (part.name,) if call is None else (part.name, call.name, call.arguments)
    return all(map(_is_surely_whole, given))


def _is_surely_whole(text: str) -> bool:
    """Return whether a text holds no half of a surrogate pair, and none in an escape."""
    if "\\u" in text or "\\U" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _only_looks(result: ToolResult, call: ToolCall | None) -> bool:
    """Return whether a call only looked at something, and nothing went wrong."""
    if call is None or result.is_error or not FAMILIES[family_of(call.name)].looks:
        return False
    first = result.parts[0] if result.parts else None
    return not (isinstance(first, Text) and first.text.startswith(_REFUSALS))


def _asked(message: Message, *, lines: bool, rules: bool, asks: bool) -> Iterator[Fact]:
    source, at = message.label, message.position
    given = _own_texts(message)
    for text in given:
        if place := directory_told(text):
            yield Fact("place", place, source, at, "chdir", effect=Effect("chdir", place))
        yield from _told(text, source, at, lines=lines, rules=rules)
    own = [words for text in given if (words := own_words(text))]
    words = "\n".join(own).strip()
    if words not in "\n".join(given):
        words = max(own, key=len)  # what is quoted stands so in the message
    if not words:
        return
    is_long = len(words) > _ASK_CHARS
    shown = whole_words(words[:_ASK_CHARS], _ASK_CHARS) if is_long else words
    if asks:
        yield Fact("ask", shown, source, at, terms=terms_of(shown))
    else:
        yield Fact("ask", "", source, at)
    is_short = len(words) <= _SHORT_ASK_CHARS
    least, less = (1, 0.0) if is_short else (2, _PASTED if is_long else _PASTED / 2)
    # the strongest last: where there is little room the newest facts stay
    for rule in reversed(constraints(words) if rules else ()):
        if rule.strength >= least:
            yield _rule(rule, source, at, less)
    if not lines:
        return
    for slot in stated_values(words, _MOST_SLOTS):
        yield Fact("slot", slot.value, source, at, slot.name, was=slot.was)
    if is_long:
        for line in lines_of(words[len(shown) :], _MOST_LINES):
            yield Fact("line", line.text, source, at, terms=line.terms, head="user")


def _rule(rule: Constraint, source: str, at: int, less: float = 0.0) -> Fact:
    return Fact("constraint", rule.text, source, at, rule.core, worth=rule.strength - less)


def _told(text: str, source: str, at: int, *, lines: bool, rules: bool) -> Iterator[Fact]:
    """Yield what an agent passed on as a message: a report, or instructions that were asked for."""
    if skill := skill_told(text):
        yield Fact("line", skill, source, at, terms=terms_of(skill, 8), head="user", worth=_TOLD)
        found = constraints(text) if rules else ()
        strict = [rule for rule in found if rule.strength > 1]
        for rule in reversed(strict[:_MOST_SKILL_RULES]):
            yield _rule(rule, source, at, _PASTED)
    elif lines and (report := report_told(text)):
        first = True
        for line in lines_of(report.text, _MOST_LINES):
            yield Fact("line", line.text, source, at, terms=line.terms, head=report.teller,
                       worth=_TOLD if first else 0.0)  # fmt: skip
            first = False


def _own_texts(message: Message) -> list[str]:
    """Return the user's words without marks and summaries beside them.

    Where the user sent nothing but a frame, what it holds is the user's words.
    """
    given = [text for text in texts(message) if origin_of(text) == "real"]
    framed = list(map(split_summary, given))
    if not any(framed):
        return given
    own = [text if one is None else one.rest for text, one in zip(given, framed, strict=True)]
    return list(filter(None, own)) or [one.body for one in framed if one is not None]


def _said(message: Message, *, lines: bool) -> Iterator[Fact]:
    is_reply = ToolCall not in map(type, message.parts)
    words = "\n".join(texts(message)).strip()
    if not words:
        return
    source, at = message.label, message.position
    kind: FactKind = "reply" if is_reply else "said"
    asks_back = words.rstrip(_CLOSERS).endswith(("?", "？", "؟"))
    if not lines:
        # of what an agent wrote long ago only that it answered is kept
        if is_reply and not asks_back:
            yield Fact(kind, "", source, at)
        return
    yield Fact(kind, cut(words, _REPLY_CHARS if is_reply else _SAID_CHARS), source, at,
               "asks" if asks_back else "")  # fmt: skip
    for decision in decisions(words):
        yield Fact("decision", decision, source, at, terms=terms_of(decision, 8))
    if is_reply:
        for question in questions(words):
            yield Fact("question", question, source, at)
    for slot in stated_values(words, _MOST_SLOTS):
        yield Fact("slot", slot.value, source, at, slot.name, was=slot.was)
    for line in lines_of(words, _MOST_SAID_LINES):
        if not line.text.startswith(_FILLERS):
            yield Fact("line", line.text, source, at, terms=line.terms, head="agent")
