"""Lists that OpenAI accepts: chat messages, also for strict gateways, and Responses items."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st
from tests.testing.words import Ids, argument_texts, chance, names, outputs, signatures, words

Wire = dict[str, Any]

_PNG = "data:image/png;base64,iVBORw0KGgo="
_PDF = "data:application/pdf;base64,JVBERi0="


@st.composite
def chat_lists(draw: st.DrawFn, *, ask_last: bool = False) -> list[Any]:
    """Return a list with at least one message; `ask_last` ends it with a user's."""
    ids = Ids("call_")
    found: list[Any] = []
    if draw(st.booleans()):
        found.append(draw(_spoken(("system", "developer"))))
    for _ in range(draw(st.integers(1, 4))):
        match draw(st.integers(0, 9)):
            case 0:
                found.append(draw(_spoken(("system", "developer"))))
            case 1 | 2 | 3:
                found.append(draw(_spoken(("user",))))
            case 4 | 5:
                found.append(draw(_reply()))
            case 6:
                found.extend(draw(_legacy_step()))
            case _:
                found.extend(draw(_step(ids)))
    if ask_last:
        found.append(draw(_spoken(("user",))))
    return found


@st.composite
def strict_lists(draw: st.DrawFn, *, ask_last: bool = False) -> list[Any]:
    """Return a list that alternates, begins with system or user, and has no key beyond need."""
    ids = Ids("call")
    found: list[Any] = []
    if draw(st.booleans()):
        found.append({"role": "system", "content": draw(words())})
    for _ in range(draw(st.integers(1, 3))):
        found.append({"role": "user", "content": draw(words() | _blocks())})
        for _ in range(draw(st.integers(0, 2))):
            found.extend(draw(_step(ids, plain=True)))
        found.append({"role": "assistant", "content": draw(words())})
    if ask_last:
        found.append({"role": "user", "content": draw(words())})
    return found


@st.composite
def _spoken(draw: st.DrawFn, roles: tuple[str, ...]) -> Wire:
    role = draw(st.sampled_from(roles))
    content = words() | (_blocks() if role == "user" else _text_blocks())
    made: Wire = {"role": role, "content": draw(content)}
    return _with_extras(draw, made)


@st.composite
def _blocks(draw: st.DrawFn) -> list[Any]:
    blocks = draw(_text_blocks())
    blocks.extend(draw(st.lists(_media(), max_size=2)))
    return blocks


@cache
def _text_blocks() -> st.SearchStrategy[list[Any]]:
    block = words().map(lambda text: {"type": "text", "text": text})
    return st.lists(block, min_size=1, max_size=2)


@cache
def _media() -> st.SearchStrategy[Any]:
    return st.sampled_from((
        {"type": "image_url", "image_url": {"url": _PNG, "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": _PDF}},
        {"type": "file", "file": {"file_id": "file-1"}},
    )).map(dict)  # fmt: skip


@st.composite
def _reply(draw: st.DrawFn) -> Wire:
    made: Wire = {"role": "assistant"}
    match draw(st.integers(0, 4)):
        case 0:
            made["content"] = draw(_text_blocks())
        case 1:
            made |= {"content": None, "refusal": draw(words())}
        case 2:
            made["content"] = [{"type": "refusal", "refusal": draw(words())}]
        case _:
            made["content"] = draw(words())
    return _with_extras(draw, made)


@st.composite
def _step(draw: st.DrawFn, ids: Ids, *, plain: bool = False) -> list[Any]:
    """Return an assistant message with calls, and one tool message for each, in any order."""
    calls = [draw(_call(ids, custom=not plain)) for _ in range(draw(st.integers(1, 3)))]
    made: Wire = {"role": "assistant"}
    content = draw(st.sampled_from(("none", "empty", "words", "absent")))
    if content == "words" or plain:
        made["content"] = draw(words())
    elif content != "absent":
        made["content"] = "" if content == "empty" else None
    made["tool_calls"] = calls
    results = [draw(_result(call["id"], plain)) for call in draw(st.permutations(calls))]
    return [made if plain else _with_extras(draw, made), *results]


