"""Logs of very many small messages: the ledger stays small, the work grows with the log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec
import pytest

from foldaway.facts.ledger import Around, Fact, Ledger, summarize, update
from foldaway.facts.ledger.take import facts_of
from foldaway.transcript import Message, Text, ToolCall, ToolResult

MOST_BYTES = 4_000_000


def tiny_facts(count: int) -> Iterator[Fact]:
    """The facts of `count` tiny messages: asks, replies, calls and results by turns."""
    for at in range(0, count, 4):
        made = ToolCall(f"c{at}", "bash", f'{{"command": "cat d/f{at % 9_999}.txt"}}')
        rows = (
            Message("user", (Text(f"do item_{at}, never x{at}"),), at),
            Message("assistant", (Text(f"ok_{at}"), made), at + 1),
            Message("tool", (ToolResult(made.id, (Text(f"value_{at} = {at}"),)),), at + 2),
            Message("assistant", (Text(f"Done with item_{at}."),), at + 3),
        )
        for message in rows:
            yield from facts_of(message, {made.id: made})


def bounded(facts: Iterator[Fact], chunk: int) -> Ledger:
    """The ledger of facts, taken in rounds and checked to be small after each."""
    ledger = Ledger()
    while rows := list(islice(facts, chunk)):
        ledger = update(ledger, rows)
        assert len(msgspec.json.encode(ledger)) < MOST_BYTES
    return ledger


@pytest.mark.slow
def test_very_many_tiny_messages_make_a_small_ledger() -> None:
    """20,000 messages, in rounds as at once, with the newest of everything in it."""
    facts = list(tiny_facts(20_000))
    ledger = bounded(iter(facts), 9_000)
    assert msgspec.json.encode(ledger) == msgspec.json.encode(update(Ledger(), facts))
    assert ledger.asks[-1].fact.text == "do item_19996, never x19996"
    assert ledger.command_count == 5_000
    told = summarize(ledger, Around(8_000))
    assert sum(len(entry.text) for rows in told.sections.values() for entry in rows) < 16_000


@pytest.mark.soak
def test_a_million_tiny_messages_make_a_small_ledger() -> None:
    """The same for a million."""
    ledger = bounded(tiny_facts(1_000_000), 50_000)
    assert len(msgspec.json.encode(ledger)) < MOST_BYTES
    assert ledger.command_count == 250_000
