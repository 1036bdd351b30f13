"""One play: a task, a player and a context, request by request, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway.caching import Bill
from foldaway.lab.play.contexts import LiveContext, Wire, measure
from foldaway.lab.play.task import Player, PlayerTurn, Request, Task, TaskCall

MOST_STEPS = 2.5
"""A play ends after this many times the requests that its task takes with everything in view: who
looks at most things twice is not lost yet. Chosen."""

Ending: TypeAlias = Literal["done", "out of steps", "did not fit", "no answer"]
"""`done`: the person has nothing more to say; `did not fit`: the prompt was over our window or
that of the server;
`no answer`: the model could not be asked."""


class Played(Struct, frozen=True, kw_only=True):
    """What came of one play."""

    task: str
    family: str
    strategy: str
    ending: Ending
    goals: int
    missed: tuple[str, ...]
    """Those that were not met at the end."""
    steps: int
    """Requests."""
    bill: Bill
    """Of all requests, those for summaries by a model included."""
    compactions: int
    recalls: int
    """Calls of the tools that bring back what was folded."""
    wrong: int
    wrong_after: int
    """Of the wrong actions, those after the first compaction."""
    why: str = ""
    """Why the model could not be asked, and what to do."""

    @property
    def is_solved(self) -> bool:
        """Whether all that had to be true at the end was; a play that was cut short is not."""
        return self.ending == "done" and not self.missed

    @property
    def is_counted(self) -> bool:
        """Whether it says anything of its strategy: a network that failed does not."""
        return self.ending != "no answer"


class PlayerUnreachable(Exception):
    """A player that cannot be asked; its text says why and what to do."""


class RequestTooLong(Exception):
    """A request that the player's server refused because of its length."""


def play(strategy: str, task: Task, player: Player, context: LiveContext) -> Played:
    """Return what comes of a task when `player` sees of it what `context` shows."""
    game, why = _Game(task, context), ""
    ending: Ending = "out of steps"
    while game.steps < MOST_STEPS * task.steps:
        try:
            request = game.prepare()
            if context.prompt.tokens > context.terms.context_length:
                ending = "did not fit"
                break
            turn = player.act(request)
        except RequestTooLong:
            ending = "did not fit"
            break
        except PlayerUnreachable as error:
            ending, why = "no answer", str(error)
            break
        if not game.go_on(turn):
            ending = "done"
            break
    return game.result(strategy, ending, why)


class _Game:
    """A play as far as it has come."""

    def __init__(self, task: Task, context: LiveContext) -> None:
        self._task, self._context = task, context
        self._world = task.start()
        self._said: list[Wire] = [
            {"role": "system", "content": task.system},
            {"role": "user", "content": task.opening},
        ]
        self.steps = self._recalls = 0
        self._wrong_before: int | None = None

    def prepare(self) -> Request:
        """Return the next request."""
        context = self._context
        context.take(self._said)
        context.prepare()
        if self._wrong_before is None and context.compactions:
            self._wrong_before = self._world.wrong
        return Request(context.messages, context.tools)

    def go_on(self, turn: PlayerTurn) -> bool:
        """Take a turn and do what it says; return whether there is anything more to do."""
        answer = as_message(turn, self.steps)
        self._context.sent.send(measure(answer))
        self._context.take([answer])
        self.steps += 1
        if turn.calls:
            self._said = [
                {"role": "tool", "tool_call_id": made["id"], "content": self._call(call)}
                for call, made in zip(turn.calls, answer["tool_calls"], strict=True)
            ]
            return True
        asked = self._world.hear(turn.text)
        self._said = [{"role": "user", "content": asked}]
        return asked is not None

    def _call(self, call: TaskCall) -> str:
        own = self._context.answer(call)
        self._recalls += own is not None
        return self._world.call(call) if own is None else own

    def result(self, strategy: str, ending: Ending, why: str) -> Played:
        """Return what came of it."""
        world, context, before = self._world, self._context, self._wrong_before
        goals = world.goals()
        return Played(
            task=self._task.name,
            family=self._task.family,
            strategy=strategy,
            ending=ending,
            goals=len(goals),
            missed=tuple(goal.name for goal in goals if not goal.is_met),
            steps=self.steps,
            bill=context.sent.total + context.summaries,
            compactions=context.compactions,
            recalls=self._recalls,
            wrong=world.wrong,
            wrong_after=0 if before is None else world.wrong - before,
            why=why,
        )


def as_message(turn: PlayerTurn, step: int) -> Wire:
    """Return a turn as the message of an agent; ids of calls are its step and their place."""
    if not turn.calls:
        return {"role": "assistant", "content": turn.text or "(no words)"}
    return {
        "role": "assistant",
        "content": turn.text or None,
        "tool_calls": _calls(turn.calls, step),
    }


def _calls(calls: Sequence[TaskCall], step: int) -> list[Wire]:
    return [
        {
            "id": f"call_{step}_{at}",
            "type": "function",
            "function": {
                "name": call.name,
                "arguments": json.dumps(call.arguments, ensure_ascii=False),
            },
        }
        for at, call in enumerate(calls)
    ]
