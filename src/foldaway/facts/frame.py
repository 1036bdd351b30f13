"""The words that Foldaway itself puts into a transcript, and how they are recognized again.

Transcripts that were written earlier hold these words and come back for the next compaction. So
the texts that are recognized (`SUMMARY_OPEN`, `SUMMARY_CLOSE`, `SUMMARY_AFTERWORD`, the marks of
digests, duplicates and placeholders, the notes of a repair, the note of a cut) may get further
forms but must never lose one. `test_texts_of_earlier_versions_are_recognized` holds the forms of
each version. The preamble is free to change: it is dropped, whatever it says. The name of the
program was another one once, so any name counts in a whole frame and in a mark with a reference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Regex
from foldaway.transcript import Message, Origin, Text, Thinking, ToolCall, ToolResult

SUMMARY_OPEN = "[foldaway summary: reference only]"
SUMMARY_CLOSE = "[end of foldaway summary]"

SUMMARY_PREAMBLE = (
    "Older messages were folded into this record; build on it. It is background, not a request: "
    "what it quotes was seen and dealt with, or waits for the user to bring it up again. Act on "
    "the newest user message only; if that says stop, undo, roll back or never mind, the work "
    "described here is over. Look before doing again what is reported as done. Memory and rules "
    "files keep their full authority."
)
"""All that a model has to know of a fold. The system prompt stays as it is, byte by byte: it is
the one part of a prompt that a compaction need not drop from a provider's cache."""
SUMMARY_BRIEF = (
    "Older messages in brief: background, not a request. Act on the newest user message only; if "
    "it says stop, undo, roll back or never mind, this work is over. Memory and rules files keep "
    "their authority."
)
"""The same where the summary itself is short."""
SUMMARY_AFTERWORD = "The live conversation follows; answer that, not this record."

FRAME_WORDS = (SUMMARY_OPEN, SUMMARY_CLOSE, SUMMARY_PREAMBLE, SUMMARY_BRIEF, SUMMARY_AFTERWORD)
"""All that the frame says by itself, the same in every summary."""

QUOTED_SUMMARY = Regex(rf"(?s){re.escape(SUMMARY_OPEN)}.*?(?:{re.escape(SUMMARY_CLOSE)}|\Z)")

RESULT_OPEN = "[foldaway: the newest result, of "
"""How a tool's result begins that can only stay as a text."""
MarkKind: TypeAlias = Literal["digest", "duplicate", "placeholder"]
_STARTS = frozenset("[TAS<")
"""With what our own words begin, and those of other compressors."""
_OPEN = Regex(r"\[([a-z]{1,20}) summary: reference only\]")
_MARK = Regex(
    r"\[(?:foldaway (?=\w+\] )|[a-z]{1,20} (?=\w+:))(digest|duplicate|placeholder)"
    r"(?:: original at [a-z]{2}-[0-9a-f]{10})?\] "
)
_PART = Regex(r"\[(?:left out|in part)(?:: ([a-z]{2}-[0-9a-f]{10}))?\](?:\n|\Z)")
"""How a result begins of which a part is shown, or nothing."""
_REPAIRED: dict[str, Origin] = {
    "[no result was recorded for this call]": "stub",
    "[the start of this conversation is missing]": "placeholder",
    "[no reply was recorded here]": "placeholder",
}
"""What a repair puts where something is missing."""
_FOREIGN_OPEN = Regex(
    r"\[CONTEXT (?:COMPACTION|SUMMARY)[^\]\n]{0,40}\]:?|"
    r"This session is being continued from a previous conversation that ran out of context|"
    r"Another language model started to solve this problem and produced a summary|"
    r"The conversation history before this point was compacted into the following summary:|"
    r"Some of the conversation history has been summarized to free up context\.|"
    r"<state_snapshot>\n"
)
_FOREIGN_SUMMARY = Regex(
    r"This session is being continued from a previous conversation that ran out of context\. "
    r"The (?:summary below|conversation is summarized below)"
)
_FOREIGN_CLOSE = Regex(
    r"^-{3} ?END OF CONTEXT SUMMARY(?:[^\n]{0,120}?-{3}|[^\n]{0,120}$|)"
    r"|^(?:Please )?[Cc]ontinue the conversation from where[^\n]*"
    r"|^If you need specific details from before compaction[^\n]*"
    r"|^The messages after this summary are the most recent[^\n]*"
    r"|^(?:<(?:read|modified)-files>\n[^<]*</(?:read|modified)-files>\n+)*</summary>"
    r"|^</state_snapshot>(?:\n+Resume the prior task using the summary[^\n]*)?",
    re.MULTILINE,
)
"""How other compressors end their summaries: a mark, or orders to the agent."""
_ANSWERS = frozenset({"assistant", "tool"})
_REMINDER = "<system-reminder>"
"""With what a host's own words begin that it puts into a message before those of somebody else."""
_HEAD_MESSAGES = 6
"""How many messages a compressor may keep before its summary: twice the default of `protect_first`,
here and in Hermes."""


