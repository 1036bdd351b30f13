"""Check the output of a batch against its own report and against its input."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from foldaway._core import TokenCounter
from foldaway.dialects import check_transcript, load_parsed, parse, profile_for
from foldaway.errors import FoldawayError
from foldaway.trajectories.counting import counter_for, record_tokens
from foldaway.trajectories.folder import (
    METRICS,
    QUARANTINE,
    REPORT,
    STATE,
    BatchReport,
    read_mark,
    read_report,
)
from foldaway.trajectories.reading import (
    RawRecord,
    RecordSource,
    Shard,
    find_sources,
    read_records,
    read_shards,
)
from foldaway.trajectories.record import is_compacted
from foldaway.trajectories.shard import MetricsRow, read_metrics
from foldaway.transcript import Message, Transcript, survey


class Fault(Struct, frozen=True):
    """Something that is not as the batch says; `where` is a file of the output and a line."""

    where: str
    what: str
    over_target: bool = False
    """Whether all is as the batch says, and it says that the record is over its target."""
    could_fit: bool = False
    """Whether such a record has turns that always stay and that leave room."""


def _describe_over_target(row: MetricsRow, target: int) -> str:
    """Say by how much a record is over its target, and why."""
    why = f": {row.over_because}" if row.over_because else ""
    return f"costs {row.tokens_after:,} tokens of {target:,}{why}"


def find_over_target(folder: Path, report: BatchReport) -> Iterator[Fault]:
    """Yield the records of a finished batch that are over its target, by their place in the input,
    with the reason.
    """
    target = report.job.policy.target_tokens
    for number in range(report.shards if report.total.still_over_limit else 0):
        for row in read_metrics(folder / METRICS / f"part-{number:05d}.jsonl"):
            if row.still_over_limit and row.outcome != "excluded":
                what = _describe_over_target(row, target)
                place = f"{row.source}:{row.line}"
                yield Fault(place, what, over_target=True, could_fit=row.could_fit)


def verify_batch(folder: Path, against: Sequence[RecordSource] = ()) -> Iterator[Fault]:
    """Yield what is wrong with the output of a finished batch; nothing if all is well.

    A record that is over the target is named too, with the reason, as `over_target`.
    Every record is read and counted again. With the input at hand, as the batch was given it,
    every record is also compared with its own: turns outside the folded region are the same, calls
    have their results as before, no rule is broken that was kept, order and number are those of
    the input. One shard is in memory at a time, of the output and of the input.
    """
    report = read_report(folder)
    job, counter = report.job, counter_for(report.job.tokenizer)
    shards = read_shards(against, job)
    written = 0
    for number in range(report.shards):
        name = f"part-{number:05d}"
        rows = read_metrics(folder / METRICS / f"{name}.jsonl")
        kept = [row for row in rows if row.outcome != "excluded"]
        records = list(_read_output(folder / f"{name}.{job.format}"))
        if len(records) != len(kept):
            yield Fault(name, f"holds {len(records)} records, its metrics tell of {len(kept)}")
        written += len(records)
        given = _Given(next(shards, None), folder, name) if against else None
        if given and given.is_other:
            what = "was made of other input; name the SRC that `compress` was given, in their order"
            yield Fault(name, what)
        for record, row in zip(records, kept, strict=False):
            where = f"{name}.{job.format}:{record.line}"
            for what in _faults(record, row, report, counter):
                yield Fault(where, what)
            for what in given.differences(record, row, report) if given else ():
                yield Fault(where, what)
            if row.still_over_limit:
                what = _describe_over_target(row, job.policy.target_tokens)
                said = f"{what} ({row.source}:{row.line})"
                yield Fault(where, said, over_target=True, could_fit=row.could_fit)
    if next(shards, None) is not None:
        yield Fault(REPORT, f"tells of {report.total.records:,} records, the input has more")
    quarantined, total = _line_count(folder / QUARANTINE), report.total
    if (written, quarantined) != (total.written, total.quarantined):
        said = f"tells of {total.written} written and {total.quarantined} quarantined records"
        yield Fault(REPORT, f"{said}; there are {written} and {quarantined}")


class _Given:
    """The input of one shard; records in it are found by source and line, in their order."""

    def __init__(self, shard: Shard | None, folder: Path, name: str) -> None:
        self._records: dict[tuple[str, int], deque[RawRecord]] = {}
        for record in shard.records if shard else ():
            self._records.setdefault((record.source, record.line), deque()).append(record)
        mark = read_mark(folder / STATE / f"{name}.json")
        self.is_other = mark is not None and (shard is None or mark.digest != shard.digest)
        """Whether the batch says that it read something else; it may have lost its marks."""

    def differences(self, record: RawRecord, row: MetricsRow, report: BatchReport) -> Iterator[str]:
        """Yield how a record differs from its input beyond what was to be done."""
        found = self._records.get((row.source, row.line))
        if found:
            yield from _differences(record, row, found.popleft(), report)
        elif not self.is_other:
            yield f"comes from {row.source}:{row.line}, which is not in the input"


def _faults(
    record: RawRecord, row: MetricsRow, report: BatchReport, counter: TokenCounter
) -> Iterator[str]:
    """Yield what is wrong with a record by itself."""
    try:
        made = load_parsed(parse(record.data))
    except FoldawayError as error:
        yield f"cannot be read: {error}"
        return
    tokens = record_tokens(made, counter)
    target = report.job.policy.target_tokens
    if tokens != row.tokens_after:
        yield f"costs {tokens} tokens, its metrics say {row.tokens_after}"
    if row.tokens_after > row.tokens_before:
        yield "costs more than its input"
    if (tokens > target) != row.still_over_limit:
        yield f"costs {tokens} tokens of {target}, and its metrics say otherwise"
    if len(made.messages) != row.turns_after:
        yield f"has {len(made.messages)} turns, its metrics say {row.turns_after}"
    if report.job.policy.artifacts != "keep" and is_compacted(made):
        yield "holds generated text"


def _differences(
    record: RawRecord, row: MetricsRow, was: RawRecord, report: BatchReport
) -> Iterator[str]:
    try:
        made, given = load_parsed(parse(record.data)), load_parsed(parse(was.data))
    except FoldawayError:
        return  # told already
    if report.job.policy.artifacts != "strip":
        if not row.regions and made.messages != given.messages:
            yield "was changed without a fold"
        elif row.regions:
            yield from _compare_outside(made, given, row.regions)
    if _count_unpaired(made) > _count_unpaired(given):
        yield "parts a call from its result"
    fresh = _broken_rules(made) - _broken_rules(given)
    if fresh:
        yield f"breaks {', '.join(sorted(fresh))}, which its input does not"


def _compare_outside(
    made: Transcript, given: Transcript, regions: Sequence[tuple[int, int]]
) -> Iterator[str]:
    """Yield how turns outside the folds differ; system text before the first may have a notice."""
    first, at, shift = regions[0][0], 0, 0
    for start, stop in (*regions, (len(given.messages), len(given.messages))):
        mine, theirs = given.messages[at:start], made.messages[at - shift : start - shift]
        is_head = start == first
        if _wires(mine, notice=is_head) != _wires(theirs, notice=is_head):
            yield f"differs from its input {'before' if is_head else 'after'} the fold"
        at, place = stop, start - shift
        shift += stop - start - 1
        if start < stop and (place >= len(made.messages) or made.messages[place].role != "user"):
            yield "has no user's turn in the place of the fold"
    if len(made.messages) != len(given.messages) - shift - 1:
        yield "differs from its input in the number of turns"


def _wires(messages: Sequence[Message], *, notice: bool) -> list[Any]:
    return [one.wire for one in messages if not notice or one.role != "system"]


def _count_unpaired(transcript: Transcript) -> int:
    found = survey(transcript.messages)
    return found.call_of.count(-1) + found.answer_of.count(-1)


def _broken_rules(transcript: Transcript) -> set[str]:
    return {one.rule for one in check_transcript(transcript, profile_for(transcript.dialect))}


def _read_output(path: Path) -> Iterator[RawRecord]:
    if path.exists():
        yield from read_records(find_sources([str(path)]))


def _line_count(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as lines:
        return sum(1 for _ in lines)
