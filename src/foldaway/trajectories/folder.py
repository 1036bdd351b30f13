"""The folder of a batch: whose it is, what is done in it, and which record killed a process.

manifest.json       what was asked; only the same may go on here
part-00000.jsonl    records, in the order of the input; 00001 …
metrics/            what was done with each of them, a line a record
quarantine.jsonl    records that were not written, where they were, and why
report.json         sums; ratios.png if matplotlib is installed
.foldaway/          which shards are done, answers of a model, records of an earlier run
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import __version__, sync_folder
from foldaway.errors import FoldawayError, NotReadable, NotWritable
from foldaway.trajectories.policy import BatchSettings, Tally

try:
    import fcntl
except ImportError:  # not on Windows: there nothing keeps two runs apart
    fcntl = None

STATE, METRICS = ".foldaway", "metrics"
"""Folders in the folder of a batch."""
ANSWERS, EARLIER = "answers", "before"
"""Folders in its state folder."""
MANIFEST, REPORT, QUARANTINE, RATIOS = (
    "manifest.json",
    "report.json",
    "quarantine.jsonl",
    "ratios.png",
)
DRAFT = ".tmp"
BYTES_READ = f".read{DRAFT}"
"""In the state folder: how many bytes are read, if another process than the parent reads."""
GO_ON = "what is finished stays; run the same command again to go on"
FORMAT = 2
"""Of the manifest; a folder of another format is refused."""
DEATHS = 3
"""Processes that must die on a record before it is given up: somebody may have killed one or two
of them, or the machine was short of memory."""
_LOCK = "lock"
_DRAFTS = tuple(
    f"{folder}.*{DRAFT}" for folder in ("", f"{METRICS}/", f"{STATE}/", f"{STATE}/{ANSWERS}/*/")
)
_OURS = (
    *("part-*", QUARANTINE, REPORT, RATIOS, f"{METRICS}/part-*.jsonl"),
    *(f"{STATE}/part-*", f"{STATE}/{EARLIER}/*"),
)
_NOT_BEGUN = -1

OnRecord: TypeAlias = Callable[[int], object]
"""Called with the number of a record in its shard when it is begun."""


def write_synced(path: Path, data: bytes) -> None:
    """Put `data` under its name when all of it is on the disk, or raise `NotWritable`.

    The draft has the number of this process in its name: another one cannot take it away.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}{DRAFT}")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise _folder_error(path, error) from None


def write_json(path: Path, value: Struct) -> None:
    """Write a value so that people can read it, or raise `NotWritable`."""
    write_synced(path, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")


def _folder_error(path: Path, error: OSError) -> NotWritable:
    return NotWritable(str(path), f"cannot be written ({error.strerror or error})", remedy=GO_ON)


@contextlib.contextmanager
def plain_errors(folder: Path) -> Generator[None]:
    """Raise errors of the block as `FoldawayError` with their sentence: others do not survive the
    way to another process.
    """
    try:
        yield
    except FoldawayError as error:
        raise FoldawayError(str(error)) from None
    except OSError as error:
        what = f"cannot be used ({error.strerror or error})"
        raise FoldawayError(str(NotWritable(str(folder), what, remedy=GO_ON))) from None


class BatchManifest(Struct, frozen=True, kw_only=True):
    """What a folder is for; a run may go on in it only if this is the same."""

    format: int = FORMAT
    version: str
    job: BatchSettings


@contextlib.contextmanager
def claim_folder(
    folder: Path, settings: BatchSettings, *, resume: bool
) -> Generator[BatchSettings]:
    """Lock the folder while the block runs; without `resume` what it contains is removed.

    Gives the settings as the manifest has them. Raises `NotWritable` if another run is at work in
    the folder, or if it contains the output of other settings, or anything else.
    """
    try:
        manifest = manifest_for(folder, settings, resume=resume)
        (folder / STATE).mkdir(parents=True, exist_ok=True)
        (folder / METRICS).mkdir(exist_ok=True)
        with (folder / STATE / _LOCK).open("wb") as lock:
            _hold(lock.fileno(), folder)
            _remove(folder, _DRAFTS if resume else (*_OURS, *_DRAFTS))
            write_json(folder / MANIFEST, manifest)
            try:
                yield manifest.job
            finally:
                _remove(folder, _DRAFTS)  # of workers that were ended
    except OSError as error:
        what = f"cannot be used ({error.strerror or error})"
        raise NotWritable(str(folder), what) from None


def manifest_for(folder: Path, settings: BatchSettings, *, resume: bool) -> BatchManifest:
    """Return what the folder is to be for; raises `NotWritable` if it is for something else.

    Settings without a redaction key go on with the one that the folder was begun with.
    """
    there = _read_manifest(folder)
    if there is not None:
        variable = settings.summarizer_key_variable
        there = replace(there, job=replace(there.job, summarizer_key_variable=variable))
    if resume and there is not None and not settings.redaction_key:
        settings = replace(settings, redaction_key=there.job.redaction_key)
    manifest = BatchManifest(version=__version__, job=settings)
    if resume and there is not None and there != manifest:
        what, remedy = "holds the output of other settings", "give another folder, or --no-resume"
        raise NotWritable(str(folder), what, remedy=remedy)
    return manifest


def _read_manifest(folder: Path) -> BatchManifest | None:
    """Return what the folder is for so far; None if it is new or empty."""
    if not folder.exists() or not any(folder.iterdir()):
        return None
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=BatchManifest)
    except FileNotFoundError:
        if {path.name for path in folder.iterdir()} <= {STATE, METRICS}:
            return None  # killed before it had said what it is for
        what = "is not empty and holds no output of this command"
        raise NotWritable(str(folder), what, remedy="give another folder") from None
    except msgspec.DecodeError:
        what = "holds a manifest.json that this version does not understand"
        raise NotWritable(str(folder), what, remedy="give another folder") from None


