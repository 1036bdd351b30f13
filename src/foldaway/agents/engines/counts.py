"""What is counted of prompts: by a host, by the provider, and by the log."""

from __future__ import annotations

from typing import Literal

from foldaway._core import Budget, Reason, Report
from foldaway.engine import Compressor

_IN_VAIN: frozenset[Reason] = frozenset(
    ("cannot", "cooldown", "ineffective", "nothing to compact", "not smaller")
)
"""Reasons for which the same list would not become smaller the next time either."""


class PromptCounts:
    """Counts of a host that reports usage at every turn, and hands its list over when it is to be
    compacted.

    So a report is about messages that are not known yet: it corrects no estimates. How much of it
    is outside the messages (system prompt, tools) is a difference, taken when the list is known.
    """

    def __init__(self) -> None:
        self.prompt_tokens = 0
        """What the provider counted last."""
        self.is_awaited = False
        """Whether a compaction was made that the provider has not counted yet."""
        self.in_vain_at = 0
        """The size of a list that could not be made smaller, 0 if the last one could."""
        self._counted: Literal["", "list", "result"] = ""
        """What the last count was of: a list that is handed over later, or our last result."""
        self._outside_tokens = 0
        self._rough_tokens, self._rough_error = 0, 0

    def take(self, prompt_tokens: int, engine: Compressor) -> None:
        """Take what the provider counted for the last call."""
        engine.note_use()
        if self._counted == "result":
            self._note_outside(prompt_tokens - engine.log.shown.tokens, engine)
        self._counted = "list"
        if self._rough_tokens:
            self._rough_error = self._rough_tokens - prompt_tokens
        self.prompt_tokens = prompt_tokens

    def _note_outside(self, tokens: int, engine: Compressor) -> None:
        self._outside_tokens = max(tokens, 0)
        engine.take_outside(self._outside_tokens)

    def correct(self, said: int | None) -> int | None:
        """Return a host's figure for the next prompt. If it is an estimate of its own, it is as
        wrong as the last one, which the provider has counted since.
        """
        if said is None or said == self.prompt_tokens:
            return said
        return max(said - self._rough_error, 0)

    def is_doubtful(self, rough_tokens: int, threshold_tokens: int) -> bool:
        """Return whether an estimate is over the threshold, and the provider's count is not, or
        has yet to come.
        """
        self._rough_tokens = rough_tokens
        if rough_tokens < threshold_tokens:
            return False
        tokens = self.correct(rough_tokens) or 0
        return self.is_awaited or (bool(self.prompt_tokens) and tokens < threshold_tokens)

    def measure(self, said: int | None, engine: Compressor) -> int | None:
        """Return the tokens of the list that was handed over: what the provider counted last, and
        what came since the answer to that. What it counted beside the messages is outside of them.
        """
        said = self.correct(said)
        if self._counted != "list":
            self._note_outside(self._outside_tokens, engine)
            return said
        log, at = engine.log, engine.length
        answers = (one for one in range(at - 1, -1, -1) if log.messages[one].role == "assistant")
        newer = sum(log.tokens[next(answers, at) :])
        self._note_outside(self.prompt_tokens - (log.shown.tokens - newer), engine)
        return max(said or 0, self.prompt_tokens + newer)

    def note_run(self, report: Report, *, is_sent: bool) -> None:
        """Note what a compaction came to, and whether its result is sent from now on."""
        self.in_vain_at = report.prompt_tokens if report.reason in _IN_VAIN else 0
        if is_sent:
            self._counted = "result"

    def is_in_vain(self, tokens: int, budget: Budget) -> bool:
        """Return whether the last compaction was in vain, and little has come since."""
        enough = self.in_vain_at + budget.tail_tokens
        return self.in_vain_at > 0 and tokens < min(enough, budget.effective_window)
