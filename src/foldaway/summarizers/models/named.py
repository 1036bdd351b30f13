"""Summarizers by the names that settings and the command line write, and from any function."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from foldaway._core import Summarizer, SummaryAnswer, SummaryRequest
from foldaway.caching import context_window
from foldaway.errors import InvalidSetting, MissingExtra, SummarizerFailed, UnknownName
from foldaway.summarizers.models.anthropic import MESSAGES
from foldaway.summarizers.models.openai import CHAT, RESPONSES, litellm_summarizer
from foldaway.summarizers.models.sdk import ModelSummarizer, in_thread, sdk_summarizer

Writing: TypeAlias = str | SummaryAnswer
Writer: TypeAlias = Callable[[SummaryRequest], Writing | Awaitable[Writing]]


_MAKERS: Mapping[str, Callable[..., Summarizer]] = {
    **{api.kind: partial(sdk_summarizer, api) for api in (CHAT, RESPONSES, MESSAGES)},
    "litellm": litellm_summarizer,
}


def summarizer_named(
    spec: str,
    *,
    url: str = "",
    api_key: str = "",
    key_variable: str = "",
    context_length: int | None = None,
) -> Summarizer | None:
    """Return the summarizer that `spec` names, None for `none`.

    `url` is another address than the provider's own. It is sent `api_key`, or the key in the
    variable `key_variable`; if neither is given, it is sent no key. If no context length is given,
    it is looked up by the model's name (the extra `prices`), and 0 if that is not known. Raises
    `UnknownName` for another kind, `InvalidSetting` without a model or with an invalid address,
    `MissingExtra` without the SDK. Nothing is imported or asked yet: keys are looked for at the
    first call.
    """
    if spec == "none":
        return None
    kind, _, model = spec.partition(":")
    make = _MAKERS.get(kind)
    if make is None:
        raise UnknownName("summarizer", kind, ("none", *(f"{kind}:MODEL" for kind in _MAKERS)))
    if not model.strip():
        raise InvalidSetting("summarizer", spec, f"a kind and a model, as in {kind}:MODEL")
    length = context_length if context_length is not None else _window_of(model)
    return make(model, url=url, api_key=api_key, key_variable=key_variable, context_length=length)


def _window_of(model: str) -> int:
    try:
        return context_window(model) or 0
    except MissingExtra:
        return 0


def from_callable(function: Writer, *, name: str = "", context_length: int = 0) -> ModelSummarizer:
    """Return a summarizer that calls `function`, which may be async.

    A sync function runs on a thread of its own, since only so can a caller stop waiting for it;
    one that is given up runs on unheard. What it raises is classified like the errors of the
    SDKs; a `SummarizerFailed` of its own passes as it is.
    """
    called = name or f"callable:{getattr(function, '__name__', type(function).__name__)}"

    async def ask(
        request: SummaryRequest, seconds: float, without: frozenset[str]
    ) -> SummaryAnswer:
        del seconds, without
        if _is_async(function):
            written: Any = function(request)
        else:
            written = await in_thread(lambda: function(request))
        if inspect.isawaitable(written):
            written = await written
        if isinstance(written, str):
            return SummaryAnswer(text=written)
        if isinstance(written, SummaryAnswer):
            return written
        raise SummarizerFailed("broken answer", called, "neither a text nor a SummaryAnswer")

    return ModelSummarizer(called, ask, context_length=context_length)


def _is_async(function: Writer) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004  an object may be async in its call
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
