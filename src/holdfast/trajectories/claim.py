"""The folder of a batch: whose it is, and that only one run writes into it."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import NotWritable
from holdfast.trajectories.before import BEFORE
from holdfast.trajectories.files import DRAFT, MANIFEST, METRICS, STATE, write_synced
from holdfast.trajectories.job import Job
from holdfast.trajectories.work import ANSWERS

try:
    import fcntl
except ImportError:  # not on Windows: there nothing keeps two runs apart
    fcntl = None

_LOCK = "lock"
_OURS = ("part-*", "quarantine.jsonl", "report.json", "ratios.png", f"{METRICS}/part-*.jsonl",
         f"{STATE}/part-*", f"{STATE}/{BEFORE}/*", f".*{DRAFT}", f"{METRICS}/.*{DRAFT}",
         f"{STATE}/.*{DRAFT}", f"{STATE}/{ANSWERS}/*/.*{DRAFT}")  # fmt: skip
_DRAFTS = tuple(pattern for pattern in _OURS if pattern.endswith(DRAFT))
FORMAT = 1


class Manifest(Struct, frozen=True, kw_only=True):
    """What a folder is for; a run may go on in it only where this is the same."""

    format: int = FORMAT
    version: str
    job: Job


@contextlib.contextmanager
def claimed(folder: Path, job: Job, *, resume: bool) -> Generator[Job]:
    """Hold the folder for this job while the block runs; without `resume` what it made is removed.

    Gives the job as the manifest has it. Raises `NotWritable` where another run is at work in it,
    where it holds the output of another job, or files that are no output at all.
    """
    try:
        manifest = manifest_for(folder, job, resume=resume)
        (folder / STATE).mkdir(parents=True, exist_ok=True)
        (folder / METRICS).mkdir(exist_ok=True)
        with (folder / STATE / _LOCK).open("wb") as lock:
            _hold(lock.fileno(), folder)
            if not resume:
                _remove(folder, _OURS)
            _remove(folder, _DRAFTS)
            encoded = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
            write_synced(folder / MANIFEST, encoded + b"\n")
            try:
                yield manifest.job
            finally:
                _remove(folder, _DRAFTS)  # of workers that were ended
    except OSError as error:
        what = f"cannot be used ({error.strerror or error})"
        raise NotWritable(str(folder), what) from None


def manifest_for(folder: Path, job: Job, *, resume: bool) -> Manifest:
    """Return what the folder is to be for; raises `NotWritable` where it is for something else.

    A job without a redaction key goes on with the one that the folder was begun with.
    """
    there = _there(folder)
    if there is not None:
        variable = job.summarizer_key_variable
        there = replace(there, job=replace(there.job, summarizer_key_variable=variable))
    if resume and there is not None and not job.redaction_key:
        job = replace(job, redaction_key=there.job.redaction_key)
    manifest = Manifest(version=_version(), job=job)
    if resume and there is not None and there != manifest:
        raise NotWritable(str(folder), "holds the output of other settings",
                          remedy="give another folder, or --no-resume")  # fmt: skip
    return manifest


def _there(folder: Path) -> Manifest | None:
    """Return what the folder is for so far; None where it is new or empty."""
    if not folder.exists() or not any(folder.iterdir()):
        return None
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
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


def _version() -> str:
    try:
        return version("holdfast")
    except PackageNotFoundError:
        return ""
