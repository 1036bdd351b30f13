"""Plots as SVG text: what strategies cost, by what is paid for, and how it spreads."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from holdfast.lab.simulate import Outcome, quantiles

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 860, 170, 110, 30, 64
_KINDS = (("cache reads", "#4c9f70"), ("cache writes", "#d9822b"), ("other input", "#b0b7c3"),
          ("summaries", "#8e5ea2"), ("output", "#5b7fb5"))  # fmt: skip
_INK, _FAINT = "#24292f", "#d0d7de"
_SPREAD = (0.0, 0.10, 0.25, 0.50, 0.75, 0.90, 1.0)
_MOST = 3.0


def cost_plot(title: str, outcomes: Sequence[Outcome]) -> str:
    """Return bars of what each strategy cost, parted by what was paid for."""
    most = max((one.usd for one in outcomes), default=0.0) or 1.0
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    lines = _legend()
    for number, one in enumerate(outcomes):
        y, x = _TOP + number * _ROW, float(_LEFT)
        lines.append(_text(_LEFT - 10, y + 16, one.strategy, anchor="end"))
        parts = (one.bill.read_usd, one.bill.written_usd, one.bill.plain_usd, one.summaries.usd,
                 one.bill.output_usd)  # fmt: skip
        for amount, (_, colour) in zip(parts, _KINDS, strict=True):
            lines.append(_box(x, y + 4, amount * scale, 16, colour))
            x += amount * scale
        lines.append(_text(x + 6, y + 16, f"${one.usd:,.2f}  ×{one.ratio:.2f}"))
    return _svg(title, lines, _TOP + len(outcomes) * _ROW + 12)


def spread_plot(title: str, outcomes: Sequence[Outcome]) -> str:
    """Return for each strategy how its cost against append only spreads over the sessions.

    Line from least to most, thin box 10 to 90 %, box 25 to 75 %, mark at the middle; what lies
    beyond three times is drawn at the edge.
    """
    scale = (_WIDTH - _LEFT - _RIGHT) / _MOST
    bottom = _TOP + len(outcomes) * _ROW
    lines = [
        f'<line x1="{_LEFT + at * scale:.1f}" y1="{_TOP - 6}" x2="{_LEFT + at * scale:.1f}" '
        f'y2="{bottom}" stroke="{_INK if at == 1 else _FAINT}" stroke-width="1"/>'
        f"{_text(_LEFT + at * scale, _TOP - 12, f'×{at:g}', anchor='middle')}"
        for at in (0, 0.5, 1, 1.5, 2, 2.5, 3)
    ]
    for number, one in enumerate(outcomes):
        y = _TOP + number * _ROW
        lines.append(_text(_LEFT - 10, y + 16, one.strategy, anchor="end"))
        found = quantiles(one.ratios, _SPREAD)
        if not found:
            continue
        xs = [_LEFT + min(value, _MOST) * scale for value in found]
        lines += [
            _box(xs[0], y + 11, max(xs[6] - xs[0], 1), 2, _KINDS[2][1]),
            _box(xs[1], y + 8, max(xs[5] - xs[1], 1), 8, _KINDS[4][1], 0.35),
            _box(xs[2], y + 5, max(xs[4] - xs[2], 1), 14, _KINDS[4][1], 0.75),
            _box(xs[3] - 1.5, y + 3, 3, 18, _INK),
            _text(_WIDTH - _RIGHT + 8, y + 16, f"×{found[3]:.2f}"),
        ]
    return _svg(title, lines, bottom + 12)


def _legend() -> list[str]:
    lines: list[str] = []
    x = _LEFT
    for name, colour in _KINDS:
        lines += [_box(x, 40, 12, 12, colour), _text(x + 17, 50, name)]
        x += 120
    return lines


def _box(x: float, y: float, width: float, height: float, colour: str, opacity: float = 1.0) -> str:
    seen = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" fill="{colour}"'
        f"{seen}/>"
    )


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_INK}">{escape(words)}</text>'
    )


def _svg(title: str, lines: Sequence[str], height: int) -> str:
    drawn = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="system-ui, sans-serif" font-size="12">\n'
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>\n'
        f'<text x="16" y="24" font-size="15" fill="{_INK}">{escape(title)}</text>\n'
        f"{drawn}\n</svg>\n"
    )
