"""The gateway's own recall tool: who gets it, who answers it, and what a client sees of it.

Clients are the real SDKs; the provider says what a test tells it. What arrives there is judged by
our rules and, if they are here, by those of the toolkit of providers.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import anthropic
import openai
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

import foldaway
from foldaway.gateway.hidden import HiddenCalls, restored
from foldaway.gateway.readers import READERS
from foldaway.gateway.recall_tool import OWN_NAMES
from foldaway.gateway.wires import MESSAGES
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter

WIRES = ("messages", "chat", "responses", "gemini")


class EqualReasoning(str):
    """A wire on which all reasoning items have the same sealed content."""

    __slots__ = ()


ON = {"recall_tool": True}
RECALL, READ = "foldaway_recall", "read_file"
OWN = (RECALL, {"ref": "m0"})
THEIRS = (READ, {"path": "a.py"})
MODELS = {"messages": "claude-opus-4-6", "chat": "gpt-5", "responses": "gpt-5",
          "gemini": "gemini-2.5-pro"}  # fmt: skip
Said = Sequence[Any]
"""An answer: texts, thinking as ("think", text), and calls as (name, arguments)."""


def toolkit() -> ModuleType | None:
    """Return the rules of the toolkit of providers, None if they are not here."""
    shared = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("FOLDAWAY_DATA", shared)).resolve().parent / "agents"
    if not (folder / "rules.py").is_file():
        return None
    sys.path.insert(0, str(folder))
    try:
        import rules  # pyright: ignore
    finally:
        sys.path.remove(str(folder))
    return rules


RULES = toolkit()
pytestmark = pytest.mark.shared
"""With the toolkit its rules are checked too."""


def broken(wire: str, body: dict[str, Any]) -> list[str]:
    """Return the rules that a request breaks."""
    found = [one.rule for one in foldaway.check(body)]
    if RULES is None:
        return found
    match wire:
        case "messages":
            verdict = RULES.check_messages(body, {"anthropic-version": "2023-06-01"})
        case "chat":
            verdict = RULES.check_chat(body)
        case "responses":
            verdict = RULES.check_responses(body, [], {})
        case _:
            verdict = RULES.check_gemini(body, "gemini-3-pro")
    return [*found, *(one.rule for one in verdict.broken)]


# A provider


class Provider:
    """Says one answer after the other, as a stream or whole, as it was asked."""

    def __init__(self, wire: str, *answers: Any, number: int = 0) -> None:
        self.wire, self.answers = wire, list(answers)
        self.said: list[bytes] = []
        self.count = number
        """Of answers so far: by it ids differ."""

    async def __call__(self, request: web.Request, body: bytes) -> web.StreamResponse:
        answer = self.answers.pop(0)
        if isinstance(answer, int):
            return web.json_response({"error": {"message": "no", "type": "x"}}, status=answer)
        self.count += 1
        asked = json.loads(body)
        if isinstance(self.wire, EqualReasoning):
            whole, events = of_responses(asked, answer, self.count, thought="the same")
        else:
            whole, events = ANSWERS[self.wire](asked, answer, self.count)
        if not (asked.get("stream") or "stream" in request.path):
            self.said.append(json.dumps(whole).encode())
            return web.Response(body=self.said[-1], content_type="application/json")
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in events:
            await response.write(event)
        if "cut" in answer:
            assert request.transport is not None
            request.transport.abort()
        self.said.append(b"".join(events))
        return response


def sse(value: Any) -> bytes:
    kind = f"event: {value['type']}\n".encode() if "type" in value else b""
    return kind + b"data: " + json.dumps(value).encode() + b"\n\n"


def halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def of_messages(asked: dict[str, Any], said: Said, number: int) -> tuple[Any, list[bytes]]:
    blocks: list[dict[str, Any]] = []
    for at, one in enumerate(said):
        match one:
            case ("think", text):
                sign = RULES.sign_thinking(asked, text) if RULES else "c2ln"
                blocks.append({"type": "thinking", "thinking": text, "signature": sign})
            case (name, arguments):
                blocks.append({"type": "tool_use", "id": f"toolu_{number}_{at}", "name": name,
                               "input": arguments})  # fmt: skip
            case "cut":
                pass
            case text:
                blocks.append({"type": "text", "text": text})
    stop = "tool_use" if any(one["type"] == "tool_use" for one in blocks) else "end_turn"
    usage = {"input_tokens": 100, "cache_read_input_tokens": 10, "output_tokens": 7}
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m",
            "stop_sequence": None}  # fmt: skip
    begun = {**head, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for at, block in enumerate(blocks):
        match block["type"]:
            case "text":
                empty, name, key = {"text": ""}, "text_delta", "text"
            case "thinking":
                empty, name, key = {"thinking": "", "signature": ""}, "thinking_delta", "thinking"
            case _:
                empty, name, key = {"input": {}}, "input_json_delta", "partial_json"
        events.append({"type": "content_block_start", "index": at,
                       "content_block": {**block, **empty}})  # fmt: skip
        whole = json.dumps(block["input"]) if key == "partial_json" else block[key]
        deltas = [{"type": name, key: piece} for piece in halves(whole)]
        if "signature" in block:
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        events += [{"type": "content_block_delta", "index": at, "delta": one} for one in deltas]
        events.append({"type": "content_block_stop", "index": at})
    if "cut" not in said:
        delta = {"stop_reason": stop, "stop_sequence": None}
        events += [{"type": "message_delta", "delta": delta, "usage": usage},
                   {"type": "message_stop"}]  # fmt: skip
    whole = {**head, "content": blocks, "stop_reason": stop, "usage": usage}
    return whole, [sse(one) for one in events]


def of_chat(asked: dict[str, Any], said: Said, number: int) -> tuple[Any, list[bytes]]:
    text = "".join(one for one in said if isinstance(one, str) and one != "cut")
    made = [one for one in said if isinstance(one, tuple) and one[0] != "think"]
    calls = [{"id": f"call_{number}_{at}", "type": "function",
              "function": {"name": name, "arguments": json.dumps(arguments)}}
             for at, (name, arguments) in enumerate(made)]  # fmt: skip
    stop = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    head = {"id": f"chatcmpl-{number}", "created": 1, "model": "m"}

    def chunk(delta: Any, reason: str | None = None) -> dict[str, Any]:
        return {**head, "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}  # fmt: skip

    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": piece}) for piece in halves(text) if piece]
    for at, call in enumerate(calls):
        function = {"name": call["function"]["name"], "arguments": ""}
        events.append(chunk({"tool_calls": [{**call, "index": at, "function": function}]}))
        events += [chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
                   for piece in halves(call["function"]["arguments"])]  # fmt: skip
    if "cut" not in said:
        events.append(chunk({}, stop))
        events.append({**chunk({}), "choices": [], "usage": usage})
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = calls
    whole = {**head, "object": "chat.completion", "usage": usage,
             "choices": [{"index": 0, "message": message, "finish_reason": stop}]}  # fmt: skip
    return whole, [*map(sse, events), *([] if "cut" in said else [b"data: [DONE]\n\n"])]


def of_responses(
    asked: dict[str, Any], said: Said, number: int, *, thought: str = ""
) -> tuple[Any, list[bytes]]:
    thought = thought or f"{number}"
    items: list[dict[str, Any]] = [
        {"type": "reasoning", "id": f"rs_{number}", "summary": [],
         "encrypted_content": RULES.seal("reasoning", thought) if RULES else thought}
    ]  # fmt: skip
    for at, one in enumerate(said):
        match one:
            case "cut":
                pass
            case (name, arguments):
                call = {"id": f"fc_{number}_{at}", "call_id": f"call_{number}_{at}", "name": name}
                items.append({"type": "function_call", **call, "status": "completed",
                              "arguments": json.dumps(arguments)})  # fmt: skip
            case text:
                part = {"type": "output_text", "text": text, "annotations": []}
                items.append({"type": "message", "id": f"msg_{number}_{at}", "role": "assistant",
                              "status": "completed", "content": [part]})  # fmt: skip
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 10},
             "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 1},
             "total_tokens": 107}  # fmt: skip
    head = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": "m",
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}  # fmt: skip
    begun = {**head, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for at, item in enumerate(items):
        place = {"output_index": at, "item_id": item["id"]}
        empty = {"arguments": ""} if "arguments" in item else {}
        empty |= {"content": []} if "content" in item else {}
        events.append({"type": "response.output_item.added", "output_index": at,
                       "item": {**item, **empty}})  # fmt: skip
        if "arguments" in item:
            kind = "response.function_call_arguments.delta"
            events += [{"type": kind, **place, "delta": one} for one in halves(item["arguments"])]
        if "content" in item:
            part, text = item["content"][0], {**place, "content_index": 0}
            events.append({"type": "response.content_part.added", **text,
                           "part": {**part, "text": ""}})  # fmt: skip
            events += [{"type": "response.output_text.delta", **text, "delta": one, "logprobs": []}
                       for one in halves(part["text"])]  # fmt: skip
            events.append({"type": "response.content_part.done", **text, "part": part})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    whole = {**head, "status": "completed", "output": items, "usage": usage}
    if "cut" not in said:
        events.append({"type": "response.completed", "response": whole})
    return whole, [sse({**one, "sequence_number": at}) for at, one in enumerate(events)]


def of_gemini(asked: dict[str, Any], said: Said, number: int) -> tuple[Any, list[bytes]]:
    parts: list[dict[str, Any]] = []
    for one in said:
        if isinstance(one, tuple):
            parts.append({"functionCall": {"name": one[0], "args": one[1]}})
        elif one != "cut":
            parts += [{"text": piece} for piece in halves(one)]
    signed = next((part for part in parts if "functionCall" in part), None)
    if signed:
        signed["thoughtSignature"] = RULES.seal("thought", "x") if RULES else "x"
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 7, "totalTokenCount": 107}
    head = {"modelVersion": "m", "responseId": f"r{number}", "usageMetadata": usage}

    def chunk(some: list[Any], **more: Any) -> dict[str, Any]:
        content = {"role": "model", "parts": some}
        return {"candidates": [{"index": 0, "content": content, **more}], **head}

    stop = {} if "cut" in said else {"finishReason": "STOP"}
    events = [*(chunk([part]) for part in parts[:-1]), chunk(parts[-1:], **stop)]
    return chunk(parts, finishReason="STOP"), [sse(one) for one in events]


ANSWERS = {"messages": of_messages, "chat": of_chat, "responses": of_responses,
           "gemini": of_gemini}  # fmt: skip


# A client that keeps its list


class Client:
    """An agent: it sends its list, keeps what it sees, and answers its own calls."""

    def __init__(self, wire: str, stand: Any, *, streams: bool = True, key: str = "one") -> None:
        self.wire, self.stand, self.streams = wire, stand, streams
        self.listed: list[Any] = []
        self.text = ""
        self.calls: list[tuple[str, str]] = []
        """Names and ids of what the client saw called."""
        self.tokens = 0
        headers = {"x-foldaway-session": key} if key else {}
        self.common: dict[str, Any] = {
            "api_key": "x", "max_retries": 0, "default_headers": headers,
        }  # fmt: skip
        self.more: dict[str, Any] = {}
        """What else its requests say."""

    async def say(self, text: str = "Look at it.") -> None:
        """Send a user's message, or the results of the calls before."""
        if self.calls:
            self.listed += self.answers()
        elif self.wire == "gemini":
            self.listed.append({"role": "user", "parts": [{"text": text}]})
        else:
            self.listed.append({"role": "user", "content": text})
        self.text, self.calls = "", []
        if self.wire == "messages":
            http: Any = anthropic.DefaultAsyncHttpxClient(verify=False)
            sdk: Any = anthropic.AsyncAnthropic(
                base_url=self.stand.url, http_client=http, **self.common
            )
        else:
            http = openai.DefaultAsyncHttpxClient(verify=False)
            sdk = openai.AsyncOpenAI(
                base_url=f"{self.stand.url}/v1", http_client=http, **self.common
            )
        async with http:
            await getattr(self, f"_{self.wire}")(sdk)

    def answers(self) -> list[Any]:
        match self.wire:
            case "messages":
                return [{"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": name, "content": "42"}
                    for _, name in self.calls
                ]}]  # fmt: skip
            case "chat":
                return [{"role": "tool", "tool_call_id": name, "content": "42"}
                        for _, name in self.calls]  # fmt: skip
            case "responses":
                return [{"type": "function_call_output", "call_id": name, "output": "42"}
                        for _, name in self.calls]  # fmt: skip
            case _:
                return [{"role": "user", "parts": [
                    {"functionResponse": {"name": name, "response": {"result": "42"}}}
                    for name, _ in self.calls
                ]}]  # fmt: skip

    async def _messages(self, sdk: Any) -> None:
        asked: dict[str, Any] = {
            "model": MODELS["messages"], "max_tokens": 4_000, "messages": self.listed,
            "tools": [{"name": READ, "input_schema": {"type": "object"},
                       "cache_control": {"type": "ephemeral"}}], **self.more,
        }  # fmt: skip
        if self.streams:
            async with sdk.messages.stream(**asked) as stream:
                final = await stream.get_final_message()
        else:
            final = await sdk.messages.create(**asked)
        content = [block.model_dump(exclude_none=True) for block in final.content]
        for block in content:
            block.pop("parsed_output", None)
        self.listed.append({"role": "assistant", "content": content})
        self.text = "".join(one["text"] for one in content if one["type"] == "text")
        self.calls = [(one["name"], one["id"]) for one in content if one["type"] == "tool_use"]
        assert final.stop_reason == ("tool_use" if self.calls else "end_turn")
        self.tokens = final.usage.input_tokens + (final.usage.cache_read_input_tokens or 0)

    async def _chat(self, sdk: Any) -> None:
        asked: dict[str, Any] = {
            "model": MODELS["chat"], "messages": self.listed,
            "tools": [{"type": "function", "function": {
                "name": READ, "strict": True, "parameters": {
                    "type": "object", "properties": {"path": {"type": "string"}},
                    "required": ["path"], "additionalProperties": False}}}],
        }  # fmt: skip
        if self.streams:
            made = sdk.chat.completions.stream(**asked, stream_options={"include_usage": True})
            async with made as stream:
                final = await stream.get_final_completion()
        else:
            final = await sdk.chat.completions.create(**asked)
        message = final.choices[0].message
        self.calls = [(one.function.name, one.id) for one in message.tool_calls or ()]
        self.text = message.content or ""
        assert final.choices[0].finish_reason == ("tool_calls" if self.calls else "stop")
        kept: dict[str, Any] = {"role": "assistant", "content": message.content}
        if self.calls:
            kept["tool_calls"] = [
                {"id": one.id, "type": "function", "function": {
                    "name": one.function.name, "arguments": one.function.arguments}}
                for one in message.tool_calls
            ]  # fmt: skip
        self.listed.append(kept)
        self.tokens = final.usage.prompt_tokens

    async def _responses(self, sdk: Any) -> None:
        schema = {"type": "object", "properties": {"path": {"type": "string"}},
                  "required": ["path"], "additionalProperties": False}  # fmt: skip
        asked: dict[str, Any] = {
            "model": MODELS["responses"], "input": self.listed, "store": False,
            "include": ["reasoning.encrypted_content"],
            "tools": [{"type": "function", "name": READ, "strict": True, "parameters": schema}],
        }  # fmt: skip
        if self.streams:
            async with sdk.responses.stream(**asked) as stream:
                final = await stream.get_final_response()
        else:
            final = await sdk.responses.create(**asked)
        items = [item.model_dump(exclude_none=True) for item in final.output]
        for item in items:
            item.pop("parsed_arguments", None)
            for part in item.get("content") or ():
                part.pop("parsed", None)
        self.listed += items
        self.text = final.output_text
        self.calls = [(one["name"], one["call_id"]) for one in items
                      if one["type"] == "function_call"]  # fmt: skip
        self.tokens = final.usage.input_tokens

    async def _gemini(self, _: Any) -> None:
        declared = [{"name": READ, "description": "Read."}]
        body = {"contents": self.listed, "tools": [{"functionDeclarations": declared}]}
        model = f"{self.stand.url}/v1beta/models/{MODELS['gemini']}"
        url = (
            f"{model}:streamGenerateContent?alt=sse" if self.streams else f"{model}:generateContent"
        )
        async with self.stand.client.post(
            url, json=body, headers=self.common["default_headers"]
        ) as got:
            data = await got.read()
        if self.streams:
            chunks = [json.loads(line[5:]) for line in data.splitlines() if line[:5] == b"data:"]
        else:
            chunks = [json.loads(data)]
        parts = [part for one in chunks for part in one["candidates"][0]["content"]["parts"]]
        assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
        self.text = "".join(part.get("text", "") for part in parts)
        calls = [part for part in parts if "functionCall" in part]
        texts = [{"text": self.text}] if self.text else []
        if texts or calls:
            self.listed.append({"role": "model", "parts": [*texts, *calls]})
        self.calls = [(part["functionCall"]["name"], "") for part in calls]
        self.tokens = chunks[-1]["usageMetadata"]["promptTokenCount"]


