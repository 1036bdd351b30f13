"""The facts of a session from its agent's own file, and those that a summary left out."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from msgspec.structs import replace

from foldaway._core import Policy
from foldaway.agents.importers import ImportedSession, read_bytes, read_stored
from foldaway.facts import FactReader, LogReading, Summary, recognize
from foldaway.facts.ledger import Around, summarize
from foldaway.transcript import Estimator, Message, texts

_WHOLE_BYTES = 5 << 18
"""A file of lines that is longer is not read as a whole: 1.2 MB take 270 ms of CPU
(`bench/notes/hooks.md`), as what is read of 10 MB does."""
_HEAD_BYTES = 1 << 17
"""Of a long file, its beginning: the first request is there."""
_TAIL_BYTES = 7 << 16
"""Of a long file, its end."""
_BETWEEN_BYTES = 1 << 16
"""Of a long file, what the user said between, the newest of it: 65 prompts of 1,000 bytes."""
_SEARCHED_BYTES = 1 << 23
"""Of what is between, the end: 8 MB are searched in 25 ms."""
_PROMPT_BYTES = 1 << 14
"""A line that is longer has more than words of the user; chosen."""
_PROMPT = re.compile(rb'"(?:role|type)": ?"user(?:\.message)?"')
_NO_PROMPT = (b"tool_result", b"toolUseResult", b"functionResponse", b'"isMeta":true')
_WITH_SOURCES = 1.3
"""Entries are chosen for this factor more room: their sources, which agents do not know, are left
out. Chosen."""
_LINES_OF_CHARS = 60_000
"""The end of a log that is read line by line, a quarter of what a compaction reads: the agent has
just seen it. It saves 25 ms of CPU on a session of 1,000 messages."""


def session_facts(path: str, tokens: int, focus: str = "") -> str:
    """Return what is known of the session in a file, in at most `tokens`; "" if nothing is.

    What is about the `focus` comes first.
    """
    found = _session(path)
    if found is None:
        return ""
    return facts_of(found.transcript.messages, "", tokens, focus)


def dropped_facts(path: str, tokens: int, *, is_new: bool, session: str = "") -> str:
    """Return the facts of what a session's last compaction folded that its summary does not tell.

    Some agents write the summary into the file only later: right after a compaction, `is_new`, all
    facts are returned then. A session that was never compacted has lost nothing.
    """
    found = _session(path, session)
    if found is None or not (found.summaries or is_new):
        return ""
    if not found.summaries:
        return facts_of(found.transcript.messages, "", tokens)
    at = last = found.summaries[-1]
    while at - 1 in found.summaries:  # goose says in a message of its own that there is one
        at -= 1
    messages = found.transcript.messages
    told = [text for one in messages[at : last + 1] for text in texts(one)]
    return facts_of(messages[:at], "\n".join(told), tokens)


def facts_of(messages: Sequence[Message], summary: str, tokens: int, focus: str = "") -> str:
    """Return the facts of messages that a summary does not tell, in at most `tokens`.

    They go back into the conversation that they come from, to the model that has read them, so
    secrets are not looked for.
    """
    log, counter = recognize(messages), Estimator()
    reading = LogReading(counter, Policy())
    ledger = FactReader(log, reading, lines_of=_LINES_OF_CHARS).ledger(len(log))
    room = tokens * _WITH_SOURCES / ledger.tokens_per_char(counter)
    record = summarize(ledger, Around(room_chars=room, focus=focus))
    return render_untold(record.with_focus(focus) if focus else record, summary, tokens)


def render_untold(record: Summary, summary: str, tokens: int) -> str:
    """Return the entries of a record that a summary does not tell, without their sources."""
    left = {
        section: tuple(replace(one, source="") for one in rows)
        for section, rows in record.untold(summary).sections.items()
    }
    return replace(record, sections=left).render(Estimator(), tokens) if left else ""


def _session(path: str, session: str = "") -> ImportedSession | None:
    """Return the main session of a file that goes on last, None if there is none.

    A database has many; of one, `session` says which.
    """
    if path.endswith(".db"):
        return read_stored(path, session)
    mains = [one for one in read_bytes(_ends(path), path) if not one.is_subagent]
    return max(mains, key=lambda one: one.ended or 0.0, default=None)


def _ends(path: str) -> bytes:
    """Return a file, of a long one of lines its beginning, its end, and the user's words between.

    What was done between is not seen.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= _WHOLE_BYTES or not path.endswith(".jsonl"):
            return file.read()
        head = file.read(_HEAD_BYTES).rpartition(b"\n")[0]
        file.seek(max(len(head), size - _TAIL_BYTES - _SEARCHED_BYTES))
        rest = file.read()
    cut = rest.find(b"\n", max(0, len(rest) - _TAIL_BYTES)) + 1
    return b"\n".join([head, *_prompts(rest[:cut]), rest[cut:]])


def _prompts(data: bytes) -> list[bytes]:
    """Return the lines that have nothing but words of the user, the newest of them."""
    found, room = list[bytes](), _BETWEEN_BYTES
    for line in reversed(data.split(b"\n")):
        # an expression with alternatives would take most of the time that there is
        if b'"user' not in line or any(map(line.__contains__, _NO_PROMPT)):
            continue
        if len(line) <= _PROMPT_BYTES and _PROMPT.search(line):
            room -= len(line)
            if room < 0:
                break
            found.append(line)
    return found[::-1]
