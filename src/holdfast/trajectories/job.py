"""What a batch is asked: one value that goes to every process, and into the manifest."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.trajectories.compress import Means
from holdfast.trajectories.counters import counter_for
from holdfast.trajectories.policy import TrajectoryPolicy

Format: TypeAlias = Literal["jsonl", "jsonl.gz", "jsonl.zst", "parquet"]


class Job(Struct, frozen=True, kw_only=True):
    """Everything that changes a byte of the output; the number of workers is not among it."""

    policy: TrajectoryPolicy
    tokenizer: str = ""
    """Who counts, as `counter_for` takes it."""
    format: Format = "jsonl"
    shard_records: int = 1_000
    shard_bytes: int = 32 * 1024 * 1024


def means_for(job: Job) -> Means:
    """Return what a process works with; raises what names a missing package or file."""
    return Means(counter_for(job.tokenizer), Redactor(RedactionPolicy(personal=False)))
