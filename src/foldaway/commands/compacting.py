"""Commands that change what the model sees: compress, undo of a compaction, pins."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from foldaway._core import Report
from foldaway.commands.lines import BadLine, CommandLine, CompressLine, compress_line
from foldaway.commands.values import CommandAnswer, CommandChoice, Figure
from foldaway.compaction import Options
from foldaway.facts import summary_body
from foldaway.reduction import plural
from foldaway.sessions import Session


def compress_options(session: Session, asked: CompressLine) -> Options:
    """Return how to fold; a place says which exchange is the first to stay."""
    keep_last = asked.keep_last
    if asked.above is not None:
        rows = session.store.outline(session.id)
        if asked.above >= len(rows):
            raise BadLine(f"no message m{asked.above}; the last is m{len(rows) - 1}")
        later = [row for row in rows[asked.above + 1 :] if row.role == "user" and not row.tools]
        keep_last = len(later) + 1  # the exchange of the place stays whole
    pinned = frozenset(pin.position for pin in session.pins())
    return Options(focus=asked.focus, keep_last=keep_last, pinned=pinned)


def preview(session: Session, line: CommandLine) -> CommandAnswer | None:
    """Answer a `/compress` that changes nothing: a preview, or one that would not pay. None if it
    is to be done.
    """
    asked = compress_line(line)
    options = compress_options(session, asked)
    if asked.preview:
        run = session.try_compaction(options)
        shown = _describe_report(run.report)
        done = run.report.status == "compacted"
        text = summary_body(run.summary) or run.summary
        return replace(
            shown, status="unchanged", text=text if done else "",
            headline=f"It would be: {shown.headline}" if done else shown.headline,
            choices=(CommandChoice(_without_preview(line), "do it"),) if done else (),
        )  # fmt: skip
    verdict = None if asked.force else session.engine.weigh_by_hand(options)
    if verdict is None or verdict.answer != "wait" or verdict.basis != "costs":
        return None
    again = " ".join(("/compress", *line.rest.split(), "--force"))
    why = verdict.sentence.removeprefix("wait: ")
    return CommandAnswer(
        command="compress", status="unchanged", choices=(CommandChoice(again, "do it anyway"),),
        headline=f"{why[0].upper()}{why[1:]}: most of it is read from the cache",
    )  # fmt: skip


def compress(session: Session, line: CommandLine, *_: object) -> CommandAnswer:
    """Compact now, unless a preview is asked for or it would not pay."""
    return preview(session, line) or describe(session.compact(**compact_arguments(session, line)))


def compact_arguments(session: Session, line: CommandLine) -> dict[str, Any]:
    """Return the arguments of `Session.compact` for a `/compress`."""
    options = compress_options(session, compress_line(line))
    return {"force": True, "focus": options.focus, "keep_last": options.keep_last}


def describe(report: Report) -> CommandAnswer:
    """Return what a compaction did; if nothing changed, what else can be done."""
    answer = _describe_report(report)
    if report.status == "compacted":
        return replace(answer, choices=(CommandChoice("/undo", "take it back"),))
    return answer


def undo_compaction(session: Session) -> CommandAnswer:
    """Take the last compaction back."""
    before = session.engine.estimate() if session.info.length else 0
    if not session.undo():
        return CommandAnswer(
            command="undo", status="unchanged", headline="nothing was compacted",
            choices=(CommandChoice("/undo 1", "take back the last turn"),),
        )  # fmt: skip
    now = session.engine.estimate()
    return CommandAnswer(
        command="undo",
        headline=f"The last compaction is taken back: {now:,} tokens again",
        figures=(Figure("before", before, "tokens"), Figure("now", now, "tokens")),
    )


def pin(session: Session, line: CommandLine, *_: object) -> CommandAnswer:
    """Pin a message, or list the pins."""
    if not line.rest:
        return _pins(session, "pin", "")
    place, note = line.words()
    at = line.place(place)
    session.pin(at, note)
    return _pins(session, "pin", f"m{at} stays word for word through every compaction")


def unpin(session: Session, line: CommandLine, *_: object) -> CommandAnswer:
    """Take a pin away."""
    at = line.place(line.needs())
    if at not in {one.position for one in session.pins()}:
        answer = _pins(session, "unpin", f"m{at} is not pinned")
        return replace(answer, status="unchanged")
    session.unpin(at)
    return _pins(session, "unpin", f"m{at} may be folded again")


def _pins(session: Session, command: str, headline: str) -> CommandAnswer:
    pins = session.pins()
    known = f"pinned: {plural(len(pins), 'message')}" if pins else "nothing is pinned"
    rows = tuple((f"m{one.position}", one.note) for one in pins)
    return CommandAnswer(
        command=command,
        headline=headline or known,
        rows=(("place", "note"), *rows) if rows else (),
        choices=tuple(CommandChoice(f"/unpin m{one.position}", "let it go") for one in pins),
    )


def _describe_report(report: Report) -> CommandAnswer:
    figures = (
        Figure("tokens before", report.tokens_before, "tokens"),
        Figure("tokens now", report.tokens_after, "tokens"),
        Figure("messages folded", report.folded, "messages"),
    )
    is_done = report.status == "compacted"
    return CommandAnswer(
        command="compress", headline=report.headline,
        status="done" if is_done else "failed" if report.is_refused else "unchanged",
        figures=figures if is_done else (), warnings=report.notes,
    )  # fmt: skip


def _without_preview(line: CommandLine) -> str:
    words = [word for word in line.rest.split() if not word.endswith("preview")]
    return " ".join(("/compress", *words))
