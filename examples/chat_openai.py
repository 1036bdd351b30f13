"""A chat with asyncio and a stream of the openai client: python examples/chat_openai.py"""

import asyncio
import os
import sys

from openai import AsyncOpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState

from foldaway import Session

MODEL, WINDOW = os.environ.get("MODEL", "gpt-5-mini"), int(os.environ.get("WINDOW", "200000"))
SYSTEM = "You read code, and answer in short sentences."
STREAM = {"model": MODEL, "stream": True, "stream_options": {"include_usage": True}}


async def ask(**request):
    state = ChatCompletionStreamState()
    async for chunk in await create(**request, **STREAM):
        state.handle_chunk(chunk)
        print("".join(one.delta.content or "" for one in chunk.choices), end="", flush=True)
    return state.get_final_completion()


async def chat():
    for line in sys.stdin:
        session.append({"role": "user", "content": line})
        while session.messages[-1]["role"] != "assistant":
            answer = await session.asend(ask, tools=session.tools())
            session.append(answer)
            session.used(answer.usage)
            for call in answer.choices[0].message.tool_calls or []:
                said = session.call(call.function.name, call.function.arguments)
                session.append({"role": "tool", "tool_call_id": call.id, "content": said})
        print()


create = AsyncOpenAI().chat.completions.create
session = Session("chat.db", "openai", model=MODEL, context_length=WINDOW, system=SYSTEM)
asyncio.run(chat())
