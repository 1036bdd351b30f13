"""Strategies that make a history small: Foldaway, plain cuts to beat, an adversary."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias
from zlib import crc32

from msgspec import Struct

from foldaway._core import Summarizer
from foldaway.engine import Compressed, compress
from foldaway.errors import FoldawayError, UnknownName
from foldaway.facts import summary_body
from foldaway.lab.results import BARE_LIST, BASE, OURS
from foldaway.lab.scoring.facts import facts_in
from foldaway.lab.scoring.session import (
    JudgedView,
    Message,
    content_text,
    decode_arguments,
    is_system,
    render,
    render_all,
    text_parts,
    without_system,
)
from foldaway.summarizers import Writers
from foldaway.transcript import estimate_text

Shrink: TypeAlias = Callable[[Sequence[Message], int], JudgedView]
"""Takes the messages before the cut and a number of tokens; gives what the model would see."""

StrategyKind: TypeAlias = Literal["ours", "plain", "adversary", "oracle", "peer", "own"]
"""`plain` keeps usable text; an `adversary` is there to show that a score can be gamed; an `oracle`
looks at what follows and is a ceiling; a `peer` is another tool, which `bench/lab.py` brings along;
`own` is what the agent of the session wrote itself."""
_LONG_LINE = 400
"""Characters. A longer line is parted, so that one line of JSON does not starve a plain cut."""
LEFT_OUT = "[…]"
PLACEHOLDER = "[output left out]"
_LONG_ARGUMENT = 200
"""Characters. Masking cuts what is longer: the text of a file that was written, mostly."""
_SMALL_WINDOW, _LARGE_WINDOW = 200_000, 1_000_000
"""Tokens of the usual windows of models; the large one for what the small one cannot hold."""


class Strategy(Struct, frozen=True):
    """A strategy of the lab; `keeps_budget` is false if it takes what it takes."""

    name: str
    kind: StrategyKind
    what: str
    shrink: Shrink
    keeps_budget: bool = True
    shrink_for: Callable[[Any, int, str], Any] | None = None
    """Makes the view for one provider, from messages in its dialect; None: it knows no providers.
    """


def text_view(text: str) -> JudgedView:
    """Return a view that is one text."""
    return JudgedView(text=text, tokens=estimate_text(text))


def message_view(messages: Sequence[Message]) -> JudgedView:
    """Return a view that is a message list; its system prompt is outside the budget."""
    text = render_all(without_system(messages))
    return JudgedView(text=text, tokens=estimate_text(text), messages=tuple(messages))


def head_and_tail(messages: Sequence[Message], budget_tokens: int) -> JudgedView:
    """Keep the first and the last lines, half of the budget each."""
    lines = lines_of(messages)
    head = _count_fitting(len(lines), budget_tokens // 2, lambda count: "\n".join(lines[:count]))

    def with_tail(count: int) -> str:
        return "\n".join([*lines[:head], LEFT_OUT, *lines[len(lines) - count :]])

    tail = _count_fitting(len(lines) - head, budget_tokens, with_tail)
    return text_view(with_tail(tail) if head + tail < len(lines) else "\n".join(lines))


def keep_tail(messages: Sequence[Message], budget_tokens: int) -> JudgedView:
    """Keep the last lines."""
    return _newest(lines_of(messages), budget_tokens)


def random_lines(messages: Sequence[Message], budget_tokens: int) -> JudgedView:
    """Keep lines drawn at random, in their order, each text once."""
    lines = list(dict.fromkeys(line for line in lines_of(messages) if line.strip()))
    order = list(range(len(lines)))
    random.Random(crc32("\n".join(lines[:50]).encode(errors="replace"))).shuffle(order)

    def drawn(count: int) -> str:
        return "\n".join([lines[index] for index in sorted(order[:count])])

    return text_view(drawn(_count_fitting(len(lines), budget_tokens, drawn)))


def first_lines(messages: Sequence[Message], budget_tokens: int) -> JudgedView:
    """Keep the first line of every message, clipped, the newest ones if not all fit."""
    return _newest([_first_line(message) for message in without_system(messages)], budget_tokens)


def keep_facts_only(messages: Sequence[Message], budget_tokens: int) -> JudgedView:
    """Keep facts alone, those of most messages first: plain recall is easily gamed."""
    counts: Counter[str] = Counter()
    for message in without_system(messages):
        counts.update(sorted(facts_in(render(message))))
    ranked = [fact for fact, _ in counts.most_common()]

    def first(count: int) -> str:
        return "\n".join(ranked[:count])

    return text_view(first(_count_fitting(len(ranked), budget_tokens, first)))


def lines_of(messages: Sequence[Message]) -> list[str]:
    """Return the lines of the messages, very long ones in parts."""
    found: list[str] = []
    for line in render_all(without_system(messages)).split("\n"):
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


def _newest(lines: Sequence[str], budget_tokens: int) -> JudgedView:
    """Keep the last lines that fit."""

    def last(count: int) -> str:
        return "\n".join(lines[len(lines) - count :])

    return text_view(last(_count_fitting(len(lines), budget_tokens, last)))


def _count_fitting(count: int, budget_tokens: int, text_of: Callable[[int], str]) -> int:
    """Return how many lines fit into a budget; `text_of` gives the text with a number of lines."""
    counts = range(1, min(count, max(budget_tokens, 0) * 4) + 1)
    return bisect_right(counts, budget_tokens, key=lambda some: estimate_text(text_of(some)))


def append_only(messages: Sequence[Message], budget_tokens: int) -> JudgedView:
    """Keep everything."""
    del budget_tokens
    return message_view(messages)


def masking(messages: Sequence[Message], budget_tokens: int) -> JudgedView:
    """Keep the newest messages as they are, and before them messages without their outputs.

    Half of the budget is for messages as they are, the rest for older ones with results replaced by
    a marker and long arguments cut. What is left over goes to outputs again, the newest first; one
    that does not fit is cut. The first message of a user always stays, so that providers take the
    list.
    """
    system, rest = [*filter(is_system, messages)], without_system(messages)
    bare = [_without_output(message) for message in rest]
    first = [row for row in rest[:1] if row["role"] == "user"]
    sizes = [(_tokens(one), _tokens(other)) for one, other in zip(rest, bare, strict=True)]
    start, whole = _masking_plan(sizes, budget_tokens - sum(map(_tokens, first)))
    kept = {at: rest[at] if at in whole else bare[at] for at in range(start, len(rest))}

    def text_of() -> str:
        return render_all(_make_sendable(kept, first))

    again = sorted(whole)
    while kept and estimate_text(text_of()) > budget_tokens:  # more than the sum of its parts
        if again:
            at = again.pop(0)
            kept[at] = bare[at]
        else:
            del kept[min(kept)]
    older = min(kept, default=len(rest)) - 1
    cut = next((at for at in reversed(kept) if kept[at].get("content") == PLACEHOLDER), older)
    if cut >= len(first) and not rest[cut].get("tool_calls"):
        text = content_text(rest[cut])

        def with_part(chars: int) -> str:
            part = text[len(text) - chars :] if cut == older else text[:chars]
            kept[cut] = {**rest[cut], "content": f"{LEFT_OUT}{part}{LEFT_OUT}"}
            return text_of()

        if chars := _count_fitting(len(text), budget_tokens, with_part):
            with_part(chars)
        elif cut == older:
            kept.pop(cut, None)
        else:
            kept[cut] = bare[cut]
    return message_view([*system, *_make_sendable(kept, first)])


def _make_sendable(kept: Mapping[int, Message], first: Sequence[Message]) -> list[Message]:
    """Return messages as a list that begins with a user's, without results that lost their call."""
    found = [kept[at] for at in sorted(kept)]
    while found and found[0]["role"] == "tool":
        del found[0]
    return found if 0 in kept else [*first, *found]


