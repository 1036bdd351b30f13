"""A tool message holds text only."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.dialects.rule import Action, Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits, inserted
from holdfast.dialects.shape import shown
from holdfast.transcript import Media, Message, Part, Text, ToolResult, Violation

NAME = "tool-text-only"


def check(case: Case) -> list[Violation]:
    """Return the media in tool messages."""
    return [
        case.fault(
            NAME, at, part.at, f"{part.kind} content in the result for {shown(result.call_id)}",
            "move it to a user message after the tool messages",
        )
        for at, result in case.index.results
        for part in result.parts
        if type(part) is Media
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Move the media to a user message after the run of tool messages."""
    del violations
    edits = Edits()
    after: dict[int, list[Part]] = {}
    actions: list[Action] = []
    for at, result in case.index.results:
        media = [part for part in result.parts if type(part) is Media]
        if not media:
            continue
        left = tuple(part for part in result.parts if type(part) is not Media)
        edits.put(at, result, _without_media(result, left, media[0]))
        moved = after.setdefault(_run_end(case.messages, at), [])
        moved += [Text(f"[{media[0].kind} from the result for {result.call_id}]"), *media]
        what = f"moved {len(media)} {media[0].kind} to a user message"
        actions.append(case.action(NAME, at, what))
    notes = {at: [Message("user", tuple(parts), origin="note")] for at, parts in after.items()}
    return Mended(inserted(edits.applied(case.messages), notes), tuple(actions))


def _without_media(result: ToolResult, left: tuple[Part, ...], first: Media) -> ToolResult:
    parts = left or (Text(f"[{first.kind}: see the next user message]"),)
    return replace(result, parts=parts, intact=False)


def _run_end(messages: Sequence[Message], at: int) -> int:
    while at + 1 < len(messages) and messages[at + 1].role == "tool":
        at += 1
    return at


RULE = Rule(
    name=NAME,
    states="A tool message holds text only.",
    check=check,
    mend=mend,
    mends="moves media to a user message after the tool messages",
)
