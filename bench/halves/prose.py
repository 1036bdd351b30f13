"""A stub for a model that writes: prose of the length it may have, that names nothing.

The worst a harmless model can do to the scores: it takes all of its room and tells no fact. The
sentences differ, so that none falls away as a repetition.
"""

from __future__ import annotations

import json

from foldaway._core.ports import SummaryAnswer, SummaryRequest

_WHO = ("The agent", "Someone", "The helper", "The program", "The worker")
_DID = ("looked at", "went through", "thought about", "compared", "described", "noted", "weighed")
_WHAT = ("several places", "the earlier findings", "many details", "other ways", "old notes",
         "small questions", "the wording", "some parts", "the general shape")  # fmt: skip
_HOW = ("with care", "at length", "once more", "in passing", "step by step", "side by side",
        "without hurry", "as before")  # fmt: skip


class EmptyProse:
    """Writes until its room is full, and names nothing."""

    name = "stub:empty-prose"
    context_length = 128_000

    def summarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        """Return as many sentences as fit."""
        del timeout
        rows: list[dict[str, str]] = []
        room = request.max_tokens * 3
        for number in range(len(_WHO) * len(_DID) * len(_WHAT) * len(_HOW)):
            who, rest = _WHO[number % len(_WHO)], number // len(_WHO)
            did, rest = _DID[rest % len(_DID)], rest // len(_DID)
            what, rest = _WHAT[rest % len(_WHAT)], rest // len(_WHAT)
            text = f"{who} {did} {what} {_HOW[rest % len(_HOW)]}."
            room -= len(text) + 30
            if room < 0:
                break
            rows.append({"text": text, "source": ""})
        half = len(rows) // 2
        return SummaryAnswer(text=json.dumps({"completed": rows[:half], "critical": rows[half:]}))

    async def asummarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        """Return the same."""
        return self.summarize(request, timeout)
