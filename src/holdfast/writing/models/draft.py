"""An answer while it arrives, and the plain values that it is made of.

A server can send anything: whatever is not of the expected shape reads as absent.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from holdfast.errors import SummarizerFailed
from holdfast.ports import SummaryAnswer, SummaryRequest
from holdfast.writing.models.failures import Interrupted

Stopped: TypeAlias = Literal["end", "length", "refusal", "other"]


class Draft:
    """What has arrived of an answer; `stopped` is None until the model said that it is done."""

    def __init__(self, most_chars: int) -> None:
        self.pieces: list[str] = []
        self.chars = 0
        self.most_chars = most_chars
        self.stopped: Stopped | None = None
        self.model = ""
        self.usage: dict[str, int] = {}

    def say(self, text: str) -> None:
        """Take one more piece of the text; one that never ends is cut off."""
        self.pieces.append(text)
        self.chars += len(text)
        if self.chars > self.most_chars:
            self.stopped = "length"

    @property
    def is_full(self) -> bool:
        """Whether more came than anybody asked for."""
        return self.chars > self.most_chars

    def answer(self, name: str) -> SummaryAnswer:
        """Return the answer, or raise `SummarizerFailed` where it did not come to its end."""
        if self.stopped is None:
            raise SummarizerFailed("broken answer", name, "the answer ended before its end")
        text = _whole_characters("".join(self.pieces)[: self.most_chars])
        return SummaryAnswer(text=text, model=self.model, stopped=self.stopped, **self.usage)


Take: TypeAlias = Callable[[Draft, Mapping[str, Any]], None]
"""Adds an event, or a whole body, to a draft."""


def draft_for(request: SummaryRequest) -> Draft:
    """Return an empty draft with room for the answer: a token has up to some 10 characters."""
    return Draft(most_chars=20 * request.max_tokens + 50_000)


async def read_answer(
    response: Any, draft: Draft, name: str, *, event: Take, body: Take
) -> SummaryAnswer:
    """Read a streamed answer of one of the SDKs, also where the server does not stream."""
    kind = str(response.headers.get("content-type", "text/event-stream")).partition(";")[0].strip()
    if kind.endswith("json"):
        try:
            found = await response.json()
        except Exception as error:
            raise Interrupted from error
        body(draft, mapping(found))
    elif kind == "text/event-stream":
        await read_stream(await response.parse(), draft, event)
    else:
        raise SummarizerFailed("broken answer", name, "neither JSON nor a stream of events")
    return draft.answer(name)


async def read_stream(stream: AsyncIterable[Any], draft: Draft, event: Take) -> None:
    """Read the events of an SDK until the last one or until the draft is full."""
    try:
        async for found in stream:
            event(draft, plain(found))
            if draft.is_full:
                break
    except Exception as error:
        raise Interrupted from error


def plain(value: Any) -> Mapping[str, Any]:
    """Return a value of an SDK as plain data."""
    dump = getattr(value, "model_dump", None)
    return mapping(dump(warnings=False) if callable(dump) else value)


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def objects(value: Any) -> Sequence[Mapping[str, Any]]:
    """Return the objects of a list, or none."""
    return [mapping(each) for each in value] if isinstance(value, list) else ()


def string(value: Any) -> str:
    """Return a text, or an empty one."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int:
    """Return a count, or 0."""
    return value if isinstance(value, int) and value > 0 else 0


def _whole_characters(text: str) -> str:
    """Join the halves of characters that came in two pieces, and replace single ones."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
