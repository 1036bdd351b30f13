"""A batch on Ray: Ray Data reads the shards, leaves out those that are done, and does the others.

Every node must see the sources and the folder under the same paths, and have Foldaway.
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
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from foldaway.errors import FoldawayError, InvalidSetting, MissingExtra, NotReadable
from foldaway.trajectories.folder import BYTES_READ, GO_ON, STATE, FinishedShard, read_marks
from foldaway.trajectories.policy import BatchSettings
from foldaway.trajectories.reading import RecordSource, first_line
from foldaway.trajectories.shard import ShardWork, do_shard

LOCAL = "local"
_HERE = ("", LOCAL)
_CHECKPOINTS = "ray"
_LOOK_SECONDS = 1.0
"""How often progress is told."""
_KNOCK_SECONDS = 10.0
"""How long a cluster has to accept a connection; Ray itself would try for minutes."""
_STDERR = 2
_UNSENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_USAGE_STATS_PROMPT_ENABLED": "0"}
_QUIET = {"RAY_BACKEND_LOG_LEVEL": "fatal"}
_ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""What Ray reads of the environment, when it is loaded and later: nothing is sent, nothing is said
on the screen, and one of our own listens on loopback only, as everywhere on Windows and macOS."""

OnLook: TypeAlias = Callable[[int, Mapping[int, FinishedShard]], None]
"""Called with the bytes of the sources that are read, and the shards that are done, by number."""


def require_ray(address: str, settings: BatchSettings) -> None:
    """Load Ray Data; raise `MissingExtra` if it is not installed.

    Raises `NotReadable` if nobody listens at the address, and `InvalidSetting` for settings that
    ask a model: the client that all workers ask is in this process, and Ray has no pipe to it.
    """
    if settings.summaries == "model":
        raise InvalidSetting("summaries", settings.summaries, "ledger or none with Ray")
    alone = _ALONE if address in _HERE else {}
    os.environ.update({**_QUIET, **os.environ, **_UNSENT, **alone})
    try:
        with _no_warnings():
            import_module("foldaway.trajectories.ray_shards")
    except ImportError:
        raise MissingExtra("ray", "--engine ray") from None
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        _check_address(address)
    except OSError as error:
        raise _no_ray(address, error) from None


def do_on_ray(
    sources: Sequence[RecordSource],
    settings: BatchSettings,
    folder: Path,
    *,
    workers: int | None = None,
    address: str = "",
    on_look: OnLook = lambda _, __: None,
    work: ShardWork[FinishedShard] = do_shard,
) -> int:
    """Do the shards that the folder does not have, and return how many shards there are.

    `address` is that of a cluster; without one a Ray is started on this machine, on loopback, and
    ended. `workers` is how many shards are done at a time, all processors for None. Raises what
    stopped a worker, and `FoldawayError` with a sentence if Ray gives up.
    """
    require_ray(address, settings)
    from foldaway.trajectories.ray_shards import RayBatch, run_batch

    checkpoints = folder.absolute() / STATE / _CHECKPOINTS
    batch = RayBatch(
        sources=tuple(replace(one, path=os.path.abspath(one.path)) for one in sources),
        settings=replace(settings, tokenizer=_resolve_tokenizer(settings.tokenizer)),
        folder=folder.absolute(),
        checkpoints=str(checkpoints),
        work=work,
    )
    shutil.rmtree(checkpoints, ignore_errors=True)
    checkpoints.mkdir(parents=True)
    try:
        with _connect_ray(address, workers), _look_at(folder, on_look):
            return run_batch(batch, workers)
    finally:
        shutil.rmtree(checkpoints, ignore_errors=True)


def _resolve_tokenizer(tokenizer: str) -> str:
    """Return the path of a tokenizer file from everywhere; a name of a vocabulary as it is."""
    return os.path.abspath(tokenizer) if os.path.isfile(tokenizer) else tokenizer


@contextmanager
def _connect_ray(address: str, workers: int | None) -> Generator[None]:
    """Hold a connection to Ray, one that is there already if there is one; nothing is shown."""
    import ray

    ours = not ray.is_initialized()
    with _no_warnings():
        if ours:
            _init(ray, address, workers)
        try:
            yield
        except ray.exceptions.RayError as error:
            raise _explain(error) from None
        finally:
            if ours:
                ray.shutdown()


@contextmanager
def _no_warnings() -> Generator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _init(ray: Any, address: str, workers: int | None) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if address in _HERE:
        # one more than do the work: it leaves out what is done
        cores = (workers or os.cpu_count() or 1) + 1
        options |= {"num_cpus": cores, "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    try:
        with _silence_stderr():
            ray.init(address or LOCAL, **options)
    # whatever Ray raises if nobody answers, or the machine is too small
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise _no_ray(address, error) from None


def _no_ray(address: str, error: Exception) -> NotReadable:
    what = f"no Ray can be used there ({first_line(error)})"
    remedy = "check --ray-address, and that the cluster has this version of Ray"
    return NotReadable(what, where=address or "this machine", remedy=remedy)


def _check_address(address: str) -> None:
    """Raise `OSError` if nobody listens at an address: Ray would try for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS).close()


@contextmanager
def _silence_stderr() -> Generator[None]:
    """Let nothing through to standard error: Ray's core says there that it was told to be quiet."""
    kept, nowhere = os.dup(_STDERR), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDERR)
    try:
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)
        os.close(nowhere)


def _explain(error: Any) -> FoldawayError:
    """Return what stopped a worker, as it said it; if it said nothing, what Ray says."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, FoldawayError):
        return FoldawayError(str(cause))
    what = type(cause or error).__name__
    return FoldawayError(f"Ray gave up ({what}: {first_line(cause or error)}); {GO_ON}")


@contextmanager
def _look_at(folder: Path, on_look: OnLook) -> Generator[None]:
    """Tell once in a while what the folder says, from a thread, while the block runs."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK_SECONDS):
            on_look(_read_bytes(folder / STATE / BYTES_READ), read_marks(folder))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _read_bytes(note: Path) -> int:
    """Return how many bytes of the sources are read; the note is only for the progress."""
    try:
        return int(note.read_bytes() or b"0")
    except FileNotFoundError:
        return 0
