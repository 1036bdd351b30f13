"""What was sent last, spliced into the next request without the engine."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.long_lists import Exchange, exchanges, written

from foldaway._core.policy import Policy
from foldaway.sessions import SessionOptions, internals
from foldaway.sessions.last_view import LastView
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store

KEYS = {
    "anthropic": "messages", "openai-chat": "messages", "openai-responses": "input",
    "gemini": "contents",
}  # fmt: skip


def body(provider: str, items: list[Any], **frame: Any) -> bytes:
    model = {} if provider == "gemini" else {"model": "m"}
    return json.dumps({**model, **frame, KEYS[provider]: items}, ensure_ascii=False).encode()


def followed(provider: str, items: list[Any], key: str = "one") -> Session:
    """Return a session that has compacted a list, in a store in memory."""
    policy = Policy(floor_tokens=500)
    session = Session(
        open_store(":memory:"),
        key,
        context_length=8_000,
        policy=policy,
        options=SessionOptions(provider=provider),
    )
    session.follow(request=body(provider, items), force=True)
    return session


@pytest.mark.parametrize("provider", list(KEYS))
@given(kinds=exchanges(most=3), more=exchanges(most=1))
@settings(deadline=None)
def test_a_splice_is_what_the_engine_would_send(
    provider: str, kinds: list[Exchange], more: list[Exchange]
) -> None:
    """Byte for byte, for the same list and for every longer one, also after a restart."""
    kinds = [kinds[at % len(kinds)] for at in range(12)]
    items = written(provider, kinds, ending="reply")
    session = followed(provider, items)
    last = internals(session).follower.last_view
    if last is None:
        return  # there was nothing to fold
    kept = LastView.unpack(last.pack())
    assert kept == last
    longer = [*items, *written(provider, more, start=40)]
    for one in (items, longer):
        request = body(provider, one)
        assert last.splice(request) == internals(session).follower.preview(request=request).body
    assert last.splice(body(provider, items[: last.stop])) in (None, last.splice(body(
        provider, items)))  # fmt: skip


@pytest.mark.parametrize("provider", list(KEYS))
@given(at=st.integers(0, 10_000))
@settings(deadline=None)
def test_another_list_is_not_spliced(provider: str, at: int) -> None:
    """A list in which one of the folded messages says something else is not this one."""
    items = written(provider, [Exchange(chars=900)] * 12, ending="reply")
    session = followed(provider, items)
    last = internals(session).follower.last_view
    assert last is not None
    places = [one.start + offset for one in last.replaced for offset in range(len(one.says))]
    place = places[at % len(places)]
    changed = json.loads(json.dumps(items).replace("Ask", "Task"))
    other = [*items[:place], *changed[place : place + 1], *items[place + 1 :]]
    is_same = other == items
    assert (last.splice(body(provider, other)) is not None) == is_same


def test_cache_marks_may_move() -> None:
    """Anthropic's clients mark their newest messages: a folded one loses the mark that it had, and
    what is sent has only the marks that the client sets now.
    """
    mark = {"cache_control": {"type": "ephemeral"}}
    items = written("anthropic", [Exchange(chars=900)] * 12, ending="ask")
    marked = json.loads(json.dumps(items))
    for message in (marked[3], marked[-1]):
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        message["content"][-1] |= mark
    last = internals(followed("anthropic", marked)).follower.last_view
    assert last is not None
    sent = last.splice(body("anthropic", items))
    assert sent is not None
    assert b"cache_control" not in sent
