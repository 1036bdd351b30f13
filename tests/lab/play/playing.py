"""A play with everything in view, and what it shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from foldaway.lab.play.scripted import Scripted
from foldaway.lab.play.task import Player, Request, Task, World

Message = dict[str, Any]


class Played(Struct, frozen=True):
    """How a play ended."""

    world: World
    messages: Sequence[Message]
    requests: int

    @property
    def unmet(self) -> list[str]:
        """The goals that are not met."""
        return [one.name for one in self.world.goals() if not one.is_met]


def play(
    task: Task,
    player: Player | None = None,
    shown: Callable[[list[Message]], Sequence[Message]] = lambda messages: messages,
    most: int = 2000,
) -> Played:
    """Play a task; `shown` is what of the conversation is sent."""
    player, world, count = player or Scripted(task), task.start(), 0
    messages: list[Message] = [
        {"role": "system", "content": task.system},
        {"role": "user", "content": task.opening},
    ]
    tools = [
        {"type": "function", "function": {"name": one.name, "parameters": one.parameters}}
        for one in task.tools
    ]
    for count in range(1, most + 1):
        turn = player.act(Request(shown(messages), tools))
        said: Message = {"role": "assistant", "content": turn.text or None}
        if turn.calls:
            said["tool_calls"] = [
                {
                    "id": f"call_{count}_{at}",
                    "type": "function",
                    "function": {"name": one.name, "arguments": json.dumps(one.arguments)},
                }
                for at, one in enumerate(turn.calls)
            ]
        messages.append(said)
        for at, one in enumerate(turn.calls):
            messages.append(
                {"role": "tool", "tool_call_id": f"call_{count}_{at}", "content": world.call(one)}
            )
        if not turn.calls:
            answer = world.hear(turn.text)
            if answer is None:
                break
            messages.append({"role": "user", "content": answer})
    return Played(world, messages, count)
