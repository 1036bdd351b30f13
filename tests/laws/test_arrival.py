"""The laws of results that are shown otherwise from their arrival on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.long_lists import exchanges, joined, long_lists, written

from foldaway import check
from foldaway._core.policy import ArrivalLevel, Policy
from foldaway.compaction.arrival import ResultPolicy
from foldaway.dialects.profiles import profile_named
from foldaway.engine.compressor import Compressor, Step
from foldaway.engine.conversation_log import pack_view, unpack_view
from foldaway.engine.live_log import GrowingLog
from foldaway.facts.reading import LogReading
from foldaway.sessions.session import Session
from foldaway.transcript import Estimator, Folded, Kept, Message, Rewritten, Text, ToolResult

PROVIDERS = ("openai-chat", "openai-responses", "anthropic", "gemini", "strict")
EVERY_PROVIDER = pytest.mark.parametrize("provider", PROVIDERS)
SMALL = Policy(floor_tokens=500)
LEVELS: st.SearchStrategy[ArrivalLevel] = st.sampled_from(("lossless", "bounded"))


def engine_for(provider: str, level: ArrivalLevel = "lossless") -> Compressor:
    policy = replace(SMALL, arrival=level, arrival_tools={"*": 200})
    return Compressor(context_length=16_000, provider=provider, policy=policy)


def outputs(message: Message) -> list[str]:
    """Return the texts of the results of a message."""
    return [
        inner.text
        for part in message.parts
        if isinstance(part, ToolResult)
        for inner in part.parts
        if isinstance(inner, Text)
    ]


def assert_nothing_is_lost(engine: Compressor) -> None:
    """Each result is shown as it came, or as the same JSON, or as a marker of one that is shown
    above it, or with its original under its reference."""
    log = [message for message, _ in engine.conversation.list_arrived(0)]
    above: set[str] = set()
    for item in engine.view.items:
        match item:
            case Kept(start=start, stop=stop):
                above.update(text for at in range(start, stop) for text in outputs(log[at]))
            case Rewritten(start=at, message=shown) if shown.origin == "arrival":
                assert engine.conversation.recall(item.reference) == [log[at].wire]
                for was, now in zip(outputs(log[at]), outputs(shown), strict=True):
                    if now.startswith("[foldaway duplicate"):
                        assert item.reference in now
                        assert was in above
                    elif was == now or _same_json(was, now):
                        above.add(was)
                    else:
                        assert item.reference in now
                        assert engine.conversation.arriving.level == "bounded"
            case Rewritten() | Folded():
                pass


def _same_json(was: str, now: str) -> bool:
    try:
        return repr(json.loads(was)) == repr(json.loads(now))
    except ValueError:
        return False


def more_for(provider: str, engine: Compressor, data: st.DataObject, number: int) -> list[Any]:
    """Return what may be appended next."""
    seen = engine.messages
    work = written(provider, data.draw(exchanges(most=3)), start=100 * number)
    return joined(provider, seen, work)[len(seen) :]


@EVERY_PROVIDER
@settings(max_examples=max(2, settings().max_examples // 2))
@given(data=st.data())
def test_nothing_is_lost_on_arrival_nor_by_the_compactions_after_it(
    provider: str, data: st.DataObject
) -> None:
    """After each of some appends, compactions and undos every result is whole, or a marker of one
    that is whole above it, or comes back by the reference that it names."""
    engine = engine_for(provider, data.draw(LEVELS))
    items = data.draw(long_lists(provider))
    for number in range(1, data.draw(st.integers(1, 5)) + 1):
        for item in items:
            engine.append(item)
        assert_nothing_is_lost(engine)
        engine.compact(force=True)
        assert_nothing_is_lost(engine)
        if data.draw(st.booleans()):
            engine.undo()
            assert_nothing_is_lost(engine)
        items = more_for(provider, engine, data, number)


@EVERY_PROVIDER
@settings(max_examples=max(2, settings().max_examples // 2))
@given(data=st.data())
def test_who_holds_the_log_and_the_last_view_sees_the_same(
    provider: str, data: st.DataObject
) -> None:
    """What arrived since the last compaction is shown in the same bytes by an engine that was
    given no more than the log and the view of that compaction, also after an undo."""
    level = data.draw(LEVELS)
    lived = engine_for(provider, level)
    steps: list[tuple[bytes | None, bytes]] = [(None, b"")]

    def keep(step: Step) -> None:
        steps.append((pack_view(step.view, lived.dialect), step.snapshot))

    lived.keep_with(keep)
    log: list[Any] = []
    items = data.draw(long_lists(provider))
    for number in range(1, data.draw(st.integers(1, 4)) + 1):
        lived.append(*items)
        log.extend(items)
        view, snapshot = steps[-1]
        kept = engine_for(provider, level)
        kept.resume(
            json.loads(json.dumps(log)),
            None if view is None else unpack_view(view, lived.dialect),
            snapshot,
        )
        assert json.dumps(kept.messages) == json.dumps(lived.messages)
        assert kept.decide().prompt_tokens == lived.decide().prompt_tokens
        lived.compact(force=True)
        if len(steps) > 1 and data.draw(st.booleans()) and lived.undo():
            steps.pop()
        items = more_for(provider, lived, data, number)


@EVERY_PROVIDER
@given(data=st.data())
def test_facts_come_from_what_came(provider: str, data: st.DataObject) -> None:
    """A log knows the same facts, however its results are shown."""
    items = data.draw(long_lists(provider))
    dialect = profile_named(provider).dialect
    readings = LogReading(Estimator(), SMALL)
    plain, shown = (
        GrowingLog(dialect, readings),
        GrowingLog(dialect, readings, ResultPolicy(level="bounded")),
    )
    plain.append(items)
    shown.append(items)
    length = len(items)
    assert shown.facts(0, length) == plain.facts(0, length)
    assert shown.shown.tokens <= plain.shown.tokens


@given(data=st.data())
def test_a_list_that_the_host_keeps_is_left_alone(data: st.DataObject) -> None:
    """What a session follows was sent already: it gives back the very list, and knows it again when
    it has grown. `messages` adds only what the provider misses: results of calls without one."""
    session = Session(context_length=10_000_000, policy=Policy(save="off"))
    items = data.draw(long_lists("openai-chat"))
    assert session.follow(items).messages == items
    more = [*items, {"role": "user", "content": "Go on."}]
    assert session.follow(more).messages == more
    assert session.info.length == len(more)
    assert [one for one in session.messages if one in more] == more
    assert not check(session.messages)
