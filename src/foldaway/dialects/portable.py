"""What of a conversation another dialect can carry: bare messages, and what was left behind."""

# Wire values are `Any`, and so is whatever is taken out of one.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import read_table
from foldaway.dialects.jsontext import dump_text, is_object_text
from foldaway.dialects.loss import Losses
from foldaway.dialects.shape import arguments_value
from foldaway.transcript import (
    Media,
    MediaKind,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    bare,
)


class Holds(Struct, frozen=True, kw_only=True):
    """What a dialect has a form for, of parts that come from another one."""

    thinking: bool = False
    """Unsigned reasoning; a signed one means nothing to another provider."""
    errors: bool = False
    """That a result is an error."""
    media: frozenset[MediaKind] = frozenset()
    linked_media: frozenset[MediaKind] = frozenset()
    """Kinds that may be given by URL."""
    result_media: frozenset[MediaKind] = frozenset()
    custom: bool = False
    """Calls with free text instead of a JSON object."""
    developer: bool = False
    object_arguments: bool = False
    """Arguments are an object on the wire, so that any other text must become one."""
    one_text: bool = False
    """Neighbouring texts become one."""


class _Carried(Struct, frozen=True):
    """The tables of `carried.toml`."""

    holds: dict[str, Holds]
    messages: dict[str, str]
    parts: dict[str, dict[str, dict[str, str]]]


_TABLES = read_table("carried", _Carried, "foldaway.dialects")
HOLDS = _TABLES.holds


def carry(messages: Sequence[Message], source: str, to: str, losses: Losses) -> list[Message]:
    """Return the messages, bare, with what `to` can hold of them; everything else is noted.

    The order of what is kept stays, but for media in results that must move to a message of their
    own. Messages of which nothing is left are left out.
    """
    carrier = _Carrier(source, to, losses)
    for message in messages:
        carrier.take(message)
    carrier.flush_media()
    return carrier.out


class _Carrier:
    """Carries one conversation; media taken out of results wait for the end of their run."""

    __slots__ = ("_holds", "_losses", "_moved", "_source", "_to", "out")

    def __init__(self, source: str, to: str, losses: Losses) -> None:
        self._holds = HOLDS[to]
        self._source = source
        self._to = to
        self._losses = losses
        self._moved: list[tuple[int, Media]] = []
        self.out: list[Message] = []

    def take(self, message: Message) -> None:
        """Carry one message."""
        index = message.position
        if not all(isinstance(part, ToolResult) for part in message.parts):
            self.flush_media()
        for flaw in message.flaws:
            self._lose(index, flaw.at, f"{flaw.message}; read as well as it can be")
        for at in list_unread_in_message(message, self._source):
            self._lose(index, at, f"the field {at!r} has no counterpart in {self._to}")
        parts: list[Part] = []
        for part in message.parts:
            kept = self._part(part, index)
            if kept is not None:
                parts.append(kept)
        if not parts:
            return
        for role, run in self._runs(message, parts):
            self.out.append(Message(role, run, index, message.id, message.origin))

    def flush_media(self) -> None:
        """Put the media that were taken out of results into a user message."""
        if self._moved:
            parts = tuple(part for _, part in self._moved)
            self.out.append(Message("user", parts, self._moved[0][0]))
            self._moved = []

    def _lose(self, index: int, at: str, what: str) -> None:
        self._losses.add(index, at, what)

    def _runs(self, message: Message, parts: list[Part]) -> list[tuple[Role, tuple[Part, ...]]]:
        """Return the parts under the roles that may hold them."""
        role = self._role(message)
        runs: list[tuple[Role, list[Part]]] = []
        for part in parts:
            own = _role_of(part, role)
            if own != role and not (isinstance(part, ToolResult) and role == "user"):
                kind = type(part).__name__
                self._lose(
                    message.position,
                    part.at,
                    f"a {kind} in a message of role {role!r} goes into one of role {own!r}",
                )
            else:
                own = role
            if runs and runs[-1][0] == own:
                runs[-1][1].append(part)
            else:
                runs.append((own, [part]))
        return [(own, tuple(self._join_runs(run, message.position))) for own, run in runs]

    def _role(self, message: Message) -> Role:
        role = message.role
        if role == "developer" and not self._holds.developer:
            self._lose(message.position, "role", f"{self._to} has no developer role: made system")
            return "system"
        if role == "unknown":
            self._lose(message.position, "", "the role is unknown: made user")
            return "user"
        return role

    def _join_runs(self, parts: list[Part], index: int) -> list[Part]:
        if not self._holds.one_text:
            return parts
        found: list[Part] = []
        for part in parts:
            last = found[-1] if found else None
            if isinstance(part, Text) and isinstance(last, Text):
                self._lose(index, "", "neighbouring texts become one")
                found[-1] = Text(f"{last.text}\n{part.text}")
            else:
                found.append(part)
        return found

    def _part(self, part: Part, index: int) -> Part | None:
        kept = self._convert_part(part, index)
        if kept is not None and not (isinstance(part, ToolCall) and part.kind == "hosted"):
            for at in list_unread_in_part(part, self._source):
                self._lose(index, at, f"the field {at!r} has no counterpart in {self._to}")
        return kept

    def _convert_part(self, part: Part, index: int) -> Part | None:
        match part:
            case Text():
                return Text(part.text) if part.text else None
            case Media():
                return self._media(part, index, self._holds.media)
            case Thinking():
                return self._thinking(part, index)
            case ToolCall():
                return self._call(part, index)
            case ToolResult():
                return self._result(part, index)
            case Opaque():
                what = f"a part of kind {part.kind!r} has no counterpart in {self._to}"
                self._lose(index, part.at, what)
                return None

    def _media(self, part: Media, index: int, held: frozenset[MediaKind]) -> Part | None:
        what = ""
        if not part.data and not part.url:
            what = "is a file that only its provider holds"
        elif part.kind not in held:
            what = f"has no place there in {self._to}"
        elif part.url and part.kind not in self._holds.linked_media:
            what = f"is given by URL, which {self._to} does not take"
        if what:
            self._lose(index, part.at, f"the {part.kind} {what}")
            return None
        return bare(part)

    def _thinking(self, part: Thinking, index: int) -> Part | None:
        if part.signature or part.redacted:
            self._lose(index, part.at, "signed or encrypted reasoning is bound to its provider")
            return None
        if not part.text:
            return None
        if not self._holds.thinking:
            self._lose(index, part.at, f"{self._to} takes no reasoning from elsewhere")
            return None
        return Thinking(part.text)

    def _call(self, part: ToolCall, index: int) -> Part | None:
        if part.kind == "server":
            self._lose(index, part.at, f"the call of {part.name!r} was run by the provider itself")
            return None
        if part.signature:
            self._lose(index, part.at, "the signature of the call is bound to its provider")
        call = ToolCall(part.id, part.name, part.arguments, part.kind)
        if part.kind == "hosted" or (part.kind == "custom" and not self._holds.custom):
            self._lose(index, part.at, f"the {part.kind} call becomes a function call")
            call = replace(call, kind="function")
            if not is_object_text(part.arguments):
                return replace(call, arguments=dump_text({"input": part.arguments}))
        elif self._holds.object_arguments and not is_object_text(part.arguments):
            self._lose(index, part.at, "the arguments are no JSON object: put into one")
            return replace(call, arguments=dump_text(arguments_value(part.arguments)))
        return call

    def _result(self, part: ToolResult, index: int) -> Part | None:
        if part.kind == "server":
            self._lose(index, part.at, f"the result for {part.call_id!r} is the provider's own")
            return None
        kind = part.kind
        if kind == "hosted" or (kind == "custom" and not self._holds.custom):
            self._lose(index, part.at, f"the result of a {kind} call becomes a function's")
            kind = "function"
        if part.is_error and not self._holds.errors:
            self._lose(index, part.at, f"{self._to} cannot say that a result is an error")
        inner = [
            kept for piece in part.parts if (kept := self._convert_inner(piece, index)) is not None
        ]
        inner = self._join_runs(inner, index)
        failed = part.is_error and self._holds.errors
        return ToolResult(part.call_id, tuple(inner), failed, part.name, kind)

    def _convert_inner(self, piece: Part, index: int) -> Part | None:
        """Return what a result may hold of one of its parts; media may have to move out."""
        if not isinstance(piece, Media) or piece.kind in self._holds.result_media:
            return self._part(piece, index)
        kept = self._media(piece, index, self._holds.media)
        if isinstance(kept, Media):
            self._lose(index, piece.at, f"the {kept.kind} moves from a result to a user message")
            self._moved.append((index, kept))
        return None


