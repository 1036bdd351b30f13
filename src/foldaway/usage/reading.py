"""The sessions of a machine: the agents' files, each read once and again only after it changed,
and the sessions of the store that no file holds.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from sys import intern
from typing import TypeVar

import msgspec
import zstandard
from msgspec import Struct

from foldaway._core import PRIVATE, make_private_folder, replacing
from foldaway.agents.importers import ImportedSession, files_in, sessions_in
from foldaway.agents.known import find_agent
from foldaway.errors import NotReadable, UnknownSession
from foldaway.sessions import decode_rows, name_in_words, usage_in
from foldaway.stores import SessionFilter, SessionInfo, Store, TurnUsage
from foldaway.transcript import Message
from foldaway.usage.record import (
    PromptFigures,
    SpentAnswer,
    SpentSession,
    count_session,
    mark_of,
    prompt_figures,
    spent_answer,
    title_of,
)

T = TypeVar("T")
Tell = Callable[[int, int], None]
"""Takes how much is done so far, and of how much."""
FILE_NAME = "usage.cache"
_SESSIONS_AT_ONCE = 500
_STORED = "#"
"""In the place of the path of a stored session."""
_MARK = "@"
"""Before the mark that an import adds to an id that another session has already."""


class Judgement(Struct, frozen=True, array_like=True, kw_only=True):
    """What a replay and the lab found in one session; figures in dollars."""

    agent: str = ""
    source_id: str = ""
    usd_as_it_was: float = 0.0
    usd_with_foldaway: float = 0.0
    used_later: int = 0
    """Files from before a compaction of the agent that it used afterwards."""
    named: int = 0
    """Of those, the ones that its summary names."""
    compactions: int = 0
    """Compactions that were looked at."""


class ReadSource(Struct, frozen=True, array_like=True, gc=False):
    """What a file, folder or stored session held when it had this size and time."""

    state: tuple[int, int, int]
    sessions: tuple[SpentSession, ...] = ()
    problem: str = ""
    judgements: tuple[Judgement, ...] = ()


class StoredUsage(Struct, frozen=True, array_like=True, gc=False):
    """What a stored session used when its log had this length, time and number of requests."""

    key: int
    state: tuple[int, int, int]
    answers: tuple[SpentAnswer, ...]
    prompts: PromptFigures


class UsageCache(Struct, array_like=True):
    """Everything that was read, by path; safe to delete."""

    version: str
    """That of Foldaway: another one may read the same file in another way."""
    sources: dict[str, ReadSource] = {}
    stored: dict[str, bytes] = {}
    """Stored sessions, packed some hundred together: only those of one pack are in memory."""
    reports: dict[str, tuple[str, bytes]] = {}
    """What was made of all of it, each with the mark of what was there."""


class UsageReader:
    """Reads sessions through a cache in a private file."""

    def __init__(self, folder: Path, version: str) -> None:
        """Load what this version read before; a file that cannot be read counts as empty."""
        self._file = folder / FILE_NAME
        self._cache = _load(self._file, version)
        self._used: dict[str, ReadSource] = {}
        self._packs: dict[str, bytes] = {}

    @property
    def problems(self) -> list[str]:
        """What could not be read, a sentence each."""
        return [one.problem for one in self._used.values() if one.problem]

    def read_files(self, places: Iterable[Path], tell: Tell) -> list[SpentSession]:
        """Return the sessions of all files in these places, and of those in projects that were
        read before: what somebody used does not depend on the current folder.
        """
        states = self._states(places)
        waiting = {path: state for path, state in states.items() if not self._has(path, state)}
        total, done = sum(state[0] for state in waiting.values()), 0
        for path, state in waiting.items():
            self._cache.sources[path] = _read(Path(path), state)
            done += state[0]
            tell(done, total)
        self._used |= {path: self._cache.sources[path] for path in states}
        return [one for path in states for one in self._used[path].sessions]

    def _states(self, places: Iterable[Path]) -> dict[str, tuple[int, int, int]]:
        found = [path for place in places for path in files_in(place)]
        return {os.path.abspath(path): _state(Path(path)) for path in (*found, *self._projects())}

    def _projects(self) -> list[str]:
        """Return the files in projects that were read before and are still there."""
        return [
            path
            for path, source in self._cache.sources.items()
            if any(find_agent(one.agent).files.in_project for one in source.sessions)
            and os.path.exists(path)
        ]

    def read_store(
        self,
        store: Store,
        native: Sequence[SpentSession],
        tell: Tell = lambda done, total: None,
        look: Callable[[SessionInfo], None] = lambda info: None,
    ) -> Iterator[SpentSession]:
        """Yield the sessions of a store without copies of native ones.

        If the agent's file says nothing about usage and the store does, the store counts. `tell`
        is told the sessions that were looked at, and `look` each of them.
        """
        done, told, last, total = 0, 0, 0, store.count(SessionFilter(kind="any"))
        known = {(one.agent, one.source_id): bool(one.answers) for one in native}
        while page := store.recorded(last, _SESSIONS_AT_ONCE):
            number = page[0][0] // _SESSIONS_AT_ONCE  # the same pack if some are erased meanwhile
            page = [row for row in page if row[0] // _SESSIONS_AT_ONCE == number]
            name = f"{store.where}#{number}"
            old = {one.key: one for one in _unpack(self._cache.stored.get(name))}
            pack: list[StoredUsage] = []
            for last, info, requests in page:
                done += 1
                look(info)
                has_answers = known.get((info.source, info.source_id.partition(_MARK)[0]))
                if has_answers or (has_answers is not None and not requests):
                    continue
                state = info.length, int(info.updated * 1e6), requests
                found = old.get(last)
                if found is None or found.state != state:
                    made = count_stored_session(store, info, store.usage(info.id))
                    found = StoredUsage(last, state, made.answers, made.prompts)
                    tell(told := done, total)
                pack.append(found)
                yield _stored_session(store, info, found.answers, found.prompts)
            if told < done:
                tell(done, total)
            packed = self._cache.stored.get(name)
            is_same = packed is not None and pack == list(old.values())
            self._packs[name] = packed if packed and is_same else _squeeze(pack)

    def mark(self, places: Iterable[Path], store: Path) -> str:
        """Return what changes with any file of an agent, the store, the day, and the prices."""
        files, database = sorted(self._states(places).items()), (str(store), _database_state(store))
        told = repr((files, database, date.today(), time.tzname, _version_of_prices()))
        return hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=16).hexdigest()

    def recall(self, question: str, mark: str, kind: type[T]) -> T | None:
        """Return what was made for a question, if nothing has changed since."""
        known, packed = self._cache.reports.get(question, ("", b""))
        return msgspec.msgpack.decode(packed, type=kind) if known == mark else None

    def remember(self, question: str, mark: str, made: object) -> None:
        """Keep what was made for a question; `save` writes it."""
        self._cache.reports[question] = mark, msgspec.msgpack.encode(made)

    def _has(self, name: str, state: tuple[int, int, int]) -> bool:
        """Return whether something was read as it is; what could not be read is tried again."""
        known = self._cache.sources.get(name)
        return known is not None and known.state == state and not known.problem

    def judgement(self, session: SpentSession) -> Judgement | None:
        """Return what was found in a session before; None if it has changed since, or never."""
        source = self._cache.sources.get(session.path)
        for one in source.judgements if source else ():
            if (one.agent, one.source_id) == (session.agent, session.source_id):
                return one
        return None

    def keep(self, session: SpentSession, found: Judgement) -> None:
        """Keep what was found in a session of a file."""
        source = self._cache.sources.get(session.path)
        if source is not None:
            changed = msgspec.structs.replace(source, judgements=(*source.judgements, found))
            self._cache.sources[session.path] = self._used[session.path] = changed

    def save(self, *, is_whole: bool) -> None:
        """Write what was read, without what is no longer there if all of it was looked at.

        A home that cannot be written to is no error: everything is read again next time. So is a
        file whose name or title has half of a surrogate pair.
        """
        known = self._cache
        kept = self._used if is_whole else known.sources
        packs = self._packs if is_whole else known.stored | self._packs
        try:
            make_private_folder(self._file.parent)
            with replacing(self._file, PRIVATE, private=True) as file:
                file.write(_pack(UsageCache(known.version, kept, packs, known.reports)))
        except OSError:
            return


def _database_state(place: Path) -> list[tuple[str, int, int]]:
    """Return the sizes and times of a database, or of those in a folder, and of their logs; a
    reader leaves an empty log behind.
    """
    folder, names = (place, "*.db*") if place.is_dir() else (place.parent, f"{place.name}*")
    try:
        found = [(path.name, path.stat()) for path in sorted(folder.glob(names))]
    except OSError:  # a log that is gone by now
        return []
    return [
        (name, about.st_size, about.st_mtime_ns)
        for name, about in found
        if about.st_size and not name.endswith("-shm")
    ]


def _version_of_prices() -> str:
    try:
        return version("genai-prices")
    except PackageNotFoundError:
        return ""


def _squeeze(pack: list[StoredUsage]) -> bytes:
    return zstandard.compress(msgspec.msgpack.encode(pack), 1)


def _unpack(pack: bytes | None) -> list[StoredUsage]:
    if not pack:
        return []
    return msgspec.msgpack.decode(zstandard.decompress(pack), type=list[StoredUsage])


def _pack(cache: UsageCache) -> bytes:
    """Return a cache as bytes; a name or title that is not valid Unicode is not kept in it."""
    try:
        return msgspec.msgpack.encode(cache)
    except UnicodeEncodeError:
        kept = {name: one for name, one in cache.sources.items() if _is_unicode((name, one))}
        return msgspec.msgpack.encode(UsageCache(cache.version, kept, cache.stored))


def _is_unicode(value: object) -> bool:
    try:
        msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def _load(file: Path, version: str) -> UsageCache:
    try:
        found = msgspec.msgpack.decode(file.read_bytes(), type=UsageCache)
    except (OSError, msgspec.MsgspecError):
        found = None
    return found if found and found.version == version else UsageCache(version, {})


def _state(path: Path) -> tuple[int, int, int]:
    """Return the size, newest time and number of the files of a path; a log beside it counts."""
    inside = [Path(where) / name for where, _, names in os.walk(path) for name in names]
    size = newest = count = 0
    for one in inside or (path, path.with_name(f"{path.name}-wal")):
        try:
            about = one.stat()
        except OSError:
            continue
        size, newest, count = size + about.st_size, max(newest, about.st_mtime_ns), count + 1
    return size, newest, count


def _read(path: Path, state: tuple[int, int, int]) -> ReadSource:
    sessions: list[SpentSession] = []
    problem = ""
    for one in sessions_in(path):
        if isinstance(one, NotReadable):
            problem = str(one)
        else:
            sessions.append(msgspec.structs.replace(count_session(one), path=str(path)))
    return ReadSource(state, tuple(sessions), problem)


def read_again(session: SpentSession) -> ImportedSession | None:
    """Return a session with its messages, read from its file; None if it is not there any more."""
    for one in sessions_in(session.path):
        if isinstance(one, ImportedSession) and one.source_id == session.source_id:
            return one
    return None


def count_stored_session(
    store: Store, info: SessionInfo, turns: Sequence[TurnUsage]
) -> SpentSession:
    """Return what a stored session used by its requests, or by what its messages say."""
    rows = store.read(info.id)
    own = [row for row in rows if row.owner_id in ("", info.id)]
    messages = list(decode_rows(rows, info.dialect)) if info.dialect else list[Message]()
    turns = turns or usage_in(own)
    calls = [turn.position for turn in turns]
    views = [at for at, turn in enumerate(turns) if at and turn.view != turns[at - 1].view]
    compacted = [at for at in views if turns[at].view > turns[at - 1].view]  # not an undo
    generated = [at for at, row in enumerate(rows) if row.generated]
    first = turns[0].input_tokens if turns else 0
    found = _stored_session(
        store,
        info,
        tuple(
            spent_answer(
                turn,
                mark_of(info.source, info.id, messages, turn),
                model=turn.model or info.model,
                follows_compaction=at in compacted,
            )
            for at, turn in enumerate(turns)
        ),
        prompt_figures(
            messages,
            calls,
            sorted([*generated, *(turns[at].position for at in views)]),
            first,
            is_part=bool(info.parent_id and info.forked_at),
        ),
    )
    return msgspec.structs.replace(found, title=title_of(name_in_words(info), messages))


def _stored_session(
    store: Store, info: SessionInfo, answers: tuple[SpentAnswer, ...], prompts: PromptFigures
) -> SpentSession:
    return SpentSession(
        agent=intern(info.source or "foldaway"),
        source_id=info.source_id or info.id,
        path=_STORED,
        project=intern(info.cwd),
        started=info.started,
        parent_id=_parent_name(store, info),
        is_subagent=info.kind == "subagent",
        answers=answers,
        prompts=prompts,
    )


def _parent_name(store: Store, info: SessionInfo) -> str:
    """Return the id that the agent gave the session that this one comes from, "" without one."""
    try:
        parent = store.session(info.parent_id) if info.parent_id else None
    except UnknownSession:
        parent = None
    return (parent.source_id or parent.id) if parent else ""