class Framed(Struct, frozen=True, gc=False):
    """A text that begins with a summary in its frame."""

    body: str
    rest: str
    """What follows the frame: the words of the message that it was merged into."""


def summary_text(body: str, reference: str, *, brief: bool = False) -> str:
    """Return a summary in its frame, which is shorter if `brief`."""
    where = f"\nThe originals: recall {reference}." if reference else ""
    if brief:
        where = f" Originals: recall {reference}." if reference else ""
        return f"{SUMMARY_OPEN}\n{SUMMARY_BRIEF}{where}\n\n{body}\n{SUMMARY_CLOSE}"
    return (
        f"{SUMMARY_OPEN}\n{SUMMARY_PREAMBLE}{where}\n\n{body}\n\n{SUMMARY_AFTERWORD}\n"
        f"{SUMMARY_CLOSE}"
    )


def handed_over(body: str, preamble: str) -> str:
    """Return a record of another session in the frame, behind words that say what it is for."""
    return f"{SUMMARY_OPEN}\n{preamble}\n\n{body}\n{SUMMARY_CLOSE}\n\n"


def split_summary(text: str) -> Framed | None:
    """Return the summary that a text begins with, ours or another compressor's, and what follows.

    None for any other text. Only the whole form counts: a user who quotes the opening words, or
    writes anything before them, is still a user.
    """
    if opened := _OPEN.match(text):
        inner, mark, rest = text[opened.end() :].partition(f"\n[end of {opened[1]} summary]")
        if not mark:
            return None
        body = inner.partition("\n\n")[2].strip("\n")
        return Framed(body.removesuffix(SUMMARY_AFTERWORD).strip("\n"), _own(rest))
    if text[:1] not in _STARTS or not _FOREIGN_OPEN.match(text):
        return None
    found = _FOREIGN_CLOSE.search(text)
    inner = text[: found.start()] if found else text
    heading = inner.find("## ")
    if heading < 0 and found is None and not _FOREIGN_SUMMARY.match(text):
        return None
    rest = _FOREIGN_CLOSE.sub("", text[found.start() :]) if found else ""
    body = inner[heading:] if heading >= 0 else inner.partition("\n")[2]
    return Framed(body.strip(), _own(rest))


def _own(rest: str) -> str:
    """Return the words after a frame, without the empty lines that a merge put between."""
    return rest.lstrip("\r\n") if rest.strip() else ""


def summary_body(text: str) -> str | None:
    """Return the body of the summary that a text begins with, None if it begins with none."""
    framed = split_summary(text)
    return None if framed is None else framed.body


def mark_text(kind: MarkKind, words: str, reference: str) -> str:
    """Return words of ours in the mark of what they stand for.

    A duplicate points at the same content elsewhere, a placeholder stands where media stood; a
    digest, one line for a result, is what earlier versions wrote.
    """
    where = f": original at {reference}" if reference else ""
    return f"[foldaway {kind}{where}] {words}"


def part_text(words: str, reference: str) -> str:
    """Return a part of a result, or a note that none is shown, with the reference of the whole."""
    where = f": {reference}" if reference else ""
    return f"[in part{where}]\n{words}" if words else f"[left out{where}]"


def shown_part(text: str) -> tuple[str, str]:
    """Return where the whole of a result is of which a text shows a part, and the part itself; ""
    and the text if it is none.
    """
    found = _PART.match(text) if text[:1] == "[" else None
    return (found[1] or "", text[found.end() :]) if found else ("", text)


def origin_of(text: str) -> Origin:
    """Return what a text with exactly this form is: one of our marks, or real."""
    if not text.startswith("["):
        return "real"
    if _PART.match(text):
        return "digest"
    found = _MARK.match(text)
    return _REPAIRED.get(text, "real") if found is None else cast("MarkKind", found[1])


def recognize(
    messages: Sequence[Message],
    before: Sequence[Message] = (),
    *,
    head: int = 0,
    live: bool = False,
) -> tuple[Message, ...]:
    """Return the messages with their origin set where an earlier compaction wrote them.

    Messages that nobody generated are the same objects. A message that a summary was merged into
    stays real. A frame counts only where a compaction puts one: among the first messages (`head`
    of them, if that is more than usual), or later after tool results and other work in progress,
    and never in the newest message, unless no model has spoken before it. In a `live` log, where
    messages come as they are said, one that comes later counts only after tool results. Anywhere
    else it is what its speaker said.
    """
    found = list(map(_recognized, messages))
    first = max(head, _HEAD_MESSAGES)
    for at, message in enumerate(found):
        if (
            message.origin == "summary"
            and message is not messages[at]
            and _is_said(messages, at, before, first, live=live)
        ):
            found[at] = messages[at]
    return tuple(found)


