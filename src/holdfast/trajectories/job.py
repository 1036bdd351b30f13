"""What a batch is asked: one value that goes to every process, and into the manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.summarizers.named import summarizer_named
from holdfast.trajectories.asking import Asked, writer
from holdfast.trajectories.compress import Means
from holdfast.trajectories.counters import counter_for
from holdfast.trajectories.policy import TrajectoryPolicy

Format: TypeAlias = Literal["jsonl", "jsonl.gz", "jsonl.zst", "parquet"]


class Job(Struct, frozen=True, kw_only=True):
    """Everything that changes a byte of the output; the number of workers is not among it."""

    policy: TrajectoryPolicy
    tokenizer: str = ""
    """Who counts, as `counter_for` takes it."""
    summarizer: str = "none"
    """Who writes the summaries, as `summarizer_named` takes it; the ledger does for `none`."""
    summarizer_url: str = ""
    summarizer_timeout: float = 120.0
    format: Format = "jsonl"
    shard_records: int = 1_000
    shard_bytes: int = 32 * 1024 * 1024


def means_for(job: Job, answers: Path | None = None) -> Means:
    """Return what a process works with; raises what names a missing package or file.

    `answers` is where the answers of a summariser are kept.
    """
    counter, redact = counter_for(job.tokenizer), Redactor(RedactionPolicy(personal=False))
    summarizer = summarizer_named(job.summarizer, url=job.summarizer_url)
    if summarizer is None:
        return Means(counter, redact)
    asked = Asked(
        summarizer=summarizer, counter=counter, redact=redact, answers=answers,
        timeout=job.summarizer_timeout,
    )  # fmt: skip
    return Means(counter, redact, writer(asked))
