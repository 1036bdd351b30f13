"""Commands that change a conversation: compress, undo of a compaction, pins, goal, title, model."""

from __future__ import annotations

import math
from typing import Any

from msgspec.structs import replace

from foldaway._core import Report
from foldaway.caching import usd, window_of
from foldaway.commands.lines import BadLine, CommandLine, CompressLine, compress_line
from foldaway.commands.values import CommandAnswer, CommandChoice, Figure
from foldaway.compaction import Options
from foldaway.facts import summary_body
from foldaway.reduction import plural
from foldaway.sessions import Session, internals


def compress_options(session: Session, asked: CompressLine) -> Options:
    """Return how to fold; a place says which exchange is the first to stay."""
    keep_last = asked.keep_last
    if asked.above is not None:
        rows = session.store.outline(session.id)
        if asked.above >= len(rows):
            raise BadLine(f"no message m{asked.above}; the last is m{len(rows) - 1}")
        later = [row for row in rows[asked.above + 1 :] if row.role == "user" and not row.tools]
        keep_last = len(later) + 1  # the exchange of the place stays whole
    pinned = frozenset(pin.position for pin in session.pins)
    return Options(focus=asked.focus, keep_last=keep_last, pinned=pinned)


def compress(session: Session, line: CommandLine, *_: object) -> CommandAnswer:
    """Compact now, unless a preview is asked for."""
    looked = look(session, line)
    if looked.headline:
        return looked
    report = session.compact(**compact_arguments(session, line))
    return describe(report, line, looked.warnings)


def look(session: Session, line: CommandLine) -> CommandAnswer:
    """Return what a `/compress` answers that changes nothing. If it is to be done, there is no
    headline, and a warning if it costs more than it saves.
    """
    asked = compress_line(line)
    options = compress_options(session, asked)
    if not asked.preview:
        price = "" if asked.force else _price(session, options)
        return CommandAnswer(command="compress", headline="", warnings=(price,) if price else ())
    run = session.preview(focus=options.focus, keep_last=options.keep_last)
    shown = describe(run.report, line)
    if run.report.status != "compacted":
        return replace(shown, status="unchanged")
    return replace(
        shown,
        status="unchanged",
        text=summary_body(run.summary) or run.summary,
        headline=f"It would be: {shown.headline}",
        choices=(CommandChoice(_without_preview(line), "do it"),),
    )


def _price(session: Session, options: Options) -> str:
    """Return what a compaction costs that costs more than it saves so far, else ""."""
    verdict = internals(session).engine.weigh_by_hand(options)
    if verdict is None or verdict.answer != "wait" or verdict.basis != "costs":
        return ""
    price, saving = verdict.sum.price, verdict.sum.saving_per_turn
    if saving <= 0:
        return f"this compaction costs {usd(price)}, and later requests cost no less"
    later = plural(math.ceil(price / saving), "more request")
    return f"this compaction costs {usd(price)}, as much as it saves in {later}"


def compact_arguments(session: Session, line: CommandLine) -> dict[str, Any]:
    """Return the arguments of `Session.compact` for a `/compress`."""
    options = compress_options(session, compress_line(line))
    return {"force": True, "focus": options.focus, "keep_last": options.keep_last}


def describe(report: Report, line: CommandLine, said: tuple[str, ...] = ()) -> CommandAnswer:
    """Return what a compaction did, after what was said before it, and what else can be done."""
    figures = (
        Figure("tokens before", report.tokens_before, "tokens"),
        Figure("tokens now", report.tokens_after, "tokens"),
        Figure("messages folded", report.folded, "messages"),
    )
    is_done = report.status == "compacted"
    choices = [CommandChoice("/undo", "take it back")] if is_done else []
    if report.keeps_much and compress_line(line).keep_last != 1:
        choices.append(CommandChoice("/compress keep 1", "keep only the last exchange as it is"))
    return CommandAnswer(
        command="compress",
        headline=report.headline,
        status="done" if is_done else "failed" if report.is_refused else "unchanged",
        figures=figures if is_done else (),
        warnings=(*said, *report.notes),
        choices=tuple(choices),
    )


def undo_compaction(session: Session) -> CommandAnswer:
    """Take the last compaction back."""
    before = internals(session).engine.estimate() if session.info.length else 0
    if not session.undo():
        return CommandAnswer(
            command="undo",
            status="unchanged",
            headline="nothing was compacted",
            choices=(CommandChoice("/undo 1", "take back the last turn"),),
        )
    now = internals(session).engine.estimate()
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
    if at not in {one.position for one in session.pins}:
        answer = _pins(session, "unpin", f"m{at} is not pinned")
        return replace(answer, status="unchanged")
    session.unpin(at)
    return _pins(session, "unpin", f"m{at} may be folded again")


def name(session: Session, line: CommandLine, *_: object) -> CommandAnswer:
    """Show, set or clear the goal; show or set the title."""
    is_goal, what = line.name == "goal", line.name
    if line.rest:
        text = "" if is_goal and line.rest.lower() == "clear" else line.rest
        session.change(goal=text) if is_goal else session.change(title=text)
    known = session.info.goal if is_goal else session.info.title
    return CommandAnswer(
        command=what,
        status="done" if line.rest else "unchanged",
        headline=f"The {what} is: {known}" if known else f"no {what} is set",
    )


def model(session: Session, line: CommandLine, *_: object) -> CommandAnswer:
    """Show the model, or go on with another."""
    name, window = line.words()
    if name:
        given = line.number(window.replace(",", "").replace("_", ""), "the window") if window else 0
        session.change(model=name, context_length=given or None)
    settings = internals(session).engine.settings
    length, source = window_of(settings.model, None)
    is_assumed = bool(name) and not window and source == "assumed"
    return CommandAnswer(
        command="model",
        status="done" if name else "unchanged",
        headline=f"{settings.model or 'no model is named'}, window {settings.context_length:,}",
        warnings=(
            f"the window of {name} is not known, {length:,} tokens are assumed; "
            f"write /model {name} WINDOW",
        )
        if is_assumed
        else (),
        figures=(Figure("window", settings.context_length, "tokens"),),
    )


def _pins(session: Session, command: str, headline: str) -> CommandAnswer:
    pins = session.pins
    known = f"pinned: {plural(len(pins), 'message')}" if pins else "nothing is pinned"
    rows = tuple((f"m{one.position}", one.note) for one in pins)
    return CommandAnswer(
        command=command,
        headline=headline or known,
        rows=(("place", "note"), *rows) if rows else (),
        choices=tuple(CommandChoice(f"/unpin m{one.position}", "let it go") for one in pins),
    )


def _without_preview(line: CommandLine) -> str:
    words = [word for word in line.rest.split() if not word.endswith("preview")]
    return " ".join(("/compress", *words))
