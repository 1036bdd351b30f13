"""A client that compacts by itself: known by its request and, by setting, answered from the log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.dialects.loading import load
from foldaway.gateway.client_compactions import is_sealed, opened, sealed, signs
from foldaway.gateway.requests import read_turn
from foldaway.gateway.wires import route_of
from foldaway.sessions.matching import find_told
from foldaway.stores.open import open_store

ANSWERED = "answered; client compaction"
QUESTIONS = {
    "messages": "Your task is to create a detailed summary of the conversation so far.",
    "chat": "Reason first. Then, produce the <state_snapshot> XML.",
    "responses": "You are performing a CONTEXT CHECKPOINT COMPACTION.",
    "gemini": "First, reason in your scratchpad. Then, generate the updated <state_snapshot>.",
}


def listed(body: dict[str, Any]) -> list[Any]:
    return next(body[key] for key in ("messages", "input", "contents") if key in body)


def questioned(kit: Any, wire: str) -> dict[str, Any]:
    """Return a request in which the client asks for a summary of its list."""
    body = kit.talk(wire, 4, 300)
    text = QUESTIONS[wire]
    parts = {"parts": [{"text": text}]} if wire == "gemini" else {"content": text}
    listed(body).append({"role": "user", **parts})
    return body


async def sessions_in(stand: Any) -> str:
    given = {"x-foldaway-token": "of the owner"}
    async with stand.client.get(f"{stand.url}/foldaway/sessions", headers=given) as got:
        return await got.text()


REQUESTS: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "claude-code": ("/v1/messages", {"messages": [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "5"},
                                     {"type": "text", "text": QUESTIONS["messages"]}]},
        {"role": "system", "content": "It is Monday."}]}, {}),
    "codex": ("/v1/responses", {"input": [{"type": "compaction_trigger"}]}, {}),
    "copilot": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Sum up."}]},
                {"x-interaction-type": "conversation-compaction"}),
    "qwen-code": ("/v1/chat/completions",
                  {"messages": [{"role": "user", "content": QUESTIONS["chat"]}]}, {}),
    "gemini-cli": ("/v1beta/models/g:generateContent",
                   {"contents": [{"role": "user", "parts": [{"text": QUESTIONS["gemini"]}]}]}, {}),
    "pi": ("/v1/messages", {"system": "You are a context summarization assistant.",
                            "messages": [{"role": "user", "content": "[User]: Hello"}]}, {}),
    "opencode": ("/v1/chat/completions", {"messages": [
        {"role": "system", "content": "You are a context summarization agent."},
        {"role": "user", "content": "<conversation>"}]}, {}),
    "goose": ("/v1/chat/completions", {"messages": [{"role": "user", "content":
              "Please summarize the conversation history provided in the system prompt."}]}, {}),
    "hermes": ("/v1/chat/completions", {"messages": [{"role": "user", "content":
               "You are a summarization agent creating a context checkpoint. [USER]: Hi"}]}, {}),
}  # fmt: skip


def agent_in(path: str, body: dict[str, Any], headers: dict[str, str]) -> str:
    found = read_turn(route_of("POST", path, headers), headers, json.dumps(body).encode(), 1 << 20)
    return found.sign.agent if found.sign else ""


@each_row("agent", REQUESTS)
def test_every_agent_is_known_by_its_question(agent: str) -> None:
    """And nobody who only quotes it: in a result, or in an answer of the model."""
    path, body, headers = REQUESTS[agent]
    assert agent_in(path, body, headers) == agent
    quoted = {"messages": [
        {"role": "user", "content": "Read prompt.md."},
        {"role": "assistant", "content": json.dumps(body)},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t",
                                      "content": json.dumps(body)}]},
    ], "tools": [{"name": "read_file"}]}  # fmt: skip
    assert agent_in("/v1/messages", quoted, {}) == ""


def test_all_signs_are_tried() -> None:
    assert {sign.agent for sign in signs()} == set(REQUESTS)


@pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
@pytest.mark.parametrize("wire", QUESTIONS)
async def test_the_answer_is_the_record_in_the_form_of_the_wire(
    gateway: Any, kit: Any, wire: str
) -> None:
    """As a stream or not; whoever reads it with an SDK gets the text. The provider is not asked."""
    async with gateway(answers_compactions=True) as stand:
        await stand.post(kit.talk(wire, 4, 300), wire)
        for streams in (False, True):
            body = questioned(kit, wire)
            if wire == "gemini":
                text = await _gemini(stand, body, streams)
            else:
                body["stream"] = streams
                text = await asyncio.to_thread(_READERS[wire], stand.url, body)
            assert "Repair the parser of talk." in text
            assert "src/talk_3.py" in text
        assert len(stand.upstream.asked) == 1


def _anthropic(url: str, body: dict[str, Any]) -> str:
    headers = {"x-foldaway-session": "one"}
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        if not body.pop("stream"):
            got = client.messages.create(**body, extra_headers=headers)
        else:
            with client.messages.stream(**body, extra_headers=headers) as stream:
                got = stream.get_final_message()
    assert (got.usage.input_tokens, got.usage.output_tokens) == (0, 0)
    (block,) = got.content
    assert block.text.startswith("<summary>")
    assert block.text.endswith("</summary>")
    return block.text


def _openai(url: str) -> Any:
    headers = {"x-foldaway-session": "one"}
    return openai.OpenAI(
        base_url=f"{url}/v1", api_key="none", max_retries=0, default_headers=headers
    )


def _chat(url: str, body: dict[str, Any]) -> str:
    with _openai(url) as client:
        got = client.chat.completions.create(**body)
        if not body["stream"]:
            assert got.usage.total_tokens == 0
            return got.choices[0].message.content
        return "".join(chunk.choices[0].delta.content or "" for chunk in got)


def _responses(url: str, body: dict[str, Any]) -> str:
    streams = body.pop("stream")
    with _openai(url) as client:
        if not streams:
            return client.responses.create(**body).output_text
        with client.responses.stream(**body) as stream:
            return _whole(stream)


def _whole(stream: Any) -> str:
    kinds = [event.type for event in stream]
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    return stream.get_final_response().output_text


_READERS: dict[str, Callable[[str, dict[str, Any]], str]] = {
    "messages": _anthropic, "chat": _chat, "responses": _responses,
}  # fmt: skip


async def _gemini(stand: Any, body: dict[str, Any], streams: bool) -> str:
    path = "streamGenerateContent?alt=sse" if streams else "generateContent"
    headers = {"x-foldaway-session": "one"}
    where = f"{stand.url}/v1beta/models/gemini-2.5-pro:{path}"
    async with stand.client.post(where, json=body, headers=headers) as got:
        assert got.headers["x-foldaway"] == ANSWERED
        text = (await got.read()).decode().removeprefix("data: ")
    return json.loads(text)["candidates"][0]["content"]["parts"][0]["text"]


async def test_a_question_is_counted_and_passes_if_nobody_is_to_answer_it(
    gateway: Any, kit: Any
) -> None:
    """The setting is off by default."""
    async with gateway() as stand:
        await stand.post(kit.talk("chat", 4, 300))
        body = kit.packed(questioned(kit, "chat"))
        got = await stand.post(body)
        assert got.note.startswith("pass")
        assert stand.upstream.asked[1] == body
        async with stand.client.get(f"{stand.url}/metrics") as page:
            figures = await page.text()
    row = 'client_compactions_total{agent="qwen-code",outcome="pass",wire="chat"} 1.0'
    assert row in figures


@pytest.mark.parametrize("given_options", [{}, {"deadlines": (0.0, 0.0)}])
async def test_what_cannot_be_answered_passes(
    gateway: Any, kit: Any, given_options: dict[str, Any]
) -> None:
    """A conversation that nobody knows; a deadline that is over."""
    async with gateway(answers_compactions=True, **given_options) as stand:
        if given_options:
            await stand.post(kit.talk("chat", 4, 300))
        got = await stand.post(questioned(kit, "chat"))
        assert got.note.startswith("pass")
        assert stand.upstream.asked[-1] == kit.packed(questioned(kit, "chat"))


async def test_the_log_stays_whole_and_goes_on(gateway: Any, kit: Any) -> None:
    """The question is no message of the conversation, and the next record holds the first one."""
    async with gateway(answers_compactions=True) as stand:
        await stand.post(kit.talk("responses", 4, 300), "responses")
        got = await stand.post(questioned(kit, "responses"), "responses")
        record = json.loads(got.body)["output"][0]["content"][0]["text"]
        later = kit.talk("responses", 6, 300)
        shown = _user(f"Another language model started to solve this problem and produced a "
                      f"summary:\n{record}")  # fmt: skip
        later["input"] = [later["input"][0], shown, *later["input"][9:]]
        await stand.post(later, "responses")
        later["input"].append(_user(QUESTIONS["responses"]))
        again = await stand.post(later, "responses")
        assert (got.note, again.note) == (ANSWERED, ANSWERED)
        second = json.loads(again.body)["output"][0]["content"][0]["text"]
        assert "src/talk_0.py" in second
        assert "src/talk_5.py" in second
        assert "Another language model" not in second
        assert "CHECKPOINT" not in await sessions_in(stand)


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def sealed_in(body: bytes) -> dict[str, Any]:
    (item,) = [one for one in json.loads(body)["output"] if one["type"] == "compaction"]
    return item


async def test_a_sealed_record_is_opened_on_every_gateway(
    gateway: Any, kit: Any, tmp_path: Any
) -> None:
    """The provider gets a message in its place, the same bytes each time, also if the request was
    compressed and nobody there knows the conversation.
    """
    async with gateway(answers_compactions=True) as stand:
        await stand.post(kit.talk("responses", 4, 300), "responses")
        body = kit.talk("responses", 4, 300)
        body["input"].append({"type": "compaction_trigger"})
        got = await stand.post(body, "responses")
        retried = await stand.post(body, "responses")
        item = sealed_in(got.body)
        assert json.loads(got.body)["output"] == [item] == [sealed_in(retried.body)]
        after = kit.packed({**body, "input": [body["input"][0], item]})
        await stand.post(after, "responses")
        first = stand.upstream.asked[-1]
    other = open_store(tmp_path / "other")
    async with gateway(store=other) as stand:
        packed = zstandard.ZstdCompressor().compress(after)
        await stand.post(packed, "responses", content_encoding="zstd")
        assert stand.upstream.asked == [first]
        assert "content-encoding" not in stand.upstream.headers[0]
    other.close()
    opened_to = json.loads(first)["input"][1]
    assert opened_to["role"] == "user"
    assert "src/talk_3.py" in opened_to["content"][0]["text"]


async def test_a_list_to_compact_comes_back_with_one_item(gateway: Any, kit: Any) -> None:
    """`POST /responses/compact`: what the user said, and the record."""
    async with gateway(answers_compactions=True) as stand:
        body = kit.talk("responses", 4, 300)
        await stand.post(body, "responses")
        where, headers = f"{stand.url}/v1/responses/compact", {"x-foldaway-session": "one"}
        async with stand.client.post(where, json=body, headers=headers) as got:
            assert got.headers["x-foldaway"] == ANSWERED
            answer = await got.read()
        asks = {"type": "message", **body["input"][0]}
        assert json.loads(answer)["output"] == [asks, sealed_in(answer)]
        read = await asyncio.to_thread(
            lambda: _openai(stand.url).responses.compact(model="gpt-5", input=body["input"])
        )
        assert [item.type for item in read.output][-1] == "compaction"


def told(body: dict[str, Any]) -> str:
    """Return a list as agents write it into a prompt."""
    return "\n\n".join(f"[{one['role']}]: {one.get('content')}" for one in body["messages"])


async def test_a_list_that_is_told_in_a_text_is_known(gateway: Any, kit: Any) -> None:
    """Without a name by what is said in it; somebody else's list is not."""
    async with gateway(answers_compactions=True) as stand:
        body = kit.talk("chat", 4, 300)
        await stand.post(body, key="one")

        async def ask(text: str) -> Any:
            system = {"role": "system", "content": "You are a context summarization assistant."}
            question = {"model": "gpt-5", "messages": [system, _user(text)]}
            where = f"{stand.url}/v1/chat/completions"
            async with stand.client.post(where, json=question) as got:
                return got.headers["x-foldaway"], await got.read()

        note, answer = await ask(told(body))
        assert note == ANSWERED
        assert b"src/talk_3.py" in answer
        note, _ = await ask(told(kit.talk("chat", 4, 300, name="other")))
        assert note == "pass; side request"


