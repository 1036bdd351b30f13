"""A plot as part of a page: no ids that meet others, colours that follow the page's."""

from __future__ import annotations

import re

from holdfast.lab.report.plots.style import COLOURS

_BEFORE = re.compile(r"\A.*?(?=<svg\b)", re.DOTALL)
_LEFT_OUT = re.compile(r"\s*<metadata>.*?</metadata>|\s*<style\b.*?</style>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_SPACES = re.compile(r'\sxmlns(?::\w+)?="[^"]*"')
_ID = re.compile(r'(\bid="|url\(#|href="#)')
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_FONT = re.compile(r"font-family: [^;\"]*")
_SIZE = re.compile(r'\swidth="([\d.]+)pt"\sheight="[\d.]+pt"')
_LEAST_WIDTH = 640


def inline(svg: str, name: str, label: str) -> str:
    """Return the SVG of a plot as it stands in HTML; `label` is read to those who cannot see it.

    `label` has to be escaped already. Colours become variables of the page's style.
    """
    bare = _TAG.sub(lambda tag: _tag(tag[0], name), _LEFT_OUT.sub("", _BEFORE.sub("", svg)))
    return _SIZE.sub(
        lambda size: f' role="img" aria-label="{label}" style="{_width(size[1])}"', bare, count=1
    ).strip()


def _tag(tag: str, name: str) -> str:
    """Return a tag as the page wants it; what stands between tags, as names do, is not touched."""
    bare = _SPACES.sub("", tag).replace("xlink:href", "href")
    bare = _FONT.sub("font-family: inherit", _ID.sub(lambda found: f"{found[1]}{name}-", bare))
    return _COLOUR.sub(_variable, bare)


def _variable(colour: re.Match[str]) -> str:
    return f"var(--{COLOURS[colour[0]]})" if colour[0] in COLOURS else colour[0]


def _width(points: str) -> str:
    """Return the width as drawn, and the least at which its words can be read."""
    width = round(float(points) * 4 / 3)
    return f"width:{width}px;min-width:{min(width, _LEAST_WIDTH)}px"