def sent(stand: Any, wire: str) -> list[dict[str, Any]]:
    """Return all requests that arrived, each of them valid."""
    found = [json.loads(body) for body in stand.upstream.asked]
    for at, body in enumerate(found):
        assert not broken(wire, body), (at, body)
    return found


def goes_on(one: Any, other: Any) -> bool:
    """Return whether a request begins with all messages of another."""
    key = next(name for name in ("messages", "input", "contents") if name in one)
    return other[key][: len(one[key])] == one[key]


both = pytest.mark.parametrize("streams", [True, False])
EQUAL_REASONING = EqualReasoning("responses")
every = pytest.mark.parametrize(
    "wire", [*WIRES, pytest.param(EQUAL_REASONING, id="equal-reasoning")]
)
some = pytest.mark.parametrize(
    "wire",
    ["messages", *(pytest.param(one, marks=pytest.mark.soak) for one in WIRES[1:]),
     pytest.param(EQUAL_REASONING, marks=pytest.mark.soak, id="equal-reasoning")],
)  # fmt: skip
"""What hardly depends on the wire: the rest of them in the soak."""


@every
@both
async def test_a_call_of_ours_is_answered_within_the_message(
    gateway: Any, wire: str, streams: bool
) -> None:
    """The client sees one message, and all that was paid for; the model sees its call and what
    was said, then and in each later request.
    """
    async with gateway(**ON) as stand:
        stand.upstream.script = Provider(
            wire, ["I look. ", OWN], ["It was so.", THEIRS], ["Done."], ["Bye."]
        )
        client = Client(wire, stand, streams=streams)
        await client.say("The first words.")
        assert [name for name, _ in client.calls] == [READ]
        assert client.text == "I look. It was so."
        assert client.tokens == (220 if wire == "messages" else 200)
        await client.say()
        await client.say("Thanks.")
        requests = sent(stand, wire)
        assert [goes_on(*pair) for pair in pairwise(requests)] == [True] * 3
        assert json.dumps(requests[1]).count("The first words.") == 2
        assert client.text == "Bye."


