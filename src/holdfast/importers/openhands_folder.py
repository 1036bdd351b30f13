"""OpenHands keeps each event of a conversation in a file of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from holdfast.dialects.limits import DEFAULT_LIMITS, Limits
from holdfast.importers import openhands
from holdfast.importers.files import read_object
from holdfast.importers.imported import ImportedSession, Note
from holdfast.importers.loose import fields, text
from holdfast.importers.values import with_notes

_NUMBER = re.compile(r"(?:event-)?(\d{1,12})(?:-[\w-]*)?\.json")


def is_folder(folder: Path) -> bool:
    """Return whether this is the folder of a conversation: one with `events` in it."""
    events = folder / "events"
    try:
        return events.is_dir() and any(_NUMBER.fullmatch(path.name) for path in events.iterdir())
    except OSError:
        return False


def read_folder(
    folder: Path, limits: Limits = DEFAULT_LIMITS, *, follow_links: bool = False
) -> Iterator[ImportedSession]:
    """Yield the conversation whose events are in the folder, in the order of their numbers."""
    notes: list[Note] = []
    root = "" if follow_links else os.path.realpath(folder)
    numbered: list[tuple[int, Path]] = []
    for path in (folder / "events").iterdir():
        found = _NUMBER.fullmatch(path.name)
        if found is not None:
            numbered.append((int(found.group(1)), path))
    events = [read_object(path, root, limits, notes) for _, path in sorted(numbered)]
    state = read_object(folder / "base_state.json", root, limits, notes)
    model = text(fields(fields(state.get("agent")).get("llm")).get("model"))
    read = openhands.read_events(events, str(folder), source_id=folder.name, model=model)
    yield from with_notes(read, notes)
