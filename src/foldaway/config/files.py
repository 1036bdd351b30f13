"""Settings files: where they are, and what is taken from each.

A file that the user named or keeps in the configuration folder is taken as a whole, and a mistake
in it is an error. The foldaway.toml of the current folder is content like the rest of the folder:
only `FOLDER_MAY_SET` is taken from it, and a mistake in it is a warning, so that a folder can
neither give orders nor make every command fail.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import platformdirs
from msgspec import Struct

from foldaway._core import PRIVATE, replacing, sync_folder
from foldaway.config.sections import (
    FOLDER_MAY_SET,
    SECTIONS,
    TABLES,
    Given,
    Ignored,
    SettingsFile,
    State,
    Whose,
    check_range,
    check_type,
    find_setting,
    unknown_setting,
)
from foldaway.errors import InvalidSetting, NotReadable, NotWritable

FILE_NAME = "foldaway.toml"
FOLDER_FILE_BYTES = 16_384
"""The most that is read of a folder's file: four times the settings of docs/settings.md with all
their comments. The costliest TOML known, one key of 8,000 dots, takes 1.2 CPU seconds at that size,
and 22 at four times that size."""
_NAMED_KEYS = 8
"""Ignored settings that a warning names; a folder can hold thousands."""
_WARNING_CHARS = 300
"""Of what a folder's file can put into a warning."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class FileRead(Struct, frozen=True):
    """What was taken from a file, and what the user should be told about it."""

    file: SettingsFile
    given: Mapping[str, Given]
    warnings: tuple[str, ...] = ()


def read_files(named: str, environment: Mapping[str, str]) -> list[FileRead]:
    """Return what the files say, later ones over earlier ones.

    `named` is read alone; without it the user's own file and then the folder's are read. Raises
    `InvalidSetting` and `NotReadable`, but never because of what is in an untrusted folder.
    """
    if named:
        return [_read_whole(named, "named", environment)]
    own = user_file(environment)
    found = [_read_whole(own, "own", environment)] if os.path.isfile(own) else []
    if os.path.isfile(FILE_NAME):
        found.append(_read_folder(environment))
    return found


def user_file(environment: Mapping[str, str]) -> str:
    """Return the name of the settings file in the user's configuration folder, there or not."""
    home = environment.get("HOME") or os.path.expanduser("~")
    given = environment.get("XDG_CONFIG_HOME", "")
    # a relative one would be a folder below the current folder; its standard says to ignore it
    folder = given if os.path.isabs(given) else os.path.join(home, ".config")
    return os.path.join(folder, "foldaway", "config.toml")


def _read_folder(environment: Mapping[str, str]) -> FileRead:
    """Return what may be taken from the current folder's file; the rest is said and ignored."""
    name = FILE_NAME
    try:
        data = _read_bounded(name)
        tables = _parse(data, name)
    except NotReadable as error:
        file = SettingsFile(name, "folder", "broken", (Ignored("", error.what),))
        return FileRead(file, {}, (_plain(f"{name} in this folder is ignored: {error.what}"),))
    trusted = read_trusted_hash(os.curdir, environment) if _not_allowed(tables) else ""
    if trusted and trusted == hash_of(data):
        given = dict(_take(tables, name, environment))
        return FileRead(SettingsFile(name, "folder", "trusted"), given)
    given, ignored, mistakes = _take_allowed(tables, name)
    refused = [one.key for one in ignored]
    ignored += [
        Ignored(_plain(error.name.removeprefix(f"{name}: ")), _plain(str(error)))
        for error in mistakes
    ]
    state: State = "changed" if trusted else "restricted" if ignored else "applied"
    return FileRead(
        SettingsFile(name, "folder", state, tuple(ignored)),
        given,
        tuple(_warnings(refused, mistakes, has_changed=bool(trusted))),
    )


def _read_bounded(name: str | Path) -> bytes:
    """Return the bytes of a folder's file, or raise `NotReadable`.

    Links are followed, but only a file of at most `FOLDER_FILE_BYTES` is read: no pipe or device
    in its place keeps anybody waiting.
    """
    try:
        handle = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise NotReadable("does not exist", where=str(name), remedy="check the folder") from None
    except OSError as error:
        raise _not_readable(str(name), f"it cannot be read ({error.strerror})") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _not_readable(str(name), "it is not a file")
    with os.fdopen(handle, "rb") as file:
        data = file.read(FOLDER_FILE_BYTES + 1)
    if len(data) > FOLDER_FILE_BYTES:
        raise _not_readable(str(name), f"it is larger than {FOLDER_FILE_BYTES:,} bytes")
    return data