def _hold(handle: int, folder: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise NotWritable(str(folder), "another run is writing into it") from None


def _remove(folder: Path, patterns: Sequence[str]) -> None:
    for pattern in patterns:
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)


class FinishedShard(Struct, frozen=True):
    """A shard whose files are on the disk: what its mark in the state folder says."""

    number: int
    digest: str
    tally: Tally


def read_mark(path: Path) -> FinishedShard | None:
    """Return the shard that a mark says is done; None if there is none, or it is not whole."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=FinishedShard)
    except (OSError, msgspec.DecodeError):
        return None


def read_marks(folder: Path) -> dict[int, FinishedShard]:
    """Return the shards that are marked as done now, by number."""
    marks = filter(None, map(read_mark, (folder / STATE).glob("part-*.json")))
    return {done.number: done for done in marks}


class BatchReport(Struct, frozen=True, kw_only=True):
    """What `report.json` contains: the same for the same input and settings, however it was run."""

    job: BatchSettings
    counter: str
    estimated: bool
    """Whether tokens are estimates."""
    shards: int
    total: Tally


def read_report(folder: Path) -> BatchReport:
    """Return the report of a finished batch; raises `NotReadable` if there is none."""
    try:
        return msgspec.json.decode((folder / REPORT).read_bytes(), type=BatchReport)
    except (OSError, msgspec.DecodeError):
        what, remedy = "does not exist", "check the name"
        if folder.exists():
            what = "holds no finished batch"
            remedy = "finish it with `foldaway trajectories compress`"
        raise NotReadable(what, where=str(folder), remedy=remedy) from None


class AttemptNote:
    """Which record of a shard is begun, in a file that outlives the process that works on it.

    `-` begins an attempt, and every record that is begun has a line; so the last line of an
    attempt that did not finish is where its process died.
    """

    def __init__(self, folder: Path, name: str, notes: Path | None = None) -> None:
        """Take the folder and the name of the shard; `notes` is another place for the file."""
        self._folder = folder
        self._path = (notes or folder / STATE) / f".{name}.attempt{DRAFT}"

    def begin(self, how: str = "") -> dict[int, str]:
        """Begin an attempt; return the records on which too many processes died, with the reason.

        `how` the last process died, if that is known. Raises `NotWritable` if as many died before
        they began, or if nothing can be written.
        """
        deaths, how = self._deaths(), f" ({how})" if how else ""
        if deaths[_NOT_BEGUN] >= DEATHS:
            self.remove()
            what = f"processes die before they begin{how}"
            raise NotWritable(str(self._folder), what, remedy=GO_ON)
        try:
            with self._path.open("ab") as file:
                file.write(b"-\n")
        except OSError as error:
            raise _folder_error(self._path, error) from None
        died = f"{DEATHS} processes died on it{how}"
        return {at: died for at, count in deaths.items() if count >= DEATHS}

    @contextlib.contextmanager
    def open_records(self) -> Generator[OnRecord]:
        """Give what notes that a record is begun."""
        with self._path.open("ab", buffering=0) as file:
            yield lambda at: file.write(b"%d\n" % at)

    def count_begun(self) -> int:
        """Return how many records the attempt under way has begun."""
        attempts = self._attempts()
        return len(set(attempts[-1].split())) if attempts else 0

    def remove(self) -> None:
        """Forget all attempts: the shard is done, or stopped by something else than a record."""
        self._path.unlink(missing_ok=True)

    def _attempts(self) -> list[bytes]:
        try:
            return self._path.read_bytes().split(b"-")[1:]
        except FileNotFoundError:
            return []

    def _deaths(self) -> Counter[int]:
        """Return how many attempts ended at each record."""
        attempts = map(bytes.split, self._attempts())
        return Counter(int(begun[-1]) if begun else _NOT_BEGUN for begun in attempts)


class Attempt(Struct, frozen=True):
    """One try at a shard."""

    poison: dict[int, str]
    """Records on which too many processes died, with the reason."""
    on_record: OnRecord


@contextlib.contextmanager
def note_attempt(folder: Path, name: str) -> Generator[Attempt]:
    """Note a try at the shard of that name; the note is removed when the block ends, well or not.

    Only a process that is killed leaves it. Raises `NotWritable` as `AttemptNote.begin` does.
    """
    note = AttemptNote(folder, name)
    poison = note.begin()
    try:
        with note.open_records() as on_record:
            yield Attempt(poison, on_record)
    finally:
        note.remove()
