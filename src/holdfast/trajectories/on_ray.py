"""A batch on Ray: Ray Data reads the shards, leaves out those that are done, and does the others.

Every node must see the sources and the folder under the same paths, and have Holdfast.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingImports=false, reportUnknownArgumentType=false

from __future__ import annotations

import logging
import os
import shutil
import socket
import threading
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from holdfast.errors import HoldfastError, InvalidSetting, MissingExtra, NotReadable
from holdfast.trajectories.files import GO_ON
from holdfast.trajectories.job import Job
from holdfast.trajectories.serving import Work
from holdfast.trajectories.sources import Source
from holdfast.trajectories.work import READ, STATE, Done, do_shard, read_done

LOCAL = "local"
_HERE = ("", LOCAL)
_CHECKPOINTS = "ray"
_LOOK_SECONDS = 1.0
_KNOCK_SECONDS = 10.0
_STDERR = 2
_UNSENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_USAGE_STATS_PROMPT_ENABLED": "0"}
_QUIET = {"RAY_BACKEND_LOG_LEVEL": "fatal"}
_ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""What Ray reads of the environment, when it is loaded and later: nothing is sent, nothing is said
on the screen, and one of our own listens on loopback only, as everywhere on Windows and macOS."""

Tell: TypeAlias = Callable[[int, Mapping[int, Done]], None]
"""Told how many bytes of the sources are read, and which of their shards are done, by number."""


def require_ray(address: str, job: Job) -> None:
    """Load Ray Data; raise `MissingExtra` where it is not installed.

    Raises `NotReadable` where nobody listens at the address, and `InvalidSetting` for a job that
    asks a model: the desk that all workers ask is in this process, and Ray has no line to it.
    """
    if job.summaries == "model":
        raise InvalidSetting("summaries", job.summaries, "ledger or none with Ray")
    alone = _ALONE if address in _HERE else {}
    os.environ.update({**_QUIET, **os.environ, **_UNSENT, **alone})
    try:
        with _unwarned():
            import_module("holdfast.trajectories.ray_shards")
    except ImportError:
        raise MissingExtra("ray", "--engine ray") from None
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        _knock(address)
    except OSError as error:
        raise _no_ray(address, error) from None


def do_on_ray(
    sources: Sequence[Source], job: Job, folder: Path, *, workers: int | None = None,
    address: str = "", tell: Tell = lambda _, __: None, work: Work[Done] = do_shard,
) -> int:  # fmt: skip
    """Do the shards that the folder does not hold, and return how many shards there are.

    `address` is that of a cluster; without one a Ray is started on this machine, on loopback, and
    ended. `workers` is how many shards are done at a time, all processors where it is not said.
    Raises what stopped a worker, and `HoldfastError` with a sentence where Ray gives up.
    """
    require_ray(address, job)
    from holdfast.trajectories.ray_shards import Plan, run_plan

    plan = Plan(
        sources=tuple(replace(one, path=os.path.abspath(one.path)) for one in sources),
        job=replace(job, tokenizer=_absolute(job.tokenizer)),
        folder=str(folder.absolute()), checkpoints=str(folder.absolute() / STATE / _CHECKPOINTS),
        work=work,
    )  # fmt: skip
    shutil.rmtree(plan.checkpoints, ignore_errors=True)
    os.makedirs(plan.checkpoints)
    try:
        with _connected(address, workers), _looking(folder / STATE, tell):
            return run_plan(plan, workers)
    finally:
        shutil.rmtree(plan.checkpoints, ignore_errors=True)


def _absolute(tokenizer: str) -> str:
    """Return the path of a tokenizer file from everywhere; a name of a vocabulary as it is."""
    return os.path.abspath(tokenizer) if os.path.isfile(tokenizer) else tokenizer


@contextmanager
def _connected(address: str, workers: int | None) -> Generator[None]:
    """Hold a connection to Ray, one that is there already where there is one; nothing is shown."""
    import ray

    ours = not ray.is_initialized()
    with _unwarned():
        if ours:
            _connect(ray, address, workers)
        try:
            yield
        except ray.exceptions.RayError as error:
            raise _told(error) from None
        finally:
            if ours:
                ray.shutdown()


@contextmanager
def _unwarned() -> Generator[None]:
    """Let no warning of Ray through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _connect(ray: Any, address: str, workers: int | None) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if address in _HERE:
        # one more than do the work: it leaves out what is done
        cores = (workers or os.cpu_count() or 1) + 1
        options |= {"num_cpus": cores, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    try:
        with _silent():
            ray.init(address or LOCAL, **options)
    # whatever Ray raises where nobody answers, or the machine is too small
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise _no_ray(address, error) from None


def _no_ray(address: str, error: Exception) -> NotReadable:
    what = f"no Ray can be used there ({_first_line(error)})"
    remedy = "check --ray-address, and that the cluster has this version of Ray"
    return NotReadable(what, where=address or "this machine", remedy=remedy)


def _knock(address: str) -> None:
    """Raise `OSError` where nobody listens at an address: Ray would try for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS).close()


@contextmanager
def _silent() -> Generator[None]:
    """Let nothing through to standard error: Ray's core says there that it was told to be quiet."""
    kept, nowhere = os.dup(_STDERR), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDERR)
    try:
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)
        os.close(nowhere)


def _told(error: Any) -> HoldfastError:
    """Return what stopped a worker, as it said it; where it said nothing, what Ray says."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, HoldfastError):
        return HoldfastError(str(cause))
    what = type(cause or error).__name__
    return HoldfastError(f"Ray gave up ({what}: {_first_line(cause or error)}); {GO_ON}")


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:200]


@contextmanager
def _looking(state: Path, tell: Tell) -> Generator[None]:
    """Tell once in a while what the folder says, from a thread, while the block runs."""
    ended, marks = threading.Event(), Marks(state)

    def look() -> None:
        while not ended.wait(_LOOK_SECONDS):
            tell(_read_bytes(state), marks.done())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _read_bytes(state: Path) -> int:
    """Return how many bytes of the sources are read; the note is only for the progress."""
    try:
        return int((state / READ).read_bytes() or b"0")
    except FileNotFoundError:
        return 0


class Marks:
    """The marks of a folder, read again only where they changed."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._known: dict[str, tuple[int, Done]] = {}

    def done(self) -> dict[int, Done]:
        """Return what is marked as done now, by number."""
        found: dict[str, tuple[int, Done]] = {}
        for entry in os.scandir(self._state):
            if not (entry.name.startswith("part-") and entry.name.endswith(".json")):
                continue
            with suppress(FileNotFoundError):
                changed = entry.stat().st_mtime_ns
                known = self._known.get(entry.name)
                if known is None or known[0] != changed:
                    done = read_done(Path(entry.path))
                    known = (changed, done) if done else None
                if known:
                    found[entry.name] = known
        self._known = found
        return {done.number: done for _, done in found.values()}