@st.composite
def _call(draw: st.DrawFn, ids: Ids, *, custom: bool) -> Wire:
    if custom and chance(draw, 6):
        inner = {"name": draw(names()), "input": draw(outputs())}
        return {"id": ids.new(), "type": "custom", "custom": inner}
    function = {"name": draw(names()), "arguments": draw(argument_texts())}
    return {"id": ids.new(), "type": "function", "function": function}


@st.composite
def _result(draw: st.DrawFn, call_id: str, plain: bool) -> Wire:
    content = outputs() if plain else outputs() | _text_blocks()
    made: Wire = {"role": "tool", "tool_call_id": call_id, "content": draw(content)}
    return made if plain else _with_extras(draw, made)


@st.composite
def _legacy_step(draw: st.DrawFn) -> list[Any]:
    """Return the form before `tool_calls`: one call by name, one `function` message."""
    name = draw(names())
    call = {"name": name, "arguments": draw(argument_texts())}
    return [
        {"role": "assistant", "content": None, "function_call": call},
        {"role": "function", "name": name, "content": draw(outputs())},
    ]


def _with_extras(draw: st.DrawFn, made: Wire) -> Wire:
    """Return the message, sometimes with fields that OpenAI knows and a rewrite must keep."""
    extras: tuple[Wire, ...] = ({"name": "ann"},)
    if made["role"] == "assistant":
        extras = (*extras, {"audio": None, "annotations": [], "refusal": made.get("refusal")})
    if chance(draw, 5):
        return {**made, **draw(st.sampled_from(extras))}
    return made


_SHOT = {"type": "computer_screenshot", "image_url": _PNG}


@st.composite
def responses_lists(draw: st.DrawFn, *, ask_last: bool = False) -> list[Any]:
    """Return items; an output stands anywhere after its call, a follower behind its reasoning."""
    ids = Ids("call_")
    found: list[Any] = []
    if chance(draw, 8):
        found.append({"type": "compaction", "id": "cmp_1", "encrypted_content": draw(signatures())})
    for _ in range(draw(st.integers(1, 4))):
        match draw(st.integers(0, 7)):
            case 0 | 1 | 2:
                found.append(draw(_responses_spoken()))
            case 3:
                found.extend(draw(_reasoned(_responses_reply(ids), ids)))
            case 4:
                found.extend(draw(_reasoned(_server_call(ids), ids)))
            case _:
                found.extend(draw(_responses_step(ids)))
    if ask_last:
        found.append({"role": "user", "content": draw(words())})
    return found


@st.composite
def _responses_spoken(draw: st.DrawFn) -> Wire:
    made: Wire = {"role": draw(st.sampled_from(("user", "system", "developer")))}
    blocks = st.lists(_input_text(), min_size=1, max_size=2)
    if made["role"] == "user":
        blocks = st.lists(_input_text() | _responses_media(), min_size=1, max_size=2)
    made["content"] = draw(words() | blocks)
    return {"type": "message", **made} if draw(st.booleans()) else made


@cache
def _input_text() -> st.SearchStrategy[Wire]:
    return words().map(lambda text: {"type": "input_text", "text": text})


@cache
def _responses_media() -> st.SearchStrategy[Wire]:
    return st.sampled_from((
        {"type": "input_image", "image_url": _PNG, "detail": "auto"},
        {"type": "input_image", "file_id": "file-1", "detail": "high"},
        {"type": "input_file", "filename": "a.pdf", "file_data": _PDF},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
    )).map(dict)  # fmt: skip


@st.composite
def _responses_reply(draw: st.DrawFn, ids: Ids) -> Wire:
    if chance(draw, 5):
        return {"role": "assistant", "content": draw(words())}
    block: Wire = {"type": "output_text", "text": draw(words()), "annotations": []}
    refusal: Wire = {"type": "refusal", "refusal": draw(words())}
    return {
        "type": "message", "id": f"msg_{ids.new()}", "status": "completed", "role": "assistant",
        "content": [draw(st.sampled_from((block, block, refusal)))],
    }  # fmt: skip


