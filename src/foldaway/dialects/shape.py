"""What decoders do about payloads of the wrong shape: note a flaw, read on with a legal meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldaway.dialects.jsontext import dump_text, parse
from foldaway.errors import NotReadable
from foldaway.transcript import Flaw, Media, MediaKind, Message, Opaque, Payload, Role, Text

_ALIASES: dict[str, Role] = {
    "human": "user",
    "ai": "assistant",
    "bot": "assistant",
    "gpt": "assistant",
    "model": "assistant",
}
_ELSEWHERE = ("content", "parts", "text", "refusal", "value", "message")
"""Where some format has what a message says."""
_SHOWN_CHARS = 40


class Flaws:
    """Collects the flaws of one message; costs nothing while there are none."""

    __slots__ = ("_wire", "found")

    def __init__(self, wire: Mapping[str, Any] | None = None) -> None:
        """Start with none, of a message if that is what is read."""
        self.found: tuple[Flaw, ...] = ()
        self._wire = wire

    def add(self, rule: str, at: str, message: str, remedy: str, *, mendable: bool = True) -> None:
        """Note one."""
        self.found = (*self.found, Flaw(rule, at, message, remedy, mendable))

    def role(self, wire: Mapping[str, Any], known: Mapping[str, Role]) -> Role:
        """Note an unknown role and return what it most likely means, or `unknown`."""
        name = wire.get("role")
        alias = _ALIASES.get(name) if isinstance(name, str) else None
        what = f"role is {quote(name)}" if "role" in wire else "has no role"
        names = ", ".join(known)
        self.add(
            "role-known",
            "role",
            f"{what}; known: {names}" if alias else what,
            f"use {alias!r}" if alias else f"use one of {names}",
            mendable=alias is not None,
        )
        return alias or "unknown"

    def empty(self, at: str) -> None:
        """Note a message that holds nothing, or its words under a key of another format."""
        for key in _ELSEWHERE:
            if key != at and self._wire is not None and self._wire.get(key):
                what = f"holds content that belongs under {at!r} here"
                remedy = f"move it to {at!r}, or convert the list to this dialect"
                self.add("content-shape", key, what, remedy, mendable=False)
                return
        self.add("content-present", at, "holds no content", "remove it, or give it content")

    def wrong_type(self, at: str, value: Any, wanted: str, *, mendable: bool = True) -> None:
        """Note a field of the wrong JSON type."""
        self.add(
            "content-shape",
            at,
            f"is {kind_of(value)}, not {wanted}",
            f"make it {wanted}",
            mendable=mendable,
        )

    def block_type(self, kind: str, at: str, wanted: str) -> None:
        """Note a text block of another format."""
        self.add("content-shape", f"{at}.type", f"is {kind}, not {wanted}", f"use {wanted}")

    def text_instead_of(self, value: Any, at: str) -> Text:
        """Note content of a type that has no place there and return it as text."""
        wanted = "a content block" if at.endswith("]") else "a string or a list of blocks"
        self.wrong_type(at, value, wanted)
        return Text(value if isinstance(value, str) else dump_text(value), at)

    def missing_id(self, value: Any, at: str) -> str:
        """Note a missing or unusable id; the id that is returned pairs with nothing."""
        what = f"is {quote(value)}" if value is not None else "is missing"
        self.add("id-present", at, f"the id {what}", "use the id of the call")
        return value if isinstance(value, str) else ""

    def arguments(self, value: Any, at: str) -> str:
        """Note arguments that are not JSON text and return them as JSON text of an object."""
        what = "null" if value is None else kind_of(value)
        self.add(
            "arguments-object",
            at,
            f"is {what}, not the JSON text of an object",
            "write the arguments as a JSON string, '{}' where there are none",
        )
        return object_text(value)


def not_a_message(wire: Any, position: int) -> Message:
    """Return the message that stands for an element of the list that is none."""
    flaws = Flaws()
    flaws.add(
        "message-object",
        "",
        f"is {kind_of(wire)}, not a message object",
        "replace it by an object with a role, or remove it",
        mendable=False,
    )
    parts = (Opaque("element", "", wire),)
    return Message("unknown", parts, position, "", "real", wire, True, flaws.found)


def call_id(call: Mapping[str, Any], key: str, at: str, flaws: Flaws, fallback: str | int) -> str:
    """Return the id of a call; a missing one is noted and made from its place."""
    found = call.get(key)
    if type(found) is str and found:
        return found
    flaws.missing_id(found, f"{at}.{key}" if at else key)
    return f"call_{fallback}"


def read_call_id(result: Mapping[str, Any], key: str, at: str, flaws: Flaws) -> str:
    """Return the id of the call that a result answers; a missing one is noted, and is ""."""
    found = result.get(key)
    if type(found) is str and found:
        return found
    return flaws.missing_id(found, f"{at}.{key}" if at else key)


def call_name(call: Mapping[str, Any], at: str, flaws: Flaws) -> str:
    """Return the name of the tool that is called; a missing one is noted."""
    found = call.get("name")
    if type(found) is str and found:
        return found
    place = f"{at}.name" if at else "name"
    flaws.add("name-legal", place, "the call names no tool", "name the tool that was called")
    return "unknown_tool"


def text_of(block: Mapping[str, Any], key: str, at: str, flaws: Flaws) -> str:
    """Return the text of a block; text of the wrong type is noted."""
    found = block.get(key)
    if type(found) is str:
        return found
    flaws.wrong_type(f"{at}.{key}", found, "a string")
    return "" if found is None else dump_text(found)


def object_text(value: Any) -> str:
    """Return `value` as the JSON text of an object; what is no object goes under `value`."""
    if value is None:
        return "{}"
    return dump_text(value if isinstance(value, dict) else {"value": value})


def kind_of(value: Any) -> str:
    """Return the JSON type of a value, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def quote(value: Any) -> str:
    """Return a value quoted for an error text, cut if it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def arguments_text(value: Any, at: str, flaws: Flaws) -> str:
    """Return an argument object as compact JSON; what is no object is noted and put into one."""
    if type(value) is dict:
        return dump_text(value)
    flaws.add(
        "arguments-object",
        at,
        f"is {kind_of(value)}, not an object",
        "make it an object, {} where there are no arguments",
    )
    return object_text(value)


def arguments_value(text: str, had: Any = None) -> dict[str, Any]:
    """Return the object in `text`, or `had` itself if both are equal.

    Text that is not JSON object goes under `value`, as it does when it is read.
    """
    if type(had) is dict and dump_text(had) == text:  # pyright: ignore[reportUnknownArgumentType]
        return had  # pyright: ignore[reportUnknownVariableType]
    if not text.strip():
        return {}
    try:
        value = parse(text.encode("utf-8", "surrogatepass"))
    except (NotReadable, UnicodeError):
        return {"value": text}
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"value": value}  # pyright: ignore[reportUnknownVariableType]


def read_media(kind: MediaKind, target: Any, at: str, wire: Payload, base64: Any = None) -> Media:
    """Return a medium from its URL or data URL, or from `base64` if that is the target.

    A file id has neither: its payload alone says what it is.
    """
    if type(target) is not str:
        return Media(kind, at=at, wire=wire)
    if target.startswith("data:"):
        head, _, data = target.partition(",")
        return Media(kind, head[5:].split(";")[0], data, at=at, wire=wire)
    if target == base64:
        return Media(kind, data=target, at=at, wire=wire)
    return Media(kind, url=target, at=at, wire=wire)


def data_url(part: Media) -> str:
    """Return where a medium is: its URL, or the medium itself as a data URL."""
    if part.url or not part.media_type:
        return part.url or part.data
    return f"data:{part.media_type};base64,{part.data}"
