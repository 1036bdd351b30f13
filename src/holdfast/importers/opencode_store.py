"""OpenCode's own stores: a folder of many small files, or the database that replaced it."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.dialects.jsontext import parse
from holdfast.errors import NotReadable
from holdfast.importers import opencode
from holdfast.importers.databases import Database
from holdfast.importers.imported import ImportedSession
from holdfast.importers.loose import fields, parsed, text
from holdfast.transcript import Payload

TABLES = {
    "session": {"id", "title"},
    "message": {"id", "session_id", "data"},
    "part": {"id", "message_id", "session_id", "data"},
}


def is_folder(folder: Path) -> bool:
    """Return whether this is OpenCode's `storage`."""
    return (folder / "session").is_dir() and (folder / "message").is_dir()


def read_folder(folder: Path) -> Iterator[ImportedSession]:
    """Yield the sessions of a `storage` folder, each put together as an export would be."""
    for path in sorted((folder / "session").rglob("*.json")):
        info = _parsed(path)
        own = text(info.get("id")) or path.stem
        messages: list[Payload] = []
        for each in sorted((folder / "message" / own).glob("*.json")):
            parts = sorted((folder / "part" / each.stem).glob("*.json"))
            messages.append({"info": _parsed(each), "parts": [_parsed(part) for part in parts]})
        yield from opencode.read({"info": {**info, "id": own}, "messages": messages}, str(path))


def read_database(database: Database, path: str) -> Iterator[ImportedSession]:
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


def _parsed(path: Path) -> Payload:
    try:
        return fields(parse(path.read_bytes()))
    except (OSError, NotReadable):
        return {}
