"""The secret for whatever shows or changes conversations, in a file that only its owner can read.

Gateways of one home share it, and our own clients read it; only the owner and root can, too.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from foldaway._core import PRIVATE, make_private_folder, replacing
from foldaway.errors import StoreUnavailable

_NAME = "api-token"
_LEAST_CHARS, _MOST_BYTES = 32, 1_000
"""Of a token; ours have 43 characters."""
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""No link is followed, and nobody waits for the other end of a pipe."""


def token_file(home: Path) -> Path:
    """Return where the token of a home is."""
    return home / _NAME


def make_token(home: Path) -> str:
    """Return the token of a home, made if there is none; of several makers the first one wins.

    Raises `StoreUnavailable` if it cannot be kept, or others may know it.
    """
    path = token_file(home)
    draft = path.with_name(f".{_NAME}-{secrets.token_hex(6)}.tmp")
    try:
        if not os.path.lexists(path):
            make_private_folder(home)
            with replacing(draft, PRIVATE, private=True) as file:
                file.write(secrets.token_urlsafe(32).encode())
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            except OSError:  # a file system without links: of several makers the last one wins
                os.replace(draft, path)
    except OSError as error:
        why = error.strerror or str(error)
        remedy = "choose a folder that you can write with --home or FOLDAWAY_HOME"
        raise StoreUnavailable(str(path), f"cannot be written ({why})", remedy=remedy) from None
    finally:
        with suppress(OSError):
            draft.unlink()
    return read_token(home)


def read_token(home: Path) -> str:
    """Return the token of a home, "" if it has none; raises `StoreUnavailable` if it is not ours
    alone.
    """
    path = token_file(home)
    try:
        handle = os.open(path, os.O_RDONLY | _PLAIN)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise _store_error(path, error.strerror or str(error)) from None
    try:
        found = os.fstat(handle)
        is_ours = not hasattr(os, "geteuid") or (
            found.st_uid == os.geteuid() and not found.st_mode & 0o077
        )
        if not (stat.S_ISREG(found.st_mode) and is_ours):
            raise _store_error(path, "is not a file that its owner alone can read")
        token = os.read(handle, _MOST_BYTES).decode("ascii", "replace").strip()
    finally:
        os.close(handle)
    if len(token) < _LEAST_CHARS:
        raise _store_error(path, "is too short for a token")
    return token


def _store_error(path: Path, what: str) -> StoreUnavailable:
    return StoreUnavailable(str(path), what, remedy="delete it, and the next start makes a new one")
