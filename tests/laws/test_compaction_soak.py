"""Every law of a compaction on each of many examples and on every real session: `make soak`."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.laws import REFERENCE, broken_laws, came, tokens_of, words_of_users
from tests.testing.long_lists import exchanges, joined, long_lists, written

from foldaway import check, load
from foldaway._core.policy import Policy
from foldaway.dialects.profiles import profile_named
from foldaway.engine.compressor import Compressor
from foldaway.engine.oneshot import compress

pytestmark = pytest.mark.soak
EVERY_PROVIDER = pytest.mark.parametrize(
    "provider", ["openai-chat", "openai-responses", "anthropic", "gemini", "strict"]
)
POLICIES = st.builds(
    Policy, floor_tokens=st.sampled_from((500, 64_000)), protect_first=st.integers(0, 4),
    protect_last=st.sampled_from((1, 5, 20)), summary_tokens=st.sampled_from((100, 12_000)),
    target_ratio=st.sampled_from((0.1, 0.2, 0.8)), min_tail=st.integers(1, 5),
)  # fmt: skip


@EVERY_PROVIDER
@settings(max_examples=max(settings().max_examples // 5, 1))
@given(data=st.data())
def test_every_law_of_a_compaction(provider: str, data: st.DataObject) -> None:
    """Through 1 to 8 compactions with new turns between, at any window, policy and target."""
    items = data.draw(long_lists(provider))
    spoken: list[str] = []
    for number in range(1, data.draw(st.integers(1, 8)) + 1):
        before = deepcopy(items)
        settings_of_run: dict[str, Any] = {
            "context_length": data.draw(st.sampled_from((8_000, 64_000, 200_000))),
            "policy": data.draw(POLICIES),
            "target_tokens": data.draw(st.none() | st.integers(300, 12_000)),
        }
        made = compress(items, provider=provider, **settings_of_run)
        assert items == before
        assert compress(before, provider=provider, **settings_of_run).messages == made.messages
        spoken.extend(words_of_users(load(items, dialect=profile_named(provider).dialect)))
        known = set(REFERENCE.findall(json.dumps(items)))
        assert broken_laws(
            items, made.messages, made.report, made.recall, provider=provider, known=known,
            spoken=spoken,
        ) == []  # fmt: skip
        if check(made.messages, provider=provider):
            return
        more = written(provider, data.draw(exchanges(most=3)), start=100 * number)
        items = joined(provider, made.messages, more)


@EVERY_PROVIDER
@settings(max_examples=max(settings().max_examples // 10, 1))
@given(data=st.data())
def test_every_law_of_the_long_lived_form(provider: str, data: st.DataObject) -> None:
    """Valid and smaller after each compaction, every reference ever given out resolves to the very
    objects, and undoing all of them restores the whole log."""
    engine = Compressor(context_length=16_000, provider=provider, policy=data.draw(POLICIES))
    log: list[Any] = []
    more = data.draw(long_lists(provider))
    done = 0
    for number in range(1, data.draw(st.integers(1, 8)) + 1):
        engine.append(*more)
        log.extend(more)
        before = engine.messages
        report = engine.compact(force=True)
        done += report.status == "compacted"
        dialect = profile_named(provider).dialect
        if report.status == "compacted":
            after = load(engine.messages, dialect=dialect)
            assert tokens_of(after) < tokens_of(load(before, dialect=dialect))
        for row in engine.state.references:
            back = engine.conversation.recall(row.ref)
            assert all(one is was for one, was in zip(back, log[row.start : row.stop], strict=True))
        if check(engine.messages, provider=provider):
            break
        turns = written(provider, data.draw(exchanges(most=3)), start=100 * number)
        more = joined(provider, engine.messages, turns)[len(engine.messages) :]
    assert sum(iter(engine.undo, False)) == done
    assert came(engine) == log
