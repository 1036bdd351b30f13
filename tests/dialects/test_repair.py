"""Repair: laws that hold for every list, however broken, in every profile."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.dialects.checking import check, repair, repair_transcript
from foldaway.dialects.loading import dump, load
from foldaway.dialects.profiles import PROFILES, profile_named
from foldaway.errors import CannotRepair
from foldaway.transcript import survey

CHAT: list[Any] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"a":1}'}},
        {"id": "c2", "type": "function", "function": {"name": "cat", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "x"},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "y"}]},
    {"role": "assistant", "content": "ok"},
    {"role": "user", "content": [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]},
    {"role": "assistant", "content": "done"},
]  # fmt: skip
ANTHROPIC: list[Any] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "t", "signature": "s1"},
        {"type": "tool_use", "id": "t1", "name": "ls", "input": {"a": 1}},
        {"type": "tool_use", "id": "t2", "name": "cat", "input": {}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "x"},
        {"type": "tool_result", "tool_use_id": "t2", "is_error": True,
         "content": [{"type": "text", "text": "y", "cache_control": {"type": "ephemeral"}}]},
        {"type": "text", "text": "and?"}]},
    {"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"q": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []},
        {"type": "thinking", "thinking": "u", "signature": "s2"},
        {"type": "text", "text": "found"}]},
    {"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "text", "text": "see"}]},
    {"role": "assistant", "content": "done"},
]  # fmt: skip
RESPONSES: list[Any] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
    {"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "enc"},
    {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "raw"},
    {"type": "function_call_output", "call_id": "c1", "output": "x"},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": "y"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
]
GEMINI: list[Any] = [
    {"role": "user", "parts": [{"text": "go"}]},
    {"role": "model", "parts": [
        {"functionCall": {"name": "ls", "args": {"a": 1}}, "thoughtSignature": "sig"},
        {"functionCall": {"name": "cat", "args": {}}}]},
    {"role": "user", "parts": [
        {"functionResponse": {"name": "ls", "response": {"output": "x"}}},
        {"functionResponse": {"name": "cat", "response": {"output": "y"}}}]},
    {"role": "model", "parts": [{"text": "done"}]},
]  # fmt: skip
SHAREGPT: list[Any] = [
    {"from": "human", "value": "go"},
    {"from": "gpt", "value": '<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>'},
    {"from": "tool", "value": '<tool_response>\n{"a": 1}\n</tool_response>'},
    {"from": "gpt", "value": "done"},
]
VALID = {
    "openai-chat": CHAT, "strict": CHAT, "alternating": CHAT, "known-keys": CHAT,
    "anthropic": ANTHROPIC, "openai-responses": RESPONSES,
    "gemini": GEMINI, "sharegpt": SHAREGPT,
}  # fmt: skip
JUNK: list[Any] = [
    None, "", 0, True, [], {}, "x", "half \ud800", "nul \0", ["a"], "assistant", "tool", "t1",
    "c1", {"type": "text", "text": ""}, {"type": "thinking", "thinking": "z"}, "a b!" * 30,
    {"cache_control": {"type": "ephemeral", "ttl": "1h"}}, "{'a': 1}", '{"a": 1,}',
]  # fmt: skip
SEALED = ["signature", "thinking", "encrypted_content", "summary"]
KEYS = ["_x", "id", "tool_calls", "name", "content", "cache_control", "type", "signature"]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            found += places(inner, (*path, at))
    return found


@st.composite
def broken(draw: st.DrawFn) -> tuple[str, list[Any]]:
    """A valid list with up to four things done to it: cut, swapped, doubled, replaced, added."""
    provider = draw(st.sampled_from(sorted(VALID)))
    value = copy.deepcopy(VALID[provider])
    for _ in range(draw(st.integers(1, 4))):
        found = places(value)
        if not found:
            break
        *way, key = draw(st.sampled_from(found))
        holder = value
        for step in way:
            holder = holder[step]
        junk = copy.deepcopy(draw(st.sampled_from(JUNK)))
        match draw(st.integers(0, 4)):
            case 0:
                del holder[key]
            case 1:
                holder[key] = junk
            case 2 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(draw(st.sampled_from(holder))))
            case 3 if isinstance(holder, list):
                holder.insert(0, holder.pop(key))
            case 4 if isinstance(holder, dict):
                holder[draw(st.sampled_from(KEYS))] = junk
            case _:
                pass
    return provider, value or copy.deepcopy(VALID[provider])


def signed(items: list[Any]) -> list[str]:
    """The signatures and sealed contents of a list, each with the words that it signs."""
    found: list[str] = []
    for path in places(items):
        value: Any = items
        for step in path:
            value = value[step]
        if isinstance(value, dict) and ("signature" in value or "encrypted_content" in value):
            found.append(json.dumps([value.get(key) for key in SEALED]))
    return found


@each_row("provider", sorted(VALID))
def test_the_bases_are_valid_and_come_back_as_they_are(provider: str) -> None:
    """A valid list is returned as the very object that was given, and nothing was done."""
    repaired = repair(VALID[provider], provider=provider)
    assert repaired.messages is VALID[provider]
    assert repaired.actions == ()


GOES = {
    "content-present", "result-has-call", "id-present", "reasoning-followed", "content-shape",
    "thinking-signed", "thinking-first", "server-tools-paired",
}  # fmt: skip
"""Rules whose mend drops things: where nothing is left of a list it is refused."""


@given(broken())
def test_broken_lists_are_repaired_or_refused(case: tuple[str, list[Any]]) -> None:
    """After repair no rule has anything to say; a refusal names what cannot be mended."""
    provider, items = case
    before = json.dumps(items)
    found = check(items, provider=provider)
    try:
        repaired = repair(items, provider=provider)
    except CannotRepair as refusal:
        repaired = None
        reasons = refusal.violations
    assert json.dumps(items) == before
    if repaired is None:
        assert any(not each.mendable for each in reasons) or {each.rule for each in reasons} <= GOES
        return
    assert check(repaired.messages, provider=provider) == []
    assert bool(repaired.actions) == bool(found)


@given(broken())
def test_repair_twice_is_repair_once(case: tuple[str, list[Any]]) -> None:
    """What was repaired is valid, so it comes back as the same object."""
    provider, items = case
    try:
        once = repair(items, provider=provider).messages
    except CannotRepair:
        return
    assert repair(once, provider=provider).messages is once


@given(broken())
def test_messages_that_nobody_touched_are_the_same_objects(case: tuple[str, list[Any]]) -> None:
    """A payload is shared, never copied; one that was written anew differs from what it was."""
    provider, items = case
    try:
        repaired = repair(items, provider=provider)
    except CannotRepair:
        return
    for message, item in zip(repaired.transcript.messages, repaired.messages, strict=True):
        if message.origin == "real":
            was = items[message.position]
            assert (item is was) == (json.dumps(item) == json.dumps(was))


@given(broken())
def test_signed_blocks_are_kept_whole_or_go(case: tuple[str, list[Any]]) -> None:
    """No signed or sealed block comes out that did not go in exactly so."""
    provider, items = case
    try:
        mended = repair(items, provider=provider).messages
    except CannotRepair:
        return
    assert set(signed(mended)) <= set(signed(items))


@given(broken())
def test_the_transcript_is_what_its_wire_form_says(case: tuple[str, list[Any]]) -> None:
    """Reading the repaired value again gives the parts of the repaired transcript."""
    provider, items = case
    try:
        repaired = repair(items, provider=provider)
    except CannotRepair:
        return
    again = load(repaired.messages, dialect=repaired.transcript.dialect)
    assert [message.parts for message in again.messages] == [
        message.parts for message in repaired.transcript.messages
    ]


@given(broken())
@example(("openai-chat", [CHAT[1], CHAT[2], CHAT[1]]))
def test_actions_point_into_the_list_that_was_given(case: tuple[str, list[Any]]) -> None:
    """An index is a place in the list as it was given, or -1 for the request as a whole."""
    provider, items = case
    try:
        actions = repair(items, provider=provider).actions
    except CannotRepair:
        return
    known = {rule.name for rule in profile_named(provider).rules}
    assert all(-1 <= action.index < len(items) and action.rule in known for action in actions)


def test_generated_messages_say_so() -> None:
    """A stub is told from a real result by its origin, also in a repaired transcript."""
    items = [CHAT[1], CHAT[2], CHAT[5]]
    repaired = repair(items)
    origins = [message.origin for message in repaired.transcript.messages]
    assert origins == ["real", "real", "stub", "stub", "real"]
    assert survey(repaired.transcript.messages).generated == [2, 3]


def test_a_body_keeps_its_other_fields() -> None:
    """Only the message list is replaced."""
    body = {"model": "m", "temperature": 0, "messages": [CHAT[1], CHAT[3]], "tools": []}
    mended = repair(body).messages
    assert mended == {**body, "messages": [CHAT[1]]}
    assert list(mended) == list(body)


def test_the_system_prompt_is_read_again_when_the_body_changes() -> None:
    """A marker that goes from the prompt is gone from the transcript, too."""
    block = {"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}
    body = {"model": "m", "max_tokens": 9, "system": [dict(block) for _ in range(5)],
            "messages": [ANTHROPIC[0]]}  # fmt: skip
    transcript, _ = repair_transcript(load(body), profile_named("anthropic"))
    assert transcript.system is not None
    assert transcript.system.wire is dump(transcript)["system"]
    assert "cache_control" not in transcript.system.wire[0]


def test_a_list_of_which_nothing_would_be_left_is_refused() -> None:
    """An empty list is no repair."""
    with pytest.raises(CannotRepair):
        repair([{"role": "user", "content": ""}], provider="openai-chat")


def test_every_profile_is_tested_here() -> None:
    """A new profile needs a valid list of its own."""
    assert sorted(VALID) == sorted(PROFILES)


@each_row("key", ["content", "parts", "text", "refusal", "value", "message"])
def test_words_under_a_key_of_another_format_are_never_thrown_away(key: str) -> None:
    """Alone in a message, and beside its own content: they stay, or nothing is repaired. Only
    gateways that know no other keys want those beside the content removed.
    """
    held: Any = [{"text": "The port is 5433."}] if key == "parts" else "The port is 5433."
    for provider in PROFILES:
        dialect = profile_named(provider).dialect
        asks = {"gemini": {"role": "user", "parts": [{"text": "Go on."}]},
                "sharegpt": {"from": "human", "value": "Go on."}}  # fmt: skip
        ask: Any = asks.get(dialect, {"role": "user", "content": "Go on."})
        speaker = {name: ask[name] for name in ("role", "from") if name in ask}
        beside = (
            []
            if "keys-known" in {rule.name for rule in profile_named(provider).rules}
            else [{key: held, **ask}]
        )
        for odd in ({**speaker, key: held}, *beside):
            with contextlib.suppress(CannotRepair):
                mended = repair([odd, ask], provider=provider, dialect=dialect).messages
                assert odd == ask or "5433" in json.dumps(mended), (provider, odd)


@each_row("said", [
    ("openai-chat", "input_text", ["text"]), ("openai-chat", "output_text", ["text"]),
    ("openai-responses", "text", ["input_text", "output_text"]),
])  # fmt: skip
def test_text_blocks_of_the_other_openai_format_get_its_own_name(said: Any) -> None:
    """OpenAI refuses them."""
    provider, given_type, own = said
    items = [{"role": role, "content": [{"type": given_type, "text": "Go on."}]}
             for role in ("user", "assistant", "user")]  # fmt: skip
    assert {found.rule for found in check(items, provider=provider)} == {"content-shape"}
    mended = repair(items, provider=provider).messages
    assert {one["content"][0]["type"] for one in mended} == set(own)
    assert not check(mended, provider=provider)
