"""What would be written into a settings file, and writing it; the file as it was is kept."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import DecodeError, Struct
from msgspec import json as msgspec_json

from holdfast.disk import PRIVATE, make_private_folder, replace_file, replacing
from holdfast.errors import NotReadable, NotWritable
from holdfast.installing import json_text, toml_text, yaml_text
from holdfast.installing.clients import NAME, Client, Form
from holdfast.installing.plain import NotEditable


class _Text(NamedTuple):
    """How an entry is found in a text, put in and taken out."""

    entry: Callable[[str, Sequence[str]], object]
    put: Callable[[str, Sequence[str], dict[str, Any]], str]
    take: Callable[[str, Sequence[str]], str]


_FORMS: Mapping[Form, _Text] = {
    "json": _Text(json_text.entry, json_text.put, json_text.take),
    "toml": _Text(toml_text.entry, toml_text.put, toml_text.take),
    "yaml": _Text(yaml_text.entry, yaml_text.put, yaml_text.take),
}
_MOST_BYTES = 64 << 20
"""A settings file that is larger is something else; chosen."""


class FileChange(Struct, frozen=True, kw_only=True):
    """A settings file before and after; None for a file that is not there."""

    client: Client
    path: Path
    before: bytes | None
    after: bytes | None
    is_restored: bool = False
    """Whether the file becomes, byte for byte, what it was before the installation."""


class _Record(Struct, frozen=True):
    """What an installation wrote, next to the file as it was before."""

    path: str
    written: str
    """The SHA-256 of the file afterwards."""
    existed: bool


def entry_text(client: Client, entry: Mapping[str, Any]) -> str:
    """Return an entry as it is written, for people."""
    return _FORMS[client.form].put("", client.path, dict(entry))


def plan_install(
    client: Client, entry: Mapping[str, Any], environment: Mapping[str, str]
) -> FileChange | None:
    """Return what puts an entry in; None if the very entry is there already.

    Raises `NotReadable` if the file cannot be read or changed safely, or has another entry of our
    name.
    """
    path, before = _read(client, environment)
    text = _text(path, before)
    form, value = _FORMS[client.form], dict(entry)
    try:
        there = form.entry(text, client.path)
        if there == form.entry(form.put("", client.path, value), client.path):
            return None
        if there is not None:
            raise NotReadable(
                f"there is another entry {'.'.join(client.path)}",
                where=str(path),
                remedy=f"run `holdfast mcp uninstall {client.name}` first",
            )
        after = form.put(text, client.path, value)
    except NotEditable as why:
        raise _by_hand(path, why, client, value) from None
    return FileChange(client=client, path=path, before=before, after=after.encode())


def plan_uninstall(client: Client, home: Path, environment: Mapping[str, str]) -> FileChange | None:
    """Return what takes our entry out; None if it is not there.

    A file that nobody changed since the installation becomes what it was, byte for byte.
    """
    path, now = _read(client, environment)
    if now is None or NAME.encode() not in now:
        return None
    record = _record(client, home)
    if record is not None and (record.path, record.written) == (str(path), _digest(now)):
        before = _bytes(_folder(client, home) / "before") if record.existed else None
        return FileChange(client=client, path=path, before=now, after=before, is_restored=True)
    text = _text(path, now)
    try:
        after = _FORMS[client.form].take(text, client.path).encode()
    except NotEditable as why:
        raise NotReadable(
            f"it cannot be changed safely ({why})",
            where=str(path),
            remedy=f"remove {'.'.join(client.path)} by hand; nothing was written",
        ) from None
    return None if after == now else FileChange(client=client, path=path, before=now, after=after)


def apply_install(change: FileChange, home: Path) -> Path | None:
    """Write a change and return where the file as it was is kept, None if there was none.

    Raises `NotWritable`.
    """
    assert change.after is not None
    folder = _folder(change.client, home)
    kept = folder / "before"
    record = _Record(str(change.path), _digest(change.after), change.before is not None)
    try:
        make_private_folder(folder)
        with replacing(kept, PRIVATE, private=True) as file:
            file.write(change.before or b"")
        with replacing(folder / "record.json", PRIVATE, private=True) as file:
            file.write(msgspec_json.encode(record))
    except OSError as error:
        raise _not_written(folder, error) from error
    try:
        _write(change)
    except NotWritable:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return kept if change.before is not None else None


def apply_uninstall(change: FileChange, home: Path) -> None:
    """Write a change, and let go of what was kept for it; raises `NotWritable`."""
    _write(change)
    shutil.rmtree(_folder(change.client, home), ignore_errors=True)


def _write(change: FileChange) -> None:
    """Replace the file if it is still what was read; a link stays a link."""
    path = change.path
    new = path.with_name(f".holdfast-{secrets.token_hex(6)}.tmp")
    old = path.with_name(f".holdfast-{secrets.token_hex(6)}.old")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if change.after is None:
            _refuse_changed(path, _bytes(path), change)
            path.unlink()
            return
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
        with os.fdopen(handle, "wb") as file:
            file.write(change.after)
            file.flush()
            if change.before is not None:
                like = path.stat()
                os.fchown(file.fileno(), like.st_uid, like.st_gid)
                os.fchmod(file.fileno(), like.st_mode & 0o777)
            os.fsync(file.fileno())
        replace_file(new, path, old, must_keep=True)
        found = _bytes(old) if old.exists() else None
        if found != change.before and found is not None:
            replace_file(old, path, new, must_keep=False)
            _refuse_changed(path, found, change)
    except OSError as error:
        raise _not_written(path, error) from error
    finally:
        for one in (new, old):
            one.unlink(missing_ok=True)


def _refuse_changed(path: Path, found: bytes | None, change: FileChange) -> None:
    if found != change.before:
        raise NotWritable(
            str(path), "another program changed it at this moment",
            remedy="nothing was written; run the same command again",
        )  # fmt: skip


def _not_written(path: Path, error: OSError) -> NotWritable:
    return NotWritable(
        str(path), f"it cannot be written ({error.strerror or error})",
        remedy="nothing was changed; change its permissions, or those of its folder",
    )  # fmt: skip


def _read(client: Client, environment: Mapping[str, str]) -> tuple[Path, bytes | None]:
    """Return the settings file of a client, links resolved, and what is in it."""
    path = client.settings_file(environment)
    try:
        path = path.resolve()
        if path.is_file() and path.stat().st_size > _MOST_BYTES:
            raise NotReadable("it is too large for settings", where=str(path))
        return path, _bytes(path)
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", "") or "its links go in a circle"
        raise NotReadable(
            f"it cannot be read ({why})", where=str(path), remedy="change its permissions"
        ) from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _text(path: Path, data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError:
        raise NotReadable(
            "it is not UTF-8", where=str(path), remedy="save it as UTF-8; nothing was written"
        ) from None


def _by_hand(path: Path, why: NotEditable, client: Client, entry: dict[str, Any]) -> NotReadable:
    return NotReadable(
        f"it cannot be changed safely ({why})",
        where=str(path),
        remedy=f"nothing was written; add {'.'.join(client.path)} by hand: "
        f"{json.dumps(entry, ensure_ascii=False)}",
    )


def _folder(client: Client, home: Path) -> Path:
    return home / "installed" / client.name


def _record(client: Client, home: Path) -> _Record | None:
    try:
        return msgspec_json.decode(
            (_folder(client, home) / "record.json").read_bytes(), type=_Record
        )
    except (OSError, DecodeError):
        return None
