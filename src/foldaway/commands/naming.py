"""Commands that say what a conversation is: goal, title, model."""

from __future__ import annotations

from foldaway.caching import window_of
from foldaway.commands.lines import CommandLine
from foldaway.commands.values import CommandAnswer, Figure
from foldaway.sessions import Session


def name(session: Session, line: CommandLine, *_: object) -> CommandAnswer:
    """Show, set or clear the goal; show or set the title."""
    is_goal, what = line.name == "goal", line.name
    if line.rest:
        text = "" if is_goal and line.rest.lower() == "clear" else line.rest
        session.change(**{what: text})
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
        session.use_model(name, given or None)
    settings = session.engine.settings
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
