"""Prices and bills: every token is paid for once, at one price."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.caching.catalog import prices_of
from foldaway.caching.prices import Bill, Prices, minimum_for
from foldaway.dialects.loading import dialect_named
from foldaway.errors import InvalidSetting

SONNET = Prices(
    input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, cache_write_1h=6.0, at_marks=True
)
amounts = st.floats(0, 100, allow_nan=False)
sizes = st.integers(0, 500_000)


@st.composite
def price_tables(draw: st.DrawFn) -> Prices:
    """Prices as providers have them: reading costs no more than sending, writing no less."""
    full = draw(st.floats(0.01, 100))
    return Prices(
        input=full,
        output=draw(amounts),
        cache_read=full * draw(st.floats(0, 1)),
        cache_write_5m=full * draw(st.floats(1, 2)),
        cache_write_1h=full * draw(st.floats(1, 3)),
        min_cached_tokens=draw(st.sampled_from([0, 512, 1024, 4096])),
    )


@given(price_tables(), sizes, sizes, sizes, st.sampled_from(["5m", "1h"]))
def test_every_token_is_billed_once(
    prices: Prices, tokens: int, cached: int, output: int, ttl: object
) -> None:
    """Read, written and plain tokens together are the prompt; the cache never holds more of it."""
    made = prices.bill(tokens, cached, output, ttl)  # pyright: ignore[reportArgumentType]
    assert made.prompt_tokens == tokens
    assert 0 <= made.read_tokens <= min(cached, tokens)
    assert made.output_tokens == output
    parts = made.read_usd + made.written_usd + made.plain_usd + made.output_usd
    assert made.usd == pytest.approx(parts)


@given(price_tables(), sizes, sizes, sizes)
def test_more_in_the_cache_never_costs_more(
    prices: Prices, tokens: int, one: int, other: int
) -> None:
    """A cache hit is never a loss."""
    less, more = sorted((one, other))
    assert prices.bill(tokens, more).usd <= prices.bill(tokens, less).usd + 1e-12


@given(price_tables(), st.lists(st.tuples(sizes, sizes), max_size=4))
def test_bills_add_up(prices: Prices, calls: list[tuple[int, int]]) -> None:
    """The sum of the bills costs the sum of their costs."""
    bills = [prices.bill(tokens, cached) for tokens, cached in calls]
    assert sum(bills, Bill()).usd == pytest.approx(sum(one.usd for one in bills))


def test_a_prompt_below_the_smallest_size_is_plain() -> None:
    """Nothing is read and nothing written below it."""
    made = SONNET.bill(1_000, 900)
    assert (made.read_tokens, made.written_tokens, made.plain_tokens) == (0, 0, 1_000)


def test_an_hour_costs_more_to_write() -> None:
    """The longer life has a price of its own."""
    assert SONNET.bill(10_000, ttl="1h").usd == pytest.approx(0.06)
    assert SONNET.bill(10_000).usd == pytest.approx(0.0375)


def test_long_prompts_may_cost_more_throughout() -> None:
    """Beyond the step every token has the higher price."""
    dear = Prices.from_figures({"input": 6.0, "output": 22.5})
    prices = Prices.from_figures({"input": 3.0, "output": 15.0})
    stepped = Prices(
        input=3.0, output=15.0, cache_read=3.0, cache_write_5m=3.0, cache_write_1h=3.0,
        long_from_tokens=200_000, long=dear,
    )  # fmt: skip
    assert stepped.bill(200_000).usd == prices.bill(200_000).usd
    assert stepped.bill(200_001).usd == dear.bill(200_001).usd


def test_prices_by_hand_go_over_what_is_known() -> None:
    """Single figures replace single figures."""
    assert Prices.from_figures({"input": 1.0}, SONNET).output == 15.0
    alone = Prices.from_figures({"input": 1.0, "output": 2.0})
    assert (alone.cache_read, alone.cache_write_5m, alone.cache_write_1h) == (1.0, 1.0, 1.0)


@each_row(
    "figures",
    [{"input": 1.0}, {"output": 1.0}, {"inputs": 1.0}, {"input": -1.0, "output": 1.0},
     {"input": float("nan"), "output": 1.0}, {"input": float("inf"), "output": 1.0}],
)  # fmt: skip
def test_figures_that_are_no_prices_are_refused(figures: dict[str, float]) -> None:
    """With the name of the figure."""
    with pytest.raises(InvalidSetting, match=r"prices\."):
        Prices.from_figures(figures)


def test_a_bad_figure_over_a_known_one_is_refused_too() -> None:
    """The check is not skipped when a value is replaced."""
    with pytest.raises(InvalidSetting):
        Prices.from_figures({"input": -1.0}, SONNET)


@each_row(
    ("model", "tokens"),
    [("claude-sonnet-4-5", 1_024), ("anthropic/claude-haiku-4.5", 4_096), ("gpt-5.1", 1_024),
     ("claude-opus-4-6-20260101", 4_096), ("", 1_024)],
)  # fmt: skip
def test_the_smallest_cached_size_depends_on_the_model(model: str, tokens: int) -> None:
    """From a table of names; dots and dashes are the same."""
    assert minimum_for(model) == tokens


@each_row(
    ("wire", "figures"),
    [("anthropic", (1, 5, 0.1, 1.25, 2)), ("openai-chat", (1, 8, 0.1, 1, 1)),
     ("openai-responses", (1, 8, 0.1, 1, 1)), ("gemini", (1, 8, 0.25, 1, 1)),
     ("sharegpt", (1, 8, 0.1, 1, 1))],
)  # fmt: skip
def test_an_unknown_model_has_the_ratio_of_its_wire(wire: str, figures: tuple[float, ...]) -> None:
    """In units of an input token, and they say that they are not dollars."""
    found = Prices.of_wire(wire)
    assert dialect_named(wire)
    assert tuple(getattr(found, name) for name in Prices.NAMES) == figures
    assert (found.is_ratio, found.source) == (True, "the ratio of the wire")
    assert found.at_marks == (wire == "anthropic")
    assert not SONNET.is_ratio


def test_prices_are_looked_up() -> None:
    """Figures of the package, as our value; a model that nobody knows has none."""
    pytest.importorskip("genai_prices")
    found = prices_of("anthropic/claude-sonnet-4-5")
    assert found is not None
    assert (found.input, found.cache_read, found.cache_write_5m) == (3.0, 0.3, 3.75)
    assert found.at_marks
    assert found.source == "genai-prices: anthropic"
    free_writes = prices_of("gpt-5.1")
    assert free_writes is not None
    assert free_writes.cache_write_5m == free_writes.input > free_writes.cache_read
    assert not free_writes.at_marks
    for name in ("", "/", "no-such-model", "openai/", "\ud800"):
        assert prices_of(name) is None
