"""ShareGPT turns as training sets hold them: tagged calls, or `function_call` / `observation`."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from holdfast.testing.formats.words import arguments, chance, names, words

Wire = dict[str, Any]


@st.composite
def messages(draw: st.DrawFn, *, ask_last: bool = False) -> list[Any]:
    """Return turns that begin with system or human; answers follow their calls directly."""
    tagged = draw(st.booleans())
    found: list[Any] = []
    if draw(st.booleans()):
        found.append({"from": "system", "value": draw(words())})
    for _ in range(draw(st.integers(1, 3))):
        found.append({"from": "human", "value": draw(words())})
        for _ in range(draw(st.integers(0, 2))):
            found.extend(draw(_tagged_step() if tagged else _plain_step()))
        found.append({"from": "gpt", "value": draw(_replied())})
    if ask_last:
        found.append({"from": "human", "value": draw(words())})
    return [_with_extras(draw, turn) for turn in found]


@st.composite
def _replied(draw: st.DrawFn) -> str:
    text = draw(words())
    return f"<think>\n{draw(words())}\n</think>\n{text}" if draw(st.booleans()) else text


@st.composite
def _tagged_step(draw: st.DrawFn) -> list[Any]:
    count = draw(st.integers(1, 3))
    calls = [f"<tool_call>\n{draw(_call())}\n</tool_call>" for _ in range(count)]
    answers = [f"<tool_response>\n{draw(words())}\n</tool_response>" for _ in range(count)]
    before = [draw(_replied())] if draw(st.booleans()) else []
    return [
        {"from": "gpt", "value": "\n".join(before + calls)},
        {"from": "tool", "value": "\n".join(answers)},
    ]


@st.composite
def _plain_step(draw: st.DrawFn) -> list[Any]:
    return [
        {"from": "function_call", "value": draw(_call())},
        {"from": "observation", "value": draw(words())},
    ]


@st.composite
def _call(draw: st.DrawFn) -> str:
    value = {"name": draw(names()), "arguments": draw(arguments())}
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


def _with_extras(draw: st.DrawFn, turn: Wire) -> Wire:
    if chance(draw, 6):
        return {**turn, **draw(st.sampled_from(({"weight": 0}, {"loss": True}, {"id": "t1"})))}
    return turn
