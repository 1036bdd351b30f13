"""Questions about what was before a cut, made by rule, and whether a view still answers them."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from typing import Any, cast
from zlib import crc32

from msgspec import Struct

from foldaway.lab.scoring.facts import facts_in, kind_of, places
from foldaway.lab.scoring.needed import NeededFact, PreparedSession, find_form, words_in
from foldaway.lab.scoring.person_words import extract_person_words
from foldaway.lab.scoring.session import Message, calls_of, content_text, decode_arguments
from foldaway.lab.scoring.signals import answered_calls, is_showing, result_line, to_line

# Chosen before any figure of the score was read; the cue of a field was made stricter after one.
_A_KIND, _TRIED = 5, 40
"""Most questions of each of the eight kinds, and most candidates, picked by a hash."""
_LAST_SHARE, _MOST_MENTIONS = 0.2, 2
"""What the log says more often is known anyway; paths may be named at any time."""
_REACH_CHARS, _CUE_SHARE = 300, 2 / 3
"""So near to the answer, on either side, this share of the words of its cue must be."""
_CUE_WORDS, _NEXT_WORDS = 5, 10
"""Of a sentence the first words are the cue, and at most that many after them the answer."""
_LINE_CHARS, _ANSWER_CHARS, _PASTED_CHARS = range(10, 121), range(3, 161), 6_000
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_COMMIT = re.compile(r"^\[[\w./-]{1,80}(?: \(root-commit\))? ([0-9a-f]{7,12})\] (.{8,80})$", re.M)
_PATCHED = re.compile(r"^-(.{10,160})\n\+(.{10,160})$", re.M)
_OLD, _NEW = ("old_string", "oldString", "old_str"), ("new_string", "newString", "new_str")
_NAMES = ("name", "title", "product_name")


class Question(Struct, frozen=True):
    """Something that the log answers; most words of the cue must be beside the answer."""

    kind: str
    text: str
    cue: str
    answer: str


def questions_at(prepared: PreparedSession, cut: int) -> list[Question]:
    """Return at most 40 questions that the messages before the cut answer.

    The answer is neither in the question, nor in the system prompt, nor in the last fifth before
    the cut, where every strategy would still have it.
    """
    source, told = (to_line("\n".join(prepared.texts[:cut])), to_line(prepared.system_text))
    last = source[int(len(source) * (1 - _LAST_SHARE)) :]
    by_kind: dict[str, dict[str, Question]] = {}
    for one in _candidates(prepared, cut):
        if len(one.answer) in _ANSWER_CHARS and one.answer not in one.text:
            by_kind.setdefault(one.kind, {}).setdefault(one.answer, one)
    found: list[Question] = []
    for kind, rows in sorted(by_kind.items()):
        picked = nsmallest(_TRIED, rows, key=lambda text: crc32(text.encode(errors="replace")))
        found += [
            rows[answer]
            for answer in picked
            if answer not in last
            and answer not in told
            and (kind == "path" or source.count(answer) <= _MOST_MENTIONS)
            and is_answered(source, rows[answer])
        ][:_A_KIND]
    return found


def is_answered(flat_view: str, question: Question) -> bool:
    """Return whether a view, on one line, has the answer word for word beside its cue."""
    answer, cue = question.answer, words_in(question.cue)
    if question.kind == "path":  # it ends with its cue
        return bool(find_form("", flat_view, NeededFact(answer, "path", False)))
    for at in places(flat_view, answer, 40):
        near = flat_view[max(at - _REACH_CHARS, 0) : at + len(answer) + _REACH_CHARS]
        near = near.replace(answer, " ")
        if cue and len(cue & words_in(f"{near} {near.replace('_', ' ')}")) >= _CUE_SHARE * len(cue):
            return True
    return False


def _candidates(prepared: PreparedSession, cut: int) -> Iterator[Question]:
    messages = prepared.messages[:cut]
    yield from _paths(messages, prepared.facts[:cut])
    yield from _outputs(messages)
    for said in extract_person_words(messages):
        if len(said.text) < _PASTED_CHARS:
            yield from _sentences("person", said.text)
    for message in messages:
        if message["role"] == "assistant":
            yield from _sentences("agent", content_text(message))
            yield from _edits(message)
        elif message["role"] == "tool":
            text = content_text(message)
            for number, title in _COMMIT.findall(text):
                yield Question("commit", f"the hash of the commit {title}", title, number)
            yield from _rows(text)


def _paths(messages: Sequence[Message], facts: Sequence[set[str]]) -> Iterator[Question]:
    """Yield the files that the agent named, if all paths with their name end alike."""
    known: dict[str, set[str]] = {}
    for path in sorted(set[str]().union(*facts)):
        if path.count("/") > 1 and kind_of(path) == "path":
            known.setdefault(posixpath.basename(path), set()).add(path)
    pairs = zip(messages, facts, strict=True)
    said = set[str]().union(*(some for message, some in pairs if message["role"] == "assistant"))
    for name, paths in known.items():
        shortest = min(paths, key=len)
        if "." in name and paths & said and all(path.endswith(shortest) for path in paths):
            yield Question("path", f"the path of {name}", name, shortest)


def _outputs(messages: Sequence[Message]) -> Iterator[Question]:
    """Yield the commands that were run once, for the first line of what they gave."""
    runs: dict[str, list[str]] = {}
    for call, tool, result in answered_calls(messages):
        if not is_showing(tool):
            line = to_line(call.removeprefix(f"{tool} "))
            runs.setdefault(line, []).append(to_line(result_line(result)))
    for line, (first, *more) in runs.items():
        if len(first) in _LINE_CHARS and len(line) in _LINE_CHARS and not more and facts_in(first):
            yield Question("output", f"the first line of what {line} gave", line, first)


def _sentences(kind: str, text: str) -> Iterator[Question]:
    """Yield sentences by their first words; those of the agent must name something after them."""
    for sentence in _SENTENCE.split(text):
        words = sentence.split(None, _CUE_WORDS + _NEXT_WORDS)[: _CUE_WORDS + _NEXT_WORDS]
        cue, rest = " ".join(words[:_CUE_WORDS]), " ".join(words[_CUE_WORDS:])
        if len(words) >= 2 * _CUE_WORDS and (kind == "person" or facts_in(rest)):
            yield Question(kind, f"how a sentence goes on: {cue} …", cue, rest)


def _edits(message: Message) -> Iterator[Question]:
    """Yield the lines that an edit replaced, for the new ones."""
    for _, arguments in calls_of(message):
        values = {key: str(value) for key, value in decode_arguments(arguments).items()}
        old, new = (next((values[k] for k in keys if k in values), "") for keys in (_OLD, _NEW))
        pairs = [*zip(old.split("\n"), new.split("\n"), strict=False)]
        pairs += [pair for value in values.values() for pair in _PATCHED.findall(value)]
        for was, now in pairs:
            if was != now and len(was.strip()) >= _LINE_CHARS.start <= len(now.strip()):
                yield Question("edit", f"what replaced {was.strip()}", was, to_line(now))


def _rows(text: str) -> Iterator[Question]:
    """Yield the objects of a JSON result: the id by the name, else plain fields by the id."""
    try:
        left: list[tuple[str, Any]] = [("", json.loads(text) if text[:1] in "{[" else None)]
    except (ValueError, RecursionError):
        return
    while left:
        key, value = left.pop()
        if not isinstance(value, dict):
            left += [("", one) for one in cast("list[Any]", value)] if type(value) is list else []
            continue
        items = cast("dict[str, Any]", value).items()
        left += [(name, inner) for name, inner in items if isinstance(inner, dict | list)]
        row = {k: to_line(str(inner)) for k, inner in items if type(inner) in (str, int, float)}
        own = next((name for name in row if name.lower().endswith("id")), "")
        number, name = row.get(own, key), next((row[key] for key in _NAMES if key in row), "")
        if own and name:
            yield Question("id", f"the {own} of {name}", name, number)
        elif facts_in(number):
            for key in [key for key in row if key != own and facts_in(row[key])]:
                cue = f"{key.partition('_')[0]} {number}"
                yield Question("field", f"the {key} of {number}", cue, row[key])
