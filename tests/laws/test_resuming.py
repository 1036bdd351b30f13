"""The laws of a session that is kept and taken up again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.long_lists import exchanges, joined, long_lists, written
from tests.testing.rows import each_row

from foldaway._core.policy import Policy
from foldaway.engine.compressor import Compressor
from foldaway.engine.conversation_log import pack_view, unpack_view
from foldaway.errors import Conflict, InvalidView

PROVIDERS = ("openai-chat", "openai-responses", "anthropic", "gemini", "strict")
SMALL = Policy(floor_tokens=500)


ARRIVALS = st.sampled_from(
    (
        SMALL,
        replace(SMALL, arrival="off"),
        replace(SMALL, arrival="bounded", arrival_tools={"*": 120}),
    )
)


def engine_for(provider: str, policy: Policy = SMALL) -> Compressor:
    return Compressor(context_length=16_000, provider=provider, policy=policy)


def taken_up(
    provider: str, engine: Compressor, log: list[Any], policy: Policy = SMALL
) -> Compressor:
    """Return another engine that was given what a store keeps, through bytes."""
    name = engine.dialect
    view = unpack_view(pack_view(engine.view, name), name)
    other = engine_for(provider, policy)
    other.resume(json.loads(json.dumps(log)), view, engine.snapshot())
    return other


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(max_examples=max(2, settings().max_examples // 2))
@given(data=st.data())
def test_a_session_taken_up_again_goes_on_as_if_it_had_never_stopped(
    provider: str, data: st.DataObject
) -> None:
    """Resumed after any step, an engine shows the same bytes, gives the same originals and makes
    the same next compaction as one that lived on."""
    policy = data.draw(ARRIVALS)
    lived = engine_for(provider, policy)
    items = data.draw(long_lists(provider))
    log: list[Any] = []
    for number in range(1, data.draw(st.integers(1, 4)) + 1):
        lived.append(*items)
        log.extend(items)
        kept = taken_up(provider, lived, log, policy)
        assert json.dumps(kept.messages) == json.dumps(lived.messages)
        assert kept.decide().prompt_tokens == lived.decide().prompt_tokens
        lived.compact(force=True)
        kept.compact(force=True)
        assert json.dumps(kept.messages) == json.dumps(lived.messages)
        assert kept.state.references == lived.state.references
        for row in lived.state.references:
            assert kept.conversation.recall(row.ref) == lived.conversation.recall(row.ref)
        after = lived.messages
        grown = joined(provider, after, written(provider, data.draw(exchanges(most=3)),
                                                start=100 * number))  # fmt: skip
        items = grown[len(after) :]


@given(data=st.data())
def test_a_compaction_that_cannot_be_kept_changes_nothing(data: st.DataObject) -> None:
    """Where the keeper refuses, its error comes out and the conversation is as it was; the next
    attempt is free."""
    engine = engine_for("openai-chat")
    engine.append(*data.draw(long_lists("openai-chat")))
    before, state, last = engine.messages, engine.state, engine.last_report
    asked: list[int] = []

    def refuse(step: object) -> None:
        asked.append(1)
        raise Conflict("s", "somebody was faster")

    engine.keep_with(refuse)
    try:
        report = engine.compact(force=True)
    except Conflict:
        assert engine.last_report is last
    else:
        assert not asked
        assert report.status == "unchanged"
        return
    assert engine.messages == before
    assert engine.state is state
    engine.keep_with(lambda step: None)
    assert engine.compact(force=True).status == "compacted"


@each_row("data", [b"{}", b"[]", b'{"length": 2, "items": [[0, 1]]}', b"x"])
def test_bytes_that_are_no_view_are_refused(data: bytes) -> None:
    """What was damaged is named, never half a view."""
    with pytest.raises(InvalidView):
        unpack_view(data, "openai-chat")
