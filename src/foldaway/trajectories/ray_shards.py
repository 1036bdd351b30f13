"""Shards as rows of a Ray dataset: read, compared with the checkpoint, done, written down.

A row is a shard; its id is its number and the digest of its input. Ray Data's checkpointing takes
the rows out whose ids are checkpointed. Which are, our own marks say: they are synced and renamed
after the files that they are for, and Ray's files of ids are neither.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingImports=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false, reportMissingTypeStubs=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import ray
from msgspec import Struct
from ray.data import DataContext, Datasink, Datasource, ReadTask, TaskPoolStrategy
from ray.data.block import BlockMetadata
from ray.data.checkpoint import CheckpointConfig
from ray.data.checkpoint.checkpoint_filter import CheckpointManager

from foldaway.errors import FoldawayError
from foldaway.trajectories.compress import CompressionTools
from foldaway.trajectories.folder import (
    BYTES_READ,
    STATE,
    FinishedShard,
    note_attempt,
    plain_errors,
    read_marks,
)
from foldaway.trajectories.policy import BatchSettings
from foldaway.trajectories.reading import RecordSource, Shard, read_shards
from foldaway.trajectories.shard import Keeper, ShardRun, ShardWork, find_finished, tools_for

_ID, _DATA, _END = "id", "data", "end"
_LEAST_CORES = 2
"""Ray leaves out what is done in a process of its own."""
_ROW_BYTES = 64 * 1024 * 1024
"""What a shard takes of Ray's memory, twice its usual 32 MB; a single larger one passes too."""


class RayBatch(Struct, frozen=True, kw_only=True):
    """What is sent to the nodes."""

    sources: tuple[RecordSource, ...]
    settings: BatchSettings
    folder: Path
    checkpoints: str
    """Where Ray keeps its own checkpoint; nothing of it is read again."""
    work: ShardWork[FinishedShard]


def run_batch(batch: RayBatch, workers: int | None) -> int:
    """Do the shards that are not done, and return how many shards there are; Ray is connected."""
    cores = int(ray.cluster_resources().get("CPU", 0))
    if cores < _LEAST_CORES:
        raise FoldawayError(
            f"Ray has {cores} processors there; {_LEAST_CORES} are needed: what is done is left "
            "out by one of them"
        )
    context = _context(batch, workers or cores)
    with DataContext.current(context):
        # no processor for the one that reads: it waits for the others most of the time
        rows = ray.data.read_datasource(
            _Shards(batch), override_num_blocks=1, ray_remote_args={"num_cpus": 0}
        )
        done = rows.map_batches(
            _Does(batch),
            batch_size=1,
            batch_format="pyarrow",
            zero_copy_batch=True,
            compute=TaskPoolStrategy(size=workers),
        )
        sink = _Sink()
        # as many as do shards: then Ray does both in one task, and no processor waits for ids
        done.write_datasink(sink, concurrency=workers)
    return sink.shards


def _context(batch: RayBatch, at_once: int) -> Any:
    context = DataContext.get_current().copy()
    context.enable_progress_bars = context.print_on_execution_start = False
    context.raise_original_map_exception = True
    context.issue_detectors_config.detectors = []
    context.target_max_block_size = 1  # no two shards in one block: a block is what a task does
    limits = context.execution_options.resource_limits
    context.execution_options.resource_limits = limits.copy(
        object_store_memory=_ROW_BYTES * (at_once + 2)
    )
    checkpoint = CheckpointConfig(_ID, batch.checkpoints, checkpoint_manager_cls=_Marks)
    checkpoint.checkpoint_actor_pool_max_size = 1
    context.checkpoint_config = checkpoint
    return context


class _Shards(Datasource):  # type: ignore[misc]
    """The sources, cut as every engine cuts them; a last row says how many shards there were."""

    def __init__(self, batch: RayBatch) -> None:
        super().__init__()
        self._batch = batch

    def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[Any]:
        """Return one task: where a shard ends depends on all records before it."""
        batch = self._batch
        metadata = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(lambda: _read(batch), metadata)]

    def estimate_inmemory_data_size(self) -> None:
        """Say that nobody knows."""


def _read(batch: RayBatch) -> Iterator[Any]:
    folder = batch.folder
    note = folder / STATE / BYTES_READ
    read = shards = 0

    def on_bytes(size: int) -> None:
        nonlocal read
        read = size

    with plain_errors(folder):
        keeper = Keeper(folder, batch.settings.format)
        for shard in read_shards(batch.sources, batch.settings, on_bytes):
            shards += 1
            if not find_finished(folder, shard):
                keeper.make_room(shard)
            note.write_text(str(read))
            yield _row(_id_of(shard.number, shard.digest), pickle.dumps(shard))
        yield _row(_END, str(shards).encode())


def _id_of(number: int, digest: str) -> str:
    return f"{number:05d} {digest}"


def _row(name: str, data: bytes) -> Any:
    return pyarrow.table({_ID: [name], _DATA: pyarrow.array([data], pyarrow.large_binary())})


class _Marks(CheckpointManager):  # type: ignore[misc]
    """Tells Ray which shards are done, from the marks in the folder."""

    def load_checkpoint(self, *_: Any) -> tuple[Any, int]:
        """Return the ids in order, and their size; nothing if nothing is done."""
        marks = read_marks(Path(self.checkpoint_path_unwrapped).parent.parent)
        ids = sorted(_id_of(done.number, done.digest) for done in marks.values())
        if not ids:
            return None, 0
        return ray.put(numpy.array(ids, dtype=object)), sum(map(len, ids))


class _Does:
    """Does the shard of a row, and gives the row back without it."""

    def __init__(self, batch: RayBatch) -> None:
        self._batch = batch

    def __call__(self, table: Any) -> Any:
        """Do it."""
        name, data = table[_ID][0].as_py(), table[_DATA][0].as_py()
        if name == _END:
            return table
        with plain_errors(self._batch.folder):
            _do(pickle.loads(data), self._batch)
        return _row(name, b"")


def _do(shard: Shard, batch: RayBatch) -> None:
    folder, settings = batch.folder, batch.settings
    if find_finished(folder, shard):  # by a process that was killed before it could say so
        return
    with note_attempt(folder, shard.name) as attempt:
        batch.work(
            shard,
            ShardRun(
                settings=settings,
                tools=_tools(settings),
                folder=folder,
                poison=attempt.poison,
                on_record=attempt.on_record,
            ),
        )


@cache
def _tools(settings: BatchSettings) -> CompressionTools:
    """Return what this process works with; Ray gives it one task after the other."""
    return tools_for(settings)


class _Sink(Datasink):  # type: ignore[misc]
    """The end of the way: everything is written already, so that only the ids arrive here."""

    def __init__(self) -> None:
        self.shards = 0

    def write(self, blocks: Iterable[Any], *_: Any) -> int:
        """Return the number of shards if the last row is among them, otherwise 0."""
        rows = [row for block in blocks for row in block.to_pylist()]
        return sum(int(row[_DATA]) for row in rows if row[_ID] == _END)

    def on_write_complete(self, write_result: Any, *_: Any) -> None:
        """Keep it."""
        self.shards = sum(map(int, write_result.write_returns))
