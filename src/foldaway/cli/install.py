"""`foldaway install` and `uninstall`: what is ours in the settings of agents, put in and out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from textwrap import indent
from typing import Any, Literal, TypeAlias

import click
from msgspec import Struct

from foldaway.agents.installing import (
    Addition,
    FileChange,
    clients,
    list_additions,
    plan_install,
    plan_uninstall,
)
from foldaway.agents.known import KnownAgent
from foldaway.cli import say
from foldaway.cli.draw import Picture
from foldaway.cli.files import count_of
from foldaway.cli.inputs import JSON_ROW, confirm, options, print_json, usage_error
from foldaway.config import home_folder
from foldaway.errors import FoldawayError

Additions: TypeAlias = Callable[[KnownAgent], list[Addition]]
"""What is put into the settings of a program, or taken out."""

YES_ROW = ("--yes", bool, "Do not ask.")
SHOWN_AGENTS = 12
"""Agents that have a line of their own before the question; others are named."""
DRY_RUN_ROW = ("--dry-run", bool, "Show what would be written, and write nothing.")


def names_argument(metavar: str, known: Iterable[str] = clients()) -> Any:
    """Return the argument that names programs."""
    return click.argument(
        "names", metavar=f"[{metavar}]...", nargs=-1, type=click.Choice(list(known)), default=()
    )


class AgentState(Struct, frozen=True, kw_only=True):
    """What is installed into one program, and what is not."""

    agent: str
    title: str
    found: bool
    """Whether it seems to be on this machine."""
    installed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    gains: tuple[str, ...] = ()
    problem: str = ""


@click.command()
@names_argument("AGENT")
@options(
    ("--list as_list", bool, "Show the agents on this machine, and what each has and gains."),
    (
        "--facts N",
        click.IntRange(100, 10_000),
        "Tokens of facts for a compaction and after it (2000).",
    ),
    ("--results N", click.IntRange(0), "Shorten results of tools to N tokens (4000; 0: never)."),
    ("--redact", bool, "Hide secrets in results of tools."),
    YES_ROW,
    DRY_RUN_ROW,
    JSON_ROW,
)
def install(
    names: Sequence[str], as_list: bool, yes: bool, dry_run: bool, as_json: bool, **given: Any
) -> int:
    """Install into coding agents: hooks, plug-ins, MCP server, status line.

    Without AGENT: into all that are found on this machine. Shows what will be written and where,
    and asks first; --dry-run shows every line. Only our own lines are added; `foldaway uninstall`
    restores the files.

    \b
    foldaway install --list
    foldaway install claude-code --yes
    """
    if as_list:
        return _show_list(names, as_json=as_json)
    hook_options = [
        part
        for name in ("facts", "results")
        if given[name] is not None
        for part in (f"--{name}", str(given[name]))
    ]
    if given["redact"]:
        hook_options.append("--redact")
    has_server = find_spec("mcp") is not None
    if not has_server:
        click.echo("The MCP server is left out: pip install 'foldaway[mcp]' brings it.")

    def wanted(client: KnownAgent) -> list[Addition]:
        shortens = given["results"] != 0 or given["redact"]
        found = list_additions(client, os.environ, hook_options, shortens=shortens)
        with_server = has_server and client.install.mcp
        return found if with_server else [one for one in found if one.what != "MCP server"]

    return install_into(choose_clients(names), wanted, "uninstall", yes=yes, dry_run=dry_run)


@click.command()
@names_argument("AGENT")
@options(YES_ROW, DRY_RUN_ROW)
def uninstall(names: Sequence[str], yes: bool, dry_run: bool) -> int:
    """Remove from coding agents what `foldaway install` wrote.

    Without AGENT: from all that have it. A file that nobody changed since the installation is
    restored byte for byte; in any other only our own lines are removed.

    \b
    foldaway uninstall claude-code --yes
    """
    return remove_from(names, lambda one: list_additions(one, os.environ), yes=yes, dry_run=dry_run)


def install_into(
    found: Iterable[KnownAgent], wanted: Additions, undo: str, *, yes: bool, dry_run: bool
) -> int:
    """Show what would be written, ask, and write it; `undo` is the command that removes it.

    An agent has one line, and `dry_run` shows below them all of what would be written.
    """
    changes: list[FileChange] = []
    details: list[FileChange] = []
    lines: dict[str, str] = {}
    code = 0
    for client in found:
        try:
            planned = plan_install(client, wanted(client))
        except FoldawayError as error:  # the others can still be changed
            code = say(f"{client.title}: {error}")
            continue
        ours = [change for change in planned if change.additions]
        lines[client.title] = _sum_up(planned) if ours else "installed already"
        changes += ours
        details += planned
    rest = list(lines)[SHOWN_AGENTS:]
    for title in list(lines)[:SHOWN_AGENTS]:
        click.echo(f"{title}: {lines[title]}")
    if rest:
        click.echo(f"and {', '.join(rest)}")
    if dry_run and details:
        click.echo()
        for change in details:
            _show_change(change)
    if changes and not dry_run:
        click.echo("`--dry-run` shows every line that would be written.")
    if not _confirm_changes(changes, yes=yes, dry_run=dry_run):
        return code
    for change in changes:
        kept = change.install(home_folder())
        told = f"; as it was: {kept}" if kept else ""
        click.echo(f"{change.client.title}: {change.path.name} written{told}")
    wants = [one.client for one in changes if not one.client.hooks.message_file(os.environ)]
    for note in dict.fromkeys(one.install.note for one in wants if one.install.note):
        click.echo(note)
    click.echo(f"Restart a program that is running. `foldaway {undo}` removes it again.")
    return code


def _sum_up(changes: Sequence[FileChange]) -> str:
    """Return what would be written for an agent, and where, in a line."""
    what = [one.what for change in changes for one in change.additions]
    hooks = count_of(sum(one.startswith("hook ") for one in what), "hook")
    words = dict.fromkeys(hooks if one.startswith("hook ") else one for one in what)
    files = [str(change.path) for change in changes if change.additions]
    home = os.path.expanduser("~")
    where = os.path.commonpath(files)
    where = f"~{where.removeprefix(home)}" if f"{where}/".startswith(f"{home}/") else where
    many = f"{len(files)} files in " if len(files) > 1 else ""
    left = ", ".join(one.what for change in changes for one in change.left)
    return f"{', '.join(words)} ({many}{where})" + (f"; left out: {left}" if left else "")


def _show_change(change: FileChange) -> None:
    is_new = change.before is None
    click.echo(f"{change.client.title}: {change.path}{' (new)' if is_new else ''}")
    for what, text in change.shown:
        click.echo(f"  + {what}")
        click.echo(indent(text, "    "), nl=False)
    for one in change.left:
        click.echo(f"  {one.what}: left out, {'.'.join(one.path)} is set already")


def remove_from(names: Sequence[str], wanted: Additions, *, yes: bool, dry_run: bool) -> int:
    """Show what would be removed, ask, and remove it."""
    home = home_folder()
    changes: list[FileChange] = []
    code = 0
    for client in [clients()[name] for name in names] or clients().values():
        try:
            planned = plan_uninstall(client, wanted(client), home)
        except FoldawayError as error:
            code = say(f"{client.title}: {error}")
            continue
        changes += planned
        for change in planned:
            click.echo(f"{client.title}: {change.path}, {_outcome(change)}")
        if names and not planned:
            click.echo(f"{client.title}: not installed")
    if not changes and not names and not code:
        click.echo("Nothing is installed anywhere.")
    if not _confirm_changes(changes, yes=yes, dry_run=dry_run):
        return code
    for change in changes:
        change.uninstall(home)
        click.echo(f"{change.client.title}: {change.path.name}, removed")
    return code


def _outcome(change: FileChange) -> str:
    if change.after is None:
        return "remove the file, which was not there before"
    if change.is_restored:
        return "restore it as it was"
    return f"remove {', '.join(one.what for one in change.additions)}"


def choose_clients(names: Sequence[str]) -> list[KnownAgent]:
    """Return the programs that are named, or else those on this machine."""
    found = [clients()[name] for name in names] or [
        client for client in clients().values() if client.is_here(os.environ)
    ]
    if not found:
        raise usage_error(f"no agent is found on this machine; name one: {', '.join(clients())}")
    return found


def _confirm_changes(changes: Sequence[FileChange], *, yes: bool, dry_run: bool) -> bool:
    """Return whether to write; asks on a terminal."""
    if not changes or dry_run:
        return False
    return yes or confirm("Write this?", "nothing was written; give --yes to write anyway")


def state_of_agent(client: KnownAgent) -> AgentState:
    """Return what is installed into a program, by its settings files."""
    additions = list_additions(client, os.environ)
    try:
        there = {
            one.what
            for change in plan_uninstall(client, additions, home_folder())
            for one in change.additions
        }
    except FoldawayError as error:
        there, problem = set[str](), str(error)
    else:
        problem = ""
    what = dict.fromkeys(one.what for one in additions)
    return AgentState(
        agent=client.name,
        title=client.title,
        found=client.is_here(os.environ),
        installed=tuple(one for one in what if one in there),
        missing=tuple(one for one in what if one not in there),
        gains=client.install.gains or ("search and recall",),
        problem=problem,
    )


def _show_list(names: Sequence[str], *, as_json: bool) -> int:
    wanted = [clients()[name] for name in names] or list(clients().values())
    states = [state_of_agent(client) for client in wanted]
    if as_json:
        for state in states:
            print_json(state)
        return 0
    picture = Picture()
    shown = [one for one in states if one.found or one.installed or names]
    for one in shown:
        kind: Literal["", "bold"] = "bold" if one.installed else ""
        picture.line((one.title, kind), (f"  {one.agent}", "dim"))
        picture.paragraph((f"installed: {', '.join(one.installed) or 'nothing'}", ""), indent=2)
        if one.missing:
            picture.paragraph((f"not installed: {', '.join(one.missing)}", "dim"), indent=2)
        picture.paragraph((f"gains: {', '.join(one.gains)}", "dim"), indent=2)
        if one.problem:
            picture.paragraph((one.problem, "red"), indent=2)
    others = [one.agent for one in states if one not in shown]
    if others:
        picture.paragraph((f"not found on this machine: {', '.join(others)}", "dim"))
    return 0
