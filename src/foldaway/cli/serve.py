"""`foldaway serve`, the gateway, and `foldaway open`, its inspector in a browser."""

from __future__ import annotations

import gc
import logging
import os
import re
import signal
import sys
import threading
import webbrowser
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from foldaway._core import __version__
from foldaway.agents.running import PORT
from foldaway.caching import Prices
from foldaway.cli import say
from foldaway.cli.files import is_terminal
from foldaway.cli.inputs import is_loopback, options, usage_error
from foldaway.cli.settings import BUDGET_ROW, SAVE_ROW, home_of, prices_for, settings_from
from foldaway.cli.stores import is_missing, is_own, open_given, store_options, store_place
from foldaway.config import agent_places, open_store, writers_from
from foldaway.dialects import dump_text
from foldaway.errors import MissingExtra, StoreUnavailable
from foldaway.sessions import Retention
from foldaway.stores import Store
from foldaway.usage import SpendingLimit

_UPSTREAM = re.compile(
    r"(?:(?P<name>messages|chat|responses|gemini|/[\w./-]*)=)?(?P<url>https?://.+)"
)


@click.command()
@options(
    ("--port PORT", click.IntRange(0, 65_535), "Where to listen; 8787 if not given."),
    ("--host ADDRESS", str, "Where to listen; by default only this machine can reach it."),
    (
        "--upstream [WIRE=]URL",
        [str],
        "Where the provider is: for all requests, for one wire (messages, chat, responses, "
        "gemini), or for paths that begin with /NAME. By default the provider of each wire.",
    ),
    ("--window TOKENS", click.IntRange(1_000), "Window of all models; by default that of each."),
    SAVE_ROW,
    (
        "--price NAME=USD",
        [str],
        "A price for a million tokens of models whose own is not known: "
        f"{', '.join(Prices.NAMES)}.",
    ),
    (
        "--drop-stale-thinking",
        bool,
        "Let Anthropic drop thinking that is bound to what was folded; the account must have this "
        "beta.",
    ),
    ("--answer-compactions", bool, "Answer a client's request for a summary from what is kept."),
    BUDGET_ROW,
    ("--folder DIR", str, "The agent's folder: `foldaway mcp` offers its sessions there."),
    ("--refuse-websockets", bool, "Make clients use HTTP: a WebSocket is not compacted."),
    (
        "--token TEXT",
        str,
        "What clients must send in the header x-foldaway-token. Other users see it in the list of "
        "processes: `token_variable` of the settings, or FOLDAWAY_GATEWAY_TOKEN_VARIABLE, names a "
        "variable that has it.",
    ),
    ("--socket PATH", click.Path(path_type=Path), "A Unix socket too; its owner needs no token."),
    ("--allow-host NAME", [str], "A name under which other machines may call."),
    (
        "--log",
        click.Choice(["faults", "requests"]),
        "Log faults (default) or every request, as JSON.",
    ),
    ("--until-eof", bool, "Stop when standard input ends, for programs that start a gateway."),
)
@store_options
def serve(**given: Any) -> int:
    """Serve as a gateway between agents and their providers.

    An agent that gets its address as base URL stays inside the window of its model. What it sends
    is kept in the store, its cached prompt stays cached between two compactions, and on any fault
    what was sent last goes on with what is new. Needs the extra `gateway`.

    \b
    foldaway serve
    ANTHROPIC_BASE_URL=http://127.0.0.1:8787 claude
    """
    gc.disable()  # what is loaded stays, and looking through it takes a tenth of the start
    try:
        from foldaway.gateway import GatewayOptions, Owner
        from foldaway.gateway import serve as run
        from foldaway.gateway.inspector import gateway_pages
    except ImportError:
        raise MissingExtra("gateway", "foldaway serve") from None
    finally:
        gc.enable()
    host = given["host"] or "127.0.0.1"
    settings = settings_from(given)
    variable = settings.gateway_token_variable
    token = given["token"] or os.environ.get(variable, "")
    if variable and not token:
        raise usage_error(f"[gateway] token_variable: {variable} is not set")
    if not is_loopback(host) and not token:
        raise usage_error(f"--host: {host} can be reached from other machines; give a --token too")
    text = given["budget"] or settings.gateway_budget
    budget = SpendingLimit.parse(text, "--budget") if text else None
    chosen = GatewayOptions(
        context_length=given["window"] or settings.context_length,
        policy=settings.policy,
        summarizer=None if settings.summarizer == "none" else writers_from(settings),
        prices=prices_for("", given["price"]).prices,
        drops_stale_thinking=given["drop_stale_thinking"],
        answers_compactions=given["answer_compactions"] or settings.gateway_answer_compactions,
        budget=budget,
        refuses_websockets=given["refuse_websockets"] or budget is not None,
        folder=given["folder"] or "",
        upstreams=upstreams_in(given),
        token=token,
        hosts=tuple(given["allow_host"]) or (() if is_loopback(host) else (host,)),
    )
    port = PORT if given["port"] is None else given["port"]
    _log_to_stderr(given["log"] or "faults")
    if given["until_eof"]:
        threading.Thread(target=_stop_at_eof, daemon=True).start()
    kept = Retention.of_limits(
        settings.retention_days, settings.retention_mb, settings.retention_projects
    )
    home = home_of(given)
    pages = gateway_pages(_load_pages, home, __version__)
    owner = Owner.of(home)
    tell = partial(_tell, entry_key=owner.entry_key, file=owner.file)
    with open_given(given, "create") as store:
        is_shared = not Path(store.where).exists()
        try:
            run(
                store,
                replace(chosen, is_shared=is_shared),
                host,
                port,
                tell,
                kept,
                pages,
                owner,
                given["socket"],
            )
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            return say(f"{host}:{port} cannot be listened on ({why}); --port takes another")
    return 0


