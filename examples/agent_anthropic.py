"""An agent with the anthropic client whose window never fills; run it again, and it goes on.

ANTHROPIC_API_KEY=… python examples/agent_anthropic.py "What do the modules here do?"
"""

import os
import sys
from pathlib import Path

from anthropic import Anthropic

from foldaway import Session

MODEL = os.environ.get("MODEL", "claude-sonnet-5-5")
WINDOW = int(os.environ.get("WINDOW", "200000"))
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = {"name": "read_file", "input_schema": PATH}


def read_file(arguments: dict[str, str]) -> str:
    try:
        return Path(arguments["path"]).read_text()
    except (OSError, ValueError, KeyError) as error:
        return f"error: {error!r}"


client = Anthropic()
session = Session(
    "agent.db", "anthropic-agent", model=MODEL, context_length=WINDOW, provider="anthropic"
)
session.append({"role": "user", "content": sys.argv[1]})
while True:
    answer = session.send(
        lambda messages: client.messages.create(
            model=MODEL, max_tokens=1000, messages=messages, tools=[READ, *session.tools()]
        )
    )
    session.append(answer)
    session.used(answer.usage)
    calls = [block for block in answer.content if block.type == "tool_use"]
    if not calls:
        break
    results = []
    for call in calls:
        if call.name == "read_file":
            said = read_file(call.input)
        else:
            said = session.call(call.name, call.input)
        results.append({"type": "tool_result", "tool_use_id": call.id, "content": said})
    session.append({"role": "user", "content": results})
print("".join(block.text for block in answer.content if block.type == "text"))
