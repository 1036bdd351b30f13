"""The page of a run of plays: one file that opens by itself, with nothing from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path

from msgspec import Struct

from foldaway._core import write_whole
from foldaway.lab.play.standings import (
    Against,
    Outcome,
    PlayLine,
    PlaySummary,
    SolvedShare,
    dollars,
)
from foldaway.lab.play.strategies import OWN
from foldaway.lab.results import MeanInterval, PlayManifest

_STYLE = Path(__file__).parent.parent / "report" / "page.css"
_MORE_STYLE = """
figure svg { width: 100%; max-width: 34rem; }
figure text {
  font: 11px system-ui, sans-serif; fill: var(--ink);
  stroke: var(--paper); stroke-width: 3px; paint-order: stroke;
}
figure .soft { fill: var(--soft); }
"""
# of the drawing, in its own units: 380 wide, so that its words can be read on a telephone
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 380.0, 300.0, 40.0, 14.0, 14.0, 40.0
_CHAR, _LINE, _DOT = 6.4, 13.0, 4.5
"""Of a label: how wide a sign is, how high a line; the radius of a dot."""
_WORDS: dict[Outcome, str] = {"better": "ahead", "worse": "behind", "not apart": "", "too few": ""}
"""Classes of the page's style."""


def write_page(path: Path, summary: PlaySummary) -> None:
    """Write the page of a summary."""
    write_whole(path, page(summary).encode(errors="replace"))


def page(summary: PlaySummary) -> str:
    """Return the page."""
    lines, asked = summary.lines, summary.manifest
    style = _STYLE.read_text(encoding="utf-8") + _MORE_STYLE
    failures = _section("No answer", map(_paragraph, summary.failures)) if summary.failures else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Foldaway: tasks played to their end</title><style>{style}</style></head>
