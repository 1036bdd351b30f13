"""A model that is asked over OpenAI's or Anthropic's wire: text as it arrives, then the answer."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from foldaway.caching import wants_breakpoints, with_breakpoints
from foldaway.engine import figures_of
from foldaway.errors import SummarizerFailed
from foldaway.summarizers import Interrupted, endpoint_of

Hear: TypeAlias = Callable[[str], None]
"""Takes a piece of the answer as it arrives."""

ANSWER_SECONDS = 600.0
"""How long nothing may come from a server; the default of both SDKs, like two more tries."""
ANSWER_TOKENS = 8_192
"""The longest answer that Anthropic is asked for; every model since Claude 3.5 writes as much."""


class ChatAnswer(Struct, frozen=True):
    """What a model said, as its wire has it; what was counted; whether it was cut off."""

    message: dict[str, Any]
    usage: Mapping[str, Any]
    is_cut: bool = False


class ChatWire(Struct, frozen=True):
    """How a provider is asked; `ask` sends a body through a client of its SDK."""

    dialect: str
    ask: Callable[[Any, dict[str, Any], Hear], Awaitable[ChatAnswer]]


class ChatModel:
    """One model at one address; `close` it at the end."""

    def __init__(self, spec: str, *, url: str = "", key_variable: str = "") -> None:
        """Take `openai:NAME`, `anthropic:NAME`, or a name alone, which is OpenAI's unless it is a
        Claude. A server at `url` is sent the key in `key_variable`, and no other.

        Raises `MissingExtra` without the SDK and `InvalidSetting` for no address; nothing is asked.
        """
        kind, _, name = spec.partition(":")
        if kind not in WIRES or not name:
            kind, name = ("anthropic" if "claude" in spec.lower() else "openai"), spec
        self._be(kind, name, WIRES[kind])
        self._endpoint = endpoint_of(
            kind, name, url=url, key_variable=key_variable, purpose=f"a chat with {kind}:{name}"
        )
        self._client: Any = None

    def _be(self, kind: str, name: str, wire: ChatWire) -> None:
        self.name, self._kind, self._wire = name, kind, wire

    @property
    def spec(self) -> str:
        """The name that settings write."""
        return f"{self._kind}:{self.name}"

    @property
    def dialect(self) -> str:
        """The format of its messages."""
        return self._wire.dialect

    def switch_to(self, name: str) -> ChatModel:
        """Return another model at the same address."""
        spec = name if name.partition(":")[0] in WIRES else f"{self._kind}:{name}"
        access = self._endpoint.access
        return ChatModel(spec, url=access.url, key_variable=access.key_variable)

    async def connect(self) -> None:
        """Make the client; raise `SummarizerFailed` if its key is missing."""
        if self._client is None:
            self._client = await self._endpoint.open_client(ANSWER_SECONDS, retries=2)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    def frame(self, system: str, tools: Sequence[Any]) -> dict[str, Any]:
        """Return what is in every request beside its messages."""
        found: dict[str, Any] = {"tools": list(tools)} if tools else {}
        if self.dialect == "anthropic":  # elsewhere the system prompt is one of the messages
            found |= {"max_tokens": ANSWER_TOKENS, **({"system": system} if system else {})}
        return found

    async def answer(self, frame: Mapping[str, Any], messages: list[Any], hear: Hear) -> ChatAnswer:
        """Ask, hand on the text as it arrives, and return the whole answer.

        Cancelling the task closes the connection. What goes wrong is raised as the SDK has it.
        """
        await self.connect()
        body = {"model": self.name, **frame, "messages": messages}
        url = self._endpoint.access.url
        if wire := wants_breakpoints(self.name, provider=self._kind, base_url=url):
            body = with_breakpoints(body, wire=wire)
        return await self._wire.ask(self._client, body, hear)

    def failure(self, error: Exception, *, has_begun: bool) -> SummarizerFailed:
        """Return what an error of `answer` means, in a sentence without words of the provider."""
        return self._endpoint.failure(error, has_begun=has_begun)


async def _ask_chat(client: Any, body: dict[str, Any], hear: Hear) -> ChatAnswer:
    said: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    usage: Mapping[str, Any] = {}
    finish = ""
    stream = await client.chat.completions.create(
        **body, stream=True, stream_options={"include_usage": True}
    )
    async with stream:
        async for chunk in stream:
            if chunk.usage is not None:
                usage = figures_of(chunk.usage)
            for choice in chunk.choices:
                finish = choice.finish_reason or finish
                if choice.delta.content:
                    said.append(choice.delta.content)
                    hear(choice.delta.content)
                for piece in choice.delta.tool_calls or ():
                    _add_piece(calls, piece)
    if not finish:
        raise Interrupted
    message: dict[str, Any] = {"role": "assistant", "content": "".join(said) or None}
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    elif not said:
        message["content"] = ""
    return ChatAnswer(message, usage, finish == "length")


def _add_piece(calls: dict[int, dict[str, Any]], piece: Any) -> None:
    """Add a piece of a call; some servers give calls no id."""
    call = calls.setdefault(
        piece.index,
        {
            "id": piece.id or f"call_{uuid.uuid4().hex}",
            "type": "function",
            "function": {"name": "", "arguments": ""},
        },
    )
    if piece.function is not None:
        call["function"]["name"] += piece.function.name or ""
        call["function"]["arguments"] += piece.function.arguments or ""


async def _ask_messages(client: Any, body: dict[str, Any], hear: Hear) -> ChatAnswer:
    async with client.messages.stream(**body) as stream:
        async for text in stream.text_stream:
            hear(text)
        whole = (await stream.get_final_message()).to_dict()
    if not whole.get("stop_reason"):
        raise Interrupted
    blocks = [{key: one[key] for key in one if one[key] is not None} for one in whole["content"]]
    message = {"role": "assistant", "content": blocks}
    return ChatAnswer(message, whole["usage"], whole["stop_reason"] == "max_tokens")


WIRES: Mapping[str, ChatWire] = {
    "openai": ChatWire("openai-chat", _ask_chat),
    "anthropic": ChatWire("anthropic", _ask_messages),
}
