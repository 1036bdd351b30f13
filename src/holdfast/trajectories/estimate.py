"""What a run would ask of a model, counted before anything is paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict, replace

from holdfast.dialects.jsontext import parse
from holdfast.dialects.load import load_parsed
from holdfast.errors import HoldfastError
from holdfast.ports import TokenCounter
from holdfast.trajectories.answers import Answered, answer_key, kept_answer
from holdfast.trajectories.asking import Asked, Step, answered
from holdfast.trajectories.claim import manifest_for
from holdfast.trajectories.compress import Means, Write, Written, compress_transcript
from holdfast.trajectories.desk import request_tokens
from holdfast.trajectories.job import Job, asked_for
from holdfast.trajectories.lanes import Lanes
from holdfast.trajectories.ledger import region_told
from holdfast.trajectories.planned import region_material
from holdfast.trajectories.pool import do_shards
from holdfast.trajectories.reading import read_entries
from holdfast.trajectories.region import Region
from holdfast.trajectories.shards import Shard, cut
from holdfast.trajectories.sources import Source
from holdfast.trajectories.work import ANSWERS, STATE, Tell, finished
from holdfast.transcript import Message
from holdfast.writing import prompts


class Estimate(Struct, frozen=True, kw_only=True):
    """What is still to be asked; an answer that is kept already is not among it."""

    records: int = 0
    """Records about which something is to be asked."""
    calls: int = 0
    kept: int = 0
    """Answers that are there."""
    input_tokens: int = 0
    output_tokens: int = 0
    """At most: a model may write less than it is allowed."""


def estimate_batch(
    sources: Sequence[Source], folder: Path, job: Job, *, workers: int = 1, resume: bool = True
) -> Estimate:
    """Return what a batch with these arguments would ask; nothing is asked and nothing written.

    All that is not done yet is read and folded as it will be, which takes about twice the time of
    a run without a model. A question that must be put again is counted once, and one that two
    records share twice. Raises what the run would raise of its folder.
    """
    job = manifest_for(folder, job, resume=resume).job
    shards = cut(read_entries(sources), most_records=job.shard_records, most_bytes=job.shard_bytes)
    waiting = (one for one in shards if not resume or finished(folder, one) is None)
    total = Estimate()
    with closing(do_shards(waiting, job, folder, workers=workers, work=count_shard)) as working:
        for one in working:
            total = _added(total, one)
    return total


def count_shard(
    shard: Shard, job: Job, means: Means, folder: Path, poison: Mapping[int, str], tell: Tell,
    lanes: Lanes | None = None,
) -> Estimate:  # fmt: skip
    """Return what the records of a shard would ask."""
    asked = asked_for(job, means.counter, means.redact)
    means = replace(means, write=_counting(asked, folder / STATE / ANSWERS, job.answers_of))
    total = Estimate()
    for at, entry in enumerate(shard.entries):
        tell(at)
        if entry.problem or at in poison:
            continue
        try:
            compress_transcript(load_parsed(parse(entry.data)), job.policy, means)
        except _Counted as counted:
            total = _added(total, counted.estimate)
        except HoldfastError:
            continue  # goes to quarantine when its turn has come
        # the boundary of a record, as in the run itself
        except Exception:  # noqa: BLE001
            continue
    return total


class _Counted(Exception):
    def __init__(self, estimate: Estimate) -> None:
        self.estimate = estimate


def _counting(asked: Asked, answers: Path, who: str) -> Write:
    """Return a writer that never writes: it raises what would be asked."""

    def write(messages: Sequence[Message], region: Region, room: int) -> Written:
        told = region_told(messages, region, asked.counter, asked.redact, room)
        todo = region_material(messages, region, told, asked.counter, asked.redact, room)
        kept = 0

        def answer(step: Step) -> Answered:
            nonlocal kept
            found = kept_answer(answers, answer_key(who, step.question))
            if found is None:
                raise _Counted(replace(_to_ask(step, asked.counter), kept=kept))
            kept += 1
            return found

        answered(todo, asked, answer)
        raise _Counted(Estimate(kept=kept))

    return write


def _to_ask(step: Step, counter: TokenCounter) -> Estimate:
    """Return what is left to ask; of requests to come the note in them is taken as full."""
    asking = step.asking
    told = counter.count(prompts.instructions(asking.terms, next_number=1_000))
    later = asking.chunks[asking.at + 1 :]
    tokens = request_tokens(step.question.request, counter) + sum(
        told + asking.note_tokens + counter.count(chunk.record) for chunk in later
    )
    calls = 1 + len(later)
    return Estimate(
        records=1, calls=calls, input_tokens=tokens, output_tokens=calls * asking.max_tokens
    )


def _added(one: Estimate, other: Estimate) -> Estimate:
    more: dict[str, int] = asdict(other)
    return Estimate(**{name: value + more[name] for name, value in asdict(one).items()})