@every
@both
async def test_a_call_beside_those_of_the_client_waits_for_the_next_request(
    gateway: Any, tmp_path: Path, wire: str, streams: bool
) -> None:
    """At its place and with its result, the same bytes each time, also on another gateway."""
    store = open_store(tmp_path / "shared")
    requests: list[Any] = []
    listed: list[Any] = []
    calls: list[Any] = []
    said: list[Any] = [["So.", THEIRS, OWN, THEIRS], ["Done."], ["Bye."]]
    for turn, answer in enumerate(said):
        async with gateway(store=store, **ON) as stand:
            stand.upstream.script = Provider(wire, answer, number=turn)
            client = Client(wire, stand, streams=streams)
            client.listed = listed
            client.calls = calls
            await client.say("The first words.")
            listed, calls = client.listed, client.calls
            assert [name for name, _ in calls] == ([] if turn else [READ, READ])
            requests += sent(stand, wire)
    first, second, third = requests
    key = next(name for name in ("messages", "input", "contents") if name in first)
    assert second[key][: len(first[key])] == first[key]
    names = [one for one in json.dumps(second[key]).replace('"', " ").split()
             if one in (RECALL, READ)]  # fmt: skip
    # Gemini names the tools of results too: ours before those of the client
    assert names == [READ, RECALL, READ, *([RECALL, READ, READ] if wire == "gemini" else [])]
    assert goes_on(second, third)
    assert [one["tools"] for one in requests] == [first["tools"]] * 3
    store.close()


