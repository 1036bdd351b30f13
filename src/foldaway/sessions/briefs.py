"""A stored session in few words: its record, and what a compaction would leave of it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from foldaway.compaction import CompactionState, Skipped
from foldaway.engine import BRIEF_TOKENS, Brief, brief_of, trial_compaction, unpack_snapshot
from foldaway.facts import split_summary
from foldaway.sessions.delegations import delegations, pick_sentences
from foldaway.sessions.exporting import transcript_of
from foldaway.sessions.finding import ShownMessage, message_at, messages_in
from foldaway.sessions.hiding import Show, reveal_text
from foldaway.sessions.rows import snapshot_of
from foldaway.stores import SessionInfo, Store
from foldaway.transcript import Folded, Item, Kept, Rewritten

_MOST_ROWS = 500
"""Messages that are read at most: an answer of 10,000 tokens has no room for more, of 20 each."""


def brief_session(
    store: Store, info: SessionInfo, *, show: Show, tokens: int = BRIEF_TOKENS, focus: str = ""
) -> Brief:
    """Return the record of a stored session: of its whole log, with what its compactions know.

    What a model wrote is in it. Nothing in the store changes.
    """
    return brief_of(
        transcript_of(store, info),
        tokens=tokens,
        focus=focus,
        goal=info.goal,
        redact=show,
        delegated=pick_sentences(delegations(store, info)),
        state=_state(store, info),
    )


class Remainder(Struct, frozen=True):
    """What a compaction would leave of a session."""

    summary: str
    """Of the messages that are folded, without its frame; "" if none are."""
    rows: tuple[ShownMessage, ...]
    """The messages that stay, in order."""
    folded: int
    tokens_before: int
    tokens_after: int
    why_not: str = ""
    """Why all messages stay as they are, if they do."""


def remainder_of(
    store: Store, info: SessionInfo, *, show: Show, tokens: int, focus: str = ""
) -> Remainder:
    """Return what a compaction of the whole log to about `tokens` would leave; nothing changes.

    System prompts come on top of the size: they are not shown to other sessions. No references are
    given out, because the originals are found by their positions.
    """
    known = _state(store, info)
    done = trial_compaction(
        transcript_of(store, info),
        tokens=tokens,
        focus=focus,
        goal=info.goal,
        redact=show,
        pinned=frozenset(pin.position for pin in store.pins(info.id)),
        state=CompactionState(prose=known.prose, prose_to=known.prose_to),
    )
    before = done.tokens_before
    if isinstance(done, Skipped):
        start = max(info.length - _MOST_ROWS, 0)
        rows = messages_in(store, info, start, info.length, show=show)
        return Remainder("", rows, 0, before, before, done.detail or done.reason)
    rows = tuple(row for item in done.view.items for row in _rows(store, info, item, show))
    folded = sum(item.stop - item.start for item in done.view.items if isinstance(item, Folded))
    framed = split_summary(done.summary_text)
    summary = framed.body if framed else done.summary_text
    return Remainder(summary, rows, folded, before, done.tokens_after)


def _rows(store: Store, info: SessionInfo, item: Item, show: Show) -> Iterator[ShownMessage]:
    match item:
        case Kept(start=start, stop=stop):
            start = max(start, info.length - _MOST_ROWS)
            yield from messages_in(store, info, start, stop, show=show) if start < stop else ()
        case Rewritten(start=at, message=message):
            text = reveal_text(message, show)
            merged = split_summary(text)
            yield replace(message_at(store, info, at), text=merged.rest if merged else text)
        case Folded():
            return


def _state(store: Store, info: SessionInfo) -> CompactionState:
    """Return what the compactions of a session know."""
    saved = snapshot_of(store, info, store.view(info.id))
    return unpack_snapshot(saved).state if saved else CompactionState()
