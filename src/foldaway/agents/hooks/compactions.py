"""Compactions that an agent was not told of yet, for agents that have no event after one."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from foldaway._core import PRIVATE, make_private_folder, replacing

_KEPT_SECONDS = 30 * 86_400
"""How long it is noted what a session was told; then nobody goes on with it. Chosen."""
_PIECE_BYTES = 1 << 20
"""Of a file that are read at once; chosen."""


def is_new_compaction(transcript: str, sign: str, folder: Callable[[], Path]) -> bool:
    """Return whether a session was compacted since this was asked last.

    Its file has `sign` once for each compaction. What is known is noted in a folder, which is asked
    for only if there was one.
    """
    count = _count(transcript, sign.encode())
    return bool(count) and count > _replace_note(folder(), transcript, count, least=0)


def is_new_window(transcript: str, sign: str, folder: Callable[[], Path]) -> bool:
    """Return whether this is asked for the first time since a session was compacted last, or began;
    `sign` and folder are as above.
    """
    count = _count(transcript, sign.encode())
    return count != _replace_note(folder(), f"{transcript} window", count, least=-1)


def _replace_note(notes: Path, name: str, count: int, *, least: int) -> int:
    """Note a count under a name, and return what was noted before, `least` if nothing was."""
    note, known = notes / hashlib.sha256(name.encode()).hexdigest()[:16], least
    with suppress(FileNotFoundError, ValueError):
        known = int(note.read_text())
    if count != known:
        _forget(notes)
        make_private_folder(notes)
        with replacing(note, PRIVATE, private=True) as file:
            file.write(str(count).encode())
    return known


def _count(transcript: str, sign: bytes) -> int:
    """Return how often a file has some bytes, each of them counted once."""
    count, held = 0, b""
    with open(transcript, "rb") as file:
        while piece := file.read(_PIECE_BYTES):
            held += piece
            after = 0
            while (at := held.find(sign, after)) >= 0:
                count, after = count + 1, at + len(sign)
            held = held[max(after, len(held) - len(sign) + 1) :]
    return count


def _forget(notes: Path) -> None:
    """Remove what was noted of sessions that nobody goes on with."""
    with suppress(OSError):
        for one in os.scandir(notes):
            if one.stat().st_mtime < time.time() - _KEPT_SECONDS:
                os.unlink(one.path)


def refresh_message_file(file: str, mark: str, compacted: float, facts: Callable[[], str]) -> None:
    """Put the facts of a session, compacted at a time or never (0), into a file of messages.

    An agent reads it before each of its requests. It is written once for each compaction, begins
    with `mark`, and is removed if the session has lost nothing: the agent that had it before was
    another. A file of somebody else stays.
    """
    path = Path(os.path.expanduser(file))
    with suppress(FileNotFoundError):
        if not path.read_text("utf-8", errors="replace").startswith(mark):
            return
        if compacted and path.stat().st_mtime >= compacted:
            return
        path.unlink()
    if compacted and (text := facts()):
        make_private_folder(path.parent)
        with replacing(path, PRIVATE, private=True) as out:
            out.write(text.encode())
