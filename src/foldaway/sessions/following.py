"""What hosts hand over, a message, a list or a request, and what to send in its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from msgspec import Raw, Struct, ValidationError
from msgspec.structs import replace

from foldaway._core import Report
from foldaway.caching import KEY, move_marks
from foldaway.dialects import (
    detect,
    dialect_named,
    dump_bytes,
    gaps,
    kind_of,
    load_parsed,
    not_a_message,
    parse,
    plain,
    sole_list_key,
    split_list,
    split_object,
)
from foldaway.errors import NotReadable
from foldaway.transcript import Payload

_MARK = re.compile(f'"{KEY}"'.encode())
_NEEDLE = 64
"""Bytes by which a field is looked for: to prepare a search for 4 MB takes longer than all else."""


def messages_of(given: Any) -> list[Any]:
    """Return the messages in one value; raise `NotReadable` for what is none.

    A whole response of a provider holds the messages that it answered with.
    """
    value = parse(given) if isinstance(given, bytes) else plain(given)
    if not isinstance(value, dict):
        raise not_a_message(given)
    body = cast("dict[str, Any]", value)
    for answered in _RESPONSES:
        found = answered(body)
        if found is not None:
            return found
    return [body]


def _of_chat(body: dict[str, Any]) -> list[Any] | None:
    return None if "role" in body else _first_of(body.get("choices"), "message")


def _first_of(listed: Any, field: str) -> list[Any] | None:
    """Return what the first of a provider's answers holds, None if there is none."""
    answers = cast("list[Any]", listed) if isinstance(listed, list) else []
    if not answers or not isinstance(answers[0], dict):
        return None
    found = cast("dict[str, Any]", answers[0]).get(field)
    return [found] if isinstance(found, dict) else None


def _of_responses(body: dict[str, Any]) -> list[Any] | None:
    output = body.get("output")
    is_response = body.get("object") == "response" and isinstance(output, list)
    return list(cast("list[Any]", output)) if is_response else None


def _of_anthropic(body: dict[str, Any]) -> list[Any] | None:
    if body.get("type") != "message" or "usage" not in body or "role" not in body:
        return None
    return [{"role": body["role"], "content": body.get("content")}]


def _of_gemini(body: dict[str, Any]) -> list[Any] | None:
    return _first_of(body.get("candidates"), "content")


_RESPONSES = (_of_chat, _of_responses, _of_anthropic, _of_gemini)


_ROLES = frozenset(("system", "developer", "user", "assistant", "tool", "function", "model"))
"""Of all wire formats, in any spelling: what a provider refuses is still the host's to send."""


def refuse_others(payloads: Sequence[Any], dialect: str) -> None:
    """Raise `NotReadable` for a payload that no message of a wire format can be."""
    decode = dialect_named(dialect).decode
    for payload in payloads:
        (message,) = decode([payload], 0)
        role = payload.get("role")
        if isinstance(role, str) and role.strip().lower() not in _ROLES:
            remedy = "write system, developer, user, assistant, tool or model"
            raise NotReadable(f"is no message: no provider knows the role {role!r}", remedy=remedy)
        is_known = message.role != "unknown" or "type" in payload or isinstance(role, str)
        if not is_known or isinstance(payload.get("content"), (int, float)):
            raise not_a_message(payload)
        for flaw in message.flaws:
            if flaw.rule == "content-shape" and not (flaw.mendable or message.parts):
                raise NotReadable(f"{flaw.at!r} {flaw.message}", remedy=flaw.remedy)


def find_dialect(messages: Sequence[Any], frame: Payload | None = None) -> str:
    """Return the wire format that messages show by marks of their own, "" if they could be any."""
    found = detect(messages, frame)
    return found.name if found.likeness(messages, frame or {}) > 1 else ""


Course: TypeAlias = Literal[
    "new", "continues", "same", "rewind", "volatile", "compression", "branch", "delegation"
]
"""What a list is beside the one before: the first; longer; the same; its beginning; longer with
another end, as hosts send that rewrite their newest messages; compacted by the host itself; gone
another way; or of an agent of its own under the same key."""


class Keep(Struct, frozen=True, gc=False, tag="keep"):
    """The host's messages from `start` up to `stop`, as they are."""

    start: int
    stop: int


class Replace(Struct, frozen=True, gc=False, tag="replace"):
    """The payload in the place of one of the host's messages."""

    index: int
    payload: Any


class Insert(Struct, frozen=True, gc=False, tag="insert"):
    """A payload that stands for messages of the host that are no longer sent."""

    payload: Any


Edit: TypeAlias = Keep | Replace | Insert
"""One step from the host's list to what is sent; messages that no step names are left out."""