@st.composite
def _reasoned(draw: st.DrawFn, follower: st.SearchStrategy[Wire], ids: Ids) -> list[Any]:
    """Return an item, sometimes behind the reasoning that led to it."""
    item = draw(follower)
    if draw(st.booleans()):
        return [item]
    summary = draw(st.lists(_summary(), max_size=2))
    made: Wire = {"type": "reasoning", "id": f"rs_{ids.new()}", "summary": summary}
    if draw(st.booleans()):
        made["encrypted_content"] = draw(signatures())
    return [made, item]


@cache
def _summary() -> st.SearchStrategy[Wire]:
    return words().map(lambda text: {"type": "summary_text", "text": text})


@st.composite
def _server_call(draw: st.DrawFn, ids: Ids) -> Wire:
    """Return a call that the provider ran; its answer is in the item itself."""
    number = ids.new()
    return draw(st.sampled_from((
        {"type": "web_search_call", "id": f"ws_{number}", "status": "completed",
         "action": {"type": "search", "query": "q"}},
        {"type": "file_search_call", "id": f"fs_{number}", "status": "completed",
         "queries": ["q"], "results": None},
        {"type": "code_interpreter_call", "id": f"ci_{number}", "status": "completed",
         "container_id": "c", "code": "1", "outputs": None},
        {"type": "mcp_call", "id": f"mcp_{number}", "server_label": "s", "name": "n",
         "arguments": "{}", "output": "o", "error": None},
    )))  # fmt: skip


@st.composite
def _responses_step(draw: st.DrawFn, ids: Ids) -> list[Any]:
    """Return calls and their outputs: in any order, each output after its call."""
    pairs = [draw(_pair(ids)) for _ in range(draw(st.integers(1, 3)))]
    calls = draw(_reasoned(st.just(pairs[0][0]), ids))
    interleaved = draw(st.booleans())
    if interleaved:
        for call, output in pairs:
            calls.extend([output] if call is pairs[0][0] else [call, output])
        return calls
    calls.extend(call for call, _ in pairs[1:])
    if chance(draw, 4):
        calls.append(draw(_responses_reply(ids)))
    calls.extend(output for _, output in draw(st.permutations(pairs)))
    return calls


@st.composite
def _pair(draw: st.DrawFn, ids: Ids) -> tuple[Wire, Wire]:
    """Return a call of one of the kinds that the client runs, and its output."""
    call_id = ids.new()
    kind = draw(st.sampled_from(("function",) * 4 + ("custom", "shell", "computer", "patch")))
    text = draw(outputs())
    match kind:
        case "function":
            call: Wire = {"type": "function_call", "call_id": call_id, "name": draw(names()),
                          "arguments": draw(argument_texts())}  # fmt: skip
            call |= draw(st.sampled_from(({}, {"id": f"fc_{call_id}", "status": "completed"})))
            blocks = st.lists(_input_text() | _responses_media(), min_size=1, max_size=2)
            output = draw(st.just(text) | blocks)
            return call, {"type": "function_call_output", "call_id": call_id, "output": output}
        case "custom":
            call = {"type": "custom_tool_call", "call_id": call_id, "name": draw(names()),
                    "input": draw(outputs())}  # fmt: skip
            return call, {"type": "custom_tool_call_output", "call_id": call_id, "output": text}
        case "shell":
            call = {"type": "shell_call", "call_id": call_id, "action": {"commands": ["ls"]},
                    "status": "completed"}  # fmt: skip
            ran = {"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
            return call, {"type": "shell_call_output", "call_id": call_id, "output": [ran]}
        case "computer":
            call = {"type": "computer_call", "id": f"cu_{call_id}", "call_id": call_id,
                    "action": {"type": "screenshot"}, "pending_safety_checks": [],
                    "status": "completed"}  # fmt: skip
            return call, {"type": "computer_call_output", "call_id": call_id, "output": dict(_SHOT)}
        case _:
            call = {"type": "apply_patch_call", "call_id": call_id, "status": "completed",
                    "operation": {"type": "delete_file", "path": "a"}}  # fmt: skip
            return call, {"type": "apply_patch_call_output", "call_id": call_id,
                          "status": "completed", "output": text}  # fmt: skip
