"""Identifiers with their context, and values that take another's place."""

from __future__ import annotations

import pytest

from holdfast.facts.dialogue import identifiers


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("see https://example.com/a?b=1.", "https://example.com/a?b=1", "url"),
        ("it listens on localhost:3000 now", "localhost:3000", "host"),
        ("at 10.0.0.12:8080", "10.0.0.12:8080", "host"),
        ("on port 8080 there", "8080", "port"),
        ("tagged v6.0.0-alpha.3 today", "v6.0.0-alpha.3", "version"),
        ("with Python 3.12 here", "3.12", "version"),
        ("committed as `48fe839`.", "48fe839", "hash"),
        ("run 019d7e3e-fae8-7a02-86dc-fa6bbec0caab", "019d7e3e-fae8-7a02-86dc-fa6bbec0caab", "id"),
        ("I'll work on ENT-98 first", "ENT-98", "ticket"),
        ("fixed in PR #84", "#84", "ticket"),
        ("order W1234567 is late", "W1234567", "id"),
        ("the booking ZFA04Y exists", "ZFA04Y", "id"),
        ("cancel reservation IFOYYZ please", "IFOYYZ", "id"),
        ("I am john_doe_1234.", "john_doe_1234", "id"),
        ("card ending in 7334", "7334", "id"),
        ("it costs $1,286.50 in total", "$1,286.50", "amount"),
        ("about 500 USD each", "500", "amount"),
        ("on 2024-05-20 again", "2024-05-20", "date"),
        ("on May 22nd, 2024 then", "May 22nd, 2024", "date"),
        ("until 15 June 2023", "15 June 2023", "date"),
        ("at 10:30 AM sharp", "10:30 AM", "time"),
    ],
)
def test_a_value_is_known_by_its_shape(text: str, value: str, kind: str) -> None:
    """The value without the marks around it, and what it is."""
    found = {one.value: one.kind for one in identifiers(text, 10)}
    assert found.get(value) == kind, found


def test_a_mention_brings_its_words() -> None:
    """Some five words before and three after, so that the value means something later."""
    [one] = identifiers(
        "Please move the old staging database to db_main_42 before the next run.", 5
    )
    assert one.context == "the old staging database to db_main_42 before the next"


def test_addresses_of_people_paths_and_sizes_are_left_out() -> None:
    """E-mail addresses, places in a file, durations and names of algorithms are no identifiers."""
    text = "mail a1@example.com about store.go:85, it took 239ms with sha256 and utf-8, line 12"
    assert identifiers(text, 10) == ()


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
        ("Change cabin from business to economy", "cabin", "economy", "business"),
        ("The new price is $248", "price", "$248", ""),
    ],
)
def test_a_stated_value_names_its_slot(text: str, slot: str, value: str, was: str) -> None:
    """What the value is of, and the older value where the text says it."""
    [one] = [one for one in identifiers(text, 10) if one.slot]
    assert (one.slot, one.value, one.was) == (slot, value, was)


def test_the_context_is_that_of_the_value_itself() -> None:
    """A short value that also stands inside another word brings the words of its own place."""
    text = "Open ticket 654321 and then set its priority to 3 for the whole team."
    [one] = [one for one in identifiers(text, 10) if one.slot]
    assert one.context == "then set its priority to 3 for the whole"


def test_a_list_is_no_change() -> None:
    """Many prices or ports in one text stand beside each other; none takes another's place."""
    text = "- Price: $105\n- Price: $77\n- port: 8080\n- port: 9090"
    assert [one.slot for one in identifiers(text, 10)] == ["", "", "", ""]
    assert not any(one.slot for one in identifiers("my flight from Rome to Oslo on May 24", 10))
