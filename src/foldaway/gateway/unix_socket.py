"""A Unix socket for the owner alone: the system says which user is at the other end."""

from __future__ import annotations

import os
import socket
import stat
import struct
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from foldaway._core import PRIVATE, make_private_folder
from foldaway.errors import StoreUnavailable
from foldaway.gateway.guard import PEER_UID
from foldaway.gateway.slow_clients import TimedConnection

_CREDENTIALS = struct.Struct("iII")
"""What Linux tells of a peer: process, user, group."""


class KnownPeer(TimedConnection):
    """A connection that knows the user at the other end, if it came through a Unix socket."""

    def connection_made(self, transport: Any) -> None:
        """Note who it is for every request of the connection."""
        super().connection_made(transport)
        peer = transport.get_extra_info("socket")
        if peer is not None and peer.family == getattr(socket, "AF_UNIX", None):
            self.app_state = {**self.app_state, PEER_UID: _uid_of(peer)}


def _uid_of(peer: Any) -> int:
    """Return the user of a peer. On systems that do not say, the mode of the socket lets in nobody
    but us.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return os.geteuid()
    told = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return _CREDENTIALS.unpack(told)[1]


@contextmanager
def listen_on_path(path: Path) -> Generator[socket.socket]:
    """Give a socket that only this user can connect to; it is gone at the end.

    Raises `StoreUnavailable` if others could put theirs in its place, or one listens there.
    """
    with socket.socket(socket.AF_UNIX) as listening:
        try:
            make_private_folder(path.parent)
            _make_free(path)
            listening.bind(str(path))
            os.chmod(path, PRIVATE)  # nobody can connect before `listen`
            listening.listen(1_024)
        except OSError as error:
            raise _store_error(path, error.strerror or str(error)) from None
        try:
            yield listening
        finally:
            remove_paths((listening,))


def remove_paths(sockets: Iterable[socket.socket]) -> None:
    """Remove the files of Unix sockets that are about to be closed."""
    for one in sockets:
        with suppress(OSError):
            if one.family == getattr(socket, "AF_UNIX", None):
                os.unlink(one.getsockname())


def _make_free(path: Path) -> None:
    """Remove a socket that nobody listens on any more."""
    folder = path.parent.stat()
    if folder.st_mode & 0o022 or folder.st_uid not in (0, os.geteuid()):
        raise _store_error(path, "others can write in its folder")
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise _store_error(path, "is there already and not a socket")
        with socket.socket(socket.AF_UNIX) as asking:
            if asking.connect_ex(str(path)) == 0:
                raise _store_error(path, "another gateway listens there")
        path.unlink()


def _store_error(path: Path, what: str) -> StoreUnavailable:
    return StoreUnavailable(str(path), what, remedy="choose another place with --socket")
