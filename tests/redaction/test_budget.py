"""The account of a text: bytes fill it, tries empty it, and it fails closed."""

from __future__ import annotations

import random
import string
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.redaction.budget import ANY, BASE, FREE, Price, SearchBudget
from foldaway.redaction.finder import ANCHORED, FIELDS, SHAPED

PRICE = Price(line=64, failed=100, found=50)
KEYED = Redactor(RedactionPolicy(key="test"))


def _line(at: int) -> bytes:
    return b"x" * at + b"\n"


def test_a_text_may_cost_its_base_and_its_length() -> None:
    """Every byte up to a try pays for it, and `BASE` beyond that."""
    data = _line(99) * 1_000
    budget = SearchBudget(data, Price(line=64, failed=1_000, found=1_000))
    paid = next(n for n in range(10_000) if budget.is_full(n * 10, 1, 0)) + 1
    assert paid * 1_000 > BASE + (paid - 1) * 10
    assert (paid - 1) * 1_000 <= BASE + (paid - 2) * 10


@each_row("price", [ANCHORED, SHAPED, FIELDS])
def test_a_try_costs_no_more_once_what_it_found_is_hidden(price: Price) -> None:
    """Otherwise a text that could just be paid for could not be once it is redacted."""
    budget = SearchBudget(b"x", price)
    budget.met_hidden(0)
    budget.spent(0)
    budget.is_full(0, 1, 0)
    again, failed, found = [cost for _, cost in budget.log]
    assert again <= min(failed, found)


def test_a_long_secret_costs_more_than_a_short_one_up_to_what_is_judged_of_it() -> None:
    """Names and values of hundreds of bytes take longer to judge; the rest of a key does not."""
    costs: list[int] = []
    for size in (8, 80, 800, 8_000):
        budget = SearchBudget(b"x" * 9_000, FIELDS)
        budget.is_full(0, 1, size)
        costs.append(budget.log[0][1])
    assert costs[0] < costs[1] < costs[2] == costs[3]


def test_what_another_search_has_paid_counts() -> None:
    """Three searches that each cost little enough may cost too much together."""
    data = _line(99) * 100
    half = BASE // 2 + 4_000
    assert not SearchBudget(data, Price(line=64, failed=half, found=1)).spent(0)
    assert not SearchBudget(data, Price(line=64, failed=half, found=1), [[(0, half)]]).spent(9_000)
    assert SearchBudget(data, Price(line=64, failed=half, found=1), [[(0, half)]]).spent(0)


def test_what_was_paid_further_on_does_not_count_yet() -> None:
    """What is hidden up to a place depends on nothing that stands after its line."""
    data = _line(99) * 100
    late = [(5_000, BASE)]
    budget = SearchBudget(data, Price(line=64, failed=10_000, found=1), [late])
    assert not budget.spent(4_999)
    assert budget.spent(5_001)


def test_an_empty_account_stays_empty_for_the_searches_after() -> None:
    """The bytes that are hidden would pay now and not when the text comes back."""
    data = _line(99) * 100_000
    budget = SearchBudget(data, Price(line=64, failed=BASE + 1_000, found=1))
    assert budget.spent(0)
    assert budget.line(0).end >= 4_096
    assert budget.spent(len(data) - 2)
    assert SearchBudget(data, PRICE, [budget.log]).spent(len(data) - 2)


@given(st.integers(0, 3_000), st.integers(1, 200))
def test_what_is_hidden_pays_nothing(hidden: int, tries: int) -> None:
    """A placeholder may be longer than its secret: neither fills the account nor the line."""
    outcome: list[list[bool]] = []
    for size in (hidden, hidden * 2):
        data = b"a" * 500 + bytes(size) + b"b" * 500 + b"\n"
        budget = SearchBudget(data, PRICE, [[(0, BASE)]])
        outcome.append([budget.spent(500 + size + n) for n in range(tries)])
    assert outcome[0] == outcome[1]
    assert outcome[0].count(False) <= FREE + 1_000 // 64


@given(
    st.lists(st.integers(0, 3_000), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 300)), max_size=200),
)
def test_a_line_may_have_as_many_tries_as_its_length_pays_for(
    sizes: list[int], tries: list[tuple[int, int]]
) -> None:
    """However the tries are counted, each line is judged by its own."""
    data = b"".join(map(_line, sizes))
    budget = SearchBudget(data, PRICE)
    at = 0
    paid: dict[int, int] = {}
    for step, read in tries:
        at = min(at + step // 10, len(data) - 1)
        start = data.rfind(b"\n", 0, at) + 1
        paid[start] = paid.get(start, 0) + 1 + read // 64
        size = data.index(b"\n", at) - start
        assert budget.spent(at, read) == (paid[start] > FREE + size // PRICE.line)
    over = [
        PRICE.line * (FREE + (data.index(b"\n", start) - start) // PRICE.line - cost)
        for start, cost in paid.items()
        if cost > FREE
    ]
    assert budget.slack == min(over, default=ANY)


PARTS: dict[str, Callable[[str], str]] = {
    "field": lambda word: f"token = cfg.get_{word}(self)",
    "secret": lambda word: f"secret={word}{word}",
    "literal": lambda word: f"cloudflare, {word} ghp_{word[:4]}",
    "number": lambda word: f"4{word.translate(_DIGITS)[:14]} 12-{word.translate(_DIGITS)[:4]}-1234",
    "address": lambda word: f"{word}@mailhost.org",
}
_DIGITS = str.maketrans({c: str(n % 10) for n, c in enumerate(string.ascii_letters)})


@pytest.mark.soak
def test_a_text_of_all_that_costs_is_as_cheap_as_one_of_the_dearest() -> None:
    """Tries of all sorts are paid out of one account, also where no value comes twice."""
    rng = random.Random(5)
    words = ["".join(rng.choices(string.ascii_letters, k=12)) for _ in range(24_000)]
    spent: list[float] = []
    for makers in ([PARTS["secret"]], list(PARTS.values())):
        text = "\n".join(make(word) for word in words for make in makers)[:600_000]
        start = time.process_time()
        out = KEYED(text)
        spent.append(time.process_time() - start)
        assert KEYED(out) == out
    assert spent[1] < 2 * spent[0] + 0.1
