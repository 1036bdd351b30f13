"""Lists of the other providers: Anthropic messages, Gemini contents, ShareGPT turns."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from hypothesis import strategies as st
from tests.testing.words import Ids, arguments, chance, names, outputs, signatures, words

Wire = dict[str, Any]


@st.composite
def anthropic_lists(draw: st.DrawFn, *, ask_last: bool = False) -> list[Any]:
    """Return a list that begins with a user's message and alternates but for system messages."""
    ids = Ids("toolu_")
    found: list[Any] = []
    pending: list[str] = []
    turns = draw(st.integers(1, 4))
    for turn in range(turns):
        found.append(draw(_user(pending)))
        if chance(draw, 6):
            found.append({"role": "system", "content": draw(words() | _texts())})
        if turn == turns - 1 and (ask_last or draw(st.booleans())):
            return found
        content, pending = draw(_assistant(ids, with_calls=turn < turns - 1))
        found.append({"role": "assistant", "content": content})
    return found


def mark_cached(draw: st.DrawFn, blocks: list[Wire], most: int, marker: Wire) -> int:
    """Put `cache_control` on up to `most` of the blocks that may carry it; return how many."""
    marked = 0
    for block in blocks:
        if marked < most and chance(draw, 8):
            block["cache_control"] = dict(marker)
            marked += 1
    return marked


def markable(items: list[Any]) -> list[Wire]:
    """Return the blocks of a list that may carry `cache_control`."""
    return [
        block
        for item in items
        if isinstance(item["content"], list)
        for block in item["content"]
        if block["type"] in ("text", "image", "document", "tool_use", "tool_result")
    ]


@st.composite
def _user(draw: st.DrawFn, pending: list[str]) -> Wire:
    """Return a user message: all results first, where calls wait; then whatever else."""
    if not pending and draw(st.booleans()):
        return {"role": "user", "content": draw(words())}
    blocks: list[Any] = [draw(_result(call_id)) for call_id in draw(st.permutations(pending))]
    least = 0 if pending else 1
    blocks.extend(draw(st.lists(_text() | _media(), min_size=least, max_size=2)))
    return {"role": "user", "content": blocks}


@st.composite
def _result(draw: st.DrawFn, call_id: str) -> Wire:
    made: Wire = {"type": "tool_result", "tool_use_id": call_id}
    match draw(st.integers(0, 4)):
        case 0:
            pass
        case 1:
            made["content"] = draw(st.lists(_text() | _media(), max_size=2))
        case _:
            made["content"] = draw(outputs())
    if chance(draw, 4):
        made["is_error"] = draw(st.booleans())
    return made


@st.composite
def _assistant(draw: st.DrawFn, ids: Ids, *, with_calls: bool) -> tuple[Any, list[str]]:
    """Return the content of an assistant message and the ids of its calls."""
    count = draw(st.integers(0, 3)) if with_calls else 0
    if not count and draw(st.booleans()):
        return draw(words()), []
    blocks: list[Any] = draw(st.lists(_thinking(), max_size=2))
    if chance(draw, 5):
        blocks.extend(draw(_server_step(ids)))
        blocks.extend(draw(st.lists(_thinking(), max_size=1)))
    if not count or draw(st.booleans()):
        blocks.append(draw(_reply_text()))
    pending = [ids.new() for _ in range(count)]
    blocks.extend(
        {"type": "tool_use", "id": call_id, "name": draw(names()), "input": draw(arguments())}
        for call_id in pending
    )
    return blocks, pending


@st.composite
def _thinking(draw: st.DrawFn) -> Wire:
    if chance(draw, 4):
        return {"type": "redacted_thinking", "data": draw(signatures())}
    thought = draw(words() | st.just(""))
    return {"type": "thinking", "thinking": thought, "signature": draw(signatures())}


@st.composite
def _server_step(draw: st.DrawFn, ids: Ids) -> list[Any]:
    """Return a call that the provider ran, and its answer in the same turn."""
    call_id = f"srv{ids.new()}"
    if draw(st.booleans()):
        found = {"type": "web_search_result", "url": "https://example.org", "title": draw(words()),
                 "encrypted_content": draw(signatures()), "page_age": None}  # fmt: skip
        error = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
        content: Any = draw(st.sampled_from(([found], [], error)))
        return [
            _server_call(call_id, "web_search", {"query": "q"}),
            {"type": "web_search_tool_result", "tool_use_id": call_id, "content": content},
        ]
    content = {"type": "code_execution_result", "stdout": draw(outputs()), "stderr": "",
               "return_code": 0, "content": []}  # fmt: skip
    return [
        _server_call(call_id, "code_execution", {"code": "1"}),
        {"type": "code_execution_tool_result", "tool_use_id": call_id, "content": content},
    ]


def _server_call(call_id: str, name: str, given: Wire) -> Wire:
    return {"type": "server_tool_use", "id": call_id, "name": name, "input": given}


@st.composite
def _reply_text(draw: st.DrawFn) -> Wire:
    made: Wire = {"type": "text", "text": draw(words())}
    if chance(draw, 6):
        cited = {"type": "web_search_result_location", "url": "https://example.org", "title": "t",
                 "encrypted_index": draw(signatures()), "cited_text": "c"}  # fmt: skip
        made["citations"] = draw(st.sampled_from((None, [cited])))
    return made


@cache
def _text() -> st.SearchStrategy[Wire]:
    return words().map(lambda text: {"type": "text", "text": text})


@cache
def _texts() -> st.SearchStrategy[list[Any]]:
    return st.lists(_text(), min_size=1, max_size=2)


