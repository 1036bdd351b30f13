"""What a view does with a log: every message once, and where the model sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.testing.long_lists import Exchange, written
from tests.testing.strategies import logs, views

from foldaway._core.report import Reference
from foldaway.engine.conversation_log import pack_view
from foldaway.errors import UnknownName, UnknownPosition
from foldaway.facts.frame import carried_summary
from foldaway.gateway.inspector.message_fates import Fates, count_places, count_shared, fates
from foldaway.sessions import SessionOptions
from foldaway.sessions.exporting import transcript_of
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession, NewView, SessionInfo
from foldaway.transcript import Folded, Kept, Message, Rewritten, Text, View, extend, render

PER_EXAMPLE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
SUMMARY = Message("user", (Text("what came before"),), origin="summary")
BRIDGE = Message("assistant", (Text("…"),), origin="placeholder")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path) as opened:
        yield opened


def session(store: Store, length: int, **fields: Any) -> SessionInfo:
    body = json.dumps({"role": "user", "content": "words"}).encode()
    return store.create(
        NewSession(dialect="openai-chat", **fields),
        messages=[NewMessage(body=body, role="user", tokens=3) for _ in range(length)],
    )


def commit(store: Store, info: SessionInfo, view: View) -> SessionInfo:
    packed = pack_view(view, "openai-chat")
    return store.commit(info.id, NewView(items=packed, length=view.length), expect=info.view)


def covers_once(found: Fates) -> None:
    """Ranges follow each other from the first to the last message; each is found by position."""
    ends = [0, *(fate.stop for fate in found.items)]
    assert [fate.start for fate in found.items] == ends[:-1]
    assert ends[-1] == found.length
    for position in range(found.length):
        fate = found.at(position)
        assert fate.start <= position < fate.stop


@PER_EXAMPLE
@given(st.data())
def test_every_message_has_one_fate_in_any_view(store: Store, data: st.DataObject) -> None:
    """The ranges cover the log, and say where each message is among those that the model sees."""
    log = data.draw(logs())
    view = data.draw(views(log))
    later = data.draw(st.integers(0, 3))
    info = session(store, len(log) + later)
    if log:
        info = commit(store, info, view)
    found = fates(store, info)
    covers_once(found)
    whole = [*log, *(Message("user", (), len(log) + at) for at in range(later))]
    seen = list(render(extend(view, len(whole)), whole))
    assert found.shown == len(seen)
    for fate in found.items:
        assert fate.shown_at + fate.shown <= len(seen)
        if fate.kind == "kept":
            assert seen[fate.shown_at : fate.shown_at + fate.shown] == whole[fate.start : fate.stop]
        assert fate.summary_at is None or (
            fate.kind == "folded" and seen[fate.summary_at].origin == "summary"
        )
    earlier = fates(store, info, length=len(log))
    assert earlier.length == len(log)
    assert count_shared(earlier, found) == earlier.shown == found.shown - later
    assert len(count_places(store, info, found)) == found.shown


def test_two_prompts_share_what_comes_before_the_first_difference(store: Store) -> None:
    """Kept messages up to where one is folded or shown otherwise; all, if the view is the same."""
    view = View((Kept(0, 2), Folded(2, 4, (SUMMARY,), "f"), Rewritten(4, SUMMARY, "r")), 5)
    info = commit(store, session(store, 6), view)
    before, now = fates(store, info, 0, 5), fates(store, info, 1, 6)
    assert count_shared(before, now) == 2
    assert count_shared(now, now) == now.shown == 5
    assert count_shared(fates(store, info, 1, 5), now) == 4


def test_a_fold_without_words_leads_to_the_nearest_summary(store: Store) -> None:
    """A word of the assistant between two messages of the user is no summary."""
    view = View((
        Kept(0, 1), Folded(1, 3, (), "f1"), Kept(3, 4), Folded(4, 6, (BRIDGE,), "f2"), Kept(6, 7),
        Folded(7, 9, (SUMMARY,), "f3"), Rewritten(9, SUMMARY, "r"),
    ), 10)  # fmt: skip
    found = fates(store, commit(store, session(store, 10), view))
    folded = [fate for fate in found.items if fate.kind == "folded"]
    assert [(fate.reference, fate.shown, fate.summary_at) for fate in folded] == [
        ("f1", 0, 4), ("f2", 1, 4), ("f3", 1, 4),
    ]  # fmt: skip
    assert found.at(9).reference == "r"
    assert (found.at(0).reference, found.at(0).kind) == ("", "kept")


def test_views_that_were_undone_and_the_log_itself_have_fates(store: Store) -> None:
    """Any number that the session has, 0 included; no other one, and no position outside."""
    info = commit(store, session(store, 4), View((Folded(0, 3, (SUMMARY,), "f"), Kept(3, 4)), 4))
    info = store.undo(info.id)
    assert [fate.kind for fate in fates(store, info).items] == ["kept"]
    assert fates(store, info, 0) == fates(store, info)
    assert [fate.kind for fate in fates(store, info, 1).items] == ["folded", "kept"]
    with pytest.raises(UnknownName, match="known: 0, 1"):
        fates(store, info, 2)
    for position in (-1, 4):
        with pytest.raises(UnknownPosition):
            fates(store, info).at(position)
    assert fates(store, session(store, 0)).items == ()


def test_what_is_shown_otherwise_since_its_arrival_is_rewritten(store: Store) -> None:
    """After the view that is, as long as the session shows results so."""
    frame = json.dumps({"arrival": {"level": "bounded"}}).encode()
    info = session(store, 3, frame=frame)
    more = [NewMessage(body=b"{}", role="tool") for _ in range(3)]
    given_out = [Reference("a", (4, 5), "arrival"), Reference("d", (1, 2), "digest")]
    store.append(info.id, more, references=given_out)
    found = fates(store, store.session(info.id))
    covers_once(found)
    assert [(fate.start, fate.stop, fate.kind, fate.reference) for fate in found.items] == [
        (0, 4, "kept", ""), (4, 5, "rewritten", "a"), (5, 6, "kept", ""),
    ]  # fmt: skip
    off = store.change(info.id, frame=b'{"arrival": {"level": "off"}}')
    assert [fate.kind for fate in fates(store, off).items] == ["kept"]


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_a_real_compaction_leads_from_each_fold_to_its_summary(store: Store, dialect: str) -> None:
    """The message at `summary_at` is or carries the summary, and references lead to the ranges."""
    kept = Session(
        store, context_length=12_000, options=SessionOptions(new=NewSession(dialect=dialect))
    )
    items = written(dialect, [Exchange(3, 2, 900)] * 8)
    kept.append(*items)
    assert kept.compact(force=True).status == "compacted"
    info = store.session(kept.id)
    found = fates(store, info)
    covers_once(found)
    seen = transcript_of(store, info, what="view").messages
    assert found.shown == len(seen)
    folded = [fate for fate in found.items if fate.kind == "folded"]
    assert folded
    for fate in folded:
        assert fate.summary_at is not None
        assert carried_summary(seen[fate.summary_at]) is not None
        (place,) = store.places(fate.reference, session_id=info.id)
        assert place.reference.start <= fate.start < fate.stop <= place.reference.stop


def test_what_an_agent_dropped_by_itself_is_not_seen() -> None:
    """Claude Code keeps its summary alone; of an agent that keeps more nothing is claimed."""
    with open_store(":memory:") as store:
        for source, shown in (("claude-code", 3), ("pi", 6)):
            info = store.create(NewSession(dialect="openai-chat", source=source))
            store.append(info.id, [
                NewMessage(
                    body=b'{"role":"user","content":"x"}', role="user", generated=at == 3, tokens=1
                )
                for at in range(6)
            ])  # fmt: skip
            found = fates(store, store.session(info.id))
            assert found.shown == shown
            assert found.at(0).kind == ("folded" if shown == 3 else "kept")
            assert found.at(3).kind == found.at(5).kind == "kept"
            assert [one.start for one in found.items[1:]] == [one.stop for one in found.items[:-1]]
