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


def test_an_entry_of_a_record_is_as_old_as_the_message_that_it_names() -> None:
    """A record stands after what it is about, and after what is still there of the conversation."""
    record = "## Done\n1. preserve quotes-2.log, label LH-2102 [m0]\n2. asked again [m2]\nThe end."
    messages = [
        {"role": "user", "content": "Preserve quotes-2.log."},
        {"role": "user", "content": "Preserved files get the label LH-3455 from now on."},
        {"role": "user", "content": record},
    ]
    texts = read(Request(messages, ()), LOOKUPS)[1]
    assert find(texts, r"\bLH-\d{4}\b", ["label"]) == "LH-3455"
    assert find(texts, r"\bLH-\d{4}\b", ["quotes-2.log"]) == "LH-2102"
    assert "The end." in texts[-1]


def test_a_value_belongs_to_its_own_item() -> None:
    """Items of a list are about things of their own, however near they stand."""
    said = (
        "Please:\n- rename check_pages\n- rename route_shards to emit_signing_parts\n  in outbox.py"
    )
    shape = r"\b(?!check|route)([a-z]+_[a-z]+_[a-z]+)\b"
    assert find([said], shape, ["route_shards"]) == "emit_signing_parts"
    assert find([said], shape, ["outbox.py"]) == "emit_signing_parts"
    assert find([said], shape, ["check_pages"]) is None
