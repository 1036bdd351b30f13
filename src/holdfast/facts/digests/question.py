"""Questions to the user: what was asked and what the user said to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from holdfast.facts.digests.failure import failure_in, untagged
from holdfast.facts.digests.fields import fields_of
from holdfast.facts.digests.line import clip, first_of

_QUESTIONS = ("question", "prompt", "message", "text", "query")
_ROOM_CHARS = 230
_LOOKED_AT_CHARS = 20_000


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "AskUserQuestion 'Which version?': '0.6.0'"."""
    asked = _asked(arguments)
    pairs = [(question, _answer(question, output)) for question in asked]
    if pairs and all(answer is not None for _, answer in pairs):
        room = _ROOM_CHARS // len(pairs) // 2
        told = [f"{clip(question, room)!r}: {clip(answer or '', room)!r}"
                for question, answer in pairs]  # fmt: skip
        return f"{name} {'; '.join(told)}"
    question = clip(asked[0], 100) if asked else "a question"
    said = failure_in(output) or fields_of(output, arguments) or clip(untagged(output), 150)
    return f"{name} {question!r}: {said}"


def _asked(arguments: Mapping[str, Any]) -> list[str]:
    found = arguments.get("questions")
    if isinstance(found, list):
        entries = cast("list[Any]", found)
        words = [entry if isinstance(entry, str) else _words(entry) for entry in entries[:4]]
        return [word for word in words if word]
    question = first_of(arguments, *_QUESTIONS)
    return [question] if question else []


def _words(entry: Any) -> str:
    return first_of(cast("dict[str, Any]", entry), *_QUESTIONS) if isinstance(entry, dict) else ""


def _answer(question: str, output: str) -> str | None:
    """Return what stands as `"question"="answer"`, None where the question is not quoted so."""
    sign = f'"{question}"="'
    at = output.find(sign, 0, _LOOKED_AT_CHARS)
    if at < 0:
        return None
    start = at + len(sign)
    ends = [end for mark in ('", "', '". ') if (end := output.find(mark, start)) >= 0]
    return output[start : min(ends) if ends else None].rstrip('"')
