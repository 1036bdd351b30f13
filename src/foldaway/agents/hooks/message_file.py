"""Facts in a file that an agent reads before each of its requests."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from foldaway._core import PRIVATE, make_private_folder, replacing


def refresh(file: str, mark: str, compacted: float, facts: Callable[[], str]) -> None:
    """Have a file tell the facts of a session that was compacted at a time, 0 for never.

    It is written once for each compaction, begins with `mark`, and is removed if the session has
    lost nothing: the agent that had it before was another. A file of somebody else stays.
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
