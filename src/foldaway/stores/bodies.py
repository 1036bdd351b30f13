"""Bodies as they lie in a database: packed, each once, and back byte for byte.

A content is a body with the text that a search sees. Most texts stand in their body as one JSON
string: then only the place is kept; others follow the body, of which packing finds them to be
repetitions. Its address is its sha256. Long runs of base64 are cut out of it and stored by
themselves in pieces of a mebibyte, so that an image that comes again costs nothing.

A packed content begins with its form: 0 as it is, 1 zstd with the dictionary of this package.
The dictionary is shipped and not trained from a store's own bodies: it would keep pieces of what
was erased. A later one gets a form of its own.
"""

from __future__ import annotations

import hashlib
import io
import re
import threading
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import zstandard
from msgspec import Raw

from foldaway.search import Written
from foldaway.stores.database import BodyKey, Packed, Statements

RUN_BYTES = 1024
"""A run of base64 at least this long is stored by itself."""
_PIECE = 1 << 20
_LEVEL = 1
"""Of zstd. Level 3 makes contents 1 to 4 % smaller in up to twice the time."""
_LEAST_BYTES = 512
"""Below, packing costs more time than the room is worth."""
_BEGINNING_BYTES = 48
_PLAIN, _ZSTD = b"\0", b"\1"
_RUN_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="
_RUN = re.compile(b"[%b]++" % re.escape(_RUN_CHARS))


def pack(body: bytes | Raw, text: str) -> Packed:
    """Return a body and its text, ready to be written; `text` holds no lone surrogates."""
    address, rest, parts = hashlib.sha256(), list[memoryview](), list[tuple[int, Packed]]()
    at = 0
    for piece in map(memoryview, _content(body, text)):
        address.update(piece)
        done = 0
        for start, stop in _runs(piece):
            rest.append(piece[done:start])
            for done in range(start, stop, _PIECE):
                run = bytes(piece[done : min(done + _PIECE, stop)])
                parts.append((at + done, _pack_run(run)))
            done = stop
        rest.append(piece[done:])
        at += len(piece)
    return Packed(address.digest(), len(body), squeeze(b"".join(rest)), tuple(parts))


def unpack(
    tx: Statements, tenant: str, key: BodyKey, parts: int, packed: bytes
) -> tuple[bytes, bytes]:
    """Return a body and its text, in UTF-8, from a row of `bodies`.

    Raises `zstandard.ZstdError` if it is damaged.
    """
    content = content_of(tx, tenant, key, parts, packed)
    try:
        return _split_content(content)
    except (IndexError, msgspec.DecodeError) as error:
        raise zstandard.ZstdError("not what was packed") from error


def unpack_written(tx: Statements, dialect: str, role: str, tools: str, *stored: Any) -> Written:
    """Return a message as it was stored; `stored` is what `unpack` takes."""
    body, text = unpack(tx, *stored)
    return Written(dialect, body, text.decode(), tools != "" and role != "tool")


def _split_content(content: bytes) -> tuple[bytes, bytes]:
    head, start = _from_varint(content, 0)
    stop = start + (head >> 1)
    body = content[start:stop]
    if not head & 1:
        return body, content[stop:]
    at, stop = _from_varint(content, stop)
    size, stop = _from_varint(content, stop)
    return body, msgspec.json.decode(b'"%b"' % body[at : at + size], type=str).encode()


def content_of(tx: Statements, tenant: str, key: BodyKey, parts: int, packed: bytes) -> bytes:
    """Return a content with what was cut out of it."""
    content = expand(packed)
    if not parts:
        return content
    rows = tx.rows(
        "SELECT p.at, b.packed FROM parts p JOIN bodies b ON b.tenant = p.tenant AND"
        " b.key = p.part WHERE p.tenant = ? AND p.body = ? ORDER BY p.at",
        (tenant, key),
    )
    made, taken = io.BytesIO(), 0  # gives its own bytes: a list of pieces would take twice as much
    for at, run in rows:
        until = taken + (at - made.tell())
        made.write(content[taken:until])
        made.write(expand(run))
        taken = until
    made.write(content[taken:])
    return made.getvalue()


def address_of(content: bytes, *, is_part: bool) -> bytes:
    """Return the address of a content, or of a run that was cut out of one."""
    return hashlib.sha256(b"part\0" + content if is_part else content).digest()


def squeeze(content: bytes) -> bytes:
    """Return any bytes packed."""
    if len(content) >= _LEAST_BYTES:
        packed = _tools().compressor.compress(content)
        if len(packed) < len(content):
            return _ZSTD + packed
    return _PLAIN + content


def expand(packed: bytes) -> bytes:
    """Return what `squeeze` was given; raise `zstandard.ZstdError` if it is damaged."""
    if packed[:1] == _ZSTD:
        return _tools().decompressor.decompress(packed[1:])
    if packed[:1] != _PLAIN:
        raise zstandard.ZstdError("unknown form")
    return packed[1:]


def _pack_run(run: bytes) -> Packed:
    return Packed(address_of(run, is_part=True), len(run), squeeze(run))


def _runs(content: memoryview) -> Iterator[tuple[int, int]]:
    """Yield where long runs begin and end: each covers one of the places that are looked at."""
    done = 0
    for at in range(RUN_BYTES - 1, len(content), RUN_BYTES):
        if at >= done and (found := _RUN.match(content, at)):
            before = bytes(content[max(done, at - RUN_BYTES + 1) : at])
            start, done = at - len(before) + len(before.rstrip(_RUN_CHARS)), found.end()
            if done - start >= RUN_BYTES:
                yield start, done


def _content(body: bytes | Raw, text: str) -> tuple[bytes | Raw, ...]:
    """Return a content: the size of the body, doubled, plus 1 where the text is a place in it."""
    quoted = msgspec.json.encode(text)[1:-1]
    at = _place(bytes(body), quoted) if quoted else -1
    if at < 0:
        return _as_varint(len(body) << 1), body, text.encode()
    return _as_varint(len(body) << 1 | 1), body, _as_varint(at) + _as_varint(len(quoted))


def _place(body: bytes, quoted: bytes) -> int:
    """Return where a text stands in its body, -1 if it does not.

    Its beginning is looked for first: that costs a fraction, and mostly says it all.
    """
    at = body.find(quoted[:_BEGINNING_BYTES])
    if at < 0 or body.startswith(quoted, at):
        return at
    return body.find(quoted, at + 1)


def _as_varint(number: int) -> bytes:
    if number < 0x80:
        return number.to_bytes(1, "little")
    if number < 0x4000:
        return (number & 0x7F | 0x80 | number << 1 & 0x7F00).to_bytes(2, "little")
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _from_varint(content: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, and the place behind it."""
    number = shift = 0
    while True:
        byte = content[at]
        number |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return number, at
        shift += 7


class _Tools(threading.local):
    """Packers of one thread: they must not be shared."""

    def __init__(self) -> None:
        super().__init__()
        self.compressor = zstandard.ZstdCompressor(
            dict_data=_dictionary(), write_dict_id=False, write_checksum=False
        )
        self.decompressor = zstandard.ZstdDecompressor(dict_data=_dictionary())


@cache
def _tools() -> _Tools:
    return _Tools()


@cache
def _dictionary() -> zstandard.ZstdCompressionDict:
    data = (files("foldaway.stores") / "dictionary.zdict").read_bytes()
    dictionary = zstandard.ZstdCompressionDict(data)
    dictionary.precompute_compress(level=_LEVEL)  # pyright: ignore[reportUnknownMemberType]
    return dictionary