@some
async def test_rounds_are_limited(gateway: Any, wire: str) -> None:
    """A model that calls our tool again and again is told so, and then its message ends."""
    async with gateway(**ON) as stand:
        stand.upstream.script = Provider(wire, *([OWN] for _ in range(6)), ["Done."])
        client = Client(wire, stand)
        await client.say()
        assert client.text == ""
        requests = sent(stand, wire)
        assert len(requests) == 6
        assert "too many calls" in json.dumps(requests[-1])
        assert "too many calls" not in json.dumps(requests[-2])


@some
async def test_two_rounds_and_an_unknown_reference(gateway: Any, wire: str) -> None:
    """What cannot be found is said in a sentence."""
    async with gateway(**ON) as stand:
        unknown = (RECALL, {"ref": "fa-0000000000"})
        search = ("foldaway_search", {"text": "words"})
        stand.upstream.script = Provider(wire, [unknown], ["Hm. ", search], ["Done."], ["Bye."])
        client = Client(wire, stand)
        await client.say()
        assert (client.text, client.calls) == ("Hm. Done.", [])
        await client.say("And now?")
        requests = sent(stand, wire)
        assert "fa-0000000000" in json.dumps(requests[1])
        assert [goes_on(*pair) for pair in pairwise(requests)] == [True] * 3


