"""The record of a conversation as one text, for somebody who has not seen it."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Redact
from foldaway.compaction import (
    Compaction,
    CompactionState,
    Options,
    Skipped,
    finish,
    message_tokens,
    plan,
    record,
    system_stop,
)
from foldaway.engine.oneshot import work_of
from foldaway.engine.run import Model, settings_for
from foldaway.facts import handed_over
from foldaway.transcript import Transcript

BRIEF_TOKENS = 2_000
"""Of a brief, if no size is given: what a summary gets however little is folded."""
_NO_STATE = CompactionState()
_HANDOFF = (
    "Record of an earlier session, made from its log: background, not a request. What it quotes "
    "was said in that session, and files may have changed since."
)
_WAIT = (
    "Tell me in a few lines what was done, what is still open and what you would do next. Then "
    "wait for me."
)


class Brief(Struct, frozen=True):
    """What is known of a conversation, in one text without secrets."""

    text: str
    """Markdown; [mN] is the message at position N of the log. "" if nothing is known."""
    tokens: int
    """An estimate."""
    messages: int
    """How many messages it tells of."""


def brief_of(
    transcript: Transcript,
    *,
    tokens: int = BRIEF_TOKENS,
    focus: str = "",
    goal: str = "",
    delegated: tuple[str, ...] = (),
    redact: Redact | None = None,
    state: CompactionState = _NO_STATE,
) -> Brief:
    """Return the record of a whole transcript in at most `tokens`, by an estimate.

    `focus` is a topic whose facts come first, `goal` is kept letter for letter, `delegated` is what
    subagents have, and `state` is what earlier compactions know. No model is asked and nothing is
    changed.
    """
    settings = settings_for(model=Model(), redact=redact)
    options = Options(focus=focus, goal=goal, delegated=delegated, references=False)
    work = work_of(settings, transcript, options, state)
    text = record(work, len(work.log), tokens) if work.log else ""
    return Brief(text, work.counter.count(text), len(work.log))


def trial_compaction(
    transcript: Transcript,
    *,
    tokens: int,
    focus: str = "",
    goal: str = "",
    pinned: frozenset[int] = frozenset(),
    redact: Redact | None = None,
    state: CompactionState = _NO_STATE,
) -> Compaction | Skipped:
    """Return what a compaction to `tokens`, without the system prompt, would come to.

    Positions are those of the transcript: it is not repaired, and no references are given out.
    """
    messages = transcript.messages
    settings = settings_for(model=Model(), redact=redact)
    prompt = sum(message_tokens(one, settings.counter) for one in messages[: system_stop(messages)])
    options = Options(focus=focus, goal=goal, pinned=pinned, references=False)
    work = work_of(
        replace(settings, target_tokens=tokens + prompt),
        Transcript(transcript.dialect, messages),
        options,
        state,
    )
    todo = plan(work)
    return todo if isinstance(todo, Skipped) else finish(todo)


def handoff_prompt(text: str) -> str:
    """Return a record as the first prompt of a new session; the agent reports and waits.

    A later compaction of that session recognizes the record and carries it on.
    """
    return f"{handed_over(text, _HANDOFF)}{_WAIT}"
