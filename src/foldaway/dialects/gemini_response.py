"""What Gemini parts carry: a function's response, and data inline or by address."""

# Wire values are `Any`, and so is whatever is taken out of one.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

from foldaway.dialects.dialect import merge_fields
from foldaway.dialects.jsontext import dump_text, is_object_text, parse
from foldaway.dialects.shape import Flaws
from foldaway.errors import CannotEncode
from foldaway.transcript import Media, MediaKind, Opaque, Part, Payload, Text, ToolResult

_SINGLE = ("output", "result", "content", "error")
_KINDS: dict[str, MediaKind] = {"image": "image", "audio": "audio", "video": "video"}
_DATA_KEYS = ("inlineData", "inline_data", "fileData", "file_data")
_USUAL: dict[MediaKind, str] = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "document": "application/pdf",
}


def decode_response(answer: Payload, at: str, flaws: Flaws) -> tuple[tuple[Part, ...], bool]:
    """Return what a function answered, and whether it failed.

    The words under the one key of a response, otherwise the JSON of the whole of it; then media.
    A response with nothing but an `error` has failed.
    """
    response = answer.get("response")
    parts: list[Part] = []
    if type(response) is not dict:
        flaws.wrong_type(f"{at}.response", response, "an object")
        if response is not None:
            text = response if type(response) is str else dump_text(response)
            parts.append(Text(text, f"{at}.response"))
        response = {}
    key = _single_key(response)
    if key:
        if response[key]:
            parts.append(Text(response[key], f"{at}.response.{key}"))
    elif response:
        parts.append(Text(dump_text(response), f"{at}.response"))
    if "parts" in answer:
        _media(answer["parts"], f"{at}.parts", parts, flaws)
    return tuple(parts), len(response) == 1 and "error" in response


def _single_key(response: Payload) -> str:
    """Return the key of a response that is one string under a usual key, "" otherwise."""
    if len(response) == 1:
        for key, value in response.items():
            if key in _SINGLE and type(value) is str:
                return key
    return ""


def _media(given: Any, at: str, parts: list[Part], flaws: Flaws) -> None:
    if type(given) is not list:
        if given is not None:
            flaws.wrong_type(at, given, "a list")
        return
    for index, wire in enumerate(given):
        place = f"{at}[{index}]"
        key = next((key for key in _DATA_KEYS if type(wire) is dict and key in wire), "")
        if key:
            parts.append(decode_data(wire, key, place, flaws))
        elif type(wire) is dict:
            parts.append(Opaque("part", place, wire))
        else:
            flaws.wrong_type(place, wire, "an object")


def encode_response(part: ToolResult, old: Payload, position: int) -> dict[str, Any]:
    """Return the `response`, and if there are media the `parts`, of a function response.

    Several texts become one, a line break between them. The key that the words had is kept; new
    ones go under `output`, and under `error` where the call failed.
    """
    words = [inner.text for inner in part.parts if isinstance(inner, Text)]
    others = [inner for inner in part.parts if not isinstance(inner, Text)]
    fields: dict[str, Any] = {"response": _response("\n".join(words), part.is_error, old)}
    if others or old.get("parts") == []:
        fields["parts"] = [_encode_inner(inner, position) for inner in others]
    return fields


def _response(text: str, failed: bool, old: Payload) -> Any:
    had = old.get("response")
    had = had if isinstance(had, dict) else None
    key = _single_key(had) if had is not None else ""
    had_failed = had is not None and len(had) == 1 and "error" in had
    if had is not None and not key and failed == had_failed:
        if (not had and not text) or text == dump_text(had):
            return had
        if is_object_text(text):
            return parse(text.encode("utf-8", "surrogatepass"))
    if failed:
        return {"error": text}
    return {key if key and key != "error" else "output": text}


def _encode_inner(part: Part, position: int) -> Any:
    if part.wire is not None and part.intact:
        return part.wire
    if isinstance(part, Media):
        return encode_data(part, position)
    raise CannotEncode("gemini", f"a {type(part).__name__} in a response", position=position)


def decode_data(wire: Payload, key: str, at: str, flaws: Flaws) -> Media:
    """Return the media of a part that holds it under `key`."""
    before = flaws.found
    found = wire[key]
    if type(found) is not dict:
        flaws.wrong_type(f"{at}.{key}", found, "an object", mendable=False)
        found = {}
    mime = found.get("mimeType", found.get("mime_type"))
    mime = mime if type(mime) is str else ""
    kind = _KINDS.get(mime.partition("/")[0], "document")
    data = found.get("data", "")
    url = found.get("fileUri", found.get("file_uri", ""))
    for name, value in (("data", data), ("fileUri", url)):
        if type(value) is not str:
            flaws.wrong_type(f"{at}.{key}.{name}", value, "a string", mendable=False)
    return Media(
        kind,
        mime,
        data if type(data) is str else "",
        url if type(url) is str else "",
        at,
        wire,
        flaws.found is before,
    )


def encode_data(part: Media, position: int) -> Any:
    """Return the part for media, in the spelling that it had."""
    if not part.data and not part.url:
        if part.wire is not None:
            return part.wire
        raise CannotEncode("gemini", "media without data or address", position=position)
    snake = part.wire is not None and ("inline_data" in part.wire or "file_data" in part.wire)
    inline, file = ("inline_data", "file_data") if snake else ("inlineData", "fileData")
    key = inline if part.data else file
    old = part.wire.get(key) if part.wire is not None else None
    old = old if isinstance(old, dict) else {}
    mime = "mime_type" if "mime_type" in old or (snake and "mimeType" not in old) else "mimeType"
    uri = "file_uri" if "file_uri" in old or (snake and "fileUri" not in old) else "fileUri"
    fields = {"data": part.data} if part.data else {uri: part.url}
    if part.media_type or mime in old:
        fields[mime] = part.media_type
    elif part.data:
        fields[mime] = _USUAL[part.kind]
    fields = merge_fields(old, fields)
    return merge_fields(part.wire, {key: fields}, frozenset({inline, file}))
