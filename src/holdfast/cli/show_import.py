"""The picture of an import: what was taken of each agent, and what could not be read."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from holdfast.cli.draw import console_for, counted, indented, print_line, print_more, shortened
from holdfast.cli.import_sessions import Imported

SHOWN_FILES = 5
BAR_COLUMNS = 16


def show_import(done: Imported) -> None:
    """Print it."""
    console = console_for()
    sessions = sum(row.new_sessions for row in done.agents)
    messages = sum(row.messages for row in done.agents)
    verb = "would be taken" if done.dry_run else "taken"
    print_line(console, Text(
        f"{counted(messages, 'new message')} {verb}, {counted(sessions, 'new session')}", "bold"
    ))  # fmt: skip
    block = "█" if console.encoding.startswith("utf") else "#"
    full = max((row.messages + row.known for row in done.agents), default=0) or 1
    grid = Table.grid(padding=(0, 2))
    for justify in ("left", "right", "right", "right", "left", "left"):
        grid.add_column(
            no_wrap=justify != "left", justify="right" if justify == "right" else "left"
        )
    if done.agents:
        grid.add_row(*(Text(name, "dim") for name in (
            "agent", "sessions", "new messages", "known", "", "",
        )))  # fmt: skip
    for row in done.agents:
        new, known = (
            round(BAR_COLUMNS * count / full) or int(count > 0)
            for count in (row.messages, row.known)
        )
        bar = Text(block * new, "green").append(block * known, "bright_black")
        told = ", ".join(f"{number:,} {kind}" for kind, number in row.notes.items())
        grid.add_row(
            shortened(row.agent), f"{row.sessions:,}", f"{row.messages:,}", f"{row.known:,}", bar,
            Text(told, "dim"),
        )  # fmt: skip
    console.print(indented(grid, 2))
    for one in done.unreadable[:SHOWN_FILES]:
        line = Text("  not read: ", "yellow").append(shortened(one.problem))
        print_line(console, line)
    print_more(console, len(done.unreadable), SHOWN_FILES)
    if messages and not done.dry_run:
        print_line(console, Text('\n  find something: holdfast search "…"', "dim"))
