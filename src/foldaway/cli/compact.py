"""`foldaway compact`: a smaller transcript, the originals beside it, and a picture of both."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import click
from click.core import ParameterSource
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from foldaway._core import Reference, Report, SummaryNote
from foldaway.cli import NOT_DONE
from foldaway.cli.conversation import is_newest_file, is_path, read_given
from foldaway.cli.draw import Picture, saving, size
from foldaway.cli.files import (
    STANDARD,
    check_writable,
    count_of,
    label,
    mode_of,
    remove,
    write_bytes,
)
from foldaway.cli.inputs import (
    COUNT,
    FILE,
    PATH,
    Input,
    Located,
    locate,
    options,
    output_option,
    place_of,
    print_json,
    reading_options,
    usage_error,
)
from foldaway.cli.inspect import fixed_note
from foldaway.cli.originals import SUFFIX, load_originals
from foldaway.cli.settings import (
    check_native,
    native_for,
    native_option,
    settings_from,
    settings_options,
    summarizer_options,
    window_for,
    writers_for,
)
from foldaway.cli.stores import place_options
from foldaway.compaction import FOLD_MORE, Options, fixed_categories
from foldaway.config import Settings, redaction_policy
from foldaway.dialects import dump_bytes, repair_transcript
from foldaway.engine import (
    Compressed,
    Generation,
    Model,
    Placed,
    add_generation,
    find_difference,
    join_generations,
    make_redactor,
    source_position,
    write_originals,
)
from foldaway.engine import compress as compress_once
from foldaway.errors import CannotRepair, InvalidSetting, NotWritable
from foldaway.summarizers import NativeCompaction, Writers
from foldaway.transcript import Estimator, Transcript, Violation, exact_counter

_FOLD_MORE = "--target-tokens or --keep-last fold more"
SHOWN_RECORDS = 20
"""Transcripts of a file, and notes, that are listed; about a screen."""


FILE_OPTIONS = {
    "target_tokens": "--target-tokens",
    "above": "--above",
    "force": "--force",
    "exact_tokens": "--exact-tokens",
    "report_file": "--report",
    "originals": "--originals",
    "provider": "--provider",
    "dialect": "--dialect",
}
"""What is asked of a file, or of a copy of a session, and not of a session in its store."""


@click.command()
@click.argument("file", type=FILE, metavar="FILE|SESSION")
@output_option
@options(("--target-tokens N", COUNT, "Compact to this size."))
@settings_options
@summarizer_options
@native_option
@options(
    ("--keep-last N", COUNT, "Keep this many exchanges, from a user message on."),
    ("--above ID", str, "Fold everything before this message: its id, or its place (m12, 12)."),
    ("--focus TOPIC", str, "What the summary should focus on.", ""),
    ("--force", bool, "Ask a summarizer that failed a short time ago again, without a pause."),
    ("--exact-tokens", bool, "Count with the model's own vocabulary (extra `exact`)."),
    ("--preview", bool, "Show what would happen; nothing is written."),
    ("--if-due", bool, "Only if automatic compaction of the stored session is due."),
    ("--report report_file FILE", FILE, "Write the report as JSON lines, one per transcript."),
    ("--originals FILE", PATH, "Where to write the originals; OUT.originals.jsonl by default."),
)
@reading_options
@place_options
@click.pass_context
def compact(context: click.Context, file: str, **given: Any) -> int:
    """Make a transcript or session smaller; the originals can be restored.

    What is worth most stays: the newest request, turns of the agent, pieces of tool results. The
    rest is folded into a summary. The result is valid for the provider. No model is called, except
    with --summarizer (a model writes the summary, and it is checked) and --native (the provider
    compacts the conversation). The exit code is 3 if a compaction was wanted and did not happen.

    Of a file, the originals are written to OUT.originals.jsonl before OUT. If OUT is standard
    output, there are references only with --originals. What breaks the provider's rules is
    repaired first, or refused with exit code 2. If nothing can be saved, OUT is FILE as it
    is, or as it was repaired.

    A session is compacted in its store, the newest of its lineage, and its log stays as it is;
    with -o or --preview it stays as it was, and a smaller copy is written or shown.

    `foldaway recall` prints one original, `foldaway undo` restores all.

    \b
    foldaway compact session.json -o small.json
    foldaway compact session.json -o small.json --target-tokens 8000
    foldaway compact session.json --preview --model claude-sonnet-5-5
    foldaway compact 20260131-1200
    """
    is_copy = context.get_parameter_source("output") is not ParameterSource.DEFAULT
    if not (is_copy or given["preview"] or is_path(file) or is_newest_file(file)):
        from foldaway.cli.sessions.compact import compact_session

        for name, flag in FILE_OPTIONS.items():
            if given[name]:
                raise usage_error(f"{flag} is for a file, or with -o for a copy of the session")
        return compact_session(file, given)
    if given["if_due"]:
        raise usage_error("--if-due is for a stored session; `foldaway plan` says it of a file")
    asked = _Asked(file=file, options=given)
    _refuse_contradictions(asked)
    settings = settings_from(given)
    native = native_for(given["native"], settings)
    asking = None if asked.preview else native
    asked = replace(
        asked, writers=writers_for(settings, asking, is_preview=asked.preview), native=native
    )
    for name in (asked.output, asked.originals, given["report_file"]):
        if name and not asked.preview:
            check_writable(name)
    source = read_given(file, given, err=asked.to_stderr)
    earlier = _read_earlier(asked)
    records, hopeless = _compress(source, asked, settings)
    if hopeless:
        return _refuse(source, hopeless, asked)
    _write(source, asked, records, earlier)
    if given["as_json"]:
        for row in _reports(source, asked, records):
            print_json(row, err=asked.to_stderr)
    else:
        show_compression(source, records, asked)
    return NOT_DONE if any(record.report.is_refused for record in records) else 0


class _Asked(Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    file: str
    options: dict[str, Any]
    writers: Writers = Writers()
    native: NativeCompaction | None = None

    @property
    def output(self) -> str:
        return self.options["output"]

    @property
    def preview(self) -> bool:
        return self.options["preview"]

    @property
    def to_stderr(self) -> bool:
        """Whether the transcript itself goes to standard output."""
        return self.output == STANDARD and not self.preview

    @property
    def originals(self) -> str:
        """Where the originals go, "" for nowhere."""
        named: str | None = self.options["originals"]
        if named is not None:
            return named
        is_file = self.output != STANDARD and (
            os.path.isfile(self.output) or not os.path.exists(self.output)
        )
        return f"{self.output}{SUFFIX}" if is_file else ""


class CompressedRecord(Struct, frozen=True):
    """One transcript compressed: what was done, and what is written."""

    done: Compressed
    transcript: Transcript
    report: Report
    """The report with positions as in the file."""


def _refuse_contradictions(asked: _Asked) -> None:
    given = asked.options
    if given["keep_last"] is not None and given["above"] is not None:
        raise usage_error("--keep-last and --above exclude each other")
    for name, flag in (("focus", "--focus"), ("target_tokens", "--target-tokens")):
        if given["native"] is not None and given[name]:
            raise usage_error(
                f"--native and {flag} exclude each other: only our own summaries have that"
            )
    if given["originals"] == STANDARD:
        raise usage_error("--originals must be a file")
    named = [asked.originals, given["report_file"], asked.output, asked.file]
    places = [os.path.realpath(name) if name and name != STANDARD else "" for name in named]
    for at, place in enumerate(places[:2]):
        if place and place in places[at + 1 :]:
            raise usage_error(f"{label(place)} is named for two things")


def _read_earlier(asked: _Asked) -> tuple[Generation, ...]:
    """Return the generations that the input, and what is about to be replaced, already have."""
    names = [f"{asked.file}{SUFFIX}" if asked.file != STANDARD else "", asked.originals]
    lineages: list[tuple[Generation, ...]] = []
    for name in dict.fromkeys(os.path.realpath(name) for name in names if name):
        if os.path.isfile(name) and os.path.getsize(name):
            lineages.append(load_originals(name))
    return join_generations(*reversed(lineages))


def _compress(
    source: Input, asked: _Asked, settings: Settings
) -> tuple[list[CompressedRecord], list[Located[Violation]]]:
    """Return the transcripts of a file compressed, and what cannot be repaired in any of them."""
    records: list[CompressedRecord] = []
    hopeless: list[Located[Violation]] = []
    for number in range(len(source.records)):
        try:
            records.append(_compress_record(source, number, asked, settings))
        except CannotRepair as error:
            hopeless += locate(source, number, error.violations)
    return records, hopeless


def _compress_record(
    source: Input, number: int, asked: _Asked, settings: Settings
) -> CompressedRecord:
    given, transcript = asked.options, source.transcripts[number]
    window = window_for(settings, source.records[number])
    body = transcript.frame.body
    value: Any = body if body is not None else [message.wire for message in transcript.messages]
    if window.tokens <= settings.output_tokens:
        raise InvalidSetting(
            "context_length",
            window.tokens,
            f"more than the output reservation of {settings.output_tokens}",
        )
    if asked.native is not None:
        check_native(asked.native, source.profiles[number].name, transcript, source.name)
    asked.writers.check_cached_prompt(model=window.model, dialect=transcript.dialect)
    done = compress_once(
        value,
        model=Model(
            window.model,
            window.tokens,
            output_tokens=settings.output_tokens,
            counter=exact_counter(window.model) if given["exact_tokens"] else None,
        ),
        target_tokens=given["target_tokens"],
        policy=settings.policy,
        provider=given["provider"] or transcript.dialect,
        summarizer=asked.writers,
        redact=make_redactor(redaction_policy(settings)),
        options=Options(
            focus=given["focus"],
            force=given["force"],
            keep_last=given["keep_last"],
            above=None if given["above"] is None else _position(given["above"], source, number),
            references=bool(asked.originals) or asked.preview,
        ),
    )
    result = transcript if done.messages is value else done.transcript
    if done.report.repaired:
        result = replace(
            result,
            messages=tuple(
                replace(message, position=source_position(message, done))
                for message in result.messages
            ),
        )
    notes = [window.note] if window.note else []
    if asked.native is not None and asked.preview:
        name = asked.native.compactor.name
        notes.insert(0, f"a preview asks nobody: {name} would be asked to compact it")
    report = replace(
        done.report,
        context_length_source=window.source,
        references=tuple(_locate_reference(row, done) for row in done.report.references),
        notes=(*done.report.notes, *notes),
    )
    return CompressedRecord(done, result, report)


def _position(above: str, source: Input, number: int) -> int:
    """Return the place of a message in the list as it is compressed, that is after its repair."""
    transcript = source.transcripts[number]
    at = next((m.position for m in transcript.messages if above and m.id == above), -1)
    digits = above.removeprefix("m")
    if at < 0 and digits.isdecimal() and int(digits) < len(transcript.messages):
        at = int(digits)
    if at < 0:
        raise usage_error(
            f"--above: no message {above!r} among the {len(transcript.messages):,} of "
            f"{label(source.name)}; give an id, or a place from m0 on"
        )
    mended, _ = repair_transcript(transcript, source.profiles[number])
    later = [index for index, message in enumerate(mended.messages) if message.position >= at]
    return later[0] if later else len(mended.messages)


def _locate_reference(row: Reference, done: Compressed) -> Reference:
    """Return a reference with positions of the file.

    Messages that repair dropped or joined belong to the one before them.
    """
    places = [message.position for message in done.originals]
    held = [at for at in places[row.start : row.stop] if at >= 0]
    if not held:
        return replace(row, positions=(0, 0))
    if not done.report.repaired:
        return row
    following = [at for at in places if at > max(held)]
    return replace(row, positions=(min(held), min(following, default=max(held) + 1)))


def _refuse(source: Input, hopeless: Sequence[Located[Violation]], asked: _Asked) -> int:
    """Report what breaks rules and cannot be repaired; nothing was written."""
    if asked.options["as_json"]:
        rows = [one.row() for one in hopeless]
        report = {"file": source.name, "output": None, "violations": rows}
        print_json(report, err=asked.to_stderr)
    else:
        from foldaway.cli.check import show_refusal

        show_refusal(source, hopeless)
    return 2


def _write(
    source: Input,
    asked: _Asked,
    records: Sequence[CompressedRecord],
    earlier: tuple[Generation, ...],
) -> None:
    """Write the originals, then the output, then the report; the preview writes the report only.

    An output that cannot be written leaves no new originals behind.
    """
    written: list[str] = []
    if not asked.preview:
        text = source.document.write([record.transcript for record in records])
        is_new = bool(asked.originals) and not os.path.lexists(asked.originals)
        if asked.originals:
            generations = earlier
            if text != source.document.source:
                generations = _with_new(source, records, text, earlier)
            if generations:
                write_bytes(asked.originals, write_originals(generations), private=True)
                written.append(asked.originals)
        try:
            source.write(asked.output, text)
        except NotWritable as error:
            if written and is_new:
                remove(written.pop())
            raise _with_written(error, written) from None
        written.append(asked.output)
    if asked.options["report_file"]:
        rows = [dump_bytes(row) + b"\n" for row in _reports(source, asked, records)]
        try:
            write_bytes(asked.options["report_file"], b"".join(rows), mode=mode_of(source.name))
        except NotWritable as error:
            raise _with_written(error, written) from None


def _with_written(error: NotWritable, written: list[str]) -> NotWritable:
    """Return the error with the files written before it, or the same error if there are none."""
    if not written:
        return error
    names = " and ".join(label(name) for name in written)
    return NotWritable(error.name, error.what, remedy=f"what was written before it stays: {names}")


def _with_new(
    source: Input, records: Sequence[CompressedRecord], text: bytes, earlier: tuple[Generation, ...]
) -> tuple[Generation, ...]:
    references = [
        Placed(row.ref, number, row.start, row.stop, row.kind)
        for number, record in enumerate(records)
        for row in record.report.references
    ]
    dialect = source.dialect if "," not in source.dialect else ""
    return add_generation(earlier, source.document.source, dialect, text, references)


def _reports(
    source: Input, asked: _Asked, records: Sequence[CompressedRecord]
) -> list[dict[str, object]]:
    """Return the report on each transcript as it is written for programs."""
    output = None if asked.preview else asked.output
    originals = asked.originals if asked.originals and not asked.preview else None
    return [
        {
            "file": source.name,
            "output": output,
            "originals": originals,
            **to_builtins(place_of(source, number)),
            **to_builtins(record.report),
            "saved": round(record.report.saved, 4),
        }
        for number, record in enumerate(records)
    ]


def show_compression(source: Input, records: Sequence[CompressedRecord], asked: _Asked) -> None:
    """Print what was done, or would be done, to the transcripts of a file."""
    picture = Picture(stderr=asked.to_stderr)
    reports = [record.report for record in records]
    picture.line(picture.heading(source, _outcome(reports)), _headline(reports, picture.arrow))
    picture.warnings(source)
    if source.holds_many:
        _show_records(picture, source, reports)
    elif reports[0].status == "compacted":
        picture.difference(find_difference(records[0].done))
    if any(report.status == "compacted" for report in reports):
        picture.category_bars(_categories(reports))
        _show_files(picture, reports, asked)
    elif not source.holds_many:
        detail = reports[0].detail.replace(FOLD_MORE, _FOLD_MORE)
        picture.line(f"  {_reason(reports[0])}: {detail}")
    fixed = sum(
        one.tokens_after
        for record in records
        for one in fixed_categories(record.done.transcript, Estimator())
    )
    notes = [fixed_note(fixed), *(note for report in reports for note in _notes(report))]
    notes += [_explain_early(report) for report in reports if not asked.options["target_tokens"]]
    if source.is_native and asked.originals:
        notes.append("undo restores the messages; what they were taken from was only read")
    repaired = [f"repaired first: {what}" for report in reports for what in report.repaired[:5]]
    given = zip(source.transcripts, records, strict=True)
    repaired += [
        f"repaired first: {count_of(was, 'message')} became {len(one.done.originals):,}"
        for was, one in ((len(transcript.messages), one) for transcript, one in given)
        if one.report.repaired and was != len(one.done.originals)
    ]
    for sentence in list(dict.fromkeys((*repaired, *notes)))[:SHOWN_RECORDS]:
        picture.note(sentence)


def _explain_early(report: Report) -> str:
    """Return why a transcript is compacted that automatic compaction would leave alone."""
    if report.status == "unchanged" or report.tokens_before >= report.threshold_tokens:
        return ""
    return (
        f"compacted because you asked: it is due from {report.threshold_tokens:,} tokens on, or "
        "earlier if it pays (`foldaway plan` says whether)"
    )


def _outcome(reports: Sequence[Report]) -> str:
    """Return how it went: a compaction that did not happen is not shown as one that did."""
    if any(report.is_refused for report in reports):
        return "refused"
    return "ok" if any(report.status == "compacted" for report in reports) else "same"


def _headline(reports: Sequence[Report], arrow: str) -> str:
    """Return messages and tokens before and after, and the saving."""
    tokens = sum(report.tokens_before for report in reports)
    was = size(sum(report.messages_before for report in reports), tokens)
    if all(report.status == "unchanged" for report in reports):
        return was
    left = sum(report.tokens_after for report in reports)
    now = size(sum(report.messages_after for report in reports), left)
    return f"{was} {arrow} {now} ({saving(tokens, left)})"


def _reason(report: Report) -> str:
    """Return why a transcript was not compacted, after what was done to it instead."""
    return f"{'only repaired' if report.repaired else 'nothing changed'} ({report.reason})"


def _show_records(picture: Picture, source: Input, reports: Sequence[Report]) -> None:
    rows: list[tuple[tuple[str, str], str]] = []
    for number, report in enumerate(reports[:SHOWN_RECORDS]):
        why = f"; {_reason(report)}" if report.status == "unchanged" else ""
        line = f"{_headline([report], picture.arrow)}{why}"
        rows.append(((source.place(number).removesuffix(": "), "dim"), line))
    picture.table("Ww", rows)
    picture.more(len(reports), SHOWN_RECORDS)


def _categories(reports: Sequence[Report]) -> list[tuple[str, int, int | None]]:
    was: Counter[str] = Counter()
    now: Counter[str] = Counter()
    for one in (one for report in reports for one in report.categories):
        was[one.name] += one.tokens_before
        now[one.name] += one.tokens_after
    return [(name, was[name], now[name]) for name in sorted(was, key=lambda n: -was[n])]


def _show_files(picture: Picture, reports: Sequence[Report], asked: _Asked) -> None:
    """Print what was written, who made the summary, and how an original can be recalled."""
    picture.blank()
    if asked.output != STANDARD:
        verb = "would be written" if asked.preview else "written"
        picture.line(f"  {verb} to {label(asked.output)}")
    elif asked.preview:
        picture.line("  a preview: nothing was written")
    summary = sum(report.summary_tokens for report in reports)
    if summary:
        made = [report.summary_source for report in reports if report.summary_tokens]
        names = " and ".join(dict.fromkeys(map(_author, made)))
        picture.line(f"  summary: {count_of(summary, 'token')}, made by {names}")
    if asked.preview:
        return
    if not asked.originals:
        picture.line("  originals: not kept, so no references; name a place with --originals")
        return
    picture.line(f"  originals: {label(asked.originals)}")
    rows = [row for report in reports for row in report.references]
    rows.sort(key=lambda row: row.kind == "fold")
    if rows:
        place = shlex.quote(label(asked.originals))
        picture.line(f"  recall one: foldaway recall {rows[0].ref} --originals {place}")


def _author(note: SummaryNote) -> str:
    if note.source == "ledger":
        return "the ledger, without a model"
    if note.source == "native":
        return f"{note.name}, the provider itself"
    added = count_of(note.added, "verified entry", "verified entries")
    return (
        f"the ledger and {note.name} ({added} added; "
        f"{count_of(note.verified, 'sentence')} verified, {note.unchecked} without names, "
        f"{note.dropped} dropped, {note.contradicted} contradicted)"
    )


def _notes(report: Report) -> Iterator[str]:
    if report.counter == "estimate":
        yield "token figures are estimates"
    yield from (note.replace(FOLD_MORE, _FOLD_MORE) for note in report.notes)
    if not report.fits_window:
        yield (
            f"{report.tokens_after:,} tokens do not fit the window of "
            f"{report.effective_window:,}; {report.floor_tokens:,} cannot be folded"
        )
    target = report.target_tokens
    if report.status == "unchanged" and target is not None and report.tokens_after > target:
        yield f"the target of {target:,} is not reached: {report.tokens_after:,}"
