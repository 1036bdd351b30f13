"""Who read, changed and deleted what through the API and the pages: lines of JSON without content.

Requests that were refused are not in it: a stranger could push out everything else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from starlette.types import Message, Scope, Send

from foldaway._core import PRIVATE, log_event, make_private_folder
from foldaway.dialects import dump_bytes

CHANGED = "foldaway.changed"
"""Where a request has the ids of the sessions that it changed."""
_MOST_BYTES, _MOST_CHARS = 5_000_000, 500
"""Of the file before it is renamed, about 30,000 lines, and of an address. Chosen."""
_QUIET = ("/inspector/static/", "/inspector/live/state")
"""What a page asks for again and again, or what names no session."""


class Audit:
    """Adds lines to a file; one older file is kept beside it."""

    def __init__(self, path: Path, most_bytes: int = _MOST_BYTES) -> None:
        """Take where the lines go."""
        self._path, self._most_bytes = path, most_bytes

    def wrap_send(self, scope: Scope, who: str, send: Send) -> Send:
        """Return what sends an answer and adds its line as soon as its status is known."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = scope.get("path_params", {}).get("id", "")[:_MOST_CHARS]
                what = f"{scope['method']} {scope['path']}"[:_MOST_CHARS]
                self.add(who, what, scope.get(CHANGED) or [named] * bool(named), message["status"])
            await send(message)

        return send if scope["path"].startswith(_QUIET) else sending

    def add(self, who: str, what: str, sessions: Sequence[str], status: int) -> None:
        """Add a line. A full disk stops nobody from reading their own sessions; it is logged."""
        line = {
            "time": time.time(),
            "who": who,
            "what": what,
            "sessions": sessions,
            "status": status,
        }
        try:
            make_private_folder(self._path.parent)
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE)
            with os.fdopen(handle, "wb", buffering=0) as file:
                file.write(dump_bytes(line) + b"\n")
                is_full = file.tell() > self._most_bytes
                # another gateway may have renamed it since it was opened
                if is_full and os.path.samestat(os.fstat(handle), self._path.stat()):
                    os.replace(self._path, f"{self._path}.1")
        except OSError as error:
            log_event("gateway.audit_failed", fault=type(error).__name__)
