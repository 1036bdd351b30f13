"""`foldaway mcp`: past sessions for agents."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from foldaway._core import __version__
from foldaway.agents import Address, make_server, serve_http, serve_stdio
from foldaway.agents.installing import Addition, clients, list_server_additions
from foldaway.agents.known import KnownAgent
from foldaway.cli import CommandGroup, say
from foldaway.cli.inputs import FOLDER, is_loopback, options, usage_error
from foldaway.cli.install import (
    DRY_RUN_ROW,
    YES_ROW,
    choose_clients,
    install_into,
    names_argument,
    remove_from,
)
from foldaway.cli.settings import home_of, settings_from
from foldaway.cli.stores import is_own, open_given, store_options
from foldaway.config import redaction_policy
from foldaway.errors import MissingExtra
from foldaway.sessions import Library, Project, redactor_of

_ADDRESS = re.compile(r"(?:(?P<host>[A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\]):)?(?P<port>[0-9]{1,5})")
_MOST_PORT = 65_535
"""The largest port of TCP."""


@click.group(cls=CommandGroup, invoke_without_command=True)
@options(
    ("--http HOST:PORT", str, "Serve over HTTP at /mcp; a port alone is on this machine."),
    ("--allow-host NAME", [str], "A name by which other machines may call; by default none may."),
    ("--project DIR", FOLDER, "Offer what ran in DIR or inside it, not in the current project."),
    ("--all-projects", bool, "Offer all sessions of the profile."),
    ("--read-only", bool, "Offer only the tools that change nothing."),
    ("--hide-personal", bool, "Hide e-mail addresses, telephone, card and account numbers too."),
)
@store_options
@click.pass_context
def mcp(context: click.Context, http: str | None, allow_host: Sequence[str], **given: Any) -> int:
    """Serve past sessions to agents, through MCP.

    The tools search, read, recall by reference, give the record of a session or a compacted one,
    report the status, and pin. They offer only the sessions of the project that the command is
    started in: the nearest parent folder with a `.git`, and all folders inside it. Answers contain
    no secrets and no system prompts, have a size limit, and are marked as past material. Needs the
    extra `mcp`.

    \b
    foldaway mcp                   for an agent that starts it by itself
    foldaway mcp --all-projects    the same, with the sessions of all projects
    foldaway mcp --http 8765       for agents that ask http://127.0.0.1:8765/mcp with a token
    foldaway mcp install           tell the agents on this machine to start it
    """
    if context.invoked_subcommand is not None:
        return 0
    address = None if http is None else _address(http, allow_host)
    limit = _limit(given["project"], all_projects=given["all_projects"])
    read_only = given["read_only"] or not is_own(given)
    with open_given(given, "read" if read_only else "create") as store:
        policy = redaction_policy(settings_from(given), personal=given["hide_personal"])
        show = redactor_of(store, policy=policy)
        server = make_server(Library(store, show=show, project=limit), __version__)
        if address is None:
            if sys.stdin.isatty():
                click.echo("foldaway: waiting for an agent on standard input", err=True)
            serve_stdio(server)
            return 0
        from foldaway.gateway import Owner

        try:
            owner = Owner.of(home_of(given))
            tell = partial(_tell, file=owner.file)
            serve_http(server, address, allow_host, owner.token, tell)
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
        return Project.at(Path(project))
    try:
        return Project.around(Path.cwd(), home=Path(os.path.expanduser("~")))
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


def _tell(address: Address, *, file: str) -> None:
    click.echo(f"foldaway: listening at {address.url}", err=True)
    click.echo(f"  clients send `Authorization: Bearer TOKEN`, with the token in {file}", err=True)


_SERVED = [client.name for client in clients().values() if client.install.entry]
_WHO = f"CLIENT is one of {', '.join(_SERVED)}."


@mcp.command(epilog=_WHO)
@names_argument("CLIENT", _SERVED)
@options(
    ("--all-projects", bool, "Offer all sessions of the profile, not those of a project."),
    YES_ROW,
    DRY_RUN_ROW,
)
def install(names: Sequence[str], all_projects: bool, yes: bool, dry_run: bool) -> int:
    """Add the MCP server to the settings of agents and editors.

    Without CLIENT: to all that are found on this machine. Shows what will be written and where,
    and asks first. Only our own entry is added; comments and the order of a file stay. The file as
    it was is kept until the entry is removed. For programs that start servers outside of a
    project, all sessions are offered. `foldaway install` adds hooks and a status line as well.

    \b
    foldaway mcp install
    foldaway mcp install claude-code cursor --yes
    """
    if find_spec("mcp") is None:
        raise MissingExtra("mcp", "foldaway mcp")

    def wanted(client: KnownAgent) -> list[Addition]:
        return list_server_additions(client, os.environ, all_projects=all_projects)

    found = [client for client in choose_clients(names) if client.install.entry]
    return install_into(found, wanted, "mcp uninstall", yes=yes, dry_run=dry_run)


@mcp.command()
@names_argument("CLIENT", _SERVED)
@options(YES_ROW, DRY_RUN_ROW)
def uninstall(names: Sequence[str], yes: bool, dry_run: bool) -> int:
    """Remove the MCP server from the settings of agents and editors.

    Without CLIENT: from all that have it. A file that nobody changed since the installation is
    restored byte for byte; in any other only our own entry is removed.

    \b
    foldaway mcp uninstall
    foldaway mcp uninstall cursor --yes
    """
    return remove_from(
        names, lambda one: list_server_additions(one, os.environ), yes=yes, dry_run=dry_run
    )
