"""A chat with asyncio and a stream of the anthropic client: python examples/chat_anthropic.py"""

import asyncio
import os
import sys

from anthropic import AsyncAnthropic

from foldaway import Session, SessionOptions

MODEL, WINDOW = os.environ.get("MODEL", "claude-sonnet-5-5"), int(os.environ.get("WINDOW", 200000))
SYSTEM = "You read code, and answer in short sentences."


async def ask(**request):
    async with client.messages.stream(model=MODEL, max_tokens=4000, **request) as stream:
        async for text in stream.text_stream:
            print(text, end="", flush=True)
        return await stream.get_final_message()


async def chat():
    for line in sys.stdin:
        session.append({"role": "user", "content": line})
        while session.messages[-1]["role"] != "assistant":
            answer = await session.asend(ask, tools=session.tools())
            session.append(answer)
            session.used(answer.usage)
            if calls := [block for block in answer.content if block.type == "tool_use"]:
                said = [(call.id, session.call(call.name, call.input)) for call in calls]
                blocks = [{"type": "tool_result", "tool_use_id": i, "content": s} for i, s in said]
                session.append({"role": "user", "content": blocks})
        print()


client, claude = AsyncAnthropic(), SessionOptions(provider="anthropic")
session = Session(
    "chat.db", "claude", model=MODEL, context_length=WINDOW, system=SYSTEM, options=claude
)
asyncio.run(chat())
