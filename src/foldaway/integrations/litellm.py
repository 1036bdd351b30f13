"""Foldaway in LiteLLM: a callback of the proxy, and completions of the SDK.

    litellm_settings:
      callbacks: [foldaway.integrations.litellm.proxy_callback]

A key takes part if its metadata has `"foldaway": true`. Clients keep their lists; only what the
proxy sends is smaller.
"""

# What LiteLLM hands over has no types.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import litellm
from litellm.integrations.custom_logger import CustomLogger

from foldaway.dialects import dialect_named
from foldaway.gateway import read_client_name
from foldaway.integrations.host_messages import arguments_in
from foldaway.integrations.host_sessions import (
    HostRequest,
    HostSessions,
    HostTurn,
    name_by_start,
    owned_key,
)
from foldaway.sessions import Pool

__all__ = ["FoldawayCallback", "FoldawayCompletions", "proxy_callback"]

_DIALECTS = {
    "completion": "openai-chat",
    "acompletion": "openai-chat",
    "anthropic_messages": "anthropic",
    "responses": "openai-responses",
    "aresponses": "openai-responses",
}
"""The wire format of each kind of call."""
_FRAME = (
    "model",
    "system",
    "instructions",
    "tools",
    "thinking",
    "reasoning",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
)
"""What counts of a request beside its messages; the proxy adds keys and secrets of its own."""
_MOST_TURNS = 1_024
"""Requests on their way whose usage is awaited; a proxy process has fewer at once; chosen."""


class FoldawayCallback(CustomLogger):
    """Keeps what the proxy sends inside the window of the model, for keys that take part.

    `store` and `options` are those of `HostSessions`. With `every_key` all keys take part.
    """

    def __init__(self, store: Any = None, *, every_key: bool = False, **options: Any) -> None:
        super().__init__()
        self.sessions, self._every_key = HostSessions("litellm", store, **options), every_key
        self._turns = Pool[str, HostTurn](_MOST_TURNS)

    def answer(self, api_key: str, session: str, name: str, arguments: str) -> str:
        """Return what a tool says about a conversation: that of an API key of the proxy, by the
        name that its requests gave; for a client that answers its own calls.
        """
        key = owned_key(sha256(api_key.encode()).hexdigest(), session)
        return self.sessions.answer(key, name, arguments_in(arguments))

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """Have messages sent that fit; a request that is not understood goes on as it came."""
        dialect = _DIALECTS.get(call_type, "")
        field = dialect_named(dialect).list_key if dialect else ""
        takes_part = self._every_key or (user_api_key_dict.metadata or {}).get("foldaway")
        own, owner = data.get(field), str(user_api_key_dict.api_key or "")
        if takes_part and isinstance(own, list) and not data.get("previous_response_id"):
            turn = await self.sessions.aturn(lambda: _asked(data, dialect, own, owner), own)
            data[field] = turn.messages
            self._turns.take(
                data.get("litellm_call_id", ""), lambda: turn, is_fit=lambda was: was is turn
            )
        return data

    async def async_post_call_response_headers_hook(
        self, data: dict[str, Any], *given: Any, **named: Any
    ) -> dict[str, str] | None:
        """Return headers that say whether a request was made smaller, and in which session."""
        found = getattr(self._turns.get(data.get("litellm_call_id", "")), "followed", None)
        said = "yes" if found and found.is_changed else "no"
        return found and {"x-foldaway-session-id": found.session_id, "x-foldaway-compacted": said}

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, **given: Any) -> None:
        """Take what an answer used."""
        await self._taken(kwargs).aused(lambda: _usage_of(response_obj))

    async def async_post_call_failure_hook(
        self, request_data: Any, original_exception: Exception, *given: Any, **named: Any
    ) -> None:
        """Have less sent when the client tries again, if a request was too long."""
        await self._taken(request_data).arecover(original_exception)

    def _taken(self, data: Any) -> HostTurn:
        return self._turns.drop(data.get("litellm_call_id", "")) or HostTurn(self.sessions)


proxy_callback = FoldawayCallback()
"""For the configuration of a proxy: sessions in the home of sessions."""


def _asked(data: Mapping[str, Any], dialect: str, own: list[Any], owner: str) -> HostRequest:
    headers = (data.get("proxy_server_request") or {}).get("headers") or {}
    named = data.get("litellm_session_id") or read_client_name(headers, data)
    key = owned_key(owner, named or name_by_start(own, dialect))
    frame = {name: data.get(name) for name in _FRAME}
    return HostRequest(key=key, dialect=dialect, own=own, frame=frame)


def _usage_of(answer: Any) -> Any:
    return answer.get("usage") if isinstance(answer, dict) else getattr(answer, "usage", None)


class FoldawayCompletions:
    """`completion` and `acompletion` of the SDK, whose requests stay inside the window.

    `key` names the conversation. `store` and `options` are those of `HostSessions`. Offer `tools`
    with yours, and have `answer` answer their calls.
    """

    def __init__(self, key: str, store: Any = None, **options: Any) -> None:
        self._key, self._sessions = key, HostSessions("litellm", store, **options)
        self.tools = self._sessions.tools("openai-chat")
        """Recall and search, as requests declare them."""

    def answer(self, name: str, arguments: str) -> str:
        """Return what one of `tools` says; `arguments` are the JSON that the model wrote."""
        return self._sessions.answer(self._key, name, arguments_in(arguments))

    def completion(self, **request: Any) -> Any:
        """Return what `litellm.completion` returns."""
        return self._sessions.send(*self._parts(litellm.completion, request))

    async def acompletion(self, **request: Any) -> Any:
        """Return what `litellm.acompletion` returns."""
        return await self._sessions.asend(*self._parts(litellm.acompletion, request))

    def _parts(self, call: Any, request: dict[str, Any]) -> Any:
        own, frame = request["messages"], {name: request.get(name) for name in _FRAME}
        asked = HostRequest(key=self._key, dialect="openai-chat", own=own, frame=frame)
        return asked, lambda own: call(**{**request, "messages": own}), _usage_of
