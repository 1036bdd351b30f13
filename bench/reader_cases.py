"""A reader: how likely a language model finds what the agent really did next.

A session is cut, what is before the cut is replaced by what a strategy leaves, and a model gives
the loss of the real continuation: what the agent wrote, and the arguments of its calls. Results and
user messages between are given, not scored. `kept` is (none − strategy) / (none − full): the share
of what the full context is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from msgspec import Struct

from foldaway.lab.results import OURS, MeanInterval, PooledShare, mean_interval, pool_shares
from foldaway.lab.scoring.session import (
    JudgedView,
    LabSession,
    Message,
    calls_of,
    content_text,
    cut_at,
    is_system,
    render,
    render_all,
    without_system,
)
from foldaway.lab.strategies import Strategy
from foldaway.transcript import estimate_text

GIVEN, TEXT, ARGUMENTS, NAME = range(4)
"""What a piece of the continuation is: given, or written by the agent."""
SCORED = frozenset({TEXT, ARGUMENTS})
FULL, NONE = "full", "none"
READ_STRATEGIES = (OURS, "masking", "head+tail", "keep-tail", "random-lines")
"""Who is tried unless others are named: Foldaway, and the plain ones that it has to beat."""
CUT = 0.6
_MOST_CHARS = 6_000
"""Of a continuation that are scored, about 1,500 tokens, so that no session outweighs others."""
_MOST_MESSAGE_CHARS = 2_000
"""Of one message, about 500 tokens: the rest of a long file says nothing new."""
_MARKS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")


class ReaderCase(Struct, frozen=True, kw_only=True):
    """One session: the context that each system leaves, and what really followed."""

    key: str
    family: str
    body: int
    """Tokens before the cut, system prompt outside."""
    used: dict[str, int]
    """Tokens of each system's context, in the same measure."""
    contexts: dict[str, str]
    after: list[tuple[str, int]]
    """The continuation in pieces, each with what it is."""


class ReaderLosses(Struct, frozen=True, kw_only=True):
    """What a model said about one session."""

    key: str
    family: str
    body: int
    used: dict[str, int]
    losses: dict[str, list[float]]
    """For each system the loss of every scored token of the continuation, in nats."""


class ReaderLine(Struct, frozen=True, kw_only=True):
    """One system in one family."""

    family: str
    system: str
    sessions: int
    used: float
    """Mean share of the tokens before the cut."""
    loss: float
    """Nats a token, mean over sessions."""
    kept: PooledShare | None
    """Share of the full context's gain, with its interval by session."""
    behind: MeanInterval | None
    """Its loss minus Foldaway's, session by session; above 0 it is worse."""


def reader_cases(
    sessions: Sequence[LabSession], strategies: Mapping[str, Strategy], share: float
) -> Iterator[ReaderCase]:
    """Yield a case for each session; all strategies get as many tokens as Foldaway took."""
    for session in sessions:
        case = reader_case(session, strategies, share)
        if case is not None:
            yield case


def reader_case(
    session: LabSession, strategies: Mapping[str, Strategy], share: float
) -> ReaderCase | None:
    """Return the case of one session; None if nothing of the agent follows its cut.

    Reasoning is left out for all: most templates do not show it to the model again.
    """
    everything = [_without_reasoning(message) for message in session.messages]
    spoken = without_system(everything)
    cut = cut_at(spoken, [len(render(message)) for message in spoken], CUT)
    after = list(continuation(spoken[cut:])) if cut else []
    if not cut or not any(mark in SCORED for _, mark in after):
        return None
    last = spoken[cut - 1]
    end = next(at for at, message in enumerate(everything) if message is last)
    seen = everything[: end + 1]
    system = [*filter(is_system, seen)]
    tokens = estimate_text(render_all(spoken[:cut]))
    contexts = {FULL: chat_text(seen), NONE: chat_text(system)}
    used, allowed = {FULL: tokens, NONE: 0}, int(tokens * share)
    for name, strategy in strategies.items():
        shown = strategy.shrink(seen, allowed)
        if shown.failed:
            continue
        contexts[name], used[name] = chat_text(_messages(shown, system)), shown.tokens
        allowed = shown.tokens if name == OURS else allowed
    return ReaderCase(
        key=session.id,
        family=session.family,
        body=tokens,
        used=used,
        contexts=contexts,
        after=after,
    )


