"""A file that gets its name only when it is whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.disk import sync_folder
from holdfast.errors import StoreUnavailable


@contextmanager
def drafted(path: str, suffix: str) -> Generator[str]:
    """Give the name of an empty file beside `path`, which takes its place if the body is through.

    Raises `StoreUnavailable` where none can be made. What SQLite leaves beside it goes too.
    """
    folder = os.path.dirname(os.path.abspath(path))
    try:
        number, draft = tempfile.mkstemp(dir=folder, prefix=".holdfast-", suffix=suffix)
    except OSError as error:
        raise StoreUnavailable(
            path,
            f"the backup cannot be written ({error.strerror})",
            remedy="name a folder that exists and can be written",
        ) from error
    os.close(number)
    try:
        yield draft
        os.replace(draft, path)
        sync_folder(Path(folder))
    finally:
        for leftover in (draft, f"{draft}-wal", f"{draft}-shm"):
            with suppress(FileNotFoundError):
                os.unlink(leftover)
