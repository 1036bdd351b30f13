"""Commands that change a conversation, or go on elsewhere."""

from __future__ import annotations

import math
from typing import Any

from msgspec.structs import replace

from foldaway._core import Report
from foldaway.caching import usd, window_of
from foldaway.commands.lines import BadLine, CommandLine, CompressLine, compress_line
from foldaway.commands.reach import Reach
from foldaway.commands.values import CommandAnswer, CommandChoice, Figure
from foldaway.compaction import Options
from foldaway.facts import summary_body
from foldaway.reduction import plural
from foldaway.sessions import Session, beginning, date_of, internals, name_in_words
from foldaway.stores import OutlineRow, SessionInfo


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


_MOST = 10
"""Conversations or messages to choose from: what fits on a screen; chosen."""
_LABEL = 60
"""Characters of a choice: a line of a phone or a narrow terminal; chosen."""


def branch(session: Session, line: CommandLine, *_: object) -> tuple[Session, CommandAnswer]:
    """Go on in a copy."""
    was = session.info
    made = session.branch(was.length, title=line.rest)
    name = f": {made.info.title}" if made.info.title else ""
    place = f"after {plural(was.length, 'message')}"
    return session.switch(made.id), CommandAnswer(
        command="branch",
        headline=f"You are in a branch {place}{name}",
        choices=(_offer_return(was),),
    )


def new(session: Session, line: CommandLine, *_: object) -> tuple[Session, CommandAnswer]:
    """Begin a new conversation in the place of this one."""
    was = session.info
    made = session.switch()
    if line.rest:
        made.change(title=line.rest)
    return made, CommandAnswer(
        command="new",
        headline="A new conversation; the one before is kept",
        choices=(_offer_return(was),),
    )


def resume(session: Session, line: CommandLine, reach: Reach) -> tuple[Session, CommandAnswer]:
    """Go back to another conversation, or say which ones there are."""
    if not line.rest:
        found = [one for one in reach.recent(_MOST + 1) if one.id != session.id][:_MOST]
        return session, CommandAnswer(
            command="resume",
            status="unchanged",
            headline="Which conversation?" if found else "this is the only conversation",
            choices=tuple(_choice(one, reach) for one in found),
        )
    to = reach.find(line.rest)
    if to.id == session.id:
        here = CommandAnswer(command="resume", status="unchanged", headline="you are in it already")
        return session, here
    was, other = session.info, session.switch(to.id)
    return other, CommandAnswer(
        command="resume",
        headline=f"You are back in: {_name_session(other.info, reach)}",
        figures=(Figure("messages", other.info.length, "messages"),),
        choices=(_offer_return(was),) if was.id else (),
    )


def rewind(session: Session, line: CommandLine, reach: Reach) -> tuple[Session, CommandAnswer]:
    """Go on from after a message, or say which ones there are."""
    rows = session.store.outline(session.id)
    if not line.rest:
        return session, CommandAnswer(
            command="rewind",
            status="unchanged",
            headline="To which message?",
            choices=places(session, reach, "/rewind"),
        )
    at = line.place(line.rest)
    if at >= len(rows):
        raise BadLine(f"no message m{at}; the last is m{len(rows) - 1}")
    stop = at + 1
    while stop < len(rows) and rows[stop].role != "user" and _answers(rows[stop]):
        stop += 1  # results stay with their calls
    return _go_back(session, stop, "rewind", f"You are after m{stop - 1}")


def undo(session: Session, line: CommandLine, *_: object) -> tuple[Session, CommandAnswer]:
    """Take back the last compaction; with a number, go on from before the last turns."""
    if not line.rest:
        return session, undo_compaction(session)
    turns = line.number(line.rest, "how many turns")
    asks = [row.position for row in session.store.outline(session.id) if _is_question(row)]
    if turns > len(asks):
        raise BadLine(f"there are only {plural(len(asks), 'turn')}")
    said = "the last turn is" if turns == 1 else f"the last {turns} turns are"
    return _go_back(session, asks[-turns], "undo", f"{said} taken back".capitalize())


def places(session: Session, reach: Reach, command: str) -> tuple[CommandChoice, ...]:
    """Return the newest messages of the user as choices for a command, the newest first."""
    asks = [row.position for row in session.store.outline(session.id) if _is_question(row)][-_MOST:]
    return tuple(
        CommandChoice(f"{command} m{at}", beginning(reach.words_at(session.id, at), _LABEL))
        for at in reversed(asks)
    )


def _go_back(
    session: Session, stop: int, command: str, headline: str
) -> tuple[Session, CommandAnswer]:
    was = session.info
    if stop == was.length:
        same = CommandAnswer(command=command, status="unchanged", headline="nothing comes after it")
        return session, same
    made = session.branch(stop)
    return session.switch(made.id), CommandAnswer(
        command=command,
        headline=headline,
        choices=(_offer_return(was),),
        figures=(Figure("messages left behind", was.length - stop, "messages"),),
    )


def _offer_return(was: SessionInfo) -> CommandChoice:
    return CommandChoice(f"/resume {was.id}", "go back")


def _choice(info: SessionInfo, reach: Reach) -> CommandChoice:
    detail = f"{plural(info.length, 'message')}, {date_of(info.updated)[:16].replace('T', ' ')}"
    return CommandChoice(f"/resume {info.id}", _name_session(info, reach), detail)


def _name_session(info: SessionInfo, reach: Reach) -> str:
    return beginning(reach.show(name_in_words(info)), _LABEL) or "an empty conversation"


def _is_question(row: OutlineRow) -> bool:
    return row.role == "user" and not row.tools and not row.generated


def _answers(row: OutlineRow) -> bool:
    return row.role == "tool" or bool(row.tools)
