"""OpenAI's own compaction, `/responses/compact`, through the openai SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, cast

from holdfast.errors import SummarizerFailed
from holdfast.ports import NativeAnswer, NativeRequest
from holdfast.writing.models.asking import demand
from holdfast.writing.models.deadline import in_time, waited_for
from holdfast.writing.models.draft import mapping, number, objects, string
from holdfast.writing.models.failures import Interrupted, Reported
from holdfast.writing.models.keys import OPENAI, access_to
from holdfast.writing.models.openai_chat import openai_client

AskNatively: TypeAlias = Callable[[NativeRequest, float], Awaitable[NativeAnswer]]
"""Puts the request once, within so many seconds."""


def openai_native(
    model: str, *, url: str = "", api_key: str = "", key_variable: str = ""
) -> NativeAsked:
    """Return OpenAI's compaction with one of its models; nothing is stored there.

    Raises `MissingExtra` where the SDK is not installed.
    """
    demand("openai", "a compaction by OpenAI")
    access = access_to(OPENAI, url, api_key, key_variable)
    name = f"openai-responses:{model}"

    async def ask(request: NativeRequest, seconds: float) -> NativeAnswer:
        body: dict[str, Any] = {"model": model, "input": list(request.messages)}
        if request.system is not None:
            body["instructions"] = request.system
        async with (
            await openai_client(name, access, seconds) as client,
            client.responses.with_streaming_response.compact(**body) as response,
        ):
            return read_compacted(await json_of(response, name), name)

    return NativeAsked(name, "openai-responses", ask, key=access.remedy)


class NativeAsked:
    """A `NativeCompactor` around one function that asks; it keeps nothing open between calls."""

    def __init__(self, name: str, dialect: str, ask: AskNatively, *, key: str = "") -> None:
        """Take what asks; `key` names the variable with the credentials."""
        self._name = name
        self._dialect = dialect
        self._ask = ask
        self._key = key

    @property
    def name(self) -> str:
        """Who compacts, for the report."""
        return self._name

    @property
    def dialect(self) -> str:
        """The dialect of the lists that it takes and gives."""
        return self._dialect

    def compact(self, request: NativeRequest, timeout: float) -> NativeAnswer:
        """Return the answer within `timeout` seconds; works also inside a running event loop."""
        return waited_for(lambda: self.acompact(request, timeout), timeout, self._name)

    async def acompact(self, request: NativeRequest, timeout: float) -> NativeAnswer:
        """Return the answer within `timeout` seconds; cancelling the task cancels the request."""
        ask = self._ask
        return await in_time(lambda: ask(request, timeout), timeout, self._name, key=self._key)


async def json_of(response: Any, name: str) -> Mapping[str, Any]:
    """Return the body of an answer as it was parsed: no model of the SDK adds or drops a field."""
    kind = str(response.headers.get("content-type", "")).partition(";")[0].strip()
    if not kind.endswith("json"):
        raise SummarizerFailed("broken answer", name, "no JSON")
    try:
        found = await response.json()
    except Exception as error:
        raise Interrupted from error
    body = mapping(found)
    if body.get("error"):
        raise Reported(body)
    return body


def read_compacted(body: Mapping[str, Any], name: str) -> NativeAnswer:
    """Return the compacted window: all of its items, because it must not be pruned."""
    output = body.get("output")
    if not isinstance(output, list):
        raise SummarizerFailed("broken answer", name, "no list of items")
    if not any(_is_sealed(item) for item in objects(output)):
        raise SummarizerFailed("empty answer", name, "no compaction item")
    usage = mapping(body.get("usage"))
    details = mapping(usage.get("input_tokens_details"))
    return NativeAnswer(
        items=tuple(cast("list[Any]", output)),
        model=string(body.get("model")),
        input_tokens=number(usage.get("input_tokens")),
        output_tokens=number(usage.get("output_tokens")),
        cache_read_tokens=number(details.get("cached_tokens")),
        cache_write_tokens=number(details.get("cache_write_tokens")),
    )


def _is_sealed(item: Mapping[str, Any]) -> bool:
    sealed = string(item.get("encrypted_content"))
    return item.get("type") == "compaction" and bool(sealed)
