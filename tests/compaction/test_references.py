"""References: short, stable, one for each original and place."""

from __future__ import annotations

import re

from hypothesis import given
from tests.testing.strategies import logs

from foldaway.compaction.references import payload_bytes, reference_of, reference_to
from foldaway.transcript import Message, Text


@given(log=logs())
def test_a_reference_is_the_same_on_every_run_and_differs_by_place(
    log: tuple[Message, ...],
) -> None:
    """Forty bits of a digest over place and payload."""
    found = [reference_of(message) for message in log]
    assert found == [reference_of(message) for message in log]
    assert len(set(found)) == len(found)
    assert all(re.fullmatch(r"fa-[0-9a-f]{10}", ref) for ref in found)


def test_a_range_has_its_own_reference() -> None:
    """Other ends or other places give another."""
    log = [Message("user", (Text("same"),), at) for at in range(4)]
    ranges = {
        reference_to(f"{start}:{stop}", log[start], log[stop - 1])
        for start, stop in ((0, 2), (0, 3), (1, 3))
    }
    found = ranges | {reference_of(message) for message in log}
    assert len(found) == 7


def test_a_payload_that_no_utf8_can_hold_still_has_a_reference() -> None:
    """A lone surrogate is a JSON string like any other."""
    message = Message("user", (), 0, wire={"role": "user", "content": "\ud800"})
    assert payload_bytes(message)
    assert reference_of(message).startswith("fa-")
