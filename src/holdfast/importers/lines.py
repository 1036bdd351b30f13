"""The objects of a file that holds one a line, however torn its lines are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from holdfast.dialects.jsontext import parse, refuse_dense, scan
from holdfast.errors import NotReadable
from holdfast.importers.imported import Note
from holdfast.transcript import Payload

_BOM = b"\xef\xbb\xbf"
_TRIES = 8
_LONGEST_OPENING = 64


class FileEntry(Struct, frozen=True, gc=False):
    """One object and the line that it stands on (1-based)."""

    line: int
    value: Payload

    @property
    def place(self) -> str:
        """The line, in words."""
        return f"line {self.line}"


def entries(lines: Iterable[bytes], notes: list[Note]) -> Iterator[FileEntry]:
    """Yield the whole objects of each line, in order; what is not one goes into `notes`.

    A torn line keeps the objects that it begins with, and the one that it ends with: a writer
    that was killed leaves half an object, and the next one writes its line behind it. The last
    line may still grow while it has no newline, so of it only what it begins with is taken: a
    longer file never takes back what a shorter one gave.
    """
    for number, line in enumerate(lines, 1):
        body = line.removeprefix(_BOM).strip() if number == 1 else line.strip()
        if not body:
            continue
        try:
            value = parse(body)
        except NotReadable:
            yield from _torn(body, number, notes, finished=line.endswith(b"\n"))
            continue
        if type(value) is dict:
            yield FileEntry(number, value)  # pyright: ignore[reportUnknownArgumentType]
        else:
            notes.append(Note("left out", f"line {number}", "is not a JSON object"))


def _torn(body: bytes, number: int, notes: list[Note], *, finished: bool) -> Iterator[FileEntry]:
    try:
        refuse_dense(body)
    except NotReadable as error:
        notes.append(Note("left out", f"line {number}", error.what))
        return
    words = body.decode("utf-8", "replace")
    whole, at = _from_the_start(words)
    if finished and at < len(words):
        last, at_last = _at_the_end(words, at)
    else:
        last, at_last = None, len(words)
    kept = len(whole) + (last is not None)
    if at < at_last:
        said = f"{kept} whole object{'' if kept == 1 else 's'} kept, {at_last - at} characters not"
        notes.append(Note("torn", f"line {number}", said))
    elif "\ufffd" in words:
        notes.append(Note("torn", f"line {number}", "bytes that are not UTF-8 were replaced"))
    for value in whole:
        yield FileEntry(number, value)
    if last is not None:
        yield FileEntry(number, last)


def _from_the_start(words: str) -> tuple[list[Payload], int]:
    whole: list[Payload] = []
    at = 0
    while words[at : at + 1] == "{":
        found = _object_at(words, at)
        if found is None:
            break
        value, at = found
        whole.append(value)
        while words[at : at + 1].isspace():
            at += 1
    return whole, at


def _at_the_end(words: str, start: int) -> tuple[Payload | None, int]:
    """Return the object that reaches to the end of the line and opens as the torn one does."""
    key = words.find(":", start, start + _LONGEST_OPENING)
    opening = words[start : key + 1] if key > 0 else ""
    if not opening.startswith('{"'):
        return None, len(words)
    at = start
    for _ in range(_TRIES):
        at = words.find(opening, at + 1)
        if at < 0:
            break
        found = _object_at(words, at)
        if found is not None and found[1] == len(words):
            return found[0], at
    return None, len(words)


def _object_at(words: str, at: int) -> tuple[Payload, int] | None:
    try:
        value, end = scan(words, at)
    except (ValueError, NotReadable):
        return None
    return (value, end) if type(value) is dict else None  # pyright: ignore[reportUnknownVariableType]