def _without_reasoning(message: Message) -> Message:
    return {key: value for key, value in message.items() if key != "reasoning_content"}


def _messages(shown: JudgedView, system: Sequence[Message]) -> Sequence[Message]:
    return shown.messages or [*system, {"role": "user", "content": shown.text}]


def chat_text(messages: Sequence[Message]) -> str:
    """Return messages as a model reads them, in the template that most local models know."""
    return "".join(text for text, _ in _pieces(messages))


def continuation(messages: Sequence[Message]) -> Iterator[tuple[str, int]]:
    """Yield what follows in pieces, up to as much of the agent's as is scored."""
    left = _MOST_CHARS
    for message in messages:
        here = min(left, _MOST_MESSAGE_CHARS)
        for text, mark in _pieces([message]):
            if mark not in SCORED or not text:
                yield text, mark
                continue
            yield text[:here], mark
            if text[here:]:
                yield text[here:], GIVEN
            left -= min(len(text), here)
            here -= min(len(text), here)
        if left <= 0:
            return


def _pieces(messages: Sequence[Message]) -> Iterator[tuple[str, int]]:
    for message in messages:
        text = _plain(content_text(message))
        if message["role"] == "tool":
            shown = f"user\n<tool_response>\n{text}\n</tool_response>"
            yield f"<|im_start|>{shown}<|im_end|>\n", GIVEN
        elif message["role"] == "assistant":
            yield "<|im_start|>assistant\n", GIVEN
            yield text, TEXT
            for name, arguments in calls_of(message):
                yield '\n<tool_call>\n{"name": "', GIVEN
                yield _plain(name), NAME
                yield '", "arguments": ', GIVEN
                yield _plain(arguments), ARGUMENTS
                yield "}\n</tool_call>", GIVEN
            yield "<|im_end|>\n", GIVEN
        else:
            role = "system" if is_system(message) else "user"
            yield f"<|im_start|>{role}\n{text}<|im_end|>\n", GIVEN


def _plain(text: str) -> str:
    """Return a text in which no mark of the template stands."""
    for mark in _MARKS:
        text = text.replace(mark, mark.replace("|", "¦"))
    return text


def reader_lines(rows: Sequence[ReaderLosses]) -> list[ReaderLine]:
    """Return what each system keeps of the full context's gain, family by family."""
    found: list[ReaderLine] = []
    for family, many in groupby(sorted(rows, key=attrgetter("family")), attrgetter("family")):
        mine = list(many)
        names = dict.fromkeys(name for row in mine for name in row.losses)
        found += [
            _line(family, name, [row for row in mine if name in row.losses]) for name in names
        ]
    return found


def _line(family: str, system: str, rows: Sequence[ReaderLosses]) -> ReaderLine:
    gains = [
        (_loss(row, NONE) - _loss(row, system), _loss(row, NONE) - _loss(row, FULL)) for row in rows
    ]
    ours = [_loss(row, system) - _loss(row, OURS) for row in rows if OURS in row.losses]
    return ReaderLine(
        family=family,
        system=system,
        sessions=len(rows),
        used=sum(row.used[system] / max(row.body, 1) for row in rows) / len(rows),
        loss=sum(_loss(row, system) for row in rows) / len(rows),
        kept=pool_shares(gains),
        behind=None if system == OURS else mean_interval(ours),
    )


def _loss(row: ReaderLosses, system: str) -> float:
    losses = row.losses[system]
    return sum(losses) / max(len(losses), 1)
