"""JSON as it is shown: no secret less is hidden because a redactor gave up on a long line."""

from __future__ import annotations

import json
from typing import Any

from tests.testing.rows import each_row

from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.sessions.hiding import show_json

SHOW = Redactor(RedactionPolicy(key="test"))
SECRET = "R4tq9ZmXv2LbN7cKw3Ps"
COSTLY = {"rows": [{"text": "password=" * 2_000}], "n": 7}
"""The redactor gives up on it."""
SECRETS: list[Any] = [
    {"args": ["--token", SECRET]},
    {"password": SECRET},
    {"name": "api_key", "value": SECRET},
]


@each_row("value", SECRETS)
@each_row("beside", [{}, COSTLY])
def test_a_secret_is_hidden_beside_whatever_costs_too_much(value: Any, beside: Any) -> None:
    """By its line, by its neighbor in a list, by its name."""
    body = json.dumps([{"kept": "zebra", "one": value}, beside], separators=(",", ":"))
    assert SECRET not in SHOW(json.dumps(value))
    shown = show_json(body.encode(), SHOW)
    assert SECRET.encode() not in shown
    assert json.loads(shown)[0]["kept"] == "zebra"


def test_plain_values_that_cost_too_much_stay_hidden_together() -> None:
    """One of them may be what tells that the next is a secret."""
    body = json.dumps({"args": ["password=" * 2_000, "--token", SECRET], "kept": "zebra"})
    shown = show_json(body.encode(), SHOW)
    assert SECRET.encode() not in shown
    assert json.loads(shown)["kept"] == "zebra"
