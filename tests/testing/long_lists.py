"""Conversations long enough to compact: a few drawn exchanges, written out many times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from hypothesis import strategies as st
from msgspec import Struct
from tests.testing.strategies import valid_lists

from foldaway.testing.builder import Step, assistant, call, media, result, system, talk, think, user
from foldaway.transcript import Media, ToolResult

Output: TypeAlias = Literal["fresh", "same", "error", "short", "media", "json"]
Ending: TypeAlias = Literal["ask", "reply", "step", "pending"]

_TOOLS = ("read_file", "bash", "grep", "write_file", "edit_file", "lookup")
_LINE = "line {number} of {tool} run {serial}: value_{number} = {odd} # checked\n"
_THINKERS = frozenset({"anthropic", "gemini", "openai-responses", "openai-chat"})
_MEDIA_IN_RESULTS = frozenset({"anthropic", "openai-responses"})


class Exchange(Struct, frozen=True):
    """One ask and the work on it: `steps` rounds of `calls` tool calls each."""

    steps: int = 2
    calls: int = 1
    chars: int = 600
    output: Output = "fresh"
    thinks: bool = False
    says: bool = True
    shows: bool = False
    """Whether the ask carries an image."""


def exchanges(*, most: int = 5) -> st.SearchStrategy[list[Exchange]]:
    """One to `most` exchanges of every kind, to be written out by `written`."""
    outputs: tuple[Output, ...] = ("fresh", "same", "error", "short", "media", "json")
    one = st.builds(
        Exchange, st.integers(0, 3), st.integers(1, 3), st.sampled_from((300, 900, 4_000)),
        st.sampled_from(outputs), st.booleans(), st.booleans(), st.booleans(),
    )  # fmt: skip
    return st.lists(one, min_size=1, max_size=most)


@st.composite
def long_lists(draw: st.DrawFn, provider: str, *, least: int = 4, most: int = 12) -> list[Any]:
    """Wire lists that the provider accepts, of `least` to `most` exchanges and many steps.

    They hold thinking, images, repeated identical outputs, long arguments, several asks, odd
    messages of the provider's own at the start, and sometimes calls that wait for their results.
    """
    kinds = draw(exchanges())
    count = draw(st.integers(least, most))
    endings: tuple[Ending, ...] = ("ask", "ask", "reply", "step", "pending")
    items = written(
        provider, [kinds[number % len(kinds)] for number in range(count)],
        ending=draw(st.sampled_from(endings)), with_system=draw(st.booleans()),
    )  # fmt: skip
    if draw(st.integers(0, 2)) == 2:
        start = draw(valid_lists(provider))
        return joined(provider, start, _without_system(items))
    return items


def joined(provider: str, items: Sequence[Any], more: Sequence[Any]) -> list[Any]:
    """Return `items` and then `more`, which begins with a user's message; with a reply in between
    where the provider wants one.
    """
    return [*items, *_bridge(provider, items), *more]


def written(
    provider: str,
    work: Sequence[Exchange],
    *,
    start: int = 0,
    ending: Ending = "ask",
    with_system: bool = False,
    signed: bool = True,
) -> list[Any]:
    """Return the exchanges as a wire list. Asks and ids are numbered from `start`, so that what is
    written with a later `start` may be appended.
    """
    steps: list[Step] = []
    if with_system and provider not in ("anthropic", "gemini"):
        steps.append(system(f"You are a coding agent. Follow RULES.md. {'Be exact. ' * 20}"))
    for number, exchange in enumerate(work, start):
        last = number == start + len(work) - 1
        steps.extend(_exchange(provider, number, exchange, signed, ending if last else "reply"))
    if ending == "ask":
        steps.append(user(f"Ask {start + len(work)}: go on, and mind file_{start}.py"))
    return talk(*steps).wire("openai-chat" if provider == "strict" else provider)


def _exchange(
    provider: str, number: int, exchange: Exchange, signed: bool, ending: Ending
) -> list[Step]:
    shown: tuple[Media, ...] = (media(),) if exchange.shows else ()
    steps: list[Step] = [user(f"Ask {number}: change value_{number} in file_{number}.py", *shown)]
    rounds = max(exchange.steps, 1) if ending in ("step", "pending") else exchange.steps
    for serial in range(rounds):
        waits = ending == "pending" and serial == rounds - 1
        steps.extend(_round(provider, f"{number}x{serial}", exchange, signed, waits))
    if ending in ("reply", "ask"):
        steps.append(assistant(f"Reply {number}: value_{number} is changed."))
    return steps


def _round(provider: str, serial: str, exchange: Exchange, signed: bool, waits: bool) -> list[Step]:
    thoughts: list[Any] = []
    if (exchange.thinks and provider in _THINKERS) or (signed and provider == "gemini"):
        thoughts = [think(f"Thought {serial}.", signature=f"Eq{serial}+/sig==")]
    words = [f"Step {serial}."] if exchange.says or provider == "strict" else []
    calls = [
        call(
            _TOOLS[(len(serial) + each + int(serial[-1])) % len(_TOOLS)],
            call_id=f"call{serial}x{each}", path=f"src/file_{serial}.py", command=f"run {serial}",
            content="новая строка\n" * (exchange.chars // 13) if each == 1 else "x",
        )
        for each in range(exchange.calls)
    ]  # fmt: skip
    made: list[Step] = [assistant(*thoughts, *words, *calls)]
    if not waits:
        made.extend(_output(provider, one.id, one.name, exchange) for one in calls)
    return made


def _output(provider: str, call_id: str, tool: str, exchange: Exchange) -> ToolResult:
    match exchange.output:
        case "short":
            return result("ok", of=call_id)
        case "media" if provider in _MEDIA_IN_RESULTS:
            return result("a picture", media(), of=call_id)
        case "error":
            text = f"Traceback (most recent call last):\nValueError: {call_id}\nexit code 1\n"
            return result(text * (1 + exchange.chars // 60), of=call_id, is_error=True)
        case "json":
            rows = [{"id": row, "of": call_id, "price": 1.0} for row in range(exchange.chars // 40)]
            return result(json.dumps({"rows": rows}, indent=2), of=call_id)
        case "same":
            return result(_lines("the same", "every", exchange.chars), of=call_id)
        case _:
            return result(_lines(tool, call_id, exchange.chars), of=call_id)


def _lines(tool: str, serial: str, chars: int) -> str:
    rows = range(1 + chars // 50)
    return "".join(
        _LINE.format(number=row, tool=tool, serial=serial, odd=row * 7919 % 997) for row in rows
    )


def _bridge(provider: str, items: Sequence[Any]) -> list[Any]:
    last = items[-1].get("role") if items else ""
    match provider:
        case "anthropic" | "strict" if last and last != "assistant":
            return [{"role": "assistant", "content": "Understood."}]
        case "gemini" if last == "user":
            return [{"role": "model", "parts": [{"text": "Understood."}]}]
        case _:
            return []


def _without_system(items: list[Any]) -> list[Any]:
    return items[1:] if items[0].get("role") == "system" else items
