"""Every version of a file, in a log next to it: a line of JSON each."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from foldaway._core import PRIVATE, replacing, sync_folder

Who: TypeAlias = Literal["tool", "cli", "editor"]
"""Who made a version: an agent, a command, or anything else that wrote the file."""

WHOLE_EVERY = 64
"""So often a version is written whole; the others say what differs from the one before."""
_TAIL_BYTES = 16_384


class Version(Struct, frozen=True, kw_only=True):
    """What became of a file, when, and by whom; the hashes are of the file's bytes."""

    number: int
    time: float
    who: Who
    what: str
    before: str
    after: str
    written: bool = True
    """Whether Foldaway wrote the file; it found it so otherwise."""
    part: bool = False
    """Whether it counts only together with the next one."""


class StoredVersion(Struct, frozen=True):
    """A version and its text; None if the log is damaged there."""

    version: Version
    text: str | None


class _Line(Version, frozen=True, kw_only=True):
    """A version with its content: the whole, or what stands between two ends of the one before."""

    whole: bytes | None = None
    head: int = 0
    tail: int = 0
    middle: bytes = b""
    sum: str = ""


_DECODER = msgspec.json.Decoder(_Line)


class History:
    """The log of one file. All but `versions` need the lock of the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def last(self) -> Version | None:
        """Return the newest version; a line that was not finished is taken off first."""
        while (found := self._last_line()) is not None:
            start, line = found
            version = _decode_line(line) if line.endswith(b"\n") else None
            if version is not None:
                return version
            self.cut(start)
        return None

    def size(self) -> int:
        """Return where the next line begins."""
        return self.path.stat().st_size if self.path.exists() else 0

    def put(self, version: Version, before: str | None, text: str) -> None:
        """Append a version and put it on the disk; raise `OSError` and leave the log as it was.

        `before` is the text of the version before, None if that is not at hand.
        """
        data = to_bytes(text)
        fields = {name: getattr(version, name) for name in Version.__struct_fields__}
        if before is None or version.number % WHOLE_EVERY == 1:
            line = _Line(**fields, whole=data, sum=digest(data))
        else:
            head, tail = _common(to_bytes(before), data)
            middle = data[head : len(data) - tail]
            line = _Line(**fields, head=head, tail=tail, middle=middle, sum=digest(data))
        start, is_new = self.size(), not self.path.exists()
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(line) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            self.cut(start)
            raise
        if is_new:
            sync_folder(self.path.parent)

    def cut(self, size: int) -> None:
        """Take back what stands from a place on."""
        if self.size() > size:
            os.truncate(self.path, size)

    def rewrite(self, versions: Sequence[tuple[Version, str]], after: str) -> None:
        """Put versions with other texts in the place of all; `after` is what the file is now, ""
        if somebody changed it since the last one.
        """
        lines: list[bytes] = []
        before = ""
        for number, (version, text) in enumerate(versions, 1):
            data = to_bytes(text)
            fields = {name: getattr(version, name) for name in Version.__struct_fields__}
            now = after if number == len(versions) else digest(data)
            fields |= {"before": before, "after": now}
            lines.append(msgspec.json.encode(_Line(**fields, whole=data, sum=digest(data))) + b"\n")
            before = now
        with replacing(self.path, PRIVATE) as file:
            file.write(b"".join(lines))

    def drop_last(self) -> None:
        """Take back the last line."""
        if (found := self._last_line()) is not None:
            self.cut(found[0])

    def versions(self) -> Iterator[StoredVersion]:
        """Yield every version, the oldest first."""
        before: bytes | None = b""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            for raw in file:
                line = _decode_line(raw)
                if line is None:
                    before = None
                    continue
                before = _content(line, before)
                yield StoredVersion(_version(line), None if before is None else to_text(before))

    def _last_line(self) -> tuple[int, bytes] | None:
        """Return the last line and where it begins."""
        size = self.size()
        reach = _TAIL_BYTES
        while size:
            start = max(0, size - reach)
            with self.path.open("rb") as file:
                file.seek(start)
                tail = file.read(size - start)
            cut = tail.rfind(b"\n", 0, len(tail) - 1)
            if cut >= 0 or start == 0:
                return start + cut + 1, tail[cut + 1 :]
            reach *= 4
        return None


def digest(data: bytes) -> str:
    """Return what distinguishes two contents."""
    return hashlib.sha256(data).hexdigest()[:32]


def to_text(data: bytes) -> str:
    """Return bytes as text; what is no UTF-8 comes back by `to_bytes`."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """Return the bytes of a text that `to_text` gave."""
    return text.encode("utf-8", "surrogateescape")


def _decode_line(line: bytes) -> _Line | None:
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _version(line: _Line) -> Version:
    return Version(**{name: getattr(line, name) for name in Version.__struct_fields__})


def _content(line: _Line, before: bytes | None) -> bytes | None:
    if line.whole is not None:
        data = line.whole
    elif before is None:
        return None
    else:
        data = before[: line.head] + line.middle + before[len(before) - line.tail :]
    return data if digest(data) == line.sum else None


def _common(one: bytes, two: bytes) -> tuple[int, int]:
    """Return how many bytes two contents share at their beginning, and at their end."""
    most = min(len(one), len(two))
    head = _count_shared(one[:most], two[:most])
    most -= head
    tail = _count_shared(one[len(one) - most :][::-1], two[len(two) - most :][::-1])
    return head, tail


def _count_shared(one: bytes, two: bytes) -> int:
    """Return the length of the common beginning of two contents of one length."""
    low, high = 0, len(one)
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
