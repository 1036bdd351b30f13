"""Reports of usage in the forms of the providers, and those that agents wrote into their files."""

from __future__ import annotations

import json
from typing import Any

from tests.testing.rows import each_row

from foldaway.sessions.rows import turn_usage, usage_in
from foldaway.stores.values import StoredMessage


@each_row(
    ("usage", "figures"),
    [
        ({"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90,
          "output_tokens": 7}, (1000, 7, 900, 90)),
        ({"prompt_tokens": 1000, "completion_tokens": 7,
          "prompt_tokens_details": {"cached_tokens": 900}}, (1000, 7, 900, 0)),
        ({"input_tokens": 1000, "output_tokens": 7,
          "input_tokens_details": {"cached_tokens": 900}}, (1000, 7, 900, 0)),
        ({"promptTokenCount": 1000, "candidatesTokenCount": 7,
          "cachedContentTokenCount": 900}, (1000, 7, 900, 0)),
        ({"prompt_tokens": "many", "prompt_tokens_details": None}, (0, 0, 0, 0)),
    ],
)  # fmt: skip
def test_every_form_gives_the_same_figures(
    usage: dict[str, Any], figures: tuple[int, int, int, int]
) -> None:
    """The whole prompt, the answer, what was read from the cache and what was written to it."""
    found = turn_usage(usage, position=3)
    assert (
        found.input_tokens, found.output_tokens, found.cache_read_tokens, found.cache_write_tokens,
    ) == figures  # fmt: skip


def row(position: int, role: str, **wire: Any) -> StoredMessage:
    return StoredMessage(
        position=position, body=json.dumps(wire).encode(), role=role, time=float(position)
    )


def test_an_answer_that_is_spread_counts_once() -> None:
    """At its first message, as its last one has it; words of users are no reports."""
    rows = [
        row(0, "user", content='"usage"', usage={"input_tokens": 5}),
        row(1, "assistant", id="a", model="m", usage={"input_tokens": 10, "output_tokens": 1}),
        row(2, "assistant", id="a", model="m", usage={"input_tokens": 10, "output_tokens": 8}),
        row(3, "assistant", id="b", usage={"input_tokens": 20}),
        row(4, "assistant", id="c", usage=None),
        row(5, "assistant", content='says "usage" only'),
    ]
    found = usage_in(rows)
    assert [(one.position, one.input_tokens, one.output_tokens) for one in found] == [
        (1, 10, 8), (3, 20, 0),
    ]  # fmt: skip
    assert (found[0].model, found[0].time) == ("m", 2.0)
