"""A plot of what strategies cost, by what is paid for."""

# matplotlib leaves the types of its **kwargs open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence

from foldaway.lab.report.panels import GREEN, GREY, ORANGE, PINK, SETTINGS, SKY, svg_text
from foldaway.lab.simulation import StrategyCost

# after panels, whose import says what to install if matplotlib is missing
import matplotlib  # isort: skip
from matplotlib.axes import Axes  # isort: skip
from matplotlib.figure import Figure  # isort: skip

_KINDS = {
    "cache reads": GREEN,
    "cache writes": ORANGE,
    "other input": GREY,
    "summaries": PINK,
    "output": SKY,
}


def cost_plot(title: str, costs: Sequence[StrategyCost]) -> str:
    """Return as SVG bars of what each strategy cost, parted by what was paid for."""
    with matplotlib.rc_context(SETTINGS):
        figure, axes = strategy_rows(title, costs)
        begins = [0.0] * len(costs)
        for at, (kind, color) in enumerate(_KINDS.items()):
            amounts = [_amounts(one)[at] for one in costs]
            axes.barh(range(len(costs)), amounts, left=begins, height=0.6, color=color, label=kind)
            begins = [begin + amount for begin, amount in zip(begins, amounts, strict=True)]
        for at, one in enumerate(costs):
            axes.text(begins[at], at, f"  ${one.usd:,.2f}  ×{one.ratio:.2f}", va="center")
        axes.set_xlim(0, (max(begins, default=0.0) or 1.0) * 1.25)
        axes.set_xlabel("USD")
        figure.legend(loc="lower center", ncols=len(_KINDS), frameon=False)
        return svg_text(figure, title)


def strategy_rows(title: str, costs: Sequence[StrategyCost]) -> tuple[Figure, Axes]:
    """Return a figure with a row for each strategy, the first on top."""
    height = 1.3 + 0.3 * len(costs)
    figure = Figure(figsize=(9.0, height))
    figure.text(0.02, 1 - 0.22 / height, title, fontsize=12, fontweight="bold", va="center")
    axes = figure.add_axes((0.2, 0.8 / height, 0.68, 1 - 1.25 / height))
    axes.set_yticks(range(len(costs)), [one.strategy for one in costs])
    axes.set_ylim(len(costs) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    return figure, axes


def _amounts(cost: StrategyCost) -> tuple[float, ...]:
    """Return what was paid, in the order of `_KINDS`."""
    bill = cost.bill
    return bill.read_usd, bill.written_usd, bill.plain_usd, cost.summaries.usd, bill.output_usd
