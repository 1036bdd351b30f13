"""A disk below a home that remembers what was synced, and can fail.

Files of SQLite pass through a VFS (`tests/stores/faults/power.py`), plain files through Python's
audit events and `os.fsync`. What is durable: bytes that were synced, and names up to the last sync
of their folder. A power cut keeps these; of all later bytes any part survives, of all later names a
beginning, in order, as on file systems with a journal. A full disk refuses to let any file grow.
"""

from __future__ import annotations

import errno
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
from power import Files, apply, surviving

_SECTOR = 512
_CREATES = os.O_CREAT | os.O_WRONLY | os.O_RDWR


class Disk:
    """All changes below a folder; `at_event` is called before each and may cut or refuse it."""

    def __init__(self, home: Path, seed: int) -> None:
        self._home, self._chance = str(home), random.Random(seed)
        self.at_event: Callable[[str, bool], None] = lambda path, grows: None
        there = [path for path in home.rglob("*") if path.is_file() and path.suffix != ".db-shm"]
        self._is_busy = True
        self._database = {
            str(path): bytearray(path.read_bytes()) for path in there if _is_sqlite(path)
        }
        self._unsynced: dict[str, list[tuple[int, bytes | None]]] = {}
        self._names = {
            str(path): number for number, path in enumerate(there) if not _is_sqlite(path)
        }
        self._durable_names = dict(self._names)
        self._renames: list[dict[str, int | None]] = []
        self._synced = {number: Path(path).read_bytes() for path, number in self._names.items()}
        self._gone: dict[int, bytes] = {}
        self._next = len(there)
        self._sync = os.fsync
        self._is_busy = False
        os.fsync = self._fsync
        sys.addaudithook(self._hook)
        self._vfs = Files(self)  # pyright: ignore

    # SQLite

    def note(self, path: str, change: tuple[int, bytes | None] | None) -> None:
        """Take in a write, a truncation or a sync of a database or its log."""
        grows = False
        if change is not None and change[1] is not None:
            size = os.stat(path).st_size if os.path.exists(path) else 0
            grows = change[0] + len(change[1]) > size
        self.at_event(path, grows)
        if change is None:
            apply(self._database.setdefault(path, bytearray()), self._unsynced.pop(path, []))
        else:
            self._unsynced.setdefault(path, []).append(change)

    def forget(self, path: str) -> None:
        """Take in that a log was deleted."""
        self._database.pop(path, None)
        self._unsynced.pop(path, None)

    # Plain files

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._is_busy or event not in (
            "open",
            "os.rename",
            "os.remove",
            "os.link",
            "os.truncate",
        ):
            return
        path = arguments[0]
        if not isinstance(path, (str, os.PathLike)):
            return
        path = os.path.abspath(os.fspath(path))
        if not path.startswith(self._home) or _is_sqlite(Path(path)):
            return
        if event == "open" and not (arguments[2] or 0) & _CREATES:
            return
        self._is_busy = True
        try:
            self._change(event, path, arguments)
        finally:
            self._is_busy = False

    def _change(self, event: str, path: str, arguments: tuple[Any, ...]) -> None:
        self.at_event(path, event == "open" and path not in self._names)
        if event == "open" and path not in self._names:
            self._next += 1
            self._rename({path: self._next})
        elif event == "os.link" and path in self._names:
            self._rename({os.path.abspath(arguments[1]): self._names[path]})
        elif event == "os.rename" and path in self._names:
            self._rename({os.path.abspath(arguments[1]): self._names[path], path: None})
        elif event == "os.remove" and path in self._names:
            self._rename({path: None})

    def _rename(self, change: dict[str, int | None]) -> None:
        for path in change:  # what loses its name here may get it back in a power cut
            if path in self._names:
                self._gone[self._names[path]] = Path(path).read_bytes()
        self._renames.append(change)
        _follow(self._names, change)

    def _fsync(self, handle: int) -> None:
        path = os.readlink(f"/proc/self/fd/{handle}")
        if path.startswith(self._home) and not self._is_busy:
            self._is_busy = True
            try:
                self._take_sync(path, handle)
            finally:
                self._is_busy = False

    def _take_sync(self, path: str, handle: int) -> None:
        try:
            self.at_event(path, path in self._names)
        except OSError:  # what no longer fitted was not written
            os.truncate(path, os.fstat(handle).st_size // 2)
            raise
        if path in self._names:
            self._synced[self._names[path]] = Path(path).read_bytes()
        else:
            for change in self._renames:
                _follow(self._durable_names, change)
            self._renames = []

    # Faults

    def cut(self, image: Path) -> None:
        """Write the files as a power cut could leave them now."""
        self._is_busy = True
        for path in {*self._database, *self._unsynced}:
            held = bytearray(self._database.get(path, b""))
            apply(held, surviving(self._chance, self._unsynced.get(path, [])))
            self._put(image, path, held)
        names = dict(self._durable_names)
        for change in self._renames[: self._chance.randint(0, len(self._renames))]:
            _follow(names, change)
        for path, number in names.items():
            self._put(image, path, self._surviving(number))
        self._is_busy = False

    def _put(self, image: Path, path: str, data: bytes) -> None:
        target = image / os.path.relpath(path, self._home)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def _surviving(self, number: int) -> bytes:
        """Return what was synced, with any sectors of what was written since."""
        paths = [path for path, one in self._names.items() if one == number]
        new = (
            Path(paths[0]).read_bytes()
            if paths and os.path.exists(paths[0])
            else self._gone.get(number, b"")
        )
        old = self._synced.get(number, b"")
        if new == old or self._chance.random() < 0.3:
            return old
        size = self._chance.choice((len(old), len(new), self._chance.randint(0, len(new))))
        data = bytearray(old[:size].ljust(size, b"\0"))
        for at in range(0, size, _SECTOR):
            if self._chance.random() < 0.5:
                piece = new[at : min(at + _SECTOR, size)]
                data[at : at + len(piece)] = piece
        return bytes(data)


def refuse(path: str, grows: bool) -> None:
    """Refuse what does not fit on a full disk."""
    if grows and _is_sqlite(Path(path)):
        raise apsw.FullError("the disk is full")
    if grows:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def _is_sqlite(path: Path) -> bool:
    return path.suffix.startswith(".db")


def _follow(names: dict[str, int], change: dict[str, int | None]) -> None:
    for path, number in change.items():
        if number is None:
            names.pop(path, None)
        else:
            names[path] = number
