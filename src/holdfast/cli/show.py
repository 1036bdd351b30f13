"""The pictures for people. Ids, roles and paths are shown; what was said never is."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

from msgspec import UnsetType
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.cli.draw import (
    SHOWN_PER_RULE,
    console_for,
    counted,
    headed,
    indented,
    print_legend,
    print_line,
    print_more,
    print_strip,
    print_warnings,
    shortened,
)
from holdfast.cli.files import STANDARD, label
from holdfast.cli.inputs import Input
from holdfast.cli.report import Done, Found, Lost
from holdfast.cli.strip import Cell, Mark, cell_of
from holdfast.dialects.rule import Profile
from holdfast.transcript import Transcript

SHOWN_LOSSES = 20

Entry = TypeVar("Entry", Found, Done)


def show_check(given: Input, violations: Sequence[Found], *, alone: bool) -> None:
    """Print the verdict on one file, and where it is broken the map, the places, the remedy."""
    console = console_for()
    _verdict(console, given, violations)
    if violations or alone:
        _map(console, given, violations)
    for rule, entries in _by_rule(violations):
        _places(console, rule, _sentence(given, rule), entries)
    if violations and all(violation.mendable for violation in violations):
        hint = Text("\n  ").append("mend it: ", "dim").append(_mending_command(given), "bold")
        print_line(console, hint)
    if violations:
        console.print()


def show_repair(
    given: Input, mended: Sequence[Transcript], actions: Sequence[Done], output: str
) -> None:
    """Print the map before and after, and what was done, rule by rule."""
    console = console_for(stderr=output == STANDARD)
    where = "standard output" if output == STANDARD else label(output)
    if not actions:
        told = f"nothing to mend; written to {where}"
        print_line(console, headed(console, given, "ok").append(told))
        print_warnings(console, given)
        return
    told = f"{counted(len(actions), 'repair')} for {given.provider}; written to {where}"
    print_line(console, headed(console, given, "ok").append(told))
    print_warnings(console, given)
    if not given.holds_many:
        _before_and_after(console, given, mended[0], actions)
    for rule, entries in _by_rule(actions):
        _taken(console, rule, entries)
    console.print()


def show_refusal(given: Input, violations: Sequence[Found]) -> None:
    """Print what cannot be mended without inventing content."""
    console = console_for(stderr=True)
    told = f"{counted(len(violations), 'violation')} cannot be mended without inventing content; "
    print_line(console, headed(console, given, "broken").append(f"{told}nothing was written"))
    print_warnings(console, given)
    _map(console, given, violations)
    for rule, entries in _by_rule(violations):
        _places(console, rule, _sentence(given, rule), entries)
    console.print()


def show_losses(given: Input, to: str, losses: Sequence[Lost]) -> None:
    """Print what the other dialect cannot hold."""
    console = console_for(stderr=True)
    told = f"{counted(len(losses), 'thing')} that {to} cannot hold; nothing was written"
    print_line(console, headed(console, given, "broken").append(told))
    _lost(console, losses)
    hint = Text("  ").append("write it all the same: ", "dim").append("--allow-loss", "bold")
    console.print(hint)


def show_conversion(given: Input, to: str, losses: Sequence[Lost], output: str) -> None:
    """Print what was written, and what it does not hold."""
    console = console_for(stderr=output == STANDARD)
    where = "standard output" if output == STANDARD else label(output)
    lost = f"with {counted(len(losses), 'loss', 'losses')}" if losses else "without loss"
    told = f"{counted(given.message_count, 'message')} to {to} {lost}; written to {where}"
    print_line(console, headed(console, given, "ok").append(told))
    print_warnings(console, given)
    _lost(console, losses)


def show_profile(profile: Profile) -> None:
    """Print a provider's rules."""
    console = console_for()
    title = Text(profile.name, "bold").append(f"  {profile.dialect}, as of {profile.dated}", "dim")
    console.print(title)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="cyan")
    grid.add_column()
    for rule in profile.rules:
        mends = f"repair {rule.mends}" if rule.mends else "repair refuses it"
        grid.add_row(rule.name, Text(rule.states).append(f"\n{mends}", "dim"))
    console.print(indented(grid, 2))
    console.print()


