"""One long line without a blank: no alphabet makes re2 leave its quick way to read."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest

from holdfast.redaction import RedactionPolicy, Redactor

REDACTOR = Redactor(RedactionPolicy(key="test"))


def drawn(letters: str, size: int) -> str:
    return "".join(random.Random(7).choices(letters, k=size))


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
LINES = {
    "base64url": LETTERS + "-_",
    "hex and dashes": "0123456789abcdef-",
    "dots": LETTERS + "-_.",
    "equals signs": LETTERS + "=",
}


@pytest.mark.parametrize("name", LINES)
def test_one_long_line_costs_what_base64_costs(
    name: str, cpu_of: Callable[[Callable[[], object]], float]
) -> None:
    """No alphabet of encoded bytes is dearer than twice base64, and the cost is linear."""
    plain = drawn(LETTERS + "+/", 400_000)
    short, long = drawn(LINES[name], 100_000), drawn(LINES[name], 400_000)
    base = cpu_of(partial(REDACTOR, plain))
    taken = cpu_of(partial(REDACTOR, long))
    assert taken < 2 * base + 0.05
    assert taken < 8 * cpu_of(partial(REDACTOR, short)) + 0.05


@pytest.mark.parametrize(
    "pieces", [("-pin-", "a", "bc"), ("token", "a", "b"), ("--", "a", "b"), ("key", "a", "b")]
)
def test_names_within_names_cost_in_proportion(
    pieces: tuple[str, ...], cpu_of: Callable[[Callable[[], object]], float]
) -> None:
    """Names at random distances in one word cost no more than base64 does."""
    text = "".join(random.Random(7).choices(pieces, k=200_000))[:400_000]
    base = cpu_of(partial(REDACTOR, drawn(LETTERS + "+/", 400_000)))
    assert cpu_of(partial(REDACTOR, text)) < 2 * base + 0.05


@pytest.mark.parametrize("signs", ["-.@", "-.@:"])
def test_letters_with_at_signs_cost_no_more_than_addresses_do(
    signs: str, cpu_of: Callable[[Callable[[], object]], float]
) -> None:
    """What could be an address in one long word is no dearer than addresses are, and linear."""
    base = cpu_of(partial(REDACTOR, "jane.roe@mailhost.org " * 36_000))
    short, long = (
        cpu_of(partial(REDACTOR, drawn(LETTERS + signs, n))) for n in (2 * 10**5, 8 * 10**5)
    )
    assert long < 2 * base + 0.05
    assert long < 10 * short + 0.05
