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
_BESIDE = (",{}", ',"{}', "{},", '{}",', ";{}", ';"{}', "| {}", "{} |", "\t{}")
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

    A row has as many cells as the heading. One in which something is hidden already is left alone:
    what was hidden may have parted its cells otherwise.
    """
    start = data.rfind(b"\n", max(0, at - MAX_HEADING), at) + 1
    end = data.find(b"\n", at, at + MAX_HEADING)
    if end < 0 or at - start >= MAX_HEADING:
        return [], 0
    sign = _sign_at(data, at)
    names = data[start:end].split(sign)
    column = data.count(sign, start, at + 1)
    if len(names) < 2 or column >= len(names) or not _is_heading(names, column):
        return [], end - start
    kind = kind_of(names[column].decode("latin-1"))
    found: list[Cell] = []
    last = end
    for first, last in _lines(data, end + 1, end + MAX_ROWS):
        row = data[first:last]
        if sign not in row and not _RULER.match(row):
            break
        cells = row.split(sign) if b'"' not in row else _QUOTED[sign].findall(row)
        if len(cells) == len(names) and b"\x00" not in row:
            value = cells[column].strip(_AROUND)
            if _is_secret(value):
                begin = first + sum(map(len, cells[:column])) + column + cells[column].index(value)
                found.append(Cell(begin, begin + len(value), kind))
    return found, last - start


def _sign_at(data: bytes, at: int) -> bytes:
    """Return what parts the cells: it stands before the name, or after it."""
    if data[at : at + 1] in _QUOTED:
        return data[at : at + 1]
    return b"|" if data.find(b"|", at, at + 24) >= 0 else b","


def _is_heading(names: list[bytes], column: int) -> bool:
    """Whether all cells are names, and that of the column is the name of a secret."""
    framed = not names[0].strip() and not names[-1].strip()
    return (
        all(map(_NAME.match, names[1:-1] if framed else names))
        and strength_of(names[column].strip(_AROUND).decode("latin-1")) == "strong"
    )


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


_AROUND = b" \t\r\"'`"
_NAME = re.compile(rb'^[ \t]*+["`]?[A-Za-z][\w.-]{0,31}(?: [\w.-]{1,16}){0,3}["`]?[ \t\r]*+$')
_RULER = re.compile(rb"^[\s|+:=-]*+$")
_QUOTED = {
    sign: re.compile(rb'(?:^|(?<=\%b))(?:[^\%b"]|"[^"]*")*+' % (sign, sign))
    for sign in (b",", b";", b"|", b"\t")
}
"""The cells of a row in which some are in quotes, by what parts them."""
