"""A host that keeps its own list: the session follows it, and says what to send instead."""
# OPENAI_API_KEY=… python examples/agent_follow.py "What do the modules in this folder do?"

import json
import os
import sys
from pathlib import Path

from openai import OpenAI

from foldaway import Session, repair

MODEL, WINDOW = os.environ.get("MODEL", "gpt-5-mini"), int(os.environ.get("WINDOW", "200000"))
SYSTEM = "You read code, and answer in short sentences."
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = {"type": "function", "function": {"name": "read_file", "parameters": PATH}}


def read_file(arguments: str) -> str:
    try:
        return Path(json.loads(arguments)["path"]).read_text()
    except (OSError, ValueError, KeyError) as error:
        return f"error: {error!r}"


ask, own, usage = OpenAI().chat.completions.create, Path("conversation.json"), None
session = Session("agent.db", "follow-agent", model=MODEL, context_length=WINDOW)
history = json.loads(own.read_text()) if own.exists() else [{"role": "system", "content": SYSTEM}]
history = [*repair(history).messages, {"role": "user", "content": sys.argv[1]}]
while history[-1]["role"] != "assistant":
    request = {"model": MODEL, "messages": history, "tools": [READ, *session.tools()]}
    answer = ask(**session.follow(request=request, usage=usage).body)
    message, usage = answer.choices[0].message, answer.usage
    history.append(message.model_dump(exclude_unset=True))
    own.write_text(json.dumps(history))
    for call in message.tool_calls or []:
        name, arguments = call.function.name, call.function.arguments
        said = read_file(arguments) if name == "read_file" else session.call(name, arguments)
        history.append({"role": "tool", "tool_call_id": call.id, "content": said})
print(history[-1]["content"])
