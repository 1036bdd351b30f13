"""What a batch is asked: one value that goes to every process, and into the manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.errors import InvalidSetting
from holdfast.ports import Redact, Summarizer, TokenCounter
from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.redaction.policy import DEFAULT_KEY
from holdfast.writing.models.named import summarizer_named
from holdfast.trajectories.asking import Ask, Asked, writer
from holdfast.trajectories.compress import Means
from holdfast.trajectories.counters import counter_for
from holdfast.trajectories.desk import Bureau, Desk
from holdfast.trajectories.left_out import left_out
from holdfast.trajectories.pace import Limits
from holdfast.trajectories.policy import TrajectoryPolicy

Summaries: TypeAlias = Literal["ledger", "none", "model"]
"""Who writes the summaries: the ledger without a model, nobody, or a model that is checked."""
Format: TypeAlias = Literal["jsonl", "jsonl.gz", "jsonl.zst", "parquet"]


class Job(Struct, frozen=True, kw_only=True):
    """Everything that changes a byte of the output; the number of workers is not among it."""

    policy: TrajectoryPolicy
    tokenizer: str = ""
    """Who counts, as `counter_for` takes it."""
    summaries: Summaries = "ledger"
    summarizer: str = "none"
    """The model that writes, as `summarizer_named` takes it."""
    summarizer_url: str = ""
    summarizer_key_variable: str = ""
    """The variable with the key for that address; another one changes no byte."""
    summarizer_timeout: float = 120.0
    format: Format = "jsonl"
    shard_records: int = 1_000
    shard_bytes: int = 32 * 1024 * 1024
    redaction_key: str = ""
    """Makes the tags of placeholders; nothing for the public key. Only the manifest tells it."""

    @property
    def answers_of(self) -> str:
        """Who answers what a model is asked; the same name at another address may be another."""
        return f"{self.summarizer} {self.summarizer_url}"


def means_for(job: Job, ask: Ask | None = None) -> Means:
    """Return what a process works with; raises what names a missing package or file.

    `ask` answers what a model is asked, where one writes.
    """
    hides = RedactionPolicy(key=job.redaction_key or DEFAULT_KEY, personal=False)
    counter, redact = counter_for(job.tokenizer), Redactor(hides)
    match job.summaries:
        case "ledger":
            return Means(counter, redact)
        case "none":
            return Means(counter, redact, left_out)
        case "model":
            assert ask is not None
            return Means(counter, redact, writer(asked_for(job, counter, redact), ask))


def asked_for(job: Job, counter: TokenCounter, redact: Redact) -> Asked:
    """Return who is asked, and with what."""
    length = summarizer_for(job).context_length
    return Asked(name=job.summarizer, context_length=length, counter=counter, redact=redact)


def summarizer_for(job: Job) -> Summarizer:
    """Return the model that writes; raises `InvalidSetting` where the job names none."""
    found = summarizer_named(
        job.summarizer, url=job.summarizer_url, key_variable=job.summarizer_key_variable
    )
    if found is None:
        said = "no summarizer is named, but a model has to write the summaries"
        raise InvalidSetting("summarizer", job.summarizer, "a model", message=said)
    return found


def desk_for(job: Job, answers: Path, limits: Limits) -> Desk | None:
    """Return where a run asks its model, and keeps its answers; None where none is asked."""
    if job.summaries != "model":
        return None
    bureau = Bureau(
        summarizer=summarizer_for(job), counter=counter_for(job.tokenizer), who=job.answers_of,
        answers=answers, timeout=job.summarizer_timeout, limits=limits,
    )  # fmt: skip
    return Desk(bureau)
