"""Sessions and their messages as lines and tables for people."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from holdfast.cli.draw import console_for, counted, print_line, shortened
from holdfast.cli.times import shown
from holdfast.sessions.finding import Shown
from holdfast.stores.values import Page, SessionInfo

BAR_COLUMNS = 10
_ROLE_STYLES = {"user": "cyan", "assistant": "bright_blue", "tool": "yellow"}


def show_page(page: Page) -> None:
    """Print a list of sessions with their sizes."""
    console = console_for()
    if not page.sessions:
        print_line(console, Text("no such sessions"))
        return
    most = max(info.tokens for info in page.sessions) or 1
    rows = [[Text(name, "dim") for name in (
        "session", "last used", "from", "messages", "tokens", "", "",
    )]]  # fmt: skip
    for info in page.sessions:
        source = info.source if info.kind == "main" else f"{info.source} {info.kind}".strip()
        rows.append([
            Text(info.id, "bold"), Text(shown(info.updated)), Text(shortened(source)),
            Text(f"{info.length:,}", justify="right"), Text(f"{info.tokens:,}", justify="right"),
            bar(console, info.tokens, most), Text(name_of(info)),
        ])  # fmt: skip
    _print_columns(console, rows)
    if page.next:
        print_line(console, Text(f"\nmore: --after {shlex.quote(page.next)}", "dim"))


def show_tree(lineage: Sequence[SessionInfo], named: str) -> None:
    """Draw sessions of one root, each below the one that it comes from."""
    console = console_for()
    drawn: dict[str, Tree] = {}
    roots: list[Tree] = []
    for info in lineage:
        label = Text()
        if info.descent:
            at = f" at m{info.forked_at}" if info.descent == "branch" else ""
            label.append(f"{info.descent}{at}  ", "magenta")
        line = label.append_text(line_of(info))
        if info.compactions:
            line.append(f"  {counted(info.compactions, 'compaction')}", "yellow")
        if info.id == named:
            line.append("  ◀" if console.encoding.startswith("utf") else "  <", "bold green")
        above = drawn.get(info.parent_id)
        drawn[info.id] = above.add(line) if above is not None else Tree(line)
        if above is None:
            roots.append(drawn[info.id])
    for root in roots:
        console.print(root, soft_wrap=True)


def show_messages(console: Console, rows: Iterable[Shown], *, marked: int | None = None) -> None:
    """Print messages with their places and roles."""
    for row in rows:
        head = Text(f"m{row.position}", "bold" if row.position == marked else "dim")
        head.append(f" {row.role}", _ROLE_STYLES.get(row.role, ""))
        for piece in (", ".join(row.tools), shown(row.time)):
            if piece:
                head.append(f"  {shortened(piece)}", "dim")
        if row.generated:
            head.append("  written by a compaction", "magenta")
        print_line(console, head)
        words = "\n".join(_printable(line) for line in row.text.splitlines())
        console.print(Text(words), soft_wrap=True)
        if row.cut:
            console.print(Text(f"… {row.cut:,} more characters", "dim"))
        console.print()


def one_line(row: Shown, width: int) -> Text:
    """Return a message on one line."""
    words = _printable(" ".join(row.text.split())[:width])
    return Text(f"m{row.position} {row.role}: ", "dim").append(words, "dim")


def _print_columns(console: Console, rows: Sequence[Sequence[Text]]) -> None:
    """Print rows in columns; only the last is cut where the terminal is too narrow."""
    wide = [max(row[at].cell_len for row in rows) for at in range(len(rows[0]) - 1)]
    for row in rows:
        line = Text()
        for cell, columns in zip(row, wide, strict=False):
            pad = " " * (columns - cell.cell_len)
            line.append_text(Text(pad) + cell if cell.justify == "right" else cell + Text(pad))
            line.append("  ")
        line.append_text(row[-1])
        line.rstrip()
        least = sum(wide) + 2 * len(wide) + 10
        line.truncate(max(console.width, least), overflow="ellipsis")
        print_line(console, line)


def bar(console: Console, value: float, most: float, columns: int = BAR_COLUMNS) -> Text:
    """Return a bar as long as a value beside the largest."""
    block = "█" if console.encoding.startswith("utf") else "#"
    wide = max(1, round(columns * value / most)) if value > 0 and most > 0 else 0
    return Text(block * wide, "cyan")


def name_of(info: SessionInfo) -> str:
    """Return what people know a session by, on one line."""
    return shortened(" ".join((info.title or info.first_ask or info.source_id).split()))


def line_of(info: SessionInfo) -> Text:
    """Return a session in one line."""
    line = Text(info.id, "bold")
    for piece in (info.source, shown(info.updated), counted(info.length, "message")):
        if piece:
            line.append(f"  {shortened(piece)}", "dim")
    return line.append(f"  {name_of(info)}")


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() or char == "\t" else "�" for char in line)
