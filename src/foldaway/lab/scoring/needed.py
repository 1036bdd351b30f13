"""Which facts of a session are needed after a cut, judged by what the agent wrote then."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast
from zlib import crc32

from foldaway.lab.scoring.facts import contexts, facts_in, is_present, kind_of, places
from foldaway.lab.scoring.session import (
    LabSession,
    Message,
    agent_text,
    calls_of,
    decode_arguments,
    is_system,
    render,
    render_all,
)
from foldaway.lab.scoring.signals import error_lines, to_line

# The numbers belong to the definition of the scores: chosen once, before any test figure was read.
# The limits keep long sessions affordable; what is over them is picked by a hash.
_MOST_FACTS = 200
_MOST_GRAMS = 400
_MOST_MENTIONS = 24
_MOST_FUTURE = 500
_LAST_SHARE = 0.10
"""A fact is far if it is neither in the first message nor in this share before the cut."""
_WORD = re.compile(r"\w+")
_COMMAND_KEYS = ("command", "cmd")
_COMMAND_CHARS = (8, 300)
"""Shorter commands (`ls`) are everywhere, longer ones are scripts."""
_LEAST_LINE_CHARS = 16
_CUE_CHARS = 200
_CUE_WORDS = 8
"""Words on either side of a fact by which one would search for it."""
_LINE_CUE_WORDS = 2
"""Of a command or an error line one remembers how it begins."""
_CUE_WORD = re.compile(r"[^\W_][\w.-]{2,40}")


@dataclass(frozen=True)
class NeededFact:
    """A fact that the agent needs after the cut."""

    text: str
    kind: str
    is_far: bool
    contexts: tuple[frozenset[str], ...] = ()
    """The words beside its mentions; none if it stood alone, and then it cannot be bound."""
    cue: str = ""
    """The words beside its first use after the cut, without itself: what one would search for."""


@dataclass(frozen=True)
class UsedFact:
    """A fact from before a cut, and the message after it in which the agent first says it."""

    text: str
    kind: str
    used_at: int
    """An index of the prepared messages."""

    @property
    def is_line(self) -> bool:
        """Whether it is a whole line: it survives letter for letter or not at all."""
        return self.kind in ("command", "error line")

    @property
    def key(self) -> tuple[str, str]:
        """Text and kind: a path may also be a command."""
        return self.text, self.kind


@dataclass(frozen=True)
class Elsewhere:
    """What other projects know too: facts and words of more than one project."""

    facts: frozenset[str]
    words: frozenset[str]


@dataclass(frozen=True)
class PreparedSession:
    """A session taken apart once, for all its cuts."""

    session: LabSession
    messages: list[Message]
    """Without system prompts."""
    texts: list[str]
    facts: list[set[str]]
    system_text: str
    schema: set[str]
    """Names of tools and of their arguments: the agent is told them on every turn."""

    @property
    def sizes(self) -> list[int]:
        """Characters of each message."""
        return [len(text) + 1 for text in self.texts]


def prepare(session: LabSession) -> PreparedSession:
    """Return a session with the text and the facts of each message."""
    messages = [message for message in session.messages if not is_system(message)]
    texts = [render(message) for message in messages]
    system = "\n".join(render(message) for message in session.messages if is_system(message))
    facts = [facts_in(text) for text in texts]
    return PreparedSession(session, messages, texts, facts, system, _schema(messages))


def _schema(messages: Sequence[Message]) -> set[str]:
    found: set[str] = set()
    for message in messages:
        for name, arguments in calls_of(message):
            found.add(name)
            _add_keys(decode_arguments(arguments), found)
    return found


def _add_keys(value: Any, found: set[str]) -> None:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            found.add(key)
            _add_keys(inner, found)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            _add_keys(inner, found)


def used_facts(prepared: PreparedSession, cut: int, elsewhere: Elsewhere) -> list[UsedFact]:
    """Return the facts of `needed_facts` with the message in which the agent first says each."""
    known = set[str]().union(*prepared.facts[:cut]) - elsewhere.facts
    first_by_agent = _first_by_agent(prepared, cut, lambda index: prepared.facts[index] & known)
    told = facts_in(prepared.system_text) | prepared.schema
    first = {fact: at for fact, at in first_by_agent.items() if fact not in told}
    again = {
        line: at for line, at in _commands(prepared, cut).items() if line not in elsewhere.facts
    }
    wanted = [UsedFact(fact, kind_of(fact), at) for fact, at in first.items()]
    wanted += [UsedFact(line, "command", at) for line, at in again.items()]
    quoted = _find_quoted_errors(prepared, cut)
    wanted += [UsedFact(line, "error line", at) for line, at in quoted.items()]
    order = sorted(wanted, key=lambda one: (crc32(one.text.encode(errors="replace")), one.key))
    return order[:_MOST_FACTS]


def needed_facts(prepared: PreparedSession, cut: int, elsewhere: Elsewhere) -> list[NeededFact]:
    """Return the facts that stand before the cut and that the agent is the first to say after.

    Not those of the system prompt, nor those of other projects. At most 200, picked by a hash.
    """
    before = "\n".join(prepared.texts[:cut])
    last = before[int(len(before) * (1 - _LAST_SHARE)) :]
    rows: list[NeededFact] = []
    for fact in used_facts(prepared, cut, elsewhere):
        text, kind = fact.text, fact.kind
        whole_lines = fact.is_line
        near = any(
            text in to_line(near) if whole_lines else is_present(near, text)
            for near in (prepared.texts[0], last)
        )
        if whole_lines:
            cue, beside = " ".join(text.split()[:_LINE_CUE_WORDS]), ()
        else:
            beside = tuple(set(contexts(before, text, _MOST_MENTIONS)))
            cue = _cue(prepared.texts[fact.used_at], text)
        rows.append(NeededFact(text, kind, not near, beside, cue))
    return rows


def _first_by_agent(
    prepared: PreparedSession, cut: int, said_in: Callable[[int], set[str]]
) -> dict[str, int]:
    """Return what the agent is the first to say after the cut, and in which message."""
    found: dict[str, int] = {}
    seen: set[str] = set()
    for index in range(cut, len(prepared.messages)):
        fresh = said_in(index) - seen
        seen |= fresh
        if agent_text(prepared.messages[index]):
            found.update(dict.fromkeys(fresh, index))
    return found


def _cue(used: str, fact: str) -> str:
    """Return the words nearest to a fact in the message that first uses it, in their order."""
    at = next(places(used, fact), -1)
    if at < 0:
        return ""
    before = _CUE_WORD.findall(used[max(at - _CUE_CHARS, 0) : at])
    after = _CUE_WORD.findall(used[at + len(fact) : at + len(fact) + _CUE_CHARS])
    near = [*before[-_CUE_WORDS:], *after[:_CUE_WORDS]]
    return " ".join(word for word in near if fact not in word and word not in fact)


def future_facts(prepared: PreparedSession, cut: int) -> frozenset[str]:
    """Return names that are first said after the cut: no view of what was before can hold them.

    Numbers may come up by chance and are left out; at most 500, picked by a hash.
    """
    after = set[str]().union(*prepared.facts[cut:])
    before = set[str]().union(*prepared.facts[:cut], facts_in(prepared.system_text))
    fresh = {fact for fact in after - before - prepared.schema if kind_of(fact) != "number"}
    known = "\n".join([prepared.system_text, *prepared.texts[:cut]])
    picked = sorted(fresh, key=lambda fact: (crc32(fact.encode(errors="replace")), fact))
    return frozenset([fact for fact in picked if fact not in known][:_MOST_FUTURE])


def _commands(prepared: PreparedSession, cut: int) -> dict[str, int]:
    """Return the commands that the agent ran before the cut, and where it runs them again."""
    before = {line for message in prepared.messages[:cut] for line in commands_of(message)}
    found: dict[str, int] = {}
    for index in range(cut, len(prepared.messages)):
        for line in commands_of(prepared.messages[index]):
            if line in before:
                found.setdefault(line, index)
    return found


def commands_of(message: Message) -> list[str]:
    """Return the shell commands of a message, each on one line."""
    found: list[str] = []
    for _, arguments in calls_of(message):
        values = decode_arguments(arguments)
        for key in _COMMAND_KEYS:
            line = to_line(str(values.get(key) or ""))
            if _COMMAND_CHARS[0] <= len(line) <= _COMMAND_CHARS[1]:
                found.append(line)
    return found


def _find_quoted_errors(prepared: PreparedSession, cut: int) -> dict[str, int]:
    """Return the error lines before the cut that the agent is the first to quote, and where."""
    lines = {
        to_line(line)
        for message, text in zip(prepared.messages[:cut], prepared.texts[:cut], strict=True)
        if message["role"] == "tool"
        for line in error_lines(text)
    }
    long_lines = {line for line in lines if len(line) >= _LEAST_LINE_CHARS}

    def said_in(index: int) -> set[str]:
        flat = to_line(prepared.texts[index])
        return {line for line in long_lines if line in flat}

    return _first_by_agent(prepared, cut, said_in) if long_lines else {}


def find_copied_grams(prepared: PreparedSession, cut: int, elsewhere: Elsewhere) -> list[str]:
    """Return runs of four words before the cut that the agent is the first to write after it.

    One of the four is a word that no other project has; at most 400, picked by a hash.
    """
    common = elsewhere.words | {word for name in prepared.schema for word in words_in(name)}
    first_by_agent = _first_by_agent(
        prepared, cut, lambda index: grams_of(prepared.texts[index], common)
    )
    told = grams_of(prepared.system_text, frozenset())
    open_grams, found = first_by_agent.keys() - told, set[str]()
    for text in prepared.texts[:cut]:
        found |= grams_of(text, common) & open_grams
    return sorted(found, key=lambda gram: crc32(gram.encode()))[:_MOST_GRAMS]


def grams_of(text: str, common: frozenset[str]) -> set[str]:
    """Return the runs of four words of a text that are not all common."""
    words = _WORD.findall(text.lower())
    return {
        f"{a} {b} {c} {d}"
        for a, b, c, d in zip(words, words[1:], words[2:], words[3:], strict=False)
        if not (a in common and b in common and c in common and d in common)
    }


def words_in(text: str) -> set[str]:
    """Return the words of a text, for the count of projects that know them."""
    return set(_WORD.findall(text.lower()))


def find_form(flat_view: str, view: str, fact: NeededFact) -> str:
    """Return the form in which a fact is still in a view; empty if it is not.

    A path may also are there as a folder and, elsewhere, the path below it.
    """
    if fact.kind in ("command", "error line"):
        return fact.text if fact.text in flat_view else ""
    if is_present(view, fact.text):
        return fact.text
    if fact.kind != "path":
        return ""
    parts = fact.text.split("/")
    for at in range(2, len(parts)):
        folder, below = "/".join(parts[:at]), "/".join(parts[at:])
        if len(folder) > 1 and is_present(view, below) and is_present(view, folder):
            return below
    return ""


def common_knowledge(sessions: Iterable[LabSession]) -> Elsewhere:
    """Return what the sessions of at least two projects know; those of one need not be together."""
    facts: dict[str, set[str]] = {}
    words: dict[str, set[str]] = {}
    for session in sessions:
        text = render_all(session.messages)
        its_facts = facts.setdefault(session.project, set())
        its_facts |= facts_in(text)
        its_facts.update(line for message in session.messages for line in commands_of(message))
        words.setdefault(session.project, set()).update(words_in(text))
    return Elsewhere(_find_in_two(facts.values()), _find_in_two(words.values()))


def _find_in_two(sets: Iterable[set[str]]) -> frozenset[str]:
    counts: Counter[str] = Counter()
    for one in sets:
        counts.update(one)
    return frozenset(item for item, count in counts.items() if count > 1)