@every
@both
async def test_an_answer_without_our_call_is_the_same_bytes(
    gateway: Any, kit: Any, wire: str, streams: bool
) -> None:
    async with gateway(**ON) as stand:
        provider = stand.upstream.script = Provider(wire, ["Hello there.", THEIRS])
        body = {**kit.talk(wire, 1), "stream": streams}
        if wire == "responses":
            body["store"] = False
        got = await stand.post(body, wire)
        assert got.body == provider.said[0]
        ours, own = json.loads(stand.upstream.asked[0]), body["tools"]
        assert {**ours, "tools": own} == body
        assert json.dumps(ours["tools"])[:-1].startswith(json.dumps(own)[:-4])
        assert json.dumps(ours["tools"]).count(f'"{RECALL}"') == 1
        assert stand.upstream.headers[0]["accept-encoding"] == "identity"


@every
async def test_a_provider_that_cuts_is_a_cut_for_the_client(gateway: Any, wire: str) -> None:
    """In the first round as in the second; and the conversation goes on."""
    async with gateway(**ON) as stand:
        stand.upstream.script = Provider(
            wire, ["So", "cut"], [OWN], ["So", "cut"], [OWN], ["Done."]
        )
        client = Client(wire, stand)
        for _ in range(2):
            with pytest.raises(Exception, match=r"incomplete chunked read|not completed"):
                await client.say()
            client.listed.pop()
        await client.say()
        assert client.text == "Done."
        sent(stand, wire)


