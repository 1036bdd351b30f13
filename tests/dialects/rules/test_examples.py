"""Every rule beside lists that break it and lists that keep it: `examples/<rule>.json`."""

from __future__ import annotations

import copy
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway.dialects.checking import check, repair
from foldaway.dialects.profiles import PROFILES, RULES
from foldaway.errors import CannotRepair
from foldaway.testing.breakage import BREAKAGES, apply

TABLES = [
    json.loads(file.read_text())
    for file in sorted((Path(__file__).parent / "examples").glob("*.json"))
]
HALVES = ("alternating", "known-keys")
"""The two halves of `strict`: what breaks a rule there breaks it here, unless it breaks others."""


def _with_halves(rule: str, example: Any) -> list[Any]:
    if example["provider"] != "strict":
        return [example]
    needed = {rule, *example["also"]}
    names = {half: {one.name for one in PROFILES[half].rules} for half in HALVES}
    return [
        example,
        *({**example, "provider": half, "half": True} for half in HALVES if needed <= names[half]),
    ]


BROKEN = [
    (table["rule"], example)
    for table in TABLES
    for given in table["broken"]
    for example in _with_halves(table["rule"], given)
]
VALID = [(table["rule"], example) for table in TABLES for example in table["valid"]]
MENDED = [
    (rule, example)
    for rule, example in BROKEN
    if example["repaired"] is not None and "half" not in example
]
REFUSED = [(rule, example) for rule, example in BROKEN if example["repaired"] is None]
ONLY_AFTER_EDITS = {("anthropic", "thinking-bound")}
"""What is broken by our own edits alone, and so by no list that is given."""

BY_SETTINGS = {"id-legal", "no-prefill", "thinking-bound", "thought-signature", "tools-declared"}
"""What the model, the rest of the request or our own edits break, and no change of a list."""


def named(rows: list[tuple[str, Any]]) -> list[str]:
    return [f"{rule}: {row['provider']}: {row['name']}" for rule, row in rows]


def items_of(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return next(value[key] for key in ("messages", "input", "contents") if key in value)


@each_row(("rule", "example"), BROKEN, ids=named(BROKEN))
def test_a_broken_list_is_caught_by_its_rule_at_its_place(rule: str, example: Any) -> None:
    """The rule says where; no rule speaks up that the table does not name."""
    found = check(example["given"], provider=example["provider"])
    mine = [violation for violation in found if violation.rule == rule]
    assert (mine[0].index, mine[0].path) == (example["index"], example["path"])
    assert sorted({violation.rule for violation in found} - {rule}) == example["also"]
    assert all(violation.message and violation.remedy for violation in found)


@each_row(("rule", "example"), MENDED, ids=named(MENDED))
def test_what_can_be_mended_comes_out_as_the_table_says(rule: str, example: Any) -> None:
    """Repair gives exactly this list, says that this rule asked for it, and mutates nothing."""
    before = copy.deepcopy(example["given"])
    repaired = repair(example["given"], provider=example["provider"])
    assert repaired.messages == example["repaired"]
    assert rule in {action.rule for action in repaired.actions}
    assert example["given"] == before


@each_row(("rule", "example"), MENDED, ids=named(MENDED))
def test_what_was_mended_is_valid_and_stays_as_it_is(rule: str, example: Any) -> None:
    """After repair no rule has anything to say, and a second repair gives the same object."""
    del rule
    mended = repair(example["given"], provider=example["provider"]).messages
    assert check(mended, provider=example["provider"]) == []
    assert repair(mended, provider=example["provider"]).messages is mended


@each_row(("rule", "example"), MENDED, ids=named(MENDED))
def test_messages_without_fault_are_the_same_objects(rule: str, example: Any) -> None:
    """A message that comes out equal to one that went in is that very object."""
    del rule
    given = items_of(example["given"])
    same = {id(item) for item in given}
    for item in items_of(repair(example["given"], provider=example["provider"]).messages):
        assert item not in given or id(item) in same


@each_row(("rule", "example"), REFUSED, ids=named(REFUSED))
def test_what_cannot_be_mended_is_refused_by_name(rule: str, example: Any) -> None:
    """Nothing is guessed: the error carries the violation, which says that it is not mendable."""
    with pytest.raises(CannotRepair) as refusal:
        repair(example["given"], provider=example["provider"])
    found = {violation.rule: violation.mendable for violation in refusal.value.violations}
    assert found[rule] is False


@each_row(("rule", "example"), VALID, ids=named(VALID))
def test_a_list_that_keeps_the_rule_raises_no_alarm(rule: str, example: Any) -> None:
    """What the provider takes is not reported, and comes back as the same object."""
    del rule
    assert check(example["given"], provider=example["provider"]) == []
    assert repair(example["given"], provider=example["provider"]).messages is example["given"]


def test_every_rule_of_every_profile_has_a_broken_example() -> None:
    """A rule that no list breaks is not tested."""
    wanted = {(profile.name, rule.name) for profile in PROFILES.values() for rule in profile.rules}
    shown = {(example["provider"], rule) for rule, example in BROKEN}
    shown |= {("alternating", rule) for provider, rule in shown if provider == "openai-chat"}
    assert wanted - shown == ONLY_AFTER_EDITS


def test_every_rule_is_broken_by_a_breakage() -> None:
    """The laws try a rule only if `foldaway.testing` can break a list in its way."""
    broken: set[str] = set()
    for _, example in VALID:
        provider, given = example["provider"], example["given"]
        for name, place in product(BREAKAGES, range(3) if isinstance(given, list) else ()):
            items = apply(name, provider, given, lambda count, place=place: min(place, count - 1))
            if items:
                broken |= {violation.rule for violation in check(items, provider=provider)}
    assert set(RULES) - broken == BY_SETTINGS


def test_every_rule_has_a_valid_example() -> None:
    """A rule that never stays silent is not tested."""
    assert [table["rule"] for table in TABLES if not table["valid"]] == []