def _masking_plan(sizes: Sequence[tuple[int, int]], budget: int) -> tuple[int, set[int]]:
    """Return the first message that is kept, and which are kept whole.

    `sizes` are those of each message whole and without its output.
    """
    start, whole, left = len(sizes), set[int](), budget
    for at in reversed(range(len(sizes))):
        full, bare = sizes[at]
        is_newest = len(whole) == len(sizes) - at - 1 and budget - left + full <= budget // 2
        if is_newest:
            whole.add(at)
        elif bare > left:
            break
        left -= full if is_newest else bare
        start = at
    for at in reversed(range(start, len(sizes))):
        more = sizes[at][0] - sizes[at][1]
        if at not in whole and more <= left:
            whole.add(at)
            left -= more
    return start, whole


def _tokens(message: Message) -> int:
    return estimate_text(render(message))


def _without_output(message: Message) -> Message:
    """Return a message with its result as a marker and its long arguments cut."""
    if message["role"] == "tool":
        return {**message, "content": PLACEHOLDER}
    calls: list[Any] = message.get("tool_calls") or []
    if not calls:
        return message
    return {
        **message,
        "tool_calls": [
            {
                **call,
                "function": {
                    **call["function"],
                    "arguments": _cut_arguments(str(call["function"].get("arguments") or "")),
                },
            }
            for call in calls
        ],
    }


