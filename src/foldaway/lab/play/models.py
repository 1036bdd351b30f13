"""A model behind an OpenAI- or Anthropic-compatible address as a player, and as a summarizer."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from foldaway._core import Summarizer, SummaryRequest
from foldaway.caching import wants_breakpoints, with_breakpoints
from foldaway.dialects import convert
from foldaway.errors import BatchStopped, InvalidSetting, SummarizerFailed
from foldaway.lab.play.contexts import DIALECT, LiveContext, Wire, measure, tail_start
from foldaway.lab.play.game import PlayerUnreachable, RequestTooLong
from foldaway.lab.play.task import PlayerTurn, Request, TaskCall, TaskTool
from foldaway.lab.replay import ReplayTerms
from foldaway.lab.scoring.session import render_all
from foldaway.sessions import RefusedRequest
from foldaway.summarizers import after_try, endpoint_of, writers_of

ANSWER_SECONDS = 600.0
"""How long an answer may take; the default of both SDKs."""
TRIES_MORE = 2
"""By the SDK, with its pauses, after a limit, a fault of the server or a broken connection."""
ANSWER_TOKENS = 8_192
"""The longest answer that Anthropic is asked for; every model since Claude 3.5 writes as much."""

SUMMARY_FROM, SUMMARY_KEEPS = 0.80, 0.10
"""Shares of the window: from where on a model writes a summary, and how much of the newest stays
beside it. Chosen, about as agents do that have a model write."""
SUMMARY_TOKENS = 8_000
SUMMARY_SECONDS = 300.0
_ASKS = (
    "Summarize this work of an agent for whoever goes on with it: what was asked, with every rule "
    "and value word for word; what was done, found and decided; what is left to do."
)


class PlayingModel(Struct, frozen=True):
    """A model that plays: `openai:NAME` or `anthropic:NAME`, its address, its key's variable."""

    spec: str
    url: str = ""
    key_variable: str = ""

    def check(self) -> None:
        """Raise `InvalidSetting` or `MissingExtra` if it cannot be asked at all."""
        kind, _, name = self.spec.partition(":")
        if kind not in _ASK or not name:
            raise InvalidSetting("--model", self.spec, "openai:NAME or anthropic:NAME")
        ModelPlayer(self)

    def summarizer(self) -> Summarizer:
        """Return the same model as one that writes summaries."""
        found = writers_of(self.spec, url=self.url, key_variable=self.key_variable).main
        assert found is not None
        return found


class ModelPlayer:
    """A player that asks a model. Each request stands alone: nothing is kept between two."""

    def __init__(self, model: PlayingModel) -> None:
        """Take whom to ask; nothing is asked yet."""
        self._kind, _, self._name = model.spec.partition(":")
        self._url = model.url
        self._endpoint = endpoint_of(
            self._kind, self._name, url=model.url, key_variable=model.key_variable, purpose="a play"
        )

    def act(self, request: Request) -> PlayerTurn:
        """Return what the model does next.

        Raises `RequestTooLong` if the server says so, `PlayerUnreachable` for a failure that may
        pass, and `BatchStopped` for one by which no other request would fare better.
        """
        body = {"model": self._name, "messages": request.messages, "tools": request.tools}
        try:
            return asyncio.run(self._ask(body))
        except SummarizerFailed as error:
            failed = error
        except Exception as error:  # noqa: BLE001  a guest: whatever the SDK raises has a kind
            status, body = getattr(error, "status_code", None), getattr(error, "body", None)
            if status and RefusedRequest(status, body, str(error)).refusal:
                raise RequestTooLong from None
            failed = self._endpoint.failure(error, has_begun=False)
        said = f"{failed}; check the name of the model, --url, and the key and its quota"
        if after_try(failed, is_last=True) == "stop":
            raise BatchStopped(said)
        raise PlayerUnreachable(said)

    async def _ask(self, body: dict[str, Any]) -> PlayerTurn:
        async with await self._endpoint.open_client(ANSWER_SECONDS, retries=TRIES_MORE) as client:
            if self._kind == "anthropic":
                body = convert(body, "anthropic", dialect=DIALECT).messages
                body["max_tokens"] = ANSWER_TOKENS
            if wire := wants_breakpoints(self._name, provider=self._kind, base_url=self._url):
                body = with_breakpoints(body, wire=wire)
            return await _ASK[self._kind](client, body)


async def _ask_chat(client: Any, body: dict[str, Any]) -> PlayerTurn:
    message = (await client.chat.completions.create(**body)).choices[0].message
    calls = tuple(
        TaskCall(one.function.name, _arguments(one.function.arguments))
        for one in message.tool_calls or ()
    )
    return PlayerTurn(message.content or "", calls)


async def _ask_messages(client: Any, body: dict[str, Any]) -> PlayerTurn:
    blocks = (await client.messages.create(**body)).content
    text = "\n".join(one.text for one in blocks if one.type == "text")
    return PlayerTurn(
        text, tuple(TaskCall(one.name, one.input) for one in blocks if one.type == "tool_use")
    )


_ASK: Mapping[str, Callable[[Any, dict[str, Any]], Any]] = {
    "openai": _ask_chat,
    "anthropic": _ask_messages,
}


def _arguments(text: str) -> Mapping[str, Any]:
    """Return the arguments of a call; the world refuses what is no object."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {"input": text}
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {"input": text}


class ModelSummaryContext(LiveContext):
    """Has a model write a summary of everything when the window is nearly full."""

    def __init__(
        self, tools: Sequence[TaskTool], terms: ReplayTerms, *, summarizer: Summarizer
    ) -> None:
        """Take who writes."""
        super().__init__(tools, terms)
        self._summarizer = summarizer

    def _shrink(self) -> bool:
        window, prompt = self.terms.context_length, self.prompt
        if prompt.tokens < SUMMARY_FROM * window:
            return False
        cut = tail_start(prompt.pieces, int(SUMMARY_KEEPS * window), 2)
        dropped = [wire for wire, _ in prompt.pieces[1:cut]]
        text = self._ask(render_all(dropped))
        summary: Wire = {"role": "user", "content": f"What was done so far:\n\n{text}"}
        self.summaries += self.terms.prices.bill(
            prompt.tokens, self.sent.cached_tokens, measure(summary), self.terms.ttl
        )
        prompt.replace([prompt.pieces[0], (summary, measure(summary)), *prompt.pieces[cut:]])
        return True

    def _ask(self, material: str) -> str:
        """Return the summary; a failure ends the play."""
        request = SummaryRequest(instructions=_ASKS, prompt=material, max_tokens=SUMMARY_TOKENS)
        try:
            return self._summarizer.summarize(request, SUMMARY_SECONDS).text
        except SummarizerFailed as error:
            raise PlayerUnreachable(f"{error}; no summary was written") from None
