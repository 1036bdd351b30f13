"""The sessions that can be opened: those of a store, and those of agents' files.

A session of a file is copied into a store of its own, which is gone when the inspector stops: the
pages know one kind of session, and trying something changes no file and no store.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import log_event
from foldaway.agents.importers import sessions_in, take_all
from foldaway.errors import UnknownSession
from foldaway.gateway import ApiContext
from foldaway.gateway.inspector.background_work import BackgroundWork
from foldaway.stores import SessionFilter, SessionInfo, Store, open_store
from foldaway.usage import SpentSession

COPIES = "/inspector/copies"
"""Where the API for copies of sessions is."""
_PREFIX = "file-"
DEMO = "foldaway-demo"
"""The name of the session that shows what the pages do; it is among the copies."""
_FOLDER = "foldaway-open-"
"""The beginning of the name of a folder of copies; the number of its process follows."""
_DIGITS = 16
"""Of the mark of a session of a file: 64 bits tell any number of sessions apart."""
_MOST_RELATED = 200
"""Files of one conversation and its subagents that are copied with it."""

MakeContext = Callable[[Store], ApiContext]


class OpenedSession(Struct, frozen=True):
    """A session, and what it can be asked through."""

    api: ApiContext
    info: SessionInfo
    is_copy: bool
    """Whether it is a copy of a session of a file."""
    name: str = ""
    """That of a session of a file: it stays the same when the copy is made again."""

    @property
    def store(self) -> Store:
        """The store that holds it."""
        return self.api.store

    @property
    def address(self) -> str:
        """The address of its page."""
        return f"/inspector/session/{self.name or self.info.id}"

    def reference_address(self, reference: str) -> str:
        """Return where a reference of its leads to."""
        return f"{self.address}/reference/{reference}"


def file_name_of(session: SpentSession) -> str:
    """Return the name of a session of a file in addresses; it says nothing about the file."""
    said = repr((session.path, *session.key)).encode("utf-8", "replace")
    return _PREFIX + hashlib.blake2b(said, digest_size=_DIGITS // 2).hexdigest()


def _sweep() -> None:
    """Delete copies of processes that were killed before they could."""
    if os.name != "posix":
        return  # to ask for a process there would be to end it
    for left in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*-*"):
        number = left.name.removeprefix(_FOLDER).partition("-")[0]
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            shutil.rmtree(left, ignore_errors=True)
        except (OSError, ValueError, OverflowError):
            continue  # of another user, or not ours


class Shelf:
    """Opens sessions by name. Only sessions that were found can be named, never a path."""

    def __init__(self, api: ApiContext | None, make_context: MakeContext) -> None:
        """Begin with the sessions of a store, or with none."""
        self.api = api
        self._make, self._lock = make_context, threading.Lock()
        self._files: dict[str, SpentSession] = {}
        self._copies: ApiContext | None = None
        self._folder = ""
        self._taken: dict[str, tuple[int, float]] = {}
        self.copying = FileCopies(self._copy_file)

    @property
    def files(self) -> Sequence[SpentSession]:
        """The sessions of files that were found so far."""
        return tuple(self._files.values())

    def list_files(self) -> dict[str, SpentSession]:
        """Return the sessions of files by their names in addresses."""
        return self._files.copy()

    def add_files(self, found: Iterable[SpentSession]) -> None:
        """Offer sessions of files."""
        self._files |= {file_name_of(one): one for one in found}

    def open(self, name: str) -> OpenedSession:
        """Return a session by its id, the beginning of it, or the name of one of a file.

        Raises `UnknownSession` and whatever else a store raises for a name.
        """
        if name in self._files:
            return replace(self._open_file(self._files[name]), name=name)
        copies = self._copies
        if copies is not None:
            try:
                return OpenedSession(copies, copies.store.session(name), is_copy=True)
            except UnknownSession:
                pass
        if self.api is None:
            raise UnknownSession(name)
        return OpenedSession(self.api, self.api.find(name), is_copy=False)

    def copies(self) -> ApiContext:
        """Return what copies can be asked through; their store is made when it is first needed."""
        with self._lock:
            if self._copies is None:
                _sweep()
                self._folder = tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-")
                self._copies = self._make(open_store(Path(self._folder)))
            return self._copies

    def has_copies(self) -> bool:
        """Return whether a file was copied: for the search, or because it was opened."""
        return bool(self._taken)

    def is_copied(self, path: str) -> bool:
        """Return whether the sessions of a file have been copied; it may have grown since."""
        return path in self._taken

    def has_demo(self) -> bool:
        """Return whether the session that shows what the pages do is there."""
        wanted, copies = SessionFilter(kind="any", root_id=DEMO), self._copies
        return copies is not None and copies.store.count(wanted) > 0

    def show(self, text: str) -> str:
        """Return a text of a file that was not opened yet as it is shown: without secrets."""
        return (self.api or self.copies()).show(text)

    def close(self) -> None:
        """Delete the copies."""
        self.copying.close()
        if self._copies is not None:
            self._copies.store.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _open_file(self, session: SpentSession) -> OpenedSession:
        copies = self.copies()
        with self._lock:
            self._take(copies.store, self._find_related(session))
        for source_id in (session.source_id, Path(session.path).stem):
            info = copies.store.by_source(session.agent, source_id)
            if info is not None:
                return OpenedSession(copies, info, is_copy=True)
        return OpenedSession(copies, copies.store.find(session.source_id), is_copy=True)

    def _copy_file(self, path: str) -> None:
        store = self.copies().store
        with self._lock:
            self._take(store, [path])

    def _find_related(self, session: SpentSession) -> list[str]:
        """Return the files of a session, those it comes from and those that come from it."""
        keys, paths = {session.key}, {session.path: None}
        parents = {(session.agent, session.parent_id)}
        grows = True
        while grows and len(paths) < _MOST_RELATED:
            grows = False
            for one in self._files.values():
                is_child = (one.agent, one.parent_id) in keys
                if one.key not in keys and (is_child or one.key in parents):
                    keys.add(one.key)
                    paths[one.path] = None
                    parents.add((one.agent, one.parent_id))
                    grows = True
        return list(paths)

    def _take(self, store: Store, paths: Iterable[str]) -> None:
        """Copy the sessions of files, parents first; a file that did not change is left out."""
        changed = {path: state for path in paths if (state := self._changed_state(path))}
        found = chain.from_iterable(sessions_in(Path(path)) for path in changed)
        for _ in take_all(store, found):
            pass
        self._taken |= changed

    def _changed_state(self, path: str) -> tuple[int, float] | None:
        """Return the size and time of a file; None if it was copied so, or is gone."""
        try:
            about = Path(path).stat()
        except OSError:
            return None
        state = (about.st_size, about.st_mtime)
        return None if self._taken.get(path) == state else state


class FileCopies:
    """Copies files one after the other in a thread of its own."""

    def __init__(self, copy: Callable[[str], None]) -> None:
        """Take what copies the sessions of one file."""
        self._copy, self._is_closed = copy, False
        self.progress = BackgroundWork()

    def start(self, paths: Sequence[str]) -> None:
        """Copy these files, unless copying is under way."""
        if paths and self.progress.begin("copying", len(paths), "copying".__ne__):
            threading.Thread(target=self._run, args=(paths,), daemon=True).start()

    def close(self) -> None:
        """Stop after the file that is copied now."""
        self._is_closed = True

    def _run(self, paths: Sequence[str]) -> None:
        try:
            for at, path in enumerate(paths):
                if self._is_closed:
                    return
                self._copy(path)
                self.progress.set(done=at + 1)
            self.progress.set(step="ready")
        except Exception as error:  # noqa: BLE001 the boundary of a thread: the page says it
            self.progress.set(step="failed")
            log_event("inspector.failed", fault=type(error).__name__)
