"""Values that a text states for something named, and those that take another's place."""

from __future__ import annotations

import pytest

from foldaway.facts.dialogue.values import stated_values


@pytest.mark.parametrize(
    ("text", "slot", "value", "was"),
    [
        ("The port is now 8081.", "port", "8081", ""),
        ("I changed the timeout from 30 to 60.", "timeout", "60", "30"),
        ("Use port 9000 instead of 8080", "port", "9000", "8080"),
        ("Bump go-git from v5.1.0 to v6.0.0", "version of go-git", "v6.0.0", "v5.1.0"),
        ("The Go version is now 1.26.2", "version of go", "1.26.2", ""),
        ("I'm on branch `feat/remote-helper`, three commits.", "branch", "feat/remote-helper", ""),
        ("Set `IdleConnTimeout` to 10s", "IdleConnTimeout", "10s", ""),
        ("Set MAX_Retries from 3 to 5", "MAX_Retries", "5", "3"),
        ("Raise the Limit to 60", "limit", "60", ""),
        ("Change status from open to closed", "status", "closed", "open"),
        ("The new price is $248", "price", "$248", ""),
    ],
)
def test_a_stated_value_names_its_slot(text: str, slot: str, value: str, was: str) -> None:
    """What the value is of, and the older value where the text says it."""
    [one] = stated_values(text, 10)
    assert (one.name, one.value, one.was) == (slot, value, was)


def test_a_list_is_no_change() -> None:
    """Many prices or ports in one text stand beside each other; none takes another's place."""
    text = "- Price: $105\n- Price: $77\n- port: 8080\n- port: 9090"
    assert stated_values(text, 10) == []
    assert stated_values("my flight from Rome to Oslo on May 24", 10) == []
