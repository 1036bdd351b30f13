"""`holdfast trajectories compress`: a batch of records made to fit."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, get_args

import click
import msgspec

from holdfast.cli import say
from holdfast.cli.files import mode_of, readable_as
from holdfast.cli.inputs import json_option
from holdfast.cli.trajectories.models import (
    agreed,
    limits_of,
    model_options,
    priced_of,
    spent_sentence,
    summaries_of,
)
from holdfast.cli.trajectories.options import sources_argument, tokenizer_option
from holdfast.trajectories.batch import compress_batch
from holdfast.trajectories.policy import (
    LEAST_SUMMARY_TOKENS,
    Artifacts,
    BatchSettings,
    Counted,
    Format,
    TrajectoryPolicy,
)
from holdfast.trajectories.reading import find_sources

_NO_MODEL = "--engine ray cannot ask a model; leave --engine away, or choose --summaries ledger"


@click.command()
@sources_argument
@click.option("-o", "--output", required=True, metavar="DST", type=click.Path(file_okay=False),
              help="The folder of the output; run again, it goes on where it stopped."
              )  # fmt: skip
@click.option("--target-tokens", type=click.IntRange(min=1), required=True, metavar="N",
              help="What a record may cost.")  # fmt: skip
@click.option("--summary-tokens", type=click.IntRange(min=120), metavar="N",
              help="What the summary of the folded turns may cost (750; 120 with none)."
              )  # fmt: skip
@click.option("--keep-last", type=click.IntRange(min=0), default=4, show_default=True, metavar="N",
              help="So many turns at the end stay as they are.")  # fmt: skip
@click.option("--no-notice", is_flag=True, help="Leave the system turn as it is.")
@click.option("--strip-artifacts", is_flag=True,
              help="Take generated text out: summaries, digests and notices, also our own."
              )  # fmt: skip
@click.option("--exclude-compacted", is_flag=True,
              help="Leave records out that hold generated text or would get some.")  # fmt: skip
@tokenizer_option
@click.option("--count", type=click.Choice(get_args(Counted)), default="kept", show_default=True,
              help="Which turns are counted: those that stay, and what was folded is estimated at "
              "their rate; or all of them. The records are the same.")  # fmt: skip
@model_options
@click.option("--format", "form", type=click.Choice(get_args(Format)), default="jsonl",
              show_default=True, help="How records are written.")  # fmt: skip
@click.option("--shard-records", type=click.IntRange(min=1), default=1_000, show_default=True,
              metavar="N", help="Records of a file of the output.")  # fmt: skip
@click.option("--redaction-key", default="", metavar="TEXT",
              help="Makes the tags of placeholders, instead of the public key; kept in the "
              "manifest, and used again where the run goes on.")  # fmt: skip
@click.option("--workers", type=click.IntRange(min=1), default=None, metavar="N",
              help="Processes; as many as there are cores where it is not said.")  # fmt: skip
@click.option("--no-resume", is_flag=True, help="Remove what DST holds of an earlier run first.")
@click.option("--engine", type=click.Choice(["processes", "ray"]), default="processes",
              show_default=True, help="Who does the work: processes on this machine, or Ray."
              )  # fmt: skip
@click.option("--ray-address", default="", envvar="RAY_ADDRESS", metavar="A",
              help="A Ray cluster, also RAY_ADDRESS; started on this machine where none is named."
              )  # fmt: skip
@json_option
def command(sources: tuple[str, ...], **options: Any) -> int:
    """Make every record fit, in a folder that can be gone on with.

    SRC are files or folders of records. Those under the target stay as they are, byte for byte.
    Of the others the first system, human, gpt and tool turn and the last ones stay; as few turns
    between them as will do become one human turn with a summary, made without a model unless one
    is named. What cannot be read goes to quarantine.jsonl with its line and the reason. The same
    input and settings give the same bytes, whatever the number of processes and restarts.

    \b
    holdfast trajectories compress runs/ -o fitted --target-tokens 16000
    holdfast trajectories compress a.jsonl.zst b.parquet -o fitted --target-tokens 4096 \\
      --tokenizer tokenizer.json --format jsonl.zst --workers 8
    """
    summaries = summaries_of(options)
    if options["engine"] == "ray" and summaries == "model":
        return say(_NO_MODEL)
    short = LEAST_SUMMARY_TOKENS if summaries == "none" else 750
    job = BatchSettings(
        policy=TrajectoryPolicy(
            target_tokens=options["target_tokens"],
            summary_tokens=options["summary_tokens"] or short,
            keep_last=options["keep_last"], notice=not options["no_notice"],
            artifacts=_artifacts(options), count=options["count"],
        ),
        tokenizer=options["tokenizer"], summaries=summaries, summarizer=options["summarizer"],
        summarizer_url=options["summarizer_url"],
        summarizer_key_variable=options["summarizer_key_variable"],
        summarizer_timeout=options["summarizer_timeout"], format=options["form"],
        shard_records=options["shard_records"], redaction_key=options["redaction_key"],
    )  # fmt: skip
    from holdfast.cli.show_trajectories import batch_progress, show_batch

    folder, given = Path(options["output"]), find_sources(sources)
    priced = priced_of(job, options)
    if summaries == "model":
        workers = options["workers"] or os.cpu_count() or 1
        answer = agreed(given, folder, job, priced, options, workers)
        if not answer.begins:
            return answer.code
    rights = mode_of(*(source.path for source in given))
    with readable_as(rights), batch_progress(quiet=not sys.stderr.isatty()) as tell:
        done = compress_batch(
            given, folder, job, resume=not options["no_resume"], workers=options["workers"],
            limits=limits_of(options), tell=tell,
            ray=options["ray_address"] if options["engine"] == "ray" else None,
        )  # fmt: skip
    if options["as_json"]:
        asked = {"asked": msgspec.to_builtins(done.spent)} if done.spent else {}
        click.echo(msgspec.json.encode({**msgspec.to_builtins(done.report), **asked}))
        return 0
    show_batch(folder, done)
    if done.spent is not None:
        click.echo(spent_sentence(done.spent, priced))
    return 0


def _artifacts(options: dict[str, Any]) -> Artifacts:
    if options["strip_artifacts"] and options["exclude_compacted"]:
        raise click.UsageError(
            "--strip-artifacts and --exclude-compacted contradict each other; give one of them",
            click.get_current_context(),
        )
    if options["strip_artifacts"]:
        return "strip"
    return "exclude" if options["exclude_compacted"] else "keep"