async def test_a_client_hears_pings_between_two_rounds_and_may_go_away(
    gateway: Any, kit: Any
) -> None:
    """Then the provider is left alone too."""
    provider = Provider("messages", ["So.", OWN])

    async def script(request: web.Request, body: bytes) -> web.StreamResponse:
        if not provider.answers:
            await asyncio.Event().wait()
        return await provider(request, body)

    async with gateway(**ON, ping_seconds=0.01) as stand:
        stand.upstream.script = script
        url, headers = stand.url + kit.paths["messages"], {"x-foldaway-session": "one"}
        async with stand.client.post(url, json=kit.talk("messages", 0), headers=headers) as got:
            read = b""
            while read.count(b"event: ping") < 3:  # the first is the provider's
                read += await got.content.readany()
        await stand.upstream.gone.wait()
        assert b"message_stop" not in read
        assert len(stand.upstream.asked) == 2


@some
@pytest.mark.parametrize(("streams", "times"), [(True, 1), (True, 2), (False, 2)])
async def test_a_round_that_is_refused_ends_the_message(
    gateway: Any, wire: str, streams: bool, times: int
) -> None:
    """After a second try with a result that says so; what the client saw stays valid."""
    async with gateway(**ON) as stand:
        stand.upstream.script = Provider(wire, ["So. ", OWN], *[529] * times, ["Done."], ["Bye."])
        client = Client(wire, stand, streams=streams)
        await client.say()
        assert client.text == ("So. " if times == 2 else "So. Done.")
        await client.say("Go on.")
        requests = sent(stand, wire)
        assert "could not be sent" in json.dumps(requests[2])


