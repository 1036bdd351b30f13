"""Before anything is replaced: the rules hold, nothing is lost, the result is smaller."""

from __future__ import annotations

from msgspec import Struct

from holdfast.compaction.assemble import Assembled
from holdfast.compaction.work import Work
from holdfast.report import Reason
from holdfast.transcript import Media, Message, Text, Violation, is_ask


class Problem(Struct, frozen=True):
    """Why the original stays."""

    reason: Reason
    detail: str


def verify(work: Work, made: Assembled, tokens_before: int) -> Problem | None:
    """Return what is wrong with a candidate, None where every law holds.

    Coverage holds by construction of the view. What the input already broke in the same way
    (calls still pending at its end) is not held against the result.
    """
    if made.tokens_after >= tokens_before:
        return Problem(
            "not smaller", f"{made.tokens_after:,} tokens after, {tokens_before:,} before"
        )
    broken = [found for found in made.violations if not _excused(found)]
    if broken:
        first = broken[0]
        return Problem("cannot", f"the result would break {first.rule!r}: {first.message}")
    if not _ask_is_live(work, made):
        return Problem("cannot", "the latest user message would not stay as it is")
    return None


def _excused(violation: Violation) -> bool:
    return violation.rule == "call-pending"


def _ask_is_live(work: Work, made: Assembled) -> bool:
    ask = next((message for message in reversed(work.log) if is_ask(message)), None)
    if ask is None:
        return True
    wanted = _words_and_media(ask)
    return any(
        message.position == ask.position
        and message.role == "user"
        and _words_and_media(message)[-len(wanted) :] == wanted
        for message in made.messages
    )


def _words_and_media(message: Message) -> list[str]:
    return [
        part.text if isinstance(part, Text) else f"{part.kind} {part.url}{part.data}"
        for part in message.parts
        if isinstance(part, (Text, Media))
    ]
