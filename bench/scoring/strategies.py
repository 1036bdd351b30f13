"""Ways to make a history small: Holdfast, and what it has to beat.

A strategy takes the messages before the cut and a number of tokens and gives back what the model
would see. Baselines keep whole lines, filled to the budget; a line of more than 400 characters is
parted at a comma or space first, so that one long JSON line does not starve them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zlib import crc32

import holdfast
from holdfast.engine.oneshot import Compressed
from holdfast.ports import Summarizer
from holdfast.tokens.estimate import estimate_text
from scoring.facts import facts_in
from scoring.render import is_system, render, render_all, spoken
from scoring.sessions import Message

_LONG_LINE = 400
_SMALL_WINDOW, _LARGE_WINDOW = 200_000, 1_000_000
LEFT_OUT = "[…]"
SUMMARIZERS: list[Summarizer] = []
"""Who writes the prose of Holdfast's summaries; nobody, unless one was put here."""


@dataclass(frozen=True)
class Shown:
    """What a strategy leaves: its text, and where it has them its messages."""

    text: str
    tokens: int
    messages: tuple[Message, ...] = ()
    compressed: Compressed | None = None


Strategy = Callable[[Sequence[Message], int], Shown]


def by_holdfast(messages: Sequence[Message], budget_tokens: int) -> Shown:
    """Compress to the budget; the system prompt stands outside it, the note put there does not."""
    prompt = render_all(message for message in messages if is_system(message))
    total = estimate_text(render_all(messages))
    outside = estimate_text(prompt) if prompt else 0
    window = _SMALL_WINDOW if total < _SMALL_WINDOW else _LARGE_WINDOW
    done = holdfast.compress(
        list(messages), target_tokens=outside + budget_tokens, context_length=window,
        summarizer=SUMMARIZERS[0] if SUMMARIZERS else None,
    )  # fmt: skip
    view: list[Message] = list(done.messages)
    grown = estimate_text(render_all(filter(is_system, view))) - outside
    text = render_all(spoken(view))
    return Shown(text, estimate_text(text) + max(grown, 0), tuple(view), done)


def head_and_tail(messages: Sequence[Message], budget_tokens: int) -> Shown:
    """Keep the first and the last lines, half of the budget each."""
    lines = lines_of(messages)
    head = _most(len(lines), budget_tokens // 2, lambda count: _joined(lines[:count]))

    def with_tail(count: int) -> str:
        return _joined([*lines[:head], LEFT_OUT, *lines[len(lines) - count :]])

    tail = _most(len(lines) - head, budget_tokens, with_tail)
    return _shown(with_tail(tail) if head + tail < len(lines) else _joined(lines))


def keep_tail(messages: Sequence[Message], budget_tokens: int) -> Shown:
    """Keep the last lines."""
    lines = lines_of(messages)

    def last(count: int) -> str:
        return _joined(lines[len(lines) - count :])

    return _shown(last(_most(len(lines), budget_tokens, last)))


def random_lines(messages: Sequence[Message], budget_tokens: int) -> Shown:
    """Keep lines drawn at random, in their order, each text once."""
    lines = list(dict.fromkeys(line for line in lines_of(messages) if line.strip()))
    order = list(range(len(lines)))
    random.Random(crc32(_joined(lines[:50]).encode(errors="replace"))).shuffle(order)

    def drawn(count: int) -> str:
        return _joined([lines[index] for index in sorted(order[:count])])

    return _shown(drawn(_most(len(lines), budget_tokens, drawn)))


def bare_list(messages: Sequence[Message], budget_tokens: int) -> Shown:
    """Keep facts alone, those of most messages first: plain recall is easily gamed."""
    counts: Counter[str] = Counter()
    for message in spoken(messages):
        counts.update(sorted(facts_in(render(message))))
    ranked = [fact for fact, _ in counts.most_common()]

    def first(count: int) -> str:
        return _joined(ranked[:count])

    return _shown(first(_most(len(ranked), budget_tokens, first)))


FIRST = "holdfast"
STRATEGIES: dict[str, Strategy] = {
    FIRST: by_holdfast,
    "head + tail": head_and_tail,
    "keep tail": keep_tail,
    "random lines": random_lines,
    "bare list": bare_list,
}


def lines_of(messages: Sequence[Message]) -> list[str]:
    """Return the lines of the messages, very long ones in parts."""
    found: list[str] = []
    for line in render_all(spoken(messages)).split("\n"):
        while len(line) > _LONG_LINE:
            at = max(line.rfind(", ", 0, _LONG_LINE), line.rfind(" ", _LONG_LINE // 2, _LONG_LINE))
            at = at + 1 if at > 0 else _LONG_LINE
            found.append(line[:at])
            line = line[at:]
        found.append(line)
    return found


def _most(count: int, budget_tokens: int, text_of: Callable[[int], str]) -> int:
    """Return how many lines fit into a budget; `text_of` gives the text with so many."""
    low, high = 0, min(count, max(budget_tokens, 0) * 4)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_text(text_of(middle)) <= budget_tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines)


def _shown(text: str) -> Shown:
    return Shown(text, estimate_text(text))
