"""What is kept of a session between two compactions, and a report on how it is."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from foldaway._core import Report, __version__
from foldaway.engine import Compressor
from foldaway.stores import SessionInfo, Store, StoredView


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


def report_no_run(engine: Compressor, detail: str) -> Report:
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