def _recognized(message: Message) -> Message:
    parts = message.parts
    if not parts or message.origin != "real":
        return message
    first = parts[0]
    in_result = False
    if type(first) is ToolResult:
        in_result, parts = True, first.parts
        first = parts[0] if parts else None
    if type(first) is not Text or len(parts) > 1 or first.text[:1] not in _STARTS:
        return message
    origin = origin_of(first.text)
    if not in_result and origin != "placeholder":
        framed = split_summary(first.text)
        origin = "real" if framed is None or framed.rest else "summary"
    return message if origin == "real" else replace(message, origin=origin)


def merged_summaries(
    messages: Sequence[Message],
    before: Sequence[Message] = (),
    *,
    head: int = 0,
    live: bool = False,
) -> dict[int, str]:
    """Return the bodies of the summaries that were merged into real messages, by their place.

    The rule of `recognize` holds here too, except that the newest message may carry a summary if
    it is among the first ones: a frame anywhere else is part of what the user said.
    """
    first = max(head, _HEAD_MESSAGES)
    return {
        at: body
        for at, message in enumerate(messages)
        if message.origin != "summary"
        and message.role != "tool"
        and (body := carried_summary(message)) is not None
        and not _is_said(messages, at, before, first, live=live, merged=True)
    }


def _is_said(
    messages: Sequence[Message],
    at: int,
    before: Sequence[Message],
    first: int,
    *,
    live: bool,
    merged: bool = False,
) -> bool:
    """Return whether a message stands where a speaker says something, and no compaction writes."""
    said = _said_before(messages, at, before)
    is_newest = at + 1 == len(messages)
    if is_newest and not live:
        spoken = any(one.role in _ANSWERS for one in (*before, *messages[:at]))
        return spoken and said > (first if merged else 0)
    if said <= first:
        return False
    previous = messages[at - 1] if at else before[-1]
    if live:
        return not (_has_result(previous) or _has_result(messages[at]))
    return (
        messages[at].role == "user"
        and previous.role == messages[at + 1].role == "assistant"
        and not any(isinstance(part, ToolCall) for part in previous.parts)
    )


def _said_before(messages: Sequence[Message], at: int, before: Sequence[Message]) -> int:
    """Return how many messages stand before one, system messages at the start not counted."""
    place, system = len(before) + at, 0
    while system < place:
        one = before[system] if system < len(before) else messages[system - len(before)]
        if one.role not in ("system", "developer"):
            break
        system += 1
    return place - system


def is_known_at(messages: Sequence[Message], at: int) -> bool:
    """Return whether a summary is recognized in a later run if it begins at a position."""
    return _said_before(messages, at, ()) <= _HEAD_MESSAGES or _has_result(messages[at - 1])


def carried_summary(message: Message) -> str | None:
    """Return the body of the summary that a message is or carries, None if there is none.

    A real message that is nothing but a frame is what its speaker said, and carries none. This
    looks at the form alone: `merged_summaries` also looks at where the message is.
    """
    first = _first_text(message)
    if first is None or first.text[:1] not in _STARTS:
        return None
    if (framed := split_summary(first.text)) is None:
        return None
    is_alone = not any(isinstance(part, (Text, ToolResult)) for part in message.parts[:-1])
    is_whole = not framed.rest and message.parts[-1] is first and is_alone
    return None if is_whole and message.origin == "real" else framed.body


def without_summary(message: Message) -> Message:
    """Return a message that carries a merged summary as it was before."""
    merged = _first_text(message)
    framed = None if merged is None else split_summary(merged.text)
    if merged is None or framed is None:
        return message
    own = (Text(framed.rest),) if framed.rest else ()
    at = message.parts.index(merged)
    return message.with_parts((*message.parts[:at], *own, *message.parts[at + 1 :]))


def _first_text(message: Message) -> Text | None:
    """Return the first words of a message; thinking, results and reminders of a host may stand
    before them.
    """
    for part in message.parts:
        if isinstance(part, Text):
            if part.text.startswith(_REMINDER):
                continue
            return part
        if not isinstance(part, (Thinking, ToolResult)):
            return None
    return None


def _has_result(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)


GAP = "[…]"
"""What stands where pieces of a text are left out."""
_GAP = Regex(r"\[…(?: [a-z]{2}-[0-9a-f]{10})?\]")
_NOTE = Regex(r"\S*… \[[\d,]{1,20} more characters(?:: [\w-]{1,20})?\]\Z")
_NOTE_WITHIN = 200
"""At the end of a text: where a note, and the word before it, are looked for."""


def gap_mark(reference: str) -> str:
    """Return the mark of a gap, with where the whole text is."""
    return f"{GAP[:-1]} {reference}]" if reference else GAP


def before_note(text: str) -> str:
    """Return the whole words before the first gap, or before the note that earlier versions set at
    the end of what they cut; the text if there is none.

    The note is not what anybody said, and the word before it may be half a word.
    """
    gap = _GAP.search(text) if GAP[:-1] in text else None
    if gap is not None:
        words = text[: gap.start()]
        return words[: len(words) - len(words.rsplit(None, 1)[-1])] if words.strip() else ""
    found = _NOTE.search(text, max(len(text) - _NOTE_WITHIN, 0)) if text.endswith("]") else None
    return text[: found.start()].rstrip() if found else text
