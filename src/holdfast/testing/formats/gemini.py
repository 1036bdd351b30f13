"""Contents that Gemini accepts: with and without ids, with and without thought signatures."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from holdfast.testing.formats.words import Ids, arguments, chance, names, outputs, signatures, words

Wire = dict[str, Any]


@st.composite
def messages(draw: st.DrawFn, *, ask_last: bool = False) -> list[Any]:
    """Return contents that begin with a user's; responses follow their calls directly."""
    ids = Ids("fc-") if draw(st.booleans()) else None
    signed = draw(st.booleans())
    found: list[Any] = []
    for _ in range(draw(st.integers(1, 3))):
        found.append({"role": "user", "parts": draw(_asked())})
        for _ in range(draw(st.integers(0, 2))):
            found.extend(draw(_step(ids, signed)))
        found.append({"role": "model", "parts": draw(_replied(signed))})
    if ask_last or draw(st.booleans()):
        found.append({"role": "user", "parts": draw(_asked())})
    return found


@cache
def _asked() -> st.SearchStrategy[list[Any]]:
    return st.lists(_text() | _media(), min_size=1, max_size=2)


@st.composite
def _replied(draw: st.DrawFn, signed: bool) -> list[Any]:
    parts: list[Any] = draw(st.lists(_thought(), max_size=1))
    if chance(draw, 6):
        parts.append({"executableCode": {"language": "PYTHON", "code": draw(words())}})
        result = {"outcome": "OUTCOME_OK", "output": draw(outputs())}
        parts.append({"codeExecutionResult": result})
    last: Wire = {"text": draw(words())}
    parts.append({**last, "thoughtSignature": draw(signatures())} if signed else last)
    return parts


@st.composite
def _step(draw: st.DrawFn, ids: Ids | None, signed: bool) -> list[Any]:
    """Return a content with calls and the one with as many responses, in the same order."""
    calls: list[Wire] = []
    for _ in range(draw(st.integers(1, 3))):
        call: Wire = {"name": draw(names()), "args": draw(arguments())}
        calls.append({**call, "id": ids.new()} if ids else call)
    before: list[Any] = draw(st.lists(_thought() | _text(), max_size=1))
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
def _text() -> st.SearchStrategy[Wire]:
    return words().map(lambda text: {"text": text})


@cache
def _thought() -> st.SearchStrategy[Wire]:
    return words().map(lambda text: {"text": text, "thought": True})


@cache
def _media() -> st.SearchStrategy[Wire]:
    return st.sampled_from((
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
        {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}},
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://bucket/a.mp4"},
         "videoMetadata": {"startOffset": "1s"}},
    )).map(dict)  # fmt: skip
