"""JSON as bytes: parse with a clear error, write any parsed value, find the slices of a list."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn, cast

import msgspec
from msgspec import Raw

from foldaway.errors import NotReadable

_RAW_LIST = msgspec.json.Decoder(list[Raw])
_RAW_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_ANY = msgspec.json.Decoder()
_OBJECT_TEXT = msgspec.json.Decoder(dict[str, Raw])
_BYTE = re.compile(r"\(byte (\d+)\)")
_SURROGATE = re.compile(
    rb"(?<!\\)((?:\\\\)*)"
    rb"(?:(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(\\u[dD][89a-fA-F][0-9a-fA-F]{2}))"
)
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
_SPACE = b" \t\r\n"
_NUMBER = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)|(NaN|-?Infinity)|(-?[0-9][0-9.eE+-]*)', re.DOTALL
)
_LONGEST_INTEGER_DIGITS = 4_300
"""What the parser of the standard library, which reads lone surrogates, takes at most."""

MOST_VALUES = 16_000_000
"""Values of one JSON text, by its commas and brackets: an empty list takes 64 bytes, so at most a
gigabyte. A text of 128 MB has about two million."""


def parse(data: bytes | Raw) -> Any:
    """Return the value of a JSON text; lone surrogates are let through, NaN is not."""
    if len(data) > MOST_VALUES:
        refuse_dense(bytes(data))
    try:
        return _ANY.decode(data)
    except msgspec.DecodeError as error:
        return _parse_leniently(bytes(data), error)
    except RecursionError:
        raise depth_error() from None
    except UnicodeDecodeError as error:
        raise not_utf8(bytes(data), error) from None


def refuse_dense(data: bytes) -> None:
    """Raise `NotReadable` for a text whose values take far more room when parsed."""
    if len(data) > MOST_VALUES and sum(map(data.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise NotReadable(f"holds more than {MOST_VALUES:,} values", remedy="split it")


def dump_bytes(value: Any) -> bytes:
    """Return `value` as compact JSON; lone surrogates are written as escapes."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return _dump_escaped(value)
    except RecursionError:
        raise depth_error() from None


def _dump_escaped(value: Any) -> bytes:
    """Return `value` in ASCII; the fields of an object may be slices of JSON."""
    if isinstance(value, dict) and any(isinstance(field, Raw) for field in value.values()):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        fields = cast("dict[str, Any]", value)
        pairs = [
            dump_bytes(key) + b":" + (bytes(field) if isinstance(field, Raw) else dump_bytes(field))
            for key, field in fields.items()
        ]
        return b"{" + b",".join(pairs) + b"}"
    try:
        return json.dumps(value, separators=(",", ":")).encode("ascii")
    except (RecursionError, ValueError):
        raise depth_error() from None


def dump_text(value: Any) -> str:
    """Return `value` as compact JSON text."""
    return dump_bytes(value).decode()


def clean_value(value: Any) -> Any:
    """Return a JSON value whose texts and keys hold no NUL and no half of a surrogate pair.

    NUL is left out, a half pair becomes U+FFFD. Works on the JSON text, so however deep it is.
    """
    text = _NUL.sub(rb"\1", _dump_escaped(value))
    return parse(_mask_lone_surrogates(text) or text)


def is_object_text(text: str) -> bool:
    """Return whether `text` is the JSON of an object."""
    try:
        _OBJECT_TEXT.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        try:
            return isinstance(json.loads(text, parse_constant=_refuse), dict)
        except (ValueError, RecursionError, NotReadable):
            return False
    except RecursionError:
        return False
    return True


def split_list(data: bytes | Raw) -> list[Raw]:
    """Return the elements of a JSON list as slices of `data`."""
    return _split(_RAW_LIST, data)


def split_object(data: bytes | Raw) -> dict[str, Raw]:
    """Return the fields of a JSON object as slices of `data`."""
    return _split(_RAW_OBJECT, data)


def _split(decoder: msgspec.json.Decoder[Any], data: bytes | Raw) -> Any:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        masked = _mask_lone_surrogates(bytes(data))
        if masked is None:
            raise_malformed(bytes(data), error)
        return _unmask(decoder, bytes(data), masked)
    except RecursionError:
        raise depth_error() from None


def _unmask(decoder: msgspec.json.Decoder[Any], data: bytes, masked: bytes) -> Any:
    """Split `masked`, which has the same length, and return the slices of `data` instead."""
    try:
        found: dict[str, Raw] | list[Raw] = decoder.decode(masked)
    except msgspec.DecodeError as error:
        raise_malformed(masked, error)
    slices = list(found.values()) if isinstance(found, dict) else found
    swapped: list[Raw] = []
    at = 0
    for piece in slices:
        body = bytes(piece)
        found_at = masked.find(body, at)
        at = found_at if found_at >= 0 else masked.index(body)
        swapped.append(Raw(data[at : at + len(body)]))
        at += len(body)
    if isinstance(found, dict):
        return dict(zip(found, swapped, strict=True))
    return swapped


