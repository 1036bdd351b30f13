"""What a scripted player makes of what a search or a recall brought back."""

from __future__ import annotations

from typing import Any

from foldaway.lab.play.scripted import RECALL, SEARCH, find, read
from foldaway.lab.play.task import Request

LOOKUPS = frozenset((SEARCH[0], RECALL[0]))


def called(name: str, answer: str) -> list[dict[str, Any]]:
    """Return a call and its result."""
    call = {"id": f"c-{name}", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c-{name}", "content": answer},
    ]


def test_what_a_search_finds_is_older_than_what_the_conversation_says() -> None:
    """Though it comes later in the request: it is a search in the past."""
    messages = [
        {"role": "user", "content": "The ticket of Lukas Bergman is T-41061."},
        *called(SEARCH[0], "message 89: T-67791 | open | Lukas Bergman"),
    ]
    past, rest = read(Request(messages, ()), LOOKUPS)
    assert find([*past, *rest], r"\bT-\d{5}\b", ["Lukas Bergman"]) == "T-41061"
    assert find([*past, *rest], r"\bT-\d{5}\b", ["open"]) == "T-67791"


def test_the_newest_of_the_places_that_a_search_found_wins() -> None:
    """They come by rank, and each says which message it is of; a result of the world stays new."""
    found = "message 40: the pool has 20 connections\nmessage 8: the pool has 60 connections"
    messages = [*called(SEARCH[0], found), *called("read_file", "the pool is in db.py")]
    past, rest = read(Request(messages, ()), LOOKUPS)
    assert find(past, r"\b(\d+) connections", ["pool"]) == "20"
    assert "the pool is in db.py" in rest
