"""The same with asyncio and a stream: words are printed as they come.

OPENAI_API_KEY=… python examples/agent_async.py "What do the modules in this folder do?"
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState

from foldaway import Session

MODEL, WINDOW = os.environ.get("MODEL", "gpt-5-mini"), int(os.environ.get("WINDOW", "200000"))
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = {"type": "function", "function": {"name": "read_file", "parameters": PATH}}


def read_file(arguments: str) -> str:
    try:
        return Path(json.loads(arguments)["path"]).read_text()
    except (OSError, ValueError, KeyError) as error:
        return f"error: {error!r}"


async def main() -> None:
    client = AsyncOpenAI()
    session = Session("agent.db", "async-agent", model=MODEL, context_length=WINDOW)

    async def ask(messages: list[Any]) -> Any:
        state = ChatCompletionStreamState()
        async for chunk in await client.chat.completions.create(
            model=MODEL, messages=messages, tools=[READ, *session.tools()], stream=True
        ):
            state.handle_chunk(chunk)
            print(chunk.choices[0].delta.content or "", end="", flush=True)
        return state.get_final_completion()

    session.append({"role": "user", "content": sys.argv[1]})
    while True:
        answer = await session.asend(ask)
        session.append(answer)
        calls = answer.choices[0].message.tool_calls or []
        if not calls:
            break
        for call in calls:
            if call.function.name == "read_file":
                said = read_file(call.function.arguments)
            else:
                said = session.call(call.function.name, call.function.arguments)
            session.append({"role": "tool", "tool_call_id": call.id, "content": said})
    print()


asyncio.run(main())
