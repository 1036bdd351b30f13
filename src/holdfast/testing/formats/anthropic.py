"""Messages that Anthropic accepts: thinking, server tools, mixed results, system in between."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from holdfast.testing.formats.words import Ids, arguments, chance, names, outputs, signatures, words

Wire = dict[str, Any]


@st.composite
def messages(draw: st.DrawFn, *, ask_last: bool = False) -> list[Any]:
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
