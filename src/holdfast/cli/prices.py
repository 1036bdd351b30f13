"""The options by which a command is told what a model costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from msgspec import Struct

from holdfast.caching.prices import NAMES, Prices, prices_from
from holdfast.catalog.prices import prices_of
from holdfast.errors import InvalidSetting, MissingExtra

F = TypeVar("F", bound=Callable[..., Any])


class Priced(Struct, frozen=True):
    """Prices, None where they are not known, and what there is to say about that."""

    prices: Prices | None
    note: str = ""


def price_options(command: F) -> F:
    """Add `--price`, `--ttl` and `--summaries` to a command."""
    command = click.option(
        "--summaries", type=click.Choice(["ledger", "model"]), default="ledger", show_default=True,
        help="Who writes summaries: the ledger, for nothing, or the model, at its price.",
    )(command)  # fmt: skip
    command = click.option(
        "--ttl", type=click.Choice(["5m", "1h"]),
        help="How long the provider keeps its cache; 5m where it is not named.",
    )(command)  # fmt: skip
    return price_option(command)


def price_option(command: F) -> F:
    """Add `--price` to a command."""
    return click.option(
        "--price", "figures", multiple=True, metavar="NAME=USD",
        help=f"A price for a million tokens: {', '.join(NAMES)}. Over what is known of the model.",
    )(command)  # fmt: skip


def prices_for(model: str, figures: Sequence[str]) -> Priced:
    """Return the prices of a model with those given by hand over them, or raise a usage error."""
    note = ""
    try:
        known = prices_of(model)
        if known is None:
            note = f"no prices are known for {model!r}" if model else "no model is named"
    except MissingExtra as error:
        known, note = None, f"no prices without holdfast[{error.extra}]"
    if not figures:
        return Priced(known, f"{note}; give --price input=… --price output=…" if note else "")
    try:
        return Priced(prices_from(dict(map(_figure, figures)), known))
    except InvalidSetting as error:
        raise click.UsageError(f"--price: {error}", click.get_current_context()) from None


def _figure(given: str) -> tuple[str, float]:
    name, _, amount = given.partition("=")
    try:
        return name.strip().replace("-", "_"), float(amount)
    except ValueError:
        raise click.UsageError(
            f"--price {given!r} is not NAME=USD, as in input=3", click.get_current_context()
        ) from None
