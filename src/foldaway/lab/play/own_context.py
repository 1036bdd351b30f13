"""The context that Foldaway makes, with the tools by which an agent gets back what was folded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from foldaway._core import Policy, Saving
from foldaway.engine import TOOLS, Compressor, Model
from foldaway.lab.play.contexts import DIALECT, LiveContext, Wire, measure
from foldaway.lab.play.task import TaskCall, TaskTool
from foldaway.lab.replay import Piece, ReplayTerms

_PLACE = re.compile(r"\[?m(\d+)\]?")


class OwnContext(LiveContext):
    """The real compressor, which decides before each request as the gateway does."""

    own_tools = tuple(TaskTool(**tool) for tool in TOOLS)

    def __init__(
        self, tools: Sequence[TaskTool], terms: ReplayTerms, save: Saving = "normal"
    ) -> None:
        """Take how early a compaction is made to save money."""
        super().__init__(tools, terms)
        self._compressor = Compressor(
            model=Model(prices=terms.prices, cache_ttl=terms.ttl),
            context_length=terms.context_length,
            policy=Policy(save=save, arrival=Policy().follow_arrival),
            provider=DIALECT,
            tools=self.tools,
            clock=lambda: 0.0,  # nobody pauses in a play
        )
        self._compressor.take_outside(self.prompt.outside_tokens)
        self._sizes: dict[int, Piece] = {}

    def take(self, messages: Sequence[Wire]) -> None:
        """Take what was said, as it is shown from its arrival on."""
        self._compressor.append(*messages)
        shown = self._compressor.messages[-len(messages) :]
        self.prompt.extend(self._pieces(shown))

    def _shrink(self) -> bool:
        compressor = self._compressor
        is_due = compressor.weigh().acts
        report = compressor.compact() if is_due else None
        compressor.note_use()
        if report is None or report.status == "unchanged":
            return False
        self.prompt.replace(self._pieces(compressor.messages))
        return True

    def _pieces(self, messages: Sequence[Any]) -> list[Piece]:
        """Return messages with their tokens; each is measured once."""
        for wire in messages:
            if id(wire) not in self._sizes:
                self._sizes[id(wire)] = wire, measure(wire)  # keeps it, so no other gets its id
        return [self._sizes[id(wire)] for wire in messages]

    def answer(self, call: TaskCall) -> str | None:
        """Answer the tools that bring folded messages back."""
        if all(call.name != tool.name for tool in self.own_tools):
            return None
        conversation = self._compressor.conversation
        return conversation.answer_tool(call.name, call.arguments, self._recall)

    def _recall(self, reference: str) -> list[Any]:
        """Return the originals behind a reference, or the message at a place such as m12."""
        place = _PLACE.fullmatch(reference)
        if place is not None and int(place[1]) < self._compressor.length:
            return [self._compressor.log.messages[int(place[1])].wire]
        return self._compressor.conversation.recall(reference)


class OwnContextWithoutRecall(OwnContext):
    """The same for agents that have no tool to bring anything back."""

    own_tools = ()
