"""Any provider that litellm knows, through litellm."""

from __future__ import annotations

import asyncio
from typing import Any

from holdfast.errors import SummarizerFailed
from holdfast.ports import SummaryAnswer, SummaryRequest
from holdfast.writing.models.asking import Asked, demand, imported
from holdfast.writing.models.draft import draft_for, read_stream
from holdfast.writing.models.keys import ANY, NO_KEY, access_to
from holdfast.writing.models.openai_chat import OPTIONS, chat_body, take_chunk

KEYED = frozenset({
    "anthropic", "custom_openai", "hosted_vllm", "litellm_proxy", "llamafile", "lm_studio",
    "ollama", "ollama_chat", "openai",
})  # fmt: skip
"""Providers for which litellm sends the key that it is given and no other. For the rest it may
sign with a cloud account of the machine or look for more keys, so that they are asked at an
address of one's own only if the user has paired it with a key."""


def litellm(
    model: str,
    *,
    url: str = "",
    api_key: str = "",
    key_variable: str = "",
    context_length: int = 0,
) -> Asked:
    """Return a summariser that asks through litellm; the keys are in the variables it names.

    Raises `MissingExtra` where litellm is not installed.
    """
    demand("litellm", "a summary through litellm")
    access = access_to(ANY, url, api_key, key_variable)
    name = f"litellm:{model}"

    async def ask(
        request: SummaryRequest, seconds: float, without: frozenset[str]
    ) -> SummaryAnswer:
        library = await imported("litellm")
        # it prints an advertisement to standard output on every error otherwise
        library.suppress_debug_info = True
        key = access.key(name)
        if key == NO_KEY and library.get_llm_provider(model)[1] not in KEYED:
            raise SummarizerFailed("refused", name, f"check {access.remedy}")
        body = chat_body(request, model, without)
        draft = draft_for(request)
        headers = access.headers(key, "")
        stream = await library.acompletion(
            **body, api_base=url or None, api_key=key, extra_headers=headers or None,
            timeout=seconds, num_retries=0, max_retries=0,
        )  # fmt: skip
        await read_stream(stream, draft, take_chunk)
        if not _is_finished(stream) and not draft.is_full:
            draft.stopped = None
        return draft.answer(name)

    return Asked(
        name,
        ask,
        context_length=context_length,
        package="litellm",
        key=access.remedy,
        options=OPTIONS,
        tidy=_close_clients,
    )


def _is_finished(stream: Any) -> bool:
    """Whether the provider said why it stopped: where it did not, litellm says "stop" itself."""
    fields = ("received_finish_reason", "intermittent_finish_reason")
    return not hasattr(stream, fields[0]) or any(getattr(stream, field, None) for field in fields)


async def _close_clients() -> None:
    """Close the clients that litellm keeps for the running loop, which ends now.

    It would keep them by the id of the loop, and hand them to a later loop of the same id.
    """
    library = await imported("litellm")
    cache: Any = library.in_memory_llm_clients_cache
    suffix = f"-{id(asyncio.get_running_loop())}"
    for key in [key for key in cache.cache_dict if str(key).endswith(suffix)]:
        client = cache.cache_dict.pop(key)
        close = getattr(client, "aclose", None) or getattr(client, "close", None)
        if close is not None:
            await close()
