"""OpenCode's own stores: a folder of many small files, or the database that replaced it."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.dialects.limits import DEFAULT_LIMITS, Limits
from holdfast.importers import opencode
from holdfast.importers.databases import AgentDatabase
from holdfast.importers.files import leads_out, read_object
from holdfast.importers.imported import ImportedSession, Note
from holdfast.importers.loose import fields, parsed, text
from holdfast.importers.values import with_notes
from holdfast.transcript import Payload

TABLES = {
    "session": {"id", "title"},
    "message": {"id", "session_id", "data"},
    "part": {"id", "message_id", "session_id", "data"},
}


def is_folder(folder: Path) -> bool:
    """Return whether this is OpenCode's `storage`."""
    return (folder / "session").is_dir() and (folder / "message").is_dir()


def read_folder(
    folder: Path, limits: Limits = DEFAULT_LIMITS, *, follow_links: bool = False
) -> Iterator[ImportedSession]:
    """Yield the sessions of a `storage` folder, each put together as an export would be.

    What a link or an id puts outside the folder is not read.
    """
    notes: list[Note] = []
    root = "" if follow_links else os.path.realpath(folder)

    def read(path: Path) -> Payload:
        return read_object(path, root, limits, notes)

    def files(kind: str, name: str) -> list[Path]:
        inside = folder / kind / name
        is_ours = Path(name).name == name and not (root and leads_out(inside, root))
        return sorted(inside.glob("*.json")) if is_ours else []

    for path in sorted((folder / "session").rglob("*.json")):
        info = read(path)
        own = text(info.get("id")) or path.stem
        messages: list[Payload] = []
        for each in files("message", own):
            parts = [read(part) for part in files("part", each.stem)]
            messages.append({"info": read(each), "parts": parts})
        found = opencode.read({"info": {**info, "id": own}, "messages": messages}, str(path))
        yield from with_notes(found, notes)


def read_database(database: AgentDatabase, path: str) -> Iterator[ImportedSession]:
    """Yield the sessions of an `opencode.db`, each put together as an export would be."""
    for session in database.rows("session", order="id"):
        own = session["id"]
        parts: dict[Any, list[Payload]] = {}
        for row in database.rows("part", where="session_id", value=own, order="id"):
            parts.setdefault(row["message_id"], []).append({**_object(row), "id": row["id"]})
        messages = [
            {"info": {**_object(row), "id": row["id"]}, "parts": parts.get(row["id"], [])}
            for row in database.rows("message", where="session_id", value=own, order="id")
        ]
        info = {**session, "parentID": session.get("parent_id")}
        yield from opencode.read({"info": info, "messages": messages}, path)


def _object(row: Payload) -> Payload:
    return fields(parsed(row.get("data")))
