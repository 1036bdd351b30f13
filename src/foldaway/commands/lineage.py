"""Commands that go on elsewhere: branch, new, resume, rewind, undo of turns."""

from __future__ import annotations

from foldaway.commands.compacting import undo_compaction
from foldaway.commands.lines import BadLine, CommandLine
from foldaway.commands.reach import Reach
from foldaway.commands.values import CommandAnswer, CommandChoice, Figure
from foldaway.reduction import plural
from foldaway.sessions import Session, beginning, date_of, name_in_words
from foldaway.stores import OutlineRow, SessionInfo

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
