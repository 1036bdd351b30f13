"""One long line without a blank: no alphabet makes re2 leave its quick way to read."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest

from foldaway.redaction import RedactionPolicy, Redactor

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


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_one_long_line_costs_what_base64_costs(name: str, cpu_of: Callable[..., float]) -> None:
    """No alphabet of encoded bytes is dearer than twice base64, and the cost is linear."""
    plain = drawn(LETTERS + "+/", 400_000)
    short, long = drawn(LINES[name], 100_000), drawn(LINES[name], 400_000)
    most = min(2 * cpu_of(partial(REDACTOR, plain)), 8 * cpu_of(partial(REDACTOR, short))) + 0.05
    assert cpu_of(partial(REDACTOR, long), below=most) < most


@pytest.mark.slow
@pytest.mark.parametrize(
    "pieces", [("-pin-", "a", "bc"), ("token", "a", "b"), ("--", "a", "b"), ("key", "a", "b")]
)
def test_names_within_names_cost_in_proportion(
    pieces: tuple[str, ...], assert_proportion: Callable[..., None]
) -> None:
    """Names at random distances in one word cost no more than base64 does."""
    text = "".join(random.Random(7).choices(pieces, k=200_000))[:400_000]
    base = drawn(LETTERS + "+/", 400_000)
    assert_proportion(partial(REDACTOR, base), partial(REDACTOR, text), times=2, plus=0.05)


@pytest.mark.parametrize("size", [50_000, pytest.param(200_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("signs", ["-.@", "-.@:"])
@pytest.mark.soak
def test_letters_with_at_signs_cost_no_more_than_addresses_do(
    signs: str, size: int, cpu_of: Callable[..., float]
) -> None:
    """What could be an address in one long word is no dearer than addresses are, and linear."""
    address = "jane.roe@mailhost.org "
    base = cpu_of(partial(REDACTOR, address * (4 * size // len(address))))
    short, long = drawn(LETTERS + signs, size), drawn(LETTERS + signs, 4 * size)
    most = min(2 * base, 10 * cpu_of(partial(REDACTOR, short))) + 0.05
    assert cpu_of(partial(REDACTOR, long), below=most) < most
