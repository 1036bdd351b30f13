"""The facts of one message, without a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foldaway._core import Regex
from foldaway.facts.dialogue.statements import constraints, decisions
from foldaway.facts.effects.effect import Effect
from foldaway.facts.frame import origin_of, split_summary
from foldaway.facts.ledger.fact import Fact, FactKind, Past, encodable
from foldaway.facts.ledger.lines import both_ends, cut, lines_of, terms_of, whole_words
from foldaway.facts.ledger.result import facts_of_result
from foldaway.facts.speakers import (
    AgentReport,
    Speaker,
    asks_back,
    directory_told,
    own_words,
    report_told,
    speaker_of,
)
from foldaway.facts.tools import FAMILIES, family_of
from foldaway.transcript import Message, Text, ToolCall, ToolResult, is_ask, texts

_ASK_CHARS = 6_000
"""Of an ask, verbatim; of what follows only lines."""
_SAID_CHARS = 600
"""Of what the agent said beside its calls."""
_REPLY_CHARS = 8_000
"""Of what the agent said at the end of its turn: findings, a list, a plan."""
_SHORT_CHARS = 200
"""So short a request or reply is read however old it is: it may ask a question or settle one."""
_MOST_LINES = 24
"""Of the end of a long ask, or of a report."""
_MOST_SAID_LINES = 12
"""Of one message of the agent."""
_INSTRUCTIONS_CHARS = 12_000
"""Of the text of a skill or command, verbatim; the longest in the shared sessions has 11,274."""
_TOLD = 4.0
"""What the first line of a report that came as a message is worth."""
_PLANS = ("Let me ", "First, let me ", "Now let me ", "Now ", "Next, ", "Let's ")
"""How an agent says what it does next: no decision."""
_FILLERS = ("Let me ", "Now let me ", "Now I'll ", "I'll now ", "Next, I'll ")
_REFUSALS = ("<tool_use_error>", "<error", "Error", "error:")
"""How the result of a look that found nothing begins, if no flag says so."""


def facts_of(
    message: Message,
    calls: Mapping[str, ToolCall],
    *,
    lines: bool = True,
    rules: bool = True,
    past: Past | None = None,
    speaker: Speaker | None = None,
) -> tuple[Fact, ...]:
    """Return the facts of one message. `calls` holds the calls that its results answer, `speaker`
    who wrote it if its role is user; found by its form alone if it is not given.

    Generated messages have none: what they report was recorded from the originals. Without
    `lines` what is found by reading every line is left out, without `rules` the constraints. With
    the `past` of a log that is read from its end, what a ledger would let go for what is newer is
    left out too.
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
                found.extend(facts_of_result(message, part, call, lines=lines, past=past))
    if message.role == "user" and is_ask(message):
        if (speaker or speaker_of(message, None)) == "instructions":
            found.append(_instructions(message))
        else:
            asks = past is None or past.wants_asks
            rules = rules if past is None else past.wants_rules
            found.extend(_asked(message, lines=lines, rules=rules, asks=asks))
    return tuple(map(encodable, found))


def is_beside_calls(message: Message) -> bool:
    """Return whether a message of the agent tells nothing without its lines: it calls tools, and
    their results say what they did.
    """
    kinds = [*map(type, message.parts)]
    return ToolCall in kinds and ToolResult not in kinds


def _only_looks(result: ToolResult, call: ToolCall | None) -> bool:
    """Return whether a call only looked at something, and nothing went wrong."""
    if call is None or result.is_error or not FAMILIES[family_of(call.name)].looks:
        return False
    first = result.parts[0] if result.parts else None
    return not (isinstance(first, Text) and first.text.startswith(_REFUSALS))