@some
async def test_a_conversation_has_the_tool_from_its_start_or_never(
    gateway: Any, tmp_path: Path, wire: str
) -> None:
    """One that began without it, or elsewhere, stays without, on any gateway; one that began with
    it keeps it if the setting is off, and if there is no time for anything else.
    """
    store = open_store(tmp_path / "shared")
    listed: list[Any] = []
    for number, setting in enumerate((False, True, True)):
        async with gateway(store=store, recall_tool=setting) as stand:
            stand.upstream.script = Provider(wire, ["One.", THEIRS], number=number)
            client = Client(wire, stand)
            client.listed = listed
            await client.say()
            (request,) = sent(stand, wire)
            assert RECALL not in json.dumps(request["tools"])
            listed += client.answers()
    async with gateway(store=store, **ON) as stand:
        stand.upstream.script = Provider(wire, ["One."], ["Two."])
        elsewhere = Client(wire, stand, key="two")
        elsewhere.listed = list(listed)
        await elsewhere.say()
        new = Client(wire, stand, key="three")
        await new.say()
        requests = sent(stand, wire)
        assert [RECALL in json.dumps(one["tools"]) for one in requests] == [False, True]
    async with gateway(store=store, deadlines=(0.0, 0.0)) as stand:
        stand.upstream.script = Provider(wire, ["Three."])
        new.stand = stand
        await new.say()
        assert RECALL in json.dumps(sent(stand, wire)[0]["tools"])
    store.close()


@every
async def test_a_conversation_without_a_name_has_it_too(gateway: Any, wire: str) -> None:
    """Its first request has no session yet: what is hidden then comes back all the same."""
    async with gateway(**ON) as stand:
        stand.upstream.script = Provider(wire, [OWN, THEIRS], ["Two. ", OWN], ["Done."], ["Bye."])
        client = Client(wire, stand, key="")
        await client.say("The first words.")
        await client.say()
        assert client.text == "Two. Done."
        await client.say("And?")
        requests = sent(stand, wire)
        assert [goes_on(*pair) for pair in pairwise(requests)] == [True] * 3
        assert "nothing of this conversation was folded yet" in json.dumps(requests[1])
        assert json.dumps(requests[2]).count("The first words.") == 2


@every
async def test_side_requests_and_requests_that_have_such_a_tool_are_left_alone(
    gateway: Any, kit: Any, wire: str
) -> None:
    async with gateway(**ON) as stand:
        talk = kit.talk(wire, 1)
        without = {**talk, "tools": []}
        has = json.loads(json.dumps(talk).replace('"read_file"', f'"{RECALL}"'))
        for body in (without, has):
            await stand.post(body, wire)
        assert [json.loads(one) for one in stand.upstream.asked] == [without, has]


