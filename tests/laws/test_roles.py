"""Who says the summary: no two messages of the user side by side that the host kept apart, and none
of its words in the mouth of the assistant."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.laws import latest_ask, own_parts
from tests.testing.long_lists import Exchange, exchanges, joined, long_lists, written

from foldaway import Options, check
from foldaway._core.policy import Policy
from foldaway.engine.compressor import Compressor
from foldaway.engine.oneshot import compress
from foldaway.facts.frame import SUMMARY_OPEN as MARK
from foldaway.sessions.session import Session
from foldaway.transcript import Message, Text, render

PROVIDERS = ("openai-chat", "openai-responses", "anthropic", "gemini", "strict")
EVERY_PROVIDER = pytest.mark.parametrize("provider", PROVIDERS)
SMALL = Policy(floor_tokens=500)


def new_neighbors(
    messages: Sequence[Message], pinned: frozenset[int] = frozenset()
) -> list[tuple[int, int]]:
    """Return the positions of user messages that stand side by side and did not before; what is
    pinned takes no summary in, so one may have to stand beside it."""
    return [
        (one.position, two.position)
        for one, two in pairwise(messages)
        if one.role == two.role == "user"
        and not 0 <= one.position == two.position - 1
        and not {one.position, two.position} & pinned
    ]


def misattributed(messages: Sequence[Message]) -> list[int]:
    """Return the places of messages of the assistant that carry a summary beside their own words
    or calls."""
    return [
        at
        for at, message in enumerate(messages)
        if message.role == "assistant"
        and len(message.parts) > 1
        and any(isinstance(one, Text) and one.text.startswith(MARK) for one in message.parts)
    ]


@EVERY_PROVIDER
@given(data=st.data())
def test_a_compaction_puts_no_two_messages_of_the_user_side_by_side(
    provider: str, data: st.DataObject
) -> None:
    """Through repeated compactions, with a head or not and with messages that are pinned; what the
    host itself sent as neighbors stays as it is, and so does all before the message at the first
    fold; the newest ask stays letter for letter."""
    items = data.draw(long_lists(provider))
    for number in range(1, 4):
        pinned = data.draw(st.frozensets(st.integers(0, len(items) - 1), max_size=2))
        policy = Policy(floor_tokens=500,
                        protect_first=data.draw(st.integers(0, 4)))  # fmt: skip
        made = compress(
            items, provider=provider, policy=policy, target_tokens=2_000,
            options=Options(pinned=pinned),
        )  # fmt: skip
        if made.report.status == "compacted":
            shown = made.transcript.messages
            assert new_neighbors(shown, pinned) == []
            assert misattributed(shown) == []
            head = (made.report.boundary or (0, 0))[0]
            before = slice(max(head - 1, 0))
            sent, given = shown[before], made.originals[before]
            assert [one.wire for one in sent] == [one.wire for one in given]
            ask, live = latest_ask(made.originals), latest_ask(shown)
            assert ask is None or (live is not None and own_parts(live) == own_parts(ask))
        if check(made.messages, provider=provider):
            return
        more = written(provider, data.draw(exchanges(most=3)), start=100 * number)
        items = joined(provider, made.messages, more)


@EVERY_PROVIDER
@given(data=st.data())
def test_nor_in_the_long_lived_form(provider: str, data: st.DataObject) -> None:
    """The same for a compressor that lives."""
    engine = Compressor(context_length=8_000, provider=provider, policy=SMALL)
    items = data.draw(long_lists(provider))
    for number in range(1, 4):
        engine.append(*items)
        engine.compact(force=True)
        shown = list(render(engine.view, engine.log.messages))
        assert new_neighbors(shown) == []
        assert misattributed(shown) == []
        if check(engine.messages, provider=provider):
            return
        more = written(provider, data.draw(exchanges(most=3)), start=100 * number)
        items = joined(provider, engine.messages, more)[len(engine.messages) :]


def as_string(items: list[Any]) -> list[Any]:
    """Return messages whose blocks a host joined into one string."""
    return [
        {**item, "content": "\n\n".join(block["text"] for block in item["content"])}
        if isinstance(item.get("content"), list)
        else item
        for item in items
    ]


@pytest.mark.parametrize("disguise", [list, as_string])
def test_a_summary_in_a_users_message_is_recognized_when_it_comes_back(disguise: Any) -> None:
    """As blocks or as one string, in one list or followed: the next summary goes on from it, the
    words beside it stay, and nothing is summed up twice."""
    items = written("openai-chat", [Exchange(20, 1, 900)], ending="step")
    made = compress(items, target_tokens=1_000, policy=SMALL)
    (said,) = [one for one in made.messages if one["role"] == "user"]
    assert [block["text"][:8] for block in said["content"]] == [MARK[:8], "Ask 0: c"]
    more = [
        {"role": "assistant", "content": "Done."},
        *written("openai-chat", [Exchange(9)], start=5),
    ]
    back = [*disguise(made.messages), *more]
    again = compress(back, target_tokens=1_000, policy=SMALL)
    assert again.report.compaction_count == 2
    session = Session(context_length=8_000, policy=SMALL)
    shown = session.follow(items, force=True).messages
    found = session.follow([*disguise(shown), *more], force=True)
    assert (found.course, session.info.compactions) == ("continues", 2)
    for result in (again.messages, found.messages):
        texts = [block["text"] if isinstance(block, dict) else block
                 for one in result if one["role"] != "tool"
                 for block in ([one["content"]] if isinstance(one["content"], str)
                               else one["content"] or ())]  # fmt: skip
        assert sum(MARK in text for text in texts) == 1
        assert any("Ask 0" in text for text in texts)
        assert not any(f"wrote: {MARK}" in text for text in texts)