def _parse(data: bytes, name: str) -> dict[str, object]:
    """Return the tables of a file, or raise `NotReadable`."""
    try:
        tables = tomllib.loads(data.decode())
        repr(tables)  # errors quote values, and Python writes no number of thousands of digits
    except UnicodeDecodeError:
        raise _not_readable(name, "it is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise _not_readable(name, f"it is not TOML: {error}") from None
    except ValueError:
        raise _not_readable(name, "a number in it is too long") from None
    except RecursionError:
        raise _not_readable(name, "it is nested too deeply") from None
    return tables


def review_folder(
    folder: str | Path, environment: Mapping[str, str] | None = None
) -> tuple[bytes, dict[str, object]]:
    """Return the settings file of a folder and what in it needs the user's trust, as written there.

    Raises `NotReadable` and `InvalidSetting`: a file with a mistake is not to be trusted.
    """
    name = os.path.join(folder, FILE_NAME)
    data = _read_bounded(name)
    tables = _parse(data, name)
    for key, one in _take(tables, name, os.environ if environment is None else environment):
        check_range(key, one)
    return data, _not_allowed(tables)


def _not_allowed(tables: Mapping[str, object]) -> dict[str, object]:
    """Return the settings, as they are written, that only a trusted folder may set."""
    return {
        f"{section}.{key}": value
        for section, held in tables.items()
        if section in SECTIONS and isinstance(held, dict)
        for key, value in cast("dict[str, object]", held).items()
        if _is_known(section, key, value) and f"{section}.{key}" not in FOLDER_MAY_SET
    }


def _read_whole(name: str, whose: Whose, environment: Mapping[str, str]) -> FileRead:
    try:
        data = Path(name).read_bytes()
    except FileNotFoundError:
        raise NotReadable("does not exist", where=name, remedy="check the name") from None
    except OSError as error:
        raise _not_readable(name, f"cannot be read ({error.strerror})") from None
    given = dict(_take(_parse(data, name), name, environment))
    return FileRead(SettingsFile(name, whose), given)


def _take(
    tables: Mapping[str, object], name: str, environment: Mapping[str, str]
) -> Iterator[tuple[str, Given]]:
    for section, held in tables.items():
        for key, value in _keys(section, held, name).items():
            origin = f"{name}: {section}.{key}"
            if section in TABLES and isinstance(value, dict):
                table = _fill_in(cast("object", value), origin, environment)
                yield f"{section}.{key}", Given(table, origin)
            elif full := find_setting(section, key):
                yield full, check_type(section, full.partition(".")[2], value, origin)
            else:
                raise unknown_setting(section, key, value, name)


def _take_allowed(
    tables: Mapping[str, object], name: str
) -> tuple[dict[str, Given], list[Ignored], list[InvalidSetting]]:
    """Return what a folder may set, what it may not, and its mistakes."""
    refused = _not_allowed(tables)
    given: dict[str, Given] = {}
    mistakes: list[InvalidSetting] = []
    for section, held in tables.items():
        try:
            keys = _keys(section, held, name)
        except InvalidSetting as error:
            mistakes.append(error)
            continue
        for key, value in keys.items():
            if f"{section}.{key}" in refused:
                continue
            try:
                found = dict(_take({section: {key: value}}, name, {}))
                for full, one in found.items():
                    check_range(full, one)
                given |= found
            except InvalidSetting as error:
                mistakes.append(error)
    why = "only the user's own settings may set it, or a trusted folder"
    return given, [Ignored(_plain(key), why) for key in sorted(refused)], mistakes


def _keys(section: str, held: object, name: str) -> dict[str, object]:
    if section not in SECTIONS:
        raise InvalidSetting.unknown(
            f"[{section}]",
            [f"[{known}]" for known in SECTIONS],
            value=held,
            kind="section",
            where=name,
        )
    if not isinstance(held, dict):
        raise InvalidSetting(f"{name}: {section}", held, f"a section: [{section}]")
    return cast("dict[str, object]", held)


def _is_known(section: str, key: str, value: object) -> bool:
    return bool(find_setting(section, key)) or (section in TABLES and isinstance(value, dict))


def _warnings(
    refused: Sequence[str], mistakes: Sequence[InvalidSetting], *, has_changed: bool
) -> Iterator[str]:
    """Yield at most two lines: what the folder may not set, and what it has wrong."""
    if refused:
        named = ", ".join(refused[:_NAMED_KEYS])
        more = f" and {len(refused) - _NAMED_KEYS} more" if len(refused) > _NAMED_KEYS else ""
        why = (
            "it has changed since you trusted it"
            if has_changed
            else "a folder may only tune compaction"
        )
        yield (
            f"{FILE_NAME} in this folder: ignored {_plain(named)}{more}: {why}. To see what it "
            f"sets and allow it, run: foldaway config trust ."
        )
    if mistakes:
        more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
        yield f"{_plain(f'ignored a setting of this folder: {mistakes[0]}')}{more}"


def _fill_in(value: object, origin: str, environment: Mapping[str, str]) -> object:
    """Return options in which `${NAME}` is that variable: keys need not stand in a file."""
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        return {key: _fill_in(one, f"{origin}.{key}", environment) for key, one in table.items()}
    if isinstance(value, list):
        return [_fill_in(one, origin, environment) for one in cast("list[object]", value)]
    if not isinstance(value, str):
        return value
    for name in _VARIABLE.findall(value):
        if name not in environment:
            said = f"{origin} uses ${{{name}}}, but the variable {name} is not set"
            raise InvalidSetting(origin, value, "without it", message=said)
    return _VARIABLE.sub(lambda found: environment[found.group(1)], value)


def _plain(text: str) -> str:
    """Return what a folder may have worded, short and without control codes."""
    shown = "".join(char if char.isprintable() else "�" for char in text[:_WARNING_CHARS])
    return shown if len(text) <= _WARNING_CHARS else f"{shown}…"


def _not_readable(name: str, what: str) -> NotReadable:
    return NotReadable(what, where=name, remedy="mend the settings file")


HOME_VARIABLE = "FOLDAWAY_HOME"
_RECORDS = "trusted"
"""The folder in Foldaway's home with one record for each trusted folder."""


def home_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of everything that Foldaway keeps; it need not exist."""
    surroundings = os.environ if environment is None else environment
    named = surroundings.get(HOME_VARIABLE, "")
    return Path(named) if named else platformdirs.user_data_path("foldaway", appauthor=False)


def read_trusted_hash(folder: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """Return the hash of the settings that the user trusted in a folder, "" if there is none."""
    path = _record(folder, environment)
    if not path.is_absolute():  # it would be in the current folder, whose author could write it
        return ""
    try:
        return path.read_bytes().partition(b"\n")[0].decode("ascii", "replace")
    except OSError:
        return ""


def hash_of(data: bytes) -> str:
    """Return what stands for the content of a settings file."""
    return hashlib.sha256(data).hexdigest()


def trust_folder(
    folder: str | Path, data: bytes, environment: Mapping[str, str] | None = None
) -> None:
    """Trust the settings of a folder as long as they are `data`, or raise `NotWritable`.

    The record, a line with the hash and one with the folder, is for its owner alone, and is on
    the disk when this returns.
    """
    path = _record(folder, environment)
    if not path.is_absolute():
        raise NotWritable(
            str(path), "is not an absolute path", remedy=f"set {HOME_VARIABLE} to an absolute path"
        )
    record = b"%s\n%s\n" % (hash_of(data).encode(), os.fsencode(os.path.realpath(folder)))
    try:
        for parent in (path.parent.parent, path.parent):
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(path, PRIVATE, private=True) as file:
            file.write(record)
    except OSError as error:
        raise NotWritable(str(path), f"cannot be written ({error.strerror})") from None


def untrust_folder(folder: str | Path, environment: Mapping[str, str] | None = None) -> bool:
    """Forget that a folder was trusted; return whether it was."""
    path = _record(folder, environment)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise NotWritable(
            str(path), f"cannot be removed ({error.strerror})", remedy="the folder is still trusted"
        ) from None
    sync_folder(path.parent)
    return True


def _record(folder: str | Path, environment: Mapping[str, str] | None) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
    return home_folder(environment) / _RECORDS / name
