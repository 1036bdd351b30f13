"""The words that Holdfast itself puts into a transcript, and how they are recognised again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.transcript import Message, Origin, Text, Thinking, ToolResult

SUMMARY_OPEN = "[holdfast summary: reference only]"
SUMMARY_CLOSE = "[end of holdfast summary]"

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

_STARTS = frozenset("[T")
"""With what our own words begin, and those of other compressors."""
_DIGEST = "[holdfast digest"
_DUPLICATE = "[holdfast duplicate"
_PLACEHOLDER = "[holdfast placeholder"
_MARK = re.compile(
    r"\[holdfast (digest|duplicate|placeholder)(?:: original at hf-[0-9a-f]{10})?\] "
)
_REPAIRED: dict[str, Origin] = {
    "[no result was recorded for this call]": "stub",
    "[the start of this conversation is missing]": "placeholder",
    "[no reply was recorded here]": "placeholder",
}
"""What a repair puts where something is missing."""
_FOREIGN_OPEN = re.compile(
    r"\[CONTEXT (?:COMPACTION|SUMMARY)[^\]\n]{0,40}\]:?|"
    r"This session is being continued from a previous conversation that ran out of context"
)
_FOREIGN_SUMMARY = re.compile(
    r"This session is being continued from a previous conversation that ran out of context\. "
    r"The (?:summary below|conversation is summarized below)"
)
_FOREIGN_CLOSE = re.compile(
    r"-{3} ?END OF CONTEXT SUMMARY[^\n]{0,120}"
    r"|^(?:Please )?[Cc]ontinue the conversation from where"
    r"|^If you need specific details from before compaction",
    re.MULTILINE,
)
"""Where other compressors' summaries end, and their orders to the agent begin."""


def summary_text(body: str, reference: str, *, brief: bool = False) -> str:
    """Return a summary in its frame, which is shorter where it is to be brief."""
    where = f"\nThe originals: recall {reference}." if reference else ""
    if brief:
        where = f" Originals: recall {reference}." if reference else ""
        return f"{SUMMARY_OPEN}\n{SUMMARY_BRIEF}{where}\n\n{body}\n{SUMMARY_CLOSE}"
    return (
        f"{SUMMARY_OPEN}\n{SUMMARY_PREAMBLE}{where}\n\n{body}\n\n{SUMMARY_AFTERWORD}\n"
        f"{SUMMARY_CLOSE}"
    )


def summary_body(text: str) -> str | None:
    """Return the body of a framed summary, ours or another compressor's; None for other text.

    Only the whole form counts: a user who quotes the opening words is still a user.
    """
    if text.startswith(SUMMARY_OPEN):
        if not text.rstrip().endswith(SUMMARY_CLOSE):
            return None
        inner = text.rstrip()[len(SUMMARY_OPEN) : -len(SUMMARY_CLOSE)]
        _, _, body = inner.partition("\n\n")
        return body.strip("\n").removesuffix(SUMMARY_AFTERWORD).strip("\n")
    if _FOREIGN_OPEN.match(text):
        found = _FOREIGN_CLOSE.search(text)
        inner = text[: found.start()] if found else text
        heading = inner.find("## ")
        if heading < 0 and found is None and not _FOREIGN_SUMMARY.match(text):
            return None
        return inner[heading:].strip() if heading >= 0 else inner.partition("\n")[2].strip()
    return None


def digest_text(words: str, reference: str) -> str:
    """Return a one-line digest in its mark."""
    return f"{_DIGEST}{_recall(reference)}] {words}"


def duplicate_text(words: str, reference: str) -> str:
    """Return a marker for content that stands again further on."""
    return f"{_DUPLICATE}{_recall(reference)}] {words}"


def placeholder_text(words: str, reference: str) -> str:
    """Return what stands where media stood."""
    return f"{_PLACEHOLDER}{_recall(reference)}] {words}"


def _recall(reference: str) -> str:
    return f": original at {reference}" if reference else ""


def origin_of(text: str) -> Origin:
    """Return what a text with exactly this form is: one of our marks, or real."""
    if not text.startswith("["):
        return "real"
    found = _MARK.match(text)
    if found is None:
        return _REPAIRED.get(text, "real")
    match found.group(1):
        case "digest":
            return "digest"
        case "duplicate":
            return "duplicate"
        case _:
            return "placeholder"


def recognise(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages with their origin set where an earlier compaction wrote them.

    Messages that nobody generated are the same objects. A summary that was merged into a message
    of the tail is told by its first part; that message stays real.
    """
    return tuple([_recognised(message) for message in messages])


def _recognised(message: Message) -> Message:
    parts = message.parts
    if not parts or message.origin != "real":
        return message
    first = parts[0]
    in_result = isinstance(first, ToolResult)
    if isinstance(first, ToolResult):
        parts = first.parts
        first = parts[0] if parts else None
    if not isinstance(first, Text) or len(parts) > 1 or first.text[:1] not in _STARTS:
        return message
    origin = origin_of(first.text)
    if not in_result and origin != "placeholder":
        origin = "real" if summary_body(first.text) is None else "summary"
    return message if origin == "real" else replace(message, origin=origin)


def carried_summary(message: Message) -> str | None:
    """Return the body of the summary that a message is or carries, None where there is none."""
    first = _first_text(message)
    if first is None or first.text[:1] not in _STARTS:
        return None
    return summary_body(first.text)


def without_summary(message: Message) -> Message:
    """Return a message that carries a merged summary as it was before."""
    merged = _first_text(message)
    return message.with_parts(tuple(part for part in message.parts if part is not merged))


def _first_text(message: Message) -> Text | None:
    """Return the first words of a message; thinking may stand before them."""
    for part in message.parts:
        if isinstance(part, Text):
            return part
        if not isinstance(part, Thinking):
            return None
    return None