<body><main>
<h1>Tasks played to their end</h1>
<p class="lead">{_describe(asked)}</p>
{_section("Losses, then wins", map(_headline, summary.verdict))}
{failures}
{_section("Solved against money", [_figure(lines)])}
{_section("Strategies", [_table(_HEADS, map(_row, lines)), _paragraph(_READING)])}
{_section("By family", [_families(lines)])}
{_section("Which goals were missed", [_missed(lines)])}
{_section("What each strategy does", [_meanings(lines)])}
</main></body></html>
"""


_HEADS = (
    "strategy", "solved", "95 %", "money a task", "a task solved", "steps", "tokens sent",
    "compactions", "recalls", "wrong", "after a compaction", "beside normal: solved", "money",
)  # fmt: skip
_READING = (
    "Beside normal: normal minus the strategy, task by task, with 95 % intervals by bootstrap; in "
    "color if 0 is outside. Intervals of shares are Wilson's. Money counts a prompt cache that "
    "matches exactly. A play is solved if each of its goals is met at its end."
)


def _describe(asked: PlayManifest) -> str:
    """Return what was played, by whom, and at which prices."""
    who = (
        "the scripted player, which acts by rules on what is in its context"
        if asked.player == "scripted"
        else asked.player
    )
    prices = asked.prices
    return escape(
        f"{asked.tasks:,} tasks from seed {asked.seed}, each under {len(asked.strategies)} "
        f"strategies, played by {who}. The window has {asked.window:,} tokens. Dollars for a "
        f"million tokens: input {prices.input:g}, output {prices.output:g}, cache read "
        f"{prices.cache_read:g}, cache write {prices.cache_write_5m:g} ({prices.source}). "
        "The end of each task was checked by code."
    )


def _section(title: str, parts: Iterable[str]) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{chr(10).join(parts)}\n</section>"


def _headline(sentence: str) -> str:
    return f'<p class="headline">{escape(sentence)}</p>'


def _paragraph(sentence: str) -> str:
    return f"<p>{escape(sentence)}</p>"


def _table(heads: Sequence[str], rows: Iterable[str]) -> str:
    named = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "\n".join(rows)
    return (
        f'<div class="scroll"><table><thead><tr>{named}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def _row(line: PlayLine) -> str:
    against = line.against
    cells = [
        f"{line.solved.part} of {line.solved.whole}",
        f"{line.solved.low:.0%} to {line.solved.high:.0%}",
        _interval(line.usd, dollars),
        "–" if line.usd_per_solved is None else dollars(line.usd_per_solved),
        f"{line.steps:.0f}",
        f"{line.tokens:,.0f}",
        f"{line.compactions:.1f}",
        f"{line.recalls:.1f}",
        f"{line.wrong:.1f}",
        f"{line.wrong_after:.1f}",
    ]
    found = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return _tr(line, found + _beside(against))


def _tr(line: PlayLine, cells: str) -> str:
    ours = ' class="ours"' if line.is_ours else ""
    return f"<tr{ours}><th>{escape(line.strategy)}</th>{cells}</tr>"


def _beside(against: Against | None) -> str:
    if against is None:
        return "<td></td><td></td>"
    solved = _interval(against.solved, lambda value: f"{value:+.0%}")
    money = _interval(against.usd, _signed)
    return (
        f'<td class="{_WORDS[against.in_solved]}">{solved}</td>'
        f'<td class="{_WORDS[against.in_money]}">{money}</td>'
    )


def _signed(amount: float) -> str:
    return f"{'−' if amount < 0 else '+'}{dollars(abs(amount))}"


def _interval(found: MeanInterval | None, form: Callable[[float], str]) -> str:
    if found is None:
        return "–"
    return f"{form(found.mean)} ({form(found.low)} to {form(found.high)})"


def _families(lines: Sequence[PlayLine]) -> str:
    names = list(dict.fromkeys(name for line in lines for name in line.families))

    def cell(share: SolvedShare | None) -> str:
        return "<td>–</td>" if share is None else f"<td>{share.part} of {share.whole}</td>"

    rows = (_tr(line, "".join(cell(line.families.get(name)) for name in names)) for line in lines)
    return _table(("strategy", *names), rows)


def _missed(lines: Sequence[PlayLine]) -> str:
    kinds = list(dict.fromkeys(kind for line in lines for kind in line.missed))
    if not kinds:
        return _paragraph("None was missed.")
    rows = (
        _tr(line, "".join(f"<td>{line.missed.get(kind, '')}</td>" for kind in kinds))
        for line in lines
    )
    return _paragraph("In how many plays; a play may miss several.") + _table(
        ("strategy", *kinds), rows
    )


def _meanings(lines: Sequence[PlayLine]) -> str:
    rows = "".join(
        f"<dt>{escape(line.strategy)}</dt><dd>{escape(line.what)}</dd>" for line in lines
    )
    return f"<dl>{rows}</dl>"


# The drawing


class _Box(Struct, frozen=True):
    """A place that is taken."""

    x: float
    y: float
    width: float
    height: float

    def meets(self, other: _Box) -> bool:
        """Return whether two places overlap."""
        return (
            abs(2 * (self.x - other.x) + self.width - other.width) < self.width + other.width
            and abs(2 * (self.y - other.y) + self.height - other.height)
            < self.height + other.height
        )

    @property
    def is_inside(self) -> bool:
        """Whether it is inside of the drawing."""
        return (
            self.x >= _LEFT + 2
            and self.x + self.width <= _WIDTH
            and self.y >= 0
            and self.y + self.height <= _HEIGHT - _BOTTOM
        )


def _figure(lines: Sequence[PlayLine]) -> str:
    """Return the plot: money a task to the right, share of the tasks solved upwards."""
    shown = [(line, line.usd) for line in lines if line.usd is not None]
    ticks = ticks_up_to(max((money.high for _, money in shown), default=0.0) or 1.0)
    points = [(_across(money.mean / ticks[-1]), _up(line.solved.mean)) for line, money in shown]
    parts = [*_axes(ticks)]
    for (line, money), (x, y) in zip(shown, points, strict=True):
        color = "blue" if line.is_ours else "orange"
        low, high = (_across(end / ticks[-1]) for end in (money.low, money.high))
        parts.append(
            f'<g style="stroke:var(--{color});stroke-opacity:.5">'
            f'<path d="M{x:.1f} {_up(line.solved.low):.1f}V{_up(line.solved.high):.1f}'
            f'M{low:.1f} {y:.1f}H{high:.1f}"/></g>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_DOT:g}" style="fill:var(--{color})"/>'
        )
    parts += _labels([line.strategy for line, _ in shown], points)
    says = "Share of the tasks solved against money a task, a dot for each strategy"
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{says}">'
        f"{''.join(parts)}</svg><figcaption>{says}, with 95 % intervals. Up and to the left is "
        "better. Blue is Foldaway.</figcaption></figure>"
    )


def _across(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _up(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def ticks_up_to(most: float) -> list[float]:
    """Return round values from 0 on, at most six, of which the last is at least `most`."""
    step = 10 ** math.floor(math.log10(most))
    step = next(step * by for by in (0.2, 0.25, 0.5, 1, 2, 2.5) if step * by * 5 >= most)
    return [at * step for at in range(math.ceil(most / step - 1e-9) + 1)]


def _axes(ticks: Sequence[float]) -> list[str]:
    grid = "".join(
        f'<path d="M{_LEFT:g} {_up(share):.1f}H{_WIDTH - _RIGHT:g}"/>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    found = [f'<g style="stroke:var(--faint)">{grid}</g>']
    found += [
        f'<text x="{_LEFT - 5:g}" y="{_up(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    found += [
        f'<text x="{_across(tick / ticks[-1]):.1f}" y="{_HEIGHT - _BOTTOM + 15:g}" '
        f'text-anchor="middle">${tick:g}</text>'
        for tick in ticks
    ]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    found.append(
        f'<text class="soft" x="{middle:g}" y="{_HEIGHT - 6:g}" text-anchor="middle">'
        "money a task, cache counted</text>"
    )
    return found


def _labels(names: Sequence[str], points: Sequence[tuple[float, float]]) -> list[str]:
    """Return a name for each point, near it and clear of all else, with a line to it."""
    around = _DOT + 2
    taken = [_Box(x - around, y - around, 2 * around, 2 * around) for x, y in points]
    found: list[str] = []
    for name, (x, y) in zip(names, points, strict=True):
        box = place_label(len(name) * _CHAR, x, y, taken)
        taken.append(box)
        near = min(max(x, box.x), box.x + box.width), min(max(y, box.y), box.y + box.height)
        weight = ' font-weight="700"' if name == OWN else ""
        found.append(
            f'<path d="M{x:.1f} {y:.1f}L{near[0]:.1f} {near[1]:.1f}" style="stroke:var(--grey)"/>'
            f'<text x="{box.x:.1f}" y="{box.y + _LINE - 3:.1f}"{weight}>{escape(name)}</text>'
        )
    return found


def place_label(width: float, x: float, y: float, taken: Sequence[_Box]) -> _Box:
    """Return the nearest place around a point at which a label meets nothing that is taken."""
    beside = _Box(x + _DOT + 3, y - _LINE / 2, width, _LINE)
    for distance in range(8, 240, 4):
        for turn in range(24):
            angle = turn * math.pi / 12
            middle = x + math.cos(angle) * (distance + width / 2), y + math.sin(angle) * distance
            box = _Box(middle[0] - width / 2, middle[1] - _LINE / 2, width, _LINE)
            if box.is_inside and not any(map(box.meets, taken)):
                return box
    return beside
