"""An agent with the anthropic client whose window never fills; run it again, and it goes on."""
# ANTHROPIC_API_KEY=… python examples/agent_anthropic.py "What do the modules here do?"

import os
import sys
from pathlib import Path

from anthropic import Anthropic

from foldaway import Session, SessionOptions

MODEL, WINDOW = os.environ.get("MODEL", "claude-sonnet-5-5"), int(os.environ.get("WINDOW", 200000))
SYSTEM = "You read code, and answer in short sentences."
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = {"name": "read_file", "input_schema": PATH}


def run_tool(name: str, arguments: dict[str, str]) -> str:
    try:
        is_ours = name == "read_file"
        return Path(arguments["path"]).read_text() if is_ours else session.call(name, arguments)
    except (OSError, ValueError, KeyError) as error:
        return f"error: {error!r}"


ask, claude = Anthropic().messages.create, SessionOptions(provider="anthropic")
session = Session(
    "agent.db", "anthropic-agent", model=MODEL, context_length=WINDOW, system=SYSTEM, options=claude
)
session.append({"role": "user", "content": sys.argv[1]})
while session.messages[-1]["role"] != "assistant":
    answer = session.send(ask, model=MODEL, max_tokens=4000, tools=[READ, *session.tools()])
    session.append(answer)
    session.used(answer.usage)
    calls = [block for block in answer.content if block.type == "tool_use"]
    said = [(call.id, run_tool(call.name, call.input)) for call in calls]
    results = [{"type": "tool_result", "tool_use_id": i, "content": text} for i, text in said]
    if results:
        session.append({"role": "user", "content": results})
print("".join(block.text for block in answer.content if block.type == "text"))
