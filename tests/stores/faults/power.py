"""A disk that loses what was not synced.

    python power.py FOLDER CUTS SEED

A worker writes to a store in FOLDER/live through a VFS that remembers what was synced. At CUTS
random writes and syncs the files are written to FOLDER/0, FOLDER/1 … as a power cut could leave
them: of what was not synced nothing, a beginning, some writes in any order, or one torn in the
middle survives. Beside each stand the lines that were acknowledged by then.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import apsw
from worker import Worker

from foldaway.stores.open import open_store

_SECTOR = 512
_EVENTS = 1500
"""Writes and syncs from one cut to the next, at most."""


class Disk:
    """All files below a folder: what is durable, and what was written since."""

    def __init__(self, folder: Path, cuts: int, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        self.durable: dict[str, bytearray] = {}
        self.pending: dict[str, list[tuple[int, bytes | None]]] = {}
        self.acknowledged: list[str] = []
        self.left = cuts
        self.cut = 0
        self.events = self._next()

    def _next(self) -> int:
        # half of the cuts soon after the last one: within the same commit
        return self.random.choice((self.random.randint(1, 40), self.random.randint(1, _EVENTS)))

    def note(self, path: str, change: tuple[int, bytes | None] | None) -> None:
        """Take in a write (place and bytes), a truncation (size and None) or a sync (None)."""
        if change is None:
            apply(self.durable.setdefault(path, bytearray()), self.pending.pop(path, []))
        else:
            self.pending.setdefault(path, []).append(change)
        self.events -= 1
        if not self.events and self.left:
            self._write_image()
            self.events = self._next()

    def forget(self, path: str) -> None:
        """Take in that a file was deleted."""
        self.durable.pop(path, None)
        self.pending.pop(path, None)

    def _write_image(self) -> None:
        image = self.folder / str(self.cut)
        image.mkdir()
        for path in {*self.durable, *self.pending}:
            held = bytearray(self.durable.get(path, b""))
            apply(held, surviving(self.random, self.pending.get(path, [])))
            (image / Path(path).name).write_bytes(held)
        (image / "acknowledged").write_text("\n".join(self.acknowledged))
        self.cut += 1
        self.left -= 1


def surviving(
    chance: random.Random, pending: list[tuple[int, bytes | None]]
) -> list[tuple[int, bytes | None]]:
    """Return what a power cut leaves of changes that were not synced."""
    fate = chance.choice(("none", "beginning", "some", "torn"))
    if fate == "none" or not pending:
        return []
    if fate == "some":
        return [change for change in pending if chance.random() < 0.5]
    kept = pending[: chance.randint(0, len(pending))]
    if fate == "torn" and kept:
        at, data = kept[-1]
        if data is not None:
            size = chance.choice((len(data) // 2, chance.randrange(0, len(data) + 1, _SECTOR)))
            kept[-1] = (at, data[:size])
    return kept


def apply(held: bytearray, changes: list[tuple[int, bytes | None]]) -> None:
    """Do to a file what was asked."""
    for at, data in changes:
        if data is None:
            del held[at:]
            continue
        if len(held) < at:
            held.extend(bytes(at - len(held)))
        held[at : at + len(data)] = data


class Files(apsw.VFS):
    """The files of the system, every change noted."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        super().__init__("cut", "unix", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return File(self.disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        self.disk.forget(filename)


class File(apsw.VFSFile):
    """One of them."""

    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self.disk = disk
        self.path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.disk.note(self.path, (offset, bytes(data)))  # first: a full disk refuses here
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self.disk.note(self.path, (newsize, None))

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.disk.note(self.path, None)  # the real disk need not turn for it


def main() -> None:
    """Work until all images are written."""
    folder, cuts, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    disk = Disk(folder, cuts, seed)
    files = Files(disk)
    store = open_store(folder / "live")
    worker = Worker(store, f"c{seed}", seed, disk.acknowledged.append)
    while disk.left:
        worker.step()
    store.close()
    files.unregister()


if __name__ == "__main__":
    main()
