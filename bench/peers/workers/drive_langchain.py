"""LangChain's `trim_messages` and `SummarizationMiddleware`, with a stub in the place of a model.

Sizes are counted by its own approximate counter. A message that comes out unchanged is given back
as it came in: converting it to LangChain's form and back would be our loss and not the peer's.
"""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    BaseMessage,
    RemoveMessage,
    SystemMessage,
    convert_to_messages,
    convert_to_openai_messages,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately
from loop import Answer, measure_time, serve

STUB = "A summary would stand here."


def compress(request: dict[str, Any]) -> Answer:
    """Return what the peer leaves; the budget is what it may keep."""
    messages = convert_to_messages(request["messages"])
    for number, message in enumerate(messages):
        message.id = str(number)
    run = _summarize if request["mode"] == "summarize" else _trim
    made, cpu_ms, note = run(request, messages)
    known = {message.id: wire for message, wire in zip(messages, request["messages"], strict=True)}
    found = [known.get(message.id) or convert_to_openai_messages(message) for message in made]
    # it has no floors to lower: one answer says that nothing is different when it is pressed
    return {"messages": found, "cpu_ms": cpu_ms, "note": note, "moves": not request["pressed"]}


def _trim(
    request: dict[str, Any], messages: list[BaseMessage]
) -> tuple[list[BaseMessage], float, str]:
    system = [SystemMessage(request["system"])] if request["system"] else []
    # it counts the system prompt among them; for the lab that is outside the budget
    most = request["budget_tokens"] + count_tokens_approximately(system)
    start_on = "human" if request["mode"] == "trim" else ("human", "ai")
    made, cpu_ms = measure_time(
        lambda: trim_messages(
            [*system, *messages],
            max_tokens=most,
            strategy="last",
            token_counter="approximate",
            start_on=start_on,
            include_system=True,
        )
    )
    note = f"max_tokens {most}"
    if all(isinstance(message, SystemMessage) for message in made):
        note += ", and nothing that it may begin with is within them: all messages are gone"
    return made, cpu_ms, note


def _summarize(
    request: dict[str, Any], messages: list[BaseMessage]
) -> tuple[list[BaseMessage], float, str]:
    shown: list[int] = []

    def stub(selected: list[BaseMessage]) -> str:
        shown.append(len(selected))
        return STUB

    middleware = SummarizationMiddleware(
        FakeListChatModel(responses=[STUB]),
        summarizer=stub,
        trigger=("tokens", 1),
        keep=("tokens", request["budget_tokens"]),
    )
    made, cpu_ms = measure_time(lambda: middleware.before_model({"messages": messages}, None))
    left = made["messages"] if made else messages
    kept = [message for message in left if not isinstance(message, RemoveMessage)]
    note = f"keep {request['budget_tokens']} tokens"
    if made is None:
        note += ", but it left everything"
    elif shown:
        note += f", its model was shown {shown[0]} of {len(messages) - len(kept) + 1} messages"
    else:
        note += ", and its model was never asked"
    return kept, cpu_ms, note


if __name__ == "__main__":
    serve(compress)
