"""Requests by which a client asks its model for a summary of the conversation.

The signs by which they are known are in the files of `agents/known`. Codex takes the summary as an
item that only its provider can read: ours holds the record itself, and is opened on the way in.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any, cast

from msgspec import Raw
from msgspec.structs import replace

from foldaway.agents.known import CompactionSign, known_agents
from foldaway.dialects import dialect_named, dump_bytes, parse, split_list, split_object
from foldaway.facts import summary_text
from foldaway.gateway.wires import Route

_NEWEST = 32_768
"""Bytes at the end of a list in which the words of a sign are looked for: four times the longest
prompt of an agent that we know, so that a user's own instructions have room behind them."""
_FIRST = 4_096
"""Bytes at the start of a list or of a system prompt in which the words of a sign are looked for;
those that we know are in the first 100."""
_AFTER = frozenset({"system", "developer"})
"""Roles that a client may add after the newest message."""
_MARK = "FOLDAWAY-RECORD-1."
"""With what our items begin. In capitals: every request is searched for it, and in most of them
hardly a byte looks like its beginning."""
_SEALED = re.compile(rb'"encrypted_content"\s*:\s*"FOLDAWAY-RECORD-1\.')


@cache
def signs() -> tuple[CompactionSign, ...]:
    """Return all signs with the names of their agents, the most telling of an agent first."""
    return tuple(
        replace(sign, agent=agent.identity.name or agent.name)
        for agent in known_agents().values()
        for sign in agent.compaction.signs
    )


def sign_of(
    route: Route, headers: Mapping[str, str], fields: Mapping[str, Raw]
) -> CompactionSign | None:
    """Return the sign that a request bears, None if it asks for no summary.

    Only the ends of its list are read, unless the words of a sign are there.
    """
    held = fields[dialect_named(route.wire.dialect).list_key]
    newest = bytes(memoryview(held)[-_NEWEST:])
    first = _start_of(fields, held) if _has_no_tools(fields) else b""
    for sign in signs():
        if sign.operation != route.operation or sign.wire not in ("", route.wire.name):
            continue
        if sign.header and sign.header[1] not in headers.get(sign.header[0], ""):
            continue
        if sign.system and sign.system.encode() not in first:
            continue
        words = (sign.has or sign.item).encode()
        if words and not (words in newest and _is_asked(sign, held)):
            continue
        return sign
    return None


def _has_no_tools(fields: Mapping[str, Raw]) -> bool:
    return len(memoryview(fields.get("tools", Raw(b"")))) <= len("[ ]")


def _start_of(fields: Mapping[str, Raw], held: Raw) -> bytes:
    """Return how a request begins, wherever its system prompt is."""
    places = [fields[name] for name in ("system", "instructions") if name in fields]
    return b" ".join(bytes(memoryview(one)[:_FIRST]) for one in (held, *places))


def _is_asked(sign: CompactionSign, held: Raw) -> bool:
    """Return whether the newest message is the question, and does not only quote it in a result."""
    _, message = _newest(split_list(held))
    if sign.item:
        return message.get("type") == sign.item
    return sign.has in _last_text(message)


def _newest(raws: Sequence[Raw]) -> tuple[int, dict[str, Any]]:
    """Return the newest message, and where it is; a client may add others for the model."""
    for at in reversed(range(len(raws))):
        message = parse(raws[at])
        if isinstance(message, dict):
            found = cast("dict[str, Any]", message)
            if found.get("role") not in _AFTER:
                return at, found
    return 0, {}


def _last_text(message: Mapping[str, Any]) -> str:
    """Return the words at the end of a user's message, "" if it ends in something else."""
    content: Any = message.get("content", message.get("parts"))
    if message.get("role", "user") != "user":
        return ""
    if isinstance(content, list) and content:
        last: Any = cast("list[Any]", content)[-1]
        content = cast("dict[str, Any]", last).get("text") if isinstance(last, dict) else None
    return content if isinstance(content, str) else ""


def without_question(body: bytes, sign: CompactionSign, list_key: str) -> bytes:
    """Return a request whose list is the conversation alone; for our own reading, not to send."""
    fields = split_object(body)
    raws = split_list(fields[list_key])
    if sign.operation != "compact":
        at, message = _newest(raws)
        rest = None if sign.item else _without_last_text(message)
        raws[at - sign.drops : at + 1] = [] if rest is None else [Raw(dump_bytes(rest))]
    fields[list_key] = Raw(b"[" + b",".join(map(bytes, raws)) + b"]")
    return (
        b"{"
        + b",".join(dump_bytes(name) + b":" + bytes(raw) for name, raw in fields.items())
        + b"}"
    )


def _without_last_text(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a client's question was added to: results of tools; None if it stood alone."""
    key = "parts" if "parts" in message else "content"
    content: Any = message.get(key)
    is_more = isinstance(content, list) and len(cast("list[Any]", content)) > 1
    return {**message, key: content[:-1]} if is_more else None


def words_of(body: bytes) -> str:
    """Return all texts of a request, one after the other."""
    return "\n".join(_texts(parse(body)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in cast("dict[str, Any]", value).values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _texts(one)


# Items that only a provider can read


def sealed(record: str) -> dict[str, Any]:
    """Return a compaction item that holds a record; the same record gives the same item."""
    content = _MARK + urlsafe_b64encode(record.encode()).decode()
    name = blake2b(record.encode(), digest_size=12).hexdigest()
    return {"type": "compaction", "id": f"cmp_{name}", "encrypted_content": content}


def is_sealed(body: bytes) -> bool:
    """Return whether a request may hold an item of ours."""
    return _MARK.encode() in body and _SEALED.search(body) is not None


def opened(body: bytes, list_key: str) -> bytes:
    """Return a request with messages in the place of items of ours; every other byte stays."""
    raws = [bytes(raw) for raw in split_list(split_object(body)[list_key])]
    for raw in raws:
        record = _record_in(parse(raw)) if is_sealed(raw) else None
        if record is not None:
            text = {"type": "input_text", "text": summary_text(record, "")}
            body = body.replace(
                raw, dump_bytes({"type": "message", "role": "user", "content": [text]})
            )
    return body


def _record_in(item: Any) -> str | None:
    """Return the record that an item of ours holds, None if it is not one."""
    content = cast("dict[str, Any]", item).get("encrypted_content")
    if not isinstance(content, str) or not content.startswith(_MARK):
        return None
    try:
        return urlsafe_b64decode(content.removeprefix(_MARK)).decode()
    except ValueError:
        return None
