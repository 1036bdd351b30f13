"""OpenHands keeps each event of a conversation in a file of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from holdfast.dialects.jsontext import parse
from holdfast.errors import NotReadable
from holdfast.importers import openhands
from holdfast.importers.imported import ImportedSession
from holdfast.importers.loose import fields, text
from holdfast.transcript import Payload

_NUMBER = re.compile(r"(?:event-)?(\d{1,12})(?:-[\w-]*)?\.json")


def is_folder(folder: Path) -> bool:
    """Return whether this is the folder of a conversation: one with `events` in it."""
    events = folder / "events"
    try:
        return events.is_dir() and any(_NUMBER.fullmatch(path.name) for path in events.iterdir())
    except OSError:
        return False


def read_folder(folder: Path) -> Iterator[ImportedSession]:
    """Yield the conversation whose events are in the folder, in the order of their numbers."""
    numbered: list[tuple[int, Path]] = []
    for path in (folder / "events").iterdir():
        found = _NUMBER.fullmatch(path.name)
        if found is not None:
            numbered.append((int(found.group(1)), path))
    events = [_parsed(path) for _, path in sorted(numbered)]
    state = _parsed(folder / "base_state.json")
    model = text(fields(fields(state.get("agent")).get("llm")).get("model"))
    yield from openhands.read_events(events, str(folder), source_id=folder.name, model=model)


def _parsed(path: Path) -> Payload:
    try:
        return fields(parse(path.read_bytes()))
    except (OSError, NotReadable):
        return {}
