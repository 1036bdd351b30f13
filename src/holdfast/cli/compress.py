"""`holdfast compress`: a smaller transcript, the originals beside it, and a picture of both."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from holdfast.cli import say
from holdfast.cli.archive import SUFFIX, load_originals
from holdfast.cli.files import (
    STANDARD,
    check_writable,
    label,
    mode_of,
    packed,
    remove,
    write_bytes,
)
from holdfast.cli.inputs import (
    FILE,
    Input,
    output_option,
    read_input,
    reading_options,
    refuse_contradiction,
)
from holdfast.cli.report import Found, Unreadable, compression_report, emit, found
from holdfast.cli.settings import Window, settings_from, settings_options, window_for
from holdfast.cli.summarizer import check_native, native_for, summarizer_options, writers_for
from holdfast.config import Settings, redaction_policy
from holdfast.dialects.document import write_document
from holdfast.dialects.jsontext import dump
from holdfast.dialects.repair import repair_transcript
from holdfast.engine.difference import source_position
from holdfast.writing.native import Native
from holdfast.engine.oneshot import Compressed
from holdfast.engine.oneshot import compress as compress_once
from holdfast.engine.originals import (
    Generation,
    Placed,
    added,
    joined,
    write_originals,
)
from holdfast.writing.riding import check_rides
from holdfast.writing.writers import Writers
from holdfast.errors import CannotRepair, InvalidSetting, NotReadable, NotWritable
from holdfast.redaction import Redactor
from holdfast.report import Reference, Report
from holdfast.tokens.exact import exact_counter
from holdfast.transcript import Transcript


@click.command()
@click.argument("file", type=FILE)
@output_option
@click.option(
    "--target-tokens", type=click.IntRange(min=1), metavar="N", help="Compact to this size."
)
@settings_options
@summarizer_options
@click.option(
    "--native", metavar="WHO",
    help="Have the provider of the conversation compact it: openai:MODEL or anthropic:MODEL, at "
         "--summarizer-url where that is given.",
)  # fmt: skip
@click.option(
    "--keep-last", type=click.IntRange(min=1), metavar="N",
    help="Keep this many exchanges, from a user message on.",
)  # fmt: skip
@click.option(
    "--above", metavar="ID",
    help="Fold what stands above this message: its id, or its place (m12, 12).",
)  # fmt: skip
@click.option("--focus", default="", metavar="TOPIC", help="What the summary should dwell on.")
@click.option("--force", is_flag=True, help="Act also where automatic compaction would wait.")
@click.option(
    "--exact-tokens", is_flag=True,
    help="Count with the model's own vocabulary (the extra `exact`) instead of estimating.",
)  # fmt: skip
@click.option("--preview", is_flag=True, help="Show what would happen; no OUT, no originals.")
@click.option(
    "--report", "report_file", type=click.Path(allow_dash=True), metavar="FILE",
    help="Write the report as JSON, a transcript a line.",
)  # fmt: skip
@click.option(
    "--originals", type=click.Path(), metavar="FILE",
    help="Where the originals go; OUT.originals.jsonl where it is not named.",
)  # fmt: skip
@reading_options
def compress(file: str, **options: Any) -> int:
    """Make a transcript smaller, so that nothing is lost.

    What every provider accepts comes out: the newest messages as they were (results that do not
    fit by themselves are cut in the middle), older tool results as one-line digests, the rest
    folded into a summary. That is made without a model; with --summarizer a model writes its
    prose, checked against the transcript (a preview asks nobody and says in how many calls it
    would be written). With --native its own provider is asked first, and the item that it gives
    stands in the place of the summary, as it came. Each of these carries a reference, and the
    originals are in OUT.originals.jsonl (for its owner alone), written before OUT: `holdfast
    recall` gives one back, `holdfast undo` all. On standard output there are references only with
    --originals. What breaks the provider's rules is mended first, or refused with exit code 2.
    If nothing can be saved, OUT is a copy of FILE, and the reason is printed. The exit code is 1
    if a compaction was wanted and did not happen (the summarizer failed, the window is too small).

    \b
    holdfast compress session.json -o small.json
    holdfast compress session.json -o small.json --target-tokens 8000
    holdfast compress session.json --preview --model claude-sonnet-4-5
    """
    asked = _Asked(file=file, options=options)
    _refuse_contradictions(asked)
    settings = settings_from(options)
    asked = replace(
        asked,
        writers=writers_for(settings, is_preview=asked.preview),
        native=native_for(options["native"], settings),
    )
    for name in (asked.output, asked.originals, options["report_file"]):
        if name and not asked.preview:
            check_writable(name)
    try:
        given = read_input(file, options["provider"], options["dialect"])
    except NotReadable as error:
        if options["as_json"]:
            emit(Unreadable(file=file, error=str(error)), err=asked.to_stderr)
            return 2
        return say(f"{label(file)}: {error}")
    earlier = _earlier(asked)
    done = _compress(given, asked, settings)
    if isinstance(done, _Refused):
        return _refuse(given, done, asked)
    _write(given, asked, done, earlier)
    _tell(given, asked, done)
    return int(any(run.report.is_refused for run in done))


class _Asked(Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    file: str
    options: dict[str, Any]
    writers: Writers | None = None
    native: Native | None = None

    @property
    def output(self) -> str:
        return self.options["output"]

    @property
    def preview(self) -> bool:
        return self.options["preview"]

    @property
    def to_stderr(self) -> bool:
        """Whether standard output is taken by the transcript."""
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


class _Refused(Struct, frozen=True):
    """What cannot be mended, in all transcripts of the file."""

    violations: tuple[Found, ...]


class Run(Struct, frozen=True):
    """One transcript compressed: its window, what was done, and what is written."""

    window: Window
    done: Compressed
    transcript: Transcript
    report: Report
    """The report with positions as in the file."""


def _refuse_contradictions(asked: _Asked) -> None:
    options, context = asked.options, click.get_current_context()
    refuse_contradiction(options["provider"], options["dialect"])
    if options["keep_last"] is not None and options["above"] is not None:
        raise click.UsageError("--keep-last and --above exclude each other", context)
    for flag, said in (("focus", "--focus"), ("target_tokens", "--target-tokens")):
        if options["native"] is not None and options[flag]:
            raise click.UsageError(
                f"--native and {said} exclude each other: only our own summaries have that", context
            )
    if options["originals"] == STANDARD:
        raise click.UsageError("--originals must be a file", context)
    named = [asked.originals, options["report_file"], asked.output, asked.file]
    places = [os.path.realpath(name) if name and name != STANDARD else "" for name in named]
    for at, place in enumerate(places[:2]):
        if place and place in places[at + 1 :]:
            raise click.UsageError(f"{label(place)} is named for two things", context)


def _earlier(asked: _Asked) -> tuple[Generation, ...]:
    """Return the generations that the input, and what is about to be replaced, already have."""
    names = [f"{asked.file}{SUFFIX}" if asked.file != STANDARD else "", asked.originals]
    lineages: list[tuple[Generation, ...]] = []
    for name in dict.fromkeys(os.path.realpath(name) for name in names if name):
        if os.path.isfile(name) and os.path.getsize(name):
            lineages.append(load_originals(name))
    return joined(*reversed(lineages))


def _compress(given: Input, asked: _Asked, settings: Settings) -> list[Run] | _Refused:
    runs: list[Run] = []
    hopeless: list[Found] = []
    for number, transcript in enumerate(given.transcripts):
        try:
            runs.append(_run(transcript, given, number, asked, settings))
        except CannotRepair as error:
            hopeless += [found(given, number, violation) for violation in error.violations]
    return _Refused(tuple(hopeless)) if hopeless else runs


def _run(
    transcript: Transcript, given: Input, number: int, asked: _Asked, settings: Settings
) -> Run:
    options, window = asked.options, window_for(settings, transcript)
    body = transcript.frame.body
    value: Any = body if body is not None else [message.wire for message in transcript.messages]
    above: str | None = options["above"]
    if window.tokens <= settings.output_tokens:
        raise InvalidSetting(
            "context_length", window.tokens,
            f"more than the output reservation of {settings.output_tokens}",
        )  # fmt: skip
    if asked.native is not None:
        check_native(asked.native, given.profiles[number].name, transcript, given.name)
    check_rides(asked.writers, model=window.model, dialect=transcript.dialect)
    done = compress_once(
        value,
        model=window.model,
        context_length=window.tokens,
        output_tokens=settings.output_tokens,
        target_tokens=options["target_tokens"],
        focus=options["focus"],
        force=options["force"],
        policy=settings.policy,
        redact=Redactor(redaction_policy(settings)),
        provider=options["provider"],
        dialect=transcript.dialect,
        keep_last=options["keep_last"],
        above=None if above is None else _position(above, transcript, given, number),
        references=bool(asked.originals) or asked.preview,
        counter=exact_counter(window.model) if options["exact_tokens"] else None,
        summarizer=asked.writers,
        native=None if asked.preview else asked.native,
    )
    result = transcript if done.messages is value else done.transcript
    if done.report.repaired:
        result = replace(result, messages=tuple(
            replace(message, position=source_position(message, done))
            for message in result.messages
        ))  # fmt: skip
    report = replace(
        done.report,
        context_length_source=window.source,
        references=tuple(_in_file(row, done) for row in done.report.references),
        notes=(*done.report.notes, *_said(asked, window)),
    )
    return Run(window, done, result, report)


def _said(asked: _Asked, window: Window) -> Iterator[str]:
    if asked.native is not None and asked.preview:
        yield f"a preview asks nobody: {asked.native.compactor.name} would be asked to compact it"
    if window.note:
        yield window.note


def _position(above: str, transcript: Transcript, given: Input, number: int) -> int:
    """Return where a message stands in the list as it is compressed, that is after its repair."""
    at = next((m.position for m in transcript.messages if above and m.id == above), -1)
    digits = above.removeprefix("m")
    if at < 0 and digits.isdecimal() and int(digits) < len(transcript.messages):
        at = int(digits)
    if at < 0:
        raise click.UsageError(
            f"--above: no message {above!r} among the {len(transcript.messages):,} of "
            f"{label(given.name)}; give an id, or a place from m0 on",
            click.get_current_context(),
        )
    mended, _ = repair_transcript(transcript, given.profiles[number])
    stand = [index for index, message in enumerate(mended.messages) if message.position >= at]
    return stand[0] if stand else len(mended.messages)


def _in_file(row: Reference, done: Compressed) -> Reference:
    """Return a reference with positions of the file.

    Repair may have dropped or joined messages; those stand with the one before them.
    """
    places = [message.position for message in done.originals]
    held = [at for at in places[row.start : row.stop] if at >= 0]
    if not held:
        return replace(row, positions=(0, 0))
    if not done.report.repaired:
        return row
    following = [at for at in places if at > max(held)]
    return replace(row, positions=(min(held), min(following, default=max(held) + 1)))


def _refuse(given: Input, refused: _Refused, asked: _Asked) -> int:
    if asked.options["as_json"]:
        from holdfast.cli.report import Refusal

        emit(Refusal(file=given.name, violations=refused.violations), err=asked.to_stderr)
        return 2
    from holdfast.cli.show import show_refusal

    show_refusal(given, refused.violations)
    return 2


def _write(given: Input, asked: _Asked, runs: list[Run], earlier: tuple[Generation, ...]) -> None:
    """Write the originals, then the output, then the report; the preview writes the report only.

    An output that cannot be written leaves no new originals behind.
    """
    written: list[str] = []
    if not asked.preview:
        text = write_document(given.document, [run.transcript for run in runs])
        is_new = bool(asked.originals) and not os.path.lexists(asked.originals)
        if asked.originals:
            generations = earlier
            if text != given.document.source:
                generations = _with_new(given, runs, text, earlier)
            if generations:
                write_bytes(asked.originals, write_originals(generations), private=True)
                written.append(asked.originals)
        same = text == given.document.source and given.document.compressed
        data = given.data if same and asked.output.endswith(".gz") else packed(asked.output, text)
        try:
            write_bytes(asked.output, data, mode=mode_of(given.name))
        except NotWritable as error:
            if written and is_new:
                remove(written.pop())
            raise _beside(error, written) from None
        written.append(asked.output)
    if asked.options["report_file"]:
        rows = [dump(row) + b"\n" for row in _reports(given, asked, runs)]
        try:
            write_bytes(asked.options["report_file"], b"".join(rows), mode=mode_of(given.name))
        except NotWritable as error:
            raise _beside(error, written) from None


def _beside(error: NotWritable, written: list[str]) -> NotWritable:
    """Return the error with the files written before it, or the same error if there are none."""
    if not written:
        return error
    names = " and ".join(label(name) for name in written)
    return NotWritable(error.name, error.what, remedy=f"what was written before it stays: {names}")


def _with_new(
    given: Input, runs: list[Run], text: bytes, earlier: tuple[Generation, ...]
) -> tuple[Generation, ...]:
    references = [
        Placed(row.ref, number, row.start, row.stop, row.kind)
        for number, run in enumerate(runs)
        for row in run.report.references
    ]
    dialect = given.dialect if "," not in given.dialect else ""
    return added(earlier, given.document.source, dialect, text, references)


def _reports(given: Input, asked: _Asked, runs: list[Run]) -> list[dict[str, Any]]:
    output = None if asked.preview else asked.output
    originals = asked.originals if asked.originals and not asked.preview else None
    return [
        compression_report(given, number, run.report, output, originals)
        for number, run in enumerate(runs)
    ]


def _tell(given: Input, asked: _Asked, runs: list[Run]) -> None:
    if asked.options["as_json"]:
        for row in _reports(given, asked, runs):
            click.echo(dump(row), err=asked.to_stderr)
        return
    from holdfast.cli.picture import Written, show_compression

    written = Written(asked.output, asked.originals, preview=asked.preview)
    show_compression(given, runs, written)