def _cut_arguments(arguments: str) -> str:
    """Return the arguments of a call with every long value cut; they stay JSON."""
    if len(arguments) <= _LONG_ARGUMENT:
        return arguments
    values = decode_arguments(arguments) or {"input": arguments}
    return json.dumps({key: _cut(value) for key, value in values.items()}, ensure_ascii=False)


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{text[:_LONG_ARGUMENT]}{LEFT_OUT}" if len(text) > _LONG_ARGUMENT else value


def use_foldaway(summarizer: Summarizer | Writers | str | None = None) -> Shrink:
    """Return the strategy that compresses to the budget, with a model's prose if one is given."""
    return partial(_compress, summarizer)


def _compress(
    summarizer: Summarizer | Writers | str | None, messages: Sequence[Message], budget_tokens: int
) -> JudgedView:
    """Compress to the budget; the system prompt is outside it."""
    prompt = render_all(message for message in messages if is_system(message))
    total = estimate_text(render_all(messages))
    outside = estimate_text(prompt) if prompt else 0
    window = _SMALL_WINDOW if total < _SMALL_WINDOW else _LARGE_WINDOW
    done = compress(
        list(messages),
        target_tokens=outside + budget_tokens,
        context_length=window,
        summarizer=summarizer,
    )
    return foldaway_view(list(done.messages), outside, done)


def for_provider(messages: Any, budget_tokens: int, provider: str) -> Any:
    """Return the view that Foldaway makes for a provider, from messages in its dialect."""
    made = compress(
        messages, target_tokens=budget_tokens, context_length=_LARGE_WINDOW, provider=provider
    )
    return made.messages


def foldaway_view(
    view: Sequence[Message], outside_tokens: int, done: Compressed | None = None
) -> JudgedView:
    """Return a view of ours; what the system prompt grew by counts."""
    grown = estimate_text(render_all(filter(is_system, view))) - outside_tokens
    text = render_all(without_system(view))
    return JudgedView(
        text=text,
        tokens=estimate_text(text) + max(grown, 0),
        messages=tuple(view),
        summaries=tuple(summaries_in(view)),
        archived=True,
        resolves=None if done is None else partial(_resolves, done),
        positions=0 if done is None else len(done.originals),
        note="" if done is None else done.report.reason or "",
    )


def summaries_in(messages: Sequence[Message]) -> list[str]:
    """Return the bodies of the summaries in a view."""
    bodies = [summary_body(text) for message in messages for text in text_parts(message)]
    return [body for body in bodies if body is not None]


def _resolves(done: Compressed, reference: str) -> bool:
    try:
        return bool(done.recall(reference))
    except FoldawayError:
        return False


PLAIN: tuple[Strategy, ...] = (
    Strategy(OURS, "ours", "Foldaway without a model", use_foldaway(), shrink_for=for_provider),
    Strategy(BASE, "plain", "the first and the last lines, half of the budget each", head_and_tail),
    Strategy("keep-tail", "plain", "the last lines", keep_tail),
    Strategy("random-lines", "plain", "lines drawn at random, in order", random_lines),
    Strategy("masking", "plain", "the newest messages; before them all without outputs", masking),
    Strategy(
        "one-liners", "plain", "the first line of each message, the newest first", first_lines
    ),
    Strategy("append-only", "plain", "everything, whatever it takes", append_only, False),
    Strategy(BARE_LIST, "adversary", "facts alone, the most frequent first", keep_facts_only),
)


def choose_strategies(names: Sequence[str], known: Sequence[Strategy]) -> Mapping[str, Strategy]:
    """Return the strategies of these names in the order of the table; all if none is named.

    Raises `UnknownName` with the names that there are.
    """
    table = {strategy.name: strategy for strategy in known}
    for name in names:
        if name not in table:
            raise UnknownName("strategy", name, tuple(table))
    return {name: strategy for name, strategy in table.items() if not names or name in names}
