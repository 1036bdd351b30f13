"""The secrets of a table: the cells below a heading that names them, in CSV or between bars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.redaction.field_names import kind_of, strength_of
from holdfast.redaction.gates import mixed, password, unnamed

_NAMES = (
    "password", "passwd", "pwd", "secret", "token", "api_key", "apikey", "access key", "api_token",
    "access_token", "auth_token", "refresh_token", "secret_key", "private_key", "db_password",
    "user_password",
)  # fmt: skip
_BESIDE = (",{}", ',"{}', "{},", '{}",', "{};", ";{}", ';"{}', "| {}", "{} |", "\t{}", "{}\t")
HEADINGS = tuple(beside.format(name) for name in _NAMES for beside in _BESIDE)
"""Where a column of secrets may begin: a name beside what parts two cells."""
MAX_HEADING = 400
MAX_ROWS = 8192
"""So many bytes of rows are read: no more than a stream looks back."""
SHORTEST = 6


class Cell(NamedTuple):
    """A secret of a table."""

    start: int
    end: int
    kind: str


def cells_below(data: bytes, at: int) -> tuple[list[Cell], int]:
    """Return the secrets below the heading that has a name at `at`, and how many bytes were read.

    A row has as many cells as the heading, and one in which something is hidden ends the table:
    so what is read of a table that was redacted was read, and left alone, before.
    """
    start = data.rfind(b"\n", max(0, at - MAX_HEADING), at) + 1
    end = data.find(b"\n", at, at + MAX_HEADING)
    if end < 0 or at - start >= MAX_HEADING:
        return [], 0
    line = data[start:end]
    if b"\x00" in line:
        return [], 0
    if line.translate(None, _IN_HEADING):  # most are code
        return [], end - start
    sign = _sign_at(data, at)
    names = line.split(sign)
    columns = _secret_columns(names)
    # the first of them finds those of the others too
    if not columns or columns[0] != data.count(sign, start, at + 1):
        return [], end - start
    kinds = [kind_of(names[column].decode("latin-1")) for column in columns]
    found: list[Cell] = []
    last = end
    for first, last in _lines(data, end + 1, end + MAX_ROWS):
        row = data[first:last]
        if b"\x00" in row or (sign not in row and not _RULER.match(row)):
            break
        cells = row.split(sign) if b'"' not in row else _QUOTED[sign].findall(row)
        if len(cells) != len(names):
            continue
        if _secret_columns(cells):
            break
        for column, kind in zip(columns, kinds, strict=True):
            value = cells[column].strip(_AROUND)
            if _is_secret(value):
                begin = first + sum(map(len, cells[:column])) + column + cells[column].index(value)
                found.append(Cell(begin, begin + len(value), kind))
    return found, last - start


def _sign_at(data: bytes, at: int) -> bytes:
    """Return what parts the cells: it stands before the name, or after it."""
    sign = _SIGN.search(data, at)
    return b"," if sign is None else sign[0]


def _secret_columns(names: list[bytes]) -> list[int]:
    """Return the columns that hold secrets, if all cells are names as those of a heading are."""
    framed = not names[0].strip() and not names[-1].strip()
    if len(names) < 2 or not all(map(_NAME.match, names[1:-1] if framed else names)):
        return []
    return [
        column
        for column, name in enumerate(names)
        if strength_of(name.strip(_AROUND).decode("latin-1")) == "strong"
    ]


def _lines(data: bytes, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield where the lines of a table stand that end before `stop`; a blank one ends it."""
    while start < len(data):
        end = data.find(b"\n", start, stop)
        end = len(data) if end < 0 and len(data) <= stop else end
        if end < 0 or not data[start:end].strip():
            return
        yield start, end
        start = end + 1


def _is_secret(value: bytes) -> bool:
    if len(value) < SHORTEST or b" " in value:
        return False
    return (mixed(value) and password(value)) or unnamed(value)


_SIGN = re.compile(rb"[,;|\t]")
_AROUND = b" \t\r\"'`"
_IN_HEADING = b'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.- \t\r\v\f"`,;|'
"""All that names have, and what parts them."""
_NAME = re.compile(
    rb"^(?!import |from |select |return )"
    rb'[ \t]*+["`]?[A-Za-z][\w.-]{0,31}(?: [\w.-]{1,16}){0,3}["`]?[ \t\r]*+$'
)
_RULER = re.compile(rb"^[\s|+:=-]*+$")
_QUOTED = {
    sign: re.compile(rb'(?:^|(?<=\%b))(?:[^\%b"]|"[^"]*")*+' % (sign, sign))
    for sign in (b",", b";", b"|", b"\t")
}
"""The cells of a row in which some are in quotes, by what parts them."""
