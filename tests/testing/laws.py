"""The laws of a compaction, held against one result from the outside.

Nothing here asks the pipeline what it did: the lists before and after are read anew, measured anew
and compared. What is long may be measured through a sample: tokens before are right within 3 %,
tokens after within 1 %, and smaller is smaller by the exact sum.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from foldaway._core.report import Report
from foldaway.compaction.measure import message_tokens, tools_tokens
from foldaway.dialects.checking import check
from foldaway.dialects.loading import load
from foldaway.dialects.profiles import profile_named
from foldaway.engine.compressor import Compressor
from foldaway.facts.speakers import speaker_of
from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.transcript import (
    Folded,
    Media,
    Message,
    Part,
    Rewritten,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
)
from foldaway.transcript.estimate import Estimator

REFERENCE = re.compile(r"fa-[0-9a-f]{10}")
SUMMARY = "[foldaway summary"
_SUMMARIES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY", "This session is being continued")
_MARKS = ("[foldaway ", *_SUMMARIES)
_QUOTE = re.compile(r"^- (?:The user wrote|First request)(?: \([^()\n]*\))?: (.*(?:\n  .*)*)", re.M)
_HIDE = Redactor(RedactionPolicy(personal=False))
"""As a compaction hides secrets by default: a quote may hold placeholders."""
_ENTRY = re.compile(r"^(?:- |\d+\. )\S", re.M)
_LABEL = re.compile(r" \[(earlier )?([^\[\]\n]+)\]\Z")


def broken_laws(
    before: Any,
    after: Any,
    report: Report,
    recall: Callable[[str], Sequence[Any]],
    *,
    provider: str,
    known: Iterable[str] = (),
    spoken: Sequence[str] | None = None,
    log: Any = None,
) -> list[str]:
    """Return the laws that a compaction of `before` into `after` breaks, each in a sentence.

    `known` are references of earlier compactions, which may stand in the text; `spoken` are the
    words of users that a summary may quote (by default those of `before`); `log` is what came,
    where `before` shows some of it otherwise.
    """
    if report.status == "unchanged":
        return [] if after is before or after == before else ["unchanged, and yet another list"]
    dialect = profile_named(provider).dialect
    was, now = load(before, dialect=dialect), load(after, dialect=dialect)
    came = was if log is None else load(log, dialect=dialect)
    return [
        *_validity(before, after, provider),
        *_size(was, now, report),
        *_references(was, now, report, recall, frozenset(known), came),
        *_live_ask(was, now),
        *_signed_fields(was, now),
        *_one_summary(now),
        *_quotes(was, now, spoken),
    ]


def tokens_of(transcript: Transcript) -> int:
    """Return the estimate of a transcript with its system prompt and tools."""
    counter = Estimator()
    fixed = message_tokens(transcript.system, counter) if transcript.system else 0
    listed = sum(message_tokens(message, counter) for message in transcript.messages)
    return fixed + tools_tokens(transcript.tools, counter) + listed


def summary_of(transcript: Transcript) -> str:
    """Return the summary that stands in a transcript, "" where there is none."""
    return next((text for text in _all_texts(transcript) if text.startswith(SUMMARY)), "")


def words_of_users(was: Transcript) -> list[str]:
    """Return what the users of a transcript wrote, a text for each message."""
    return [words_of(message) for message in was.messages if message.role == "user"]


def words_of(message: Message) -> str:
    """Return the words of a message that no compaction wrote."""
    own = [part.text for part in message.parts if isinstance(part, Text) and _is_own(part)]
    return "\n".join(own).strip()


def latest_ask(messages: Sequence[Message]) -> Message | None:
    """Return the newest message that a user wrote; what a compaction or a host wrote is none.

    A summary of the host's, which takes the place of what was before it, ends the search.
    """
    for message, previous in zip(reversed(messages), (*reversed(messages[:-1]), None), strict=True):
        if speaker_of(message, previous) in ("host", "instructions"):
            continue
        if any(isinstance(one, Text) and one.text.startswith(_SUMMARIES) for one in message.parts):
            return None
        own = [part for part in message.parts if isinstance(part, (Text, Media)) and _is_own(part)]
        if message.role == "user" and own:
            return message
    return None


def own_parts(message: Message) -> list[Any]:
    """Return the words and media of a message that no compaction wrote, as plain values."""
    found: list[Any] = []
    for part in message.parts:
        if isinstance(part, Text) and _is_own(part):
            found.append(part.text)
        elif isinstance(part, Media):
            found.append((part.kind, part.data, part.url))
    return found


def _validity(before: Any, after: Any, provider: str) -> list[str]:
    waits = any(found.rule == "call-pending" for found in check(before, provider=provider))
    return [
        f"the result breaks {found.rule} at {found.index}: {found.message}"
        for found in check(after, provider=provider)
        if not (waits and found.rule == "call-pending")
    ]


def _size(was: Transcript, now: Transcript, report: Report) -> list[str]:
    found: list[str] = []
    if report.tokens_after >= report.tokens_before:
        found.append(f"{report.tokens_after} tokens after, {report.tokens_before} before")
    for name, said, transcript, share in (
        ("before", report.tokens_before, was, 0.03), ("after", report.tokens_after, now, 0.01)
    ):  # fmt: skip
        measured = tokens_of(transcript)
        if abs(measured - said) > share * measured:
            found.append(f"reported {said} tokens {name}, measured {measured}")
    if tokens_of(now) >= tokens_of(was):
        found.append(f"measured {tokens_of(now)} tokens after, {tokens_of(was)} before")
    return found


def _references(
    was: Transcript,
    now: Transcript,
    report: Report,
    recall: Callable[[str], Sequence[Any]],
    known: frozenset[str],
    log: Transcript,
) -> list[str]:
    found: list[str] = []
    for row in report.references:
        wanted = [message.wire for message in log.messages[row.start : row.stop]]
        back = list(recall(row.ref))
        if back != wanted:
            found.append(f"{row.ref} ({row.kind}) gives {len(back)} others than {row.start}")
    given = {row.ref for row in report.references} | known
    named = set(REFERENCE.findall(_dumped(now))) - set(REFERENCE.findall(_dumped(was)))
    found.extend(f"{ref} stands in the text and leads nowhere" for ref in sorted(named - given))
    covered = report.kept + report.rewritten + report.folded
    if covered < len(was.messages):
        found.append(f"{covered} of {len(was.messages)} messages are accounted for")
    return found


def _live_ask(was: Transcript, now: Transcript) -> list[str]:
    """Of what users wrote the newest is last, but for what stood behind it."""
    ask = latest_ask(was.messages)
    if ask is None:
        return []
    behind = [own_parts(one) for one in was.messages[was.messages.index(ask) + 1 :]]
    said = [own_parts(one) for one in reversed(now.messages) if one.role == "user"]
    left = [own for own in said if own and own not in behind]
    if not left:
        return ["no message of the user is left"]
    if left[0] != own_parts(ask):
        return [f"the latest ask was {own_parts(ask)!r:.200}, now it is {left[0]!r:.200}"]
    return []


def _signed_fields(was: Transcript, now: Transcript) -> list[str]:
    left = iter(_signed(was))
    return [
        f"a signed field was altered or moved: {kept!r:.120}"
        for kept in _signed(now)
        if not any(kept == one for one in left)
    ]


def _signed(transcript: Transcript) -> list[Any]:
    return [
        part.wire if isinstance(part, Thinking) else part.signature
        for message in transcript.messages
        for part in message.parts
        if isinstance(part, (Thinking, ToolCall)) and part.signature
    ]


def _one_summary(now: Transcript) -> list[str]:
    texts = [text for text in _all_texts(now) if text.startswith(SUMMARY)]
    found = [f"{len(texts)} summaries"] if len(texts) > 1 else []
    found.extend("a summary in a summary" for text in texts if text.count(SUMMARY) > 1)
    found.extend("a summary without a single entry" for text in texts if not _ENTRY.search(text))
    return found


def _quotes(was: Transcript, now: Transcript, spoken: Sequence[str] | None) -> list[str]:
    texts = words_of_users(was) if spoken is None else list(spoken)
    labelled = {message.label: words_of(message) for message in was.messages}
    found: list[str] = []
    for entry in _QUOTE.findall(summary_of(now)):
        label = _LABEL.search(entry)
        if label is None:
            found.append(f"quoted without an id: {entry!r:.120}")
            continue
        quoted = entry[: label.start()].replace("\n  ", "\n").strip()
        quoted = quoted.removesuffix("…").rstrip()
        home = texts if label.group(1) else [labelled.get(label.group(2), "")]
        if not any(quoted in words or quoted in _HIDE(words) for words in home):
            found.append(f"quoted, and nobody wrote it there: {entry!r:.160}")
    return found


def _is_own(part: Part) -> bool:
    return not (isinstance(part, Text) and part.text.startswith(_MARKS))


def _all_texts(transcript: Transcript) -> Iterable[str]:
    for message in transcript.messages:
        for part in message.parts:
            inner = part.parts if isinstance(part, ToolResult) else (part,)
            yield from (piece.text for piece in inner if isinstance(piece, Text))


def _dumped(transcript: Transcript) -> str:
    try:
        return msgspec.json.encode([message.parts for message in transcript.messages]).decode()
    except UnicodeEncodeError:
        return repr([message.parts for message in transcript.messages])


def came(engine: Compressor) -> list[Any]:
    """Return what the model sees, with each result that is shown otherwise since its arrival as it
    came.
    """
    log = [message.wire for message, _ in engine.conversation.list_arrived(0)]
    found = engine.messages
    at = 0
    for item in engine.view.items:
        if isinstance(item, Rewritten) and item.message.origin == "arrival":
            found[at] = log[item.start]
        at += len(item.messages) if isinstance(item, Folded) else item.stop - item.start
    assert at == len(found)
    return found
