"""Without a model: duplicates to markers, old results to digests, arguments and media shortened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldaway.compaction.references import reference_of
from foldaway.facts.digests import digest_of
from foldaway.facts.frame import (
    MOST_NOTE_CHARS,
    cut_with_note,
    mark_text,
    origin_of,
)
from foldaway.facts.tools import family_of, read_arguments
from foldaway.policy import Policy
from foldaway.transcript import (
    Media,
    Message,
    Origin,
    Part,
    Text,
    ToolCall,
    ToolResult,
)

PATH_KEYS = ("file_path", "path", "filePath", "filename", "target_file")


_DEEPEST = 64
"""Arguments nested deeper are left alone; chosen, far above any tool's schema, to bound
recursion."""


class Newer(Struct):
    """What stands further on in the log, so that an older copy may point there.

    `outputs` are texts of results that stay whole, `reads` what those read of which file, `media`
    and `result_media` whether a newer message of a user, or of a tool, bears media. Filled from
    the end of the log towards its start.
    """

    outputs: set[str] = set()
    reads: set[str] = set()
    media: bool = False
    result_media: bool = False


class Prepared(Struct, frozen=True, gc=False):
    """What pruning needs to know of a message with one tool result, made ready once."""

    output: str
    """The text of the result: tells identical ones."""
    read: str
    """The file and range that was read, "" where none was."""
    line: str
    """The digest of the output."""
    failed: bool = False
    """Whether the tool reported a failure: such a read supersedes none."""


class Shortened(Struct, frozen=True, gc=False):
    """A message as pruning leaves it where nothing newer makes it superfluous."""

    message: Message
    tokens: int
    reference: str


def prepare(result: ToolResult, calls: Mapping[str, ToolCall], policy: Policy) -> Prepared | None:
    """Return what pruning needs of a result, None where it is not worth it."""
    if result.kind in ("server", "hosted"):
        return None
    text = _text_of(result)
    if len(text) <= policy.digest_from_chars and not _media_in(result):
        return None
    if text[:1] == "[" and origin_of(text) != "real":
        return None
    call = calls.get(result.call_id)
    line = line_of(result, call)
    failed = result.is_error or text[:40].lower().startswith(("error", "<error", "<tool_use_error"))
    return Prepared(text, _what_was_read(call) if call is not None else "", line, failed)


def line_of(result: ToolResult, call: ToolCall | None) -> str:
    """Return the digest of a result and of the call that it answers."""
    media = _media_in(result)
    return digest_of(call, _text_of(result)) + (f" and {media} media" if media else "")


def _media_in(result: ToolResult) -> int:
    return sum(isinstance(part, Media) for part in result.parts)


def prune_message(
    message: Message,
    prepared: Mapping[str, Prepared],
    newer: Newer,
    policy: Policy,
    reference: Callable[[Message], str],
) -> Message:
    """Return the message made shorter, or the same object where nothing in it is worth it.

    `newer` is brought up to date. Generated parts are left alone, so pruning twice is pruning
    once. Text of users and agents is never touched.
    """
    parts: list[Part] = []
    origin: Origin = message.origin
    changed = False
    had_media = newer.media
    for part in message.parts:
        new: Part = part
        match part:
            case ToolResult():
                ready = prepared.get(part.call_id)
                if ready is not None:
                    new, origin = _pruned_result(part, ready, newer, message, reference)
            case ToolCall(kind="function", arguments=arguments):
                if len(arguments) > policy.argument_chars:
                    new = _shrink_call(part, policy.argument_chars, reference, message)
            case Media() if message.role == "user":
                newer.media = True
                if had_media:
                    new = media_placeholder(part, reference(message))
            case _:
                pass
        changed = changed or new is not part
        parts.append(new)
    if not changed:
        return message
    return replace(message.with_parts(tuple(parts)), origin=origin)


def note_newer(message: Message, prepared: Mapping[str, Prepared], newer: Newer) -> None:
    """Take a message that stays as it is into account for the older ones before it."""
    for ready in prepared.values():
        newer.outputs.add(ready.output)
        if ready.read and not ready.failed:
            newer.reads.add(ready.read)
    if message.role == "user" and any(type(part) is Media for part in message.parts):
        newer.media = True
    if any(type(part) is ToolResult and holds_media(part.parts) for part in message.parts):
        newer.result_media = True


def without_seen_media(message: Message, newer: Newer, reference: str) -> Message:
    """Return one of the newest messages with placeholders for media if newer ones of its kind, a
    user's or a tool's, are shown further on; the same object if there are none.
    """
    parts = tuple(
        media_placeholder(part, reference) if type(part) is Media and newer.media
        else replace(part, parts=without_media(part.parts, reference), intact=False)
        if type(part) is ToolResult and newer.result_media and holds_media(part.parts)
        else part
        for part in message.parts
    )  # fmt: skip
    is_same = all(new is old for new, old in zip(parts, message.parts, strict=True))
    return message if is_same or message.role == "assistant" else message.with_parts(parts)


def depends_on_newer(message: Message, prepared: Mapping[str, Prepared], newer: Newer) -> bool:
    """Return whether what stands further on decides how this message is pruned."""
    if any(_superseded_by(ready, newer) for ready in prepared.values()):
        return True
    return message.role == "user" and any(type(part) is Media for part in message.parts)


def _pruned_result(
    result: ToolResult,
    ready: Prepared,
    newer: Newer,
    message: Message,
    reference: Callable[[Message], str],
) -> tuple[ToolResult, Origin]:
    words = _superseded_by(ready, newer)
    if words:
        return _with_text(result, mark_text("duplicate", words, reference(message))), "duplicate"
    line = mark_text("digest", ready.line, reference(message))
    has_media = any(isinstance(part, Media) for part in result.parts)
    if not has_media and len(line) >= len(_text_of(result)):
        return result, message.origin
    return _with_text(result, line), "digest"


def _superseded_by(ready: Prepared, newer: Newer) -> str:
    """Return why a newer result that stays whole makes this one superfluous, "" where none does."""
    if ready.output in newer.outputs:
        return "the same content as a newer result below"
    if ready.read and ready.read in newer.reads:
        return "the same file was read again in a newer result below"
    return ""


def _text_of(result: ToolResult) -> str:
    parts = result.parts
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def _what_was_read(call: ToolCall) -> str:
    """Return the file and range that a call read, "" where it read none."""
    if family_of(call.name) != "read":
        return ""
    arguments = read_arguments(call.arguments)
    for key in PATH_KEYS:
        if isinstance(arguments.get(key), str):
            return msgspec.json.encode(
                sorted((str(k), str(v)) for k, v in arguments.items())
            ).decode()
    return ""


def _with_text(result: ToolResult, text: str) -> ToolResult:
    return replace(result, parts=(Text(text),), intact=False)


def _shrink_call(
    call: ToolCall, most: int, reference: Callable[[Message], str], message: Message
) -> ToolCall:
    try:
        value = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return call
    if shrink_leaves(value, most) is value or is_unreadable(value):
        return call
    where = reference(message)
    shrunk = shrink_leaves(value, most, f": {where}" if where else "")
    return replace(call, arguments=msgspec.json.encode(shrunk).decode(), intact=False)


def is_unreadable(arguments: Any) -> bool:
    """Return whether a repair made arguments of a text that is no JSON (rule `arguments-object`):
    they are kept whole, so that a host can read them as they came.
    """
    fields = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    return list(fields) == ["value"] and isinstance(fields["value"], str)


def shrink_leaves(value: Any, most: int, where: str = "", depth: int = 0) -> Any:
    """Return `value` with long string leaves cut; the same object where none is long.

    Keys, numbers, booleans and short strings are untouched; a cut says how much it left out, and
    `where` that is. What is nested deeper than any tool's arguments is left as it is.
    """
    if depth > _DEEPEST:
        return value
    if isinstance(value, str):
        return value if len(value) <= most + MOST_NOTE_CHARS else cut_with_note(value, most, where)
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value)
        made = {key: shrink_leaves(leaf, most, where, depth + 1) for key, leaf in fields.items()}
        return made if any(made[key] is not leaf for key, leaf in fields.items()) else fields
    if isinstance(value, list):
        leaves = cast("list[Any]", value)
        shrunk = [shrink_leaves(leaf, most, where, depth + 1) for leaf in leaves]
        same = all(new is old for new, old in zip(shrunk, leaves, strict=True))
        return leaves if same else shrunk
    return value


def answered_calls(messages: Sequence[Message]) -> dict[int, dict[str, ToolCall]]:
    """Return, for each index of a message with results, the calls that they answer, by id.

    A result answers the nearest call before it that has its id: ids may be used again.
    """
    latest: dict[str, ToolCall] = {}
    found: dict[int, dict[str, ToolCall]] = {}
    for at, message in enumerate(messages):
        for part in message.parts:
            if type(part) is ToolCall:
                latest[part.id] = part
            elif type(part) is ToolResult and part.call_id in latest:
                found.setdefault(at, {})[part.call_id] = latest[part.call_id]
    return found


def media_placeholder(media: Media, reference: str) -> Text:
    """Return the words that stand where media stood."""
    kind = f"{media.kind} {media.media_type}".strip()
    return Text(mark_text("placeholder", f"{kind}, shown earlier", reference))


def without_older_media(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages with placeholders for all media but those of the newest that has some.

    Also for those in tool results, which pruning leaves alone while they are recent. Messages
    without media are the same objects.
    """
    found = list(messages)
    bearing = [at for at, message in enumerate(found) if holds_media(message.parts)]
    for at in bearing[:-1]:
        reference = reference_of(found[at])
        found[at] = found[at].with_parts(without_media(found[at].parts, reference))
    return found


def holds_media(parts: Sequence[Part]) -> bool:
    """Return whether parts, or results among them, bear media."""
    return any(
        isinstance(part, Media) or (isinstance(part, ToolResult) and holds_media(part.parts))
        for part in parts
    )


def without_media(parts: Sequence[Part], reference: str) -> tuple[Part, ...]:
    """Return the parts of a message with placeholders for media, also for those in results."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Media):
            found.append(media_placeholder(part, reference))
        elif isinstance(part, ToolResult) and holds_media(part.parts):
            inner = without_media(part.parts, reference)
            found.append(replace(part, parts=inner, intact=False))
        else:
            found.append(part)
    return tuple(found)
