"""How plots look: colours that colour-blind people tell apart, a mark for each strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from holdfast.lab.report.verdict import ADVERSARIES
from holdfast.lab.session_rows import LONG_LIVED, OWN
from holdfast.lab.ways.registry import OURS, WITH_MODEL

INK, FAINT, PAPER, GREY = "#1f2329", "#d7dce2", "#ffffff", "#7d858f"
BLUE, ORANGE, GREEN, SKY, RED, PINK = (
    "#0072b2", "#e69f00", "#009e73", "#56b4e9", "#d55e00", "#cc79a7",
)  # fmt: skip
"""After Okabe and Ito; yellow is left out, which is lost on white."""
COLOURS: Mapping[str, str] = {
    INK: "ink", FAINT: "faint", PAPER: "paper", GREY: "grey", BLUE: "blue", ORANGE: "orange",
    GREEN: "green", SKY: "sky", RED: "red", PINK: "pink",
}  # fmt: skip
"""The names by which a page may give them other values, as on a dark ground."""
_OTHERS = (ORANGE, GREEN, RED, PINK, SKY)
_MARKS = ("s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
_LONGEST = 26
_UNKNOWN = "□"

SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "holdfast",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
}


class Look(Struct, frozen=True):
    """How one strategy is drawn."""

    colour: str
    mark: str
    width: float = 1.3
    dashes: Literal["-", "--", ":"] = "-"
    size: float = 5.0
    front: int = 3
    """What is drawn later, and so over others."""


def looks(strategies: Sequence[str]) -> dict[str, Look]:
    """Return a look for each strategy; Holdfast's stands out, and no two others are alike."""
    found: dict[str, Look] = {}
    at = 0
    for name in strategies:
        if (given := _GIVEN.get(name)) is not None:
            found[name] = given
        elif name in ADVERSARIES:
            found[name] = Look(GREY, "x", dashes=":")
        else:
            found[name] = Look(
                _OTHERS[(at + at // len(_MARKS)) % len(_OTHERS)], _MARKS[at % len(_MARKS)]
            )
            at += 1
    return found


_GIVEN = {
    OURS: Look(BLUE, "o", 2.8, size=7.5, front=6),
    WITH_MODEL: Look(BLUE, "D", 2.2, "--", 6.5, 5),
    LONG_LIVED: Look(BLUE, "D", 2.2, "--", 6.5, 5),
    OWN: Look(INK, "*", 1.6, size=7.0, front=5),
}


def is_ours(strategy: str) -> bool:
    """Return whether a strategy is one of Holdfast's."""
    return strategy in (OURS, WITH_MODEL, LONG_LIVED)


def drawable(name: str) -> str:
    """Return a name as a plot can show it: short, on one line, in signs that its font has."""
    shown = "".join(
        sign if sign.isprintable() and ord(sign) < _FONT_ENDS else _UNKNOWN for sign in name
    )
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
    # a label that begins with a low line is none to matplotlib
    return f"\u200a{shown}" if shown.startswith("_") else shown


_FONT_ENDS = 0x0530
"""Latin, Greek and Cyrillic: beyond them the font that comes with matplotlib has gaps."""
