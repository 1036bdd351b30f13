"""What would be written into a settings file, and writing it; the file as it was is kept."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

from msgspec import DecodeError, Struct
from msgspec import json as msgspec_json
from msgspec.structs import replace

from foldaway._core import PRIVATE, make_private_folder, replace_file, replacing
from foldaway.agents.installing import json_text, toml_text, yaml_text
from foldaway.agents.installing.json_text import NotEditable
from foldaway.agents.installing.programs import NAME, PACKAGE, Addition
from foldaway.agents.known import Form, KnownAgent
from foldaway.errors import NotReadable, NotWritable


class _Text(NamedTuple):
    """How an entry is found in a text, put in and taken out."""

    entry: Callable[[str, Sequence[str]], object]
    put: Callable[[str, Sequence[str], Any], str]
    take: Callable[[str, Sequence[str]], str]


class _ListText(NamedTuple):
    """How the elements of a list are found in a text, put in and taken out."""

    items: Callable[[str, Sequence[str]], object]
    put: Callable[[str, Sequence[str], Any], str]
    take: Callable[[str, Sequence[str], Callable[[object], bool]], str]


_FORMS: Mapping[Form, _Text] = {
    "json": _Text(json_text.entry, json_text.put, json_text.take),
    "toml": _Text(toml_text.entry, toml_text.put, toml_text.take),
    "yaml": _Text(yaml_text.entry, yaml_text.put, yaml_text.take),
}
_LISTS: Mapping[Form, _ListText] = {
    "json": _ListText(json_text.entry, json_text.put_item, json_text.take_items),
    "yaml": _ListText(yaml_text.items, yaml_text.put_item, yaml_text.take_items),
}
_MOST_BYTES = 64 << 20
"""A settings file that is larger is something else; chosen."""


class FileChange(Struct, frozen=True, kw_only=True):
    """A settings file before and after; None for a file that is not there."""

    client: KnownAgent
    path: Path
    before: bytes | None
    after: bytes | None
    additions: tuple[Addition, ...] = ()
    """What is put in or taken out."""
    left: tuple[Addition, ...] = ()
    """What is left out, because the user has something else there."""
    is_restored: bool = False
    """Whether the file becomes, byte for byte, what it was before the installation."""

    @property
    def shown(self) -> list[tuple[str, str]]:
        """What is put in, and its text, for people."""
        return [(one.what, _text_of(one)) for one in self.additions]

    def install(self, home: Path) -> Path | None:
        """Write it and return where the file as it was is kept, None if there was none.

        If an earlier installation is in the file, and nobody changed it since, what was before
        that one is kept. Raises `NotWritable`.
        """
        assert self.after is not None
        folder = _folder(self, home)
        record = _record(folder)
        goes_on = record is not None and _is_last(record, self)
        wrote = tuple(one.what for one in self.additions)
        try:
            if record is None or not goes_on:
                make_private_folder(folder)
                with replacing(folder / "before", PRIVATE, private=True) as file:
                    file.write(self.before or b"")
                existed = self.before is not None
            else:
                existed = record.existed
                wrote = tuple(dict.fromkeys((*record.wrote, *wrote)))
            _keep(folder, _Record(str(self.path), _digest(self.after), existed, wrote))
        except OSError as error:
            raise _cannot_write(folder, error) from error
        try:
            _write(self)
        except NotWritable:
            if record is not None and goes_on:
                _keep(folder, record)
            else:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder / "before" if existed else None

    def uninstall(self, home: Path) -> None:
        """Write it, and let go of what was kept for it; raises `NotWritable`.

        What was kept stays as long as something else of ours is in the file.
        """
        _write(self)
        folder = _folder(self, home)
        record = _record(folder)
        gone = {one.what for one in self.additions}
        left = () if record is None else tuple(one for one in record.wrote if one not in gone)
        if record is not None and left and self.after is not None and _is_last(record, self):
            _keep(folder, replace(record, written=_digest(self.after), wrote=left))
            return
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # other files of the same program may have something kept
            folder.parent.rmdir()


class _Record(Struct, frozen=True):
    """What an installation wrote, next to the file as it was before."""

    path: str
    written: str
    """The SHA-256 of the file afterwards."""
    existed: bool
    wrote: tuple[str, ...] = ()
    """What of ours is in the file."""


def entry_of(addition: Addition) -> Any:
    """Return what a settings file has where an addition is; None if it has nothing.

    Raises `NotReadable`.
    """
    return settings_at(addition.file, addition.form, addition.path)


def settings_at(file: Path, form: Form, keys: Sequence[str]) -> Any:
    """Return what a settings file has under a path of keys, all of it if its form is "whole"."""
    path, data = _read(file)
    text = _text(path, data)
    try:
        return text if form == "whole" else _FORMS[form].entry(text, keys)
    except NotEditable as why:
        raise NotReadable(f"it cannot be read ({why})", where=str(path)) from None


def _text_of(addition: Addition) -> str:
    if addition.is_copy:
        return f"{len(str(addition.value).splitlines())} lines of {PACKAGE}\n"
    if addition.form == "whole":
        return f"{str(addition.value).rstrip()}\n"
    if addition.is_item:
        return f"{'.'.join(addition.path)}: {json.dumps(addition.value, ensure_ascii=False)}\n"
    return _FORMS[addition.form].put("", addition.path, addition.value)


def plan_install(client: KnownAgent, additions: Sequence[Addition]) -> list[FileChange]:
    """Return what puts additions in, a change for each file; none if all are there already.

    Raises `NotReadable` if a file cannot be read or changed safely, or has another entry of our
    name.
    """
    found: list[FileChange] = []
    for file in dict.fromkeys(one.file for one in additions):
        path, before = _read(file)
        text = _text(path, before)
        new: list[Addition] = []
        left: list[Addition] = []
        for one in (one for one in additions if one.file == file):
            try:
                after = _put(text, one, client, path)
            except NotEditable as why:
                raise _by_hand(path, why, one) from None
            if after is None:
                left.append(one)
            elif after != text:
                text = after
                new.append(one)
        if new or left:
            after = text.encode() if new else before
            found.append(
                FileChange(
                    client=client,
                    path=path,
                    before=before,
                    after=after,
                    additions=tuple(new),
                    left=tuple(left),
                )
            )
    return found


def _put(text: str, one: Addition, client: KnownAgent, path: Path) -> str | None:
    """Return a text with an addition, the same if it is there, None if it is left out."""
    if one.form == "whole":
        if not text or _is_ours(text):
            return str(one.value)
        if one.is_optional:
            return None
        raise NotEditable("it is not ours")
    if one.is_item:
        form = _LISTS[one.form]
        there = form.items(text, one.path)
        rows = cast("list[object]", there) if isinstance(there, list) else []
        if [row for row in rows if _is_ours(row)] == [one.value]:
            return text
        return form.put(form.take(text, one.path, _is_ours), one.path, one.value)
    form = _FORMS[one.form]
    there = form.entry(text, one.path)
    if there == _entry_with(one, one.value):
        return text
    if there is None:
        return form.put(text, one.path, one.value)
    is_default = one.instead is not None and there == _entry_with(one, one.instead)
    if one.is_optional and not is_default and not _is_ours(there):
        return None
    if one.is_optional:
        return form.put(form.take(text, one.path), one.path, one.value)
    raise NotReadable(
        f"there is another entry {'.'.join(one.path)}",
        where=str(path),
        remedy=f"run `foldaway mcp uninstall {client.name}` first",
    )


def _entry_with(one: Addition, value: Any) -> object:
    """Return what would be found in a settings file with a value in the place of an addition."""
    form = _FORMS[one.form]
    return form.entry(form.put("", one.path, value), one.path)


_OURS = re.compile(
    r"foldaway(?:-agents|_sessions_|\.hermes\b|\.agents\b|'? (?:hook|statusline|completion)\b)"
)
"""What only we write: how our commands, our tools and our plug-in are called."""


def _is_ours(value: object) -> bool:
    """Return whether what is under a key that is not ours alone was written by us."""
    return value == NAME or _OURS.search(json.dumps(value, ensure_ascii=False)) is not None


def plan_uninstall(
    client: KnownAgent, additions: Sequence[Addition], home: Path
) -> list[FileChange]:
    """Return what takes additions out; none if none of them is there.

    A file that nobody changed since the installation becomes what it was, byte for byte, unless
    something else of ours stays in it.
    """
    found: list[FileChange] = []
    for file in dict.fromkeys(one.file for one in additions):
        path, now = _read(file)
        if now is None or NAME.encode() not in now:
            continue
        text = _text(path, now)
        gone: list[Addition] = []
        for one in (one for one in additions if one.file == file):
            try:
                after = _take(text, one)
            except NotEditable as why:
                raise NotReadable(
                    f"it cannot be changed safely ({why})",
                    where=str(path),
                    remedy=f"remove {'.'.join(one.path) or 'it'} by hand; nothing was written",
                ) from None
            if after != text:
                text = after
                gone.append(one)
        if gone:
            found.append(_remove_from(client, path, now, text, tuple(gone), home))
    return found


def _remove_from(
    client: KnownAgent, path: Path, now: bytes, text: str, gone: tuple[Addition, ...], home: Path
) -> FileChange:
    is_whole = gone[0].form == "whole"
    change = FileChange(
        client=client,
        path=path,
        before=now,
        after=None if is_whole else text.encode(),
        additions=gone,
    )
    folder = _folder(change, home)
    record = _record(folder)
    if record is None or (record.path, record.written) != (str(path), _digest(now)):
        return change
    if {one.what for one in gone} < set(record.wrote):  # something of ours stays
        return change
    before = _bytes(folder / "before") if record.existed else None
    return replace(change, after=before, is_restored=True)


def _take(text: str, one: Addition) -> str:
    """Return a text without an addition, the same if it is not there or not ours."""
    if one.form == "whole":
        return "" if _is_ours(text) else text
    if one.is_item:
        return _LISTS[one.form].take(text, one.path, _is_ours)
    form = _FORMS[one.form]
    there = form.entry(text, one.path)
    if one.is_optional and there != _entry_with(one, one.value) and not _is_ours(there):
        return text
    return form.take(text, one.path)


def _is_last(record: _Record, change: FileChange) -> bool:
    """Return whether a file is what the recorded installation left."""
    now = (str(change.path), _digest(change.before or b""))
    return (record.path, record.written) == now


def _keep(folder: Path, record: _Record) -> None:
    with replacing(folder / "record.json", PRIVATE, private=True) as file:
        file.write(msgspec_json.encode(record))


def _write(change: FileChange) -> None:
    """Replace the file if it is still what was read; a link stays a link."""
    path = change.path
    new = path.with_name(f".foldaway-{secrets.token_hex(6)}.tmp")
    old = path.with_name(f".foldaway-{secrets.token_hex(6)}.old")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if change.after is None:
            _refuse_changed(path, _bytes(path), change)
            path.unlink()
            if path.parent.name == NAME:  # a folder of ours; others stay
                with suppress(OSError):
                    path.parent.rmdir()
            return
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
        with os.fdopen(handle, "wb") as file:
            file.write(change.after)
            file.flush()
            if change.before is not None:
                like = path.stat()
                os.fchown(file.fileno(), like.st_uid, like.st_gid)
                os.fchmod(file.fileno(), like.st_mode & 0o777)
            elif any(one.is_program for one in change.additions):
                os.fchmod(file.fileno(), 0o700)
            os.fsync(file.fileno())
        replace_file(new, path, old, must_keep=True)
        found = _bytes(old) if old.exists() else None
        if found != change.before and found is not None:
            replace_file(old, path, new, must_keep=False)
            _refuse_changed(path, found, change)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        for one in (new, old):
            one.unlink(missing_ok=True)


def _refuse_changed(path: Path, found: bytes | None, change: FileChange) -> None:
    if found != change.before:
        raise NotWritable(
            str(path),
            "another program changed it at this moment",
            remedy="nothing was written; run the same command again",
        )


def _cannot_write(path: Path, error: OSError) -> NotWritable:
    return NotWritable(
        str(path),
        f"it cannot be written ({error.strerror or error})",
        remedy="nothing was changed; change its permissions, or those of its folder",
    )


def _read(file: Path) -> tuple[Path, bytes | None]:
    """Return a settings file, links resolved, and what is in it."""
    path = file
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


def _by_hand(path: Path, why: NotEditable, one: Addition) -> NotReadable:
    return NotReadable(
        f"it cannot be changed safely ({why})",
        where=str(path),
        remedy=f"nothing was written; add {'.'.join(one.path) or 'it'} by hand: "
        f"{json.dumps(one.value, ensure_ascii=False)}",
    )


def _folder(change: FileChange, home: Path) -> Path:
    return home / "installed" / change.client.name / change.path.name


def _record(folder: Path) -> _Record | None:
    try:
        return msgspec_json.decode((folder / "record.json").read_bytes(), type=_Record)
    except (OSError, DecodeError):
        return None
