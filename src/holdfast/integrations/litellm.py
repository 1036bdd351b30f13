"""Holdfast in LiteLLM: a callback of the proxy, and completions of the SDK.

    litellm_settings:
      callbacks: [holdfast.integrations.litellm.proxy_callback]

A key takes part if its metadata has `"holdfast": true`. Clients keep their lists; only what the
proxy sends is smaller.
"""

# What LiteLLM hands over has no types.
# pyright: reportMissingImports=false, reportUntypedBaseClass=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import litellm
from litellm.integrations.custom_logger import CustomLogger

from holdfast.gateway.identity import named_by_client
from holdfast.integrations.host_sessions import (
    HostRequest,
    HostSessions,
    HostTurn,
    name_by_start,
    owned_key,
)

__all__ = ["HoldfastCallback", "HoldfastCompletions", "proxy_callback"]

_LISTS = {
    "completion": ("openai-chat", "messages"), "acompletion": ("openai-chat", "messages"),
    "anthropic_messages": ("anthropic", "messages"),
    "responses": ("openai-responses", "input"), "aresponses": ("openai-responses", "input"),
}  # fmt: skip
"""The wire format of each kind of call, and the field with its messages."""
_FRAME = (
    "model", "system", "instructions", "tools", "thinking", "reasoning", "max_tokens",
    "max_completion_tokens", "max_output_tokens",
)  # fmt: skip
"""What counts of a request beside its messages; the proxy adds keys and secrets of its own."""
_MOST_TURNS = 1_024
"""Requests on their way whose usage is awaited; a proxy process has fewer at once; chosen."""


class HoldfastCallback(CustomLogger):
    """Keeps what the proxy sends inside the window of the model, for keys that take part.

    `store` and `options` are those of `HostSessions`. With `every_key` all keys take part.
    """

    def __init__(self, store: Any = None, *, every_key: bool = False, **options: Any) -> None:
        super().__init__()
        self.sessions, self._every_key = HostSessions("litellm", store, **options), every_key
        self._turns: OrderedDict[str, HostTurn] = OrderedDict()

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """Have messages sent that fit; a request that is not understood goes on as it came."""
        field = _LISTS.get(call_type, ("", ""))[1]
        takes_part = self._every_key or (user_api_key_dict.metadata or {}).get("holdfast")
        own = data.get(field)
        if takes_part and isinstance(own, list) and not data.get("previous_response_id"):
            owner = str(user_api_key_dict.api_key or "")
            asked = self.sessions.request_of(lambda: _asked(data, call_type, owner), own)
            turn = await asyncio.to_thread(self.sessions.turn, asked)
            data[field] = turn.messages
            self._turns[data.get("litellm_call_id", "")] = turn
            if len(self._turns) > _MOST_TURNS:
                self._turns.popitem(last=False)
        return data

    async def async_post_call_response_headers_hook(
        self, data: dict[str, Any], *given: Any, **named: Any
    ) -> dict[str, str] | None:
        """Return headers that say whether a request was made smaller, and in which session."""
        turn = self._turns.get(data.get("litellm_call_id", ""))
        if turn is None or turn.followed is None:
            return None
        changed = "yes" if turn.followed.is_changed else "no"
        return {"x-holdfast-session-id": turn.followed.session_id, "x-holdfast-compacted": changed}

    async def async_log_success_event(
        self, kwargs: Any, response_obj: Any, *given: Any, **named: Any
    ) -> None:
        """Take what an answer used."""
        turn = self._turns.pop(kwargs.get("litellm_call_id", ""), None)
        if turn is not None:
            await asyncio.to_thread(turn.used, lambda: _usage_of(response_obj))

    async def async_post_call_failure_hook(
        self, request_data: dict[str, Any], original_exception: Exception, *given: Any, **named: Any
    ) -> None:
        """Have less sent when the client tries again, if a request was too long."""
        turn = self._turns.pop(request_data.get("litellm_call_id", ""), None)
        if turn is not None:
            await asyncio.to_thread(turn.recover, original_exception)


proxy_callback = HoldfastCallback()
"""For the configuration of a proxy: sessions in the home of sessions."""


def _asked(data: Mapping[str, Any], call_type: str, owner: str) -> HostRequest:
    dialect, field = _LISTS[call_type]
    own, frame = data[field], {name: data.get(name) for name in _FRAME}
    headers = (data.get("proxy_server_request") or {}).get("headers") or {}
    name = data.get("litellm_session_id") or named_by_client(headers, data)
    name = name or name_by_start(own, dialect)
    key = owned_key(owner, name) if name else ""
    return HostRequest(key=key, dialect=dialect if key else "", own=own, frame=frame)


def _usage_of(answer: Any) -> Any:
    return answer.get("usage") if isinstance(answer, dict) else getattr(answer, "usage", None)


class HoldfastCompletions:
    """`completion` and `acompletion` of the SDK, whose requests stay inside the window.

    `key` names the conversation. `store` and `options` are those of `HostSessions`; `sessions`
    answers the tools that recall what was folded.
    """

    def __init__(self, key: str, store: Any = None, **options: Any) -> None:
        self._key, self.sessions = key, HostSessions("litellm", store, **options)

    def completion(self, **request: Any) -> Any:
        """Return what `litellm.completion` returns."""
        return self.sessions.send(self._request(request), lambda own: litellm.completion(
            **{**request, "messages": own}), _usage_of)  # fmt: skip

    async def acompletion(self, **request: Any) -> Any:
        """Return what `litellm.acompletion` returns."""
        return await self.sessions.asend(self._request(request), lambda own: litellm.acompletion(
            **{**request, "messages": own}), _usage_of)  # fmt: skip

    def _request(self, request: Mapping[str, Any]) -> HostRequest:
        frame = {name: request.get(name) for name in _FRAME}
        own = request["messages"]
        return HostRequest(key=self._key, dialect="openai-chat", own=own, frame=frame)