@given(st.integers(0, 8), st.booleans())
def test_a_text_tells_a_log_up_to_its_last_message(steps: int, is_named: bool) -> None:
    """And nothing of a log whose user said something else, unless the client named it."""
    said = [{"role": "user", "content": "Repair the parser of the compiler."}]
    for number in range(8):
        said.append({"role": "assistant", "content": f"I look at module number {number} now."})
        said.append({"role": "user", "content": f"Go on with module number {number + 1}."})
    log = load(said).messages
    text = told({"messages": said[: 1 + 2 * steps]})
    assert find_told(text, log, is_named=is_named) == (1 + 2 * steps if steps else 0)
    foreign = load([{"role": "user", "content": "Delete the whole database."}, *said[1:]]).messages
    assert (find_told(text, foreign, is_named=is_named) > 0) == (is_named and steps > 0)


@given(st.text(), st.text())
def test_what_is_sealed_is_opened_and_all_else_stays(record: str, other: str) -> None:
    """Byte for byte, and nothing is opened twice."""
    record, other = (one.encode("utf-8", "ignore").decode() for one in (record, other))
    says = {"type": "message", "role": "user", "content": f"{other} FOLDAWAY-RECORD-1.AAAA"}
    body = json.dumps({"model": other, "input": [says, sealed(record), says]}).encode()
    plain = opened(body, "input")
    item = json.dumps(sealed(record)).encode()
    before, _, after = body.partition(item)
    assert plain.startswith(before)
    assert plain.endswith(after)
    assert record in json.loads(plain)["input"][1]["content"][0]["text"]
    assert not is_sealed(plain)
    assert opened(plain, "input") == plain
