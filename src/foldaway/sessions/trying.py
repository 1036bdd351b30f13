"""A session as it stood before one of its compactions, to try another one on it."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from foldaway.compaction import ResultPolicy
from foldaway.engine import Compressor, unpack_view
from foldaway.sessions.options import SessionOptions
from foldaway.sessions.rows import frame_of, payloads
from foldaway.sessions.showing import redactor_of
from foldaway.stores import SessionInfo, Store, StoredView


def engine_before(
    store: Store, info: SessionInfo, made: StoredView, options: SessionOptions
) -> Compressor:
    """Return a compressor on the log as long as it was when a view was made, with the view before.

    Whatever it does is its own: nothing is written to the store.
    """
    rows = store.read(info.id, 0, made.length)
    last = store.view(info.id, made.previous) if made.previous else None
    engine = options.compressor(info.model, info.dialect)
    engine.hide_with(redactor_of(store))
    frame = frame_of(info)
    noted, counted = frame.get("arrival"), frame.get("counted", "")
    start = replace(engine.arriving, start=len(rows))
    engine.resume(
        payloads(rows),
        None if last is None else unpack_view(last.items, info.dialect),
        b"" if last is None else last.state,
        arriving=start if noted is None else msgspec.convert(noted, ResultPolicy),
        tokens=[row.tokens for row in rows] if counted == engine.counted_by else None,
    )
    engine.goal = info.goal
    return engine
