"""Chat completion messages that OpenAI accepts, and the narrower ones of strict gateways."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from holdfast.testing.formats.words import Ids, argument_texts, chance, names, outputs, words

Wire = dict[str, Any]

_PNG = "data:image/png;base64,iVBORw0KGgo="
_PDF = "data:application/pdf;base64,JVBERi0="


@st.composite
def messages(draw: st.DrawFn, *, ask_last: bool = False) -> list[Any]:
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
def strict_messages(draw: st.DrawFn, *, ask_last: bool = False) -> list[Any]:
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
