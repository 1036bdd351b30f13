"""`holdfast sessions show`: what a session is, its compactions, cache misses and cost."""

from __future__ import annotations

from typing import Any

import click
from msgspec import Struct, to_builtins

from holdfast.caching.prices import Prices
from holdfast.catalog.prices import prices_of
from holdfast.cli.inputs import json_option
from holdfast.cli.sessions.rows import print_row, row_of, session_argument
from holdfast.cli.sessions.turns import Step, Totals, Turn, steps_of, totals_of, turns_of
from holdfast.cli.store import opened, store_options
from holdfast.errors import MissingExtra
from holdfast.sessions.usage import usage_in
from holdfast.stores.store import Store
from holdfast.stores.values import Pin, SessionInfo


class Told(Struct, frozen=True, kw_only=True):
    """All that is shown of a session."""

    info: SessionInfo
    roles: dict[str, int]
    tools: dict[str, int]
    """How many messages call a tool or answer for it, the most first."""
    generated: int
    """Messages that another agent's compaction wrote."""
    pins: tuple[Pin, ...]
    steps: list[Step]
    turns: list[Turn]
    totals: Totals


@click.command("show")
@session_argument
@click.option("--most", type=click.IntRange(min=1), default=20, show_default=True, metavar="N",
              help="How many requests the picture shows, the newest ones.")  # fmt: skip
@store_options
@json_option
def command(session: str, most: int, as_json: bool, **options: Any) -> int:
    """Show a session: what it is, its compactions, cache misses and cost.

    A request misses the cache where it reads less from it than the one before; the picture sets
    the compactions beside the misses. Of an imported session it is what the agent wrote down. What
    was said is printed by `holdfast sessions read`.

    \b
    holdfast sessions show 20260131-1200
    """
    with opened(options, "read") as store:
        told = _told(store, store.find(session))
    if as_json:
        print_row(_row(told))
        return 0
    from holdfast.cli.sessions.draw_turns import show_session

    show_session(told, most)
    return 0


def _told(store: Store, info: SessionInfo) -> Told:
    roles: dict[str, int] = {}
    tools: dict[str, int] = {}
    generated = 0
    rows = store.read(info.id)
    for row in rows:
        roles[row.role] = roles.get(row.role, 0) + 1
        generated += row.generated
        for tool in row.tools:
            tools[tool] = tools.get(tool, 0) + 1
    turns = turns_of(store.usage(info.id) or usage_in(rows), _prices)
    return Told(
        info=info, roles=roles, tools=dict(sorted(tools.items(), key=lambda one: -one[1])),
        generated=generated, pins=store.pins(info.id),
        steps=steps_of(store.views(info.id), info.view), turns=turns, totals=totals_of(turns),
    )  # fmt: skip


def _prices(model: str) -> Prices | None:
    """Return what a model costs, None where that is not known here."""
    try:
        return prices_of(model)
    except MissingExtra:
        return None


def _row(told: Told) -> dict[str, Any]:
    found = to_builtins(told)
    found.pop("info")
    return {**row_of(told.info), **found}
