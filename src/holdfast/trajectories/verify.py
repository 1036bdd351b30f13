"""Hold the output of a batch against what it says of itself, and against its input."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.dialects.check import check_transcript
from holdfast.dialects.jsontext import parse
from holdfast.dialects.load import load_parsed
from holdfast.dialects.profiles import profile_for
from holdfast.errors import HoldfastError
from holdfast.ports import TokenCounter
from holdfast.trajectories.artifacts import is_compacted
from holdfast.trajectories.batch import Report, read_report
from holdfast.trajectories.before import Row, read_rows
from holdfast.trajectories.counters import counter_for
from holdfast.trajectories.measure import outside_tokens, turn_tokens
from holdfast.trajectories.reading import Entry, read_entries
from holdfast.trajectories.shards import Shard, cut
from holdfast.trajectories.sources import Source, find_sources
from holdfast.trajectories.work import METRICS, STATE, read_done
from holdfast.transcript import Transcript, survey


class Fault(Struct, frozen=True):
    """Something that is not as the batch says; `where` is a file of the output and a line."""

    where: str
    what: str


def verify(folder: Path, against: Sequence[Source] = ()) -> Iterator[Fault]:
    """Yield what is wrong with the output of a finished batch; nothing where all is well.

    Every record is read and counted again. With the input at hand, as the batch was given it,
    every record is also held against its own: turns outside the folded region are the same, calls
    have their results as before, no rule is broken that was kept, order and number are those of
    the input. One shard is in memory at a time, of the output and of the input.
    """
    report = read_report(folder)
    job, counter = report.job, counter_for(report.job.tokenizer)
    shards = cut(read_entries(against), most_records=job.shard_records, most_bytes=job.shard_bytes)
    written = 0
    for number in range(report.shards):
        name = f"part-{number:05d}"
        rows = read_rows(folder / METRICS / f"{name}.jsonl")
        kept = [row for row in rows if row.outcome != "excluded"]
        entries = list(_records(folder / f"{name}.{job.format}"))
        if len(entries) != len(kept):
            yield Fault(name, f"holds {len(entries)} records, its metrics tell of {len(kept)}")
        written += len(entries)
        given = _Given(next(shards, None), folder, name) if against else None
        if given and given.is_other:
            yield Fault(name, "was made of other input; name the SRC that `compress` was given, in "
                        "their order")  # fmt: skip
        for entry, row in zip(entries, kept, strict=False):
            where = f"{name}.{job.format}:{entry.line}"
            for what in _faults(entry, row, report, counter):
                yield Fault(where, what)
            for what in given.differences(entry, row, report) if given else ():
                yield Fault(where, what)
    if next(shards, None) is not None:
        yield Fault("report.json", f"tells of {report.total.records:,} records, the input has more")
    quarantined = _line_count(folder / "quarantine.jsonl")
    if (written, quarantined) != (report.total.written, report.total.quarantined):
        yield Fault("report.json", f"tells of {report.total.written} written and "
                    f"{report.total.quarantined} quarantined records; there are {written} and "
                    f"{quarantined}")  # fmt: skip


class _Given:
    """The input of one shard; records in it are found by source and line, in their order."""

    def __init__(self, shard: Shard | None, folder: Path, name: str) -> None:
        self._entries: dict[tuple[str, int], deque[Entry]] = {}
        for entry in shard.entries if shard else ():
            self._entries.setdefault((entry.source, entry.line), deque()).append(entry)
        mark = read_done(folder / STATE / f"{name}.json")
        self.is_other = mark is not None and (shard is None or mark.digest != shard.digest)
        """Whether the batch says that it read something else; it may have lost its marks."""

    def differences(self, entry: Entry, row: Row, report: Report) -> Iterator[str]:
        """Yield how a record differs from its input beyond what was to be done."""
        found = self._entries.get((row.source, row.line))
        if found:
            yield from _differences(entry, row, found.popleft(), report)
        elif not self.is_other:
            yield f"comes from {row.source}:{row.line}, which is not in the input"


def _faults(entry: Entry, row: Row, report: Report, counter: TokenCounter) -> Iterator[str]:
    """Yield what is wrong with a record by itself."""
    try:
        made = load_parsed(parse(entry.data))
    except HoldfastError as error:
        yield f"cannot be read: {error}"
        return
    tokens = outside_tokens(made, counter) + sum(
        turn_tokens(message, made.dialect, counter) for message in made.messages
    )
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


def _differences(entry: Entry, row: Row, was: Entry, report: Report) -> Iterator[str]:
    try:
        made, given = load_parsed(parse(entry.data)), load_parsed(parse(was.data))
    except HoldfastError:
        return  # told already
    if report.job.policy.artifacts != "strip":
        if row.region is None and made.messages != given.messages:
            yield "was changed without a fold"
        elif row.region is not None:
            yield from _outside_region(made, given, row.region)
    if _unpaired(made) > _unpaired(given):
        yield "parts a call from its result"
    fresh = _broken(made) - _broken(given)
    if fresh:
        yield f"breaks {', '.join(sorted(fresh))}, which its input does not"


def _outside_region(made: Transcript, given: Transcript, region: tuple[int, int]) -> Iterator[str]:
    start, stop = region
    head = [message.wire for message in made.messages[:start] if message.role != "system"]
    mine = [message.wire for message in given.messages[:start] if message.role != "system"]
    if head != mine:
        yield "differs from its input before the fold"
    if [one.wire for one in made.messages[start + 1 :]] != [
        one.wire for one in given.messages[stop:]
    ]:
        yield "differs from its input after the fold"
    if made.messages[start].role != "user":
        yield "has no user's turn in the place of the fold"


def _unpaired(transcript: Transcript) -> int:
    found = survey(transcript.messages)
    return found.call_of.count(-1) + found.answer_of.count(-1)


def _broken(transcript: Transcript) -> set[str]:
    return {one.rule for one in check_transcript(transcript, profile_for(transcript.dialect))}


def _records(path: Path) -> Iterator[Entry]:
    if path.exists():
        yield from read_entries(find_sources([str(path)]))


def _line_count(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as lines:
        return sum(1 for _ in lines)