def _role_of(part: Part, role: Role) -> Role:
    if isinstance(part, ToolCall | Thinking):
        return "assistant"
    if isinstance(part, ToolResult):
        return "tool"
    return "user" if role == "tool" else role


Shape: TypeAlias = Mapping[str, "Shape | None"]
"""Field names; under each the shape of the object there, None for anything."""


def list_unread_in_message(message: Message, dialect: str) -> Iterator[str]:
    """Yield the paths of the fields of a message that the model does not read."""
    wire = message.wire
    if type(wire) is not dict or any(part.wire is wire for part in message.parts):
        return
    shape = _MESSAGES[dialect]
    if dialect == "openai-chat" and message.role == "tool":
        shape = {**shape, "name": None}
    yield from _list_unread(wire, shape, "")


def list_unread_in_part(part: Part, dialect: str) -> Iterator[str]:
    """Yield the paths, inside its message, of the fields of a part that the model does not read.

    Of a part that is carried over only in part or not at all nothing is listed here.
    """
    shape = _PARTS[dialect].get(type(part))
    if shape is not None and type(part.wire) is dict:
        yield from _list_unread(part.wire, shape, part.at)


def _list_unread(wire: Mapping[str, Any], shape: Shape, at: str) -> Iterator[str]:
    for key, value in wire.items():
        place = f"{at}.{key}" if at else key
        if key not in shape:
            if not _is_empty_field(key, value):
                yield place
            continue
        inner = shape[key]
        if inner is not None and type(value) is dict:
            yield from _list_unread(value, inner, place)


def _is_empty_field(key: str, value: Any) -> bool:
    if value is None or value is False or value in ("", [], {}):
        return True
    return (key, value) in (("status", "completed"), ("detail", "auto"))


def _shape(own: str = "", **nested: str) -> Shape:
    inner = {name: dict.fromkeys(fields.split()) for name, fields in nested.items()}
    return {**dict.fromkeys(own.split()), **inner}


_MESSAGES = {dialect: _shape(fields) for dialect, fields in _TABLES.messages.items()}
_PARTS: Mapping[str, Mapping[type, Shape]] = {
    dialect: {
        kind: _shape(**rows[kind.__name__]) for kind in get_args(Part) if kind.__name__ in rows
    }
    for dialect, rows in _TABLES.parts.items()
}