def _asked(message: Message, *, lines: bool, rules: bool, asks: bool) -> Iterator[Fact]:
    source, at = message.label, message.position
    given, is_frame = _own_texts(message)
    for text in given:
        if place := directory_told(text):
            yield Fact("place", place, source, at, "chdir", effect=Effect("chdir", place))
        if lines and (report := report_told(text)):
            yield from _reported(report, source, at)
    own = [words for text in given if (words := own_words(text))]
    words = "\n".join(own).strip()
    if words not in "\n".join(given):
        words = max(own, key=len)  # what is quoted stands so in the message
    if not words:
        return
    is_long = len(words) > _ASK_CHARS
    shown = whole_words(words[:_ASK_CHARS], _ASK_CHARS) if is_long else words
    if (asks and not is_frame) or len(words) <= _SHORT_CHARS:
        yield Fact("ask", shown, source, at, terms=terms_of(shown))
    else:
        yield Fact("ask", "", source, at)
    # the strongest last: if there is little room the newest facts stay
    for rule in reversed(constraints(words) if rules and not is_frame else ()):
        yield Fact("constraint", rule.text, source, at, worth=float(rule.strength))
    if not lines:
        return
    if is_long:
        for line in lines_of(words[len(shown) :], _MOST_LINES):
            yield Fact("line", line.text, source, at, terms=line.terms, head="user")


def _instructions(message: Message) -> Fact:
    """Return the text of a skill or command; its words are no rules of the user."""
    words = "\n".join(_own_texts(message)[0]).strip()
    shown = whole_words(words[:_INSTRUCTIONS_CHARS], _INSTRUCTIONS_CHARS)
    return Fact("instructions", shown, message.label, message.position, terms=terms_of(shown))


_OVER = Regex(r"<status>(?:completed|failed|killed|stopped)</status>")
_TASK = Regex(r"<task-id>([^<\n]{1,80})</task-id>")


def _reported(report: AgentReport, source: str, at: int) -> Iterator[Fact]:
    """Yield what a background agent, task or shell reported; the first line most of all."""
    if _OVER.search(report.text) and (task := _TASK.search(report.text)):
        yield Fact("place", task[1], source, at, "stop")
    worth = _TOLD
    for line in lines_of(report.text, _MOST_LINES):
        yield Fact("line", line.text, source, at, terms=line.terms, head=report.teller, worth=worth)
        worth = 0.0


def _own_texts(message: Message) -> tuple[list[str], bool]:
    """Return the user's words without marks and summaries beside them.

    If the user sent nothing but a frame, what it holds is the user's words, and True is returned
    with it: they quote a record, and state no rules.
    """
    given = [text for text in texts(message) if origin_of(text) == "real"]
    framed = list(map(split_summary, given))
    own = [text if one is None else one.rest for text, one in zip(given, framed, strict=True)]
    words = list(filter(None, own)) if any(framed) else given
    return (words, False) if words else ([one.body for one in framed if one is not None], True)


def _said(message: Message, *, lines: bool) -> Iterator[Fact]:
    is_reply = ToolCall not in map(type, message.parts)
    words = "\n".join(texts(message)).strip()
    if not words:
        return
    source, at = message.label, message.position
    kind: FactKind = "reply" if is_reply else "said"
    asks = asks_back((words,))
    if not lines and (not is_reply or len(words) > _SHORT_CHARS):
        # of what an agent wrote long ago at length only that it answered is kept
        if is_reply and not asks:
            yield Fact(kind, "", source, at)
        return
    shown = both_ends(words, _REPLY_CHARS) if is_reply else cut(words, _SAID_CHARS)
    yield Fact(kind, shown, source, at, "asks" if asks else "")
    for decision in decisions(words):
        if decision.startswith(_PLANS) or decision.endswith(":"):
            continue
        yield Fact("decision", decision, source, at, terms=terms_of(decision, 8))
    if not lines:
        return
    for line in lines_of(words, _MOST_SAID_LINES):
        if not line.text.startswith(_FILLERS):
            yield Fact("line", line.text, source, at, terms=line.terms, head="agent")
