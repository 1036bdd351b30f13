"""What the APIs share: how a question is put, and how an answer is read while it arrives.

A server can send anything: a value that does not have the expected shape counts as absent.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from foldaway._core import CachedPrefix, SummaryAnswer, SummaryRequest
from foldaway.errors import SummarizerFailed, WrongDialect
from foldaway.summarizers.models.failures import Interrupted, Reported

Stopped: TypeAlias = Literal["end", "length", "refusal", "other"]

_FREE = ("auto", "none")
"""Tool choices that leave a model free to write."""


# The question


def prefix_in(request: SummaryRequest, dialect: str, api: str) -> CachedPrefix | None:
    """Return the cached prefix to ask after; raise `WrongDialect` if it is another API's."""
    prefix = request.prefix
    if prefix is not None and prefix.dialect != dialect:
        raise WrongDialect(api, dialect, prefix.dialect)
    return prefix


def appended_message(request: SummaryRequest) -> dict[str, str]:
    """Return the one user message that goes after a prefix."""
    return {"role": "user", "content": f"{request.instructions}\n\n{request.prompt}"}


def choice_in(prefix: CachedPrefix) -> Any:
    """Return the tool choice of the main request if it leaves the model free to write, else None.

    A model that must call a tool writes no summary.
    """
    choice = prefix.tool_choice
    if not isinstance(choice, Mapping):
        return choice if choice in _FREE else None
    kind, held = choice.get("type"), choice.get("allowed_tools")
    if kind == "allowed_tools":
        kind = (held if isinstance(held, Mapping) else choice).get("mode")
    return choice if kind in _FREE else None


def schema_in(request: SummaryRequest) -> Mapping[str, Any] | None:
    """Return the schema that the answer must follow.

    With a prefix there is none: providers put the schema before the system text, so that one
    that the main request did not have would cost the whole cache.
    """
    return None if request.prefix is not None else request.schema


def is_strict(schema: Any) -> bool:
    """Return whether every object of a schema is closed and has all its fields required."""
    if isinstance(schema, list):
        return all(is_strict(each) for each in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        names = schema.get("properties") or {}
        required = schema.get("required") or []
        if schema.get("additionalProperties") is not False or set(names) != set(required):
            return False
    return all(is_strict(each) for each in schema.values())


# The answer


class AnswerBuilder:
    """What has arrived of an answer; `stopped` is None until the model said that it is done."""

    def __init__(self, most_chars: int) -> None:
        self.pieces: list[str] = []
        self.chars = 0
        self.most_chars = most_chars
        self.stopped: Stopped | None = None
        self.model = ""
        self.usage: dict[str, int] = {}

    @classmethod
    def for_request(cls, request: SummaryRequest) -> AnswerBuilder:
        """Return an empty one with ample room: a token has up to some 10 characters."""
        return cls(20 * request.max_tokens + 50_000)

    def say(self, text: str) -> None:
        """Take one more piece of the text; one that never ends is cut off."""
        self.pieces.append(text)
        self.chars += len(text)
        if self.is_full:
            self.stopped = "length"

    @property
    def is_full(self) -> bool:
        """Whether more came than anybody asked for."""
        return self.chars > self.most_chars

    def answer(self, name: str) -> SummaryAnswer:
        """Return the answer, or raise `SummarizerFailed` if it did not come to its end."""
        if self.stopped is None:
            raise SummarizerFailed("broken answer", name, "the answer ended before its end")
        text = _whole_characters("".join(self.pieces)[: self.most_chars])
        return SummaryAnswer(text=text, model=self.model, stopped=self.stopped, **self.usage)


Take: TypeAlias = Callable[[AnswerBuilder, Mapping[str, Any]], None]
"""Adds an event, or a whole body, to an answer."""


async def read_answer(response: Any, answer: AnswerBuilder, *, event: Take, whole: Take) -> bool:
    """Read a streamed answer of one of the SDKs, also from a server that does not stream.

    Returns False if the response is neither JSON nor a stream of events.
    """
    kind = content_type(response, "text/event-stream")
    if kind.endswith("json"):
        whole(answer, await read_json(response))
    elif kind == "text/event-stream":
        await read_stream(await response.parse(), answer, event)
    else:
        return False
    return True


async def read_stream(stream: AsyncIterable[Any], answer: AnswerBuilder, event: Take) -> None:
    """Read the events of an SDK until the last one or until the answer is full."""
    try:
        async for found in stream:
            event(answer, _plain(found))
            if answer.is_full:
                break
    except Exception as error:
        raise Interrupted from error


async def read_json(response: Any) -> Mapping[str, Any]:
    """Return the body as it was parsed, unless it is an error: no model of the SDK changes it."""
    try:
        found = await response.json()
    except Exception as error:
        raise Interrupted from error
    body = mapping(found)
    if body.get("error"):
        raise Reported(body)
    return body


def content_type(response: Any, assumed: str = "") -> str:
    """Return the media type of a response, the assumed one if it names none."""
    return str(response.headers.get("content-type", assumed)).partition(";")[0].strip()


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


def _plain(value: Any) -> Mapping[str, Any]:
    """Return a value of an SDK as plain data."""
    dump = getattr(value, "model_dump", None)
    return mapping(dump(warnings=False) if callable(dump) else value)


def _whole_characters(text: str) -> str:
    """Join the halves of characters that came in two pieces, and replace single ones."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