def gaps(
    data: bytes, pieces: Sequence[Raw], start: int = 0, stop: int | None = None
) -> tuple[bytes, bytes, bytes] | None:
    """Return what stands before the first element, between the first two, and after the last.

    In `data` is a JSON list, from `start` up to `stop`, and `pieces` are its elements, in order.
    """
    if not pieces:
        return None
    first = _skip(data, data.index(b"[", start) + 1)
    after_first = first + len(pieces[0])
    between = b", "
    if len(pieces) > 1:
        second = _skip(data, data.index(b",", after_first) + 1)
        between = data[after_first:second]
    closing = data.rindex(b"]", start, stop)
    while data[closing - 1 : closing] in (b" ", b"\t", b"\r", b"\n"):
        closing -= 1
    return data[start:first], between, data[closing:stop]


def raise_malformed(data: bytes, error: Exception) -> NoReturn:
    """Raise `NotReadable` with the line and column that `error` speaks of."""
    refused = _find_refused_number(data)
    found = _BYTE.search(str(error))
    at = int(found.group(1)) if found else len(data)
    if refused is not None and (not found or refused[0] <= at):
        raise no_number(refused[1], _place(data, refused[0]))
    said = _BYTE.sub("", str(error)).partition(" - at ")[0].strip()
    said = said.removeprefix("JSON is malformed: ")
    what = "the JSON ends early" if "truncated" in said else f"not JSON: {said}"
    raise NotReadable(what, where=_place(data, at), remedy="check that the file is complete JSON")


def no_number(name: str, where: str = "") -> NotReadable:
    """Return the error for NaN, an infinity or a number out of range."""
    if name[-1:].isalpha():
        what, remedy = f"not JSON: {name} is no number", "use null or a number"
    else:
        what, remedy = "not JSON: a number out of range", "use a smaller number"
    return NotReadable(what, where=where, remedy=remedy)


def _find_refused_number(data: bytes) -> tuple[int, str] | None:
    """Return the first NaN, infinity or number out of range outside of texts, and its place."""
    for found in _NUMBER.finditer(data):
        name, digits = found.group(1), found.group(2)
        if name is not None or (digits is not None and not _is_finite(digits.decode())):
            return found.start(), (name or digits).decode()
    return None


def _is_finite(digits: str) -> bool:
    if digits.lstrip("-").isdigit():
        return len(digits) <= _LONGEST_INTEGER_DIGITS
    try:
        return math.isfinite(float(digits))
    except ValueError:
        return True


def _place(data: bytes, at: int) -> str:
    line = data.count(b"\n", 0, at) + 1
    column = at - (data.rfind(b"\n", 0, at) + 1) + 1
    return f"line {line} column {column}"


def depth_error() -> NotReadable:
    """Return the error for a value that is nested too deeply."""
    return NotReadable(
        "the JSON is nested too deeply to be a transcript",
        remedy="a message needs a few levels; look for a value that contains itself",
    )


def not_utf8(data: bytes, error: UnicodeDecodeError) -> NotReadable:
    """Return the error for bytes that are not UTF-8, with the line of the first of them."""
    try:
        data.decode()
    except UnicodeDecodeError as whole:
        error = whole
    line = data.count(b"\n", 0, error.start) + 1
    return NotReadable(
        f"the text is not UTF-8 ({error.reason} at byte {error.start})",
        where=f"line {line}",
        remedy="convert the file to UTF-8",
    )


def _parse_leniently(data: bytes, error: msgspec.DecodeError) -> Any:
    masked = _mask_lone_surrogates(data)
    if masked is None:
        raise_malformed(data, error)
    try:
        return json.loads(data, parse_constant=_refuse, parse_float=_read_float)
    except UnicodeDecodeError as broken:
        raise not_utf8(data, broken) from None
    except RecursionError:
        raise depth_error() from None
    except _Refused:
        raise_malformed(data, ValueError(""))
    except json.JSONDecodeError as broken:
        raise_malformed(data, ValueError(f"{broken.msg.lower()} (byte {_byte(data, broken.pos)})"))
    except ValueError:
        raise_malformed(data, ValueError(""))


def _byte(data: bytes, at: int) -> int:
    return len(data.decode()[:at].encode())


def scan(text: str, at: int) -> tuple[Any, int]:
    """Return the JSON value that begins at `at`, and its end; ValueError if there is none.

    Raises `NotReadable` for NaN, infinities and numbers out of range, as `parse` does.
    """
    try:
        return _SCANNER.raw_decode(text, at)
    except RecursionError:
        raise depth_error() from None
    except _Refused as refused:
        raise no_number(str(refused)) from None


class _Refused(ValueError):
    """A number that JSON does not have."""


def _refuse(name: str) -> NoReturn:
    raise _Refused(name)


def _read_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _Refused(digits)
    return value


_SCANNER = json.JSONDecoder(parse_constant=_refuse, parse_float=_read_float)


def _mask_lone_surrogates(data: bytes) -> bytes | None:
    """Return `data` with lone surrogate escapes replaced, same length; None if it has none."""
    if b"\\ud" not in data and b"\\uD" not in data:
        return None
    found = False

    def mask(match: re.Match[bytes]) -> bytes:
        nonlocal found
        if match.group(3) is None:
            return match.group(0)
        found = True
        return match.group(1) + b"\\ufffd"

    masked = _SURROGATE.sub(mask, data)
    return masked if found else None


def _skip(data: bytes, at: int) -> int:
    while data[at] in _SPACE:
        at += 1
    return at