class Followed(Struct, frozen=True, kw_only=True):
    """What to send for a host's list."""

    given: Sequence[Any]
    """The host's list."""
    edits: tuple[Edit, ...]
    body: Any = None
    """The request with these messages, if one was given: a mapping, or bytes whose messages that
    stayed are the same bytes. The very object that was given if nothing changed."""
    report: Report
    course: Course
    session_id: str
    settings: Payload = {}
    """Fields that the request must have beside its messages; `body` has them."""
    headers: Mapping[str, str] = {}
    """Headers that the request must be sent with, beside those of the host."""
    is_changed: bool = False
    """Whether anything else is sent than what was given."""
    error: str = ""
    """Why the list went through as it came, if the session failed and the host asked for that."""

    @property
    def messages(self) -> list[Any]:
        """What to send; messages that stayed are the host's own objects."""
        return apply_edits(self.edits, self.given)


def keep_all(messages: Sequence[Any]) -> tuple[Edit, ...]:
    """Return the edits that change nothing."""
    return (Keep(0, len(messages)),) if messages else ()


class HostList(Struct, frozen=True):
    """A host's list, and the request that it stands in."""

    own: Sequence[Any]
    """The messages as the host has them, perhaps as objects of its client."""
    items: Sequence[Any]
    """The same in plain dicts and lists."""
    raws: Sequence[Raw]
    """Each as JSON. Those of a request are slices of it, so that nothing is copied."""
    source: bytes | Payload | None = None
    """The request, if there is one."""
    key: str = ""
    """The field of the request that holds the list."""
    frame: Payload | None = None
    """The request without its list."""
    dialect: str = ""
    """What wire format the request shows, "" if only a list was given."""
    held: Raw | None = None
    """The list as it is in a request of bytes: a slice of it, not a copy."""

    def __post_init__(self) -> None:
        """Refuse anything but messages."""
        for at, raw in enumerate(self.raws):
            if bytes(memoryview(raw)[:1]) != b"{":
                raise not_a_message(self.items[at], f"$[{at}]")

    def payload(self, at: int) -> Any:
        """Return a message to be looked at once: it is not kept in memory for that."""
        known = self.items.parsed.get(at) if isinstance(self.items, _Lazy) else None
        return parse(self.raws[at]) if known is None else known


def read_given(messages: Any, request: Any, dialect: str) -> HostList:
    """Return what a host hands over; raises `NotReadable` for anything else.

    `dialect` is the one of the session, "" as long as it has none.
    """
    if request is None:
        if messages is None:
            raise NotReadable("nothing was given", remedy="give a list of messages, or a request")
        return _plain_list(messages)
    if isinstance(request, bytes):
        found = _request_bytes(request, dialect)
    elif isinstance(request, Mapping):
        found = _request_object(cast("Mapping[str, Any]", request), dialect)
    else:
        raise _no_request(request)
    if messages is None:
        return found
    listed = _plain_list(messages)
    return replace(found, own=listed.own, items=listed.items, raws=listed.raws, source=None)


def _no_request(value: Any) -> NotReadable:
    return NotReadable(
        f"the request is {kind_of(value)}", remedy="give its body as bytes or as a mapping"
    )


def _plain_list(messages: Any) -> HostList:
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
        raise NotReadable(
            f"is {kind_of(messages)}, not a message list",
            where="$",
            remedy="give a list of messages, or the request as request=…",
        )
    own = cast("Sequence[Any]", messages)
    items = [plain(item) for item in own]
    return HostList(own, items, [Raw(dump_bytes(item)) for item in items])


def _request_object(body: Mapping[str, Any], dialect: str) -> HostList:
    key = sole_list_key(body, dialect)
    frame = {name: value for name, value in body.items() if name != key}
    held = body[key]
    if isinstance(held, str):  # Responses: the whole input as one text
        held = [{"role": "user", "content": held}]
    spoken = dialect or load_parsed(plain(dict(body))).dialect
    return replace(
        _plain_list(held), source=cast("Payload", body), key=key, frame=frame, dialect=spoken
    )


def _request_bytes(source: bytes, dialect: str) -> HostList:
    try:
        fields = split_object(source)
    except ValidationError:
        raise _no_request(parse(source)) from None
    key = sole_list_key({name: _kind(raw) for name, raw in fields.items()}, dialect)
    held = fields[key]
    if _kind(held) == "":
        held = Raw(dump_bytes([{"role": "user", "content": parse(held)}]))
    raws = split_list(held)
    frame: Payload = {name: parse(raw) for name, raw in fields.items() if name != key}
    items = _Lazy(raws)
    spoken = dialect or load_parsed({**frame, key: list(items)}).dialect
    return HostList(items, items, raws, source, key, frame, spoken, fields[key])


class _Lazy(Sequence[Any]):
    """Messages that are parsed when they are looked at: most of a request is known already."""

    def __init__(self, raws: Sequence[Raw]) -> None:
        self._raws, self.parsed = raws, cast("dict[int, Any]", {})

    def __len__(self) -> int:
        return len(self._raws)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[at] for at in range(len(self._raws))[index]]
        at = range(len(self._raws))[cast("int", index)]
        if at not in self.parsed:
            self.parsed[at] = parse(self._raws[at])
        return self.parsed[at]


