"""A bot for two people, written from docs/hosts.md alone."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from foldaway import Policy, Session, check, open_store
from foldaway.commands import Commands, as_text
from foldaway.sessions import Hooks, erase_words
from foldaway.stores import Store


class Bot:
    """Answers lines of people: commands, tasks for a subagent, and what goes to a model."""

    def __init__(self, store: Store, model: Any) -> None:
        self.store, self.model, self.told = store, model, list[tuple[str, str]]()

    def hear(self, person: str, line: str) -> str:
        """Return the answer to one line of a person."""
        session = Session(
            self.store,
            person,
            context_length=16_000,
            policy=Policy(floor_tokens=500),
            hooks=Hooks(event=lambda event: self.told.append((person, event.kind))),
        )
        if line == "/forget":
            done = erase_words(self.store, person=person)
            return "nothing of it is left" if done.proof and not done.proof.left else "not all"
        if Commands.is_command(line):
            own = {"forget": "Erase all that you said.", "task": "Give a task to a subagent."}
            if not line.startswith("/task "):
                return as_text(Commands(session, own=own).run(line))
            child = session.delegate(line.removeprefix("/task "), budget=0.5)
            child.append(self.model(child.messages))
            words = child.messages[-1]["content"]
            return f"{words} ({session.take_result(child, words)})"
        asked = {"role": "user", "content": line}
        session.compact(before=asked)
        session.append(asked)
        session.append(session.send(self.model))
        return session.messages[-1]["content"]


def test_a_bot_for_two_people_in_forty_lines(tmp_path: Path) -> None:
    """Commands, a branch, a subagent and erasure; nobody reaches what the other one said."""
    sent: list[Any] = []

    def model(messages: list[Any]) -> dict[str, Any]:
        sent.append(messages)
        return {"role": "assistant", "content": f"I heard {len(messages)} messages. " + "so " * 300}

    assert len(inspect.getsource(Bot).splitlines()) <= 40
    with open_store(tmp_path) as store:
        bot = Bot(store, model)
        bot.hear("ann", "My word is xylophone.")
        for number in range(30):
            for person in ("ann", "bob"):
                bot.hear(person, f"{person} asks question {number}: " + "why " * 200)
        assert not any(check(messages) for messages in sent)
        assert {person for person, kind in bot.told if kind == "compacted"} == {"ann", "bob"}
        assert "ann asks" not in bot.hear("bob", "/export")
        assert "1 place" in bot.hear("ann", "/search xylophone")
        assert "nothing was found" in bot.hear("bob", "/search xylophone")
        assert bot.hear("ann", "/compress keep 3").startswith(tuple("0123456789"))
        assert "You are in a branch" in bot.hear("ann", "/branch second try")
        bot.hear("ann", "Only in the branch.")
        assert "second try" in bot.hear("ann", "/title")
        reference = bot.hear("ann", "/task Find the slow query.").rpartition("(")[2].rstrip(")")
        assert "Find the slow query." in bot.hear("ann", f"/recall {reference}")
        assert "/forget" in bot.hear("bob", "/help")
        assert bot.hear("ann", "/forget") == "nothing of it is left"
        assert "nothing was said yet" in bot.hear("ann", "/export")
        assert "bob asks question 0" in bot.hear("bob", "/export")
