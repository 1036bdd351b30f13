"""An agent with the openai client whose window never fills; run it again, and it goes on."""
# OPENAI_API_KEY=… python examples/agent_openai.py "What do the modules in this folder do?"

import json
import os
import sys
from pathlib import Path

from openai import OpenAI

from foldaway import Session

MODEL, WINDOW = os.environ.get("MODEL", "gpt-5-mini"), int(os.environ.get("WINDOW", "200000"))
SYSTEM = "You read code, and answer in short sentences."
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = {"type": "function", "function": {"name": "read_file", "parameters": PATH}}


def read_file(arguments: str) -> str:
    try:
        return Path(json.loads(arguments)["path"]).read_text()
    except (OSError, ValueError, KeyError) as error:
        return f"error: {error!r}"


ask = OpenAI().chat.completions.create
session = Session("agent.db", "openai-agent", model=MODEL, context_length=WINDOW, system=SYSTEM)
session.append({"role": "user", "content": sys.argv[1]})
while session.messages[-1]["role"] != "assistant":
    answer = session.send(ask, model=MODEL, tools=[READ, *session.tools()])
    session.append(answer)
    session.used(answer.usage)
    for call in answer.choices[0].message.tool_calls or []:
        name, arguments = call.function.name, call.function.arguments
        said = read_file(arguments) if name == "read_file" else session.call(name, arguments)
        session.append({"role": "tool", "tool_call_id": call.id, "content": said})
print(answer.choices[0].message.content)
