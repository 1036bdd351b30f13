"""Folders whose settings the user trusts: by real path, and by the hash of the file's content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from foldaway._core import PRIVATE, replacing, sync_folder
from foldaway.errors import NotWritable

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
