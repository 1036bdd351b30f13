"""What the agent of a play is sent: everything, or what a strategy leaves of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, TypeAlias

from foldaway.caching import Bill
from foldaway.compaction import message_tokens, tools_tokens
from foldaway.dialects import dialect_named
from foldaway.lab.play.task import TaskCall, TaskTool
from foldaway.lab.replay import Piece, Prompt, PromptBill, ReplayTerms
from foldaway.transcript import Estimator

Wire: TypeAlias = dict[str, Any]
"""A message of Chat Completions; nobody changes it."""
DIALECT = "openai-chat"
MASKED = "[output left out]"

MASKING_KEEPS = 10
"""Newest results that stay whole; as many as in "The Complexity Trap" (arXiv:2508.21433)."""
MASKING_BATCH = 10
"""Results that are masked at once, so that the cache breaks once for all of them: what SWE-agent
calls polling. Chosen; SWE-agent itself masks one at a time unless it is told to."""
CLEARS_FROM = 100_000
"""Tokens of the prompt; the default trigger of `clear_tool_uses_20250919` of Anthropic."""
CLEARING_KEEPS = 3
"""Newest results that stay; the default of the same."""
CLEARS_AT_LEAST = 20_000
"""Tokens that one clearing has to remove; chosen, the documented default has no such minimum."""
TAIL_FROM, TAIL_SHARE = 0.50, 0.15
"""Shares of the window: from where on the oldest messages are dropped, as ours and Hermes by their
thresholds; and what is left then, as much as a compaction of ours leaves at most."""


class LiveContext:
    """The context of one play; this one sends everything.

    A subclass changes the prompt in `_shrink`, which is called before each request.
    """

    own_tools: Sequence[TaskTool] = ()
    """Tools that the strategy adds to those of the task."""

    def __init__(self, tools: Sequence[TaskTool], terms: ReplayTerms) -> None:
        """Begin an empty conversation whose requests have these tools, and those of its own."""
        self.terms = terms
        self.tools = [as_wire(tool) for tool in (*tools, *self.own_tools)]
        self.prompt = Prompt(tools_tokens(self.tools, Estimator()), system_stop=1)
        self.sent = PromptBill(self.prompt, terms)
        self.summaries = Bill()
        """What a model cost that wrote summaries."""
        self.compactions = 0

    @property
    def messages(self) -> list[Wire]:
        """What is sent."""
        return [wire for wire, _ in self.prompt.pieces]

    def take(self, messages: Sequence[Wire]) -> None:
        """Take what was said; each message is measured once."""
        self.prompt.extend([(wire, measure(wire)) for wire in messages])

    def prepare(self) -> None:
        """Make the prompt ready for the next request."""
        self.compactions += self._shrink()

    def _shrink(self) -> bool:
        """Make the prompt smaller if that is due; return whether it was."""
        return False

    def answer(self, call: TaskCall) -> str | None:
        """Answer a call of a tool of its own; None if it has no such tool."""
        del call
        return None


def as_wire(tool: TaskTool) -> Wire:
    """Return a tool as requests declare it."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    }


def measure(wire: Wire) -> int:
    """Return the tokens of a message, by our estimate."""
    decoded = dialect_named(DIALECT).decode([wire], 0)
    return sum(message_tokens(message, Estimator()) for message in decoded)


class MaskingContext(LiveContext):
    """Masks all results but the newest, in batches."""

    def __init__(
        self,
        tools: Sequence[TaskTool],
        terms: ReplayTerms,
        *,
        keeps: int = MASKING_KEEPS,
        batch: int = MASKING_BATCH,
    ) -> None:
        """Take how many results stay, and how many are masked at once."""
        super().__init__(tools, terms)
        self._keeps, self._batch = keeps, batch
        self._whole: deque[int] = deque()

    def take(self, messages: Sequence[Wire]) -> None:
        """Take what was said, and note where its results are."""
        first = len(self.prompt.pieces)
        super().take(messages)
        self._whole.extend(at for at, one in enumerate(messages, first) if one["role"] == "tool")

    def _shrink(self) -> bool:
        if len(self._whole) < self._keeps + self._batch:
            return False
        while len(self._whole) > self._keeps:
            at = self._whole.popleft()
            self.prompt.change(at, masked(self.prompt.pieces[at]))
        return True


def masked(piece: Piece) -> Piece:
    """Return a result with a marker in place of its words; one that is shorter stays."""
    wire = {**piece[0], "content": MASKED}
    tokens = measure(wire)
    return (wire, tokens) if tokens < piece[1] else piece


class ClearingContext(MaskingContext):
    """Clears results as a provider does: on a large prompt, if enough can be cleared.

    It is billed as if the provider kept what it cleared: the cache breaks once for each clearing.
    """

    def __init__(self, tools: Sequence[TaskTool], terms: ReplayTerms) -> None:
        """Keep as many results as the provider does by default."""
        super().__init__(tools, terms, keeps=CLEARING_KEEPS, batch=1)

    def _shrink(self) -> bool:
        if self.prompt.tokens <= CLEARS_FROM:
            return False
        pieces = [self.prompt.pieces[at] for at in list(self._whole)[: -self._keeps]]
        removed = sum(piece[1] - masked(piece)[1] for piece in pieces)
        return removed >= CLEARS_AT_LEAST and super()._shrink()


class TailContext(LiveContext):
    """Drops the oldest messages when the prompt is large; the system prompt and what the person
    said first stay, so that providers take the list.
    """

    def _shrink(self) -> bool:
        window, prompt = self.terms.context_length, self.prompt
        if prompt.tokens < TAIL_FROM * window:
            return False
        head = prompt.pieces[: self.head_length]
        room = int(TAIL_SHARE * window) - prompt.outside_tokens - sum(size for _, size in head)
        cut = tail_start(prompt.pieces, room, len(head))
        if cut <= len(head):
            return False
        prompt.replace([*head, *prompt.pieces[cut:]])
        return True

    @property
    def head_length(self) -> int:
        """How many messages stay at the beginning."""
        return 2


def tail_start(pieces: Sequence[Piece], room: int, head: int, least: int = 1) -> int:
    """Return where the newest messages begin that take at most `room` tokens, `least` of them at
    least; a result is never the first.
    """
    start, used = len(pieces), 0
    while start > head:
        used += pieces[start - 1][1]
        if used > room and len(pieces) - start >= least:
            break
        start -= 1
    while start < len(pieces) and start > head and pieces[start][0]["role"] == "tool":
        start -= 1
    return start
