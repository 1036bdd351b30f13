"""`foldaway trajectories`: finished runs made to fit a training window, in batches."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import to_builtins

from foldaway.caching import usd
from foldaway.cli import NOT_DONE, CommandGroup, say
from foldaway.cli.draw import Picture, progress_bar
from foldaway.cli.files import count_of, label, mode_of, readable_as, write_output
from foldaway.cli.inputs import (
    COUNT,
    JSON_ROW,
    PATH,
    json_option,
    options,
    output_option,
    print_json,
    usage_error,
)
from foldaway.cli.settings import PRICE_ROW, Priced, prices_for
from foldaway.trajectories import (
    Artifacts,
    BatchResult,
    BatchSettings,
    CallEstimate,
    Progress,
    RecordSource,
    RequestLimits,
    Stats,
    Summaries,
    TrajectoryPolicy,
    compress_batch,
    estimate_batch,
    find_over_target,
    find_sources,
    measure_records,
    sample_lines,
    verify_batch,
)

ASKED_FROM_USD = 1.0
"""What a run may cost without a question, if nothing else is said."""
STATS_TARGETS = (4_096, 16_384, 32_768)
"""Usual training windows."""
FIRST_LINE_SECONDS, LINE_SECONDS = 10.0, 60.0
"""When a line of progress is printed if there is no bar; a run of seconds prints none."""
RATIO_COLUMNS = 40
"""The width of the longest bar of the histogram."""
SHOWN_REASONS = 8
"""Reasons for which records cannot be read that are listed."""
SHOWN_OVER = 10
"""Records over the target that `compress` lists; `verify` lists all of them."""
OVER_REMEDY = "To fit these records, raise --target-tokens or lower --keep-last, or leave them out."


@click.group(cls=CommandGroup)
def trajectories() -> None:
    """Make finished runs fit a training window, in batches.

    Records are ShareGPT, OpenAI or Anthropic conversations (JSON lines, JSON or Parquet, plain,
    gzip or zstd), or sessions of agents that `foldaway import` knows. No model is asked and
    nothing is sent, unless one is named.

    \b
    foldaway trajectories stats runs/ --target-tokens 16000
    foldaway trajectories compress runs/ -o fitted --target-tokens 16000 --workers 8
    foldaway trajectories verify fitted --against runs/
    """


sources_argument = click.argument("sources", nargs=-1, required=True, type=PATH, metavar="SRC...")
_TOKENIZER_ROW = (
    "--tokenizer T",
    str,
    "Who counts: a tokenizer.json, or a model or vocabulary that tiktoken knows; by "
    "default our own estimate.",
    "",
)
_MODEL_ROWS = (
    (
        "--summaries",
        click.Choice(BatchSettings.choices("summaries")),
        "Who writes the summaries: the ledger, without a model; nobody (none), so that only "
        "their frame is written; or a model, the default with --summarizer.",
    ),
    (
        "--summarizer WHO",
        str,
        "The model that writes: openai:MODEL, openai-responses:MODEL, anthropic:MODEL or "
        "litellm:MODEL; keys come from the usual variables.",
    ),
    ("--summarizer-url URL", str, "Another address for the summarizer.", ""),
    ("--summarizer-key-variable NAME", str, "Variable with its key; without it none is sent.", ""),
    ("--summarizer-timeout S", click.FloatRange(min=1), "Seconds for an answer.", 120.0),
    ("--requests N", COUNT, "Concurrent requests in the whole run.", 8),
    ("--requests-per-minute N", COUNT, "Requests per minute in the whole run."),
    ("--tokens-per-minute N", COUNT, "Tokens per minute, counting the longest possible answers."),
    PRICE_ROW,
    ("--estimate", bool, "Count the calls of the summarizer and their cost, and stop."),
    (
        "--max-cost USD",
        click.FloatRange(min=0),
        f"What it may cost without a question ({ASKED_FROM_USD:g}); without a terminal a dearer "
        "run is refused.",
    ),
    ("--yes", bool, "Ask no question, whatever it costs."),
)
"""Options that let a model write summaries, and what it may cost."""


@trajectories.command()
@sources_argument
@options(
    (
        "-o --output DST",
        click.Path(file_okay=False),
        "The folder of the output; run again, it resumes.",
        ...,
    ),
    ("--target-tokens N", COUNT, "The most tokens of a record.", ...),
    (
        "--summary-tokens N",
        click.IntRange(min=120),
        "Most tokens of summaries (750; 120 with none).",
    ),
    ("--keep-last N", click.IntRange(min=0), "Turns at the end that stay as they are.", 4),
    ("--notice TEXT", str, "What the system turn says of summarized turns, on one line.", ""),
    ("--no-notice", bool, "Leave the system turn as it is."),
    ("--strip-artifacts", bool, "Remove generated text: summaries, digests and notices, ours too."),
    ("--exclude-compacted", bool, "Leave out records that contain or would get generated text."),
    _TOKENIZER_ROW,
    (
        "--count",
        click.Choice(BatchSettings.choices("count")),
        "Which turns are counted: those that stay, and what was folded is estimated at their rate; "
        "or all of them. The records are the same.",
        "kept",
    ),
    *_MODEL_ROWS,
    (
        "--format form",
        click.Choice(BatchSettings.choices("format")),
        "How records are written.",
        "jsonl",
    ),
    ("--shard-records N", COUNT, "Records of a file of the output.", 1_000),
    (
        "--redaction-key TEXT",
        str,
        "Makes the tags of placeholders, instead of the public key; kept in the manifest, and used "
        "again if the run is resumed.",
        "",
    ),
    ("--workers N", COUNT, "Processes; by default one per core."),
    ("--no-resume", bool, "First remove what an earlier run left in DST."),
    (
        "--engine",
        click.Choice(["processes", "ray"]),
        "Who works: this machine, or Ray.",
        "processes",
    ),
)
@click.option(
    "--ray-address",
    default="",
    envvar="RAY_ADDRESS",
    metavar="A",
    help="A Ray cluster, also RAY_ADDRESS; by default one is started on this machine.",
)
@json_option
def compress(sources: tuple[str, ...], **given: Any) -> int:
    """Fit every record into the window; the output folder can be resumed.

    SRC are files or folders of records. Those under the target stay as they are, byte for byte.
    Of the others the first system, human, gpt and tool turn and the last ones stay; as few turns
    between them as will do become one human turn with a summary, made without a model unless one
    is named. What cannot be read goes to quarantine.jsonl with its line and the reason. The same
    input and settings give the same bytes, whatever the number of processes and restarts.

    A record is over the target only if turns that always stay leave no room; it is written and
    named with the reason. The exit code is 0 if all records that could fit do, otherwise 3. Without
    a terminal a line each minute says how long it will take.

    \b
    foldaway trajectories compress runs/ -o fitted --target-tokens 16000
    foldaway trajectories compress a.jsonl.zst b.parquet -o fitted --target-tokens 4096 \\
      --tokenizer tokenizer.json --format jsonl.zst --workers 8
    """
    given["summarizer"] = given["summarizer"] or "none"
    summaries = _summaries(given)
    if given["engine"] == "ray" and summaries == "model":
        return say(
            "--engine ray cannot ask a model; leave --engine out, or choose --summaries ledger"
        )
    job = _job(given, summaries)
    folder, found = Path(given["output"]), _find(sources)
    priced = prices_for(job.summarizer.partition(":")[2], given["figures"])
    if summaries == "model":
        code = _refusal(found, folder, job, priced, given)
        if code is not None:
            return code
    with readable_as(mode_of(*(source.path for source in found))):
        done = _compress(found, folder, job, given)
    total = done.report.total
    unread = bool(total.records) and total.quarantined == total.records
    code = 2 if unread else NOT_DONE if total.could_fit else 0
    if given["as_json"]:
        asked = {"asked": to_builtins(done.spent)} if done.spent else {}
        over = list(find_over_target(folder, done.report))
        more = {**asked, "over_target": over} if over else asked
        click.echo(msgspec.json.encode({**to_builtins(done.report), **more}))
        return code
    show_batch(folder, done)
    if spending := _describe_spending(done, priced):
        click.echo(spending)
    return code


def _find(names: Sequence[str]) -> list[RecordSource]:
    """Return the files of records; those of a folder that are not read are named."""
    skipped: list[str] = []
    found = find_sources(names, skipped.append)
    for name in skipped:
        click.echo(f"skipped: {label(name)} (its name says no format of records)", err=True)
    return found


def _summaries(given: dict[str, Any]) -> Summaries:
    """Return who writes, or raise a usage error if the options contradict each other."""
    is_named = given["summarizer"] != "none"
    said: Summaries | None = given["summaries"]
    if said == "model" and not is_named:
        raise usage_error("--summaries model needs --summarizer, as in --summarizer openai:MODEL")
    if is_named and said in ("ledger", "none"):
        raise usage_error(f"--summaries {said} and --summarizer contradict each other; give one")
    if given["estimate"] and not is_named:
        raise usage_error("--estimate needs --summarizer: without a model nothing is paid")
    return "model" if is_named else said or "ledger"


def _job(given: dict[str, Any], summaries: Summaries) -> BatchSettings:
    least = {"summary_tokens": TrajectoryPolicy.LEAST_SUMMARY_TOKENS} if summaries == "none" else {}
    most = {"summary_tokens": given["summary_tokens"]} if given["summary_tokens"] else least
    return BatchSettings(
        policy=TrajectoryPolicy(
            target_tokens=given["target_tokens"],
            **most,
            keep_last=given["keep_last"],
            notice=_notice(given),
            artifacts=_artifacts(given),
            count=given["count"],
        ),
        tokenizer=given["tokenizer"],
        summaries=summaries,
        summarizer=given["summarizer"],
        summarizer_url=given["summarizer_url"],
        summarizer_key_variable=given["summarizer_key_variable"],
        summarizer_timeout=given["summarizer_timeout"],
        format=given["form"],
        shard_records=given["shard_records"],
        redaction_key=given["redaction_key"],
    )


def _notice(given: dict[str, Any]) -> bool | str:
    if given["no_notice"] and given["notice"]:
        raise usage_error("--notice and --no-notice contradict each other; give one of them")
    return given["notice"] or not given["no_notice"]


def _artifacts(given: dict[str, Any]) -> Artifacts:
    if given["strip_artifacts"] and given["exclude_compacted"]:
        raise usage_error(
            "--strip-artifacts and --exclude-compacted contradict each other; give one of them"
        )
    if given["strip_artifacts"]:
        return "strip"
    return "exclude" if given["exclude_compacted"] else "keep"


def _refusal(
    sources: Sequence[RecordSource],
    folder: Path,
    job: BatchSettings,
    priced: Priced,
    given: dict[str, Any],
) -> int | None:
    """Say what a run would cost before its first call; return the exit code if it is refused."""
    workers = given["workers"] or os.cpu_count() or 1
    found = estimate_batch(sources, folder, job, workers=workers, resume=not given["no_resume"])
    cost = _usd(found.calls, found.input_tokens, found.output_tokens, priced)
    if given["estimate"]:
        if given["as_json"]:
            notes = [priced.note] if priced.note else []
            print_json({"model": job.summarizer, **to_builtins(found), "usd": cost, "notes": notes})
        else:
            click.echo(_estimate_sentence(found, job, cost, priced))
        return 0
    if not found.calls:
        return None
    click.echo(_estimate_sentence(found, job, cost, priced), err=True)
    most = ASKED_FROM_USD if given["max_cost"] is None else given["max_cost"]
    if given["yes"] or (cost is not None and cost <= most):
        return None
    if sys.stdin.isatty() and sys.stderr.isatty():
        return None if click.confirm("Go on?", err=True) else 0
    over = "is not known" if cost is None else f"may be more than {usd(most)}"
    flags = "--price or --yes" if cost is None else "--max-cost or --yes"
    return say(
        f"the cost of this run {over}, and nobody can be asked; nothing was written; give {flags}"
    )


def _compress(
    sources: Sequence[RecordSource], folder: Path, job: BatchSettings, given: dict[str, Any]
) -> BatchResult:
    limits = RequestLimits(
        requests=given["requests"],
        requests_per_minute=given["requests_per_minute"] or 0,
        tokens_per_minute=given["tokens_per_minute"] or 0,
    )
    quiet = not sys.stderr.isatty()
    per_cent = ("{task.percentage:>3.0f} %",)
    lines = ProgressLines()

    def tell(progress: Progress) -> None:
        update(description=progress.sentence, completed=progress.share)
        if quiet and (line := lines.due(progress)):
            click.echo(line, err=True)

    with progress_bar("records", quiet=quiet, total=1, columns=per_cent) as update:
        return compress_batch(
            sources,
            folder,
            job,
            resume=not given["no_resume"],
            workers=given["workers"],
            limits=limits,
            ray=given["ray_address"] if given["engine"] == "ray" else None,
            tell=tell,
        )


class ProgressLines:
    """Which progress is said if there is no bar: after ten seconds, then each minute."""

    def __init__(self) -> None:
        self._next = FIRST_LINE_SECONDS

    def due(self, progress: Progress) -> str:
        """Return the line to print now, "" if none is due."""
        if progress.seconds < self._next:
            return ""
        self._next = progress.seconds + LINE_SECONDS
        return f"{progress.sentence} ({progress.share:.0%})"


def _describe_spending(done: BatchResult, priced: Priced) -> str:
    """Return what a run asked, and what that cost by what the provider reported."""
    spent = done.spent
    if spent is None:
        return ""
    tokens = f"{spent.input_tokens:,} tokens in, {spent.output_tokens:,} out"
    said = [f"{count_of(spent.calls, 'call')} of the summarizer, {tokens}"]
    cost = _usd(spent.calls, spent.input_tokens, spent.output_tokens, priced)
    if cost is not None:
        said.append(usd(cost))
    if spent.failed:
        said.append(f"{count_of(spent.failed, 'call')} failed")
    if spent.kept:
        said.append(f"{count_of(spent.kept, 'answer')} from an earlier run")
    return ", ".join(said)


def _estimate_sentence(
    found: CallEstimate, job: BatchSettings, cost: float | None, priced: Priced
) -> str:
    kept = f"{count_of(found.kept, 'answer')} are there already"
    if not found.calls:
        return f"nothing is to be asked; {kept}"
    price = f"at most {usd(cost)}" if cost is not None else f"cost not known ({priced.note})"
    return (
        f"{count_of(found.calls, 'call')} of {job.summarizer} for "
        f"{count_of(found.records, 'record')}: about {found.input_tokens:,} tokens in, at most "
        f"{found.output_tokens:,} out, {price}{f'; {kept}' if found.kept else ''}"
    )


def _usd(calls: int, read: int, written: int, priced: Priced) -> float | None:
    """Return the price of `calls` calls, which are of about the same length."""
    if not calls:
        return 0.0
    if priced.prices is None:
        return None
    here = priced.prices.at(read // calls)
    return (read * here.input + written * here.output) / 1e6


def show_batch(folder: Path, done: BatchResult) -> None:
    """Print what was done with a batch."""
    picture, report, total = Picture(), done.report, done.report.total
    figures = (
        ("still over the target", total.still_over_limit),
        ("not readable, in quarantine.jsonl", total.quarantined),
        ("generated turns taken out", total.stripped),
        ("calls of a model", total.summary_calls),
        ("of them in vain", total.errors),
        ("sentences verified", total.verified),
        ("entries added", total.added),
        ("sentences dropped", total.dropped),
        ("sentences that contradict the turns, dropped", total.contradicted),
    )
    rows = [(name, f"{count:,}") for name, count in total.outcomes.items()]
    rows += [(name, f"{count:,}") for name, count in figures if count]
    about = "≈ " if total.before_estimated else ""
    tokens = f"{about}{total.tokens_before:,} → {total.tokens_after:,} ({about}{total.ratio:.0%})"
    rows += [("turns", f"{total.turns_before:,} → {total.turns_after:,}"), ("tokens", tokens)]
    picture.line((count_of(total.records, "record"), "bold"))
    picture.table("wW", rows)
    if any(total.ratios):
        picture.line(("tokens after / before, of compressed records", "dim"))
        for share, count in total.histogram:
            if count:
                bar = "█" * max(1, round(RATIO_COLUMNS * count / max(total.ratios)))
                picture.line(f"  {share:4.0%} {bar} {count:,}")
    said = ["tokens are estimates" if report.estimated else f"tokens counted by {report.counter}"]
    if total.before_estimated:
        said.append("those of folded turns at the rate of the others (--count all counts them)")
    rate = total.records / done.seconds if done.seconds and not done.resumed else 0.0
    if rate:
        said.append(f"{rate:,.0f} records a second")
    if done.resumed:
        said.append(f"{count_of(done.resumed, 'file')} taken over from an earlier run")
    said.append(f"everything is in {label(str(folder))}/")
    if any(total.ratios) and not done.drawn:
        said.append("ratios.png needs foldaway[trajectories]")
    picture.line(("; ".join(said), "dim"))
    for fault in islice(find_over_target(folder, report), SHOWN_OVER):
        picture.line((f"over the target: {label(fault.where)} {fault.what}", "yellow"))
    more = total.still_over_limit - SHOWN_OVER
    if more > 0:
        picture.line((f"and {more:,} more over the target; `verify` names all", "yellow"))
    if total.still_over_limit:
        picture.line((OVER_REMEDY, "dim"))


@trajectories.command()
@sources_argument
@options(
    ("--target-tokens targets N", [COUNT], "Count the records over it; repeatable.", STATS_TARGETS),
    _TOKENIZER_ROW,
    JSON_ROW,
)
def stats(sources: tuple[str, ...], targets: tuple[int, ...], tokenizer: str, as_json: bool) -> int:
    """Describe records: turns, tokens, how many are over a target.

    SRC are files or folders of records. What cannot be read is counted by its reason.

    \b
    foldaway trajectories stats runs/ --target-tokens 16000
    """
    found = measure_records(_find(sources), tokenizer, targets)
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        show_stats(found)
    return 0 if found.records else 2


def show_stats(found: Stats) -> None:
    """Print what records are like."""
    picture = Picture()
    said = ", ".join(f"{count:,} {name}" for name, count in found.dialects.items())
    picture.line((f"{count_of(found.records, 'record')}: {said or 'none'}", "bold"))
    for reason, count in list(found.reasons.items())[:SHOWN_REASONS]:
        picture.line((f"  not readable: {count:,} × {reason}", "yellow"))
    if not found.records:
        return
    kinds = "".join("r" if share in (0.5, 1) else "n" for share in found.QUANTILES)
    spreads = (("turns", found.turns), ("tokens", found.tokens))
    rows = [(name, *(f"{n:,}" for n in (spread.total, *spread.at))) for name, spread in spreads]
    picture.table(f"lr{kinds}", rows, names=("", "all", *(f"{q:.0%}" for q in found.QUANTILES)))
    for target, count in found.over.items():
        picture.line(f"  over {target:,} tokens: {count:,}")
    if found.compacted:
        picture.line(f"  with text that a compaction wrote: {found.compacted:,}")
    counted_by = "tokens are estimates" if found.estimated else f"tokens counted by {found.counter}"
    said = "all: of all records together; 25%: a quarter of the records have at most this many"
    picture.paragraph((f"{said}; {counted_by}", "dim"), indent=2)


@trajectories.command()
@sources_argument
@options(
    ("-n --number N", COUNT, "How many.", 10),
    ("--seed S", int, "Another seed draws other records.", 0),
)
@output_option
def sample(sources: tuple[str, ...], number: int, seed: int, output: str) -> int:
    """Write a few records out of many, the same ones every time.

    SRC are files or folders of records, of the input or of the output of a batch. OUT is JSON
    lines; records keep their bytes and their order.

    \b
    foldaway trajectories sample runs/ -n 100 -o some.jsonl
    """
    found = _find(sources)
    write_output(output, sample_lines(found, number, seed), *(source.path for source in found))
    return 0


@trajectories.command()
@click.argument("folder", type=PATH, metavar="DST")
@click.argument("more", nargs=-1, type=PATH, metavar="")
@options(("--against SRC", [PATH], "The input of the batch; more paths may follow."))
@json_option
def verify(folder: str, more: tuple[str, ...], against: tuple[str, ...], as_json: bool) -> int:
    """Check the output of a batch against its report and its input.

    DST is the folder of `foldaway trajectories compress -o`. Every record is read and counted
    again. With --against, which takes the input of the batch in the same order, it is also
    compared with its input: turns that were not folded are the same, no call is separated from its
    result, and no rule is broken that was kept before. Every record over its target is named with
    the reason. The exit code is 1 if there are faults, and 3 if there are none but records are
    over their target that could fit.

    \b
    foldaway trajectories verify fitted --against runs/
    """
    if more and len(against) != 1:
        # behind several of them their order would be lost
        raise usage_error(
            f"{more[0]!r} is none of them; name all input behind one --against, in its order"
        )
    sources = find_sources([*against, *more]) if against else []
    faults = over = could_fit = 0
    for fault in verify_batch(Path(folder), sources):
        over += fault.over_target
        could_fit += fault.could_fit
        faults += not fault.over_target
        click.echo(msgspec.json.encode(fault) if as_json else f"{fault.where}: {fault.what}")
    if not as_json:
        said = [count_of(faults, "fault")] if faults else []
        said += [f"{count_of(over, 'record')} over the target"] if over else []
        click.echo(f"{folder}: {', '.join(said) or 'all is well'}")
        if over:
            click.echo(OVER_REMEDY)
    return 1 if faults else NOT_DONE if could_fit else 0
