"""A run of the lab: all sessions through all strategies, in a folder that can be gone on with.

run.json        what was asked, and of which sessions
progress.jsonl  rows of finished sessions, as they came; gone when all are done
rows.jsonl      all rows, in the order of the sessions
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from holdfast.errors import NotReadable, NotWritable
from holdfast.lab.rows import Row
from holdfast.lab.scoring.elsewhere import common
from holdfast.lab.scoring.needed import Elsewhere
from holdfast.lab.scoring.session import Session
from holdfast.lab.session_rows import Terms, session_rows

MANIFEST, PROGRESS, ROWS = "run.json", "progress.jsonl", "rows.jsonl"
FORMAT = 1

Tell: TypeAlias = Callable[[int, int], None]
"""Told how many sessions are done, and of how many."""
MakeTerms: TypeAlias = Callable[[], Terms]
"""Makes what is asked, in the process that works: peers and models cannot be sent to it."""


class Manifest(Struct, frozen=True, kw_only=True):
    """What a run was asked; another run may go on in its folder only where this is the same."""

    format: int = FORMAT
    version: str
    strategies: tuple[str, ...]
    budgets: tuple[float, ...]
    peer_budgets: tuple[float, ...]
    main: float
    drifting: tuple[str, ...]
    asked: dict[str, str]
    """Further settings that change figures: model, summariser, peers."""
    sessions: tuple[str, ...]
    digest: str
    """Of the text of all sessions that were read, also of those that were not run."""


class _Finished(Struct, frozen=True):
    session: str
    rows: list[Row]


def digest_of(sessions: Sequence[Session]) -> str:
    """Return a hash of all that the sessions say."""
    found = hashlib.sha256()
    for session in sessions:
        found.update(msgspec.json.encode(session))
    return found.hexdigest()[:16]


def run(
    folder: Path,
    sessions: Sequence[Session],
    manifest: Manifest,
    make_terms: MakeTerms,
    *,
    known: Iterable[Session],
    jobs: int,
    tell: Tell,
) -> list[Row]:
    """Return the rows of all sessions; those that the folder has already are not made again.

    `known` are the sessions that say what is common knowledge: these and others beside them.
    Raises `NotWritable` where the folder holds another run. A stop at any time loses at most the
    sessions that are being worked on.
    """
    _claim(folder, manifest)
    done = _finished(folder / PROGRESS) if not (folder / ROWS).exists() else _read_rows(folder)
    waiting = [session for session in sessions if session.id not in done]
    tell(len(sessions) - len(waiting), len(sessions))
    if waiting:
        elsewhere = common(known)
        with (folder / PROGRESS).open("ab") as progress:
            for finished in _worked(waiting, elsewhere, make_terms, jobs):
                done[finished.session] = finished.rows
                progress.write(msgspec.json.encode(finished) + b"\n")
                progress.flush()
                tell(len(done), len(sessions))
    rows = [row for session in sessions for row in done[session.id]]
    write_whole(folder / ROWS, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    (folder / PROGRESS).unlink(missing_ok=True)
    return rows


def read_run(folder: Path) -> tuple[Manifest, list[Row]]:
    """Return a finished run; raises `NotReadable`."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
        rows = [row for rows in _read_rows(folder).values() for row in rows]
    except FileNotFoundError as error:
        raise NotReadable(
            f"holds no finished run ({Path(str(error.filename)).name} is missing)",
            where=str(folder), remedy="give the folder of `holdfast lab run -o`",
        ) from None  # fmt: skip
    except (OSError, msgspec.DecodeError) as error:
        raise NotReadable(
            f"is not a run of the lab ({type(error).__name__})", where=str(folder),
            remedy="run the lab again in another folder",
        ) from None  # fmt: skip
    return manifest, rows


def _claim(folder: Path, manifest: Manifest) -> None:
    """Make the folder this run's, or find that it is."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / MANIFEST
    made = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    if not path.exists():
        write_whole(path, made + b"\n")
        return
    try:
        there = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        there = None
    if there != manifest:
        raise NotWritable(
            str(folder), "holds another run of the lab; give another folder, or delete this one"
        )


def _finished(path: Path) -> dict[str, list[Row]]:
    """Return the rows of sessions that were done; a torn last line is none."""
    found: dict[str, list[Row]] = {}
    if not path.exists():
        return found
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    for line in whole.splitlines():
        finished = msgspec.json.decode(line, type=_Finished)
        found[finished.session] = finished.rows
    return found


def _read_rows(folder: Path) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for line in (folder / ROWS).read_bytes().splitlines():
        row = msgspec.json.decode(line, type=Row)
        found.setdefault(row.session, []).append(row)
    return found


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(f".{path.name}.part")
    draft.write_bytes(data)
    draft.replace(path)


_held: list[Any] = []
"""What a worker keeps for all its sessions: common knowledge, and what is asked."""


def _begin(elsewhere: Elsewhere, make_terms: MakeTerms) -> None:
    _held[:] = [elsewhere, make_terms()]


def _work(session: Session) -> _Finished:
    elsewhere, terms = _held
    return _Finished(session.id, session_rows(session, elsewhere, terms))


def _worked(
    sessions: Sequence[Session], elsewhere: Elsewhere, make_terms: MakeTerms, jobs: int
) -> Iterator[_Finished]:
    """Yield sessions as they are done, the largest begun first."""
    order = sorted(sessions, key=lambda session: -session.tokens)
    if jobs == 1 or len(order) == 1:
        _begin(elsewhere, make_terms)
        yield from map(_work, order)
        return
    with ProcessPoolExecutor(
        min(jobs, len(order)), multiprocessing.get_context("spawn"), _begin, (elsewhere, make_terms)
    ) as pool:
        waiting = {pool.submit(_work, session): session.id for session in order}
        try:
            for future in as_completed(waiting):
                yield future.result()
        except BrokenProcessPool:
            pool.shutdown(wait=False, cancel_futures=True)
            raise NotWritable(
                "the lab", "a worker died (out of memory?); run again to go on, with fewer --jobs"
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
