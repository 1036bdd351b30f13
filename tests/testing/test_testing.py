"""The public testing module: what it builds is what it says."""

from __future__ import annotations

import asyncio
import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.strategies import PROVIDERS, valid_lists

import foldaway.testing
from foldaway import check, load
from foldaway._core.ports import SummaryRequest
from foldaway.errors import UnknownName
from foldaway.testing import (
    BREAKAGES,
    FixedTokenCounter,
    ScriptedSummarizer,
    apply,
    assistant,
    call,
    media,
    result,
    system,
    talk,
    think,
    user,
)
from foldaway.transcript import Thinking, ToolCall, ToolResult

DIALECTS = [provider for provider in PROVIDERS if provider != "strict"]
TALK = talk(
    user("Read both."),
    assistant(
        think("Two files.", signature="sig"),
        "Reading.",
        call("read_file", path="a.py"),
        call("read_file", path="b.py"),
    ),
    result("one"),
    result("two", is_error=True),
    assistant("Done."),
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_built_talk_is_accepted_in_every_dialect(dialect: str) -> None:
    """The wire list keeps the provider's rules and holds the calls and answers that were built."""
    wire = TALK.wire(dialect)
    assert check(wire, provider=dialect) == []
    assert wire == TALK.wire(dialect)
    assert json.loads(json.dumps(wire)) == wire
    parts = [part for message in load(wire, dialect=dialect).messages for part in message.parts]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    assert [json.loads(found.arguments)["path"] for found in calls] == ["a.py", "b.py"]
    assert len([part for part in parts if isinstance(part, ToolResult)]) == 2


@pytest.mark.parametrize("dialect", ["anthropic", "openai-responses"])
def test_signed_thinking_is_built_with_its_signature(dialect: str) -> None:
    """Where the dialect has signed thinking, the talk's stands there as given."""
    messages = load(TALK.wire(dialect), dialect=dialect).messages
    thoughts = [p for message in messages for p in message.parts if isinstance(p, Thinking)]
    assert [thought.signature for thought in thoughts] == ["sig"]


def test_ids_are_made_in_order_and_results_answer_the_oldest_open_call() -> None:
    """Ids are the same on every run; `of` names a call where the order is another."""
    built = talk(
        assistant(call("x"), call("y", call_id="mine"), call("z")),
        result("2", of="mine"),
        result("1"),
        result("3"),
    )
    answers = [part.call_id for part in built.messages[1].parts if isinstance(part, ToolResult)]
    assert answers == ["mine", "call_1", "call_3"]


def test_a_result_without_a_call_is_a_mistake_of_the_test() -> None:
    """The builder makes no orphans by accident; `of` makes one on purpose."""
    with pytest.raises(ValueError, match="no call is open"):
        talk(user("a"), result("b"))
    assert len(talk(user("a"), result("b", of="gone")).messages) == 2


def test_media_and_system_have_their_forms() -> None:
    """A picture and a system prompt are written as each dialect writes them."""
    built = talk(system("Be brief."), user("See.", media()), assistant("Seen."))
    kinds = {
        "openai-chat": built.wire("openai-chat")[1]["content"][1]["type"],
        "openai-responses": built.wire("openai-responses")[1]["content"][1]["type"],
        "anthropic": built.wire("anthropic")[1]["content"][1]["type"],
    }
    assert kinds == {
        "openai-chat": "image_url", "openai-responses": "input_image", "anthropic": "image",
    }  # fmt: skip
    assert "inlineData" in built.wire("gemini")[1]["parts"][1]
    assert talk(user("hi")).wire("sharegpt") == [{"from": "human", "value": "hi"}]
    with pytest.raises(UnknownName):
        built.wire("telex")


@given(st.sampled_from(sorted(BREAKAGES)), st.sampled_from(PROVIDERS), st.data())
def test_a_breakage_never_touches_the_list_that_it_was_given(
    name: str, provider: str, data: st.DataObject
) -> None:
    """`apply` breaks a deep copy; what is refused for sure differs from the valid list."""
    items: list[Any] = data.draw(valid_lists(provider))
    before = deepcopy(items)
    broken = apply(name, provider, items, lambda count: data.draw(st.integers(0, count - 1)))
    assert items == before
    if broken is not None and provider in BREAKAGES[name].refused_by:
        assert broken != before


def test_unknown_names_are_refused() -> None:
    """A misspelt breakage or provider is an error that lists the known ones."""
    with pytest.raises(UnknownName, match="dropped-result"):
        apply("droped-result", "anthropic", [])
    with pytest.raises(UnknownName, match="anthropic"):
        valid_lists("antropic")


def test_the_scripted_summarizer_answers_in_order_and_remembers() -> None:
    """Answers come one by one, exceptions are raised, and one call too many is noticed."""
    scripted = ScriptedSummarizer(["one", TimeoutError("late")])
    request = SummaryRequest(instructions="i", prompt="p", max_tokens=9)
    assert scripted.summarize(request, 1.0).text == "one"
    with pytest.raises(TimeoutError, match="late"):
        asyncio.run(scripted.asummarize(request, 1.0))
    with pytest.raises(AssertionError, match="over"):
        scripted.summarize(request, 1.0)
    assert scripted.requests == [request] * 3


@given(st.text())
def test_the_fixed_counter_counts_by_rule(text: str) -> None:
    """A fixed number for every text, or one token for each four characters begun."""
    assert FixedTokenCounter(7)(text) == 7
    assert FixedTokenCounter()(text) == (len(text) + 3) // 4


def test_the_public_names_are_sorted_and_exist() -> None:
    """`__all__` is the promise of the module."""
    names = foldaway.testing.__all__
    assert len(set(names)) == len(names)
    assert all(hasattr(foldaway.testing, name) for name in names)
