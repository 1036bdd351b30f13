"""What a compaction asks of a log: sizes, groups, anchors, facts, short forms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from foldaway.compaction.arrival import ShortResult
from foldaway.compaction.measure import Costs, by_category
from foldaway.compaction.partition import Anchors
from foldaway.facts import LINES_OF_CHARS, FactReader, LogReading, terms_of
from foldaway.transcript import Groups, Message, Part, Text, ToolCall, ToolResult, View

_LINES_PER_TOKEN = 5
"""Where a large size was asked for, so many characters for each of its tokens: the room of a
summary that could hold more than the end of the log is not left empty."""
_TERMS_SHOWN = 200
"""Terms of one kept message that count as still shown; chosen, so that a pasted document does not
hide everything."""


def terms_in_parts(parts: Iterable[Part]) -> list[str]:
    """Return names, paths and numbers in what the parts of a message show."""
    found: list[str] = []
    for part in parts:
        match part:
            case Text(text=text):
                found.extend(terms_of(text, _TERMS_SHOWN))
            case ToolCall(arguments=text):
                found.extend(terms_of(text, _TERMS_SHOWN))
            case ToolResult(parts=inner):
                for one in inner:
                    if isinstance(one, Text):
                        found.extend(terms_of(one.text, _TERMS_SHOWN))
            case _:
                pass
    return found


class LogIndex(FactReader, ABC):
    """What is known of a log, read when a compaction first asks for it and kept from then on."""

    costs: Costs
    """The tokens by position."""
    groups: Groups
    """The units that a cut may separate."""
    anchors: Anchors
    """What is never folded."""

    def terms(self, at: int) -> Iterable[str]:
        """Return names, paths and numbers in one message."""
        return terms_in_parts(self._log[at].parts)

    @abstractmethod
    def count_shown(self) -> dict[str, int]:
        """Return the tokens of what the model sees now, by category."""

    def find_form(self, at: int) -> ShortResult | None:
        """Return how one message is shown for itself, None if it stays as it came."""
        del at

    def arrives(self, at: int) -> bool:
        """Return whether one message may be shown otherwise than it came.

        All that a single run is given was sent already.
        """
        del at
        return False


class FrozenLog(LogIndex):
    """The index of a log that is read for one run."""

    def __init__(
        self, log: Sequence[Message], view: View, readings: LogReading, target_tokens: int = 0
    ) -> None:
        most = max(LINES_OF_CHARS, _LINES_PER_TOKEN * target_tokens)
        super().__init__(log, readings, lines_of=most)
        self.costs = Costs(log, readings.counter)
        self.groups = Groups(log)
        self.anchors = Anchors(log)
        self._view = view

    def count_shown(self) -> dict[str, int]:
        """Return the tokens of what the model sees now, by category; long stretches sampled."""
        return by_category(self._view, self._log, self.costs, {}, self._readings.counter)
