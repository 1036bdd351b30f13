"""Where a session is found, and how it stands between two compactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from foldaway._core import Report, __version__, log_event
from foldaway.compaction import is_on_arrival
from foldaway.dialects import CALL_ANSWERED, check, has_only_results, repair
from foldaway.engine import Compressor
from foldaway.errors import CannotRepair, UnknownSession
from foldaway.sessions.rows import frame_of
from foldaway.stores import SessionInfo, Store, StoredView
from foldaway.transcript import Kept, Message, Rewritten, ToolCall, View


def find_by_key(store: Store, key: str, source: str = "") -> SessionInfo | None:
    """Return where the conversation of a host's key goes on, with what was begun in its place;
    None if there is none.
    """
    found = store.by_source(source, key) if key else None
    leaf, name = None, "" if found is None else found.id
    try:
        while name:
            leaf = store.newest_leaf(name)
            name = frame_of(leaf).get("replaced_by", "")
    except UnknownSession:
        pass  # what replaced it was deleted
    return leaf


class _Between(Struct, frozen=True):
    """A snapshot that was taken between two compactions, and the view that it belongs to."""

    session_id: str
    view: int
    snapshot: Raw


_BETWEEN = msgspec.json.Decoder(_Between)


def snapshot_of(store: Store, info: SessionInfo, view: StoredView | None) -> bytes:
    """Return what an engine goes on from: what was learnt since the view was made, or with it."""
    saved = store.state(info.id)
    if saved:
        between = _BETWEEN.decode(saved)
        if (between.session_id, between.view) == (info.id, info.view):
            return bytes(between.snapshot)
    return b"" if view is None else view.state


def save_snapshot(store: Store, info: SessionInfo, snapshot: bytes) -> None:
    """Keep what was learnt since the last compaction: pauses, calibration. Nothing is kept if
    the session has another view by now: what it tells of may have been erased.
    """
    between = _Between(info.id, info.view, Raw(snapshot))
    store.save_state(info.id, msgspec.json.encode(between), view=info.view)


def unchanged(engine: Compressor, detail: str) -> Report:
    """Return a report on what is there, without a run."""
    tokens, shown = engine.decide().prompt_tokens, len(engine.messages)
    budget = engine.settings.budget
    return Report(
        status="unchanged", detail=detail, tokens_before=tokens, tokens_after=tokens,
        prompt_tokens=tokens, context_length=budget.context_length,
        effective_window=budget.effective_window, threshold_tokens=budget.threshold_tokens,
        messages_before=shown, messages_after=shown, kept=engine.length, rewritten=0, folded=0,
        compaction_count=engine.state.count, version=__version__,
    )  # fmt: skip


def kept_positions(view: View) -> set[int]:
    """Return the places of the log that a view shows as they are, or as they were on arrival."""
    return {
        at
        for item in view.items
        if isinstance(item, Kept) or (isinstance(item, Rewritten) and is_on_arrival(item))
        for at in range(item.start, item.stop)
    }


class MendedView(Struct, frozen=True):
    """Messages as their provider takes them, and the rules that they broke."""

    messages: list[Any]
    rules: tuple[str, ...] = ()


def is_broken(store: Store, info: SessionInfo, messages: Sequence[Any]) -> bool:
    """Return whether messages need a repair before their provider takes them: for any reason if
    another agent wrote the beginning of the log, and otherwise if the user went on while a call had
    no result, as after a crash.
    """
    found = check(list(messages), dialect=info.dialect) if messages else []
    is_foreign = bool(found) and bool(info.source or store.session(info.root_id).source)
    return any(is_foreign or one.rule == CALL_ANSWERED for one in found)


def leaves_calls_open(log: Sequence[Message]) -> bool:
    """Return whether the last step of a log has more calls than results."""
    at, results, calls = len(log), 0, 0
    while at and has_only_results(log[at - 1]):
        at -= 1
        results += len(log[at].parts)
    while at and log[at - 1].role == "assistant":
        at -= 1
        calls += sum(isinstance(one, ToolCall) and one.kind != "server" for one in log[at].parts)
    return calls > results


def mended(messages: list[Any], dialect: str) -> MendedView:
    """Return messages repaired; as they are where a repair would have to invent something."""
    try:
        done = repair(messages, dialect=dialect)
    except CannotRepair as error:
        log_event("repair.failed", violations=len(error.violations), dialect=dialect)
        return MendedView(messages)
    log_event("repair.done", repairs=len(done.actions), dialect=dialect)
    return MendedView(list(done.messages), tuple(dict.fromkeys(each.rule for each in done.actions)))
