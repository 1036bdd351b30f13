"""Files that are whole on the disk, or not there."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from holdfast.disk import sync_folder
from holdfast.errors import NotWritable

STATE, METRICS = ".holdfast", "metrics"
"""Folders in the folder of a batch."""
MANIFEST = "manifest.json"
DRAFT = ".tmp"
GO_ON = "what is finished stays; run the same command again to go on"


def write_synced(path: Path, data: bytes) -> None:
    """Put `data` under its name when all of it is on the disk, or raise `NotWritable`.

    The draft has the number of this process in its name: another one cannot take it away.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}{DRAFT}")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        what = f"cannot be written ({error.strerror or error})"
        raise NotWritable(str(path), what, remedy=GO_ON) from None
