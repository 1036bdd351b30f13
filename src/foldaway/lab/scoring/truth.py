"""What is true at a cut, taken from the log before it and for some of it from what follows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from foldaway.lab.scoring.contents import Contents
from foldaway.lab.scoring.files import find_touched_files
from foldaway.lab.scoring.person_words import Said, extract_person_words, rules_text
from foldaway.lab.scoring.session import Message, content_text, render
from foldaway.lab.scoring.shell import Touched
from foldaway.lab.scoring.signals import constraints, error_lines, to_line
from foldaway.lab.scoring.steps import TESTING, LogStep, runs_tests, steps_of, test_outcome
from foldaway.lab.scoring.words import WORDS, pattern

Fate: TypeAlias = Literal["open", "passed", "usage", "resolved", "moved on"]
"""What became of a failure: only `open` ones block anything."""
_USAGE = pattern("blockers", "usage")
_LOOKING = frozenset(WORDS["blockers"]["looking"].split())
_SMALL_TALK, _WIDE = pattern("constraints", "smalltalk"), pattern("constraints", "wide")
_UNABLE, _POLITE = pattern("constraints", "unable"), pattern("constraints", "polite")
_REVOKED = pattern("constraints", "revoked")
_ZERO = re.compile(r"^(?:Process exited with code|Exit code:?) 0\b|returncode>0<", re.MULTILINE)
_RECENT_STEPS = 6
"""A failure with no more steps after it is what the agent is at, unless a person spoke since."""
_NEXT_STEPS = 40
"""If none of these steps after the cut returns to a failure, the agent had moved on: repairing what
a build complains about may take as many edits."""
_NEXT_WORDS = 12
"""Steps whose words may name a failure; later ones may name it for another reason."""
_MOST_ACTS = 3
"""Of a longer script nobody can tell which part a later step returns to."""
_HEARD_STEPS = 10
"""A job that was not heard of for longer may have ended unseen."""
_PASTED_CHARS = 4_000
"""A longer message of a person is mostly a document; its sentences are not all rules."""
_ID_KEY = pattern("names", "ids")
_NAME_KEYS = WORDS["names"]["names"].split()
_ID_VALUE = re.compile(r"[\w#.-]{4,60}")
_LOG_ROW = re.compile(r"^([0-9a-f]{7,40}) (?:\([^)\n]{1,200}\) )?(\S.{5,200})$", re.MULTILINE)
_ERROR_CHARS = 60
_HEAD_CHARS = 400
"""Of a result, in which a tool says how it was called wrongly."""
_SCRATCH = re.compile(r"^(?:/private)?/(?:tmp|var/folders)/|/\.claude/(?:plans|projects)/")
"""Files that no test run is about."""


@dataclass(frozen=True)
class NamedId:
    """An id of a result, and the names that stand in the same object."""

    id: str
    names: tuple[str, ...]
    inside: tuple[str, ...] = ()
    """Names of objects inside it; they are no sign of another one."""
    key: str = "commit"
    """The field that held it: ids of one field must be distinguished."""


@dataclass(frozen=True)
class StatementTruth:
    """What a record could say of a log, and whether it would be so."""

    messages: list[Message]
    steps: list[LogStep]
    later: list[LogStep]
    later_words: str
    """What the agent said in its next steps, on one line."""
    persons: list[Said]
    contents: Contents
    touched: Touched
    rules: str
    constraints: list[str]
    named_ids: list[NamedId]
    """Of every object of the log; those that are needed first."""
    needed_ids: frozenset[str]

    @property
    def request(self) -> Said | None:
        """The newest words of a person."""
        return self.persons[-1] if self.persons else None

    @property
    def last_tests(self) -> list[LogStep]:
        """The last test run that says how it went, and those that were started with it."""
        runs = [step for step in self.steps if runs_tests(step)]
        known = [step for step in runs if test_outcome(step) != "unknown"]
        last = (known or runs)[-1:]
        return [step for step in runs if last and step.at == last[0].at]

    def edited_since(self, step: LogStep) -> Touched:
        """Return the files that were edited after a step began; scratch files are never sure."""
        found = find_touched_files(self.messages[step.at + 1 :])
        scratch = {path for path in found.sure if _SCRATCH.search(path)}
        return Touched(found.sure - scratch, found.unsure | scratch)


def truth_at(messages: Sequence[Message], later: Sequence[Message]) -> StatementTruth:
    """Return the truth about messages without system prompts, given what came after them."""
    seen = list(messages)
    steps = steps_of(seen)
    persons = extract_person_words(seen)
    next_steps = steps_of(later[: 4 * _NEXT_STEPS])[:_NEXT_STEPS]
    soon = next_steps[:_NEXT_WORDS]
    end = soon[-1].at + 1 if soon else _NEXT_WORDS
    said = [content_text(row) for row in later[:end] if row["role"] == "assistant"]
    ids = list(read_named_ids(seen, steps))
    return StatementTruth(
        messages=seen,
        steps=steps,
        later=next_steps,
        later_words=to_line("\n".join(said)),
        persons=persons,
        contents=Contents(steps),
        touched=find_touched_files(seen),
        rules=rules_text(seen),
        constraints=sure_constraints(persons),
        named_ids=ids,
        needed_ids=_find_needed({row.id for row in ids}, later),
    )


def sure_constraints(persons: Sequence[Said]) -> list[str]:
    """Return the sentences of persons that a record must not lose."""
    spoken = [
        {"role": "user", "content": said.text}
        for said in persons
        if len(said.text) <= _PASTED_CHARS
    ]
    return [words for words in constraints(spoken) if is_constraint(words)]


def is_constraint(words: str) -> bool:
    """Return whether somebody constrains the work: no question, no small talk, no shell line."""
    if "?" in words[-3:] or re.match(r"[\[$>❯|=]|\d+[:.]\d", words):
        return False
    return bool(_WIDE.search(_UNABLE.sub(" ", words))) and not _SMALL_TALK.search(words)


def constrains(text: str) -> bool | None:
    """Return whether one of the sentences of a text constrains; None for a polite question."""
    sentences = [to_line(sentence) for sentence in re.split(r"(?<=[.!?])\s+", text)]
    if any(map(is_constraint, sentences)):
        return True
    is_polite = any(_POLITE.search(one) and _WIDE.search(one) for one in sentences)
    return None if is_polite else False


def is_revoked(truth: StatementTruth, words: str) -> bool:
    """Return whether the person took back what they had said, in one of their later messages."""
    places = [said.at for said in truth.persons if words[:40] in to_line(said.text)]
    return bool(places) and any(
        said.at > places[-1] and _REVOKED.search(said.text) for said in truth.persons
    )


def is_failure(step: LogStep) -> bool:
    """Return whether a step failed as a whole; what only looks cannot fail to do anything."""
    if runs_tests(step):
        return test_outcome(step) == "failed"
    if not step.has_failed or not error_lines(step.result):
        return False
    programs = {words[0].rpartition("/")[2] for words in step.words} or {step.tool.lower()}
    return not programs <= _LOOKING


def fate_of(truth: StatementTruth, step: LogStep, error: str) -> Fate:
    """Return what became of a failure: whether it is still open at the cut."""
    tests_passed = runs_tests(step) and test_outcome(step) == "passed"
    if _is_success(step) or (tests_passed and len(step.words) == 1):
        return "passed"
    if _USAGE.search(error) or (not runs_tests(step) and _USAGE.search(_head(step.result))):
        return "usage"
    after = [one for one in truth.steps if one.at > step.at]
    acts = _acts(step) - ({TESTING} if tests_passed else set[str]())
    if any(_succeeds(one, acts) for one in after):
        return "resolved"
    if returns_to(truth, step, error):
        return "open"
    last = next((one for one in reversed(after) if acts & set(one.purposes)), step)
    has_spoken = any(said.at > last.until for said in truth.persons)
    since = sum(one.at > last.at for one in after)
    return "moved on" if has_spoken or since > _RECENT_STEPS else "open"


def _head(result: str) -> str:
    return result[:_HEAD_CHARS]


def _is_success(step: LogStep) -> bool:
    """Return whether a call is known to have done its work.

    The exit code of a pipe is another command's; some hosts give none.
    """
    if not step.is_answered or step.has_failed or step.job or "|" in step.line:
        return False
    tells_code = step.tool == "Bash" or bool(_ZERO.search(step.result))
    return (bool(step.line) and tells_code) or not error_lines(step.result)


def _succeeds(one: LogStep, acts: set[str]) -> bool:
    """Return whether a later step did what a failed one was for."""
    shared = set(one.purposes) & acts
    if not shared or not one.is_answered:
        return False
    if TESTING in shared:
        return test_outcome(one) == "passed"
    return not one.has_failed and not error_lines(one.result[:_HEAD_CHARS])


def _acts(step: LogStep) -> set[str]:
    """Return what a step is for, without what only looks."""
    return {
        purpose for purpose in step.purposes if purpose.partition(" ")[0].lower() not in _LOOKING
    }


def returns_to(truth: StatementTruth, step: LogStep, error: str) -> bool:
    """Return whether the agent dealt with a failure after the cut."""
    if any(_acts(step) & set(one.purposes) for one in truth.later):
        return True
    names = [name for name in re.findall(r"[\w./-]{7,60}", error) if re.search(r"[_./\d]", name)]
    return any(name in truth.later_words for name in names)


def open_failures(truth: StatementTruth) -> list[tuple[LogStep, list[str]]]:
    """Return the failures that are open for sure, with their error lines."""
    found: dict[str, tuple[LogStep, list[str]]] = {}
    for step in truth.steps:
        if is_failure(step) and len(_acts(step)) <= _MOST_ACTS:
            lines = [to_line(line)[:_ERROR_CHARS] for line in error_lines(step.result)]
            found[" ".join(step.purposes)] = (step, [line for line in lines if line])
    return [
        (step, lines)
        for step, lines in found.values()
        if fate_of(truth, step, " ".join(lines[:5])) == "open"
        and returns_to(truth, step, "")
        and not any(said.at > step.until for said in truth.persons)
    ]


def is_heard_of(truth: StatementTruth, step: LogStep) -> bool:
    """Return whether a job was heard of in the last steps."""
    return sum(one.at > step.until for one in truth.steps) <= _HEARD_STEPS


def _find_needed(ids: set[str], later: Sequence[Message]) -> frozenset[str]:
    """Return the ids that the agent is the first to say again."""
    found: set[str] = set()
    waiting = set(ids)
    for message in later:
        text = render(message)
        here = {one for one in waiting if one in text}
        waiting -= here
        if message["role"] == "assistant":
            found |= here
    return frozenset(found)


def read_named_ids(messages: Sequence[Message], steps: Sequence[LogStep]) -> Iterator[NamedId]:
    """Yield the ids of JSON results and of `git log`, each with the names beside it."""
    for message in messages:
        text = content_text(message)
        if message["role"] == "tool" and text.lstrip()[:1] in ("{", "["):
            try:
                yield from _read_ids(json.loads(text))
            except (ValueError, RecursionError):
                continue
    for step in steps:
        if any(words[:2] == ["git", "log"] for words in step.words):
            rows = _LOG_ROW.findall(step.result)
            yield from (NamedId(commit[:7], (subject[:40],)) for commit, subject in rows)


def _read_ids(value: Any) -> Iterator[NamedId]:
    for row in _objects(value):
        names, inside = _names(row), tuple(name for one in _objects(row) for name in _names(one))
        for key, one in row.items():
            is_id = _ID_KEY.search(key) and isinstance(one, str | int)
            if is_id and names and _ID_VALUE.fullmatch(str(one)):
                yield NamedId(str(one), names, inside, key)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of a JSON value, itself too."""
    if isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _objects(one)
    elif isinstance(value, dict):
        row = cast("dict[str, Any]", value)
        yield row
        for one in row.values():
            yield from _objects(one)


def _names(row: dict[str, Any]) -> tuple[str, ...]:
    found = [row.get(key) for key in _NAME_KEYS]
    return tuple(name for name in found if isinstance(name, str) and name)