def _verdict(console: Console, given: Input, violations: Sequence[Found]) -> None:
    if not violations:
        line = headed(console, given, "ok").append("valid", "green")
    else:
        rules = len({violation.rule for violation in violations})
        told = f"{counted(len(violations), 'violation')} of {counted(rules, 'rule')}"
        line = headed(console, given, "broken").append(told, "red")
    counts = counted(given.message_count, "message")
    if given.holds_many:
        broken = len({violation.record for violation in violations})
        counts = f"{counted(len(given.records), 'transcript')} ({broken:,} broken), {counts}"
    print_line(console, line.append(f"  {given.provider}, {counts}", "dim"))
    print_warnings(console, given)


def _mending_command(given: Input) -> str:
    name = given.name if given.name == STANDARD else shlex.quote(label(given.name))
    whose = "" if given.provider == given.dialect else f"--provider {given.provider} "
    return f"holdfast repair {whose}{name} -o OUT"


def _map(console: Console, given: Input, violations: Sequence[Found]) -> None:
    mark = _broken(console, "broken here")
    if given.holds_many:
        marked = {found.record for found in violations if not isinstance(found.record, UnsetType)}
        cells: list[Cell] = [
            "broken" if number in marked else "fine" for number in range(len(given.records))
        ]
    else:
        marked = {violation.index for violation in violations if violation.index >= 0}
        cells = [cell_of(message) for message in given.transcripts[0].messages]
    print_strip(console, "", cells, marked, mark)
    print_legend(console, "", cells, [mark] if marked else [])


def _before_and_after(
    console: Console, given: Input, mended: Transcript, actions: Sequence[Done]
) -> None:
    old = given.transcripts[0].messages
    touched = {action.index for action in actions if action.index >= 0}
    new = {index for index, message in enumerate(mended.messages) if not message.intact}
    before: list[Cell] = [cell_of(message) for message in old]
    after: list[Cell] = [cell_of(message) for message in mended.messages]
    marks = [_broken(console, "was broken"), _changed(console)]
    print_strip(console, "before ", before, touched, marks[0])
    print_strip(console, "after  ", after, new, marks[1])
    print_legend(console, "before ", [*before, *after], marks, len(before))


def _broken(console: Console, meaning: str) -> Mark:
    return ("▲" if console.encoding.startswith("utf") else "^", "bold red", meaning)


def _changed(console: Console) -> Mark:
    return ("●" if console.encoding.startswith("utf") else "*", "bold green", "changed or added")


def _places(console: Console, rule: str, sentence: str, entries: Sequence[Found]) -> None:
    title = Text("\n  ").append(rule, "bold").append(f"  {_times(entries)}", "red")
    console.print(title.append(f"  {sentence}" if sentence else "", "dim"))
    grid = _grid()
    for entry in entries[:SHOWN_PER_RULE]:
        grid.add_row(_where(entry), entry.path, shortened(entry.message))
    console.print(indented(grid, 4))
    print_more(console, len(entries))
    for remedy in islice(dict.fromkeys(entry.remedy for entry in entries), 3):
        arrow = "→" if console.encoding.startswith("utf") else "->"
        console.print(indented(Text(f"{arrow} {shortened(remedy)}", "green"), 4))


def _taken(console: Console, rule: str, entries: Sequence[Done]) -> None:
    console.print(Text("\n  ").append(rule, "bold").append(f"  {_times(entries)}", "green"))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim", justify="right")
    grid.add_column()
    for entry in entries[:SHOWN_PER_RULE]:
        grid.add_row(_where(entry), shortened(entry.what))
    console.print(indented(grid, 4))
    print_more(console, len(entries))


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim", justify="right")
    grid.add_column(style="cyan", overflow="fold", max_width=48)
    grid.add_column(overflow="fold")
    return grid


def _lost(console: Console, losses: Sequence[Lost]) -> None:
    grid = _grid()
    for entry in losses[:SHOWN_LOSSES]:
        grid.add_row(_where(entry), entry.path, shortened(entry.what))
    console.print(indented(grid, 4))
    print_more(console, len(losses), SHOWN_LOSSES)


def _by_rule(entries: Iterable[Entry]) -> list[tuple[str, list[Entry]]]:
    """Return the entries of each rule, the rules in the order in which they first appear."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.rule, []).append(entry)
    return list(found.items())


def _sentence(given: Input, rule: str) -> str:
    for profile in given.profiles:
        for known in profile.rules:
            if known.name == rule:
                return known.states
    return ""


def _where(entry: Found | Done | Lost) -> str:
    index = f"#{entry.index}" if entry.index >= 0 else "request"
    return index if isinstance(entry.line, UnsetType) else f"line {entry.line} {index}"


def _times(entries: Sequence[Found] | Sequence[Done]) -> str:
    return f"×{len(entries):,}"
