"""One summarizer and one compactor for every API: deadlines, the sync form, the kinds of failures.

`sdk_summarizer` and `sdk_compactor` ask through a vendor's SDK; an API adds how its body is written
and how its answer is read.
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import importlib.util
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from foldaway._core import NativeAnswer, NativeRequest, SummaryAnswer, SummaryRequest
from foldaway.errors import FoldawayError, MissingExtra, SummarizerFailed
from foldaway.summarizers.models.failures import Interrupted, failure, rejected_option
from foldaway.summarizers.models.keys import ANTHROPIC, OPENAI, Access, Vendor, access_to
from foldaway.summarizers.models.wire import (
    AnswerBuilder,
    Take,
    content_type,
    read_answer,
    read_json,
)

T = TypeVar("T")

Ask: TypeAlias = Callable[[SummaryRequest, float, frozenset[str]], Awaitable[SummaryAnswer]]
"""Puts the question once: the request, the seconds left for it, the options to do without."""
AskNatively: TypeAlias = Callable[[NativeRequest, float], Awaitable[NativeAnswer]]
"""Puts the request once, within the seconds that are given."""

CONNECT_SECONDS = 10.0
"""How long a connection may take; chosen, documented in docs/summarizers.md under Deadlines."""
GRACE_SECONDS = 5.0
"""How long past the deadline a waiting caller stays for work that hears no cancellation; chosen."""
JOIN_SECONDS = 2.0
"""How long a thread is waited for that has its result and only tidies up; chosen."""


class ModelSummarizer:
    """A `Summarizer` around one function that asks.

    It keeps nothing open between two calls. It remembers only which options its server does not
    take, so that only the first call asks twice.
    """

    def __init__(
        self,
        name: str,
        ask: Ask,
        *,
        context_length: int = 0,
        key: str = "",
        package: str = "",
        options: Mapping[str, Sequence[str]] | None = None,
        tidy: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Take the function that asks, with the package that it needs.

        `key` names the variable with the credentials; `tidy` runs at the end of a loop that was
        made for one call.
        """
        self.name = name
        self.context_length = context_length
        self._ask = ask
        self._key = key
        self._package = package
        self._options = options or {}
        self._without: frozenset[str] = frozenset()
        self._tidy = tidy

    def warm(self) -> None:
        """Import the SDK now: it takes a second, in which no other thread gets far."""
        if self._package:
            _load(self._package)

    def summarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        """Return the answer within `timeout` seconds; works also inside a running event loop."""
        return _wait_for(lambda: self._alone(request, timeout), timeout, self.name)

    async def asummarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        """Return the answer within `timeout` seconds; cancelling the task cancels the request."""
        ask = self._ask_without
        answer = await _in_time(lambda: ask(request, timeout), timeout, self.name, key=self._key)
        if answer.text.strip():
            return answer
        said = {"length": "cut off before its first word", "refusal": "the model declined"}
        raise SummarizerFailed("empty answer", self.name, said.get(answer.stopped, ""))

    async def _alone(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        try:
            return await self.asummarize(request, timeout)
        finally:
            if self._tidy:
                await self._tidy()

    async def _ask_without(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        """Ask; if the server turns an option down, ask again without it, each only once."""
        ends = asyncio.get_running_loop().time() + timeout
        for _ in range(len(self._options) + 1):
            seconds = max(0.001, ends - asyncio.get_running_loop().time())
            without = self._without
            open_options = {
                name: words for name, words in self._options.items() if name not in without
            }
            try:
                return await self._ask(request, seconds, without)
            except FoldawayError:
                raise
            except Exception as error:
                turned_down = rejected_option(error, open_options)
                if not turned_down:
                    raise
                self._without |= {turned_down}
        raise SummarizerFailed("broken answer", self.name, "it takes none of the known options")


class ModelCompactor:
    """A `NativeCompactor` around one function that asks; it keeps nothing open between calls."""

    def __init__(self, name: str, dialect: str, ask: AskNatively, *, key: str = "") -> None:
        """Take the function that asks; `key` names the variable with the credentials."""
        self.name = name
        self.dialect = dialect
        self._ask = ask
        self._key = key

    def compact(self, request: NativeRequest, timeout: float) -> NativeAnswer:
        """Return the answer within `timeout` seconds; works also inside a running event loop."""
        return _wait_for(lambda: self.acompact(request, timeout), timeout, self.name)

    async def acompact(self, request: NativeRequest, timeout: float) -> NativeAnswer:
        """Return the answer within `timeout` seconds; cancelling the task cancels the request."""
        ask = self._ask
        return await _in_time(lambda: ask(request, timeout), timeout, self.name, key=self._key)


# Through the SDK of a vendor


class SummaryApi(Struct, frozen=True, kw_only=True):
    """An API that writes texts: how its body is written, how it is sent, how its answer is read."""

    kind: str
    vendor: Vendor
    resource: Callable[[Any], Any]
    """Returns the part of a client whose `create` asks."""
    body: Callable[[SummaryRequest, str, frozenset[str]], dict[str, Any]]
    """Returns the body for a model, without the options that the server does not take."""
    event: Take
    """Adds an event of a stream to an answer."""
    whole: Take
    """Adds a whole answer, from a server that does not stream."""
    options: Mapping[str, Sequence[str]]
    """What not every server takes, and the words by which a 400 is known to be about it."""


class CompactionApi(Struct, frozen=True, kw_only=True):
    """An API that compacts conversations of its own; `kind` is also their dialect."""

    kind: str
    vendor: Vendor
    create: Callable[[Any], Callable[..., Any]]
    """Returns the method of a client that asks."""
    body: Callable[[NativeRequest, str], dict[str, Any]]
    read: Callable[[Mapping[str, Any], str], NativeAnswer]


def sdk_summarizer(
    api: SummaryApi,
    model: str,
    *,
    url: str = "",
    api_key: str = "",
    key_variable: str = "",
    context_length: int = 0,
) -> ModelSummarizer:
    """Return a summarizer that asks a model; raise `MissingExtra` if the SDK is not installed.

    The key is in the variable of the vendor; a server at `url` may have none.
    """
    demand(api.vendor.package, f"a summary by {api.vendor.name}")
    access = access_to(api.vendor, url, api_key, key_variable)
    name = f"{api.kind}:{model}"

    async def ask(
        request: SummaryRequest, seconds: float, without: frozenset[str]
    ) -> SummaryAnswer:
        body = api.body(request, model, without)
        async with (
            await open_client(name, access, seconds) as client,
            api.resource(client).with_streaming_response.create(**body) as response,
        ):
            answer = AnswerBuilder.for_request(request)
            if not await read_answer(response, answer, event=api.event, whole=api.whole):
                said = "neither JSON nor a stream of events"
                raise SummarizerFailed("broken answer", name, said)
            return answer.answer(name)

    return ModelSummarizer(
        name,
        ask,
        context_length=context_length,
        package=api.vendor.package,
        key=access.remedy,
        options=api.options,
    )


def sdk_compactor(
    api: CompactionApi, model: str, *, url: str = "", api_key: str = "", key_variable: str = ""
) -> ModelCompactor:
    """Return a provider's own compaction; raise `MissingExtra` if the SDK is not installed."""
    demand(api.vendor.package, f"a compaction by {api.vendor.name}")
    access = access_to(api.vendor, url, api_key, key_variable)
    name = f"{api.kind}:{model}"

    async def ask(request: NativeRequest, seconds: float) -> NativeAnswer:
        body = api.body(request, model)
        async with (
            await open_client(name, access, seconds) as client,
            api.create(client)(**body) as response,
        ):
            if not content_type(response).endswith("json"):
                raise SummarizerFailed("broken answer", name, "no JSON")
            return api.read(await read_json(response), name)

    return ModelCompactor(name, api.kind, ask, key=access.remedy)


class ModelEndpoint(Struct, frozen=True):
    """A model at an address that is asked through the SDK of its vendor."""

    spec: str
    access: Access

    async def open_client(self, seconds: float, *, retries: int = 0) -> Any:
        """Return a client of the SDK that waits no longer than `seconds` for an answer."""
        return await open_client(self.spec, self.access, seconds, retries=retries)

    def failure(self, error: Exception, *, has_begun: bool) -> SummarizerFailed:
        """Return what an error of the client means, in a sentence without words of the provider;
        an answer that has begun breaks off by no fault of the address.
        """
        key = self.access.key_variable or self.access.vendor.key
        if has_begun:
            begun = Interrupted()
            begun.__cause__, error = error, begun
        return failure(error, self.spec, key=key)


def endpoint_of(
    kind: str, model: str, *, url: str, key_variable: str, purpose: str
) -> ModelEndpoint:
    """Return where a model of `openai` or `anthropic` is asked; nothing is asked yet.

    A server at `url` is sent the key in `key_variable`, and no other. Raises `MissingExtra` without
    the SDK, which is needed for `purpose`, and `InvalidSetting` for no address.
    """
    vendor = {"openai": OPENAI, "anthropic": ANTHROPIC}[kind]
    demand(vendor.package, purpose)
    return ModelEndpoint(f"{kind}:{model}", access_to(vendor, url, "", key_variable))


async def open_client(name: str, access: Access, seconds: float, *, retries: int = 0) -> Any:
    """Return a client of the SDK that waits no longer than `seconds` for an answer.

    It is made beside the event loop: reading the certificates takes some 50 ms.
    """
    vendor = access.vendor
    sdk = await load_package(vendor.package)
    settings: dict[str, Any] = {
        **access.client_options(name, sdk.Omit()),
        "max_retries": retries,
        "timeout": sdk.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
    }
    try:
        client = await in_thread(lambda: getattr(sdk, vendor.client)(**settings))
    except getattr(sdk, "OpenAIError", ()):
        raise SummarizerFailed("refused", name, f"no key; set {vendor.key}") from None
    # Anthropic's SDK notices a missing key only when it sends, with an error of no type of its own
    if not vendor.credentials or any(getattr(client, held, None) for held in vendor.credentials):
        return client
    await client.close()
    raise SummarizerFailed("refused", name, f"no key; set {vendor.key}")


def demand(package: str, purpose: str) -> None:
    """Raise `MissingExtra` if a package is not installed; nothing is imported."""
    if package not in sys.modules and importlib.util.find_spec(package) is None:
        raise MissingExtra(package, purpose)


async def load_package(package: str) -> Any:
    """Return a package; its import takes a second, and runs beside the event loop."""
    if package in sys.modules:
        return importlib.import_module(package)
    return await in_thread(lambda: _load(package))


def _load(package: str) -> Any:
    # litellm fetches a list of prices while it is imported, unless it is told that it has one
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # and reads the .env of the folder that its environment is in, which may name addresses
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    return importlib.import_module(package)


# Deadlines and threads


async def _in_time(ask: Callable[[], Awaitable[T]], timeout: float, name: str, *, key: str) -> T:
    """Return what `ask` gives within `timeout` seconds, or raise `SummarizerFailed`.

    `key` names the variable with the credentials, for the remedy. What the provider said is in no
    traceback. Cancelling the task cancels the request.
    """
    deadline = asyncio.timeout(timeout)
    try:
        async with deadline:
            return await ask()
    except FoldawayError:
        raise
    except Exception as error:  # noqa: BLE001  a guest: whatever it raises has a kind
        failed = _timed_out(name, timeout) if deadline.expired() else failure(error, name, key=key)
    raise failed  # out here, so that no traceback shows what the provider said


def _wait_for(work: Callable[[], Coroutine[Any, Any, T]], timeout: float, name: str) -> T:
    """Return what `work` gives, run in an event loop of its own on a thread of its own.

    The caller's thread may have a running loop. An interrupt of the caller cancels the work. The
    work keeps its own deadline; the one here is for work that hears no cancellation, such as a
    name lookup: its thread is left behind and does not keep the process alive.
    """
    done: Future[T] = Future()
    running: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = Future()

    async def main() -> None:
        running.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        try:
            result = await work()
        except BaseException as error:  # noqa: BLE001  the caller's thread raises it
            done.set_exception(error)
        else:
            done.set_result(result)

    thread = _thread(lambda: asyncio.run(main()), "foldaway-summarizer")
    try:
        thread.start()  # in here: an interrupt may come before it returns
        return done.result(timeout + GRACE_SECONDS)
    except TimeoutError:
        pass
    finally:
        if not done.done():
            running.add_done_callback(_cancel)  # now, or as soon as the loop runs
        if thread.is_alive():
            thread.join(JOIN_SECONDS)
    raise _timed_out(name, timeout)


def _cancel(running: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]]) -> None:
    loop, task = running.result()
    if task is not None and not loop.is_closed():
        loop.call_soon_threadsafe(task.cancel)


def _timed_out(name: str, timeout: float) -> SummarizerFailed:
    return SummarizerFailed("timed out", name, f"no answer within {timeout:g} s")


async def in_thread(function: Callable[[], T]) -> T:
    """Return what `function` returns, run on a thread that does not keep the process alive.

    A cancelled caller goes on at once; the function then runs to its end unheard.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Callable[[], T]] = loop.create_future()

    def settle(outcome: Callable[[], T]) -> None:
        if not done.done():
            done.set_result(outcome)

    def run() -> None:
        outcome = _outcome(function)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, outcome)

    _thread(run, "foldaway-callable").start()
    return (await done)()


def _thread(work: Callable[[], None], name: str) -> Thread:
    """Return a thread that does not keep the process alive, with the caller's context variables."""
    context = contextvars.copy_context()
    return Thread(target=context.run, args=(work,), name=name, daemon=True)


def _outcome(function: Callable[[], T]) -> Callable[[], T]:
    """Call the function; return what returns its result or raises its error."""
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001  the caller's thread raises it
        caught = error

        def again() -> T:
            raise caught

        return again
    return lambda: result
