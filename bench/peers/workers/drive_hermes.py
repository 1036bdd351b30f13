"""hermes-agent's ContextCompressor, with a stub in the place of its model.

`stub`: the model answers with a fixed text. `fallback`: the model fails as a server does, so that
the peer writes its own summary; a time-out would make it give up instead. It gets the messages
without the system prompt, as in its own automatic runs, and a fresh compressor for each request.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

from loop import Answer, measure_time, serve

STUB = "A summary would stand here."


class ServerError(Exception):
    """What the peer sees as a failing provider."""

    status_code = 500


def compress(request: dict[str, Any]) -> Answer:
    """Return what the peer leaves; the budget is that of its tail."""
    module: Any = importlib.import_module("agent.context_compressor")
    shown: list[int] = []

    def call_llm(*_: Any, messages: Any = (), **__: Any) -> Any:
        shown.append(sum(len(str(message.get("content", ""))) for message in messages))
        if request["mode"] == "fallback":
            raise ServerError("the stub fails")
        message = SimpleNamespace(content=STUB, reasoning=None, reasoning_content=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=None)

    module.call_llm = call_llm
    floors = {"protect_first_n": 0, "protect_last_n": 3} if request["pressed"] else {}
    compressor = module.ContextCompressor(
        model="stub/model",
        config_context_length=request["context_length"],
        quiet_mode=True,
        base_url="http://127.0.0.1:9/v1",
        api_key="x",
        provider="custom",
        **floors,
    )
    # the constructor takes shares of a window of 64,000 or more; this is what comes of them
    compressor.tail_token_budget = request["budget_tokens"]
    made, cpu_ms = measure_time(lambda: compressor.compress(request["messages"], force=True))
    return {"messages": _as_sent(made), "cpu_ms": cpu_ms, "note": _note(request, shown)}


def _as_sent(messages: list[Any]) -> list[Any]:
    """Return the messages without the peer's private keys, which its transports leave out too."""
    return [
        {key: value for key, value in message.items() if not key.startswith("_")}
        for message in messages
    ]


def _note(request: dict[str, Any], shown: list[int]) -> str:
    said = [f"tail_token_budget {request['budget_tokens']}"]
    if request["pressed"]:
        said.append("protect_first_n 0 and protect_last_n 3 instead of 3 and 20")
    said.append(f"its model was shown {max(shown)} characters" if shown else "no model was asked")
    return ", ".join(said)


if __name__ == "__main__":
    serve(compress)