@some
async def test_what_was_folded_comes_back(gateway: Any, kit: Any, wire: str) -> None:
    """After a compaction the reference in the summary leads to the original; the log has neither
    the call nor its result.
    """
    async with gateway(**ON) as stand:
        key = {"responses": "input", "gemini": "contents"}.get(wire, "messages")
        frame = {"store": False} if wire == "responses" else {}
        stand.upstream.script = Provider(wire, ["One."], ["Two."], [OWN], ["Done."])
        first = {**kit.talk(wire, 1), **frame, "stream": True}
        await stand.post(first, wire)
        long = {**kit.talk(wire, 30), **frame, "stream": True}
        assert (await stand.post(long, wire)).note == "compacted 1"
        folded = json.dumps(json.loads(stand.upstream.asked[-1])[key])
        ref = folded[folded.index("fa-") :][:13]
        stand.upstream.script = Provider(wire, [(RECALL, {"ref": ref})], ["Done."])
        got = await stand.post(long, wire)
        assert RECALL.encode() not in got.body
        recalled = json.loads(stand.upstream.asked[-1])[key][-1]
        assert "step 1" in json.dumps(recalled) or "talk" in json.dumps(recalled)
        page = stand.store.sessions(SessionFilter(kind="any"))
        logged = b"".join(row.body for one in page.sessions for row in stand.store.read(one.id))
        assert RECALL.encode() not in logged


def test_a_message_that_a_compaction_rewrote_stays_as_it_is() -> None:
    """It may have dropped thinking: then ours would be bound to something else."""
    think = {"type": "thinking", "thinking": "x", "signature": "s"}
    text = {"type": "text", "text": "So."}
    call = {"type": "tool_use", "id": "toolu_1", "name": READ, "input": {}}
    own = {**call, "id": "toolu_0", "name": RECALL}
    closed = [{"role": "assistant", "content": [think, text, own]}, {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_0", "content": "x"}]}]  # fmt: skip
    hidden = HiddenCalls(anchors=("call toolu_1",), before=tuple(map(json.dumps, closed)),
                         skip=2, size=4)  # fmt: skip

    def body(*content: Any) -> bytes:
        messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": content}]
        return json.dumps({"messages": messages}).encode()

    whole, rewritten = body(think, text, think, call), body(text, call)
    known = {hidden.anchors: hidden}
    assert restored(rewritten, MESSAGES, known) == rewritten
    made = json.loads(restored(whole, MESSAGES, known))["messages"]
    assert made[1:] == [*closed, {"role": "assistant", "content": [think, call]}]


@every
@given(data=st.data())
def test_how_a_stream_is_cut_into_pieces_makes_no_difference(wire: str, data: Any) -> None:
    """Nor whether lines end with one character or two."""
    _, events = ANSWERS[wire]({}, ["So.", THEIRS, OWN, "And.", THEIRS], 1)
    stream = b"".join(events)
    if data.draw(st.booleans()):
        stream = stream.replace(b"\n", b"\r\n")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    reader, other = (READERS[wire](OWN_NAMES) for _ in range(2))
    pieces = [stream[one:two] for one, two in pairwise([0, *cuts, len(stream)])]
    got = b"".join(map(reader.feed, pieces)) + reader.end(gives_up=False)
    whole = other.feed(b"".join(events)) + other.end(gives_up=False)
    assert got.replace(b"\r\n", b"\n") == whole
    assert RECALL.encode() not in got
    assert whole.count(READ.encode()) >= 2


async def test_thinking_stays_valid_on_models_that_bind_it(gateway: Any) -> None:
    """It is bound to the tools, to our calls and to their results."""
    if RULES is None:
        pytest.skip("no toolkit of providers here: FOLDAWAY_DATA is shared/data with agents beside")
    async with gateway(**ON) as stand:
        think = ("think", "Let me see.")
        stand.upstream.script = Provider(
            "messages", [think, OWN], [think, "So.", OWN, THEIRS], [think, OWN],
            [think, "Done."], [think, "Bye."],
        )  # fmt: skip
        client = Client("messages", stand)
        client.more = {"model": "claude-opus-5-5", "thinking": {"type": "adaptive"}}
        await client.say()
        assert [name for name, _ in client.calls] == [READ]
        await client.say()
        await client.say("And?")
        assert client.text == "Bye."
        requests = sent(stand, "messages")
        assert [goes_on(*pair) for pair in pairwise(requests)] == [True] * 4
