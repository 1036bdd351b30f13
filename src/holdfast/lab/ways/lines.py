"""Plain cuts over lines: what any method has to beat.

They keep whole lines, filled to the budget; a line of more than 400 characters is parted at a
comma or space first, so that one long JSON line does not starve them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from zlib import crc32

from holdfast.lab.scoring.facts import facts_in
from holdfast.lab.scoring.render import render, render_all, spoken
from holdfast.lab.scoring.session import Message
from holdfast.lab.scoring.shown import Shown
from holdfast.lab.ways.way import shown_text
from holdfast.tokens.estimate import estimate_text

_LONG_LINE = 400
LEFT_OUT = "[…]"


def head_and_tail(messages: Sequence[Message], budget_tokens: int) -> Shown:
    """Keep the first and the last lines, half of the budget each."""
    lines = lines_of(messages)
    head = _most(len(lines), budget_tokens // 2, lambda count: _joined(lines[:count]))

    def with_tail(count: int) -> str:
        return _joined([*lines[:head], LEFT_OUT, *lines[len(lines) - count :]])

    tail = _most(len(lines) - head, budget_tokens, with_tail)
    return shown_text(with_tail(tail) if head + tail < len(lines) else _joined(lines))


def keep_tail(messages: Sequence[Message], budget_tokens: int) -> Shown:
    """Keep the last lines."""
    lines = lines_of(messages)

    def last(count: int) -> str:
        return _joined(lines[len(lines) - count :])

    return shown_text(last(_most(len(lines), budget_tokens, last)))


def random_lines(messages: Sequence[Message], budget_tokens: int) -> Shown:
    """Keep lines drawn at random, in their order, each text once."""
    lines = list(dict.fromkeys(line for line in lines_of(messages) if line.strip()))
    order = list(range(len(lines)))
    random.Random(crc32(_joined(lines[:50]).encode(errors="replace"))).shuffle(order)

    def drawn(count: int) -> str:
        return _joined([lines[index] for index in sorted(order[:count])])

    return shown_text(drawn(_most(len(lines), budget_tokens, drawn)))


def one_liners(messages: Sequence[Message], budget_tokens: int) -> Shown:
    """Keep the first line of every message, clipped, the newest ones where not all fit."""
    lines = [_first_line(message) for message in spoken(messages)]

    def last(count: int) -> str:
        return _joined(lines[len(lines) - count :])

    return shown_text(last(_most(len(lines), budget_tokens, last)))


def bare_list(messages: Sequence[Message], budget_tokens: int) -> Shown:
    """Keep facts alone, those of most messages first: plain recall is easily gamed."""
    counts: Counter[str] = Counter()
    for message in spoken(messages):
        counts.update(sorted(facts_in(render(message))))
    ranked = [fact for fact, _ in counts.most_common()]

    def first(count: int) -> str:
        return _joined(ranked[:count])

    return shown_text(first(_most(len(ranked), budget_tokens, first)))


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


def _first_line(message: Message) -> str:
    label, _, text = render(message).partition("\n")
    line = next((line for line in text.split("\n") if line.strip()), "")
    return f"{label} {line.strip()}"[:_LONG_LINE]


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