@cache
def _media() -> st.SearchStrategy[Wire]:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    text = [{"type": "text", "text": "c"}]
    png = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    return st.sampled_from((
        {"type": "image", "source": png},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": pdf, "title": "t", "citations": {"enabled": True}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}},
        {"type": "document", "source": {"type": "content", "content": text}},
        {"type": "search_result", "source": "s", "title": "t", "content": text},
    )).map(dict)  # fmt: skip


@st.composite
def gemini_lists(draw: st.DrawFn, *, ask_last: bool = False) -> list[Any]:
    """Return contents that begin with a user's; responses follow their calls directly."""
    ids = Ids("fc-") if draw(st.booleans()) else None
    signed = draw(st.booleans())
    found: list[Any] = []
    for _ in range(draw(st.integers(1, 3))):
        found.append({"role": "user", "parts": draw(_asked())})
        for _ in range(draw(st.integers(0, 2))):
            found.extend(draw(_gemini_step(ids, signed)))
        found.append({"role": "model", "parts": draw(_gemini_reply(signed))})
    if ask_last or draw(st.booleans()):
        found.append({"role": "user", "parts": draw(_asked())})
    return found


@cache
def _asked() -> st.SearchStrategy[list[Any]]:
    return st.lists(_gemini_text() | _gemini_media(), min_size=1, max_size=2)


@st.composite
def _gemini_reply(draw: st.DrawFn, signed: bool) -> list[Any]:
    parts: list[Any] = draw(st.lists(_thought(), max_size=1))
    if chance(draw, 6):
        parts.append({"executableCode": {"language": "PYTHON", "code": draw(words())}})
        result = {"outcome": "OUTCOME_OK", "output": draw(outputs())}
        parts.append({"codeExecutionResult": result})
    last: Wire = {"text": draw(words())}
    parts.append({**last, "thoughtSignature": draw(signatures())} if signed else last)
    return parts


@st.composite
def _gemini_step(draw: st.DrawFn, ids: Ids | None, signed: bool) -> list[Any]:
    """Return a content with calls and the one with as many responses, in the same order."""
    calls: list[Wire] = []
    for _ in range(draw(st.integers(1, 3))):
        call: Wire = {"name": draw(names()), "args": draw(arguments())}
        calls.append({**call, "id": ids.new()} if ids else call)
    before: list[Any] = draw(st.lists(_thought() | _gemini_text(), max_size=1))
    made: list[Any] = [{"functionCall": call} for call in calls]
    if signed:
        made[0]["thoughtSignature"] = draw(signatures())
    answers = [draw(_response(call)) for call in calls]
    return [{"role": "model", "parts": before + made}, {"role": "user", "parts": answers}]


@st.composite
def _response(draw: st.DrawFn, call: Wire) -> Wire:
    key = draw(st.sampled_from(("output", "error", "result")))
    response = draw(outputs().map(lambda text: {key: text}) | arguments())
    made: Wire = {"name": call["name"], "response": response}
    return {"functionResponse": {"id": call["id"], **made} if "id" in call else made}


@cache
def _gemini_text() -> st.SearchStrategy[Wire]:
    return words().map(lambda text: {"text": text})


@cache
def _thought() -> st.SearchStrategy[Wire]:
    return words().map(lambda text: {"text": text, "thought": True})


@cache
def _gemini_media() -> st.SearchStrategy[Wire]:
    return st.sampled_from((
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
        {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}},
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://bucket/a.mp4"},
         "videoMetadata": {"startOffset": "1s"}},
    )).map(dict)  # fmt: skip


@st.composite
def sharegpt_lists(draw: st.DrawFn, *, ask_last: bool = False) -> list[Any]:
    """Return turns that begin with system or human; answers follow their calls directly."""
    tagged = draw(st.booleans())
    found: list[Any] = []
    if draw(st.booleans()):
        found.append({"from": "system", "value": draw(words())})
    for _ in range(draw(st.integers(1, 3))):
        found.append({"from": "human", "value": draw(words())})
        for _ in range(draw(st.integers(0, 2))):
            found.extend(draw(_tagged_step() if tagged else _plain_step()))
        found.append({"from": "gpt", "value": draw(_sharegpt_reply())})
    if ask_last:
        found.append({"from": "human", "value": draw(words())})
    return [_with_extras(draw, turn) for turn in found]


@st.composite
def _sharegpt_reply(draw: st.DrawFn) -> str:
    text = draw(words())
    return f"<think>\n{draw(words())}\n</think>\n{text}" if draw(st.booleans()) else text


@st.composite
def _tagged_step(draw: st.DrawFn) -> list[Any]:
    count = draw(st.integers(1, 3))
    calls = [f"<tool_call>\n{draw(_sharegpt_call())}\n</tool_call>" for _ in range(count)]
    answers = [f"<tool_response>\n{draw(words())}\n</tool_response>" for _ in range(count)]
    before = [draw(_sharegpt_reply())] if draw(st.booleans()) else []
    return [
        {"from": "gpt", "value": "\n".join(before + calls)},
        {"from": "tool", "value": "\n".join(answers)},
    ]


@st.composite
def _plain_step(draw: st.DrawFn) -> list[Any]:
    return [
        {"from": "function_call", "value": draw(_sharegpt_call())},
        {"from": "observation", "value": draw(words())},
    ]


@st.composite
def _sharegpt_call(draw: st.DrawFn) -> str:
    value = {"name": draw(names()), "arguments": draw(arguments())}
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


def _with_extras(draw: st.DrawFn, turn: Wire) -> Wire:
    if chance(draw, 6):
        return {**turn, **draw(st.sampled_from(({"weight": 0}, {"loss": True}, {"id": "t1"})))}
    return turn