def upstreams_in(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the addresses of providers, by wire or by path. Options replace those of the settings;
    paths are added to them.
    """
    texts: Sequence[str] = given["upstream"]
    if all(text.startswith("/") for text in texts):
        texts = [*settings_from(given).gateway_upstreams, *texts]
    found: dict[str, str] = {}
    for text in texts:
        match = _UPSTREAM.fullmatch(text)
        if match is None:
            raise usage_error(f"--upstream: {text!r} is not [WIRE=]URL")
        found[match["name"] or ""] = match["url"]
    return found


def _load_pages() -> Any:
    from foldaway.gateway.inspector import pages_beside

    return pages_beside


def _stop_at_eof() -> None:
    while os.read(0, 1 << 12):
        pass
    signal.raise_signal(signal.SIGTERM)


class _JsonLines(logging.Formatter):
    """A line of JSON for each record: when, what, and its figures."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": record.created,
            "level": record.levelname.lower(),
            "event": getattr(record, "foldaway_event", record.getMessage()),
            **getattr(record, "foldaway_facts", {}),
        }
        return dump_text(line)


def _log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonLines())
    log = logging.getLogger("foldaway")
    log.addHandler(handler)
    log.propagate = False
    if level == "requests":
        logging.getLogger("foldaway.gateway").setLevel(logging.INFO)


def _tell(address: str, *, entry_key: str, file: str) -> None:
    click.echo(f"foldaway: listening at {address}", err=True)
    if is_terminal(sys.stderr):  # a log has no place for a key
        click.echo(f"  now start your agent, as in: ANTHROPIC_BASE_URL={address} claude", err=True)
        click.echo(f"  its pages, once: {address}/inspector/enter?key={entry_key}", err=True)
    click.echo(
        f"  its pages are at {address}/inspector; they and the API ask for the token in {file}",
        err=True,
    )


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
        store = None if path else _find_store(given, stack)
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
        tell = partial(_say_where, browser=not given["no_browser"])
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


def _find_store(given: Mapping[str, Any], stack: ExitStack) -> Store | None:
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


def _say_where(address: str, *, browser: bool) -> None:
    shown = address if not browser else address.partition("/inspector")[0] + "/"
    click.echo(f"foldaway: the inspector is at {shown}  (stop with Ctrl-C)", err=True)
    if browser and not webbrowser.open(address):
        click.echo(f"  no browser could be started; open {address}", err=True)
