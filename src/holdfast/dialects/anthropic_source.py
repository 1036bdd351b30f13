"""The `source` of Anthropic's image and document blocks."""

# Wire values are `Any`, and so is whatever is taken out of one.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import base64
from typing import Any

from holdfast.dialects.dialect import merge_fields
from holdfast.dialects.shape import Flaws
from holdfast.errors import CannotEncode
from holdfast.transcript import Media

_DATA_KEYS = frozenset({"url", "data", "media_type"})


def decode_media(kind: Any, block: Any, at: str, flaws: Flaws) -> Media:
    """Return an image or document; one by file id or made of blocks has its wire alone."""
    source = block.get("source")
    if type(source) is not dict:
        flaws.wrong_type(f"{at}.source", source, "an object", mendable=False)
        return Media(kind, at=at, wire=block)
    media_type = source.get("media_type")
    media_type = media_type if type(media_type) is str else ""
    match source:
        case {"type": "base64", "data": str(data)}:
            return Media(kind, media_type, data, "", at, block)
        case {"type": "text", "data": str(text)}:
            data = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
            return Media(kind, media_type or "text/plain", data, "", at, block)
        case {"type": "url", "url": str(url)}:
            return Media(kind, media_type, "", url, at, block)
        case {"type": "base64" | "text" | "url"}:
            flaws.wrong_type(f"{at}.source", source, "a source with its data", mendable=False)
            return Media(kind, media_type, at=at, wire=block)
        case _:
            return Media(kind, media_type, at=at, wire=block)


def encode_media(part: Media, position: int) -> Any:
    """Return the block of an image or document, or raise `CannotEncode`."""
    if part.wire is None and part.kind not in ("image", "document"):
        raise CannotEncode("anthropic", f"{part.kind} content", position=position)
    had = part.wire.get("source") if part.wire is not None else None
    source = _source(part, position)
    if source is None and had is None:
        raise CannotEncode("anthropic", "media without data or address", position=position)
    if source is None:
        source = had
    elif isinstance(had, dict) and had.get("type") == source["type"]:
        source = merge_fields(had, _DATA_KEYS, source)
    return merge_fields(part.wire, frozenset(), {"type": part.kind, "source": source})


def _source(part: Media, position: int) -> dict[str, Any] | None:
    if part.url:
        return {"type": "url", "url": part.url}
    if part.data and part.kind == "document" and part.media_type.startswith("text/"):
        text = _plain_text(part.data, position)
        return {"type": "text", "media_type": "text/plain", "data": text}
    if part.data:
        usual = "image/png" if part.kind == "image" else "application/pdf"
        return {"type": "base64", "media_type": part.media_type or usual, "data": part.data}
    return None


def _plain_text(data: str, position: int) -> str:
    try:
        return base64.b64decode(data, validate=True).decode("utf-8", "surrogatepass")
    except ValueError:
        raise CannotEncode(
            "anthropic", "a text document that is not UTF-8", position=position
        ) from None
