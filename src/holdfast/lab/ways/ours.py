"""Holdfast itself, once, and again and again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from holdfast.engine.oneshot import Compressed, compress
from holdfast.errors import HoldfastError
from holdfast.facts.frame import summary_body
from holdfast.lab.scoring.render import is_system, render_all, spoken, text_parts
from holdfast.lab.scoring.session import Message
from holdfast.lab.scoring.shown import Shown
from holdfast.lab.ways.way import Shrink
from holdfast.ports import Summarizer
from holdfast.tokens.estimate import estimate_text
from holdfast.writing.writers import Writers

_SMALL_WINDOW, _LARGE_WINDOW = 200_000, 1_000_000


def by_holdfast(summarizer: Summarizer | Writers | str | None = None) -> Shrink:
    """Return the way that compresses to the budget, with a model's prose where one is given."""
    return partial(_compressed, summarizer)


def _compressed(
    summarizer: Summarizer | Writers | str | None, messages: Sequence[Message], budget_tokens: int
) -> Shown:
    """Compress to the budget; the system prompt stands outside it."""
    prompt = render_all(message for message in messages if is_system(message))
    total = estimate_text(render_all(messages))
    outside = estimate_text(prompt) if prompt else 0
    window = _SMALL_WINDOW if total < _SMALL_WINDOW else _LARGE_WINDOW
    done = compress(
        list(messages), target_tokens=outside + budget_tokens, context_length=window,
        summarizer=summarizer,
    )  # fmt: skip
    return shown_view(list(done.messages), outside, done)


def for_provider(messages: Any, budget_tokens: int, provider: str) -> Any:
    """Return the view that Holdfast makes for a provider, from messages in its dialect."""
    made = compress(
        messages, target_tokens=budget_tokens, context_length=_LARGE_WINDOW, provider=provider
    )
    return made.messages


def shown_view(
    view: Sequence[Message], outside_tokens: int, done: Compressed | None = None
) -> Shown:
    """Return a view of ours; what the system prompt grew by counts."""
    grown = estimate_text(render_all(filter(is_system, view))) - outside_tokens
    text = render_all(spoken(view))
    return Shown(
        text=text, tokens=estimate_text(text) + max(grown, 0), messages=tuple(view),
        summaries=tuple(summaries_in(view)), archived=True,
        resolves=None if done is None else partial(_resolves, done),
        positions=0 if done is None else len(done.originals),
        note="" if done is None else done.report.reason or "",
    )  # fmt: skip


def summaries_in(messages: Sequence[Message]) -> list[str]:
    """Return the bodies of the summaries in a view."""
    bodies = [summary_body(text) for message in messages for text in text_parts(message)]
    return [body for body in bodies if body is not None]


def _resolves(done: Compressed, reference: str) -> bool:
    try:
        return bool(done.recall(reference))
    except HoldfastError:
        return False
