"""`holdfast mcp`: past sessions for agents."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent
from typing import Any

import click

from holdfast.cli import CommandGroup, say, version_of
from holdfast.cli.inputs import is_loopback, options, usage_error
from holdfast.cli.settings import settings_from
from holdfast.cli.stores import is_own, opened, store_options
from holdfast.config import home_folder, redaction_policy
from holdfast.errors import HoldfastError, MissingExtra
from holdfast.installing.changes import (
    FileChange,
    apply_install,
    apply_uninstall,
    entry_text,
    plan_install,
    plan_uninstall,
)
from holdfast.installing.clients import Client, client_named, clients, server_command
from holdfast.mcp.server import Address, make_server, serve_http, serve_stdio
from holdfast.sessions.leaving import Project, project_at, project_of
from holdfast.sessions.library import Library
from holdfast.sessions.showing import redactor_of

_ADDRESS = re.compile(r"(?:(?P<host>[A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\]):)?(?P<port>[0-9]{1,5})")
_MOST_PORT = 65_535
"""The largest port of TCP."""


@click.group(cls=CommandGroup, invoke_without_command=True)
@options(
    ("--http", str, "HOST:PORT",
     "Serve over HTTP at /mcp instead of standard input and output; a port alone is on this "
     "machine."),
    ("--allow-host", [str], "NAME",
     "A name under which other machines may call; without one the address must be of this "
     "machine. There are no passwords."),
    ("--project", click.Path(exists=True, file_okay=False), "DIR",
     "Offer the sessions that ran in DIR or in a folder inside it, instead of those of the "
     "project that the command is started in."),
    ("--all-projects", bool, "", "Offer all sessions of the profile."),
    ("--read-only", bool, "", "Offer only the tools that change nothing."),
    ("--hide-personal", bool, "",
     "Hide personal data too: e-mail, telephone, card and account numbers."),
)  # fmt: skip
@store_options
@click.pass_context
def mcp(context: click.Context, http: str | None, allow_host: Sequence[str], **given: Any) -> int:
    """Serve past sessions to agents, through MCP.

    The tools search, read, recall by reference, report the status, and pin. They offer only the
    sessions of the project that the command is started in: the nearest parent folder with a
    `.git`, and all folders inside it. Answers contain no secrets and no system prompts, have a
    size limit, and are marked as past material. Needs the extra `mcp`.

    \b
    holdfast mcp                   for an agent that starts it by itself
    holdfast mcp --all-projects    the same, with the sessions of all projects
    holdfast mcp --http 8765       for agents that ask http://127.0.0.1:8765/mcp
    holdfast mcp install           tell the agents on this machine to start it
    """
    if context.invoked_subcommand is not None:
        return 0
    address = None if http is None else _address(http, allow_host)
    limit = _limit(given["project"], all_projects=given["all_projects"])
    read_only = given["read_only"] or not is_own(given)
    with opened(given, "read" if read_only else "create") as store:
        policy = redaction_policy(settings_from(given), personal=given["hide_personal"])
        show = redactor_of(store, policy=policy)
        server = make_server(Library(store, show=show, project=limit), version_of("holdfast"))
        if address is None:
            if sys.stdin.isatty():
                click.echo("holdfast: waiting for an agent on standard input", err=True)
            serve_stdio(server)
            return 0
        try:
            serve_http(server, address, allow_host, _tell)
        except OSError as error:
            return say(f"{address.host}:{address.port} cannot be listened on ({error.strerror})")
    return 0


def _limit(project: str | None, *, all_projects: bool) -> Project | None:
    """Return the project whose sessions are offered, None for all."""
    if all_projects and project is not None:
        raise usage_error("--project and --all-projects contradict each other")
    if all_projects:
        return None
    if project is not None:
        return project_at(Path(project))
    try:
        return project_of(Path.cwd(), home=Path(os.path.expanduser("~")))
    except FileNotFoundError:
        raise usage_error(
            "the folder that this is started in is gone; name one with --project"
        ) from None


def _address(text: str, names: Sequence[str]) -> Address:
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found["port"]) > _MOST_PORT:
        raise usage_error(f"--http: {text!r} is not an address; give HOST:PORT or a port")
    host = (found["host"] or "127.0.0.1").strip("[]")
    address = Address(host, int(found["port"]))
    if not is_loopback(address.host) and not names:
        raise usage_error(
            f"--http: {host} can be reached from other machines; say under which name with "
            "--allow-host, or listen on 127.0.0.1"
        )
    return address


def _tell(address: Address) -> None:
    click.echo(f"holdfast: listening at {address.url}", err=True)


_NAMES = click.argument(
    "names", metavar="[CLIENT]...", nargs=-1, type=click.Choice(list(clients())),
    default=(),
)  # fmt: skip
_WHO = f"CLIENT is one of {', '.join(clients())}."
_YES: Any = ("--yes", bool, "", "Do not ask.")
_DRY_RUN: Any = ("--dry-run", bool, "", "Show what would be written, and write nothing.")


@mcp.command(epilog=_WHO)
@_NAMES
@options(
    ("--all-projects", bool, "",
     "Offer all sessions of the profile, also in agents that start it in a project."),
    _YES,
    _DRY_RUN,
)  # fmt: skip
def install(names: Sequence[str], all_projects: bool, yes: bool, dry_run: bool) -> int:
    """Add the MCP server to the settings of agents and editors.

    Without CLIENT: to all that are found on this machine. Shows what will be written and where,
    and asks first. Only our own entry is added; comments and the order of a file stay. The file as
    it was is kept until the entry is removed. For programs that start servers outside of a
    project, all sessions are offered.

    \b
    holdfast mcp install
    holdfast mcp install claude-code cursor --yes
    """
    if find_spec("mcp") is None:
        raise MissingExtra("mcp", "holdfast mcp")
    command, given = server_command(os.environ)
    changes: list[FileChange] = []
    code = 0
    for client in _chosen(names):
        offers_all = client.anywhere or all_projects
        entry = client.entry_for(command, [*given, *(["--all-projects"] if offers_all else [])])
        try:
            change = plan_install(client, entry, os.environ)
        except HoldfastError as error:  # the others can still be changed
            code = say(f"{client.title}: {error}")
            continue
        if change is None:
            click.echo(f"{client.title}: installed already")
            continue
        changes.append(change)
        is_new = change.before is None
        click.echo(f"{client.title}: {change.path}{' (new)' if is_new else ''}")
        click.echo(indent(entry_text(client, entry), "    "), nl=False)
    if not _agreed(changes, yes=yes, dry_run=dry_run):
        return code
    for change in changes:
        kept = apply_install(change, home_folder())
        told = f"; as it was: {kept}" if kept else ""
        click.echo(f"{change.client.title}: installed{told}")
    click.echo("Restart a program that is running. `holdfast mcp uninstall` removes the entries.")
    return code


@mcp.command(epilog=_WHO)
@_NAMES
@options(_YES, _DRY_RUN)
def uninstall(names: Sequence[str], yes: bool, dry_run: bool) -> int:
    """Remove the MCP server from the settings of agents and editors.

    Without CLIENT: from all that have it. A file that nobody changed since the installation is
    restored byte for byte; in any other only our own entry is removed.

    \b
    holdfast mcp uninstall
    holdfast mcp uninstall cursor --yes
    """
    home = home_folder()
    changes: list[FileChange] = []
    code = 0
    for client in [client_named(name) for name in names] or clients().values():
        try:
            change = plan_uninstall(client, home, os.environ)
        except HoldfastError as error:
            code = say(f"{client.title}: {error}")
            continue
        if change is not None:
            changes.append(change)
            click.echo(f"{client.title}: {change.path}, {_outcome(change)}")
        elif names:
            click.echo(f"{client.title}: not installed")
    if not changes and not names and not code:
        click.echo("The MCP server is not installed anywhere.")
    if not _agreed(changes, yes=yes, dry_run=dry_run):
        return code
    for change in changes:
        apply_uninstall(change, home)
        click.echo(f"{change.client.title}: removed")
    return code


def _outcome(change: FileChange) -> str:
    if change.after is None:
        return "remove the file, which was not there before"
    if change.is_restored:
        return "restore it as it was"
    return f"remove {'.'.join(change.client.path)}"


def _chosen(names: Sequence[str]) -> list[Client]:
    found = [client_named(name) for name in names] or [
        client for client in clients().values() if client.is_here(os.environ)
    ]
    if not found:
        raise usage_error(f"no agent is found on this machine; name one: {', '.join(clients())}")
    return found


def _agreed(changes: Sequence[FileChange], *, yes: bool, dry_run: bool) -> bool:
    """Return whether to write; asks on a terminal."""
    if not changes or dry_run:
        return False
    if yes:
        return True
    if not sys.stdin.isatty():
        raise usage_error("nothing was written; give --yes to write without being asked")
    return click.confirm("Write this?", err=True)
