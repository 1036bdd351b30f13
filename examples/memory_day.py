"""A day of a host with memory: two sessions, compactions, a restart, and memory used again.

    python examples/memory_day.py

The model is a stub that follows a script, since none can run here; all else is real.
"""

import tempfile
from pathlib import Path

from foldaway import open_memory, open_store
from foldaway.sessions import Chat

FILLING = "Here is another paragraph of the manual, to be read and put aside. " * 30
NOTE = {"action": "add", "target": "user", "content": "Likes short answers."}


def stub_model(messages: list[dict[str, str]]) -> str:
    """Answer from what stands in the request, as a model would."""
    if "Which port" not in messages[-1]["content"]:
        return "Understood."
    return "Port 5433." if "5433" in str(messages) else "I do not know."


def turn(chat: Chat, text: str) -> str:
    answer = stub_model(chat.ask(text))
    report = chat.reply(answer)
    if report.status == "compacted":
        print(f"  compacted: {report.tokens_before:,} -> {report.tokens_after:,} tokens")
    return answer


def work(home: Path, title: str, *texts: str) -> None:
    """Do a session as a process of its own would: store and memory are opened anew."""
    print(title)
    with open_store(home / "sessions.db") as store:
        memory = open_memory(store, environment={"FOLDAWAY_HOME": str(home)})
        with Chat(store, memory, system="You are a careful agent.", context_length=8_000) as chat:
            answers = [turn(chat, text) for text in texts]
            print("  answer:", answers[-1])
            if title == "morning":
                chat.call("memory", NOTE)
            print("  system prompt ends:", chat.session.messages[0]["content"].splitlines()[-1])
        memory.close()


with tempfile.TemporaryDirectory() as folder:
    told = "The staging database listens on port 5433. Keep that in mind."
    work(Path(folder), "morning", told, *[FILLING] * 40, "Which port has the database?")
    work(Path(folder), "afternoon", "Which port has the staging database?")