def _kind(raw: Raw) -> Any:
    """Return enough of a field to tell whether it is a list or a text."""
    first = bytes(memoryview(raw)[:1])
    return list[Any]() if first == b"[" else "" if first == b'"' else None


# What is sent


def join_edits(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return edits with neighboring ranges as one."""
    found: list[Edit] = []
    for edit in edits:
        last = found[-1] if found else None
        if isinstance(edit, Keep) and isinstance(last, Keep) and last.stop == edit.start:
            found[-1] = Keep(last.start, edit.stop)
        else:
            found.append(edit)
    return tuple(found)


def apply_edits(edits: Iterable[Edit], items: Sequence[Any]) -> list[Any]:
    """Return what a host sends after these edits."""
    found: list[Any] = []
    for edit in edits:
        if isinstance(edit, Keep):
            found.extend(items[edit.start : edit.stop])
        else:
            found.append(edit.payload)
    return found


def find_marked(given: HostList, places: Iterable[int]) -> tuple[int, ...]:
    """Return which of a host's messages have a cache mark."""
    return tuple(at for at in places if _MARK.search(given.raws[at]))


def add_marks(
    edits: Sequence[Edit], given: HostList, marked: Sequence[int] | None = None
) -> tuple[Edit, ...]:
    """Return edits whose payloads have the cache marks that the host's own messages have now.

    A message was kept with the marks of the request that it first came in; hosts move them on. The
    mark of a message that is no longer sent goes to what stands for it. `marked` are those of these
    messages that have a mark, if the caller knows them.
    """
    if all(isinstance(edit, Keep) for edit in edits):
        return tuple(edits)
    if marked is None:
        kept = (range(edit.start, edit.stop) for edit in edits if isinstance(edit, Keep))
        sent = {at for places in kept for at in places}
        marked = find_marked(given, (at for at in range(len(given.raws)) if at not in sent))
    changed = [edit for edit in edits if not isinstance(edit, Keep)]
    places = [edit.index if isinstance(edit, Replace) else None for edit in changed]
    pairs = [(at, edit.payload) for at, edit in zip(places, changed, strict=True)]
    payloads = iter(move_marks(pairs, {at: given.items[at] for at in marked}))
    found: list[Edit] = []
    for edit in edits:
        if isinstance(edit, Replace):
            edit = Replace(edit.index, next(payloads))
        elif isinstance(edit, Insert):
            edit = Insert(next(payloads))
        found.append(edit)
    return tuple(found)


def body_with(given: HostList, edits: Sequence[Edit], settings: Payload) -> Any:
    """Return the request with other messages and settings; what was given, if nothing changed."""
    source, is_same = given.source, tuple(edits) == keep_all(given.items)
    if source is None or (is_same and not settings):
        return source
    if not isinstance(source, bytes):
        held = {} if is_same else {given.key: apply_edits(edits, given.own)}
        return {**source, **held, **settings}
    made = source if is_same else _with_list(given, source, edits)
    for name, value in settings.items():
        made = with_field(made, name, dump_bytes(value))
    return made


def _with_list(given: HostList, source: bytes, edits: Sequence[Edit]) -> bytes:
    pieces: list[bytes | Raw] = []
    for edit in edits:
        if isinstance(edit, Keep):
            pieces.extend(given.raws[edit.start : edit.stop])
        else:
            pieces.append(dump_bytes(edit.payload))
    return with_elements(source, given.key, pieces, given.raws, given.held)


def with_elements(
    source: bytes,
    key: str,
    new: Sequence[bytes | Raw],
    known: Sequence[Raw] | None = None,
    slice_: Raw | None = None,
) -> bytes:
    """Return a request one of whose fields is another list; every other byte stays.

    `slice_` is the list that the field has now and `known` its elements, if the caller has them.
    """
    held = slice_ or split_object(source)[key]
    known = (known or split_list(held)) if _kind(held) == [] else ()

    def written(start: int) -> bytes:
        around = gaps(source, known, start, start + len(held))
        before, between, after = around or (b"[", b",", b"]")
        return before + between.join(new) + after

    return _splice(source, held, written, key)


def with_field(source: bytes, name: str, value: bytes) -> bytes:
    """Return a request with another value of a field; every other byte stays."""
    held = split_object(source).get(name)
    if held is not None:
        return _splice(source, held, lambda _: value, name)
    before, brace, after = source.rpartition(b"}")
    return before + b',"' + name.encode() + b'":' + value + brace + after


def _splice(source: bytes, held: Raw, new_at: Callable[[int], bytes], key: str) -> bytes:
    """Return a request one of whose fields is another; every other byte stays."""
    needle, whole = bytes(memoryview(held)[:_NEEDLE]), memoryview(source)
    start = source.find(needle)
    while start >= 0:
        if source.startswith(held, start) and source[:start].rstrip().endswith(b":"):
            new = new_at(start)
            made = b"".join((whole[:start], new, whole[start + len(held) :]))
            if new == bytes(split_object(made)[key]):
                return made
        start = source.find(needle, start + 1)
    raise NotReadable(f"the field {key!r} was not found again in its request")
