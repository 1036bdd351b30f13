"""A host that keeps its own list: the session follows it, and says what to send instead.

OPENAI_API_KEY=… python examples/agent_follow.py "What do the modules in this folder do?"
"""

import json
import os
import sys
from pathlib import Path

from openai import OpenAI

from foldaway import Session, repair

MODEL, WINDOW = os.environ.get("MODEL", "gpt-5-mini"), int(os.environ.get("WINDOW", "200000"))
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = {"type": "function", "function": {"name": "read_file", "parameters": PATH}}
OWN = Path("conversation.json")


def read_file(arguments: str) -> str:
    try:
        return Path(json.loads(arguments)["path"]).read_text()
    except (OSError, ValueError, KeyError) as error:
        return f"error: {error!r}"


client = OpenAI()
session = Session("agent.db", "follow-agent", context_length=WINDOW, on_error="pass")
history = repair(json.loads(OWN.read_text())).messages if OWN.exists() else []
history.append({"role": "user", "content": sys.argv[1]})
usage = None
while True:
    request = {"model": MODEL, "messages": history, "tools": [READ, *session.tools()]}
    answer = client.chat.completions.create(**session.follow(request=request, usage=usage).body)
    usage = answer.usage
    history.append(answer.choices[0].message.model_dump(exclude_unset=True))
    OWN.write_text(json.dumps(history))
    calls = answer.choices[0].message.tool_calls or []
    if not calls:
        break
    for call in calls:
        if call.function.name == "read_file":
            said = read_file(call.function.arguments)
        else:
            said = session.call(call.function.name, call.function.arguments)
        history.append({"role": "tool", "tool_call_id": call.id, "content": said})
print(answer.choices[0].message.content)
