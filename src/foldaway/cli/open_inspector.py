"""`foldaway open`: the inspector in a browser."""

from __future__ import annotations

import os
import signal
import webbrowser
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from foldaway._core import __version__
from foldaway.cli import say
from foldaway.cli.inputs import is_loopback, options, usage_error
from foldaway.cli.settings import home_of, settings_from
from foldaway.cli.stores import is_missing, is_own, store_options, store_place
from foldaway.config import agent_places, open_store, writers_from
from foldaway.errors import MissingExtra, StoreUnavailable
from foldaway.stores import Store


@click.command("open")
@click.argument("what", required=False, metavar="[SESSION|FILE|FOLDER]")
@options(
    ("--port PORT", click.IntRange(0, 65_535), "Where to listen; a free port if not given."),
    ("--host ADDRESS", str, "An address of this machine; 127.0.0.1 if not given."),
    ("--no-browser", bool, "Only print the address."),
)
@store_options
def open_inspector(what: str | None, **given: Any) -> int:
    """Open the inspector in a browser: what was spent, and what the model saw.

    Shows the stored sessions and those in the files of your agents; with an argument, one session,
    one file, or a folder of files. Files are only read, and nothing leaves this machine. Stop with
    Ctrl-C. Needs the extra `gateway`.

    \b
    foldaway open
    foldaway open ~/.claude/projects
    foldaway open session.jsonl
    """
    try:
        from foldaway.gateway import GatewayOptions
        from foldaway.gateway.inspector import ROOT, OpenServer
    except ImportError:
        raise MissingExtra("gateway", "foldaway open") from None
    host = given["host"] or "127.0.0.1"
    if not is_loopback(host):
        raise usage_error(
            f"--host: {host} can be reached from other machines; `foldaway serve "
            "--token` shows the same pages to them"
        )
    path = Path(what).expanduser() if what and os.path.exists(os.path.expanduser(what)) else None
    places = [path] if path else [] if what else [place for _, place in agent_places()]
    settings = settings_from(given)
    with ExitStack() as stack:
        store = None if path else _store(given, stack)
        options = GatewayOptions(
            context_length=settings.context_length,
            policy=settings.policy,
            summarizer=None if settings.summarizer == "none" else writers_from(settings),
        )
        folder = home_of(given)
        server = OpenServer(store, places, options, cache_folder=folder, version=__version__)
        start = ROOT
        if what and path is None:
            start = f"{ROOT}/session/{server.shelf.open(what).info.id}"
        elif path is not None and path.is_file():
            start = server.first_page()
        signal.signal(signal.SIGTERM, _stop)
        tell = partial(_tell, browser=not given["no_browser"])
        try:
            server.run(host, given["port"] or 0, start, tell)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            taken = f"{host}:{given['port']} cannot be listened on ({why})"
            return say(f"{taken}; --port takes another")
    return 0


def _stop(*_: object) -> None:
    """End as by Ctrl-C, so that the copies of sessions are deleted."""
    raise SystemExit(128 + signal.SIGTERM)


def _store(given: Mapping[str, Any], stack: ExitStack) -> Store | None:
    """Return the store of the settings, for changes too if it allows them; None without one."""
    settings = settings_from(given)
    place = store_place(given, settings)
    try:
        found = open_store(place, profile=settings.profile, read_only=True)
    except StoreUnavailable as error:
        if is_missing(error):
            return None
        raise
    with suppress(StoreUnavailable):
        if is_own(given):
            found = open_store(place, profile=settings.profile)
    return stack.enter_context(found)


def _tell(address: str, *, browser: bool) -> None:
    shown = address if not browser else address.partition("/inspector")[0] + "/"
    click.echo(f"foldaway: the inspector is at {shown}  (stop with Ctrl-C)", err=True)
    if browser and not webbrowser.open(address):
        click.echo(f"  no browser could be started; open {address}", err=True)
