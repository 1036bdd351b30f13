"""The content of Responses items: text, or blocks such as `input_text` and `input_image`."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.dialects.dialect import Places, merge_fields
from holdfast.dialects.shape import Flaws, text_of
from holdfast.errors import CannotEncode
from holdfast.transcript import Media, MediaKind, Opaque, Part, Payload, Role, Text

_CONTENT = Places("content")
_OUTPUT = Places("output")
_TEXTS = frozenset({"input_text", "output_text", "text"})
_NONE: frozenset[str] = frozenset()


def decode_content(content: Any, at: str, flaws: Flaws) -> tuple[Part, ...]:
    """Return the parts of content that is not a string; `at` is `content` or `output`."""
    if content is None:
        return ()
    if type(content) is not list:
        return (flaws.text_instead_of(content, at),)
    place = _CONTENT if at == "content" else _OUTPUT
    blocks: list[Any] = content
    return tuple([_block(block, place[index], flaws) for index, block in enumerate(blocks)])


def _block(block: Any, at: str, flaws: Flaws) -> Part:
    if type(block) is not dict:
        return flaws.text_instead_of(block, at)
    wire: Payload = block
    kind = wire.get("type")
    if type(kind) is not str:
        return Opaque("block", at, wire)
    if kind in _TEXTS:
        text = wire.get("text")
        return Text(text if type(text) is str else text_of(wire, "text", at, flaws), at, wire)
    if kind == "input_image":
        return media("image", wire.get("image_url"), at, wire)
    if kind == "input_file":
        return media("document", wire.get("file_data") or wire.get("file_url"), at, wire)
    return Opaque(kind, at, wire)


def media(kind: MediaKind, target: Any, at: str, wire: Payload) -> Media:
    """Return a medium from its URL, data URL or base64; by neither where it is a file id."""
    if type(target) is not str:
        return Media(kind, at=at, wire=wire)
    if target.startswith("data:"):
        head, _, data = target.partition(",")
        return Media(kind, head[5:].split(";")[0], data, at=at, wire=wire)
    if target == wire.get("file_data"):
        return Media(kind, data=target, at=at, wire=wire)
    return Media(kind, url=target, at=at, wire=wire)


def encode_content(parts: Sequence[Part], role: Role, had: Any) -> Any:
    """Return parts as content: a string where one text came as one, otherwise blocks.

    Where there are none it is what it `had`, if that was empty, and None otherwise.
    """
    if not parts:
        return had if had in ("", []) else None
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].wire is None:
        return parts[0].text
    kind = "output_text" if role == "assistant" else "input_text"
    return [_encode_block(part, kind) for part in parts]


def _encode_block(part: Part, text_kind: str) -> Any:
    if part.wire is not None and part.intact:
        return part.wire
    match part:
        case Text(text=text):
            kind = text_kind if part.wire is None else part.wire.get("type", text_kind)
            return merge_fields(part.wire, _NONE, {"type": kind, "text": text})
        case Media(kind="image"):
            fields = {"type": "input_image", "image_url": data_url(part)}
            return merge_fields(part.wire, frozenset({"file_id"}), fields)
        case Media(kind="document"):
            key = "file_url" if part.url else "file_data"
            fields = {"type": "input_file", key: data_url(part)}
            return merge_fields(part.wire, frozenset({"file_id", "file_url", "file_data"}), fields)
        case _:
            raise CannotEncode("openai-responses", f"a {_described(part)} in content")


def data_url(part: Media) -> str:
    """Return where a medium is: its URL, or the medium itself as a data URL."""
    if part.url or not part.media_type:
        return part.url or part.data
    return f"data:{part.media_type};base64,{part.data}"


def _described(part: Part) -> str:
    return f"{part.kind} part" if isinstance(part, (Media, Opaque)) else type(part).__name__
