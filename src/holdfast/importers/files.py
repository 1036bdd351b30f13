"""Files that an import may open: regular ones, within the folder, and not too large."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from holdfast.dialects.jsontext import parse
from holdfast.dialects.limits import Limits, read_whole
from holdfast.errors import NotReadable
from holdfast.importers.imported import Note
from holdfast.importers.loose import fields
from holdfast.transcript import Payload

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Opening a pipe does not wait for its writer."""


def open_regular(path: Path) -> BinaryIO:
    """Open a file; raise `NotReadable` for a pipe, a socket or a device, at once."""
    refuse_special(path, path.stat())
    handle = os.open(path, _FLAGS)
    try:
        refuse_special(path, os.fstat(handle))  # it may have been replaced since
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def refuse_special(path: Path, found: os.stat_result) -> None:
    """Raise `NotReadable` for a pipe, a socket or a device."""
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(path)
    if stat.S_ISREG(found.st_mode):
        return
    kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    raise NotReadable(
        f"is {kinds.get(stat.S_IFMT(found.st_mode), 'a device')}, not a file; it was skipped",
        where=str(path), remedy="save its content to a file and import that",
    )  # fmt: skip


def leads_out(path: Path, folder: str) -> bool:
    """Return whether links lead from a path to a place outside the folder, a real path."""
    real = os.path.realpath(path)
    return real != folder and not real.startswith(folder.rstrip(os.sep) + os.sep)


def read_object(path: Path, folder: str, limits: Limits, notes: list[Note]) -> Payload:
    """Return the JSON object in a small file of a folder, an empty one for anything else.

    A file that a link or a name puts outside the folder is not read; "" for any folder.
    """
    try:
        if folder and leads_out(path, folder):
            notes.append(Note("left out", path.name, "leads out of the folder"))
            return {}
        with open_regular(path) as file:
            return fields(parse(read_whole(file, limits)))
    except (OSError, ValueError, NotReadable):
        return {}
