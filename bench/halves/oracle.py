"""An oracle: lines chosen by what the agent needs after the cut, and by the questions asked.

It looks at what follows, which no strategy can, and is a ceiling for the others: at least so much
can be kept in as many tokens. It is greedy, so even more may be possible. All of its lines are from
before the cut.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from foldaway.lab.scoring.facts import is_bound, places
from foldaway.lab.scoring.needed import Elsewhere, NeededFact, prepare
from foldaway.lab.scoring.questions import Question, is_answered
from foldaway.lab.scoring.score import CutCase, case_at
from foldaway.lab.scoring.session import JudgedView, LabSession, Message, without_system
from foldaway.lab.scoring.signals import to_line
from foldaway.lab.strategies import Strategy, lines_of, text_view
from foldaway.transcript.estimate import estimate_text

_MENTIONS = 8
"""Places of a fact or an answer that are tried."""
_REACH_LINES = 12
"""How many lines on either side of an answer its cue is looked for in."""


def oracle_of(session: LabSession, elsewhere: Elsewhere) -> Strategy:
    """Return the oracle of one session; it knows nothing of others."""
    prepared = prepare(session)

    @lru_cache(maxsize=1)
    def ordered(cut: int) -> tuple[list[str], list[range]]:
        case = case_at(prepared, cut, elsewhere)
        lines = lines_of(case.messages)
        return lines, best_first(case, lines)

    def shrink(messages: Sequence[Message], budget_tokens: int) -> JudgedView:
        lines, spans = ordered(len(without_system(messages)))
        newest = [range(at, at + 1) for at in reversed(range(len(lines)))]
        picks = [*spans, *newest]

        def text_of(count: int) -> str:
            kept = sorted({at for span in picks[:count] for at in span})
            return "\n".join(lines[at] for at in kept)

        counts = range(1, len(picks) + 1)
        return text_view(text_of(
            bisect_right(counts, budget_tokens, key=lambda some: estimate_text(text_of(some)))
        ))  # fmt: skip

    return Strategy("oracle", "oracle", "lines by what follows the cut: a ceiling", shrink)


def best_first(case: CutCase, lines: Sequence[str]) -> list[range]:
    """Return runs of lines, those that hold most of what is needed per token first."""
    holds: dict[range, set[int]] = {}
    among = _Places(lines)
    for number, item in enumerate([*case.facts, *case.questions]):
        for span in among.of(item):
            holds.setdefault(span, set()).add(number)
    sizes = [estimate_text(line) + 1 for line in lines]
    done, taken, found = set[int](), set[int](), list[range]()
    while holds:
        best = max(holds, key=lambda span: (
            len(holds[span]) / (sum(sizes[at] for at in span if at not in taken) or 0.5), -span[0]
        ))  # fmt: skip
        found.append(best)
        taken.update(best)
        done |= holds[best]
        holds = {span: left for span, items in holds.items() if (left := items - done)}
    return found


class _Places:
    """Where facts and answers are among the lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        parts = [to_line(line) for line in lines]
        self.lines, self.flat = lines, " ".join(parts)
        self.starts = [0, *accumulate(len(part) + 1 for part in parts)]

    def of(self, item: NeededFact | Question) -> Iterator[range]:
        """Yield the lines that hold an item: a fact beside its words, an answer beside its cue."""
        if isinstance(item, Question):
            for span in self._mentions(item.answer):
                if (wider := self._with_cue(span, item)) is not None:
                    yield wider
            return
        mentions = list(self._mentions(item.text))
        bound = [span for span in mentions if is_bound(self._text(span), item.text, item.contexts)]
        yield from bound or mentions

    def _mentions(self, text: str) -> Iterator[range]:
        for at in places(self.flat, text, _MENTIONS):
            first = bisect_right(self.starts, at) - 1
            yield range(first, bisect_right(self.starts, at + len(text) - 1))

    def _with_cue(self, span: range, question: Question) -> range | None:
        for more in range(_REACH_LINES + 1):
            first, stop = max(span.start - more, 0), min(span.stop + more, len(self.lines))
            for wider in (range(first, span.stop), range(span.start, stop), range(first, stop)):
                if is_answered(to_line(self._text(wider)), question):
                    return wider
        return None

    def _text(self, span: range) -> str:
        return "\n".join(self.lines[at] for at in span)
