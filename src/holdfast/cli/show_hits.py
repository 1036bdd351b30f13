"""The picture of a search: where each hit stands, its words, what stands around it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from holdfast.cli.draw import console_for, counted, print_line, shortened
from holdfast.cli.sessions.draw import one_line
from holdfast.cli.times import shown
from holdfast.sessions.finding import Hit


def show_hits(hits: Sequence[Hit]) -> None:
    """Print hits, the best first."""
    console = console_for()
    for hit in hits:
        _head(console, hit)
        for row in hit.window:
            if row.position == hit.position:
                _snippet(console, hit)
            else:
                line = Text("    ").append_text(one_line(row, console.width))
                line.truncate(console.width, overflow="ellipsis")
                print_line(console, line)
        console.print()


def _head(console: Console, hit: Hit) -> None:
    line = Text(hit.session, "bold").append(f" m{hit.position}", "bold")
    for piece in (hit.source, shown(hit.time), " ".join(hit.title.split())):
        if piece:
            line.append(f"  {shortened(piece)}", "dim")
    if hit.more:
        line.append(f"  and {counted(hit.more, 'place')} more", "dim")
    print_line(console, line)


def _snippet(console: Console, hit: Hit) -> None:
    words = Text("".join(char if char.isprintable() else "�" for char in hit.snippet))
    for start, stop in hit.spans:
        words.stylize("bold green", start, stop)
    console.print(Text(f"  {hit.role}: ", "cyan").append_text(words), soft_wrap=True)
