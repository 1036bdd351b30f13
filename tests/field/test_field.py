"""Failures from public threads, each rebuilt as a small list of our own.

A fixture holds `messages` or a whole `body`. `expect` names the rule and the message that must be
reported, `repaired` whether repair mends it. `later` names the behaviour of a later stage that must
not happen; such a list is valid here, unless it expects a rule as well.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway.dialects.checking import check, repair
from foldaway.dialects.loading import load
from foldaway.dialects.profiles import PROFILES
from foldaway.errors import CannotRepair
from foldaway.transcript import groups

FIXTURES = {
    file.stem: json.loads(file.read_text()) for file in sorted(Path(__file__).parent.glob("*.json"))
}
REFUSED = [name for name, fixture in FIXTURES.items() if "expect" in fixture]
ACCEPTED = [name for name, fixture in FIXTURES.items() if "expect" not in fixture]


def given(fixture: Any) -> Any:
    return fixture["messages"] if "messages" in fixture else fixture["body"]


@each_row("name", REFUSED)
def test_what_the_field_saw_refused_is_reported_where_it_is(name: str) -> None:
    """The rule of the fixture speaks up at its message, before a provider has to."""
    fixture = FIXTURES[name]
    found = check(given(fixture), provider=fixture["provider"])
    expected = fixture["expect"]
    assert (expected["rule"], expected["index"]) in [(each.rule, each.index) for each in found]


@each_row("name", REFUSED)
def test_what_the_field_saw_refused_is_repaired_or_refused_by_name(name: str) -> None:
    """After repair the list is valid; what cannot be mended is not guessed."""
    fixture = FIXTURES[name]
    if fixture["repaired"]:
        mended = repair(given(fixture), provider=fixture["provider"]).messages
        assert check(mended, provider=fixture["provider"]) == []
    else:
        with pytest.raises(CannotRepair, match="cannot be repaired"):
            repair(given(fixture), provider=fixture["provider"])


@each_row("name", ACCEPTED)
def test_what_only_a_later_stage_gets_wrong_is_valid_here(name: str) -> None:
    """A list that a provider takes raises no alarm and comes back as it is."""
    fixture = FIXTURES[name]
    value = given(fixture)
    assert check(value, provider=fixture["provider"]) == []
    assert repair(value, provider=fixture["provider"]).messages is value


@each_row("name", sorted(FIXTURES))
def test_a_fixture_says_where_it_comes_from_and_what_it_is_for(name: str) -> None:
    """Thread, shape, a known provider, and a rule or a behaviour or a list that must pass."""
    fixture = FIXTURES[name]
    assert fixture["thread"]
    assert fixture["shape"]
    assert PROFILES[fixture["provider"]].dialect == fixture["dialect"]
    assert "expect" in fixture or "later" in fixture or name.startswith("hand-")


def test_one_orphaned_call_binds_nothing() -> None:
    """A call without a result does not make the log after it one group."""
    messages = load(given(FIXTURES["adk-7236-orphan-call-blocks"])).messages
    assert len(groups(messages)) == len(messages)
